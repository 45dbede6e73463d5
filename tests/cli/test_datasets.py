"""`laminar datasets`: the list of sets, present and absent, and sets written from LAMINAR_DATA."""

import json

import numpy as np


def test_list_and_write(laminar, tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.eye(4), kind=[0, 0, 1, 1])
    np.savez(tmp_path / "pie_pose27.npz", X=np.eye(6), identity=[0, 0, 0, 1, 1, 1])
    environment = {"LAMINAR_DATA": str(tmp_path)}
    rows = json.loads(laminar("datasets", "--json", cwd=tmp_path, **environment).stdout)["datasets"]
    assert rows["faces"]["where"] == "built in"
    assert rows["mine"] == {"where": "mine.npz", "samples": 4, "attributes": ["kind"]}
    assert rows["pie"] == {"where": "pie_pose27.npz", "samples": 6, "attributes": ["identity"], "what": "CMU PIE"}
    assert "pie_pose27" not in rows
    assert rows["orl"]["where"] == "absent, --download"
    assert (rows["xm2vts"]["where"], rows["xm2vts"]["samples"]) == ("absent", 2360)
    laminar("datasets", "pie", "-o", "pie", cwd=tmp_path, **environment)
    assert sorted(path.name for path in (tmp_path / "pie").iterdir()) == ["all.csv", "data.csv", "few.csv"]


def test_absent_set_is_an_instruction(laminar, tmp_path):
    refused = laminar("datasets", "xm2vts", cwd=tmp_path, code=2, LAMINAR_DATA=str(tmp_path))
    assert "University of Surrey" in refused.stderr
    assert "xm2vts.npz" in refused.stderr
    assert list(tmp_path.iterdir()) == []

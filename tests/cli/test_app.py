"""The application in this process: version, errors of missing packages, the demo."""

import sys

import pytest

import laminar

ATTRIBUTES = ("identity", "pose", "light")


def test_version(run_here):
    assert run_here("--version") == (0, f"laminar {laminar.__version__}\n", "")


def test_usage_error_is_one_sentence(run_here):
    code, out, err = run_here("demo", "--sead", "1")
    assert (code, out) == (2, "")
    assert err.startswith("Error: No such option: --sead")
    assert err.endswith("laminar demo --help has examples.\n")


def test_demo_without_an_extra_is_one_sentence(run_here, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = run_here("demo", "--output", tmp_path / "demo.png")
    assert (code, err) == (1, 'Error: laminar demo needs matplotlib: pip install "laminar-nmf[plots]"\n')


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("no/demo.png", "folder that does not exist"), ("demo.docx", "ends in .docx; results are written to")],
)
def test_output_is_checked_before_the_work(run_here, tmp_path, name, sentence):
    code, _, err = run_here("demo", "--output", tmp_path / name)
    assert code == 2
    assert sentence in err


def test_demo_prints_scores_and_writes_files(run_here, monkeypatch, tmp_path):
    from laminar.cli import demo

    full = demo.run
    monkeypatch.setattr(demo, "run", lambda **settings: full(n_identities=3, **settings))
    output, model, report = tmp_path / "demo.png", tmp_path / "faces.laminar", tmp_path / "faces.html"
    files = ("--output", output, "--model", model, "--report", report)
    code, out, err = run_here("demo", *files, "--size", "12", "--seed", "1")
    assert code == 0, err
    for word in (
        "pixels",
        "whitened SVD",
        "NMF",
        "SemiNMF",
        "chance",
        "DeepSemiNMF, layer 0 (100)",
        "DeepSemiNMF, layer 1 (40)",
        "AttributeLayers, pose",
        "identity (3)",
        "pose (5)",
        "light (6)",
        "Clusters: accuracy / normalised mutual information",
        "Linear probe, cross-validated",
        "Linear classifier given a tenth of the labels",
        "the other faces are scored",
    ):
        assert word in " ".join(out.split())
    assert f"Wrote {output}" in err
    assert output.read_bytes().startswith(b"\x89PNG")
    assert report.read_text().startswith("<!doctype html>")
    loaded = laminar.load(model)
    assert loaded.attributes_ == list(ATTRIBUTES)
    assert loaded.layers_[0].representation.shape[0] == 90

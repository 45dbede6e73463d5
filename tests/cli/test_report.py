"""`laminar report` and `laminar fit --report`: from files to a page."""

import json

import pytest

from laminar.cli.commands.report import report


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_images):
    """Images of two classes, a table of all labels and one of half of them, and a model of these with its report."""
    found = tmp_path_factory.mktemp("report")
    names = write_images(found / "faces", n=80)
    rows = [f"{name},{name.split('_')[0]}" for name in names]
    for table, chosen in (("all.csv", rows), ("few.csv", rows[:40])):
        (found / table).write_text("\n".join(["id,side", *chosen]) + "\n")
    return found


@pytest.fixture(scope="module")
def steps(laminar, folder):
    fit = ("fit", "faces", "--labels", "few.csv", "-o", "faces.laminar", "-k", "6")
    return {
        "fit": laminar(*fit, "--report", "few.html", "--json", cwd=folder),
        "report": laminar("report", "faces.laminar", "--labels", "all.csv", "--noun", "face", "--json", cwd=folder),
    }


def test_folder_becomes_report_with_one_command(steps, folder):
    facts = json.loads(steps["fit"].stdout)["report"]
    assert facts["scored"] == "withheld"  # all known labels were given
    assert facts["sentence"].startswith("The model was given 40 of 80 labels of side.")
    assert "laminar fit faces --labels few.csv" in (folder / "few.html").read_text()


def test_other_labels_are_scored(steps, folder):
    facts = json.loads(steps["report"].stdout)
    assert facts["scored"] == "others"
    assert facts["title"] == "80 faces in two layers"
    assert facts["output"] == "faces.html"
    assert (folder / "faces.html").read_text().startswith("<!doctype html>")


def test_maps_are_kept_beside_model(steps, folder):
    assert (folder / "faces.maps.npz").exists()


def test_report_without_its_data(steps, folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "alone.laminar").write_bytes((folder / "faces.laminar").read_bytes())
    monkeypatch.chdir(tmp_path)
    report(tmp_path / "alone.laminar", map="pca")
    shown = capsys.readouterr()
    assert "without pictures and baselines" in shown.err
    assert "The model was given 40 of 80 labels of side." in shown.out


def test_other_samples_are_refused(steps, folder, write_images, capsys):
    write_images(folder / "others", n=30, seed=1)
    with pytest.raises(SystemExit, match="2"):
        report(folder / "faces.laminar", [folder / "others"], output=folder / "others.html")
    assert "these are not the samples of the fit" in capsys.readouterr().err

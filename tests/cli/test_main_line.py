"""The main line through the real command, from data to a table; and what all commands share."""

import json
import re

import numpy as np
import pandas
import pytest

import laminar as package
from laminar.baselines import PooledLDA

STEPS = {
    "data": ("datasets", "faces", "-o", "demo"),
    "fit": ("fit", "demo/faces/", "--labels", "demo/few.csv", "-o", "faces.laminar"),
    "transform": ("transform", "faces.laminar", "demo/more_faces/", "-o", "codes.csv"),
    "cluster": ("cluster", "faces.laminar", "--attribute", "identity", "-o", "clusters.csv"),
    "evaluate": ("evaluate", "faces.laminar", "--labels", "demo/all.csv"),
    "info": ("info", "faces.laminar"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("PIL", reason='needs pillow: pip install "laminar-nmf[images]"')
    return tmp_path_factory.mktemp("main_line")


@pytest.fixture(scope="module")
def steps(laminar, folder):
    return {name: laminar(*arguments, cwd=folder) for name, arguments in STEPS.items()}


# The steps


def test_fit_gives_model_and_reason(steps, folder):
    talk = steps["fit"].stderr
    assert "Model: AttributeLayers (labels of identity, pose, light: one layer for each)." in talk
    assert "Wrote faces.laminar" in talk
    assert steps["fit"].stdout.startswith("AttributeLayers of 485 samples: identity (100), pose (100)")
    model = package.load(folder / "faces.laminar")
    assert model.attributes_ == ["identity", "pose", "light"]
    assert model.verbose == 0


def test_transform_is_that_of_python(steps, folder):
    codes = pandas.read_csv(folder / "codes.csv", index_col="id")
    model, data = package.load(folder / "faces.laminar"), package.read(folder / "demo/more_faces", size=(32, 32))
    assert codes.index.tolist() == data.ids.tolist()
    assert codes.columns.tolist() == model.get_feature_names_out().tolist()
    np.testing.assert_allclose(codes.to_numpy(), model.transform(data.X), rtol=1e-4, atol=1e-5)


def test_cluster_table(steps, folder):
    frame = pandas.read_csv(folder / "clusters.csv", index_col="id")
    assert len(frame) == 485
    assert frame["cluster"].nunique() == 20
    assert np.mean(frame.index.str.partition("_").get_level_values(0) == frame["predicted"]) > 0.8
    assert "20 clusters of 485 samples" in steps["cluster"].stdout


def test_evaluate_shows_layers_beside_baselines(steps):
    shown = steps["evaluate"].stdout
    rows = ("chance", "X (1024)", "identity (100)", "rest (100)", "largest class", "linear classifier of the data")
    rows = (*rows, "PooledLDA", "LabelSpreading")
    assert [row for row in rows if row not in shown] == []
    assert "accuracy on samples whose label was not given" in shown


def test_baselines_are_given_the_same_labels(steps, folder):
    faces = package.read(folder / "demo/faces", labels=folder / "demo/few.csv", size=(32, 32))
    truth = pandas.read_csv(folder / "demo/all.csv", index_col=0).loc[faces.ids].astype(str)
    lda, unknown = PooledLDA(random_state=0).fit(faces.X, faces.labels), faces.labels.isna()
    found = {name: lda.predict(faces.X, name).astype(str) == truth[name] for name in truth}
    clusters, predictions = [line for line in steps["evaluate"].stdout.splitlines() if "PooledLDA" in line]
    shown = [float(number) for number in re.findall(r"\d\.\d\d", predictions)]
    assert shown == pytest.approx([found[name][unknown[name]].mean() for name in faces.labels], abs=0.006)
    assert len(re.findall(r"\d\.\d\d", clusters)) == 3 * len(faces.labels.columns)


def test_info_has_provenance(steps):
    shown = steps["info"].stdout
    command = "laminar fit demo/faces/ --labels demo/few.csv -o faces.laminar"
    for text in (command, "AttributeLayers", "fingerprint", "numpy", "ImageReader(size=(32, 32)", "identity 54 of 485"):
        assert text in shown


def test_run_again_gives_same_model(steps, folder, laminar, tmp_path):
    (tmp_path / "demo").symlink_to(folder / "demo")
    laminar(*STEPS["fit"], cwd=tmp_path)
    models = [package.load(place / "faces.laminar") for place in (folder, tmp_path)]
    np.testing.assert_array_equal(*(model.components_ for model in models))


def test_evaluate_without_data(steps, laminar, folder, tmp_path):
    (tmp_path / "faces.laminar").write_bytes((folder / "faces.laminar").read_bytes())
    done = laminar("evaluate", "faces.laminar", "--labels", folder / "demo/all.csv", cwd=tmp_path)
    assert "The training data are not where they were" in done.stderr
    assert "X (1024)" not in done.stdout
    assert "identity (100)" in done.stdout


# What all commands share


@pytest.mark.parametrize("name", ["fit", "transform", "cluster", "evaluate", "info"])
def test_json_is_one_object(steps, laminar, folder, tmp_path, name):
    arguments = [*STEPS[name], "--json", "-q"]
    if "-o" in arguments:
        place = arguments.index("-o") + 1
        arguments[place] = tmp_path / arguments[place]
    done = laminar(*arguments, cwd=folder)
    assert isinstance(json.loads(done.stdout), dict)
    assert done.stderr == ""


def test_results_on_standard_output(steps, laminar, folder):
    done = laminar("cluster", "faces.laminar", "--attribute", "pose", "-q", cwd=folder)
    assert done.stdout.splitlines()[0] == "id,cluster,predicted"
    assert len(done.stdout.splitlines()) == 486
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["fit", "transform", "cluster"])
def test_files_are_replaced_by_force_alone(steps, laminar, folder, name):
    output = folder / STEPS[name][-1]
    before = output.read_bytes()
    done = laminar(*STEPS[name], cwd=folder, code=2)
    assert done.stderr.startswith("Error: ")
    assert "--force" in done.stderr
    assert output.read_bytes() == before
    laminar(*STEPS[name], "--force", "-q", cwd=folder)


@pytest.mark.parametrize("ending", ["parquet", "npz", "npy", "tsv", "h5ad"])
def test_codes_by_ending(steps, laminar, folder, ending):
    pytest.importorskip({"parquet": "pyarrow", "h5ad": "anndata"}.get(ending, "numpy"))
    arguments = ("transform", "faces.laminar", "demo/more_faces/", "-o", f"codes.{ending}")
    laminar(*arguments, "-q", "--force", cwd=folder)
    read = {
        "parquet": lambda path: pandas.read_parquet(path).set_index("id").to_numpy(),
        "npz": lambda path: np.load(path)["codes"],
        "npy": np.load,
        "tsv": lambda path: pandas.read_csv(path, sep="\t", index_col="id").to_numpy(),
        "h5ad": lambda path: __import__("anndata").read_h5ad(path).obsm["X_laminar"],
    }
    expected = pandas.read_csv(folder / "codes.csv", index_col="id").to_numpy()
    np.testing.assert_allclose(read[ending](folder / f"codes.{ending}"), expected, rtol=1e-4, atol=1e-5)


def test_model_without_training_codes(steps, laminar, folder):
    laminar(*STEPS["fit"][:-1], "small.laminar", "--no-training-codes", "-q", cwd=folder)
    codes = [
        laminar("transform", name, "demo/more_faces/", "-q", cwd=folder).stdout
        for name in ("faces.laminar", "small.laminar")
    ]
    assert codes[0] == codes[1]
    assert (folder / "small.laminar").stat().st_size < (folder / "faces.laminar").stat().st_size
    assert "left out" in laminar("info", "small.laminar", cwd=folder).stdout
    refused = laminar("cluster", "small.laminar", "--attribute", "pose", cwd=folder, code=2)
    assert "without its training samples" in refused.stderr


def test_any_model_and_parameter(steps, laminar, folder):
    model = (
        "--model",
        "deep-wsf",
        "--layers",
        "60,20",
        "--attributes",
        "identity",
        "--set",
        "alphas=10",
        "--seed",
        "3",
    )
    laminar("fit", "demo/faces", "--labels", "demo/few.csv", *model, "-o", "deep.laminar", cwd=folder)
    found = package.load(folder / "deep.laminar")
    assert (type(found).__name__, found.layers, found.alphas, found.random_state) == ("DeepWSF", (60, 20), 10, 3)


def test_warnings_are_notes(steps, laminar, folder):
    done = laminar("fit", "demo/faces", "--model", "nmf", "--set", "max_iter=1", "-o", "nmf.laminar", cwd=folder)
    assert "Note: NMF stopped at max_iter=1 before it converged; raise max_iter" in done.stderr

"""Every kind of data through the real command: a model, codes, clusters and a table, one command a step."""

import json

import numpy as np
import pandas
import pytest


@pytest.fixture
def steps(laminar, tmp_path):
    """Fit, transform, cluster and evaluate; return what was chosen and the scores."""

    def run(data, *reading, new=None, labels="all.csv", clusters=2):
        data = [data] if isinstance(data, str) else data
        fitted = json.loads(laminar("fit", *data, *reading, "-o", "m.laminar", "--json", cwd=tmp_path).stdout)
        laminar("transform", "m.laminar", *(new or data), "-o", "codes.csv", cwd=tmp_path)
        laminar("cluster", "m.laminar", "-k", clusters, "-o", "clusters.csv", cwd=tmp_path)
        scores = json.loads(laminar("evaluate", "m.laminar", "--labels", labels, "--json", "-q", cwd=tmp_path).stdout)[
            "scores"
        ]
        codes = pandas.read_csv(tmp_path / "codes.csv", index_col="id")
        assert np.isfinite(codes.to_numpy()).all()
        found = pandas.read_csv(tmp_path / "clusters.csv", index_col="id")
        assert found["cluster"].nunique() == clusters
        return fitted, codes, found, scores

    return run


def write_labels(folder, labels, name="class", index="id"):
    pandas.DataFrame({name: labels}).to_csv(folder / "all.csv", index_label=index)


def test_images(steps, write_images, tmp_path):
    names = write_images(tmp_path / "faces", 24)
    write_images(tmp_path / "new", 6, size=(16, 12), seed=1)  # another size
    write_labels(tmp_path, {name: name.split("_")[0] for name in names})
    fitted, codes, found, scores = steps("faces", "-k", "2", new=["new"])
    assert fitted["model"] == "SmoothedSemiNMF"
    assert len(codes) == 6
    assert sorted(found.index) == sorted(names)
    assert scores["layer 0 (2)"]["class"]["accuracy"] == 1.0


def test_table_with_blank_labels(steps, tmp_path):
    from sklearn.datasets import load_wine

    wine = load_wine(as_frame=True)
    frame = wine.data.set_axis([f"bottle{i:03d}" for i in range(178)], axis=0)
    cultivar = wine.target.map("cultivar {}".format).to_numpy()
    few = np.arange(178) % 6 == 0
    frame.assign(cultivar=np.where(few, cultivar, ""), note="a dry wine").to_csv(
        tmp_path / "wine.csv", index_label="bottle"
    )
    write_labels(tmp_path, pandas.Series(cultivar, frame.index), "cultivar", "bottle")
    options = ("--id-column", "bottle", "--label-columns", "cultivar", "--drop", "note", "--scale", "standard")
    fitted, codes, found, scores = steps("wine.csv", *options, clusters=3)
    assert fitted["model"] == "AttributeLayers"
    assert codes.index[0] == found.index[0] == "bottle000"
    assert scores["X (13)"]["cultivar"]["probe"] > 0.9


def test_texts(steps, laminar, tmp_path):
    topics = {"sea": "ship harbour wave sailor storm", "kitchen": "bread oven flour butter sugar"}
    rng = np.random.default_rng(0)
    for i in range(20):
        topic = list(topics)[i % 2]
        (tmp_path / "texts" / topic).mkdir(parents=True, exist_ok=True)
        words = rng.choice(topics[topic].split(), 12)
        (tmp_path / "texts" / topic / f"{i}.txt").write_text(" ".join(words), encoding="utf-8")
    write_labels(tmp_path, {f"{topic}/{i}": topic for i, topic in enumerate(list(topics) * 10)})
    fitted, codes, _, scores = steps("texts", "-k", "2")
    assert fitted["model"] == "NMF"
    assert "sparse" in fitted["reason"]
    assert len(codes) == 20
    assert scores["layer 0 (2)"]["class"]["accuracy"] == 1.0
    shown = json.loads(laminar("info", "m.laminar", "--json", cwd=tmp_path).stdout)["strongest_features"]
    assert sorted(sorted(words[:5]) for words in shown.values()) == sorted(sorted(t.split()) for t in topics.values())


def test_video(steps, tmp_path):
    cv2 = pytest.importorskip("cv2", reason='needs opencv: pip install "laminar-nmf[video]"')
    writer = cv2.VideoWriter(str(tmp_path / "film.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25.0, (24, 16))
    for t in range(30):
        frame = np.zeros((16, 24, 3), np.uint8)
        frame[4:12, 2 : 4 + (t if t < 15 else 29 - t)] = 220
        writer.write(frame)
    writer.release()
    write_labels(tmp_path, {f"film/{t:06d}": "wide" if 7 <= t < 22 else "narrow" for t in range(30)})
    fitted, codes, _, scores = steps("film.avi", "-k", "4")
    assert fitted["model"] == "SlowFeatureNMF"
    assert len(codes) == 30
    assert scores["layer 0 (4)"]["class"]["accuracy"] > 0.8


def test_anndata(steps, laminar, tmp_path):
    anndata = pytest.importorskip("anndata", reason='needs anndata: pip install "laminar-nmf[omics]"')
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (40, 30)).astype(np.float32)
    X[:20, :10] += 8
    cells = anndata.AnnData(
        X,
        obs=pandas.DataFrame({"type": ["a"] * 20 + ["b"] * 20}, index=[f"cell{i}" for i in range(40)]),
        var=pandas.DataFrame(index=[f"gene{j}" for j in range(30)]),
    )
    cells.write_h5ad(tmp_path / "cells.h5ad")
    write_labels(tmp_path, cells.obs["type"].astype(str), "type")
    _, codes, _, scores = steps("cells.h5ad", "-k", "3")
    assert codes.index[0] == "cell0"
    assert scores["layer 0 (3)"]["type"]["accuracy"] == 1.0
    laminar("transform", "m.laminar", "cells.h5ad", "-o", "out.h5ad", cwd=tmp_path)
    back = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert back.obsm["X_laminar"].shape == (40, 3)
    assert back.varm["laminar_components"].shape == (30, 3)
    assert "laminar" in back.uns
    np.testing.assert_array_equal(back.X, X)


def test_views_with_unequal_rows(steps, laminar, tmp_path):
    laminar("datasets", "views", "-o", ".", "--force", cwd=tmp_path)
    views = ["view0.csv", "view1.csv"]
    fitted, codes, found, scores = steps(views, clusters=4)
    assert fitted["model"] == "ClusterEnsemble"
    ids = {name for view in views for name in pandas.read_csv(tmp_path / view)["id"]}
    assert set(codes.index) == set(found.index) == ids
    assert 180 < len(ids) <= 200
    assert max(row["class"]["accuracy"] for row in scores.values()) > 0.9


def test_real_faces(steps, laminar, real_data, tmp_path):
    real_data("orl")
    laminar("datasets", "orl", "-o", "orl", cwd=tmp_path)
    reading = ("--labels", "orl/few.csv")
    fitted, _, found, scores = steps("orl/images", *reading, labels="orl/all.csv", clusters=40)
    assert fitted["n_samples"] == 400
    assert len(found) == 400
    assert scores["identity (100)"]["identity"]["accuracy"] > scores["chance"]["identity"]["accuracy"]


def test_model_without_layers(laminar, tmp_path):
    rows = np.cumsum(np.random.default_rng(0).normal(size=(40, 4)), axis=0)
    pandas.DataFrame(rows, columns=list("abcd")).assign(film="one").to_csv(tmp_path / "walk.csv", index=False)
    done = laminar("fit", "walk.csv", "--group-column", "film", "-o", "m.laminar", cwd=tmp_path)
    assert "SlowFeatureAnalysis (sequences in time, with negative values)" in done.stderr
    assert len(laminar("transform", "m.laminar", "walk.csv", "-q", cwd=tmp_path).stdout.splitlines()) == 41
    for command in ("cluster", "evaluate"):
        refused = laminar(command, "m.laminar", cwd=tmp_path, code=2)
        assert "has no layers to cluster or to score" in refused.stderr


def test_array_larger_than_memory(laminar, tmp_path):
    h5py = pytest.importorskip("h5py", reason='needs h5py: pip install "laminar-nmf[arrays]"')
    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "big.h5", "w") as file:
        file["X"] = rng.gamma(1.0, size=(5000, 3)) @ rng.gamma(1.0, size=(3, 20))
    codes = []
    for name, limit in {"disk": ["--max-memory", "200kB"], "memory": []}.items():
        model = ["-k", "3", "--model", "nmf"] if name == "memory" else ["-k", "3"]
        done = laminar("fit", "big.h5", *limit, *model, "-o", f"{name}.laminar", cwd=tmp_path)
        laminar("transform", f"{name}.laminar", "big.h5", *limit, "-o", f"{name}.npy", "-q", cwd=tmp_path)
        assert name == "memory" or "Model: NMF" in done.stderr  # none that needs all of the data at once
        codes.append(np.load(tmp_path / f"{name}.npy"))
    np.testing.assert_allclose(codes[0], codes[1], rtol=1e-3, atol=1e-4)


def test_labels_of_model_saved_in_python(laminar, write_images, tmp_path):
    import laminar as package

    names = write_images(tmp_path / "faces", 16)
    sides = {name: name.split("_")[0] for name in names}
    write_labels(tmp_path, dict(list(sides.items())[:6]))
    data = package.read(tmp_path / "faces", labels=tmp_path / "all.csv")
    package.AttributeLayers(random_state=0).fit(data.X, data.labels).save(tmp_path / "m.laminar", data=data)
    write_labels(tmp_path, sides)
    done = laminar("evaluate", "m.laminar", "--labels", "all.csv", cwd=tmp_path)
    assert "The layers were given some labels of class" in done.stderr


def test_all_labels_given(laminar, write_images, tmp_path):
    names = write_images(tmp_path / "faces", 12)
    write_labels(tmp_path, {name: name.split("_")[0] for name in names})
    laminar("fit", "faces", "--labels", "all.csv", "-o", "m.laminar", cwd=tmp_path)
    done = laminar("evaluate", "m.laminar", cwd=tmp_path)
    assert "its scores are of given labels" in done.stderr
    assert "label was not given" not in done.stdout

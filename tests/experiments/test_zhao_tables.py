"""Tables of Zhao et al.: data and stand-ins, scores of a cell, distances from what is printed."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import normalized_mutual_info_score

from laminar.baselines import NEMO, NgJordanWeiss, concat_features
from laminar.experiments import data
from laminar.experiments.cells import Cell
from laminar.experiments.zhao import tables
from laminar.experiments.zhao.printed import PRINTED
from laminar.features import views_from_images


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """No data, and none from other tests."""
    monkeypatch.setenv("LAMINAR_DATA", "")
    caches = (data.views, tables.faces_in_views)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


# Data


def test_stand_in_says_so():
    assert "in place of Extended Yale B" in tables.faces_in_views("yaleb")[2]


def test_orl_stands_in(tmp_path, monkeypatch):
    views = {f"X{v}": np.random.default_rng(v).random((12, 5)) for v in (1, 2, 3)}
    np.savez(tmp_path / "orl_mv.npz", **views, y=np.repeat(np.arange(3, dtype=np.int16), 4))
    monkeypatch.setenv("LAMINAR_DATA", str(tmp_path))
    found, y, what = tables.faces_in_views("yaleb")
    assert (len(found), len(y)) == (3, 12)
    assert what == "orl_mv, in place of Extended Yale B, which is not on disk"


def test_first_ten_people(tmp_path, monkeypatch):
    identity = np.repeat(np.arange(12, dtype=np.int16), 2)
    pixels = np.random.default_rng(0).integers(0, 256, (24, 1024), dtype=np.uint8)
    np.savez(tmp_path / "yaleb.npz", X=pixels, identity=identity, image_shape=np.array([32, 32]))
    monkeypatch.setenv("LAMINAR_DATA", str(tmp_path))
    found, y, what = tables.faces_in_views("yaleb")
    assert [view.shape for view in found] == [(20, 2304), (20, 1180), (20, 3000)]
    assert sorted(set(y)) == list(range(10))
    assert what == "first 10 people of yaleb"


# Cells


def test_scores_are_of_clusters_of_joined_views():
    X, y, _ = tables.faces_in_views("yale_mv", small=True)
    scores = tables.view_scores("yale_mv", True, "joined", NgJordanWeiss(3), 1)
    labels = NgJordanWeiss(3, random_state=1).fit_predict(concat_features(X))
    assert_allclose(scores["NMI"], normalized_mutual_info_score(y, labels))
    assert 0.1 < scores["precision"] <= scores["recall"]  # three clusters of four classes


def test_best_view_is_that_of_truth():
    single = [tables.view_scores("yale_mv", True, form, NgJordanWeiss(3), 0)["NMI"] for form in ("best view", "joined")]
    X, y, _ = tables.faces_in_views("yale_mv", small=True)
    of_views = [normalized_mutual_info_score(y, NgJordanWeiss(3, random_state=0).fit_predict(view)) for view in X]
    assert_allclose(single[0], max(of_views))


def test_features_are_those_of_first_view(tmp_path, monkeypatch):
    pixels = np.random.default_rng(0).integers(0, 256, (12, 4096), dtype=np.uint8)
    views = {"X1": pixels, "X2": np.eye(12), "X3": np.eye(12)}
    np.savez(tmp_path / "yale_mv.npz", **views, y=np.repeat(np.arange(2, dtype=np.int16), 6))
    monkeypatch.setenv("LAMINAR_DATA", str(tmp_path))
    X = views_from_images(pixels, recipe="zhao", image_shape=(64, 64))
    model = NEMO(2)
    labels = NEMO(2, random_state=0).fit_predict(list(X.values()))
    scores = tables.setting_scores("yale_mv", model, True, 0)
    assert_allclose(scores["NMI"], normalized_mutual_info_score(np.repeat([0, 1], 6), labels))


def test_cell_leaves_its_key():
    cell = Cell({}, tables.view_scores, ("yale_mv", True, "joined", NgJordanWeiss(3), 5))
    before = cell.key
    cell.work(*cell.arguments)
    assert cell.key == before


# Sentences


def frame(offset=0.0):
    """Return a row a method with what is printed for Yale, moved by a number in the NMI of DMF-MVC."""
    rows = []
    for method, values in PRINTED["yale_mv"].items():
        scores = {score: value for score, (value, _) in zip(tables.SCORES, values, strict=True)}
        rows.append({"method": method, "rule": "published", "which": f"{method}, published", **scores, "seconds": 1.0})
    found = pd.DataFrame(rows)
    found.loc[found["method"] == "DMF-MVC", "NMI"] += offset
    return found


def test_printed_numbers_are_within_their_deviation():
    first, others = tables._distances(frame(), PRINTED["yale_mv"])
    assert first.endswith("within the printed deviation in NMI, ACC, ARI, F, precision, recall.")
    assert "DiMSC +0.000" in others


def test_distance_outside_of_deviation():
    first, _ = tables._distances(frame(0.02), PRINTED["yale_mv"])
    assert first.endswith("in ACC, ARI, F, precision, recall; NMI +0.020.")


def test_verdict_counts_places():
    assert "place 1 and 1 of ten" in tables._verdict(frame())
    assert "place 3 and 1 of ten" in tables._verdict(frame(-0.1))  # DiMSC and MultiNMF are before it


def test_printed_rows_stand_above_published():
    table = tables._rows(frame(), PRINTED["yale_mv"])
    assert list(table.index[:2]) == [("BestSV", "printed"), ("BestSV", "published")]
    assert table.loc[("DMF-MVC", "printed"), "NMI"] == "0.782 ± 0.010"
    assert ("DMF-MVC", "printed") not in tables._rows(frame(), {}).index

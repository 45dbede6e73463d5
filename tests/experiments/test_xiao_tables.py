"""Tables of Xiao et al.: draws, scores and printed figures."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from laminar import NMF
from laminar.baselines import PooledLDA
from laminar.datasets import make_attributes, partial_labels
from laminar.experiments.xiao.printed import METHODS, printed
from laminar.experiments.xiao.tables import (
    HIDDEN,
    Method,
    Protocol,
    _findings,
    chosen_classes,
    class_scores,
    curves,
    methods,
    scores_of_draw,
)
from laminar.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def data():
    """Samples of six classes."""
    found = make_attributes(60, levels=(6,), scales=(0.5,), random_state=0)
    return np.abs(found.X), found.y[:, 0]


@pytest.fixture
def found():
    """Cells of two draws where every method has a score of its own."""
    rows = []
    for i, (method, rule) in enumerate(methods(2, (1.0, 1.0), 2)):
        for classes in range(2, 11):
            for seed in (0, 1):
                score = 60.0 + i + seed
                row = {"method": method, "rule": rule, "classes": classes, "seed": seed, "seconds": 0.1}
                rows.append({**row, "accuracy": score, "nmi": score, HIDDEN: score})
    return pd.DataFrame(rows)


# Cells
def test_scores_by_naive_computation(data):
    X, y = data
    scores = scores_of_draw(X, y, Method(NMF(3), False, "raw"), 3, 1, 4)
    kept = np.isin(y, np.random.default_rng(1).choice(6, 3, replace=False))
    known = partial_labels(np.unique(y[kept], return_inverse=True)[1], 0.1, random_state=1)
    found = NMF(3, random_state=1).fit(X[kept]).cluster(n_clusters=3, readout="raw", n_init=4)
    assert scores["accuracy"] == pytest.approx(100 * clustering_accuracy(y[kept], found))
    assert scores[HIDDEN] == pytest.approx(100 * clustering_accuracy(y[kept][known < 0], found[known < 0]))


def test_baseline_is_told_labels_of_draw(data):
    X, y = data
    scores = scores_of_draw(X, y, Method(PooledLDA(), True), 3, 2, 4)
    rows, classes = chosen_classes(y, 3, 2)
    codes = PooledLDA(random_state=2).fit(X[rows], partial_labels(classes, 0.1, random_state=2)).transform(X[rows])
    found = KMeans(3, n_init=4, random_state=2).fit_predict(codes)
    assert scores["accuracy"] == pytest.approx(100 * clustering_accuracy(classes, found))


def test_labels_of_draw(data, monkeypatch):
    X, y = data
    counts = []

    def record(*arguments, **settings):
        known = partial_labels(*arguments, **settings)
        counts.append(np.bincount(known[known >= 0]).tolist())
        return known

    monkeypatch.setattr("laminar.experiments.xiao.tables.partial_labels", record)
    for least in (1, 2):
        scores_of_draw(X, y, Method(PooledLDA(), True, None, least), 3, 0, 2)
    assert counts == [[1, 1, 1], [2, 2, 2]]


# Tables
@pytest.mark.parametrize("name", ["yale", "caltech101", "orl"])
@pytest.mark.parametrize("score", ["accuracy", "nmi"])
def test_printed_averages(name, score):
    table = printed(name, score)
    off = np.abs(table[:-1].mean(axis=0) - table[-1]) > 0.01
    assert [METHODS[i] for i in np.flatnonzero(off)] == (["cdNMF_F"] if (name, score) == ("yale", "accuracy") else [])


def test_verdict_compares_best_default(found):
    verdict, _ = _findings(found, "yale")
    reached = found.copy()
    reached.loc[reached["rule"] == "laminar", ["accuracy", "nmi"]] += 40
    assert verdict != _findings(reached, "yale")[0]
    assert "67.79 / 58.37" in verdict
    assert _findings(found.assign(accuracy=1.0), "yale")[0].count("accuracy not reached") == 2


def test_figure_has_curve_each_method(found):
    protocol = Protocol("yale", "title", "yale", class_scores, (1.0, 1.0))
    figure = curves(found, protocol)
    assert len(figure.axes) == 2
    assert {len(axes.lines) for axes in figure.axes} == {13}

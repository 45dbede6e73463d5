"""Table 2 of Xiao et al.: counts of words, and stand-ins for Caltech-101."""

import numpy as np
import pytest

from laminar import NMF
from laminar.baselines import WhitenedSpectral
from laminar.experiments import ITEMS, Run
from laminar.experiments.xiao import caltech
from laminar.experiments.xiao.tables import Method, chosen_classes
from laminar.metrics import normalized_mutual_information


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder of data."""
    monkeypatch.setenv("LAMINAR_DATA", str(tmp_path))
    caltech.words.cache_clear()
    yield tmp_path
    caltech.words.cache_clear()


def bags(n_features):
    """Counts as bytes and three classes."""
    rng = np.random.default_rng(0)
    return {"X": rng.integers(0, 9, (60, n_features)).astype(np.uint8), "category": np.repeat([0, 1, 2], 20)}


# Data
def test_synthetic_counts(folder):
    data = caltech.words()
    assert "in place of caltech101" in data.title
    assert (np.rint(data.X) == data.X).all()
    assert (data.X >= 0).all()
    assert set(data.attributes["class"]) == set(range(10))


def test_news_have_most_frequent_words(folder):
    found = bags(520)
    found["X"][:, 7:27] = 0
    np.savez(folder / "tdt2_small.npz", X=found["X"], y=found["category"])
    data = caltech.words()
    assert "TDT2" in data.title
    expected = np.delete(found["X"], np.s_[7:27], axis=1).astype(float)
    np.testing.assert_array_equal(np.sort(data.X.sum(axis=0)), np.sort(expected.sum(axis=0)))


def test_own_data_have_their_name(folder):
    np.savez(folder / "caltech101.npz", **bags(500))
    assert caltech.words().title == "caltech101"
    assert caltech.how_to_obtain() == ""


# Cells
def test_scores_by_naive_computation(folder):
    data = caltech.words(small=True)
    scores = caltech.word_scores("caltech101", True, Method(NMF(3), False, "raw"), 3, 1, 4)
    rows, y = chosen_classes(data.attributes["class"], 3, 1)
    found = NMF(3, random_state=1).fit(data.X[rows]).cluster(readout="raw", n_init=4)
    assert scores["nmi"] == pytest.approx(100 * normalized_mutual_information(y, found, average="max"))
    graph = caltech.word_scores("caltech101", True, Method(WhitenedSpectral(3)), 3, 1, 4)
    assert graph["nmi"] > 60  # topics are there to be found


# Item
def test_item_in_small(folder):
    result = ITEMS["xiao-table2"].make(Run(quick=True))
    assert "in place of caltech101" in result.title
    assert "printed" not in result.verdict
    assert "https://data.caltech.edu" in result.sentences[-1]
    assert set(result.tables[0][1]["accuracy, printed"]) == {""}

"""Fig. 1 of Zafeiriou et al. in small, and its scores against naive ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar.experiments import ITEMS, Run
from laminar.experiments.zafeiriou import DRAWN, UNITS, boundaries, equal_distances, video, weight_error
from laminar.recipes import zafeiriou as published


class Given:
    """A model whose features are given."""

    def __init__(self, H=None):
        self.H = H

    def get_params(self, deep=True):
        return {"H": self.H}

    def __sklearn_clone__(self):
        return self

    def fit(self, X):
        return self

    def transform(self, X):
        return self.H


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.setenv("LAMINAR_DATA", "")
    video.cache_clear()


def trapezoid(marks, n):
    return np.interp(np.arange(n), [marks[0] - 0.5, marks[1] - 0.5, marks[2] - 0.5, marks[3] - 0.5], [0, 1, 1, 0])


def test_item_in_small(no_data, monkeypatch):
    monkeypatch.delitem(UNITS, "mouth stretch")
    result = ITEMS["zafeiriou-fig1"].make(Run(quick=True))
    assert "in place of MMI" in result.title
    assert set(result.cells["video"]) == set(UNITS)
    for _, table in result.tables[:3]:
        assert len(table) == 10
    chosen = result.tables[-1][1]
    assert (chosen["chosen"] == chosen.drop(columns="chosen").astype(float).idxmin(axis=1).str.split().str[1]).all()
    figure = result.figure()
    assert len(figure.axes) == len(DRAWN) * len(UNITS)


def test_true_feature_has_no_error(no_data):
    X, marks = video("eyes closed", True, 0)
    rng = np.random.default_rng(0)
    H = np.column_stack([1e-3 * rng.uniform(size=len(X)), trapezoid(marks, len(X))])
    found = boundaries("eyes closed", True, Given(H), 0, 0)
    assert found["error, slowest"] <= 0.5
    assert found["within 2, slowest"] == 1
    assert found["error, paper's"] > found["error, slowest"]  # the small feature is taken for a slow one
    assert_allclose([found[f"slowest {t}"] for t in range(len(X))], H[:, 1], atol=1e-12)


def test_constant_feature_counts_as_equal_distances(no_data):
    X, marks = video("eyes closed", True, 0)
    H = np.column_stack([np.zeros(len(X)), trapezoid(marks, len(X))])
    found = boundaries("eyes closed", True, Given(H), 0, 0)
    assert found["constant, paper's"] == 1
    assert found["within 2, paper's"] == 0
    assert_allclose(found["error, paper's"], np.abs(equal_distances(len(X)) - marks).mean())


def test_frames_left_out_are_predicted_by_neighbours(no_data):
    model = published.sfnmf(4, 1.0, max_iter=5, tol=0)
    found = weight_error("mouth stretch", True, model, 0, 3)["error"]
    X, _ = video("mouth stretch", True, 0)
    shown = [t for t in range(len(X)) if t % 3 != 1 or t == len(X) - 1]
    fitted = published.sfnmf(4, 1.0, max_iter=5, tol=0, random_state=3).fit(X[shown])
    codes = dict(zip(shown, fitted.layers_[-1].representation, strict=True))
    residuals, truth = [], []
    for t in range(1, len(X) - 1, 3):
        residuals.append(X[t] - 0.5 * (codes[t - 1] + codes[t + 1]) @ fitted.components_)
        truth.append(X[t])
    assert_allclose(found, np.linalg.norm(residuals) / np.linalg.norm(truth))


def test_still_head_moves_less(no_data):
    (moving, _), (still, _) = video("mouth stretch", False, 0), video("mouth stretch, still head", False, 0)
    assert np.abs(np.diff(still, axis=0)).mean() < np.abs(np.diff(moving, axis=0)).mean()

"""Figs. 2 to 4 of Zhao et al.: scores by iteration, parameters, on synthetic views."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from laminar.baselines import NEMO
from laminar.experiments import ITEMS, Run, data
from laminar.experiments.page import section
from laminar.experiments.zhao import curves
from laminar.metrics import normalized_mutual_information
from laminar.recipes import zhao as published


@pytest.fixture(autouse=True, scope="module")
def synthetic():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        data.views.cache_clear()
        yield
    data.views.cache_clear()


@pytest.fixture
def model():
    return published.dmf_mvc(4, (8, 6), max_iter=4, pretraining_max_iter=4)


# Cells


@pytest.mark.filterwarnings("ignore")
def test_scores_by_iteration_are_those_of_shorter_fits(model):
    scores = curves.by_iteration("yale_mv", True, model, (1, 3), 0)
    assert set(scores) == {"objective, 1", "NMI, 1", "objective, 3", "NMI, 3", "rises", "iterations"}
    X, y, _ = data.views("yale_mv", True)
    for i in (1, 3):
        short = published.dmf_mvc(4, (8, 6), max_iter=i, pretraining_max_iter=4, random_state=0).fit(X)
        assert_allclose(scores[f"objective, {i}"], short.objective_history_[-1])
        assert_allclose(scores[f"NMI, {i}"], normalized_mutual_information(y, short.labels_))


@pytest.mark.filterwarnings("ignore")
def test_shares_are_powers_of_weights(model):
    scores = curves.with_parameter("yale_mv", True, model, 0)
    weights = np.array([scores[f"weight, view {v}"] for v in (1, 2, 3)])
    shares = np.array([scores[f"share, view {v}"] for v in (1, 2, 3)])
    assert_allclose(weights.sum(), 1)
    assert_allclose(shares, weights**0.5 / (weights**0.5).sum())


# Sentences


def test_objective_is_constant_from_where_it_stays():
    assert curves._constant_from((1, 2, 5, 9), np.array([[9.0], [4.0], [1.01], [1.0]])) == 5
    assert curves._constant_from((1, 2), np.array([[1.0], [1.0]])) == 1


def test_converged_fit_stays():
    part = pd.DataFrame({"objective, 1": [2.0], "objective, 2": [np.nan], "NMI, 1": [0.5], "NMI, 2": [np.nan]})
    objective, nmi = curves._curves(part, (1, 2))
    assert objective.tolist() == [[2.0], [2.0]]
    assert nmi.tolist() == [[0.5], [0.5]]


def test_verdict_names_best_value():
    rows = [("[100 50]", gamma, seed, nmi) for gamma, nmi in ((0.5, 0.7), (5.0, 0.6)) for seed in (0, 1)]
    rows += [("[500 50]", gamma, seed, nmi) for gamma, nmi in ((0.5, 0.4), (5.0, 0.65)) for seed in (0, 1)]
    found = pd.DataFrame(rows, columns=["layers", "gamma", "seed", "NMI"]).assign(rule="published")
    others = pd.DataFrame({"method": ["NEMO"], "NMI": [0.8]})
    verdict, sentences = curves._findings(found, others, "gamma")
    assert "0.5 (0.700) for [100 50], 5 (0.650) for [500 50]" in verdict
    assert "from 0.400 to 0.700" in verdict
    assert sentences[0] == "[100 50] is the best of the three sizes for 1 of the 2 values."


@pytest.mark.parametrize("name", ["zhao-fig2", "zhao-fig3"])
def test_item_in_small(name, tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "ITERATIONS", (1, 2, 3))
    monkeypatch.setattr(curves, "ClusterEnsemble", lambda c, n_init: NEMO(c, n_init=n_init))  # faster
    monkeypatch.setattr(curves, "_small", lambda model, run: model.set_params(max_iter=3, pretraining_max_iter=3))
    result = ITEMS[name].make(Run(quick=True))
    assert "in place of" in result.title
    assert result.verdict in section(ITEMS[name], result, tmp_path)
    assert result.figure().axes

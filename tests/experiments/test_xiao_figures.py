"""Figs. 4 and 5 of Xiao et al.: convergence, and weights of the penalty."""

import pytest
from numpy.testing import assert_allclose

from laminar import ClassDrivenNMF
from laminar.datasets import partial_labels
from laminar.experiments import ITEMS, Run
from laminar.experiments.data import images
from laminar.experiments.xiao import convergence, parameters
from laminar.experiments.xiao.tables import HIDDEN, chosen_classes
from laminar.metrics import clustering_accuracy
from laminar.recipes import xiao as published


@pytest.fixture(scope="module", autouse=True)
def without_data():
    """Rendered faces in place of Yale."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        images.cache_clear()
        yield
    images.cache_clear()


def draw(n_classes, seed, least=1):
    """Return the samples of a draw, their classes, and the labels that are given."""
    data = images("yale", True)
    rows, y = chosen_classes(data.attributes["identity"], n_classes, seed)
    return data.X[rows], y, partial_labels(y, 0.1, least, random_state=seed)


# Convergence
@pytest.mark.parametrize("recipe", [published.nmf, published.cdnmf_f, published.cdnmf_kl])
def test_objective_is_that_of_fits_stopped_there(recipe):
    scores = convergence.objective_by_iteration("yale", True, recipe(2, max_iter=60), 2, 0)
    X, _, given = draw(2, 0)
    for iteration in (1, 20, 50):
        model = recipe(2, max_iter=iteration, random_state=0)
        fitted = model.fit(X) if recipe is published.nmf else model.fit(X, given)
        assert_allclose(scores[f"after {iteration}"], fitted.objective_history_[-1], rtol=1e-9)
    assert scores["iterations"] == 60
    history = recipe(2, max_iter=60, random_state=0).fit(*((X,) if recipe is published.nmf else (X, given)))
    within = [i + 1 for i, value in enumerate(history.objective_history_) if value <= 1.01 * scores["last"]]
    assert scores["within 1 %"] == within[0]


def test_convergence_in_small():
    result = ITEMS["xiao-fig5"].make(Run(quick=True))
    assert "in place of yale" in result.title
    assert set(result.cells["rule"]) == {"published", "laminar"}
    assert "never rises" in result.verdict
    assert len(result.figure().axes) == 6


# Weights of the penalty
def test_score_at_weight():
    scores = parameters.scores_at_weight("yale", True, ClassDrivenNMF(2), 3.0, 2, 1, 4)
    X, y, given = draw(2, 1, parameters.LEAST)
    found = ClassDrivenNMF(2, alpha=3.0, random_state=1).fit(X, given).cluster(readout="raw", n_init=4)
    assert scores["accuracy"] == pytest.approx(100 * clustering_accuracy(y, found))
    assert scores[HIDDEN] == pytest.approx(100 * clustering_accuracy(y[given < 0], found[given < 0]))


def test_choice_sees_given_labels_only(monkeypatch):
    seen = []

    def record(model, X, y, **settings):
        seen.append(y)
        return select_penalty(model, X, y, **settings)

    select_penalty = parameters.select_penalty
    monkeypatch.setattr(parameters, "select_penalty", record)
    chosen = parameters.chosen_weight("yale", True, published.cdnmf_f(2, max_iter=20), (0.1, 1.0), 2, 0, 2)
    assert chosen["weight"] in (0.1, 1.0)
    assert sorted(seen[0][seen[0] >= 0].tolist()) == [0, 0, 1, 1]


def test_weights_in_small():
    result = ITEMS["xiao-fig4"].make(Run(quick=True))
    ((_, table),) = result.tables
    assert "at the choice of each draw" in table.columns
    assert (table["at the choice of each draw"] != "-").all()
    assert len(result.figure().axes) == 2

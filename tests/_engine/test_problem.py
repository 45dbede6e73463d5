"""`Problem` and its addends: every factor sees the same objective, which no change of scale changes."""

import numpy as np
import pytest
import scipy.sparse as sp

from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.problem import Problem, fit, loss_value, smooth_codes, sparse_codes
from laminar.graphs import KNN, Chain, Labels
from laminar.testing import check_term

N, P, K = 40, 12, 3
rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(N, P))
X /= X.max()
LABELS = np.where(np.arange(N) % 3, rng.integers(0, 4, N), -1)
MASK = (rng.random((N, K)) < 0.4).astype(float)
FACTORS = {"H": rng.uniform(0.1, 1, (N, K)), "Z": rng.uniform(0.1, 1, (P, K))}
SIGNS = {"H": NonNegative(), "Z": NonNegative()}

GRAPHS = {"labels": Labels(), "knn": KNN(3), "chain": Chain(), "sum": Labels() + 0.5 * Chain()}
LAPLACIANS = {name: graph.build(X, LABELS) for name, graph in GRAPHS.items()}
PENALTIES = {  # name: (addend for invariant or not, its value by the definition for given scales)
    **{
        name: (
            lambda invariant, L=L: smooth_codes(L, 0.7, invariant=invariant),
            lambda H, Z, invariant, L=L: 0.35 * ((Z**2).sum(0) ** invariant) @ quadratic(L, H),
        )
        for name, L in LAPLACIANS.items()
    },
    "mask": (
        lambda invariant: sparse_codes(MASK.__getitem__, 0.3, invariant=invariant),
        lambda H, Z, invariant: 0.3 * (Z.sum(0) ** invariant) @ (MASK * H).sum(0),
    ),
}
every_penalty = pytest.mark.parametrize("name", PENALTIES)
both_losses = pytest.mark.parametrize("loss", ["frobenius", "kl"])


def quadratic(operator, H):
    W = operator.tocsr().toarray()
    return np.einsum("ia,ij,ja->a", H, np.diag(W.sum(1)) - W, H)


def fit_value(F, loss):
    Y = F["H"] @ F["Z"].T
    return ((X - Y) ** 2).sum() / 2 if loss == "frobenius" else (X * np.log(X / Y) - X + Y).sum()


@pytest.fixture
def problem(name, invariant, loss):
    """A fit and one penalty, and its value at FACTORS by the definition."""
    addend, value = PENALTIES[name]
    expected = fit_value(FACTORS, loss) + value(FACTORS["H"], FACTORS["Z"], int(invariant))
    return Problem(SIGNS, [fit(wrap(X), loss), addend(invariant)]), expected


# One objective


@both_losses
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("factor", SIGNS)
def test_fit_is_same_for_every_factor(loss, form, factor):
    plain = Problem(SIGNS, [fit(wrap(form(X)), loss)])
    objective = plain.objective(factor, FACTORS)
    assert objective.evaluate(FACTORS[factor]).value == pytest.approx(fit_value(FACTORS, loss))
    check_term(objective, FACTORS[factor])


@every_penalty
@both_losses
@pytest.mark.parametrize("invariant", [True, False])
@pytest.mark.parametrize("factor", SIGNS)
def test_penalised_objective_is_same_for_every_factor(problem, factor):
    problem, expected = problem
    objective = problem.objective(factor, FACTORS)
    assert objective.evaluate(FACTORS[factor]).value == pytest.approx(expected)
    check_term(objective, FACTORS[factor])


@every_penalty
@both_losses
@pytest.mark.parametrize("invariant", [True, False])
@pytest.mark.parametrize("last", SIGNS)
def test_value_does_not_depend_on_order(problem, last):
    problem, expected = problem
    names = sorted(SIGNS, key=lambda name: name == last)
    assert Problem({name: SIGNS[name] for name in names}, problem.addends).value(FACTORS) == pytest.approx(expected)


@both_losses
def test_loss_value_is_fit_alone(loss):
    assert loss_value(wrap(X), loss, FACTORS["H"], FACTORS["Z"]) == pytest.approx(fit_value(FACTORS, loss))


def test_penalised_means_more_than_fit():
    plain = Problem(SIGNS, [fit(wrap(X))])
    assert not plain.penalised
    assert Problem(SIGNS, [*plain.addends, smooth_codes(LAPLACIANS["knn"], 1.0)]).penalised


def test_absent_addend_is_left_out():
    """As layers that do not meet a factor."""
    problem = Problem({"H": NonNegative(), "Z": Free()}, [fit(wrap(X)), lambda name, F: None])
    assert len(problem.objective("H", FACTORS).terms) == 1


# Scale


@both_losses
def test_objective_is_free_of_scale_of_data(loss):
    values = [Problem(SIGNS, [fit(wrap(c * X), loss)]).value(FACTORS) for c in (1e-200, 1.0, 1e100)]
    assert values == pytest.approx([values[1]] * 3)


@every_penalty
@both_losses
@pytest.mark.parametrize("invariant", [True])
def test_invariant_objective_is_free_of_scale_of_components(problem):
    problem, expected = problem
    S = np.array([1e-3, 1.0, 40.0])
    scaled = {"H": FACTORS["H"] * S, "Z": FACTORS["Z"] / S}
    assert problem.value(scaled) == pytest.approx(expected, rel=1e-12)


@every_penalty
@pytest.mark.parametrize("loss", ["frobenius"])
@pytest.mark.parametrize("invariant", [False])
def test_published_penalty_vanishes_with_scale(problem):
    """Why there is an invariant one: this objective has no minimiser."""
    problem, expected = problem
    plain = fit_value(FACTORS, "frobenius")
    shrunk = {"H": FACTORS["H"] * 1e-3, "Z": FACTORS["Z"] * 1e3}
    assert problem.value(shrunk) - plain < 2e-3 * (expected - plain)

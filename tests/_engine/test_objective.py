"""`Objective`: sums of terms, and the KKT residual, zero exactly at stationary points and free of scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from laminar._engine.constraints import Free, NonNegative, UnitSum
from laminar._engine.data.wrap import wrap
from laminar._engine.objective import Objective
from laminar._engine.terms import KL, Constant, GraphPenalty, MaskedL1, Ridge, SquaredFit, Tie
from laminar._engine.updates import entrywise, hals, least_squares
from laminar.graphs import Chain, Labels
from laminar.testing import check_term

N, P, K = 40, 15, 3
rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(N, P)) * (rng.random((N, P)) < 0.8)
X /= X.max()
F, M = rng.uniform(0.2, 1, (N, K)), rng.uniform(0.2, 1, (P, K))
LABELS, MASK = rng.integers(0, 4, N), (rng.random((N, K)) < 0.4).astype(float)
TARGET, W = rng.normal(size=(N, K)), np.array([0.3, 2.0, 1.0])

FITS = {"squared": SquaredFit, "kl": KL}
PENALTIES = {
    "none": [],
    "graph": [GraphPenalty(Labels().build(X, LABELS), 0.3, W)],
    "two graphs": [GraphPenalty(graph.build(X, LABELS), 0.3, W) for graph in (Labels(), Chain())],
    "L1": [MaskedL1(MASK.__getitem__, W)],
    "graph and L1": [GraphPenalty(Chain().build(X), 0.3, W), MaskedL1(MASK.__getitem__, W)],
    "constant": [Constant(2.0)],
}
QUADRATIC = {
    "ridge": [Ridge(W)],
    "tie": [Tie(TARGET.__getitem__, W)],
    "ridge, tie and graph": [Ridge(W), Tie(TARGET.__getitem__, W), GraphPenalty(Labels().build(X, LABELS), 0.3, W)],
}
CASES = {
    **{f"{fit}, {name}": (FITS[fit], terms) for fit in FITS for name, terms in PENALTIES.items()},
    **{f"squared, {name}": (SquaredFit, terms) for name, terms in QUADRATIC.items()},
}


@pytest.fixture(params=CASES, scope="module")
def objective(request):
    """A fit and some penalties."""
    fit, penalties = CASES[request.param]
    return Objective([fit.of(wrap(X), M), *penalties])


# Sums


def test_value_is_sum_of_terms(objective):
    assert objective.evaluate(F).value == pytest.approx(sum(term.value(F) for term in objective.terms))


def test_contract_holds(objective):
    check_term(objective, F)


def test_exact_means_all_terms_exact(objective):
    assert objective.exact == all(term.exact for term in objective.terms)


def test_cached_objective_is_same_objective(objective):
    check_term(objective.cached(), F)
    assert objective.cached().evaluate(F) == objective.evaluate(F)


def test_unequal_column_weights_are_refused():
    penalties = [GraphPenalty(Chain().build(X), 0.3, w) for w in (W, 2 * W)]
    with pytest.raises(ValueError, match="weight its columns alike"):
        Objective([SquaredFit.of(wrap(X), M), *penalties]).majoriser(F)


def test_rounding_error_is_that_of_fit(objective):
    expected = objective.fit.rounding_error(objective.fit.value(F))
    assert objective.evaluate(F).rounding_error == expected > 0


# Residual


@pytest.fixture(scope="module")
def kkt_point(objective):
    """Where many updates end."""
    update, best = hals if objective.majoriser(F).ratio is None else entrywise, F
    for _ in range(3000):
        best = update(best, objective, NonNegative())
    return best


def test_residual_vanishes_at_kkt_point(objective, kkt_point):
    multiplied = objective.majoriser(F).ratio is not None  # entries that go to zero slow the update down
    assert objective.residual(kkt_point, NonNegative()) < (1e-3 if multiplied else 1e-9)


def test_residual_is_large_elsewhere(objective):
    assert objective.residual(F, NonNegative()) > 0.05


def test_residual_is_large_where_bound_holds_too_much(objective, kkt_point):
    """At zero, though the gradient pulls away from it."""
    stuck = kkt_point.copy()
    stuck[::2] = 0
    assert objective.residual(stuck, NonNegative()) > 0.02


def test_residual_vanishes_at_nnls():
    best = np.array([nnls(M, x)[0] for x in X])
    assert (best == 0).any()  # some entries are held by the constraint
    assert Objective([SquaredFit.of(wrap(X), M)]).residual(best, NonNegative()) < 1e-12


@pytest.mark.parametrize("penalties", [[], QUADRATIC["ridge"], QUADRATIC["tie"]], ids=["none", "ridge", "tie"])
def test_residual_of_free_factor_vanishes_at_least_squares(penalties):
    objective = Objective([SquaredFit.of(wrap(X - 0.3), M), *penalties])
    best = least_squares(F, objective, Free())
    assert objective.residual(best, Free()) < 1e-12
    assert objective.residual(best, NonNegative()) > 1e-3


def test_residual_of_unit_sums_vanishes_at_kkt_point():
    """There the gradient is constant over the support of a column; without its multiplier it is not zero."""
    objective, Z = Objective([KL.of(wrap(X).T, F)]), M / M.sum(0)
    assert objective.residual(Z, UnitSum()) > 0.05
    for _ in range(6000):
        Z = entrywise(Z, objective, UnitSum())
    assert_allclose(Z.sum(0), 1)
    assert objective.residual(Z, UnitSum()) < 1e-6
    assert objective.residual(Z, NonNegative()) > 1e-2


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("c", [1e-6, 1e5])
def test_residual_is_free_of_scale_of_data(fit, c):
    expected = Objective([fit.of(wrap(X), M)]).residual(F, NonNegative())
    assert Objective([fit.of(wrap(c * X), M)]).residual(F, NonNegative()) == pytest.approx(expected)


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_residual_is_free_of_scale_of_components(fit):
    S = np.array([1e-4, 1.0, 1e3])
    expected = Objective([fit.of(wrap(X), M)]).residual(F, NonNegative())
    assert Objective([fit.of(wrap(X), M / S)]).residual(F * S, NonNegative()) == pytest.approx(expected)


def test_residual_of_unit_sums_is_free_of_scale():
    Z = M / M.sum(0)
    values = [Objective([KL.of(wrap(c * X).T, F)]).residual(Z, UnitSum()) for c in (1e-6, 1.0, 1e5)]
    assert values == pytest.approx([values[1]] * 3)


def test_residual_of_zero_data_is_finite():
    assert Objective([SquaredFit.of(wrap(0 * X), M)]).residual(F, NonNegative()) > 0
    assert Objective([SquaredFit.of(wrap(0 * X), M)]).residual(0 * F, NonNegative()) == 0

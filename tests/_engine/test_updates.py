"""Updates: every one keeps the contract on every kind of objective it is for, and reaches the oracle's optimum."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from laminar._engine import updates
from laminar._engine.constraints import Free, NonNegative, UnitSum
from laminar._engine.data.wrap import wrap
from laminar._engine.objective import Objective
from laminar._engine.terms import KL, GraphPenalty, Majoriser, MaskedL1, Ridge, SquaredFit, Tie
from laminar.graphs import Chain, Labels
from laminar.testing import check_update
from reference import kernels as plain

N, P, K = 60, 20, 4
rng = np.random.default_rng(7)
LABELS, MASK = rng.integers(0, 4, N), (rng.random((N, K)) < 0.4).astype(float)
TARGET, W = rng.normal(size=(N, K)), np.array([0.3, 2.0, 1.0, 0.5])

MU = {f"multiplicative {eta}": partial(updates.multiplicative, eta=eta) for eta in (0.25, 0.5, 1.0)}
SQUARED = {  # updates of a non-negative factor under a squared error
    "hals": updates.hals,
    "hals or exact": updates.hals_or_exact,
    "thorough hals": updates.thorough_hals,
    "accelerated gradient": updates.accelerated_gradient,
    **MU,
}
EXACT = {"exact": updates.exact, **SQUARED}
PENALTIES = {  # of a squared error; those of EXACT have no row curvature
    "graph": lambda: [GraphPenalty(Labels().build(TARGET, LABELS), 0.3, W)],
    "two graphs": lambda: [GraphPenalty(graph.build(TARGET, LABELS), 0.3, W) for graph in (Labels(), Chain())],
    "graph and L1": lambda: [GraphPenalty(Chain().build(TARGET), 0.3, W), MaskedL1(MASK.__getitem__, W)],
}
EXACT_PENALTIES = {
    "none": list,
    "ridge": lambda: [Ridge(W)],
    "tie": lambda: [Tie(TARGET.__getitem__, W)],
    "L1": lambda: [MaskedL1(MASK.__getitem__, W)],
    "ridge, tie and L1": lambda: [Ridge(W), Tie(TARGET.__getitem__, W), MaskedL1(MASK.__getitem__, W)],
}
DIVERGENCE = {
    "none": list,
    "L1": lambda: [MaskedL1(MASK.__getitem__, W)],
    "graph": lambda: [GraphPenalty(Labels().build(TARGET, LABELS), 0.3, W)],
    "graph and L1": lambda: [GraphPenalty(Chain().build(TARGET), 0.3, W), MaskedL1(MASK.__getitem__, W)],
}
both_floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sample(mixed=False, n=N, k=K, seed=0, dtype=np.float64):
    """Data in unit scale, a positive F, the other factor."""
    rng = np.random.default_rng(seed)
    X, F, M = rng.gamma(1.0, size=(n, P)), rng.uniform(0.2, 1, (n, k)), rng.uniform(0.2, 1, (P, k))
    if mixed:
        X, M = rng.normal(size=(n, P)), rng.normal(size=(P, k))
    return (X / np.abs(X).max()).astype(dtype), F.astype(dtype), M.astype(dtype)


@pytest.fixture(params=[False, True], ids=["non-negative", "mixed"])
def mixed(request):
    """Whether X and the other factor have both signs."""
    return request.param


def parametrize(name, table):
    return pytest.mark.parametrize(name, table.values(), ids=table)


def objective_of(X, M, penalties=()):
    return Objective([SquaredFit.of(wrap(X), M), *penalties])


# Contract, squared error


@parametrize("update", EXACT)
@both_floats
@pytest.mark.parametrize("seed", range(2))
def test_squared_error_contract_holds(update, dtype, mixed, seed):
    X, F, M = sample(mixed, seed=seed, dtype=dtype)
    check_update(update, F, objective_of(X, M))


@parametrize("update", EXACT)
@parametrize("penalties", EXACT_PENALTIES)
def test_exact_penalty_contract_holds(update, penalties, mixed):
    X, F, M = sample(mixed)
    check_update(update, F, objective_of(X, M, penalties()))


@parametrize("update", SQUARED)
@parametrize("penalties", PENALTIES)
def test_graph_penalty_contract_holds(update, penalties, mixed):
    X, F, M = sample(mixed)
    check_update(update, F, objective_of(X, M, penalties()))


@pytest.mark.usefixtures("two_threads")
@parametrize("update", EXACT)
def test_contract_holds_on_two_threads(update):
    X, F, M = sample(n=2500)
    objective = objective_of(X, M)
    assert len(objective.groups[0]) > 1
    check_update(update, F, objective)


@pytest.mark.parametrize("update", [updates.hals, updates.exact, updates.hals_or_exact, updates.accelerated_gradient])
def test_contract_holds_for_groups_of_rows(update):
    """Groups with a Gram matrix each, their rows scattered, as samples with different views."""
    X, F, M = sample(mixed=True)
    even, odd = np.arange(0, N, 2), np.arange(1, N, 2)
    B, few = X @ M, M[:12]
    B[odd] = X[odd, :12] @ few
    fit = SquaredFit(B.__getitem__, np.stack([M.T @ M, few.T @ few]), [[even], [odd]], (X**2).sum(), P)
    check_update(update, F, Objective([fit]))


@parametrize("update", EXACT)
def test_zero_components_are_survived(update):
    X, F, M = sample()
    new = update(F, objective_of(X, 0 * M), NonNegative())
    assert np.isfinite(new).all()
    assert (new >= 0).all()


# Contract, divergence


@parametrize("update", {"entrywise": updates.entrywise, **MU})
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
@both_floats
def test_divergence_contract_holds(update, form, dtype):
    X, F, M = sample(dtype=dtype)
    check_update(update, F, KL.of(wrap(form(X)), M))


@parametrize("penalties", DIVERGENCE)
def test_penalised_divergence_contract_holds(penalties):
    X, F, M = sample()
    check_update(updates.entrywise, F, Objective([KL.of(wrap(X), M), *penalties()]))


@parametrize("penalties", {name: DIVERGENCE[name] for name in ("none", "L1")})
@parametrize("update", MU)
def test_divergence_with_linear_penalty_descends(update, penalties):
    X, F, M = sample()
    check_update(update, F, Objective([KL.of(wrap(X), M), *penalties()]))


def test_unit_sum_contract_holds():
    X, F, M = sample()
    check_update(updates.entrywise, M / M.sum(0), Objective([KL.of(wrap(X).T, F)]), UnitSum())


# Multiplicative exponents


@parametrize("update", MU)
def test_multiplicative_update_never_ascends(update):
    """The lemma of docs/methods.md 1.2 on many problems with data and components of any sign."""
    for seed in range(20):
        X, F, M = sample(mixed=True, n=20, k=5, seed=seed)
        objective = objective_of(X, M)
        values = [objective.evaluate(F).value]
        for _ in range(20):
            F = update(F, objective, NonNegative())
            values.append(objective.evaluate(F).value)
        assert np.diff(values).max() <= 1e-12 * values[0]


def test_exponent_above_one_ascends():
    """Why models refuse it."""
    rises = 0
    for seed in range(10):
        X, F, M = sample(mixed=True, n=20, k=5, seed=seed)
        objective = objective_of(X, M)
        values = [objective.evaluate(F).value]
        for _ in range(30):
            F = updates.multiplicative(F, objective, NonNegative(), eta=2.0)
            values.append(objective.evaluate(F).value)
        rises += np.nanmax(np.diff(values)) > 1e-9
    assert rises > 0


@parametrize("update", MU)
def test_multiplicative_update_keeps_zeros(update):
    X, F, M = sample()
    F[::3, 1] = 0
    assert (update(F, objective_of(X, M), NonNegative())[::3, 1] == 0).all()


# Optimality


@pytest.mark.parametrize("update", [updates.hals, updates.accelerated_gradient])
def test_repeated_update_reaches_optimum(update, mixed):
    X, F, M = sample(mixed)
    objective, best = objective_of(X, M), plain.nnls(X, M)
    for _ in range(100):
        F = update(F, objective, NonNegative())
    assert objective.evaluate(F).value == pytest.approx(objective.evaluate(best).value, rel=1e-8)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_exact_equals_scipy(k, mixed):
    X, F, M = sample(mixed, k=k)
    expected = plain.nnls(X, M)
    for start in (F, 0 * F):
        assert_allclose(updates.exact(start, objective_of(X, M), NonNegative()), expected, atol=1e-9)
    assert_allclose(updates.exact(F, objective_of(sp.csr_matrix(X), M), NonNegative()), expected, atol=1e-9)


def test_exact_with_ridge_and_tie_equals_scipy(mixed):
    """A ridge and a tie are further rows of the least-squares problem."""
    X, F, M = sample(mixed)
    below = np.vstack([M, np.diag(np.sqrt(W)), np.diag(np.sqrt(W))])
    data = np.hstack([X, np.zeros((N, K)), TARGET * np.sqrt(W)])
    objective = objective_of(X, M, [Ridge(W), Tie(TARGET.__getitem__, W)])
    assert_allclose(updates.exact(F, objective, NonNegative()), plain.nnls(data, below), atol=1e-9)


@parametrize("penalties", PENALTIES)
def test_graph_penalised_optimum_is_local_minimum(penalties):
    X, F, M = sample()
    objective = objective_of(X, M, penalties())
    for _ in range(1500):
        F = updates.hals(F, objective, NonNegative())
    assert objective.residual(F, NonNegative()) < 1e-7
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = np.maximum(F + 1e-3 * rng.normal(size=F.shape), 0)
        assert objective.evaluate(other).value >= objective.evaluate(F).value


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1e-1, 1e-3, 1e-6])
def test_accelerated_gradient_descends_near_optimum(seed, size):
    """Of a badly conditioned problem, where momentum overshoots."""
    X, F, M = sample(k=6, seed=seed)
    objective = objective_of(X, M @ np.diag([1, 1, 1, 1e-1, 1e-2, 1e-3]) + 0.5)
    best = updates.exact(F, objective, NonNegative())
    near = np.maximum(best * (1 + size * np.random.default_rng(seed).normal(size=F.shape)), 0)
    new = updates.accelerated_gradient(near, objective, NonNegative())
    assert objective.evaluate(new).value <= objective.evaluate(near).value * (1 + 1e-12)


# Components that nearly depend on each other


@pytest.mark.parametrize("seed", range(3))
def test_hals_or_exact_is_exact_where_components_depend(seed):
    X, F, M = sample(mixed=True, seed=seed)
    objective = objective_of(X, M[:, :1] + 1e-3 * M)
    expected = updates.exact(F, objective, NonNegative())
    assert_array_equal(updates.hals_or_exact(F, objective, NonNegative()), expected)
    assert (expected != updates.hals(F, objective, NonNegative())).any()


HALS_CASES = {  # change of M; dtype; penalties
    "independent": (lambda M: M, np.float64, []),
    "one zero": (lambda M: M * [1, 1, 0, 1], np.float64, []),
    "badly scaled": (lambda M: M * [1, 1e-3, 1, 1e3], np.float64, []),
    "single precision": (lambda M: M[:, :1] + 1e-3 * M, np.float32, []),
    "graph": (lambda M: M[:, :1] + 1e-3 * M, np.float64, PENALTIES["graph"]()),
}


@pytest.mark.parametrize("case", HALS_CASES)
def test_hals_or_exact_is_hals_elsewhere(case):
    change, dtype, penalties = HALS_CASES[case]
    X, F, M = sample(mixed=True)
    objective = objective_of(X.astype(dtype), change(M).astype(dtype), penalties)
    expected = updates.hals(F.astype(dtype), objective, NonNegative())
    assert_array_equal(updates.hals_or_exact(F.astype(dtype), objective, NonNegative()), expected)


def test_hals_or_exact_looks_at_every_group():
    X, F, M = sample(mixed=True)
    even, odd = np.arange(0, N, 2), np.arange(1, N, 2)
    near = M[:, :1] + 1e-3 * M
    B = X @ M
    B[odd] = X[odd] @ near
    fit = SquaredFit(B.__getitem__, np.stack([M.T @ M, near.T @ near]), [[even], [odd]], (X**2).sum(), P)
    got = updates.hals_or_exact(F, Objective([fit]), NonNegative())
    assert_allclose(got[even], plain.nnls(X[even], M), atol=1e-8)
    assert_array_equal(got, updates.exact(F, Objective([fit]), NonNegative()))


# Least squares


@both_floats
@parametrize("penalties", {name: EXACT_PENALTIES[name] for name in ("none", "ridge", "tie")})
def test_least_squares_contract_holds(dtype, penalties):
    X, F, M = sample(mixed=True, dtype=dtype)
    check_update(updates.least_squares, F, objective_of(X, M, penalties()), Free())


@both_floats
def test_least_squares_equals_numpy(dtype):
    X, F, M = sample(mixed=True, dtype=dtype)
    expected = np.linalg.lstsq(M.astype(float), X.T.astype(float), rcond=None)[0].T
    got = updates.least_squares(F, objective_of(X, M), Free())
    assert_allclose(got, expected, atol=1e-3 if dtype == np.float32 else 1e-9)


@parametrize("penalties", {name: PENALTIES[name] for name in ("graph", "two graphs")})
def test_least_squares_with_row_curvature_descends(penalties):
    X, F, M = sample(mixed=True)
    check_update(updates.least_squares, F, objective_of(X, M, penalties()), Free())


def test_least_squares_with_row_curvature_by_groups_descends():
    """Free codes of missing views over a graph: one Gram matrix and one largest curvature a group."""
    X, F, M = sample(mixed=True)
    even, odd = np.arange(0, N, 2), np.arange(1, N, 2)
    B, few = X @ M, M[:12]
    B[odd] = X[odd, :12] @ few
    fit = SquaredFit(B.__getitem__, np.stack([M.T @ M, few.T @ few]), [[even], [odd]], (X**2).sum(), P)
    check_update(updates.least_squares, F, Objective([fit, Rowwise(0.5)]), Free())


class Rowwise:
    """``weight / 2 sum_i r_i <c * f_i, f_i>``, said to be inexact: curvature by rows without a graph."""

    exact = False

    def __init__(self, weight):
        self.weight, self.r = weight, np.linspace(0, 3, N)

    def value(self, F):
        return self.weight / 2 * float((self.r[:, None] * W * F**2).sum())

    def majoriser(self, F):
        return Majoriser(None, None, self.weight * self.r, W)


BAD_GRAMS = {
    "dependent": lambda M: np.column_stack([M[:, :3], M[:, 0] + M[:, 1]]),
    "nearly dependent": lambda M: np.column_stack([M[:, :3], M[:, 0] + 1e-7 * M[:, 1]]),
    "one zero": lambda M: M * [1, 1, 0, 1],
    "badly scaled": lambda M: M * [1e-9, 1, 1e6, 1e-3],
    "rank one": lambda M: np.outer(M[:, 0], [1.0, -2.0, 0.5, 3.0]),
    "zero": lambda M: 0 * M,
}


@parametrize("change", BAD_GRAMS)
@both_floats
def test_least_squares_survives_bad_gram(change, dtype):
    X, F, M = sample(mixed=True)
    X, F, M = X.astype(dtype), F.astype(dtype), change(M).astype(dtype)
    objective = objective_of(X, M)
    rounding = 50 * np.finfo(dtype).eps * objective.fit.size
    new = updates.least_squares(F, objective, Free())
    inverse = np.linalg.pinv(M.astype(float), rcond=0 if change is BAD_GRAMS["badly scaled"] else 1e-5)
    best = ((X - X @ inverse.T @ M.T.astype(float)) ** 2).sum() / 2
    at = objective.evaluate
    assert at(new).value <= at(F).value + rounding
    assert at(new).value <= best * (1 + (1e-3 if dtype == np.float32 else 1e-6)) + rounding
    assert abs(at(updates.least_squares(new, objective, Free())).value - at(new).value) <= rounding


def test_least_squares_moves_singular_factor_least():
    """A zero component, and the null space of dependent ones, stay where they are."""
    X, F, M = sample(mixed=True)
    M[:, 2] = 0
    M[:, 3] = M[:, 0]
    new = updates.least_squares(F, objective_of(X, M), Free())
    assert_array_equal(new[:, 2], F[:, 2])
    assert_allclose(new[:, 0] - new[:, 3], F[:, 0] - F[:, 3], atol=1e-9)

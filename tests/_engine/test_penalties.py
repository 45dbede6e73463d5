"""A penalty is the same function from either factor, scale-free in its invariant form, and descent keeps to it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._engine import updates
from laminar._engine.constraints import Free, NonNegative, UnitSum
from laminar._engine.data.matrix import wrap
from laminar._engine.penalties import Smooth, Sparing
from laminar._engine.problem import Chain as Fit
from laminar._engine.problem import Problem
from laminar._engine.solve import solve
from laminar.graphs import KNN, Chain, Labels
from laminar.testing import check_term, check_update

SIGNS = {"H": NonNegative(), "Z": NonNegative()}


def sample(n=40, p=12, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    y[::3] = -1
    factors = {"H": rng.uniform(0.1, 1, (n, k)), "Z": rng.uniform(0.1, 1, (p, k))}
    return rng.gamma(1.0, size=(n, p)), y, factors


def penalties(X, y, k, invariant):
    mask = (np.random.default_rng(5).random((len(X), k)) < 0.4).astype(float)
    graphs = {"labels": Labels(), "class means": Labels(normalize="class"), "knn": KNN(3), "chain": Chain()}
    graphs["sum"] = Labels() + 0.5 * Chain() + 2 * KNN(2)
    made = {name: Smooth(graph.build(X, y), 0.7, invariant) for name, graph in graphs.items()}
    return {**made, "mask": Sparing(mask.__getitem__, 0.3, invariant)}


NAMES = ["labels", "class means", "knn", "chain", "sum", "mask"]
every_penalty = pytest.mark.parametrize("name", NAMES)
both_scales = pytest.mark.parametrize("invariant", [True, False])


def dense_value(penalty, H, Z):
    """By the definition."""
    if isinstance(penalty, Sparing):
        s = np.abs(Z).sum(0) if penalty.invariant else np.ones(Z.shape[1])
        return penalty.weight * (penalty.mask(slice(None)) * H * s).sum()
    W = penalty.operator.tocsr().toarray()
    L = np.diag(W.sum(1)) - W
    s = (Z**2).sum(0) if penalty.invariant else np.ones(Z.shape[1])
    return penalty.weight / 2 * np.trace(np.diag(s) @ H.T @ L @ H)


@every_penalty
@both_scales
@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_every_factor_sees_the_same_objective(name, invariant, loss):
    X, y, F = sample()
    # A divergence has its scale fixed by a constraint, not by the penalty.
    penalty = penalties(X, y, 3, invariant and loss == "frobenius")[name]
    problem = Problem(Fit(wrap(X), loss=loss), SIGNS, penalty)
    expected = Problem(Fit(wrap(X), loss=loss), SIGNS).value(F) + dense_value(penalty, F["H"], F["Z"])
    assert problem.value(F) == pytest.approx(expected)
    for factor in ("H", "Z"):
        term = problem.term(factor, F)
        assert term.value(F[factor]) == pytest.approx(expected)
        check_term(term, F[factor])


@every_penalty
def test_the_invariant_form_does_not_see_a_change_of_scale(name):
    X, y, F = sample()
    penalty, S = penalties(X, y, 3, True)[name], np.array([1e-3, 1.0, 40.0])
    assert penalty.value(F["H"] * S, F["Z"] / S) == pytest.approx(penalty.value(F["H"], F["Z"]), rel=1e-12)


@every_penalty
def test_the_published_form_vanishes_with_the_scale(name):
    X, y, F = sample()
    penalty = penalties(X, y, 3, False)[name]
    assert penalty.value(F["H"] * 1e-3, F["Z"] * 1e3) < 2e-3 * penalty.value(F["H"], F["Z"])


RULES = {
    "hals": updates.hals,
    "accelerated": updates.accelerated_gradient,
    "multiplicative": updates.multiplicative,
    "multiplicative .5": partial(updates.multiplicative, eta=0.5),
}


@every_penalty
@both_scales
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("mixed", [False, True])
def test_updates_of_the_codes_go_down(name, invariant, rule, mixed):
    X, y, F = sample()
    if mixed:
        X, F["Z"] = X - 1, F["Z"] - 0.5
    penalty = penalties(np.abs(X), y, 3, invariant)[name]
    term = Problem(Fit(wrap(X)), SIGNS, penalty).term("H", F)
    values, H = [term.value(F["H"])], F["H"]
    for _ in range(30):
        H = rule(H, term, NonNegative())
        values.append(term.value(H))
    assert np.diff(values).max() <= 1e-12 * values[0]
    assert values[-1] < values[0]


@every_penalty
def test_hals_reaches_the_optimum_of_the_codes(name):
    X, y, F = sample(n=20)
    term = Problem(Fit(wrap(X)), SIGNS, penalties(X, y, 3, True)[name]).term("H", F)
    check_update(updates.hals, F["H"], term)
    H = F["H"]
    for _ in range(3000):
        H = updates.hals(H, term)
    assert term.residual(H, NonNegative()) < 1e-7
    # The objective is convex in H: no direction that stays inside goes down.
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = np.maximum(H + 1e-3 * rng.normal(size=H.shape), 0)
        assert term.value(other) >= term.value(H)


@every_penalty
def test_the_divergence_goes_down_and_comes_to_rest(name):
    X, y, F = sample(n=20)
    term = Problem(Fit(wrap(X), loss="kl"), SIGNS, penalties(X, y, 3, False)[name]).term("H", F)
    check_update(updates.root, F["H"], term)


@pytest.mark.parametrize("weight", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("name", ["labels", "knn", "chain", "mask"])
def test_components_that_sum_to_one(name, weight):
    """The divergence with its scale held: both steps go down, and the residual is zero where they rest."""
    X, y, F = sample()
    F["Z"] /= F["Z"].sum(0)
    penalty = replace(penalties(X, y, 3, False)[name], weight=weight)
    problem = Problem(Fit(wrap(X), loss="kl"), {"H": NonNegative(), "Z": UnitSum()}, penalty)
    rules = {"H": updates.root, "Z": updates.root}
    state = solve(problem, F, rules, max_iter=1500, tol=0, extrapolate=False)
    assert np.diff(state.history).max() <= 1e-12 * state.history[0]
    assert_allclose(state.best["Z"].sum(0), 1)
    residuals = [problem.term(n, state.best).residual(state.best[n], problem.constraints[n]) for n in ("H", "Z")]
    assert max(residuals) < 2e-2
    fast = solve(problem, F, rules, max_iter=1500, tol=0, extrapolate=True)
    assert fast.history[-1] <= state.history[-1] * (1 + 1e-3)


@every_penalty
def test_least_squares_of_the_components_has_the_ridge(name):
    X, y, F = sample()
    if name == "mask":
        pytest.skip("a price on the length of a component has no closed form for a free one")
    penalty = penalties(X, y, 3, True)[name]
    problem = Problem(Fit(wrap(X)), {"H": NonNegative(), "Z": Free()}, penalty)
    term = problem.term("Z", F)
    Z = updates.least_squares(F["Z"], term)
    H, q = F["H"], penalty.weight * penalty.operator.quad_columns(F["H"])
    assert_allclose(Z.T, np.linalg.solve(H.T @ H + np.diag(q), H.T @ X / X.max()), rtol=1e-8)


@pytest.mark.parametrize("graph", [Labels(), Labels(normalize="class"), KNN(3), Chain(), Labels() + 3 * Chain()])
def test_no_laplacian_exceeds_its_stiffness(graph):
    X, y, _ = sample()
    operator = graph.build(X, y)
    W = operator.tocsr().toarray()
    L = np.diag(W.sum(1)) - W
    assert np.linalg.eigvalsh(np.diag(operator.stiffness) - L).min() > -1e-10
    H = np.random.default_rng(1).random((len(X), 4))
    up, down, lean = (part(slice(0, len(X))) for part in operator.parts(H))
    assert (up >= 0).all()
    assert (down >= 0).all()
    assert_allclose(up - down, L @ H, atol=1e-12)
    assert_allclose(lean, operator.stiffness[:, None] * H - L @ H, atol=1e-12)
    assert_allclose(operator.quad_columns(H), np.einsum("ij,ij->j", H, L @ H))

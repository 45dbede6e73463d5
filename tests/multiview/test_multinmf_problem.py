"""One view of MultiNMF: the penalty on distance from a target, its updates, and the consensus."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from laminar._engine.constraints import NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.problem import Problem, fit
from laminar._engine.solve import solve
from laminar._engine.updates import hals
from laminar.multiview.multinmf_problem import (
    RULES,
    ViewFactors,
    chained_start,
    component_descent,
    consensus,
    near_target,
    objective,
    shares,
)
from laminar.testing import check_term, check_update

N, P, K = 40, 12, 3
LAMBDAS = [0.0, 0.01, 1.0, 100.0]
rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(N, K)) @ rng.gamma(1.0, size=(K, P)) + 0.1 * rng.random((N, P))
X /= X.max()
TARGET = 4 * rng.random((N, K))
FACTORS = {"Z": rng.random((P, K)), "H": rng.random((N, K))}
SIGNS = {"Z": NonNegative(), "H": NonNegative()}


def value(F, alpha):
    H, Z = F["H"], F["Z"]
    return ((X - H @ Z.T) ** 2).sum() / 2 + alpha / 2 * ((H * Z.sum(0) - TARGET) ** 2).sum()


@pytest.fixture(params=LAMBDAS)
def alpha(request):
    """Weight of the distance from the target."""
    return request.param


@pytest.fixture
def problem(alpha):
    return Problem(SIGNS, [fit(wrap(X)), near_target(TARGET, alpha)])


# One objective


def test_codes_see_whole_objective(problem, alpha):
    assert problem.objective("H", FACTORS).evaluate(FACTORS["H"]).value == pytest.approx(value(FACTORS, alpha))
    assert problem.value(FACTORS) == pytest.approx(value(FACTORS, alpha))


def test_components_see_objective_up_to_constant(problem, alpha):
    got = problem.objective("Z", FACTORS).evaluate(FACTORS["Z"]).value
    assert got + alpha / 2 * (TARGET**2).sum() == pytest.approx(value(FACTORS, alpha))


@pytest.mark.parametrize("name", FACTORS)
def test_contract_of_objective_holds(problem, name):
    check_term(problem.objective(name, FACTORS), FACTORS[name])


def test_change_of_scale_changes_nothing(problem, alpha):
    S = np.array([1e-2, 1.0, 30.0])
    scaled = {"H": FACTORS["H"] * S, "Z": FACTORS["Z"] / S}
    assert problem.value(scaled) == pytest.approx(value(FACTORS, alpha), rel=1e-10)


# Updates


@pytest.mark.parametrize("rule", RULES)
def test_contract_of_codes_holds(problem, rule):
    check_update(RULES[rule].codes, FACTORS["H"], problem.objective("H", FACTORS))


@pytest.mark.parametrize("update", [hals, *(rule.components for rule in RULES.values())])
def test_updates_of_components_descend(problem, update):
    objective, Z = problem.objective("Z", FACTORS), FACTORS["Z"]
    values = [objective.evaluate(Z).value]
    for _ in range(30):
        Z = update(Z, objective, NonNegative())
        values.append(objective.evaluate(Z).value)
    assert np.diff(values).max() <= 1e-12 * abs(values[0])
    assert values[1] < values[0]


@pytest.mark.parametrize("alpha", [0.01, 0.5])
def test_component_descent_reaches_optimum(problem, alpha):
    best = component_descent(FACTORS["Z"], problem.objective("Z", FACTORS), NonNegative(), sweeps=300)
    found = minimize(
        lambda z: value({**FACTORS, "Z": z.reshape(P, K)}, alpha),
        FACTORS["Z"].ravel(),
        bounds=[(0, None)] * (P * K),
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-14, "gtol": 1e-10},
    )
    assert value({**FACTORS, "Z": best}, alpha) <= found.fun * (1 + 1e-9)
    assert_allclose(best.ravel(), found.x, atol=1e-3 * best.max())
    assert problem.objective("Z", FACTORS).residual(best, NonNegative()) < 1e-6


def test_component_without_codes_is_kept():
    """Nothing is known of it: its curvature is zero."""
    F = {**FACTORS, "H": FACTORS["H"] * [1, 0, 1]}
    problem = Problem(SIGNS, [fit(wrap(X)), near_target(TARGET, 0.1)])
    new = component_descent(F["Z"], problem.objective("Z", F), NonNegative())
    assert_allclose(new[:, 1], F["Z"][:, 1], rtol=0)
    assert np.isfinite(new).all()


# Loop


@pytest.mark.parametrize("rule", RULES)
def test_loop_never_ascends(problem, alpha, rule):
    rule = RULES[rule]
    updates = {"Z": rule.components, "H": rule.codes}
    solution = solve(problem, FACTORS, updates, monitor=Monitor(40, 0), extrapolate=rule.extrapolate)
    assert np.diff(solution.history).max() <= 1e-10 * solution.history[0]
    assert value(solution.factors, alpha) == pytest.approx(solution.history[-1])


# Views


def view(H=FACTORS["H"], Z=FACTORS["Z"]):
    return ViewFactors(wrap(X), H.copy(), Z.copy())


def test_normalised_components_sum_to_one():
    one = view(Z=FACTORS["Z"] * [1, 0, 1])
    before = one.H @ one.Z.T
    one.normalize()
    assert_allclose(one.Z.sum(0), 1)
    assert_allclose(one.H @ one.Z.T, before, atol=1e-12)
    assert (one.H[:, 1] == 0).all()  # a zero component becomes constant, with codes of zero


def test_fit_of_view_descends(alpha):
    one = view()
    one.normalize()
    before = value({"H": one.H, "Z": one.Z}, alpha)
    one.fit(RULES["fast"], TARGET, alpha, max_iter=20, tol=0)
    assert value({"H": one.H, "Z": one.Z}, alpha) < before
    assert_allclose(one.Z.sum(0), 1)


def test_consensus_is_mean_of_shares():
    views, weights = [view(), view(H=2 * FACTORS["H"])], np.array([1.0, 3.0])
    assert_allclose(consensus(views, weights), (0.25 + 0.75 * 2) * FACTORS["H"] / views[0].total)
    assert_allclose(shares(np.zeros(4)), 0.25)


def test_consensus_minimises_objective():
    views, weights = [view(), view(H=FACTORS["H"][::-1])], np.array([1.0, 3.0])
    mean = consensus(views, weights)
    best = objective(views, weights, mean)
    for seed in range(5):
        other = mean + 1e-3 * np.random.default_rng(seed).normal(size=mean.shape)
        assert objective(views, weights, other) > best


@pytest.mark.parametrize("rule", RULES)
def test_chained_start_fits_every_view(rule):
    views = [view(), view(H=rng.random((N, K)))]
    chained_start(views, RULES[rule], max_iter=30, tol=1e-4)
    for one in views:
        assert ((X - one.H @ one.Z.T) ** 2).sum() < 0.05 * (X**2).sum()

"""`missing_views`: the fit of what was observed, with and without a graph, as both factors see it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.derived import Stacked
from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.problem import Problem, fit, smooth_codes
from laminar._engine.solve import solve
from laminar._engine.updates import accelerated_gradient, exact, hals, hals_or_exact, least_squares
from laminar.graphs import KNN, Labels
from laminar.multiview.missing import missing_views
from laminar.testing import check_update

N, K, SIZES, WEIGHTS = 40, 3, (8, 5, 6), np.array([0.5, 0.3, 0.2])
EDGES = np.cumsum([0, *SIZES])
SIGNS = {"free": Free(), "non-negative": NonNegative()}
GRAPHS = {"none": None, "labels": Labels(), "knn": KNN(3)}
every_graph = pytest.mark.parametrize("graph", GRAPHS)
every_sign = pytest.mark.parametrize("sign", SIGNS)

rng = np.random.default_rng(0)
OBSERVED = rng.random((N, 3)) < 0.6
OBSERVED[:, 0] |= ~OBSERVED.any(1)
VIEWS = [rng.normal(size=(N, p)) * OBSERVED[:, [v]] for v, p in enumerate(SIZES)]
VIEWS = [view / np.abs(view).max() for view in VIEWS]
FACTORS = {"H": rng.uniform(0.1, 1, (N, K)), "Z": rng.normal(size=(sum(SIZES), K))}
LABELS = rng.integers(0, 3, N)
LAPLACIANS = {name: graph and graph.build(np.hstack(VIEWS), LABELS) for name, graph in GRAPHS.items()}


@pytest.fixture
def problem(graph, sign):
    """The problem with holes, under a graph or none and codes of one sign or both."""
    penalties = [smooth_codes(LAPLACIANS[graph], 0.4)] if LAPLACIANS[graph] is not None else []
    return missing_views(Stacked([wrap(view) for view in VIEWS], WEIGHTS), OBSERVED, SIGNS[sign], penalties)


def value(F, graph):
    """By the definition, sample by sample; Z has the roots of the weights in it."""
    H, Z, total = F["H"], F["Z"], 0.0
    for i in range(N):
        views = np.flatnonzero(OBSERVED[i])
        parts = {v: Z[EDGES[v] : EDGES[v + 1]] for v in views}
        total += sum(((np.sqrt(WEIGHTS[v]) * VIEWS[v][i] - Zv @ H[i]) ** 2).sum() for v, Zv in parts.items()) / 2
        if len(views) < 3:
            total += 0.1 / (2 * K) * (H[i] ** 2).sum() * sum((Zv**2).sum() for Zv in parts.values())
    if LAPLACIANS[graph] is not None:
        W = LAPLACIANS[graph].tocsr().toarray()
        total += 0.2 * np.einsum("ia,ij,ja,a", H, np.diag(W.sum(1)) - W, H, (Z**2).sum(0))
    return total


# One objective


@every_graph
@every_sign
def test_every_factor_sees_same_objective(problem, graph):
    for name in problem.constraints:
        got = problem.objective(name, FACTORS).evaluate(FACTORS[name]).value
        assert got == pytest.approx(value(FACTORS, graph))


@every_graph
@pytest.mark.parametrize("sign", ["free"])
def test_gradient_is_that_of_definition(problem, graph):
    rng = np.random.default_rng(1)
    for name, F in FACTORS.items():
        objective = problem.objective(name, FACTORS)
        majoriser = objective.majoriser(F)
        grams = majoriser.G.reshape(-1, K, K)
        gradient = np.empty_like(F)
        for G, blocks in zip(grams, objective.groups, strict=True):
            for b in blocks:
                gradient[b] = majoriser.gradient(b, F[b], G)
        step = 1e-4 * rng.normal(size=F.shape)
        ends = [value({**FACTORS, name: F + sign * step}, graph) for sign in (1, -1)]
        assert np.vdot(gradient, step) == pytest.approx((ends[0] - ends[1]) / 2, rel=1e-6)


@every_graph
@pytest.mark.parametrize("sign", ["free"])
def test_common_scale_changes_nothing(problem):
    """Of all components: the ridge knows their common size alone."""
    scaled = {"H": FACTORS["H"] * 30, "Z": FACTORS["Z"] / 30}
    assert problem.value(scaled) == pytest.approx(problem.value(FACTORS), rel=1e-10)


def test_nothing_missing_is_plain_fit():
    data = Stacked([wrap(view) for view in VIEWS], WEIGHTS)
    whole = missing_views(data, np.ones((N, 3), bool), Free())
    plain = Problem(whole.constraints, [fit(data)])
    assert whole.value(FACTORS) == pytest.approx(plain.value(FACTORS))
    for name in FACTORS:
        got, expected = (least_squares(FACTORS[name], each.objective(name, FACTORS), Free()) for each in (whole, plain))
        assert_allclose(got, expected, atol=1e-9)


def test_missing_rows_do_not_matter():
    """Whatever codes of samples without a view are, its components stay where they are."""
    problem = missing_views(Stacked([wrap(view) for view in VIEWS], WEIGHTS), OBSERVED, Free())
    H = FACTORS["H"].copy()
    H[~OBSERVED[:, 1]] += 5
    first, second = (least_squares(FACTORS["Z"], problem.objective("Z", {"H": h}), Free()) for h in (FACTORS["H"], H))
    view = slice(EDGES[1], EDGES[2])
    assert_allclose(first[view], second[view], atol=1e-9)


# Updates


@every_graph
@pytest.mark.parametrize("sign", ["non-negative"])
@pytest.mark.parametrize("update", [hals, hals_or_exact, accelerated_gradient])
def test_contract_of_nonnegative_codes_holds(problem, update):
    check_update(update, FACTORS["H"], problem.objective("H", FACTORS), NonNegative())


@pytest.mark.parametrize("graph", ["none"])
@pytest.mark.parametrize("sign", ["non-negative"])
def test_contract_of_exact_codes_holds(problem):
    check_update(exact, FACTORS["H"], problem.objective("H", FACTORS), NonNegative())


@every_graph
@pytest.mark.parametrize("sign", ["free"])
@pytest.mark.parametrize("name", FACTORS)
def test_contract_of_least_squares_holds(problem, name):
    check_update(least_squares, FACTORS[name], problem.objective(name, FACTORS), Free())


# Loop


@every_graph
@every_sign
@pytest.mark.parametrize("extrapolate", [False, True], ids=["plain", "extrapolated"])
def test_objective_never_increases(problem, graph, sign, extrapolate):
    """With a graph and free codes it rose in the engine before: one curvature stood for all rows."""
    updates = {name: constraint.update(hals_or_exact) for name, constraint in problem.constraints.items()}
    solution = solve(problem, FACTORS, updates, monitor=Monitor(60, 0), extrapolate=extrapolate)
    assert np.diff(solution.history).max() <= 1e-10 * solution.history[0]
    assert solution.history[-1] < problem.value(FACTORS)
    assert value(solution.factors, graph) == pytest.approx(solution.history[-1])


@every_graph
@every_sign
def test_loop_converges(problem):
    updates = {name: constraint.update(hals_or_exact) for name, constraint in problem.constraints.items()}
    assert solve(problem, FACTORS, updates, monitor=Monitor(3000, 1e-5), extrapolate=True).converged

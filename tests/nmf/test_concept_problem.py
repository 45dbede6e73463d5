"""`ConceptProblem`: both factors see one objective, coordinate descent by tiles reaches its minimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from laminar._engine.constraints import NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.solve import solve
from laminar._engine.updates import hals, multiplicative
from laminar._utils import threads
from laminar.nmf.concept_problem import ConceptProblem, SplitConceptProblem, tiled_descent
from laminar.testing import check_term, check_update

N, P, K = 70, 9, 3
FORMS = {"C": np.asarray, "F": np.asfortranarray, "csr": sp.csr_array, "csc": sp.csc_matrix}
generator = np.random.default_rng(0)
MIXED = generator.normal(size=(N, P))
MIXED /= np.abs(MIXED).max()
POSITIVE = generator.gamma(0.7, size=(N, P))
POSITIVE /= POSITIVE.max()
FACTORS = {"H": generator.random((N, K)), "A": generator.random((N, K)) / N}
SIGNS = {"H": NonNegative(), "A": NonNegative()}
KINDS = {  # kind of problem, data
    "positive": (ConceptProblem, POSITIVE),
    "mixed": (ConceptProblem, MIXED),
    "split, positive": (SplitConceptProblem, POSITIVE),
    "split, mixed": (SplitConceptProblem, MIXED),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@pytest.fixture(params=KINDS)
def case(request):
    kind, X = KINDS[request.param]
    return kind(SIGNS, [], wrap(X), K), X


def value(X, F):
    return ((X - F["H"] @ F["A"].T @ X) ** 2).sum() / 2


def gradient(X, F, name):
    residual = F["H"] @ F["A"].T @ X - X
    return residual @ X.T @ F["A"] if name == "H" else X @ residual.T @ F["H"]


# One objective


@every_form
@pytest.mark.parametrize("name", FACTORS)
def test_every_factor_sees_same_objective(form, name):
    problem = ConceptProblem(SIGNS, [], wrap(form(4 * MIXED)), K)
    got = problem.objective(name, FACTORS).evaluate(FACTORS[name]).value
    assert got == pytest.approx(value(MIXED, FACTORS), rel=1e-12)
    assert problem.value(FACTORS) == pytest.approx(got)


@pytest.mark.parametrize("name", FACTORS)
def test_split_gradient_is_gradient(case, name):
    problem, X = case
    plus, minus = problem.objective(name, FACTORS).split_gradient(FACTORS[name])(slice(0, N))
    assert_allclose(plus - minus, gradient(X, FACTORS, name), atol=1e-10)


@pytest.mark.parametrize("kind", ["positive", "split, positive", "split, mixed"])
@pytest.mark.parametrize("name", FACTORS)
def test_split_parts_are_nonnegative(kind, name):
    kind, X = KINDS[kind]
    plus, minus = kind(SIGNS, [], wrap(X), K).objective(name, FACTORS).split_gradient(FACTORS[name])(slice(0, N))
    assert plus.min() >= 0
    assert minus.min() >= 0


def test_codes_have_plain_fit():
    objective = ConceptProblem(SIGNS, [], wrap(MIXED), K).objective("H", FACTORS)
    check_term(objective, FACTORS["H"])
    check_update(hals, FACTORS["H"], objective)


def test_tiles_hold_inner_products():
    """Of all but samples that are rounding next to the largest."""
    X = MIXED.copy()
    X[:2] = np.zeros(P), 1e-17 * MIXED[1]
    data = wrap(X)
    tiles = ConceptProblem(SIGNS, [], data, K).tiles
    assert [b.start for b, _ in tiles] == list(range(0, N, ConceptProblem.tile_rows))
    assert tiles[-1][0].stop == N
    inner = (X / data.scale) @ (X / data.scale).T
    inner[:2], inner[:, :2] = 0, 0
    for b, tile in tiles:
        assert_allclose(tile, inner[b, b], atol=1e-14)
    assert (tiles[0][1][:2] == 0).all()


# Descent


@every_form
def test_tiled_descent_reaches_kkt_point(form):
    objective, A = ConceptProblem(SIGNS, [], wrap(form(MIXED)), K).objective("A", FACTORS), FACTORS["A"]
    values, residuals = [objective.evaluate(A).value], [objective.residual(A, NonNegative())]
    for _ in range(300):
        A = tiled_descent(A, objective, NonNegative())
        values.append(objective.evaluate(A).value)
        residuals.append(objective.residual(A, NonNegative()))
    assert (np.diff(values) <= 1e-13 * values[0]).all()
    assert residuals[-1] < 1e-8 < residuals[0]
    assert np.abs(np.minimum(A, gradient(MIXED, {**FACTORS, "A": A}, "A"))).max() < 1e-6


def test_tiled_descent_leaves_input_unchanged():
    before = FACTORS["A"].copy()
    tiled_descent(FACTORS["A"], ConceptProblem(SIGNS, [], wrap(MIXED), K).objective("A", FACTORS), NonNegative())
    assert_array_equal(FACTORS["A"], before)


def test_tiled_descent_does_not_depend_on_threads():
    results = []
    for width in (1, 2):
        with threadpool_limits(width, user_api="blas"), threads.own_threads():
            objective = ConceptProblem(SIGNS, [], wrap(MIXED), K).objective("A", FACTORS)
            results.append(tiled_descent(FACTORS["A"], objective, NonNegative()))
    assert_allclose(results[1], results[0], atol=1e-13)


@pytest.mark.parametrize("kind", ["positive", "split, positive", "split, mixed"])
@pytest.mark.parametrize("eta", [0.5, 1.0])
def test_multiplicative_updates_descend(kind, eta):
    kind, X = KINDS[kind]
    problem, F, values = kind(SIGNS, [], wrap(X), K), dict(FACTORS), [value(X, FACTORS)]
    for _ in range(30):
        for name in F:
            F[name] = multiplicative(F[name], problem.objective(name, F), NonNegative(), eta=eta)
            values.append(value(X, F))
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert values[-1] < values[0]


@pytest.mark.parametrize("extrapolate", [False, True], ids=["plain", "extrapolated"])
def test_loop_descends_and_converges(extrapolate):
    problem = ConceptProblem(SIGNS, [], wrap(MIXED), K)
    updates = {"H": hals, "A": tiled_descent}
    solution = solve(problem, FACTORS, updates, monitor=Monitor(3000, 1e-5), extrapolate=extrapolate)
    assert solution.converged
    assert np.diff(solution.history).max() <= 1e-12 * solution.history[0]
    assert value(MIXED, solution.factors) == pytest.approx(solution.history[-1])

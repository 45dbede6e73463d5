"""`NarrowProblem`: weights of layers with a hidden one smaller than the top, as one factor of the loop."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from laminar import DeepSemiNMF
from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.solve import solve
from laminar._engine.updates import hals_or_exact
from laminar.deep.composition import compose
from laminar.deep.narrow import NarrowProblem, alternating_least_squares, basis, pack, unpack
from laminar.testing import check_update

N, P = 50, 12
SIZES = {"below top": (2, 4), "in the middle": (6, 2, 4), "not narrow": (6, 4), "one layer": (4,)}
UPDATES = {"H": hals_or_exact, "W": alternating_least_squares}


@pytest.fixture(params=SIZES)
def case(request):
    """Problem, factors, X and the shapes of the weights."""
    sizes = SIZES[request.param]
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(N, P)) - 0.5
    X /= np.abs(X).max()
    shapes = list(zip(sizes, (P, *sizes[:-1]), strict=True))
    factors = {"H": rng.uniform(size=(N, sizes[-1])), "W": pack([rng.normal(size=shape) for shape in shapes])}
    return NarrowProblem(wrap(X), shapes), factors, X, shapes


def value(X, factors, shapes):
    return ((X - factors["H"] @ compose(unpack(factors["W"], shapes))[-1]) ** 2).sum() / 2


# One objective


def test_packed_weights_are_unpacked(case):
    _, factors, _, shapes = case
    weights = unpack(factors["W"], shapes)
    assert [Z.shape for Z in weights] == shapes
    assert_array_equal(pack(weights), factors["W"])


def test_every_factor_sees_same_objective(case):
    problem, factors, X, shapes = case
    for name in problem.constraints:
        got = problem.objective(name, factors).evaluate(factors[name]).value
        assert got == pytest.approx(value(X, factors, shapes))


# Update


def test_alternating_least_squares_descends(case):
    problem, factors, X, shapes = case
    W, values = factors["W"], [value(X, factors, shapes)]
    for _ in range(20):
        W = alternating_least_squares(W, problem.objective("W", factors), Free())
        values.append(value(X, {**factors, "W": W}, shapes))
    assert np.diff(values).max() <= 1e-12 * values[0]
    assert values[1] < 0.9 * values[0]


def test_alternating_least_squares_reaches_best_basis():
    """Of the rank that the layers allow: a reduced-rank regression, by the SVD of the fitted values."""
    rng = np.random.default_rng(0)
    X, H = rng.normal(size=(N, P)), rng.uniform(size=(N, 4))
    X /= np.abs(X).max()
    shapes = [(2, P), (4, 2)]
    objective = NarrowProblem(wrap(X), shapes).objective("W", {"H": H})
    W = pack([rng.normal(size=shape) for shape in shapes])
    for _ in range(300):
        W = alternating_least_squares(W, objective, Free())
    fitted = H @ np.linalg.lstsq(H, X, rcond=None)[0]
    tail = (np.linalg.svd(fitted, compute_uv=False)[2:] ** 2).sum()
    assert 2 * objective.evaluate(W).value == pytest.approx(((X - fitted) ** 2).sum() + tail, rel=1e-9)
    assert objective.residual(W, Free()) < 1e-7


def test_update_leaves_input_unchanged(case):
    problem, factors, *_ = case
    before = factors["W"].copy()
    new = alternating_least_squares(factors["W"], problem.objective("W", factors), Free())
    assert_array_equal(factors["W"], before)
    assert not np.shares_memory(new, factors["W"])


def test_codes_have_plain_fit(case):
    problem, factors, *_ = case
    check_update(hals_or_exact, factors["H"], problem.objective("H", factors), NonNegative())


# Loop


def test_loop_descends_and_converges(case):
    """The engine before ran all of max_iter, as it had no residual for the weights."""
    problem, factors, X, shapes = case
    solution = solve(problem, factors, UPDATES, monitor=Monitor(2000, 1e-5))
    assert solution.converged
    assert solution.n_iter < 1000
    assert np.diff(solution.history).max() <= 1e-12 * solution.history[0]
    assert value(X, solution.factors, shapes) == pytest.approx(solution.history[-1])


def test_converged_residuals_are_small(case):
    problem, factors, *_ = case
    F = solve(problem, factors, UPDATES, monitor=Monitor(2000, 1e-5)).factors
    for name, constraint in problem.constraints.items():
        assert problem.objective(name, F).residual(F[name], constraint) <= 2 * np.sqrt(1e-5)


@pytest.mark.parametrize("layers", [(2, 4), (6, 2, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_narrow_model_converges(layers, dtype):
    X = (np.random.default_rng(0).gamma(1.0, size=(N, P)) - 0.5).astype(dtype)
    model = DeepSemiNMF(layers, max_iter=2000, random_state=0).fit(X)
    assert model.converged_
    assert model.n_iter_ < 1000
    history = model.objective_history_
    assert np.diff(history).max(initial=0) <= 50 * np.finfo(dtype).eps * (X.astype(float) ** 2).sum()
    assert np.linalg.matrix_rank(model.components_.astype(float), tol=1e-4) <= min(layers)


def test_basis_is_that_of_top_layer(case):
    _, factors, _, shapes = case
    assert_array_equal(basis(factors["W"], shapes), compose(unpack(factors["W"], shapes))[-1].T)

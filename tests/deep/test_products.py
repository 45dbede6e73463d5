"""`ProductLayers`: layers that reconstruct X together, the weights of all as one factor of the loop."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar import DeepSemiNMF
from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.solve import solve
from laminar._engine.updates import hals_or_exact
from laminar.deep.composition import compose
from laminar.deep.products import ProductLayers, alternating_least_squares, pack, unpack
from laminar.graphs import Labels
from laminar.testing import check_term, check_update
from reference import deep as plain

N, P, ALPHA = 50, 12, 0.3
CLASSES = np.arange(N) % 4
CASES = {  # sizes of the layers, layers with a graph, whether penalties are multiplied by squared lengths
    "below top": ((2, 4), (), True),
    "in the middle": ((6, 2, 4), (), True),
    "not narrow": ((6, 4), (), True),
    "one layer": ((4,), (), True),
    "graphs": ((6, 4), (0, 1), True),
    "hidden graph": ((6, 4), (0,), True),
    "three layers": ((7, 5, 3), (0, 2), True),
    "all of three layers": ((7, 5, 3), (0, 1, 2), True),
    "narrow, graphs": ((2, 4), (0, 1), True),
    "as printed": ((6, 4), (0, 1), False),
}


class Case:
    """Problem, factors, X and the objective by its definition."""

    def __init__(self, sizes, linked, invariant):
        rng = np.random.default_rng(0)
        self.X = rng.gamma(1.0, size=(N, P)) - 0.5
        self.X /= np.abs(self.X).max()
        self.shapes = list(zip(sizes, (P, *sizes[:-1]), strict=True))
        self.fitted = sorted({*linked, len(sizes) - 1})
        self.links = [plain.same_class(CLASSES)] * len(sizes)
        self.alphas = [ALPHA * (i in linked) for i in range(len(sizes))]
        self.invariant = invariant
        graphs = [(ALPHA, Labels().build(self.X, CLASSES)) if i in linked else None for i in range(len(sizes))]
        self.problem = ProductLayers(wrap(self.X), self.shapes, graphs, invariant)
        self.factors = {f"H{i + 1}": rng.uniform(0.1, 1, size=(N, sizes[i])) for i in self.fitted}
        self.factors["W"] = pack([rng.normal(size=shape) for shape in self.shapes])
        self.updates = {name: hals_or_exact for name in self.problem.constraints} | {"W": alternating_least_squares}

    def value(self, factors):
        codes = [factors.get(f"H{i + 1}") for i in range(len(self.shapes))]
        weights = unpack(factors["W"], self.shapes)
        return plain.layers_objective(self.X, codes, weights, self.links, self.alphas, self.fitted, self.invariant)


@pytest.fixture(params=CASES)
def case(request):
    return Case(*CASES[request.param])


# One objective


def test_packed_weights_are_unpacked(case):
    weights = unpack(case.factors["W"], case.shapes)
    assert [Z.shape for Z in weights] == case.shapes
    assert_array_equal(pack(weights), case.factors["W"])


def test_fitted_layers_are_top_and_those_with_graph(case):
    assert case.problem.layers == case.fitted
    assert list(case.problem.constraints) == [f"H{i + 1}" for i in case.fitted] + ["W"]


def test_weights_see_whole_objective(case):
    objective = case.problem.objective("W", case.factors)
    for W in (case.factors["W"], 0.5 * case.factors["W"], case.factors["W"] - 0.1):
        assert objective.evaluate(W).value == pytest.approx(case.value({**case.factors, "W": W}), rel=1e-10)


def test_codes_see_terms_of_their_layer(case):
    for name in (name for name in case.factors if name != "W"):
        objective, moved = case.problem.objective(name, case.factors), case.factors[name][::-1] + 0.1
        change = objective.evaluate(moved).value - objective.evaluate(case.factors[name]).value
        expected = case.value({**case.factors, name: moved}) - case.value(case.factors)
        assert change == pytest.approx(expected, rel=1e-9)
        check_term(objective, case.factors[name])


def test_change_of_scale_changes_nothing():
    """(H_i S, S^-1 Psi_i) for every layer i: the weights above are multiplied by S."""
    case = Case((7, 5, 3), (0, 1, 2), True)
    weights = unpack(case.factors["W"], case.shapes)
    scales = [np.logspace(-1, 1, len(Z)) for Z in weights]
    below = [np.ones(P), *scales[:-1]]
    moved = pack([Z / s[:, None] * b for Z, s, b in zip(weights, scales, below, strict=True)])
    scaled = {f"H{i + 1}": case.factors[f"H{i + 1}"] * s for i, s in enumerate(scales)} | {"W": moved}
    assert case.value(scaled) == pytest.approx(case.value(case.factors), rel=1e-12)
    got = case.problem.objective("W", scaled).evaluate(moved).value
    assert got == pytest.approx(case.value(case.factors), rel=1e-10)


# Update


def test_alternating_least_squares_descends(case):
    W, values = case.factors["W"], [case.value(case.factors)]
    for _ in range(20):
        W = alternating_least_squares(W, case.problem.objective("W", case.factors), Free())
        values.append(case.value({**case.factors, "W": W}))
    assert np.diff(values).max() <= 1e-12 * values[0]
    assert values[1] < 0.9 * values[0]


def test_alternating_least_squares_reaches_best_basis():
    """Of the rank that the layers allow: a reduced-rank regression, by the SVD of the fitted values."""
    rng = np.random.default_rng(0)
    X, H = rng.normal(size=(N, P)), rng.uniform(size=(N, 4))
    X /= np.abs(X).max()
    shapes = [(2, P), (4, 2)]
    objective = ProductLayers(wrap(X), shapes, [None, None]).objective("W", {"H2": H})
    W = pack([rng.normal(size=shape) for shape in shapes])
    for _ in range(300):
        W = alternating_least_squares(W, objective, Free())
    fitted = H @ np.linalg.lstsq(H, X, rcond=None)[0]
    tail = (np.linalg.svd(fitted, compute_uv=False)[2:] ** 2).sum()
    assert 2 * objective.evaluate(W).value == pytest.approx(((X - fitted) ** 2).sum() + tail, rel=1e-9)
    assert objective.residual(W, Free()) < 1e-7


def test_update_leaves_input_unchanged(case):
    before = case.factors["W"].copy()
    new = alternating_least_squares(case.factors["W"], case.problem.objective("W", case.factors), Free())
    assert_array_equal(case.factors["W"], before)
    assert not np.shares_memory(new, case.factors["W"])


def test_update_contract_of_codes_holds(case):
    for name in (name for name in case.factors if name != "W"):
        check_update(hals_or_exact, case.factors[name], case.problem.objective(name, case.factors), NonNegative())


# Loop


def test_loop_descends_and_converges(case):
    solution = solve(case.problem, case.factors, case.updates, monitor=Monitor(2000, 1e-5))
    assert solution.converged
    assert solution.n_iter < 1500
    assert np.diff(solution.history).max() <= 1e-12 * solution.history[0]
    assert case.value(solution.factors) == pytest.approx(solution.history[-1])


def test_converged_residuals_are_small(case):
    F = solve(case.problem, case.factors, case.updates, monitor=Monitor(2000, 1e-5)).factors
    for name, constraint in case.problem.constraints.items():
        assert case.problem.objective(name, F).residual(F[name], constraint) <= 2 * np.sqrt(1e-5)


def test_weights_are_stationary_at_the_end():
    """By differences of the definition along each entry, in units of the entry."""
    case = Case((6, 4), (0, 1), True)

    def steepest(F):
        W, slopes = F["W"], []
        for j in range(0, W.size, 5):
            step = np.zeros_like(W)
            step[0, j] = 1e-5 * W[0, j]
            up, down = (case.value({**F, "W": W + sign * step}) for sign in (1, -1))
            slopes.append(abs(up - down) / 2e-5)
        return max(slopes)

    F = solve(case.problem, case.factors, case.updates, monitor=Monitor(1000, 1e-7), extrapolate=True).factors
    assert steepest(F) < 1e-3 * steepest(case.factors)


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
    assert_allclose(compose([layer.weights for layer in model.layers_])[-1], model.components_, atol=1e-4)

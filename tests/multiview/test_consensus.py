"""`SharedCodes`: one set of codes for several views, by given weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.derived import Normalized, Stacked
from laminar._engine.monitor import Monitor
from laminar._engine.problem import smooth_codes
from laminar.graphs import KNN
from laminar.multiview.consensus import SharedCodes, all_views, shift_to_nonnegative

N, K, SIZES, WEIGHTS = 60, 3, (8, 5, 6), np.array([0.5, 0.3, 0.2])
CASES = {  # constraint of the codes, whether samples lack views, whether there is a graph
    "free": (Free(), False, False),
    "free, holes": (Free(), True, False),
    "free, graph": (Free(), False, True),
    "free, holes and graph": (Free(), True, True),
    "non-negative": (NonNegative(), False, False),
    "non-negative, holes": (NonNegative(), True, False),
    "non-negative, graph": (NonNegative(), False, True),
    "non-negative, holes and graph": (NonNegative(), True, True),
}


def views():
    rng = np.random.default_rng(0)
    H = rng.gamma(1.0, size=(N, K))
    return [H @ rng.normal(size=(K, p)) + 0.3 * rng.normal(size=(N, p)) for p in SIZES]


@pytest.fixture(params=CASES)
def shared(request):
    constraint, holes, graph = CASES[request.param]
    observed = np.random.default_rng(1).random((N, 3)) < (0.7 if holes else 1.1)
    observed[:, 0] |= ~observed.any(1)
    parts = [Normalized(X * observed[:, [v]], observed[:, v]) for v, X in enumerate(views())]
    penalties = [smooth_codes(KNN(4).build(np.hstack(views())), 0.3)] if graph else []
    return SharedCodes(Stacked(parts, np.ones(3)), observed, constraint, penalties)


def seed():
    return np.random.RandomState(0)


def solved(shared, monitor):
    solution = shared.solve(WEIGHTS, shared.start(WEIGHTS, K, seed()), monitor)
    solution.factors = {"H": solution.factors["H"], "weights": WEIGHTS, "powers": WEIGHTS}
    return solution


# Given weights


def test_objective_never_increases(shared):
    """The engine before rose with a graph and free codes."""
    history = solved(shared, Monitor(60, 0)).history
    assert np.diff(history).max() <= 1e-10 * history[0]


def test_consensus_converges(shared):
    solution = solved(shared, Monitor(3000, 1e-5))
    assert solution.converged
    assert_allclose(solution.factors["weights"], WEIGHTS)


@pytest.mark.parametrize("shared", ["free"], indirect=True)
def test_start_is_optimum_of_complete_free_views(shared):
    solution = solved(shared, Monitor(60, 1e-5))
    tail = np.linalg.svd(shared.views.weighted(WEIGHTS).rows(slice(0, N)), compute_uv=False)[K:]
    assert solution.history == pytest.approx([(tail**2).sum() / 2] * solution.n_iter, rel=1e-8)


def test_codes_respect_constraint(shared):
    H = solved(shared, Monitor(20, 0)).factors["H"]
    assert_allclose(shared.constraint.project(H.copy()), H, rtol=0)


# All views


def test_codes_of_all_views_are_nonnegative(shared):
    solution = all_views(shared, solved(shared, Monitor(100, 1e-5)))
    H, Z = solution.factors["H"], solution.factors["Z"]
    assert (H >= 0).all()
    assert H.shape[1] == Z.shape[1] == K + shared.constraint.signed


def test_codes_and_components_reconstruct_views(shared):
    solution = all_views(shared, solved(shared, Monitor(100, 1e-5)))
    X = shared.views.rows(slice(0, N)) * np.repeat(shared.observed, SIZES, axis=1)
    fitted = solution.factors["H"] @ solution.factors["Z"].T * np.repeat(shared.observed, SIZES, axis=1)
    assert ((X - fitted) ** 2).sum() < (0.5 if shared.constraint.signed else 0.8) * (X**2).sum()


def test_components_are_best_of_each_view(shared):
    """Their objective is the sum over views, whatever the weights."""
    H = solved(shared, Monitor(30, 0)).factors["H"]
    Z, residuals = shared.components(H)
    assert (residuals >= 0).all()
    for v, s in enumerate(shared.views.slices):
        alone = SharedCodes(
            Stacked([shared.views.parts[v]], [1.0]), shared.observed[:, [v]], shared.constraint, shared.penalties
        )
        if shared.observed.all():
            z, residual = alone.components(H)
            assert_allclose(Z[s], z, atol=1e-9)
            assert residuals[v] == pytest.approx(residual[0], rel=1e-8)


def test_shifted_codes_have_same_product():
    rng = np.random.default_rng(0)
    Y, Z = rng.normal(size=(N, K)), rng.normal(size=(K, 5))
    H = shift_to_nonnegative(Y)
    assert (H.min(axis=1) == 0).all()
    assert_allclose(H @ np.vstack([Z, -Z.sum(0)]), Y @ Z, atol=1e-12)

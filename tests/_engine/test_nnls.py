"""`nnls_solver`: the minimiser of scipy.optimize.nnls, for few, many and dependent components."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._engine.constraints import NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.nnls import nnls_solver
from laminar._engine.objective import Objective
from laminar._engine.terms import SquaredFit
from reference import kernels as plain

N, P, K = 60, 20, 6


def sample(mixed, k=K, seed=0):
    rng = np.random.default_rng(seed)
    draw = rng.normal if mixed else lambda size: rng.gamma(1.0, size=size)
    return draw(size=(N, P)), draw(size=(P, k))


def solved(X, M, start=None):
    F = np.zeros((len(X), M.shape[1]), M.dtype) if start is None else start.copy()
    nnls_solver(M.T @ M)(F, X @ M)
    return F


@pytest.fixture(params=[False, True], ids=["non-negative", "mixed"])
def mixed(request):
    return request.param


# Oracle


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 6, 15])
def test_solution_equals_scipy(mixed, seed, k):
    X, M = sample(mixed, k, seed)
    assert_allclose(solved(X, M), plain.nnls(X, M), atol=1e-9)


def test_solution_does_not_depend_on_start(mixed):
    X, M = sample(mixed)
    start = np.random.default_rng(1).uniform(size=(N, K))
    assert_allclose(solved(X, M, start), solved(X, M), atol=1e-9)


def test_feasible_least_squares_is_kept():
    _, M = sample(mixed=True)
    codes = np.random.default_rng(1).uniform(0.5, 1, (N, K))
    assert_allclose(solved(codes @ M.T, M), codes, atol=1e-9)


def test_single_precision_is_close(mixed):
    X, M = sample(mixed)
    got = solved(X.astype(np.float32), M.astype(np.float32))
    assert got.dtype == np.float32
    assert_allclose(got, plain.nnls(X, M), atol=1e-3)


# Corner cases


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_dependent_components_are_solved(rank):
    rng = np.random.default_rng(rank)
    X, M = sample(mixed=True)[0], rng.normal(size=(P, rank)) @ rng.normal(size=(rank, K))
    H = solved(X, M)
    assert Objective([SquaredFit.of(wrap(X), M)]).residual(H / np.abs(X).max(), NonNegative()) < 1e-7


def test_zero_component_has_zero_codes(mixed):
    X, M = sample(mixed)
    M[:, 2] = 0
    assert_allclose(solved(X, M)[:, [0, 1, 3, 4, 5]], plain.nnls(X, np.delete(M, 2, axis=1)), atol=1e-9)


def test_no_rows_are_solved():
    _, M = sample(mixed=True)
    assert solved(np.empty((0, P)), M).shape == (0, K)


def test_many_components_are_solved(mixed):
    """More than ``max_primal``, nearly parallel: rows with large supports are solved by their complements."""
    rng, k = np.random.default_rng(0), 256 + 4
    M = rng.normal(size=(320, k)) + 1 if mixed else rng.gamma(0.3, size=(320, k)) + 0.3
    codes = np.maximum(rng.normal(size=(6, k)) + mixed, 0)
    X = codes @ M.T
    X = X + 0.1 * np.abs(X).mean() * rng.normal(size=X.shape)
    H, best = solved(X, M), plain.nnls(X, M)
    assert (H >= 0).all()
    assert (((X - H @ M.T) ** 2).sum(1) <= ((X - best @ M.T) ** 2).sum(1) * (1 + 1e-8)).all()
    assert_allclose(solved(X, M, H) @ M.T, H @ M.T, atol=1e-6 * np.abs(X).max())  # and stays there

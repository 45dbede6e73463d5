"""Compiled kernels against plain numpy, and independent of where their machine code comes from."""

import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from laminar._engine.linalg import kernels
from reference import kernels as plain

FLOOR = 1e-12
all_k = pytest.mark.parametrize("k", [1, 2, 4, 13])
all_n = pytest.mark.parametrize("n", [1, 65, 200])
both_floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])
both_indices = pytest.mark.parametrize("index", [np.int32, np.int64])


def close(a, b, dtype=np.float64):
    tol = 1e-4 if dtype == np.float32 else 1e-10
    assert_allclose(a, b, rtol=tol, atol=tol * np.abs(b).max(initial=0.0))


def quadratic(n, k, dtype=np.float64, p=30, seed=0):
    """X ~ H M^T seen from H: H, B = X M, G = M^T M, and X and M themselves."""
    rng = np.random.default_rng(seed)
    X, M, H = rng.normal(size=(n, p)), rng.normal(size=(p, k)), np.maximum(rng.normal(size=(n, k)), 0)
    return [A.astype(dtype) for A in (H, X @ M, M.T @ M, X, M)]


def value(H, B, G):
    """Of each row."""
    return ((H @ G / 2 - B) * H).sum(1)


# ---- hals --------------------------------------------------------------------------------------------------------


@all_k
@all_n
@both_floats
def test_hals(n, k, dtype):
    H, B, G, _, _ = quadratic(n, k, dtype)
    expected = plain.hals(H.astype(float), B.astype(float), G.astype(float), 3, 0, n)
    kernels.hals(H, B, G, 3, 0.0)
    close(H, expected, dtype)
    assert (H >= 0).all()


@pytest.mark.parametrize("inner_tol", [1e-1, 1e-2, 1e-4])
def test_hals_stops_tile_by_tile(inner_tol):
    H, B, G, _, _ = quadratic(288, 5)
    B[96:192] *= 1e-3  # a tile with a scale of its own, and as many sweeps
    expected = plain.hals(H, B, G, 50, inner_tol, 96)
    far = plain.hals(H, B, G, 50, 0, 96)
    assert np.abs(expected - far).max() > 1e-9 * np.abs(far).max()
    kernels.hals(H, B, G, 50, inner_tol)
    close(H, expected)


@all_k
def test_hals_leaves_components_without_curvature_alone(k):
    H, B, G, _, _ = quadratic(70, k)
    dead = k // 2
    G[dead] = G[:, dead] = 0
    expected = plain.hals(H, B, G, 4, 0, 64)
    before = H[:, dead].copy()
    kernels.hals(H, B, G, 4, 0.0)
    close(H, expected)
    assert_array_equal(H[:, dead], before)


@both_floats
def test_hals_survives_a_vanishing_component(dtype):
    H, B, G, _, _ = quadratic(70, 5, dtype)
    tiny = np.sqrt(np.finfo(dtype).smallest_subnormal)
    B[:, 2] *= tiny
    G[2] *= tiny
    G[:, 2] *= tiny  # a component of length ``tiny``: the reciprocal of G_aa overflows
    assert 0 < G[2, 2] < np.finfo(dtype).tiny
    kernels.hals(H, B, G, 5, 0.0)
    assert np.isfinite(H).all()


# ---- nnls --------------------------------------------------------------------------------------------------------


@all_k
@all_n
@both_floats
def test_nnls_equals_scipy(n, k, dtype):
    H, B, G, X, M = (A.astype(np.float64) for A in quadratic(n, k, dtype))
    expected = plain.nnls(X, M)
    B, G = X @ M, M.T @ M
    for start in (H, np.zeros_like(H), expected):
        h = start.astype(dtype)
        kernels.nnls(h, B.astype(dtype), G)
        assert_allclose(h, expected, atol=(1e-4 if dtype == np.float32 else 1e-9) * max(1, expected.max()))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rank", [1, 3, 6, 7])
@pytest.mark.parametrize("start", ["zero", "random"])
def test_nnls_is_optimal_when_components_depend_on_each_other(rank, start, seed):
    rng = np.random.default_rng(seed)
    X, M = rng.normal(size=(60, 20)), rng.normal(size=(20, rank)) @ rng.normal(size=(rank, 8))
    B, G = X @ M, M.T @ M
    H = np.zeros((60, 8)) if start == "zero" else rng.uniform(size=(60, 8))
    before = value(H, B, G)
    kernels.nnls(H, B, G)
    # scipy's own answer is far off for some of these rows; the optimality conditions are not.
    assert (H >= 0).all()
    assert_allclose(np.minimum(H, H @ G - B), 0, atol=1e-9 * np.abs(B).max())
    assert (value(H, B, G) <= before + 1e-12).all()


@pytest.mark.parametrize("twins", [(0, 1), (0, 1, 2), (5, 6)])
def test_nnls_with_equal_components(twins):
    _, _, _, X, M = quadratic(60, 8)
    M[:, twins] = M[:, [twins[0]]]
    H, B, G = np.ones((60, 8)), X @ M, M.T @ M
    kernels.nnls(H, B, G)
    assert_allclose(value(H, B, G), value(plain.nnls(X, M), B, G), rtol=1e-9)


@all_k
def test_nnls_of_negative_b_is_zero(k):
    H, B, G, _, _ = quadratic(65, k)
    G = np.abs(G) + k * np.eye(k)
    kernels.nnls(H, -np.abs(B) - 1, G)
    assert_array_equal(H, 0)


def test_nnls_with_a_zero_component():
    H, B, G, X, M = quadratic(65, 5)
    M[:, 3] = 0
    B, G = X @ M, M.T @ M
    kernels.nnls(H, B, G)
    live = [0, 1, 2, 4]
    assert_allclose(H[:, live], plain.nnls(X, M[:, live]), atol=1e-9)
    assert np.isfinite(H).all()


# ---- sparse ------------------------------------------------------------------------------------------------------


def compressed(n, k, dtype, index, p=40, seed=0):
    """CSR arrays with empty rows and explicit zeros, the same as a dense array, and two factors."""
    rng = np.random.default_rng(seed)
    S = sp.random(n, p, density=0.3, format="csr", dtype=np.float64, random_state=rng)
    S.data[::7] = 0
    S = sp.diags_array((np.arange(n) % 5 != 2).astype(float)).tocsr() @ S if n > 5 else S
    S = sp.csr_matrix(S)
    parts = S.indptr.astype(index), S.indices.astype(index), S.data.astype(dtype)
    A, C = rng.uniform(0.1, 1, (n, k)), rng.uniform(0.1, 1, (p, k))
    A[: n // 9] = 0  # a model that vanishes where X does not: the floor acts
    return parts, S.toarray().astype(dtype).astype(float), A.astype(dtype), C.astype(dtype)


@all_k
@all_n
@both_floats
@both_indices
def test_sparse_kernels(n, k, dtype, index):
    parts, X, A, C = compressed(n, k, dtype, index)
    scale, floor = dtype(0.5), dtype(FLOOR)
    X = X * 0.5
    start, stop = n // 3, n - n // 4
    part = slice(start, stop)

    out = np.full((stop - start, k), np.nan, dtype)
    kernels.sparse_times(*parts, C, out, start, scale)
    close(out, plain.sparse_times(X[part], C), dtype)

    out[:] = np.nan
    kernels.kl_times(*parts, A[part], C, out, start, scale, floor)
    close(out, plain.kl_times(X[part], A[part].astype(float), C.astype(float), FLOOR), dtype)

    got = kernels.kl_value(*parts, A[part], C, start, scale, floor)
    close(got, plain.kl_value(X[part], A[part].astype(float), C.astype(float), FLOOR), dtype)


@both_floats
def test_sparse_kernels_of_nothing(dtype):
    empty = np.zeros(4, np.int32), np.zeros(0, np.int32), np.zeros(0, dtype)
    C, out = np.ones((6, 2), dtype), np.full((3, 2), np.nan, dtype)
    F = np.ones((3, 2), dtype)
    kernels.sparse_times(*empty, C, out, 0, dtype(1))
    assert_array_equal(out, 0)
    kernels.kl_times(*empty, F, C, out, 0, dtype(1), dtype(FLOOR))
    assert_array_equal(out, 0)
    assert kernels.kl_value(*empty, F, C, 0, dtype(1), dtype(FLOOR)) == 0


# ---- tied_hals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 8])
@both_floats
def test_tied_hals(k, dtype):
    rng = np.random.default_rng(0)
    X, M = rng.normal(size=(12, 20)), rng.normal(size=(20, k))
    X[4], M[:, k // 2] = 0, (0 if k > 1 else M[:, 0])  # a row and a column without curvature
    F, gradient, K, G = (A.astype(dtype) for A in (rng.random((12, k)), X @ M, X @ X.T, M.T @ M))
    expected, moves = plain.tied_hals(F.astype(float), *(A.astype(float) for A in (gradient, K, G)), 3)
    before = F.copy()
    moved = kernels.tied_hals(F, gradient, K, G, 3)
    close(F, expected, dtype)
    close(moved, moves, dtype)
    assert (F >= 0).all()
    assert (F[4] == 0).all()
    if k > 1:
        assert_array_equal(np.delete(F, 4, 0)[:, k // 2], np.delete(before, 4, 0)[:, k // 2])


# ---- machine code -------------------------------------------------------------------------------------------------

MODULES = ("elementwise", "kernels.hals", "kernels.nnls", "kernels.sparse")
DISPATCHERS = {
    f"{module}.{name}": value
    for module in MODULES
    for name, value in vars(import_module(f"laminar._engine.linalg.{module}")).items()
    if hasattr(value, "py_func")
}


@pytest.mark.parametrize("name", DISPATCHERS)
def test_compiled_functions_inline_their_calls(name):
    """A call that is not inlined runs one copy of a function when just compiled, and another from the cache."""
    function = DISPATCHERS[name].py_func
    called = [function.__globals__.get(word) for word in function.__code__.co_names]
    for other in called:
        assert not hasattr(other, "py_func") or other.targetoptions["inline"] == "always", other


HALS = """
import sys, hashlib
import numpy as np
from laminar._engine.linalg import kernels
from laminar._engine.linalg.kernels.hals import descend
rng = np.random.default_rng(0)
M, X, H = rng.normal(size=(30, 5)), rng.normal(size=(90, 30)), rng.random((90, 5))
kernels.hals(H, X @ M, M.T @ M, 20, 0.0)
print(sum(descend.stats.cache_hits.values()), hashlib.sha256(H.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_cached_code_rounds_like_compiled_code(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = [
        subprocess.run([sys.executable, "-c", HALS], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    (compiled, first), (cached, second) = (run.stdout.split() for run in runs)
    assert int(compiled) == 0 < int(cached)
    assert first == second


# ---- summed_hals -------------------------------------------------------------------------------------------------


@both_floats
@all_k
@pytest.mark.parametrize("alpha", [0.0, 0.3, 20.0])
def test_summed_hals(k, alpha, dtype):
    H, B, G, *_ = quadratic(65, k, dtype)
    c = np.linspace(0.1, 2, k).astype(dtype)
    if k > 2:
        G[1], G[:, 1] = 0, 0
    Z = np.ascontiguousarray(H.T)
    expected = plain.summed_hals(*(A.astype(np.float64) for A in (Z, B.T, G, c)), alpha, 2)
    eps = dtype(8 * np.finfo(dtype).eps)
    kernels.summed_hals(Z, np.ascontiguousarray(B.T), G, c, dtype(alpha), eps, 2)
    assert Z.dtype == dtype
    close(Z, expected, dtype)

"""Truncated singular value decomposition of anything `wrap` takes."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from scipy.linalg import cholesky, eigh, get_lapack_funcs, qr, svd

from ..._utils import tall, threads
from ..linalg.small import column_signs, safe_divide, triangle
from .matrix import Matrix, collect


def truncated_svd(
    data: Matrix, k: int, random_state: np.random.RandomState, *, max_gram: int = 1500
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``min(k, n, p)`` leading singular triplets ``U (n, k), s (k,), V (p, k)`` in unit scale, in float64.

    A Gram matrix of up to ``max_gram`` rows is decomposed, otherwise a subspace is iterated. The largest entry of each
    left vector is positive, so that the result does not depend on which.
    """
    n, p = data.shape
    k = min(k, n, p)
    if data.triplets is not None and len(data.triplets[1]) >= k:
        U, s, V = data.triplets
        return U[:, :k], s[:k], V[:, :k]
    with threads.own_threads():
        if n < p:
            V, s, U = _tall(data.T, k, random_state, max_gram)
            U = U if data.workers is None else data.workers.put(U, U.shape[1:], U.dtype)
        else:
            U, s, V = _tall(data, k, random_state, max_gram)
    signs = column_signs(U)
    return np.multiply(U, signs, out=U), s, V * signs


def rough_svd(data: Matrix, k: int, random_state: np.random.RandomState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return leading singular triplets in the precision of X, less exact than `truncated_svd`, later ones the least.

    One random projection: of 625 vectors for faces of 1024 pixels the first 40 miss the smallest residual by 3e-4 of
    it, all of them by less than a factor of two, in a fraction of the time.
    """
    n, p = data.shape
    k = min(k, n, p)
    with threads.own_threads():
        # On a copy: what the caller draws next must not depend on the algorithm.
        draw = np.random.default_rng(deepcopy(random_state).randint(2**31))
        left, repair = _nearly_orthogonal(data.product(draw.standard_normal((p, min(k + 10, n, p)), data.dtype)))
        right = _times(data.T.product(left), repair)
        w, R = np.linalg.eigh(_gram(right, data.dtype))
        s, R = np.sqrt(np.maximum(w[::-1][:k], 0)), R[:, ::-1][:, :k]
        V = safe_divide(_times(right, R), s)
        U = _times(left, _times(repair, R))
    signs = column_signs(U)
    return U * signs, s, V * signs


def _nearly_orthogonal(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a basis of the span of F, orthonormal but for rounding, and the small matrix that corrects this.

    By the Cholesky factor of the Gram, whose error is the square of the condition, and once more; or where that fails
    by QR.
    """
    try:
        F = _times(F, _inverse_root(F, np.float64))
        return F, _inverse_root(F, F.dtype)
    except np.linalg.LinAlgError:
        return _orthonormal(F), np.eye(F.shape[1], dtype=F.dtype)


def _inverse_root(F: np.ndarray, dtype) -> np.ndarray:
    """Return the triangular matrix that makes the columns of F orthonormal, by their Gram in the given precision."""
    L = cholesky(_gram(F, dtype), lower=True, check_finite=False)
    (invert,) = get_lapack_funcs(("trtri",), (L,))
    return invert(L, lower=1)[0].T.astype(F.dtype)


def _gram(F: np.ndarray, dtype) -> np.ndarray:
    """Return ``F^T F`` in the given precision."""

    def part(b: slice) -> np.ndarray:
        f = F[b].astype(dtype, copy=False)
        return f.T @ f

    return threads.total(part, _rows(F))


def _times(F: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return ``F @ M`` for a tall F."""
    M = np.ascontiguousarray(M)
    return collect(lambda b: F[b] @ M, _rows(F), (len(F), M.shape[1]), F.dtype)


def _rows(F: np.ndarray) -> threads.Items:
    return tall.cut(F, 1024)


def _tall(data: Matrix, k: int, random_state, max_gram: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the range of X, n >= p, then solve a small problem in it exactly."""
    found, basis = data.leading
    if found < k:
        small = data.has_gram and data.shape[1] <= max_gram
        basis = _eigenbasis(data, k) if small else _subspace(data, k, random_state)
        data.leading = k, basis
    # One exact step in the basis found: it repairs what the squared condition number of a Gram costs.
    if data.by_blocks:
        return _triplets_by_blocks(data.product(basis.astype(data.dtype)), basis, k)
    Q, R = qr(data.product(basis.astype(data.dtype)).astype(np.float64), mode="economic", check_finite=False)
    left, s, right = svd(R, full_matrices=False, check_finite=False)
    return Q @ left[:, :k], s[:k], basis @ right[:k].T


def _triplets_by_blocks(Y: np.ndarray, basis: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return singular triplets of ``X = Y basis^T``, Y tall: its triangular factor is that of those of its blocks."""
    blocks = tall.cut(Y, max(8192, 4 * Y.shape[1]))
    triangles = threads.each(lambda b: triangle(Y[b].astype(np.float64)), blocks)
    R = qr(np.vstack(triangles), mode="r", check_finite=False)[0][: Y.shape[1]]
    _, s, right = svd(R, full_matrices=False, check_finite=False)
    onto = right[:k].T * safe_divide(1, s[:k])
    U = collect(lambda b: Y[b].astype(np.float64) @ onto, blocks, (len(Y), onto.shape[1]), np.float64)
    return U, s[:k], basis @ right[:k].T


def _eigenbasis(data: Matrix, k: int) -> np.ndarray:
    """Return the leading eigenvectors of X^T X."""
    p = data.shape[1]
    if 4 * k > p:  # divide and conquer finds all of them sooner than bisection many
        return np.linalg.eigh(data.gram())[1][:, ::-1][:, :k]
    return eigh(data.gram(), subset_by_index=(p - k, p - 1), check_finite=False)[1][:, ::-1]


def _subspace(data: Matrix, k: int, random_state) -> np.ndarray:
    """Return an orthonormal basis of the leading right singular space, with spare columns, by subspace iteration."""
    size = min(data.shape[1], k + max(10, k // 2))
    # On a copy: what the caller draws next must not depend on the algorithm.
    Q = deepcopy(random_state).standard_normal((data.shape[1], size)).astype(data.dtype)
    before = np.zeros(k)
    for _ in range(30):
        Q, R = qr(data.T.product(data.product(_orthonormal(Q))), mode="economic", check_finite=False)
        # The diagonal tends to the squared singular values; a flat spectrum takes many steps.
        now = np.abs(np.diag(R))[:k]
        if (np.abs(now - before) <= 1e-4 * now).all():
            break
        before = now
    return Q.astype(np.float64)


def _orthonormal(Q: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(qr(Q, mode="economic", check_finite=False)[0])

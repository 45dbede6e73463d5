"""Truncated singular value decomposition of anything `data.wrap` takes."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from scipy.linalg import eigh, qr, svd

from . import threads
from .data import Dense, Matrix

_GRAM_LIMIT = 1500  # side of a Gram matrix that is decomposed outright


def truncated_svd(
    data: Matrix, k: int, random_state: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading ``min(k, n, p)`` singular triplets ``U (n, k), s (k,), V (p, k)`` in unit scale, in double precision.

    The largest entry of each left vector is positive, so that the result does not depend on the route taken.
    """
    n, p = data.shape
    k = min(k, n, p)
    with threads.own_threads():
        if n < p:
            V, s, U = _tall(data.T, k, random_state)
        else:
            U, s, V = _tall(data, k, random_state)
    sign = np.sign(U[np.abs(U).argmax(0), np.arange(k)])
    sign[sign == 0] = 1
    return U * sign, s, V * sign


def _tall(data: Matrix, k: int, random_state) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for n >= p: the range of X is found first, then a small exact problem is solved in it."""
    p = data.shape[1]
    small = hasattr(data, "gram") and p <= _GRAM_LIMIT
    basis = _eigenbasis(data, k) if small else _subspace(data, k, random_state)
    # One exact step in the basis found: it repairs what the squared condition number of a Gram costs.
    Q, R = qr(data.product(basis.astype(data.dtype)).astype(np.float64), mode="economic", check_finite=False)
    left, s, right = svd(R, full_matrices=False, check_finite=False)
    return Q @ left[:, :k], s[:k], basis @ right[:k].T


def _eigenbasis(data: Dense, k: int) -> np.ndarray:
    """Leading eigenvectors of X^T X."""
    p = data.shape[1]
    return eigh(data.gram(), subset_by_index=(p - k, p - 1), check_finite=False)[1][:, ::-1]


def _subspace(data: Matrix, k: int, random_state) -> np.ndarray:
    """Orthonormal basis of the leading right singular space and a little more, by randomised subspace iteration."""
    size = min(data.shape[1], k + max(10, k // 2))
    # On a copy: what the caller draws next shall not depend on the route taken.
    Q = deepcopy(random_state).standard_normal((data.shape[1], size)).astype(data.dtype)
    before = np.zeros(k)
    for _ in range(30):
        Q, R = qr(data.T.product(data.product(_orthonormal(Q))), mode="economic", check_finite=False)
        # The diagonal tends to the squared singular values; a flat spectrum takes long to settle.
        now = np.abs(np.diag(R))[:k]
        if (np.abs(now - before) <= 1e-4 * now).all():
            break
        before = now
    return Q.astype(np.float64)


def _orthonormal(Q: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(qr(Q, mode="economic", check_finite=False)[0])

"""Leading eigenvectors of symmetric operators, multiple eigenvalues included, with reproducible signs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..._utils import threads
from .small import column_signs

_HAS_RNG = "rng" in inspect.signature(eigsh).parameters  # since scipy 1.17; before, ARPACK seeded itself


class Operator:
    """Symmetric matrix (n, n) given by its products with vectors (n,) or matrices (n, m).

    Like `scipy.sparse.linalg.LinearOperator`, whose checks would cost more than a product here.

    Examples
    --------
    >>> import numpy as np
    >>> Operator(2, lambda x: 3 * x) @ np.ones(2)
    array([3., 3.])
    """

    def __init__(self, n: int, product: Callable[[np.ndarray], np.ndarray]):
        self.shape, self.product = (n, n), product

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        return self.product(x)


Symmetric: TypeAlias = np.ndarray | sp.sparray | Operator


def plus_low_rank(A: Symmetric, B: np.ndarray, weights: np.ndarray | float) -> Operator:
    """Return ``A + B diag(weights) B^T`` as an operator; the matrix is not formed.

    Examples
    --------
    >>> import numpy as np
    >>> plus_low_rank(np.eye(2), np.array([[1.0], [2.0]]), 10.0) @ np.eye(2)
    array([[11., 20.],
           [20., 41.]])
    """
    left = B * weights
    return Operator(A.shape[0], lambda x: A @ x + left @ (B.T @ x))


def leading_eigenvectors(
    A: Symmetric,
    k: int,
    random_state: np.random.RandomState,
    known: np.ndarray | None = None,
    *,
    max_direct: int = 300,
    max_fallback: int = 5000,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of a symmetric A, in decreasing order, and their eigenvectors as columns.

    Lanczos methods may find one copy only of a multiple eigenvalue, and the largest eigenvalue of a graph has one copy
    for each connected component. So A is deflated by the eigenvectors found, and the search is repeated until no larger
    eigenvalue is left; it is not where the trace already exceeds that of ``known``.

    Parameters
    ----------
    A : ndarray, sparse array or Operator of shape (n, n)
        Symmetric, of norm about 1.
    k : int
        Number of eigenvectors, at most n.
    random_state : RandomState
        Generator of the starting vectors.
    known : ndarray of shape (n, k) or None
        Orthonormal columns of an earlier solution V; a new one with ``Tr(V^T A V)`` at least as large is taken.
    max_direct, max_fallback : int, default=300, 5000
        Rows of A up to which LAPACK decomposes it at once, and where ARPACK does not converge: 200 MB in float64. A
        matter of time alone; no measurement on record.

    Returns
    -------
    values : ndarray of shape (k,)
    vectors : ndarray of shape (n, k)
        Orthonormal, the largest entry of each positive.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = leading_eigenvectors(np.diag([1.0, 0.0, 1.0, 0.5]), 2, np.random.RandomState(0))
    >>> values.round(12), vectors.shape
    (array([1., 1.]), (4, 2))
    """
    n = A.shape[0]
    if n <= max(max_direct, 4 * k):
        return _direct(A, k)
    with threads.own_threads():  # BLAS threads are no help in products with a vector
        try:
            return _deflated_lanczos(A, k, random_state, known, max_fallback)
        except ArpackNoConvergence:  # eigenvalues too close to each other
            if n > max_fallback:
                raise
    return _direct(A, k)


def filtered_eigenvectors(
    A: Symmetric,
    k: int,
    random_state: np.random.RandomState,
    *,
    degree: int = 20,
    n_iterations: int = 3,
    max_direct: int = 300,
) -> tuple[np.ndarray, np.ndarray]:
    """Return about the k largest eigenvalues of a symmetric A and their eigenvectors, where their span is what matters.

    Subspace iteration with a Chebyshev filter [1]_. With T_m the Chebyshev polynomial of degree m and c the smallest
    eigenvalue found so far, first 0, one iteration is

        V <- Ritz vectors of A in the span of T_m((2 A + (1 - c) I) / (1 + c)) V

    which is at most 1 in magnitude on [-1, c] and grows fast above. A quarter more vectors are iterated than returned.
    Multiple eigenvalues need no care. For 200 eigenvectors of 10 000 samples the defaults take an eighth of the time of
    `leading_eigenvectors`; a kernel ``sum_i v_i v_i^T / (1 + 10 (1 - mu_i))`` of them differs by .6 %.

    Parameters
    ----------
    A : ndarray, sparse array or Operator of shape (n, n)
        Symmetric, with eigenvalues in [-1, 1].
    k : int
        Number of eigenvectors, at most n.
    random_state : RandomState
        Generator of the starting vectors.
    degree : int, default=20
        Degree of the polynomial: products with A in an iteration.
    n_iterations : int, default=3
        Number of iterations.
    max_direct : int, default=300
        Rows of A up to which LAPACK decomposes it, or 4 k.

    Returns
    -------
    values : ndarray of shape (k,)
        In decreasing order.
    vectors : ndarray of shape (n, k)
        Orthonormal, the largest entry of each positive.

    References
    ----------
    .. [1] Y. Zhou, Y. Saad, M. L. Tiago and J. R. Chelikowsky, Self-consistent-field calculations using
       Chebyshev-filtered subspace iteration, Journal of Computational Physics 219, 2006. doi:10.1016/j.jcp.2006.03.017.

    Examples
    --------
    >>> A = np.diag(np.r_[1.0, 1.0, 0.9, np.linspace(-1, 0.5, 400)])
    >>> filtered_eigenvectors(A, 3, np.random.RandomState(0))[0].round(6)
    array([1. , 1. , 0.9])
    """
    n = A.shape[0]
    if n <= max(max_direct, 4 * k):
        return _direct(A, k)
    V, least = random_state.standard_normal((n, min(n, k + max(10, k // 4)))), 0.0
    with threads.own_threads():
        for _ in range(n_iterations):
            centre, half = (least - 1) / 2, (least + 1) / 2  # of the interval where the polynomial is small
            before, V = V, (A @ V - centre * V) / half
            for _ in range(degree - 1):
                before, V = V, (2 / half) * (A @ V - centre * V) - before
            V = qr(V, mode="economic", check_finite=False, overwrite_a=True)[0]
            values, Q = np.linalg.eigh(V.T @ (A @ V))
            V, least = V @ Q[:, ::-1], max(float(values[0]), -0.5)
    return values[::-1][:k], _with_signs(V[:, :k])


def _direct(A: Symmetric, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = A.shape[0]
    values, vectors = eigh(A @ np.eye(n), subset_by_index=(n - k, n - 1), check_finite=False)
    return values[::-1], _with_signs(vectors[:, ::-1])


def _deflated_lanczos(
    A: Symmetric, k: int, random_state: np.random.RandomState, known: np.ndarray | None, max_fallback: int
) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = _lanczos(A, k, random_state, max_fallback)
    if known is not None and values.sum() >= np.vdot(known, A @ known):
        return values, _with_signs(vectors)
    below, n_more = -np.abs(values).max() - 1, 1  # deflation moves the eigenvalues found below all others
    while True:
        more, found = _lanczos(plus_low_rank(A, vectors, below - values), n_more, random_state, max_fallback)
        if more[0] <= values[-1] + 1e-6:
            return values, _with_signs(vectors)
        values, vectors = np.concatenate([values, more]), np.hstack([vectors, found])
        best = np.argsort(-values, kind="stable")[:k]
        values, vectors = (
            values[best],
            np.linalg.qr(vectors[:, best])[0],
        )  # rounding makes later ones not quite orthogonal
        n_more = min(2 * n_more, k)


def _lanczos(
    A: Symmetric, k: int, random_state: np.random.RandomState, max_fallback: int
) -> tuple[np.ndarray, np.ndarray]:
    n = A.shape[0]
    # ARPACK's tolerance is relative to each eigenvalue: shifted by 1, those near zero need no more digits than others.
    shifted = LinearOperator((n, n), matvec=lambda x: A @ x + x, dtype=np.float64)
    seed = {"rng": random_state.randint(2**31 - 1)} if _HAS_RNG else {}
    rounds = None if n > max_fallback else max(10, n // max(k, 20))  # beyond n products LAPACK is faster
    start = random_state.standard_normal(n)
    values, vectors = eigsh(shifted, k, which="LA", v0=start, maxiter=rounds, tol=1e-7, **seed)
    return values[::-1] - 1, vectors[:, ::-1]


def _with_signs(vectors: np.ndarray) -> np.ndarray:
    return vectors * column_signs(vectors)

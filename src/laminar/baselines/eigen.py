"""Leading eigenvectors of symmetric operators: all copies of them, and the same ones every time."""

from __future__ import annotations

import inspect

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, aslinearoperator, eigsh

from .. import threads

_SMALL = 300  # side of a matrix that is decomposed outright
_LARGE = 5000  # side up to which that is the last resort
_HAS_RNG = "rng" in inspect.signature(eigsh).parameters  # since scipy 1.17; before, ARPACK seeded itself


def leading_eigenvectors(
    A: np.ndarray | sp.sparray | LinearOperator, k: int, random_state: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of a symmetric A, in decreasing order, and their eigenvectors as columns.

    Lanczos methods may see one copy of an eigenvalue that has several, and a graph in pieces has its largest one once a
    piece. So what was found is taken out of A, and what is left is searched until it holds nothing larger.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator of shape (n, n)
        Symmetric, of norm about 1.
    k : int
        How many, at most n.
    random_state : RandomState
        Gives the starting vectors.

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
    if n <= max(_SMALL, 4 * k):
        return _direct(A, k)
    with threads.own_threads():  # BLAS threads are no help in products with a few vectors
        try:
            return _lanczos_all(aslinearoperator(A), k, random_state)
        except ArpackNoConvergence:  # a flat spectrum
            if n > _LARGE:
                raise
    return _direct(A, k)


def low_rank(B: np.ndarray, weights: np.ndarray | float) -> LinearOperator:
    """``B diag(weights) B^T``, never formed."""
    left = B * weights
    return symmetric_operator(B.shape[0], lambda x: left @ (B.T @ x))


def symmetric_operator(n: int, product) -> LinearOperator:
    """Wrap a symmetric ``product(x)`` of a vector or of columns."""
    return LinearOperator((n, n), matvec=product, matmat=product, rmatvec=product, dtype=np.float64)


def _direct(A, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = A.shape[0]
    values, vectors = eigh(A @ np.eye(n), subset_by_index=(n - k, n - 1), check_finite=False)
    return values[::-1], _signed(vectors[:, ::-1])


def _lanczos_all(A: LinearOperator, k: int, random_state) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = _lanczos(A, k, random_state)
    floor, asked = -np.abs(values).max() - 1, 1
    while True:
        more, found = _lanczos(A + low_rank(vectors, floor - values), asked, random_state)
        if more[0] <= values[-1] + 1e-6:
            return values, _signed(vectors)
        values, vectors = np.concatenate([values, more]), np.hstack([vectors, found])
        best = np.argsort(-values, kind="stable")[:k]
        values, vectors = values[best], np.linalg.qr(vectors[:, best])[0]  # later ones lean on earlier by rounding
        asked = min(2 * asked, k)


def _lanczos(A: LinearOperator, k: int, random_state) -> tuple[np.ndarray, np.ndarray]:
    n, width = A.shape[0], max(20, min(4 * k, 2 * k + 20))
    # ARPACK's tolerance is relative to each eigenvalue: moved by 1, those near zero are not asked for more digits.
    moved = symmetric_operator(n, lambda x: A @ x + x)
    seed = {"rng": random_state.randint(2**31 - 1)} if _HAS_RNG else {}
    rounds = None if n > _LARGE else max(10, n // (width - k))  # beyond n products it is faster done directly
    start = random_state.standard_normal(n)
    values, vectors = eigsh(moved, k, which="LA", v0=start, ncv=width, maxiter=rounds, tol=1e-7, **seed)
    return values[::-1] - 1, vectors[:, ::-1]


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Make the largest entry of every vector positive."""
    return vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])

"""Leading eigenvectors of symmetric operators: all copies of them, and the same ones every time."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..._utils import threads

_SMALL = 300  # side of a matrix that is decomposed outright
_LARGE = 5000  # side up to which that is the last resort
_HAS_RNG = "rng" in inspect.signature(eigsh).parameters  # since scipy 1.17; before, ARPACK seeded itself


class Operator:
    """A symmetric matrix known by its products with a vector or with columns; scipy's own costs more than the product.

    Examples
    --------
    >>> import numpy as np
    >>> Operator(2, lambda x: 3 * x) @ np.ones(2)
    array([3., 3.])
    """

    def __init__(self, n: int, product: Callable[[np.ndarray], np.ndarray]):
        self.shape, self.product = (n, n), product

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        """Multiply."""
        return self.product(x)


Symmetric: TypeAlias = np.ndarray | sp.sparray | Operator


def plus_low_rank(A: Symmetric, B: np.ndarray, weights: np.ndarray | float) -> Operator:
    """``A + B diag(weights) B^T``, never formed.

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
    A: Symmetric, k: int, random_state: np.random.RandomState, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of a symmetric A, in decreasing order, and their eigenvectors as columns.

    Lanczos methods may see one copy of an eigenvalue that has several, and a graph in pieces has its largest one once a
    piece. So what was found is taken out of A, and what is left is searched until it holds nothing larger. That search
    is spared where what was found is already better than something known.

    Parameters
    ----------
    A : ndarray, sparse array or Operator of shape (n, n)
        Symmetric, of norm about 1.
    k : int
        How many, at most n.
    random_state : RandomState
        Gives the starting vectors.
    known : ndarray of shape (n, k) or None
        Orthonormal columns from before, to be bettered.

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
    with threads.own_threads():  # BLAS threads are no help in products with a vector
        try:
            return _lanczos_all(A, k, random_state, known)
        except ArpackNoConvergence:  # a flat spectrum
            if n > _LARGE:
                raise
    return _direct(A, k)


def _direct(A: Symmetric, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = A.shape[0]
    values, vectors = eigh(A @ np.eye(n), subset_by_index=(n - k, n - 1), check_finite=False)
    return values[::-1], _signed(vectors[:, ::-1])


def _lanczos_all(A: Symmetric, k: int, random_state, known) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = _lanczos(A, k, random_state)
    if known is not None and values.sum() >= np.vdot(known, A @ known):
        return values, _signed(vectors)
    floor, asked = -np.abs(values).max() - 1, 1
    while True:
        more, found = _lanczos(plus_low_rank(A, vectors, floor - values), asked, random_state)
        if more[0] <= values[-1] + 1e-6:
            return values, _signed(vectors)
        values, vectors = np.concatenate([values, more]), np.hstack([vectors, found])
        best = np.argsort(-values, kind="stable")[:k]
        values, vectors = values[best], np.linalg.qr(vectors[:, best])[0]  # later ones lean on earlier by rounding
        asked = min(2 * asked, k)


def _lanczos(A: Symmetric, k: int, random_state) -> tuple[np.ndarray, np.ndarray]:
    n = A.shape[0]
    # ARPACK's tolerance is relative to each eigenvalue: moved by 1, those near zero are not asked for more digits.
    moved = LinearOperator((n, n), matvec=lambda x: A @ x + x, dtype=np.float64)
    seed = {"rng": random_state.randint(2**31 - 1)} if _HAS_RNG else {}
    rounds = None if n > _LARGE else max(10, n // max(k, 20))  # beyond n products it is faster done directly
    start = random_state.standard_normal(n)
    values, vectors = eigsh(moved, k, which="LA", v0=start, maxiter=rounds, tol=1e-7, **seed)
    return values[::-1] - 1, vectors[:, ::-1]


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Make the largest entry of every vector positive."""
    return vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])

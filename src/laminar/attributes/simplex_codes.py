"""Non-negative codes of features of any sign, by projections on the vertices of a rotated simplex."""

from __future__ import annotations

import numpy as np
from scipy.linalg import helmert

from .._engine.linalg import kernels
from .._utils import threads
from ..deep.composition import regress


def simplex_directions(
    T: np.ndarray, start: np.ndarray | None = None, *, max_steps: int = 50, tol: float = 1e-4
) -> np.ndarray:
    """Rotate a regular simplex so that the projections of features on its d + 1 vertices are as positive as possible.

        max_R  ||max(0, T A^T)||^2,   A = C R,   C the vertices of a regular simplex, R a rotation
        H = max(0, T A^T),   R <- U V^T  with  C^T H^T T = U S V^T

    A has orthonormal columns that sum to zero, so that ``T A^T`` keeps all distances. A step is exact for H fixed, so
    that the objective never decreases.

    Parameters
    ----------
    T : ndarray of shape (n_samples, d)
        Features.
    start : ndarray of shape (d + 1, d) or None, default=None
        Points that the vertices are first turned to, such as the centres of d + 1 classes.
    max_steps : int, default=50
        Most steps.
    tol : float, default=1e-4
        Stop when a step increases the objective by less than this part.

    Returns
    -------
    A : ndarray of shape (d + 1, d)
        The vertices.

    Examples
    --------
    >>> T = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    >>> A = simplex_directions(T)
    >>> np.allclose(A.sum(0), 0), np.allclose(A.T @ A, np.eye(2))
    (True, True)
    >>> sorted((T @ A.T).argmax(1).tolist())
    [0, 1, 2]
    """
    vertices, before = helmert(T.shape[1] + 1).T, 0.0
    A = vertices if start is None else _turned(vertices, vertices.T @ start)
    for _ in range(max_steps):
        H = np.maximum(T @ A.T.astype(T.dtype), 0)
        energy = float(np.vdot(H, H))
        if energy <= (1 + tol) * before:
            break
        before = energy
        A = _turned(vertices, vertices.T @ (H.T @ T))
    return A


def _turned(vertices: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return ``vertices @ R`` with the rotation R that is nearest to M."""
    left, _, right = np.linalg.svd(M)
    return vertices @ left @ right


class SimplexCoder:
    """Non-negative codes H of features T, ``T ~ H Z``: projections on a simplex, refined by coordinate descent.

    ``H = max(0, T A^T)`` with A from `simplex_directions`, Z by least squares, then sweeps of HALS over H. Samples are
    coded independently.

    Parameters
    ----------
    n_codes : int
        Number of codes, at most the number of features plus one.
    max_steps : int, default=50
        Most steps of `simplex_directions`.
    sweeps : int, default=1
        Sweeps of coordinate descent. With more the error is lower and codes are less sparse.

    Attributes
    ----------
    weights : ndarray of shape (n_codes, d)
        Z.

    Examples
    --------
    >>> T = np.random.default_rng(0).normal(size=(50, 3))
    >>> H = SimplexCoder(n_codes=4).fit(T).code(T)
    >>> H.shape, bool((H >= 0).all())
    ((50, 4), True)
    """

    def __init__(self, n_codes: int, max_steps: int = 50, sweeps: int = 1):
        self.n_codes, self.max_steps, self.sweeps = n_codes, max_steps, sweeps

    def fit(self, T: np.ndarray, start: np.ndarray | None = None) -> SimplexCoder:
        """Learn directions and weights from the rows of T; ``start`` is that of `simplex_directions`."""
        self.directions = simplex_directions(T, start, max_steps=self.max_steps)[: self.n_codes].astype(T.dtype)
        H = np.maximum(T @ self.directions.T, 0)
        self.weights = regress(H, T)
        return self

    def code(self, T: np.ndarray) -> np.ndarray:
        """Compute non-negative codes of the rows of T."""
        H = np.maximum(T @ self.directions.T, 0)
        B, G = T @ self.weights.T, self.weights @ self.weights.T
        if self.sweeps:
            threads.each(lambda b: kernels.hals(H[b], B[b], G, self.sweeps, 0.0), threads.blocks(len(H), 1024))
        return H

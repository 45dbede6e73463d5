"""Non-negative codes of features of any sign, with nearly the same distances and in closed form for new samples."""

from __future__ import annotations

import numpy as np
from scipy.linalg import helmert

from .._engine.linalg import kernels
from .._utils import threads
from ..deep.composition import regress


def nonnegative_frame(T: np.ndarray, *, max_steps: int = 50, tol: float = 1e-4) -> np.ndarray:
    """Find d + 1 directions that sum to zero and in which as much as possible of d features is positive.

    The directions A have orthonormal columns, as the corners of a regular simplex have, so that ``T A^T`` keeps all
    distances. Among them those are sought that maximise ``||max(0, T A^T)||^2``: every step solves the problem with the
    positive part held, so that it never goes down.

    Parameters
    ----------
    T : ndarray of shape (n_samples, d)
        Features.
    max_steps : int, default=50
        Largest number of steps.
    tol : float, default=1e-4
        Stop when a step gains less than this part.

    Returns
    -------
    A : ndarray of shape (d + 1, d)
        The directions.

    Examples
    --------
    >>> T = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    >>> A = nonnegative_frame(T)
    >>> np.allclose(A.sum(0), 0), np.allclose(A.T @ A, np.eye(2))
    (True, True)
    >>> sorted((T @ A.T).argmax(1).tolist())
    [0, 1, 2]
    """
    corners, before = helmert(T.shape[1] + 1).T, 0.0
    A = corners
    for _ in range(max_steps):
        H = np.maximum(T @ A.T.astype(T.dtype), 0)
        energy = float(np.vdot(H, H))
        if energy <= (1 + tol) * before:
            break
        before = energy
        left, _, right = np.linalg.svd(corners.T @ (H.T @ T))
        A = corners @ left @ right
    return A


class FrameCoder:
    """Non-negative codes H of features T, ``T ~ H Z``: a frame gives them, coordinate descent refines them.

    ``H = max(0, T A^T)`` with the directions of `nonnegative_frame`, Z by least squares, then some sweeps over H. Every
    sample is coded by itself.

    Parameters
    ----------
    n_codes : int
        Codes, no more than there are directions: one more than features.
    max_steps : int, default=50
        Of the frame.
    sweeps : int, default=1
        Of coordinate descent. More sweeps explain more of T, with codes that are less sparse.

    Attributes
    ----------
    weights : ndarray of shape (n_codes, d)
        Z.

    Examples
    --------
    >>> T = np.random.default_rng(0).normal(size=(50, 3))
    >>> H = FrameCoder(n_codes=4).fit(T).code(T)
    >>> H.shape, bool((H >= 0).all())
    ((50, 4), True)
    """

    def __init__(self, n_codes: int, max_steps: int = 50, sweeps: int = 1):
        self.n_codes, self.max_steps, self.sweeps = n_codes, max_steps, sweeps

    def fit(self, T: np.ndarray) -> FrameCoder:
        """Find frame and weights for the rows of T."""
        self.frame = nonnegative_frame(T, max_steps=self.max_steps)[: self.n_codes].astype(T.dtype)
        H = np.maximum(T @ self.frame.T, 0)
        self.weights = regress(H, T)
        return self

    def code(self, T: np.ndarray) -> np.ndarray:
        """Non-negative codes of the rows of T."""
        H = np.maximum(T @ self.frame.T, 0)
        B, G = T @ self.weights.T, self.weights @ self.weights.T
        if self.sweeps:
            threads.each(lambda b: kernels.hals(H[b], B[b], G, self.sweeps, 0.0), threads.blocks(len(H), 1024))
        return H

"""Codes of new samples in MultiNMF: those of all views for given components, near a consensus."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from .._engine.linalg.blocked import gram as gram_of
from .._engine.nnls import nnls_solver
from .._utils import threads
from .multinmf_problem import shares


def joint_codes(
    linear: list[np.ndarray],
    bases: list[np.ndarray],
    observed: np.ndarray,
    alpha: np.ndarray,
    start: list[np.ndarray] | None = None,
) -> tuple[list[np.ndarray], np.ndarray]:
    """The best codes of each view for given components, zero where it is missing, and their consensus.

    The consensus is a mean of codes and drops out: one problem for the codes of all views side by side. Samples that
    have the same views share one Gram.

    Parameters
    ----------
    linear, bases : list of ndarray of shape (n_samples, k), (n_features, k)
        Of each view the products with its components, and the transposed components; both with sum one.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    alpha : ndarray of shape (n_views,)
        How strongly codes are drawn to the consensus.
    start : list of ndarray of shape (n_samples, k) or None, default=None
        Codes to start from, in which most zeros are known.

    Examples
    --------
    >>> linear, bases = [np.array([[1.0]]), np.array([[3.0]])], [np.eye(1), np.eye(1)]
    >>> codes, mean = joint_codes(linear, bases, np.array([[True, True]]), np.array([1e6, 1e6]))
    >>> mean.round(3), codes[0].round(3)  # drawn together so strongly, both are the mean
    (array([[2.]]), array([[2.]]))
    """
    k, dtype = linear[0].shape[1], linear[0].dtype
    codes, mean = [np.zeros_like(B) for B in linear], np.zeros_like(linear[0])
    for pattern in np.unique(observed, axis=0):
        rows, present = np.flatnonzero((observed == pattern).all(axis=1)), np.flatnonzero(pattern)
        gram = _joint_gram([bases[v] for v in present], alpha[present]).astype(dtype)
        B = np.hstack([linear[v][rows] for v in present])
        H = np.zeros_like(B) if start is None else np.hstack([start[v][rows] for v in present])
        solver = nnls_solver(gram)
        threads.each(lambda b, H=H, B=B, solver=solver: solver(H[b], B[b]), threads.blocks(len(rows), 256))
        for i, (v, share) in enumerate(zip(present, shares(alpha[present]), strict=True)):
            codes[v][rows] = H[:, i * k : (i + 1) * k]
            mean[rows] += dtype.type(share) * codes[v][rows]
    return codes, mean


def _joint_gram(bases: list[np.ndarray], alpha: np.ndarray) -> np.ndarray:
    """Curvature of the objective in the codes of all views side by side, the consensus being their mean."""
    coupling = np.diag(alpha) - np.outer(alpha, shares(alpha))
    return block_diag(*(gram_of(Z.astype(np.float64)) for Z in bases)) + np.kron(coupling, np.eye(bases[0].shape[1]))

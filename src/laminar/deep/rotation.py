"""Rotation of points to non-negative ones."""

from __future__ import annotations

import numpy as np

from .._utils.callbacks import Hook


class _RotationStart:
    """State of one start of `nonnegative_rotation`: Y, the rotation R and ``H = max(0, Y R)``."""

    def __init__(self, Y: np.ndarray, R: np.ndarray):
        self.Y, self.R, self.objective, self.converged = Y, R, np.inf, False

    def iterate(self, tol: float) -> None:
        """Update H, then R (orthogonal Procrustes); converged when the relative decrease is at most ``tol``."""
        rotated, before = self.Y @ self.R, self.objective
        self.H = np.maximum(rotated, 0)
        self.objective = float(((rotated - self.H) ** 2).sum() / 2)
        self.converged = self.objective >= (1 - tol) * before
        if not self.converged:
            left, _, right = np.linalg.svd(self.Y.T @ self.H)
            self.R = left @ right


def nonnegative_rotation(
    Y: np.ndarray,
    random_state: np.random.RandomState,
    *,
    n_starts: int = 2,
    max_iter: int = 150,
    tol: float = 1e-6,
    callback: Hook | None = None,
) -> tuple[np.ndarray, list[float], bool]:
    """Rotate the rows of Y so that they are as non-negative as possible.

        min_{R^T R = I, H >= 0}  1/2 ||Y R - H||^2
        H <- max(0, Y R),   R <- U V^T  with  Y^T H = U S V^T

    Both steps are exact, so that the objective never increases. Distances between the rows of H are close to those
    between the rows of Y.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, k)
        Points.
    random_state : RandomState
        Generator of the first rotations.
    n_starts : int, default=2
        Number of starts, of which the best is returned.
    max_iter : int, default=150
        Most iterations of each start.
    tol : float, default=1e-6
        A start has converged when its objective decreases by at most this part.
    callback : callable or None, default=None
        Called after every iteration with (iteration, objective); stops by returning True.

    Returns
    -------
    H : ndarray of shape (n_samples, k)
        Non-negative codes.
    history : list of float
        Objective of the best start after each iteration.
    converged : bool
        Whether every start converged.

    Examples
    --------
    >>> Y = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)  # two orthogonal directions, not along the axes
    >>> H, history, converged = nonnegative_rotation(Y, np.random.RandomState(0))
    >>> bool(history[-1] < 1e-3), converged
    (True, True)
    """
    starts = [_RotationStart(Y, np.linalg.qr(random_state.normal(size=(Y.shape[1],) * 2))[0]) for _ in range(n_starts)]
    history: list[float] = []
    while len(history) < max_iter and not all(start.converged for start in starts):
        for start in starts:
            if not start.converged:
                start.iterate(tol)
        best = min(starts, key=lambda start: start.objective)
        history.append(best.objective)
        if callback is not None and callback(len(history), history[-1]):
            break
    return best.H, history, all(start.converged for start in starts)

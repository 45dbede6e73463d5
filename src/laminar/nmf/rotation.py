"""Rotation of points to non-negative ones."""

from __future__ import annotations

from functools import partial

import numpy as np

from .._engine.loops import recorded
from .._engine.monitor import Monitor, Solution


class _RotationStart:
    """State of one start of `nonnegative_rotation`: Y, the rotation R and ``H = max(0, Y R)``."""

    def __init__(self, Y: np.ndarray, R: np.ndarray):
        self.Y, self.R, self.objective, self.converged = Y, R, np.inf, False
        self.size = float(np.einsum("ij,ij->", Y, Y)) / 2  # the objective itself may go to zero

    def iterate(self, tol: float) -> None:
        """Update H, then R (orthogonal Procrustes); converged when the decrease is at most ``tol`` of the norm of Y."""
        rotated, before = self.Y @ self.R, self.objective
        self.H = np.maximum(rotated, 0)
        self.objective = float(((rotated - self.H) ** 2).sum() / 2)
        self.converged = before - self.objective <= tol * self.size
        if not self.converged:
            left, _, right = np.linalg.svd(self.Y.T @ self.H)
            self.R = left @ right


def nonnegative_rotation(
    Y: np.ndarray,
    random_state: np.random.RandomState,
    *,
    n_starts: int = 2,
    tol: float = 1e-6,
    monitor: Monitor | None = None,
) -> Solution:
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
    tol : float, default=1e-6
        A start has converged when its objective decreases by at most this part of ``1/2 ||Y||^2``.
    monitor : Monitor or None, default=None
        Records the objective of the best start after each iteration; None allows 150 iterations.

    Returns
    -------
    Solution
        Non-negative codes ``H`` of shape (n_samples, k); converged if every start is.

    Examples
    --------
    >>> Y = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)  # two orthogonal directions, not along the axes
    >>> found = nonnegative_rotation(Y, np.random.RandomState(0))
    >>> bool(found.history[-1] < 1e-3), found.converged
    (True, True)
    """
    starts = [_RotationStart(Y, np.linalg.qr(random_state.normal(size=(Y.shape[1],) * 2))[0]) for _ in range(n_starts)]
    monitor = monitor or Monitor(150, 0.0)
    with recorded(monitor):
        while monitor.running:
            for start in starts:
                if not start.converged:
                    start.iterate(tol)
            best = min(starts, key=lambda start: start.objective)
            monitor.step(best.objective, partial(dict, H=best.H))
            monitor.converged = all(start.converged for start in starts)
    return Solution.reached({"H": best.H}, monitor)

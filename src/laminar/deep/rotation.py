"""A rotation that makes points non-negative."""

from __future__ import annotations

import numpy as np

from .._utils.callbacks import Hook


class _Turning:
    """One start of `nonnegative_rotation`: points, a rotation and the non-negative codes next to them."""

    def __init__(self, Y: np.ndarray, R: np.ndarray):
        self.Y, self.R, self.value, self.rests = Y, R, np.inf, False

    def __call__(self) -> None:
        """One turn, unless the last one gained next to nothing."""
        if self.rests:
            return
        turned, before = self.Y @ self.R, self.value
        self.H = np.maximum(turned, 0)
        self.value = float(((turned - self.H) ** 2).sum() / 2)
        self.rests = self.value >= (1 - 1e-6) * before
        if not self.rests:
            left, _, right = np.linalg.svd(self.Y.T @ self.H)
            self.R = left @ right


def nonnegative_rotation(
    Y: np.ndarray,
    random_state: np.random.RandomState,
    *,
    n_starts: int = 2,
    max_iter: int = 150,
    callback: Hook | None = None,
) -> tuple[np.ndarray, list[float], bool]:
    """Turn the rows of Y so that they become as non-negative as a rotation can make them.

    ``min ||Y R - H||^2`` over rotations R and ``H >= 0``, by turns: each has a closed form, so that the objective never
    rises. Distances between the rows of H are nearly those between the rows of Y.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, k)
        Points.
    random_state : RandomState
        Draws the first rotations.
    n_starts : int, default=2
        The best of so many starts is kept.
    max_iter : int, default=150
        Turns of each; they are made side by side.
    callback : callable or None, default=None
        Called after every turn with (turn, objective); stops by returning True.

    Returns
    -------
    H : ndarray of shape (n_samples, k)
        Non-negative codes.
    history : list of float
        Half the squared distance of H from the turned Y, of the best start after each turn.
    converged : bool
        Whether every start came to rest.

    Examples
    --------
    >>> Y = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)  # two orthogonal directions, not along the axes
    >>> H, history, converged = nonnegative_rotation(Y, np.random.RandomState(0))
    >>> bool(history[-1] < 1e-3), converged
    (True, True)
    """
    starts = [_Turning(Y, np.linalg.qr(random_state.normal(size=(Y.shape[1],) * 2))[0]) for _ in range(n_starts)]
    history: list[float] = []
    while len(history) < max_iter and not all(start.rests for start in starts):
        for start in starts:
            start()
        best = min(starts, key=lambda start: start.value)
        history.append(best.value)
        if callback is not None and callback(len(history), history[-1]):
            break
    return best.H, history, all(start.rests for start in starts)

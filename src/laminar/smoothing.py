"""Codes that agree with their neighbours in a graph, and a non-negative basis for them."""

from __future__ import annotations

import numpy as np

from .callbacks import Hook
from .graphs import GraphOperator
from .readout import unit_rows


def smooth(graph: GraphOperator, C: np.ndarray, strength: float) -> np.ndarray:
    """Solve ``((1 + strength) I - strength N) S = C``, N being the graph's weights normalised by its degrees.

    S stays close to C and, the more so the larger the strength, to the mean of its neighbours. Conjugate gradients on
    all columns at once: some twenty products with the graph, and nothing n x n.

    Parameters
    ----------
    graph : GraphOperator
        Over the rows of C.
    C : ndarray of shape (n_samples, n_columns)
        What to smooth.
    strength : float
        0 leaves C as it is.

    Returns
    -------
    S : ndarray of shape (n_samples, n_columns)
        The smoothed columns.

    Examples
    --------
    >>> from laminar.graphs import Chain
    >>> C = np.array([[0.0], [1.0], [0.0]])
    >>> smooth(Chain().build(C), C, 1.0).ravel().round(3)
    array([0.236, 0.667, 0.236])
    """
    degree = graph.degree
    # A sample without neighbours keeps its own code.
    root = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)[:, None]
    strengths = np.where(degree > 0, strength, 0.0)[:, None]

    def system(S: np.ndarray) -> np.ndarray:
        return (1 + strengths) * S - strengths * root * graph.dot(root * S)

    return _conjugate_gradients(system, C)


def _conjugate_gradients(system, B: np.ndarray) -> np.ndarray:
    """Solve a symmetric positive definite system for every column of B, to 1e-8."""
    X, R = np.zeros_like(B), B.copy()
    P, squares = R.copy(), np.einsum("ij,ij->j", R, R)
    enough = 1e-16 * squares
    for _ in range(200):
        if (squares <= enough).all():
            break
        A = system(P)
        step = ratio(squares, np.einsum("ij,ij->j", P, A))
        X += step * P
        R -= step * A
        before, squares = squares, np.einsum("ij,ij->j", R, R)
        P = R + ratio(squares, before) * P
    return X


def ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a / b``, zero where b is not above zero."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


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


def smoothed_codes(C: np.ndarray, graph, strength: float) -> np.ndarray:
    """Points on a sphere whose directions are the smooth part of codes C of any basis.

    Parameters
    ----------
    C : ndarray of shape (n_samples, k)
        Whitened codes: orthonormal columns.
    graph : Graph
        Built on the directions of C.
    strength : float
        Of the smoothing.

    Returns
    -------
    Y : ndarray of shape (n_samples, k)
        Principal scores of the smoothed directions, with unit rows.
    """
    C = unit_rows(C)
    S = smooth(graph.build(C), C, strength)
    Q = np.linalg.eigh(S.T @ S)[1]
    return unit_rows(S @ Q[:, ::-1])

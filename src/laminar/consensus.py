"""One set of codes for several views, ``min_H sum_v w_v ||F_v - H Z_v||^2``, for weights that are given or found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from . import updates
from .agreement import residual_weights
from .constraints import Free, NonNegative
from .init import STARTS
from .linalg import truncated_svd
from .masked import Masked, piecewise
from .penalties import Smooth
from .solve import Callback, State, solve
from .stacked import Stacked

_ROUND = 5  # sweeps between two looks at the weights


@dataclass
class Consensus:
    """Codes of all views, the weight of each, and how they were reached."""

    H: np.ndarray
    weights: np.ndarray
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = False


@dataclass(frozen=True)
class Task:
    """What a consensus is sought for.

    Attributes
    ----------
    views : Stacked
        Side by side; their weights are not looked at.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    codes : Free or NonNegative
        What codes may be.
    penalty : Smooth or None
        What else is asked of them.
    """

    views: Stacked
    observed: np.ndarray
    codes: Free | NonNegative
    penalty: Smooth | None = None

    def start(self, weights: np.ndarray, k: int, rng: np.random.RandomState) -> dict[str, np.ndarray]:
        """Codes and (transposed) components to begin with: where all is known, and no more is asked, the optimum."""
        data = self.views.weighted(weights)
        if isinstance(self.codes, Free):
            U, s, V = truncated_svd(data, k, rng)
            H, Z = (np.pad(F, ((0, 0), (0, k - len(s)))) for F in (U * s, V))
        else:
            H, Z = STARTS["lp"](data, k, rng)
        return {name: np.array(F, data.dtype, order="C") for name, F in (("H", H), ("Z", Z))}

    def sweep(self, weights: np.ndarray, factors: Mapping[str, np.ndarray], **how) -> State:
        """Lower the objective for given weights."""
        problem = Masked(self.views.weighted(weights), self.observed, self.codes, self.penalty)
        rules = {name: piecewise(updates.for_constraint(updates.careful, c)) for name, c in problem.constraints.items()}
        return solve(problem, factors, rules, extrapolate=True, **how)

    def code(self, weights: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """The best codes of every sample by itself, given the (transposed) components of every view."""
        data = self.views.weighted(weights)
        H = np.zeros((data.shape[0], Z.shape[1]), data.dtype)
        term = Masked(data, self.observed, self.codes).term("H", {"H": H, "Z": Z * self.roots(weights, Z.dtype)})
        return piecewise(updates.for_constraint(updates.exact, self.codes))(H, term)

    def components(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best (transposed) components of every view, whatever its weight, and twice what each leaves."""
        views = self.views.weighted(np.ones(self.observed.shape[1]))
        term = Masked(views, self.observed, self.codes, self.penalty).term("Z", {"H": H, "Z": None})
        Z = piecewise(updates.least_squares)(np.zeros((views.shape[1], H.shape[1]), H.dtype), term)
        return Z, np.array([2 * piece.value(Z[rows]) for rows, piece in term.pieces])

    def roots(self, weights: np.ndarray, dtype) -> np.ndarray:
        """The root of the weight of every feature's view, as a column."""
        return np.repeat(np.sqrt(weights), np.diff(self.views.edges)).astype(dtype)[:, None]


def agree(
    task: Task,
    k: int,
    weights: np.ndarray,
    rng: np.random.RandomState,
    *,
    max_iter: int,
    tol: float,
    callback: Callback,
) -> Consensus:
    """The consensus of views with given weights."""
    start = task.start(weights, k, rng)
    state = task.sweep(weights, start, max_iter=max_iter, tol=tol, callback=callback)
    return Consensus(state.best["H"], weights, state.history, state.n_iter, state.converged)


def agree_and_weigh(
    task: Task,
    k: int,
    gamma: float,
    rng: np.random.RandomState,
    *,
    max_iter: int,
    tol: float,
    callback: Callback,
) -> Consensus:
    """Codes and weights by turns: ``sum_v a_v^gamma R_v``, R_v being what is left of a view (Zhao et al.).

    For gamma above 1 every turn lowers the objective.
    """
    n_views = task.observed.shape[1]
    found = Consensus(np.empty(0), np.full(n_views, 1 / n_views))
    factors, stopped = task.start(found.weights**gamma, k, rng), False

    def tell(i: int, value: float, seconds: float) -> bool:
        nonlocal stopped
        stopped = bool(callback(found.n_iter + i, value, seconds))
        return stopped

    while found.n_iter < max_iter and not found.converged and not stopped:
        left = max_iter - found.n_iter
        state = task.sweep(found.weights**gamma, factors, max_iter=min(_ROUND, left), tol=tol, callback=tell)
        found.H, found.n_iter, found.history = state.best["H"], found.n_iter + state.n_iter, found.history + state.history
        Z, residuals = task.components(found.H)
        before, found.weights = found.weights, residual_weights(residuals, gamma)
        found.converged = state.converged and bool(np.abs(found.weights - before).max() <= tol)
        factors = {"H": found.H, "Z": Z * task.roots(found.weights**gamma, Z.dtype)}
    return found


def corners(Y: np.ndarray) -> np.ndarray:
    """Non-negative codes, one more than the signed ones given, of the smallest of which every sample has none.

    With the components ``[Z; -sum of Z]`` they stand for what Y stood for with Z (Gillis and Kumar): around a mean, k
    directions need k + 1 corners.

    Examples
    --------
    >>> corners(np.array([[2.0, -1.0], [1.0, 3.0]]))
    array([[3., 0., 1.],
           [1., 3., 0.]])
    """
    H = np.pad(Y, ((0, 0), (0, 1)))
    return H - H.min(axis=1, keepdims=True)


def readout_basis(H: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """What codes are multiplied by to give the left singular vectors of ``H Z^T``, in decreasing order.

    They depend on what the codes stand for and not on the basis a solver landed on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> H, Z = rng.random((6, 3)), rng.normal(size=(4, 3))
    >>> E = (H @ readout_basis(H, Z))[:, :2]
    >>> U = np.linalg.svd(H @ Z.T)[0][:, :2]
    >>> np.allclose(E @ E.T, U @ U.T)
    True
    """
    H, Z = H.astype(np.float64), Z.astype(np.float64)
    w, Q = np.linalg.eigh(H.T @ H)
    keep = w > 1e-12 * max(w[-1], 0.0)
    w, Q = w[keep], Q[:, keep]
    T = Q * np.sqrt(w)
    s, R = np.linalg.eigh(T.T @ (Z.T @ Z) @ T)
    keep = s > 1e-10 * s.max(initial=0.0)
    return ((Q / np.sqrt(w)) @ R[:, keep])[:, ::-1]

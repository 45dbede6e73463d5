"""One set of non-negative codes for several views: ``min_{H >= 0} sum_v w_v ||F_v - H Z_v||^2``.

For fixed weights that is Semi-NMF of the views side by side, each times the root of its weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from . import updates
from .agreement import residual_weights
from .constraints import Free, NonNegative
from .init import STARTS
from .masked import Masked, piecewise
from .penalties import Smooth
from .problem import Chain, Problem
from .solve import Callback, solve
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
class Setting:
    """What a consensus is sought for.

    Attributes
    ----------
    views : Stacked
        Side by side, with any weights.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    k : int
        Number of codes.
    start : {"svd", "lp"}
        Where to begin.
    penalty : Smooth or None
        What else is asked of the codes.
    """

    views: Stacked
    observed: np.ndarray
    k: int
    start: str
    penalty: Smooth | None = None

    def begin(self, weights: np.ndarray, rng: np.random.RandomState) -> dict[str, np.ndarray]:
        """Codes and (transposed) weighted components to begin with."""
        H, Z = STARTS[self.start](self.views.weighted(weights), self.k, rng)
        return {name: np.array(F, self.views.dtype, order="C") for name, F in (("H", H), ("Z", Z))}

    def sweep(self, weights: np.ndarray, factors: Mapping[str, np.ndarray], **how):
        """Lower the objective for given weights."""
        data = self.views.weighted(weights)
        rules = {"H": updates.careful, "Z": updates.least_squares}
        problem = Problem(Chain(data), {"H": NonNegative(), "Z": Free()}, self.penalty)
        if not self.observed.all():
            problem = Masked(data, self.observed, penalty=self.penalty)
            rules = {name: piecewise(rule) for name, rule in rules.items()}
        return solve(problem, factors, rules, extrapolate=True, **how)

    def components(self, H: np.ndarray, views: Stacked | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The best (transposed) components of every view whatever its weight, and twice what is left of each."""
        views = (views or self.views).weighted(np.ones(self.observed.shape[1]))
        term = Masked(views, self.observed, penalty=self.penalty).term("Z", {"H": H, "Z": None})
        Z = piecewise(updates.least_squares)(np.zeros((views.shape[1], H.shape[1]), H.dtype), term)
        return Z, np.array([2 * piece.value(Z[rows]) for rows, piece in term.pieces])


def with_weights(
    setting: Setting, weights: np.ndarray, rng: np.random.RandomState, *, max_iter: int, tol: float, callback: Callback
) -> Consensus:
    """The consensus of views with given weights."""
    start = setting.begin(weights, rng)
    state = setting.sweep(weights, start, max_iter=max_iter, tol=tol, callback=callback)
    return Consensus(state.best["H"], weights, state.history, state.n_iter, state.converged)


def with_residual_weights(
    setting: Setting, gamma: float, rng: np.random.RandomState, *, max_iter: int, tol: float, callback: Callback
) -> Consensus:
    """Codes and weights by turns: ``sum_v a_v^gamma R_v``, R_v being what is left of a view (Zhao et al.).

    For gamma above 1 every turn lowers the objective.
    """
    n_views = setting.observed.shape[1]
    found = Consensus(np.empty(0), np.full(n_views, 1 / n_views))
    factors, stopped = setting.begin(found.weights**gamma, rng), False

    def tell(i: int, value: float, seconds: float) -> bool:
        nonlocal stopped
        stopped = bool(callback(found.n_iter + i, value, seconds))
        return stopped

    while found.n_iter < max_iter and not found.converged and not stopped:
        left = max_iter - found.n_iter
        state = setting.sweep(found.weights**gamma, factors, max_iter=min(_ROUND, left), tol=tol, callback=tell)
        found.H, found.n_iter = state.best["H"], found.n_iter + state.n_iter
        found.history += state.history
        Z, residuals = setting.components(found.H)
        before, found.weights = found.weights, residual_weights(residuals, gamma)
        found.converged = state.converged and bool(np.abs(found.weights - before).max() <= tol)
        roots = np.sqrt(found.weights**gamma).astype(Z.dtype)
        for root, s in zip(roots, setting.views.slices, strict=True):
            Z[s] *= root
        factors = {"H": found.H, "Z": Z}
    return found


def readout_basis(H: np.ndarray, Z: np.ndarray, n_directions: int) -> np.ndarray:
    """What codes are multiplied by to give the leading left singular vectors of ``H Z^T``.

    They depend on what the codes stand for and not on the basis a solver landed on.

    Parameters
    ----------
    H, Z : ndarray of shape (n_samples, k), (n_features, k)
        Codes and transposed components.
    n_directions : int
        How many to keep, at most.

    Returns
    -------
    W : ndarray of shape (k, n_directions or less)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> H, Z = rng.random((6, 3)), rng.normal(size=(4, 3))
    >>> E = H @ readout_basis(H, Z, 2)
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
    order = np.argsort(-s, kind="stable")[:n_directions]
    order = order[s[order] > 1e-10 * s.max(initial=0.0)]
    return (Q / np.sqrt(w)) @ R[:, order]


Route = Callable[..., Consensus]

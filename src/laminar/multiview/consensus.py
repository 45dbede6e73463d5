"""One set of codes for several views, ``min_H sum_v w_v ||F_v - H Z_v||^2``, for weights that are given or found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .._engine import updates
from .._engine.constraints import Free, NonNegative
from .._engine.data.derived import Stacked
from .._engine.data.svd import truncated_svd
from .._engine.penalties import Smooth
from .._engine.solve import Callback, State, solve
from .._engine.starts import STARTS
from .missing import Masked, piecewise
from .weights import residual_weights

_ROUND = 5  # sweeps between two looks at the weights


@dataclass
class Consensus:
    """Codes of all views and how they were reached.

    Attributes
    ----------
    H : ndarray of shape (n_samples, k)
        The codes.
    weights, powers : ndarray of shape (n_views,)
        Weights with sum one, and what the squared errors of a view are multiplied by.
    Z : ndarray of shape (n_features, k)
        Transposed components of all views.
    history, n_iter, converged
        Half the objective, sweep by sweep.
    """

    H: np.ndarray
    weights: np.ndarray
    powers: np.ndarray | None = None
    Z: np.ndarray | None = None
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
        rules = {
            name: piecewise(updates.for_constraint(updates.hals_or_exact, limit))
            for name, limit in problem.constraints.items()
        }
        return solve(problem, factors, rules, extrapolate=True, **how)

    def code(self, weights: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """The best non-negative codes of every sample by itself.

        Z holds the transposed components of every view, times the root of its weight. If codes may have any sign they
        are the corners of `corners`.
        """
        problem, factors = self._coded(weights, Z)
        H = factors["H"] * problem.data.dtype.type(problem.data.scale)
        return corners(H) if isinstance(self.codes, Free) else H

    def explained(self, weights: np.ndarray, Z: np.ndarray) -> float:
        """The share of the samples that the codes of `code` explain."""
        problem, factors = self._coded(weights, Z)
        whole = problem.data.sqnorm
        return 1 - 2 * problem.value(factors) / whole if whole else 1.0

    def _coded(self, weights: np.ndarray, Z: np.ndarray) -> tuple[Masked, dict[str, np.ndarray]]:
        """The problem of coding, in unit scale, and its solution."""
        problem = Masked(self.views.weighted(weights), self.observed, self.codes)
        Z = np.ascontiguousarray(Z[:, :-1]) if isinstance(self.codes, Free) else Z
        H = np.zeros((problem.data.shape[0], Z.shape[1]), problem.data.dtype)
        update = piecewise(updates.for_constraint(updates.exact, self.codes))
        return problem, {"H": update(H, problem.term("H", {"H": H, "Z": Z})), "Z": Z}

    def settle(self, found: Consensus) -> None:
        """Bring codes to the units of the views and to non-negative form, and add the components of all views."""
        Z, _ = self.components(found.H)
        weighted = Z * self.roots(found.powers, Z.dtype)
        norms = np.linalg.norm(weighted.astype(np.float64), axis=0).astype(Z.dtype)
        Z, weighted = (np.divide(F, norms, out=np.zeros_like(F), where=norms > 0) for F in (Z, weighted))
        signed = isinstance(self.codes, Free)
        if signed:
            Z, weighted = (np.hstack([F, -F.sum(axis=1, keepdims=True)]) for F in (Z, weighted))
        if self.penalty is None:
            found.H = self.code(found.powers, weighted)
        else:  # what was asked of the codes of the fit is in them alone
            H = found.H * norms * norms.dtype.type(self.views.scale)
            found.H = corners(H) if signed else H
        found.Z = Z

    def components(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best (transposed) components of every view, whatever its weight, and twice what each leaves."""
        views = self.views.weighted(np.ones(self.observed.shape[1]))
        term = Masked(views, self.observed, self.codes, self.penalty).term("Z", {"H": H, "Z": None})
        Z = piecewise(updates.least_squares)(np.zeros((views.shape[1], H.shape[1]), H.dtype), term)
        return Z, np.array([2 * piece.value(Z[rows]) for rows, piece in term.pieces])

    def spread(self, weights: np.ndarray) -> tuple[float, float]:
        """Squared norm of the weighted views, if all were known, and over how many features it spreads."""
        shares = np.maximum(self.observed.mean(axis=0), 1 / len(self.observed))
        energies = weights / shares * [part.sqnorm * part.scale**2 for part in self.views.parts]
        sizes = np.diff(self.views.edges)
        total, squares = float(energies.sum()), float((energies**2 / sizes).sum())
        return total, total**2 / squares if squares else 1.0

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
    return Consensus(state.best["H"], weights, weights, None, state.history, state.n_iter, state.converged)


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
    found = Consensus(np.empty(0), np.full(n_views, 1 / n_views), np.full(n_views, 1 / n_views) ** gamma)
    factors, stopped = task.start(found.powers, k, rng), False

    def tell(i: int, value: float, seconds: float) -> bool:
        nonlocal stopped
        stopped = bool(callback(found.n_iter + i, value, seconds))
        return stopped

    while found.n_iter < max_iter and not found.converged and not stopped:
        left = max_iter - found.n_iter
        state = task.sweep(found.powers, factors, max_iter=min(_ROUND, left), tol=tol, callback=tell)
        found.H, found.n_iter, found.history = (
            state.best["H"],
            found.n_iter + state.n_iter,
            found.history + state.history,
        )
        Z, residuals = task.components(found.H)
        before, found.weights = found.weights, residual_weights(residuals, gamma)
        found.powers = found.weights**gamma
        found.converged = state.converged and bool(np.abs(found.weights - before).max() <= tol)
        factors = {"H": found.H, "Z": Z * task.roots(found.powers, Z.dtype)}
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

"""One set of codes for several views, ``min_H sum_v w_v ||X_v - H Z_v||^2``, for given weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._engine.constraints import Constraint
from .._engine.data.derived import Stacked, isometric
from .._engine.data.matrix import Matrix
from .._engine.data.svd import truncated_svd
from .._engine.linalg.small import safe_divide
from .._engine.monitor import Monitor, Snapshot, Solution
from .._engine.objective import Objective
from .._engine.problem import Addend
from .._engine.solve import solve
from .._engine.starts import STARTS
from .._engine.updates import exact, hals_or_exact, least_squares
from .._utils import tall
from .missing import MissingFit, missing_views


@dataclass(frozen=True)
class SharedCodes:
    """Several views, some samples without some of them, and the codes they share.

    Attributes
    ----------
    views : Stacked
        Side by side; their weights are those of each call.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    constraint : Constraint
        Of the codes; signed for centred views.
    penalties : sequence of Addend
        On the codes.
    centre : ndarray of shape (k,) or None
        Codes to which `code` draws those of samples that lack views, in the units of the views; None means zero.
    """

    views: Stacked
    observed: np.ndarray
    constraint: Constraint
    penalties: Sequence[Addend] = ()
    centre: np.ndarray | None = None

    @cached_property
    def compact(self) -> Stacked:
        """The views in as few features as have their inner products: the same problem for codes and weights."""
        return Stacked([isometric(part) for part in self.views.parts], np.ones(len(self.views.parts)))

    def start(self, weights: np.ndarray, k: int, rng: np.random.RandomState) -> dict[str, np.ndarray]:
        """Return codes and (transposed) components to start from: the optimum, if nothing is missing or penalised."""
        data = self.views.weighted(weights)
        if self.constraint.signed:
            U, s, V = truncated_svd(data, k, rng)
            H, Z = tall.fill(_empty(data, k), lambda b: _padded(U[b] * s, k)), _padded(V, k)
        else:
            H, Z = STARTS["lp"](data, k, rng)
        return {"H": tall.copy(H, data.dtype), "Z": np.array(Z, data.dtype, order="C")}

    def solve(self, weights: np.ndarray, factors: Mapping[str, np.ndarray], monitor: Monitor) -> Solution:
        """Minimise the objective for given weights."""
        problem = missing_views(self.views.weighted(weights), self.observed, self.constraint, self.penalties)
        updates = {name: constraint.update(hals_or_exact) for name, constraint in problem.constraints.items()}
        return solve(problem, factors, updates, monitor=monitor, extrapolate=True)

    def code(self, weights: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the best non-negative codes of every sample alone.

        Z holds the transposed components of every view, times the root of its weight. Signed codes are shifted by
        `shift_to_nonnegative`.
        """
        data, H, _ = self._coded(weights, Z)
        H = H * data.dtype.type(data.scale)
        return shift_to_nonnegative(H) if self.constraint.signed else H

    def explained(self, weights: np.ndarray, Z: np.ndarray) -> float:
        """Return the share of the samples that the codes of `code` explain."""
        data, H, objective = self._coded(weights, Z)
        return 1 - 2 * objective.evaluate(H).value / data.sqnorm if data.sqnorm else 1.0

    def _coded(self, weights: np.ndarray, Z: np.ndarray) -> tuple[Stacked, np.ndarray, Objective]:
        """Return the weighted views, the best codes in unit scale, and their objective."""
        data, signed = self.views.weighted(weights), self.constraint.signed
        centre = None if self.centre is None else self.centre.astype(np.float64) / data.scale
        fit = MissingFit(data, self.observed, centre=centre)
        objective = Objective([fit.of_codes(np.ascontiguousarray(Z[:, :-1]) if signed else Z)])
        H = tall.zeros((data.shape[0], Z.shape[1] - signed), data.dtype, data.workers)
        return data, self.constraint.update(exact)(H, objective, self.constraint), objective

    def components(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the best (transposed) components of every view, whatever its weight, and twice its objective."""
        views = self.views.weighted(np.ones(self.observed.shape[1]))
        problem = missing_views(views, self.observed, self.constraint, self.penalties)
        objective, constraint = problem.objective("Z", {"H": H}), problem.constraints["Z"]
        Z = least_squares(np.zeros((views.shape[1], H.shape[1]), H.dtype), objective, constraint)
        return Z, 2 * self._by_view(objective, Z, views)

    def _by_view(self, objective: Objective, Z: np.ndarray, views: Stacked) -> np.ndarray:
        """Return the objective of each view."""
        majoriser = objective.majoriser(Z)
        values = []
        for G, s, part, root in zip(
            majoriser.gram.astype(np.float64), views.slices, views.parts, views.roots, strict=True
        ):
            z = Z[s].astype(np.float64)
            value = (
                np.vdot(z @ G, z) / 2 - np.vdot(majoriser.linear(s).astype(np.float64), z) + root**2 * part.sqnorm / 2
            )
            values.append(max(float(value), 0.0))
        return np.array(values)

    def spread(self, weights: np.ndarray) -> tuple[float, float]:
        """Return the squared norm of the weighted views, if all were known, and its effective number of features."""
        shares = np.maximum(self.observed.mean(axis=0), 1 / len(self.observed))
        energies = weights / shares * [part.sqnorm * part.scale**2 for part in self.views.parts]
        sizes = np.diff(self.views.edges)
        total, squares = float(energies.sum()), float((energies**2 / sizes).sum())
        return total, total**2 / squares if squares else 1.0

    def roots(self, weights: np.ndarray, dtype) -> np.ndarray:
        """Return the root of the weight of every feature's view, as a column."""
        return np.repeat(np.sqrt(weights), np.diff(self.views.edges)).astype(dtype)[:, None]


def reporting(monitor: Monitor, finish: Callable[[Solution], tuple]) -> Monitor:
    """Return the monitor of a loop whose callback gets what ``finish`` makes of the factors of an iteration."""
    callback = monitor.callback
    if callback is None:
        return monitor

    def report(iteration: int, value: float, snapshot: Snapshot) -> object:
        at = Solution(dict(snapshot()), [value], iteration, False, [iteration])
        return callback(iteration, value, lambda: {"fitted": finish(at)})

    return replace(monitor, callback=report)


def all_views(shared: SharedCodes, solution: Solution) -> Solution:
    """Return a solution with the components of all views, codes in the units of the views and non-negative."""
    H, powers, signed = solution.factors["H"], solution.factors["powers"], shared.constraint.signed
    Z, _ = shared.components(H)
    weighted = Z * shared.roots(powers, Z.dtype)
    norms = np.linalg.norm(weighted.astype(np.float64), axis=0).astype(Z.dtype)
    Z, weighted = safe_divide(Z, norms), safe_divide(weighted, norms)
    if signed:
        Z, weighted = (np.hstack([F, -F.sum(axis=1, keepdims=True)]) for F in (Z, weighted))
    if not shared.penalties:
        H = shared.code(powers, weighted)
    else:  # codes under a penalty are those of the fit alone
        H = H * norms * norms.dtype.type(shared.views.scale)
        H = shift_to_nonnegative(H) if signed else H
    return replace(solution, factors={**solution.factors, "H": H, "Z": Z})


def shift_to_nonnegative(Y: np.ndarray) -> np.ndarray:
    """Shift each row of ``[Y, 0]`` by its minimum: k signed codes become k + 1 non-negative ones.

    With the components ``[Z; -sum of Z]`` their product is that of Y and Z (Gillis and Kumar).

    Examples
    --------
    >>> shift_to_nonnegative(np.array([[2.0, -1.0], [1.0, 3.0]]))
    array([[3., 0., 1.],
           [1., 3., 0.]])
    """
    n, k = Y.shape

    def rows(b: slice) -> np.ndarray:
        H = _padded(Y[b], k + 1)
        return H - H.min(axis=1, keepdims=True)

    return tall.fill(tall.empty((n, k + 1), Y.dtype, tall.workers_of(Y)), rows)


def _empty(data: Matrix, k: int) -> np.ndarray:
    return tall.empty((data.shape[0], k), np.float64, data.workers)


def _padded(F: np.ndarray, k: int) -> np.ndarray:
    """Return F with columns of zeros up to k of them."""
    return np.pad(F, ((0, 0), (0, k - F.shape[1])))

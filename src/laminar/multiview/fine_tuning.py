"""Fine-tuning of several views: shared codes, the components of every view, and weights by the residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._base.coding import Layer
from .._engine.data.derived import Stacked
from .._engine.linalg.small import safe_divide
from .._engine.loops import recorded
from .._engine.monitor import Callback, Monitor, Solution
from .._utils import interrupts, tall
from ..graphs import GraphOperator
from .consensus import SharedCodes, all_views, reporting
from .layers import Hidden, Pretraining
from .smoothness import ViewGraphs
from .weights import residual_weights


@dataclass(frozen=True)
class FineTuning:
    """``1/2 sum_v w_v (R_v + floor E_v)``, ``w_v = a_v^gamma E / E_v``, over codes, components and weights a.

    R_v is the squared error of view v plus its part of the penalty, E_v the squared norm of the view and E the mean of
    these: eq. 3 of Zhao et al. with residuals relative to the views, and a floor. The floor is a constant for given
    weights; without it a view that k codes fit without error, as one of few features, would take all the weight.

    Attributes
    ----------
    shared : SharedCodes
        The views and what their codes share.
    graphs : ViewGraphs or None
        Over which codes are smooth.
    floor : float
        Part of a view that is left of any view.
    """

    shared: SharedCodes
    graphs: ViewGraphs | None = None
    floor: float = 0.2

    def penalised(self, weights: np.ndarray) -> SharedCodes:
        """Return the problem of the codes for given weights w_v."""
        return replace(self.shared, penalties=[self.graphs.addend(weights)] if self.graphs else [])

    def residuals(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the best (transposed) components of all views for given codes, and their R_v."""
        Z, residuals = self.penalised(np.ones(self.shared.observed.shape[1])).components(H)
        if self.graphs and not self.graphs.invariant:
            residuals = residuals + self.graphs.roughness(H).sum(axis=1)
        return Z, residuals

    def _start(self, H: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return codes and components of unit length: a penalty that is not invariant depends on their scale."""
        Z, _ = self.residuals(H)
        Z = Z * self.shared.roots(weights, Z.dtype)
        if self.graphs is None or self.graphs.invariant:
            return {"H": H, "Z": Z}
        norms = np.linalg.norm(Z.astype(np.float64), axis=0).astype(Z.dtype)
        return {"H": H * norms, "Z": safe_divide(Z, norms)}

    def fixed(self, H: np.ndarray, weights: np.ndarray, monitor: Monitor) -> Solution:
        """Minimise over codes and components for given weights w_v."""
        return self.penalised(weights).solve(weights, self._start(H, weights), monitor)

    def found(self, H: np.ndarray, gamma: float, monitor: Monitor, *, n_sweeps: int = 5) -> Solution:
        """Alternate over codes, components and, every ``n_sweeps`` sweeps, the weights, for gamma above 1.

        No step increases the objective.
        """
        energies = self._energies()
        level = float(energies.mean())
        units = safe_divide(np.full_like(energies, level), energies)
        weights = (energies > 0) / max(1, int(np.count_nonzero(energies)))
        factors = self._start(H, weights**gamma * units)
        with recorded(monitor, {"factors": factors, "weights": weights}) as loop:
            if loop.stored is not None:
                factors, weights = tall.placed_as(loop.stored["factors"], factors), loop.stored["weights"]
            while monitor.running:
                powers = weights**gamma * units
                constant = self.floor / 2 * float(powers @ energies)
                inner = Monitor(
                    min(n_sweeps, monitor.max_iter - monitor.n_iter),
                    monitor.tol,
                    _after(monitor, constant, weights, powers),
                )
                solution = self.penalised(powers).solve(powers, factors, inner)
                monitor.n_iter += inner.n_iter
                monitor.residual = inner.residual
                monitor.stopped = inner.stopped or interrupts.is_requested()
                monitor.iterations += [monitor.n_iter - inner.n_iter + i for i in solution.iterations]
                monitor.history += [value + constant for value in solution.history]
                Z, residuals = self.residuals(solution.factors["H"])
                before, relative = weights, np.where(energies > 0, units * residuals + self.floor * level, np.inf)
                weights = residual_weights(relative, gamma) if level else weights
                monitor.converged = solution.converged and bool(np.abs(weights - before).max() <= monitor.tol)
                factors = {"H": solution.factors["H"], "Z": Z * self.shared.roots(weights**gamma * units, Z.dtype)}
                loop.keep(partial(dict, factors=factors, weights=weights))
            loop.complete({"factors": factors, "weights": weights})
        return Solution.reached({"H": factors["H"], "weights": weights, "powers": weights**gamma * units}, monitor)

    def _energies(self) -> np.ndarray:
        """Return the squared norm of every view."""
        views = self.shared.views
        return np.array([part.sqnorm * (part.scale / views.scale) ** 2 for part in views.parts])


def _after(monitor: Monitor, constant: float, weights: np.ndarray, powers: np.ndarray) -> Callback | None:
    """Return the callback of an inner loop, which continues the count of the outer one, adds a constant to the
    objective and the weights to the factors.
    """
    done, callback = monitor.n_iter, monitor.callback
    if callback is None:
        return None
    return lambda i, value, snapshot: callback(
        done + i, value + constant, lambda: {**snapshot(), "weights": weights, "powers": powers}
    )


def run(
    whole: SharedCodes,
    sizes: Sequence[int],
    graphs: Sequence[GraphOperator] | None,
    rng: np.random.RandomState,
    *,
    alpha: float,
    invariant: bool,
    weights: np.ndarray | None,
    gamma: float,
    pretraining: Pretraining,
    monitor: Monitor,
) -> tuple[Solution, list[list[Layer]], list[list[np.ndarray]]]:
    """Pre-train the hidden layers of every view, then fit the shared codes and all components, with these weights.

    Returns
    -------
    solution : Solution
        Codes in the units of the views, components, and ``weights`` and ``powers`` of the views.
    layers, histories : lists
        The layers of each view, and the histories of their pre-training.
    """
    views, small = whole.views, whole.compact
    pairs = list(zip(views.parts, small.parts, strict=True))
    hidden = [Hidden.pretrained(part, few, sizes[:-1], rng, pretraining) for part, few in pairs]
    equal = np.full(len(pairs), 1 / len(pairs))
    tops = Stacked([of_view.top(few) for of_view, few in zip(hidden, small.parts, strict=True)], equal)
    H = replace(whole, views=tops).start(equal, sizes[-1], rng)["H"]

    def tuning(views: Stacked) -> FineTuning:
        smooth = None if graphs is None else ViewGraphs(graphs, views.slices, alpha, invariant)
        return FineTuning(replace(whole, views=views), smooth)

    def finish(solution: Solution) -> tuple[Solution, list[list[Layer]]]:
        factors = solution.factors if weights is None else {**solution.factors, "weights": weights, "powers": weights}
        found = all_views(tuning(views).penalised(factors["powers"]), replace(solution, factors=factors))
        H, Z = found.factors["H"], found.factors["Z"]
        bases = [np.ascontiguousarray(Z[s].T) for s in views.slices]
        return found, [of_view.under(H, basis) for of_view, basis in zip(hidden, bases, strict=True)]

    fit, monitor = tuning(small), reporting(monitor, finish)
    solution = fit.found(H, gamma, monitor) if weights is None else fit.fixed(H, weights, monitor)
    return *finish(solution), [of_view.histories for of_view in hidden]

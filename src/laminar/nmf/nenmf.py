"""NeNMF as published: alternating non-negative least squares, each by Nesterov's optimal gradient method."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._base.factorizer import Factorization
from .._engine.data.matrix import collect
from .._engine.loops import recorded
from .._engine.monitor import Monitor, Solution
from .._engine.objective import Objective
from .._engine.problem import Factors


def nenmf(problem: Factorization, factors: Factors, tol: float, monitor: Monitor, *, min_iter: int = 10) -> Solution:
    """Minimise the squared error by the loop of Guan et al., IEEE TSP 60, 2012 (docs/methods.md 4.6).

    The codes, then the components, are moved by `optimal_gradient` to a tolerance of ``max(tol, 1e-3)`` times the norm
    of the first projected gradient, a tenth of that from then on whenever the fewest steps were enough. The loop ends
    when the norm of the projected gradient of both factors is at most ``tol`` of the first.

    Parameters
    ----------
    problem : Factorization
        A squared error without penalties.
    factors : mapping from names to ndarray
        Where to start, in unit scale.
    tol : float
        Tolerance.
    monitor : Monitor
        History and callback; its own ``tol`` is 0.
    min_iter : int, default=10
        Fewest iterations.

    Returns
    -------
    Solution
        The last factors.
    """
    point = dict(factors)
    # The norm of both gradients depends on the units of X, in which the components are: that of H has them once more.
    units = {"H": problem.data.scale, "Z": 1.0}
    systems = {name: System.of(problem, name, point) for name in point}
    first = _gradient_norm(point, systems, units)
    inner = dict.fromkeys(point, max(tol, 1e-3) * first)
    with recorded(monitor):
        while monitor.running:
            for name, other in (("H", "Z"), ("Z", "H")):
                system = systems[name]
                point[name], n_steps = optimal_gradient(point[name], system.B, system.G, inner[name] / units[name])
                if n_steps <= 10:
                    inner[name] /= 10
                systems[other] = System.of(problem, other, point)
            at = systems["Z"].objective.evaluate(point["Z"])
            monitor.step(at.value, lambda: point, at.rounding_error)
            small = _gradient_norm(point, systems, units) <= tol * first
            monitor.converged = tol > 0 and small and monitor.n_iter >= min_iter
    return Solution.reached(point, monitor)


def optimal_gradient(
    F: np.ndarray, B: np.ndarray, G: np.ndarray, tol: float, *, min_steps: int = 10, max_steps: int = 1000
) -> tuple[np.ndarray, int]:
    """Lower ``1/2 <F G, F> - <B, F>`` over F >= 0 until the projected gradient at the extrapolated point is small.

    Without restarts: a step may ascend, unlike those of `laminar._engine.updates.accelerated_gradient`.

    Parameters
    ----------
    F : ndarray of shape (n, k)
        Where to start.
    B : ndarray of shape (n, k)
        The linear term.
    G : ndarray of shape (k, k)
        The Gram matrix.
    tol : float
        Norm of the projected gradient at which to stop.
    min_steps, max_steps : int
        Fewest and most steps.

    Returns
    -------
    F : ndarray of shape (n, k)
        The last point.
    n_steps : int
        Number of steps.
    """
    lipschitz = np.linalg.norm(G, 2)
    if lipschitz == 0:
        return F, 0
    Y, a = F, 1.0
    gradient, n_steps = Y @ G - B, 0
    for n_steps in range(1, max_steps + 1):
        old, F = F, np.maximum(Y - gradient / lipschitz, 0)
        a_old, a = a, (1 + float(np.sqrt(1 + 4 * a * a))) / 2
        Y = F + (a_old - 1) / a * (F - old)
        gradient = Y @ G - B
        if n_steps >= min_steps and _projected_norm(Y, gradient) <= tol:
            break
    return F, n_steps


class System(NamedTuple):
    """The least-squares problem of one factor, ``1/2 <F G, F> - <B, F>`` plus a constant."""

    objective: Objective
    B: np.ndarray
    G: np.ndarray

    @classmethod
    def of(cls, problem: Factorization, name: str, factors: Factors) -> System:
        """Return that of a factor, the other one fixed."""
        F, objective = factors[name], problem.objective(name, factors).cached()
        majoriser, (blocks,) = objective.majoriser(F), objective.groups
        return cls(objective, collect(majoriser.linear, blocks, F.shape, F.dtype), majoriser.gram)


def _gradient_norm(factors: Factors, systems: dict[str, System], units: dict[str, float]) -> float:
    norms = [units[name] * _projected_norm(F, F @ systems[name].G - systems[name].B) for name, F in factors.items()]
    return math.hypot(*norms)


def _projected_norm(F: np.ndarray, gradient: np.ndarray) -> float:
    """Return the norm of the gradient where F is positive or it points inside."""
    return float(np.linalg.norm(gradient[(F > 0) | (gradient < 0)].astype(np.float64)))

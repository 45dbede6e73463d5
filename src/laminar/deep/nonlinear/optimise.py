"""Training a stack: which solver, when to stop, and the two that use all samples at every step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

from ..._engine.monitor import Callback
from ..._utils import threads
from .gradients import Penalties, Reduced, as_data, as_penalties, from_unit, to_unit
from .stack import Stack, run
from .stochastic import adam

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass
class StackFit:
    """A trained stack.

    Attributes
    ----------
    stack : Stack
        The weights.
    H : ndarray of shape (n_samples, n_units)
        Codes of the top layer.
    history : ndarray
        The objective, iteration by iteration. Of "lbfgs" and "apg" with the small ridge on the first weights they
        work with (see `gradients.Reduced`), of "adam" as seen on the way through an epoch.
    n_iter : int
        Number of iterations, epochs for "adam".
    converged : bool
        Whether the solver stopped by itself.
    """

    stack: Stack
    H: np.ndarray
    history: np.ndarray
    n_iter: int
    converged: bool


def fit_stack(
    X,
    stack: Stack,
    H: np.ndarray,
    *,
    solver: str = "lbfgs",
    batch_size: int | None = None,
    penalties: Penalties = None,
    max_iter: int = 300,
    tol: float = 1e-5,
    random_state=None,
    callback: Callback | None = None,
    learning_rate: float = 1e-3,
) -> StackFit:
    """Lower ``1/2 ||X - H_1 Z_1||^2`` plus penalties over the top codes, which stay non-negative, and all weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.
    stack : Stack
        Weights to start from, as `pretrain` gives them. "lbfgs" and "apg" do not look at those of the first layer,
        which they always take to be the best for the rest.
    H : ndarray of shape (n_samples, n_units)
        Codes of the top layer to start from.
    solver : {"lbfgs", "apg", "adam"}, default="lbfgs"
        Quasi-Newton with bounds, accelerated projected gradient, or stochastic gradient. The first two never raise
        the objective.
    batch_size : int or None, default=None
        Samples at a step of "adam"; None is all of them.
    penalties : sequence of {None, ScaleFreePenalty} or None, default=None
        One entry a layer, from the input up, see `loss_and_gradients`.
    max_iter : int, default=300
        Largest number of iterations, or epochs.
    tol : float, default=1e-5
        Stop when iterations in a row (3, or 20 epochs of "adam") have each gained less than this part of the
        objective. 0 runs all of ``max_iter``.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the batches.
    callback : callable or None, default=None
        Called with (iteration, objective, seconds); stops by returning True.
    learning_rate : float, default=1e-3
        Step of "adam".

    Returns
    -------
    StackFit
        The trained stack, its codes and how they were reached.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.deep.nonlinear import fit_stack, pretrain
    >>> X = np.random.default_rng(0).uniform(size=(50, 8))
    >>> fit = fit_stack(X, *pretrain(X, (5, 3), "relu", random_state=0), max_iter=20, tol=0)
    >>> fit.H.shape, fit.n_iter, bool(fit.history[-1] < fit.history[0])
    ((50, 3), 20, True)
    """
    if solver not in ("lbfgs", "apg", "adam"):
        raise ValueError(f'solver must be "lbfgs", "apg" or "adam"; got {solver!r}.')
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, or None for all samples; got {batch_size}.")
    if batch_size is not None and solver != "adam":
        raise ValueError(f'batch_size={batch_size} needs solver="adam": "{solver}" takes all samples at once.')
    with threads.own_threads():
        data, penalties = as_data(X), as_penalties(penalties, stack)
        H = np.array(stack.check(H), dtype=data.dtype, order="C")
        if len(H) != data.shape[0] or stack.weights[0].shape[1] != data.shape[1]:
            given = (len(H), stack.weights[0].shape[1])
            raise ValueError(f"X has shape {data.shape}, but H and the first weights ask for {given}.")
        if (H < 0).any():
            raise ValueError(f"the codes to start from must be non-negative; the smallest entry is {H.min():.3g}.")
        monitor = Monitor(data.scale**2, max_iter, tol, 20 if solver == "adam" else 3, callback)
        inside = to_unit(stack, data)
        if solver == "adam":
            inside, H = adam(data, inside, H, penalties, monitor, batch_size, learning_rate, random_state)
        else:
            inside, H = _reduce(data, inside, H, penalties, monitor, {"lbfgs": lbfgs, "apg": apg}[solver])
    history = np.array(monitor.history) * monitor.unit
    return StackFit(from_unit(inside, data), H, history, len(history), monitor.converged)


@dataclass
class Monitor:
    """Keeps the history, tells the callback and says when to stop."""

    unit: float  # what an objective in unit scale is multiplied by
    max_iter: int
    tol: float
    patience: int
    callback: Callback | None = None
    history: list[float] = field(default_factory=list)
    converged: bool = False
    best: float = np.inf
    quiet: int = 0
    stopped: bool = False
    began: float = field(default_factory=time.perf_counter)

    @property
    def left(self) -> int:
        """How many iterations may still be made."""
        return 0 if self.stopped or self.converged else self.max_iter - len(self.history)

    def __call__(self, value: float) -> bool:
        """Record an iteration; returns True when it was the last."""
        self.history.append(value)
        self.quiet = 0 if value < self.best - self.tol * abs(self.best) or self.best == np.inf else self.quiet + 1
        self.best = min(self.best, value)
        self.converged = self.tol > 0 and self.quiet >= self.patience
        told = self.callback and self.callback(len(self.history), value * self.unit, time.perf_counter() - self.began)
        self.stopped = bool(told)
        return not self.left


def _reduce(data, stack: Stack, H: np.ndarray, penalties, monitor: Monitor, solver) -> tuple[Stack, np.ndarray]:
    """Solve for H_m and ``Z_2 .. Z_m`` as one vector, and for Z_1 exactly."""
    reduced = Reduced(data, stack.activation, penalties)
    start = [H, *stack.weights[1:]]
    # Blocks in units of their own size: curvatures are then alike, and units of H and Z, which are arbitrary, are gone.
    sizes = [float(np.sqrt(np.mean(np.square(F, dtype=np.float64)))) or 1.0 for F in start]
    edges = np.cumsum([0, *(F.size for F in start)])

    def split(x: np.ndarray) -> list[np.ndarray]:
        parts = zip(edges[:-1], edges[1:], start, sizes, strict=True)
        return [np.multiply(x[a:b], s, dtype=data.dtype, casting="same_kind").reshape(F.shape) for a, b, F, s in parts]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        H, *hidden = split(x)
        value, by_codes, by_weights = reduced(H, hidden)
        return value, np.concatenate(
            [G.ravel() * x.dtype.type(s) for G, s in zip([by_codes, *by_weights], sizes, strict=True)]
        )

    x = np.concatenate([F.ravel() / data.dtype.type(s) for F, s in zip(start, sizes, strict=True)])
    if monitor.left:
        x = solver(objective, x, H.size, monitor)
    H, *hidden = split(x)
    below = Stack([np.empty((len(stack.weights[0]), 0), H.dtype), *hidden], stack.activation)
    return Stack([reduced.first(run(below, H)[0][0]), *hidden], stack.activation), H


def lbfgs(objective: Objective, x: np.ndarray, n_bounded: int, monitor: Monitor) -> np.ndarray:
    """L-BFGS-B; the first ``n_bounded`` entries stay non-negative."""
    bounds = [(0, None)] * n_bounded + [(None, None)] * (len(x) - n_bounded)
    unit = objective(x)[0] or 1.0  # the first step of the method depends on the units of its objective

    def scaled(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(x)
        return value / unit, np.divide(gradient, unit, dtype=np.float64)

    def heard(intermediate_result) -> None:
        if monitor(intermediate_result.fun * unit):
            raise StopIteration

    x = x.astype(np.float64)
    while monitor.left:
        before = len(monitor.history)
        options = {"maxiter": monitor.left, "maxfun": 100 * monitor.left, "ftol": 0, "gtol": 0}
        x = minimize(scaled, x, jac=True, method="L-BFGS-B", bounds=bounds, callback=heard, options=options).x
        # A line search that failed has led the memory astray: once more without it, unless that was so from the start.
        if len(monitor.history) == before:
            monitor.converged = True
            break
    return x


def apg(objective: Objective, x: np.ndarray, n_bounded: int, monitor: Monitor) -> np.ndarray:
    """Accelerated projected gradient: steps by backtracking, and a fresh start where momentum led uphill."""
    value, gradient = objective(x)
    y, at, slope, a = x, value, gradient, 1.0
    steep = 10 * float(np.linalg.norm(gradient) / max(np.linalg.norm(x), 1e-30))  # to begin with, a tenth of its size
    while monitor.left:
        new, new_value, new_gradient, steep = _step(objective, y, at, slope, steep, n_bounded)
        if not new_value < value:
            if y is x:  # nothing left to gain, or too little to be seen
                monitor.converged = True
                break
            y, at, slope, a = x, value, gradient, 1.0
            continue
        a, before = (1 + np.sqrt(1 + 4 * a * a)) / 2, a
        leap = x.dtype.type((before - 1) / a)
        y, x, value, gradient = _project(new + leap * (new - x), n_bounded), new, new_value, new_gradient
        monitor(value)
        steep *= 0.9
        if leap:
            at, slope = objective(y)
        else:
            y, at, slope = x, value, gradient
    return x


def _step(objective: Objective, y: np.ndarray, at: float, slope: np.ndarray, steep: float, n_bounded: int):
    """One projected step from y, no longer than the curvature met there allows; and that curvature."""
    noise = 10 * float(np.finfo(y.dtype).eps) * abs(at)
    while True:
        new = _project(y - slope / y.dtype.type(max(steep, 1e-30)), n_bounded)
        move = new - y
        value, gradient = objective(new)
        bound = at + float(np.vdot(slope, move)) + steep / 2 * float(np.vdot(move, move))
        if value <= bound + noise or not move.any():
            return new, value, gradient, steep
        steep *= 2


def _project(x: np.ndarray, n_bounded: int) -> np.ndarray:
    """Clip the bounded entries at zero, in place."""
    np.maximum(x[:n_bounded], 0, out=x[:n_bounded])
    return x

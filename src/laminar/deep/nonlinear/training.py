"""Training of a stack: the solvers that use all samples at every iteration, and the choice of solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ..._engine.data.matrix import Matrix
from ..._engine.loops import recorded
from ..._engine.monitor import Callback, Monitor, Snapshot, Solution
from ..._utils import threads
from ..._utils.typing import Data, Seed
from .gradients import Penalties, Penalty, ReducedObjective, as_data, as_penalties, from_unit, to_unit
from .nesterov import nesterov
from .stack import Stack, run
from .stochastic import STEPS, stochastic_gradient

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
At = Callable[[np.ndarray], dict]  # the codes and weights of a vector


@dataclass(kw_only=True)
class StackFit(Solution):
    """Solution of a stack: codes of the top layer in ``factors["H"]``, and the weights.

    The history of "lbfgs" and "apg" includes the ridge on the first weights (see `gradients.ReducedObjective`), that of
    "adam" is summed over the batches of an epoch.

    Attributes
    ----------
    stack : Stack
        The weights.
    """

    stack: Stack

    @property
    def H(self) -> np.ndarray:
        """Codes of the top layer."""
        return self.factors["H"]


def fit_stack(
    X: Data | Matrix,
    stack: Stack,
    H: np.ndarray,
    *,
    solver: str = "lbfgs",
    batch_size: int | None = None,
    penalties: Penalties = None,
    max_iter: int = 300,
    tol: float = 1e-5,
    random_state: Seed = None,
    callback: Callback | None = None,
    learning_rate: float = 1e-3,
) -> StackFit:
    """Minimise ``1/2 ||X - H_1 Z_1||^2`` plus penalties over the top codes ``H_m >= 0`` and all weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.
    stack : Stack
        Start of the weights, as from `pretrain`. "lbfgs" and "apg" ignore those of the first layer, which they
        eliminate.
    H : ndarray of shape (n_samples, n_units)
        Start of the codes of the top layer.
    solver : {"lbfgs", "apg", "nesterov", "adam", "sgd"}, default="lbfgs"
        L-BFGS-B; accelerated projected gradient, of all variables or, "nesterov", of each factor in turn; or stochastic
        gradient, by Adam or plain. The first three never increase the objective.
    batch_size : int or None, default=None
        Samples at a step of "adam" and "sgd"; None is all of them.
    penalties : sequence of {None, ScaleFreePenalty, TracePenalty} or None, default=None
        One entry a layer, from the input up, see `loss_and_gradients`.
    max_iter : int, default=300
        Largest number of iterations, or epochs.
    tol : float, default=1e-5
        Stop when 3 iterations in a row (20 epochs of "adam" or "sgd") have each lowered the objective by less than this
        part of it. 0 runs all of ``max_iter``.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the batches.
    callback : callable or None, default=None
        Called with (iteration, objective, snapshot), where ``snapshot()["fit"]`` is the `StackFit` as of this
        iteration; stops by returning True.
    learning_rate : float, default=1e-3
        Step of "adam" and "sgd".

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
    if solver not in ("lbfgs", "apg", "nesterov", *STEPS):
        raise ValueError(f'solver must be "lbfgs", "apg", "nesterov", "adam" or "sgd"; got {solver!r}.')
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, or None for all samples; got {batch_size}.")
    if batch_size is not None and solver not in STEPS:
        raise ValueError(f'batch_size={batch_size} needs solver="adam" or "sgd": "{solver}" takes all samples at once.')
    with threads.own_threads():
        data, penalties = as_data(X), as_penalties(penalties, stack)
        H = np.array(stack.check(H), dtype=data.dtype, order="C")
        if len(H) != data.shape[0] or stack.weights[0].shape[1] != data.shape[1]:
            given = (len(H), stack.weights[0].shape[1])
            raise ValueError(f"X has shape {data.shape}, but H and the first weights need {given}.")
        if (H < 0).any():
            raise ValueError(f"the codes to start from must be non-negative; the smallest entry is {H.min():.3g}.")
        reporter = None if callback is None else _reporter(callback, data, stack)
        monitor = Monitor(max_iter, tol, reporter, n_small=20 if solver in STEPS else 3)
        inside = to_unit(stack, data)
        with recorded(monitor):
            if solver in STEPS:
                step = STEPS[solver](data, inside, H, learning_rate)
                inside, H = stochastic_gradient(data, inside, H, penalties, monitor, batch_size, step, random_state)
            elif solver == "nesterov":
                inside, H = nesterov(data, inside, H, penalties, monitor)
            else:
                inside, H = _fit_reduced(data, inside, H, penalties, monitor, {"lbfgs": lbfgs, "apg": apg}[solver])
    return _reached(inside, H, Solution.reached({}, monitor), data)


def _reached(stack: Stack, H: np.ndarray, solution: Solution, data: Matrix) -> StackFit:
    """Return weights and objectives in the units of X."""
    history = [value * data.unit(2) for value in solution.history]
    return StackFit(
        {"H": H}, history, solution.n_iter, solution.converged, solution.iterations, stack=from_unit(stack, data)
    )


def _reporter(callback: Callback, data: Matrix, stack: Stack) -> Callback:
    """Return a callback of the loop that calls one with objectives and a `StackFit` in the units of X."""

    def report(iteration: int, value: float, snapshot: Snapshot) -> object:
        def fit() -> StackFit:
            parts = snapshot()
            at = Solution({}, [value], iteration, False, [iteration])
            return _reached(Stack([Z.copy() for Z in parts["weights"]], stack.activation), parts["H"].copy(), at, data)

        return callback(iteration, value * data.unit(2), lambda: {"fit": fit()})

    return report


def _fit_reduced(
    data: Matrix,
    stack: Stack,
    H: np.ndarray,
    penalties: Sequence[Penalty | None],
    monitor: Monitor,
    solver: Callable[[Objective, np.ndarray, int, Monitor, At], np.ndarray],
) -> tuple[Stack, np.ndarray]:
    """Minimise over H_m and ``Z_2 .. Z_m`` as one vector, and over Z_1 exactly."""
    reduced = ReducedObjective(data, stack.activation, penalties)
    start = [H, *stack.weights[1:]]
    # Each block is divided by its root mean square: curvatures are similar, and the arbitrary scales of H and Z gone.
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

    def at(x: np.ndarray) -> dict:
        H, *hidden = split(x)
        below = Stack([np.empty((len(stack.weights[0]), 0), H.dtype), *hidden], stack.activation)
        return {"H": H, "weights": [reduced.first_weights(run(below, H)[0][0]), *hidden]}

    x = np.concatenate([F.ravel() / data.dtype.type(s) for F, s in zip(start, sizes, strict=True)])
    if monitor.running:
        x = solver(objective, x, H.size, monitor, at)
    found = at(x)
    return Stack(found["weights"], stack.activation), found["H"]


def lbfgs(objective: Objective, x: np.ndarray, n_bounded: int, monitor: Monitor, at: At) -> np.ndarray:
    """Minimise by L-BFGS-B; the first ``n_bounded`` entries stay non-negative."""
    bounds = [(0, None)] * n_bounded + [(None, None)] * (len(x) - n_bounded)
    unit = objective(x)[0] or 1.0  # the first step of the method depends on the units of its objective

    def scaled(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(x)
        return value / unit, np.divide(gradient, unit, dtype=np.float64)

    def record(intermediate_result: OptimizeResult) -> None:
        monitor.step(intermediate_result.fun * unit, lambda: at(intermediate_result.x))
        if not monitor.running:
            raise StopIteration

    x = x.astype(np.float64)
    while monitor.running:
        before, left = monitor.n_iter, monitor.max_iter - monitor.n_iter
        options = {"maxiter": left, "maxfun": 100 * left, "ftol": 0, "gtol": 0}
        x = minimize(scaled, x, jac=True, method="L-BFGS-B", bounds=bounds, callback=record, options=options).x
        # After a failed line search it restarts without memory; where that fails at once, x is stationary by rounding.
        if monitor.n_iter == before:
            monitor.converged = True
            break
    return x


def apg(objective: Objective, x: np.ndarray, n_bounded: int, monitor: Monitor, at: At) -> np.ndarray:
    """Minimise by accelerated projected gradient: steps by backtracking, restarts where momentum ascends."""
    value, gradient = objective(x)
    y, value_at_y, slope, a = x, value, gradient, 1.0
    lipschitz = 10 * float(
        np.linalg.norm(gradient) / max(float(np.linalg.norm(x)), 1e-30)
    )  # a first step of a tenth of x
    while monitor.running:
        new, new_value, new_gradient, lipschitz = _step(objective, y, value_at_y, slope, lipschitz, n_bounded)
        if not new_value < value:
            if y is x:  # no decrease, or one below rounding
                monitor.converged = True
                break
            y, value_at_y, slope, a = x, value, gradient, 1.0
            continue
        a, before = (1 + np.sqrt(1 + 4 * a * a)) / 2, a
        beta = x.dtype.type((before - 1) / a)
        y, x, value, gradient = _project(new + beta * (new - x), n_bounded), new, new_value, new_gradient
        monitor.step(value, partial(at, x))
        lipschitz *= 0.9
        if beta:
            value_at_y, slope = objective(y)
        else:
            y, value_at_y, slope = x, value, gradient
    return x


def _step(objective: Objective, y: np.ndarray, at: float, slope: np.ndarray, lipschitz: float, n_bounded: int):
    """One projected step from y by backtracking; returns the point, its value and gradient, and the curvature used."""
    rounding = 10 * float(np.finfo(y.dtype).eps) * abs(at)
    while True:
        new = _project(y - slope / y.dtype.type(max(lipschitz, 1e-30)), n_bounded)
        move = new - y
        value, gradient = objective(new)
        bound = at + float(np.vdot(slope, move)) + lipschitz / 2 * float(np.vdot(move, move))
        if value <= bound + rounding or not move.any():
            return new, value, gradient, lipschitz
        lipschitz *= 2


def _project(x: np.ndarray, n_bounded: int) -> np.ndarray:
    """Clip the bounded entries at zero, in place."""
    np.maximum(x[:n_bounded], 0, out=x[:n_bounded])
    return x

"""The loop that solves every `Problem`: sweeps over the factors, with extrapolation between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._utils import tall, threads
from .._utils.runs import Loop, Tree
from .constraints import Constraint
from .linalg.blocked import column_dots
from .linalg.small import safe_divide
from .loops import recorded
from .monitor import Monitor, Solution
from .objective import Evaluation
from .problem import Factors, Solvable
from .updates import Update


@dataclass
class Extrapolation:
    """Momentum between sweeps, ``F + beta (F - F_previous)``, after Ang and Gillis (Neural Computation 31, 2019).

    An accepted sweep lets beta grow, up to a bound that grows slowly itself. After a sweep that increased the objective
    the loop restarts from the last accepted factors; the bound then is what beta was, and beta is halved.

    The scheme and the first beta are the paper's (arXiv:1805.06604). Growth 1.05, growth of the bound 1.01 and the
    divisor 2 are ours; the authors' code has 1.01, 1.005 and 1.5. Over whole fits these made no consistent difference,
    extrapolation itself saves 40 % of the time (docs/benchmarks.md).
    """

    beta: float = 0.5
    bound: float = 1.0
    min_beta: float = 1e-4  # below it a sweep is plain descent: if it does not descend, rounding is reached

    def grow(self) -> None:
        """After an accepted sweep."""
        self.beta = min(self.bound, 1.05 * self.beta)
        self.bound = min(1.0, 1.01 * self.bound)

    def shrink(self) -> None:
        """After a restart."""
        self.bound, self.beta = self.beta, self.beta / 2


@dataclass
class State:
    """Everything the loop needs between two sweeps: stored, it is a checkpoint."""

    point: dict[str, np.ndarray]  # where the next sweep starts: extrapolated
    accepted: dict[str, np.ndarray]  # the factors that the last entry of the history belongs to
    monitor: Monitor
    extrapolation: Extrapolation | None = None
    evaluate_every: int = 1
    updated: dict[str, np.ndarray] = field(default_factory=dict)  # results of the last updates, not extrapolated

    def stored(self) -> Tree:
        """Return what a checkpoint holds beside the monitor; arrays that are one object stay one in `restore`."""
        momentum = None if self.extrapolation is None else [self.extrapolation.beta, self.extrapolation.bound]
        factors = {"point": self.point, "accepted": self.accepted, "updated": self.updated}
        return {**{name: dict(F) for name, F in factors.items()}, "momentum": momentum}

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Set what `stored` returned, where the factors were; of a complete loop the accepted factors are all."""
        start = self.point
        self.accepted = tall.placed_as(stored["accepted"], start)
        self.point = tall.placed_as(stored.get("point", dict(self.accepted)), start)
        self.updated = tall.placed_as(stored.get("updated", {}), start)
        if self.extrapolation is not None and stored.get("momentum"):
            self.extrapolation.beta, self.extrapolation.bound = stored["momentum"]


def solve(
    problem: Solvable,
    factors: Factors,
    updates: Mapping[str, Update],
    *,
    monitor: Monitor | None = None,
    extrapolate: bool = False,
    evaluate_every: int = 1,
) -> Solution:
    """Sweep over the factors until the monitor stops.

    Parameters
    ----------
    problem : Solvable
        What to minimise, as a `Problem`: ``constraints`` and ``objective(name, factors)``.
    factors : mapping from names to ndarray
        Where to start.
    updates : mapping from names to Update
        The update of each factor.
    monitor : Monitor or None
        History, stopping rule and callback; None has the defaults.
    extrapolate : bool, default=False
        Whether to accelerate; published rules are not accelerated.
    evaluate_every : int, default=1
        Sweeps from one evaluation of the objective to the next.

    Returns
    -------
    Solution
        The factors with the lowest objective, and its history.
    """
    momentum = Extrapolation() if extrapolate else None
    state = State(dict(factors), dict(factors), monitor or Monitor(), momentum, evaluate_every)
    del factors  # frees a tall start after the first sweep
    with threads.own_threads(), tall.recycling(), recorded(state.monitor, state.point) as loop:
        if loop.stored is not None:
            state.restore(loop.stored)
        while state.monitor.running:
            sweep(problem, updates, state, loop)
        loop.complete({"accepted": state.accepted})
    return Solution.reached(state.accepted, state.monitor)


def sweep(problem: Solvable, updates: Mapping[str, Update], state: State, loop: Loop | None = None) -> None:
    """Update every factor once, evaluate, and accept the result or restart; offer the state to the record."""
    monitor = state.monitor
    monitor.n_iter += 1
    evaluate = monitor.n_iter in (1, monitor.max_iter) or monitor.n_iter % state.evaluate_every == 0
    # Known when the fit stops, whatever stops it; before, a residual would be computed in vain.
    near_end = evaluate and (monitor.small_decreases > 0 or monitor.n_iter == monitor.max_iter)
    residual, trial, last = 0.0 if near_end else None, dict(state.point), list(problem.constraints)[-1]
    for name, constraint in problem.constraints.items():
        objective, F = problem.objective(name, state.point), state.point[name]
        if name == last and len(problem.constraints) > 1:
            objective = objective.cached()  # B is needed again for the value
        if residual is not None:
            residual = max(residual, objective.residual(F, constraint))
        new = updates[name](F, objective, constraint)
        state.point[name] = _extrapolate(state, name, new, constraint)
        trial[name] = new if name == last else state.point[name]
    if evaluate:
        _accept_or_restart(state, trial, objective.evaluate(trial[last]), residual)
    monitor.report(lambda: state.accepted if evaluate else trial)
    if loop is not None:
        loop.keep(state.stored)
    if monitor.stopped and not evaluate:  # or the sweeps since the last evaluation would be lost
        _accept_or_restart(state, trial, objective.evaluate(trial[last]), residual)


def _accept_or_restart(state: State, trial: dict[str, np.ndarray], at: Evaluation, residual: float | None) -> None:
    """Accept a sweep that does not increase the objective, or restart from the last accepted factors."""
    momentum, monitor = state.extrapolation, state.monitor
    if momentum is not None and monitor.history:
        # Compared with the minimum, since against the last value rounding errors add up; "not <=" also rejects NaN.
        if not at.value <= min(monitor.history) + at.rounding_error:
            state.point, state.updated = dict(state.accepted), {}
            momentum.shrink()
            if monitor.tol > 0 and momentum.beta < momentum.min_beta and np.isfinite(monitor.history[-1]):
                # A sweep with almost no extrapolation is monotone: what increased is rounding.
                monitor.exhausted = _is_lost(min(monitor.history), at)
                monitor.converged = not monitor.exhausted
            return
        if monitor.n_iter > state.evaluate_every:  # before, there was no extrapolation to judge
            momentum.grow()
    state.accepted = trial
    monitor.record(at.value, at.rounding_error, residual)


def _is_lost(best: float, at: Evaluation, share: float = 0.01, zero: float = 1e3) -> bool:
    """Whether rounding within one sweep changes the objective by more than a share of it: then it is no minimum.

    So it is in single precision where components nearly depend on each other. An objective of fewer than ``zero``
    rounding errors is zero.
    """
    return best > zero * at.rounding_error and not at.value - best <= share * best


def _extrapolate(state: State, name: str, new: np.ndarray, constraint: Constraint) -> np.ndarray:
    """``new + beta (new - t old)``, column by column with ``t = <new, old> / <old, old>``.

    Only the direction of a column is extrapolated, not its length: the other factor would answer a longer column with
    a shorter one, and for beta above 1/2 the two diverge in turns, at no change of the objective.
    """
    old, state.updated[name] = state.updated.get(name), new
    if state.extrapolation is None or old is None:
        return new
    length = column_dots(old, old)
    t = safe_divide(column_dots(new, old), length)
    # The old result is overwritten, unless it is one of the accepted factors: no further copy of a tall factor.
    out = tall.empty_like(new) if old is state.accepted[name] else old
    beta = new.dtype.type(state.extrapolation.beta)

    def work(b: slice) -> None:
        move = np.multiply(old[b], -t, out=out[b])
        move += new[b]
        move *= beta
        constraint.limit(move, new[b])
        move += new[b]

    threads.each(work, tall.cut(new, 4096))
    return constraint.normalise(out)

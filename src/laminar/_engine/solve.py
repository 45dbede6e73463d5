"""The one loop that solves every `Problem`: order, extrapolation, stopping, history, callback."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._utils import threads
from .problem import Problem
from .updates import Update

Callback = Callable[[int, float, float], object]
_NO_LEAP = 1e-4


@dataclass
class Momentum:
    """How far to leap along the last step (Ang and Gillis): grows while it helps, shrinks when it does not."""

    beta: float
    ceiling: float = 1.0

    def grow(self) -> None:
        """After a sweep that lowered the objective."""
        self.beta = min(self.ceiling, 1.05 * self.beta)
        self.ceiling = min(1.0, 1.01 * self.ceiling)

    def shrink(self) -> None:
        """After one that did not."""
        self.ceiling = self.beta
        self.beta /= 2


@dataclass
class State:
    """Everything the loop knows between two sweeps."""

    factors: dict[str, np.ndarray]  # where the next sweep starts
    plain: dict[str, np.ndarray]  # the last results of the updates, before any leap
    best: dict[str, np.ndarray]  # the pair the last entry of the history was computed on
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    momentum: Momentum | None = None
    every: int = 1  # sweeps from one look at the objective to the next
    quiet: bool = False  # the last sweep hardly lowered the objective
    converged: bool = False


def solve(
    problem: Problem,
    factors: Mapping[str, np.ndarray],
    updates: Mapping[str, Update],
    *,
    max_iter: int = 500,
    tol: float = 1e-5,
    extrapolate: bool = False,
    evaluate_every: int = 1,
    callback: Callback | None = None,
) -> State:
    """Cycle over the factors until neither the objective nor the factors have anything left to gain.

    Converged means: a sweep lowered the objective by less than ``tol`` of itself, and the KKT residual (`terms`) is
    below the square root of ``tol``. Both are free of scale. With ``extrapolate`` steps are prolonged.
    ``callback(iteration, objective, seconds)`` is called after every sweep, with the last objective computed, and may
    return True to stop.
    """
    began = time.perf_counter()
    momentum = Momentum(0.5) if extrapolate else None
    state = State(dict(factors), {}, dict(factors), momentum=momentum, every=evaluate_every)
    del factors  # and with them the start, once it is left
    with threads.own_threads():
        while state.n_iter < max_iter and not state.converged:
            state.n_iter += 1
            evaluate = state.n_iter == 1 or state.n_iter % evaluate_every == 0 or state.n_iter == max_iter
            look = _sweep(problem, updates, state, evaluate)
            if evaluate:
                _weigh(state, look, tol)
            if callback is not None and callback(state.n_iter, state.history[-1], time.perf_counter() - began):
                if not evaluate:  # or the sweeps since the last look would be lost
                    _weigh(state, look._replace(value=problem.value(look.factors)), tol)
                break
    return state


class _Look(NamedTuple):
    """What a sweep that was evaluated has shown."""

    value: float
    noise: float  # differences of values that are rounding
    residual: float  # KKT, before the sweep; 0 if nobody asked
    factors: dict[str, np.ndarray]  # the pair the value belongs to


def _sweep(problem: Problem, updates: Mapping[str, Update], state: State, evaluate: bool) -> _Look:
    """Update every factor once."""
    value, noise, residual, trial = np.nan, 0.0, 0.0, dict(state.factors)
    check = state.quiet and evaluate
    for name in problem.order:
        term, constraint = problem.term(name, state.factors), problem.constraints[name]
        if check:
            residual = max(residual, term.residual(state.factors[name], constraint))
        new = updates[name](state.factors[name], term, constraint)
        last = name == problem.order[-1]
        if last and evaluate:
            value = term.value(new)
            noise = term.noise(value)
        state.factors[name] = _leap(state, name, new, constraint)
        trial[name] = new if last else state.factors[name]
    return _Look(value, noise, residual, trial)


def _leap(state: State, name: str, new: np.ndarray, constraint) -> np.ndarray:
    """Go on a little in the direction of the last step; remember where the update itself had ended."""
    old, state.plain[name] = state.plain.get(name), new
    if state.momentum is None or old is None:
        return new
    # The old result is overwritten unless it is part of the best pair: no third copy of a tall factor.
    out = np.empty_like(old) if old is state.best[name] else old
    beta, blocks = old.dtype.type(state.momentum.beta), threads.blocks(len(new), 4096)
    # A leap must not change the length of a component: the other factor would answer in kind, and for beta above 1/2
    # the two outbid each other until they overflow, at no cost in the objective.
    along = sum(threads.each(lambda b: np.einsum("ij,ij->j", new[b], old[b]), blocks))
    length = sum(threads.each(lambda b: np.einsum("ij,ij->j", old[b], old[b]), blocks))
    ratio = np.divide(along, length, out=np.zeros_like(length), where=length > 0)

    def work(b: slice) -> None:
        step = np.multiply(old[b], -ratio, out=out[b])
        step += new[b]
        step *= beta
        constraint.restrain(step, new[b])
        step += new[b]

    threads.each(work, blocks)
    return constraint.settle(out)


def _weigh(state: State, look: _Look, tol: float) -> None:
    """Keep a sweep that did not raise the objective and see whether to stop; else go back and leap less."""
    if state.momentum is not None and state.history:
        # Measured from the lowest: from the last, noise would climb a step every sweep. A leap to NaN counts as well.
        if not look.value <= min(state.history) + look.noise:
            state.factors, state.plain = dict(state.best), {}
            state.momentum.shrink()
            # Steps that hardly leap cannot go up: what is left is rounding.
            state.converged = tol > 0 and state.momentum.beta < _NO_LEAP and np.isfinite(state.history[-1])
            return
        if state.n_iter > state.every:  # before, there was hardly a leap to judge by
            state.momentum.grow()
    state.best = look.factors
    _test(state, look, tol)


def _test(state: State, look: _Look, tol: float) -> None:
    """Record the objective and decide whether to stop: two quiet sweeps in a row, and at rest between them."""
    before = state.history[-1] if state.history else np.inf
    state.history.append(look.value)
    quiet = before - look.value <= max(tol * abs(look.value), look.noise)  # a penalty may reward: below zero
    state.converged = tol > 0 and quiet and state.quiet and look.residual <= np.sqrt(tol)
    state.quiet = quiet

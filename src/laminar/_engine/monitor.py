"""The history, the stopping rule and the callback of every iteration; and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._utils import interrupts

Snapshot = Callable[[], Mapping[str, Any]]
"""Returns the factors of an iteration, valid until the next one begins."""

Callback = Callable[[int, float, Snapshot], object]
"""``(iteration, objective, snapshot)``, called after each iteration; returning True stops."""


COUNTERS = ("history", "iterations", "n_iter", "converged", "stopped", "exhausted", "small_decreases", "residual")
"""What changes in a monitor from iteration to iteration."""


@dataclass
class Monitor:
    """Records the objective and decides when to stop, for sweeps, batches, L-BFGS, rotations and published rules.

    Converged means: ``n_small`` iterations in a row decreased the objective by less than ``tol`` of it (or of
    ``floor``, where the objective may go to zero), and the KKT residual was at most ``sqrt(tol)`` where one is given.
    Neither depends on the scale of X.
    """

    max_iter: int = 500
    tol: float = 1e-5
    callback: Callback | None = None
    n_small: int = 2
    floor: float = 0.0
    history: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)  # of the entries of the history
    n_iter: int = 0
    converged: bool = False
    stopped: bool = False  # by the callback, or by Ctrl-C
    exhausted: bool = False  # by rounding, far above which the objective still is
    small_decreases: int = 0  # in a row, up to the last iteration
    residual: float | None = None  # the last one given

    @property
    def running(self) -> bool:
        """Whether to go on."""
        return self.n_iter < self.max_iter and not (self.converged or self.stopped or self.exhausted)

    def record(self, value: float, rounding_error: float = 0.0, residual: float | None = None) -> None:
        """Append the objective after an accepted iteration, and decide whether to stop."""
        if residual is not None:
            self.residual = residual if np.isfinite(residual) else None
        decrease = self.history[-1] - value if self.history else np.inf
        self.history.append(value)
        self.iterations.append(self.n_iter)
        # abs: with a penalty that rewards, the objective may be negative.
        small = decrease <= max(self.tol * max(abs(value), self.floor), rounding_error)
        self.small_decreases = self.small_decreases + 1 if small else 0
        enough = self.small_decreases >= self.n_small
        self.converged = self.tol > 0 and enough and (residual is None or residual <= np.sqrt(self.tol))

    def report(self, snapshot: Snapshot = dict) -> None:
        """Call the callback, which may stop the iteration, as Ctrl-C does."""
        if self.callback is not None:
            self.stopped = bool(self.callback(self.n_iter, self.history[-1], snapshot))
        self.stopped = self.stopped or interrupts.is_requested()

    def counters(self) -> dict[str, Any]:
        """Return history and counts; `restore` sets them."""
        return {name: getattr(self, name) for name in COUNTERS}

    def restore(self, counters: Mapping[str, Any]) -> None:
        """Set history and counts."""
        for name in COUNTERS:
            setattr(self, name, counters[name])

    def step(self, value: float, snapshot: Snapshot = dict, rounding_error: float = 0.0) -> None:
        """Count, record and report one iteration that is always accepted."""
        self.n_iter += 1
        self.record(value, rounding_error)
        self.report(snapshot)


@dataclass
class Solution:
    """Factors, and how they were reached: the result of every way of fitting.

    Attributes
    ----------
    factors : dict from names to ndarray
        In unit scale.
    history : list of float
        The objective after each evaluated iteration that was accepted; the last entry is that of ``factors``.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the iteration stopped by itself.
    iterations : list of int
        The iteration of each entry of the history.
    residual : float or None
        KKT residual, from the last sweep that computed it; None where none did.
    """

    factors: dict[str, np.ndarray]
    history: list[float]
    n_iter: int
    converged: bool
    iterations: list[int] = field(default_factory=list)
    residual: float | None = None

    @classmethod
    def reached(cls, factors: dict[str, np.ndarray], monitor: Monitor) -> Solution:
        """Return the factors with the record of a monitor."""
        return cls(factors, monitor.history, monitor.n_iter, monitor.converged, monitor.iterations, monitor.residual)

"""The run that fits are recorded in, if any: where `laminar.checkpoint` meets the fits and loops inside its block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from sklearn.base import BaseEstimator

Tree = dict[str, Any]
"""The state of a loop: arrays, numbers, and dicts of these."""


class Loop:
    """The record of one loop; this one keeps nothing.

    Attributes
    ----------
    stored : dict or None
        The state to go on from; None at the start.
    """

    stored: Tree | None = None

    def keep(self, state: Callable[[], Tree]) -> None:
        """Offer the state after an iteration; it is called where a checkpoint is due."""

    def complete(self, state: Tree) -> None:
        """Keep the result of the loop."""


class Run(Protocol):
    """What records fits and their loops, in order."""

    def begin_fit(self, estimator: BaseEstimator, X: Any, y: Any) -> None:
        """Record a fit, or refuse it where another one is stored; its random numbers are those of the stored one."""

    def begin_loop(self, monitor: Any, start: Mapping[str, Any]) -> Loop:
        """Return the record of the next loop; a stored record is written to the monitor."""

    def write_if_due(self) -> None:
        """Write the loops that are complete, where no loop is recorded now."""

    def cure(self) -> str:
        """Return how to go on after an interrupt."""


_run: ContextVar[Run | None] = ContextVar("laminar_run", default=None)


def current() -> Run | None:
    """Return the run of this block."""
    return _run.get()


@contextmanager
def recording(run: Run | None) -> Iterator[None]:
    """Record the fits of the block in a run, or, with None, in none: what a callback computes is no part of a fit."""
    token = _run.set(run)
    try:
        yield
    finally:
        _run.reset(token)

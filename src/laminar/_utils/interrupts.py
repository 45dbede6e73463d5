"""Ctrl-C in a fit: the first one ends it after the iteration that runs, the second one at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning


class InterruptedFitWarning(ConvergenceWarning):
    """A fit was interrupted: the estimator is fitted as of the last iteration, and ``converged_`` is False.

    Examples
    --------
    >>> import signal
    >>> import warnings
    >>> import numpy as np
    >>> from laminar import NMF
    >>> from laminar.callbacks import InterruptedFitWarning
    >>> X = np.random.default_rng(0).random((20, 6))
    >>> stop = lambda state: signal.raise_signal(signal.SIGINT) if state.iteration == 3 else None
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     model = NMF(2, tol=0, callback=stop).fit(X)
    >>> [warning.category is InterruptedFitWarning for warning in found], model.n_iter_, model.converged_
    ([True], 3, False)
    """


@dataclass
class Interrupt:
    """Whether Ctrl-C was pressed in this fit."""

    is_requested: bool = False


_fit: ContextVar[Interrupt | None] = ContextVar("laminar_interrupt", default=None)
_depth: ContextVar[int] = ContextVar("laminar_loop_depth", default=0)  # loops inside loops


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Let Ctrl-C stop the loops of the block after an iteration; outside of loops it raises KeyboardInterrupt.

    Signals arrive in the main thread. A handler that is not Python's own belongs to the program, and stays.
    """
    outer = _fit.get()
    if outer is not None:  # a fit inside a fit
        yield outer
        return
    found = Interrupt()
    token = _fit.set(found)
    try:
        if _handles_interrupts():
            with _handling(found):
                yield found
        else:
            yield found
    finally:
        _fit.reset(token)


def _handles_interrupts() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextmanager
def _handling(found: Interrupt) -> Iterator[None]:
    def handle(number, frame) -> None:
        if found.is_requested or not in_loop():
            signal.default_int_handler(number, frame)
        found.is_requested = True

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def iterating() -> Iterator[None]:
    """Mark the block as a loop; one inside another is a part of its iterations."""
    token = _depth.set(_depth.get() + 1)
    try:
        yield
    finally:
        _depth.reset(token)


def in_loop() -> bool:
    """Return whether a loop runs here."""
    return _depth.get() > 0


def is_requested() -> bool:
    """Return whether the loop that runs is to stop; one inside another completes its iterations."""
    found = _fit.get()
    return found is not None and found.is_requested and _depth.get() <= 1

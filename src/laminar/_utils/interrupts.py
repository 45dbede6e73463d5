"""Ctrl-C in a fit: the first one ends it after the iteration that runs, the second one at once.

The estimator is then fitted as of that iteration. In an interactive session that is a warning and the session goes on;
a program gets a KeyboardInterrupt after the fitted attributes are set, so that it ends as ever.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning


class InterruptedFitWarning(ConvergenceWarning):
    """A fit was interrupted: the estimator is fitted as of the last iteration, and ``converged_`` is False.

    It is given in interactive sessions. In a program the same text is that of a KeyboardInterrupt.

    Examples
    --------
    >>> import signal
    >>> import numpy as np
    >>> from laminar import NMF
    >>> X = np.random.default_rng(0).random((20, 6))
    >>> ctrl_c = lambda state: signal.raise_signal(signal.SIGINT) if state.iteration == 3 else None
    >>> model = NMF(2, tol=0, callback=ctrl_c)
    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
    >>> try:
    ...     _ = model.fit(X)
    ... except KeyboardInterrupt:
    ...     model.n_iter_, model.converged_
    (3, False)
    >>> _ = signal.signal(signal.SIGINT, before)
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

    What is yielded records it, for the outermost of nested fits. Signals arrive in the main thread. A handler that is
    not Python's own belongs to the program, and stays.
    """
    if _fit.get() is not None:  # a fit inside a fit
        yield Interrupt()
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


def end_interrupted(text: str, stacklevel: int) -> None:
    """Warn in an interactive session, and elsewhere raise KeyboardInterrupt."""
    if not (hasattr(sys, "ps1") or sys.flags.interactive):
        raise KeyboardInterrupt(text)
    warnings.warn(text, InterruptedFitWarning, stacklevel=stacklevel + 1)


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

"""Progress of fits, images and searches: a bar on a terminal, plain lines elsewhere.

`stage` prints what is done before there are steps to count, such as the search for neighbours; it needs no argument
passed down to where that happens, and prints nothing outside `stages`. A program that shows progress in its own way, as
the command does, has it reported to a `Display`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Report = Callable[..., None]  # (done, detail="")


class Task(Protocol):
    """Display of the progress of one task."""

    def report(self, done: int, detail: str = "") -> None:
        """Show the number of steps done, and text beside it."""

    def close(self) -> None:
        """End the display."""


class Display(Protocol):
    """What shows stages and tasks in place of lines on standard error."""

    def stage(self, text: str) -> None:
        """Show what is done next."""

    def task(self, name: str, total: int, unit: str, may_stop_early: bool) -> Task:
        """Begin to show the progress of a task; the arguments are those of `progress`."""


_chosen: Display | None = None  # of the whole process: kernels are compiled in any thread
_speaker: ContextVar[str | None] = ContextVar("laminar_speaker", default=None)  # whose stages are printed


@contextmanager
def shown_on(display: Display) -> Iterator[None]:
    """Report all progress to a display while the block runs."""
    global _chosen
    before, _chosen = _chosen, display
    try:
        yield
    finally:
        _chosen = before


@contextmanager
def stages(name: str, verbose: int = 1) -> Iterator[None]:
    """Print the stages that begin in the block, and every function that numba compiles; with ``verbose=0``, none.

    Examples
    --------
    >>> import contextlib, sys
    >>> with contextlib.redirect_stderr(sys.stdout), stages("Model"):
    ...     stage("graph of 100 samples")
    Model: graph of 100 samples
    """
    if not verbose:
        yield
        return
    token = _speaker.set(name)
    try:
        with _compilations(name):
            yield
    finally:
        _speaker.reset(token)


def stage(text: str) -> None:
    """Print what is done next, in a block of `stages`; call it before a step that may take seconds."""
    name = _speaker.get()
    if name is not None:
        announce(name, text)


def announce(name: str, text: str) -> None:
    """Print what is done next, whether or not in a block of `stages`."""
    if _chosen is None:
        print(f"{name}: {text}", file=sys.stderr, flush=True)
    else:
        _chosen.stage(f"{name}: {text}")


@contextmanager
def _compilations(name: str) -> Iterator[None]:
    """Print the name of each function that numba compiles, in any thread; not those compiled as a part of it."""
    from numba.core import event

    class Listener(event.Listener):
        depth = 0  # compilations hold a lock of numba: those of two threads do not mix

        def on_start(self, event):
            if not self.depth:
                announce(name, f"compiling {event.data['dispatcher'].py_func.__name__}")
            self.depth += 1

        def on_end(self, event):
            self.depth -= 1

    with event.install_listener("numba:compile", Listener()):
        yield


@contextmanager
def progress(name: str, total: int, *, unit: str = "", may_stop_early: bool = False) -> Iterator[Report]:
    """Show the progress of a task on standard error while the block runs.

    Parameters
    ----------
    name : str
        Name of the task.
    total : int
        Number of steps.
    unit : str, default=""
        What is counted, such as "images".
    may_stop_early : bool, default=False
        Whether the task may end before ``total``, as a fit does when it converges. The time that has passed is then
        shown instead of the time that remains, and a bar only after half a second.

    Yields
    ------
    report : callable
        ``report(done, detail="")``: the number of steps done, and text to show beside it.

    Examples
    --------
    >>> import contextlib, sys
    >>> with contextlib.redirect_stderr(sys.stdout), progress("Task", 3, unit="steps") as report:
    ...     report(3)
    Task 3/3 steps  0.0 s
    """
    show = _display if _chosen is None else _chosen.task
    display = show(name, total, f" {unit}" if unit else "", may_stop_early)
    try:
        yield display.report
    finally:
        display.close()


def track(items: Sequence[Item], name: str, *, unit: str = "", verbose: int = 1) -> Iterable[Item]:
    """Iterate over items and show how many are done; with ``verbose=0``, iterate only.

    Examples
    --------
    >>> [item for item in track("ab", "Letters", verbose=0)]
    ['a', 'b']
    """
    if not verbose:
        yield from items
        return
    with progress(name, len(items), unit=unit) as report:
        for done, item in enumerate(items, start=1):
            yield item
            report(done)


def _display(name: str, total: int, unit: str, may_stop_early: bool) -> Task:
    return (_Bar if sys.stderr.isatty() else _Lines)(name, total, unit, may_stop_early)


class _Bar:
    """Bar of rich."""

    def __init__(self, name: str, total: int, unit: str, may_stop_early: bool):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}" + unit + "{task.fields[detail]}"),
            TimeElapsedColumn() if may_stop_early else TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task(name, total=total, detail="")
        self.shown_from = time.perf_counter() + (0.5 if may_stop_early else 0.0)
        self.is_shown = False

    def report(self, done: int, detail: str = "") -> None:
        if not self.is_shown and time.perf_counter() >= self.shown_from:
            self.bar.start()
            self.is_shown = True
        self.bar.update(self.task, completed=done, detail=detail)

    def close(self) -> None:
        if self.is_shown:
            self.bar.stop()


class _Lines:
    """Lines, at most one a second, and one for the last report; for the first as well if the task may stop early."""

    def __init__(self, name: str, total: int, unit: str, may_stop_early: bool):
        self.name, self.total, self.unit = name, total, unit
        self.start = time.perf_counter()
        self.next_line = self.start + (0.0 if may_stop_early else 1.0)
        self.unprinted: str | None = None

    def report(self, done: int, detail: str = "") -> None:
        now = time.perf_counter()
        self.unprinted = f"{self.name} {done}/{self.total}{self.unit}{detail}  {now - self.start:.1f} s"
        if now >= self.next_line:
            self.next_line = now + 1
            self.close()

    def close(self) -> None:
        if self.unprinted:
            print(self.unprinted, file=sys.stderr, flush=True)
            self.unprinted = None

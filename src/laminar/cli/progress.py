"""Progress of the command: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

PATIENCE = 2.0  # seconds after which progress is shown, and between two lines of it
Drawing = tuple[Callable[[], None], Callable[[], None]]  # draw the current step; end the drawing


@dataclass
class Step:
    """Something that is done, of ``total`` parts if these are counted.

    Parameters
    ----------
    progress : Progress
        What displays it.
    text : str
        What is done.
    total : int, default=0
        Number of parts; 0 where it is unknown.
    unit : str, default=""
        What is counted, with a space before it.
    may_stop_early : bool, default=False
        Whether it may end before ``total``.
    """

    progress: Progress
    text: str
    total: int = 0
    unit: str = ""
    may_stop_early: bool = False
    done: int = 0
    detail: str = ""
    began: float = field(default_factory=time.perf_counter)

    def report(self, done: int, detail: str = "") -> None:
        """Display the number of parts done; the step becomes the current one."""
        self.done, self.detail = done, detail
        self.progress.display(self)

    def close(self) -> None:
        """End the step; the next one takes its place."""

    def line(self) -> str:
        """Return the step as text.

        Examples
        --------
        >>> step = Step(Progress(is_shown=False), "NMF", 100, may_stop_early=True)
        >>> step.began -= 10
        >>> step.report(50)
        >>> step.line()
        'NMF 50/100  10 s, at most 10 s left'
        """
        seconds = time.perf_counter() - self.began
        if not self.done:
            return f"{self.text}  {seconds:.0f} s"
        left = seconds * (self.total - self.done) / self.done
        most = "at most " if self.may_stop_early else ""
        return f"{self.text} {self.done}/{self.total}{self.unit}{self.detail}  {seconds:.0f} s, {most}{left:.0f} s left"


class Progress:
    """Display of what lasts longer than `PATIENCE`.

    A thread shows the current step, since one may last long without a report.

    Parameters
    ----------
    is_shown : bool, default=True
        Whether anything is displayed.
    """

    def __init__(self, is_shown: bool = True):
        self.is_shown = is_shown
        self.current: Step | None = None
        self.next_line = 0.0
        self.stopping = threading.Event()
        self.thread: threading.Thread | None = None

    def stage(self, text: str) -> None:
        """Display a step whose length is unknown."""
        self.display(Step(self, text))

    def task(self, name: str, total: int, unit: str, may_stop_early: bool) -> Step:
        """Display a step whose parts are counted."""
        step = Step(self, name, total, unit, may_stop_early)
        self.display(step)
        return step

    def display(self, step: Step) -> None:
        """Make a step the current one."""
        self.current = step
        if self.is_shown and self.thread is None:
            self.next_line = time.perf_counter() + PATIENCE
            self.stopping.clear()
            self.thread = threading.Thread(target=self._run, daemon=True)
            self.thread.start()

    def hide(self) -> None:
        """Stop the display, so that something else can be printed."""
        if self.thread is not None:
            self.stopping.set()
            self.thread.join()
            self.thread = None

    def _run(self) -> None:
        update, end = _bar(self) if sys.stderr.isatty() else _lines(self)
        while not self.stopping.wait(0.2):
            if time.perf_counter() >= self.next_line:
                update()
        end()


def _lines(progress: Progress) -> Drawing:
    """Return functions that print a line, at most one in `PATIENCE` seconds, and that end it."""

    def update() -> None:
        if progress.current is not None:
            print(progress.current.line(), file=sys.stderr, flush=True)
            progress.next_line = time.perf_counter() + PATIENCE

    return update, lambda: None


def _bar(progress: Progress) -> Drawing:
    """Return functions that draw a bar of rich, and that remove it."""
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}", markup=False)
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=None)

    def update() -> None:
        step = progress.current
        if step is not None:
            bar.update(task, description=step.line(), total=step.total if step.done else None, completed=step.done)
            bar.start()

    return update, bar.stop

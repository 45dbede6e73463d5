"""Progress of the command: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

PATIENCE = 2.0  # seconds after which progress is shown, and between two lines of it
Drawing = tuple[Callable[[], None], Callable[[], None]]  # draw the last report; end the drawing


class Progress:
    """Display of what lasts longer than `PATIENCE`: a bar on a terminal, a line now and then elsewhere.

    A thread shows the last report, since a step may last long without one.

    Parameters
    ----------
    is_shown : bool, default=True
        Whether anything is displayed.
    """

    def __init__(self, is_shown: bool = True):
        self.is_shown = is_shown
        self.text, self.done, self.total, self.unit, self.detail = "", 0, 0, "", ""
        self.may_stop_early = False
        self.began = self.next_line = 0.0
        self.stopping = threading.Event()
        self.thread: threading.Thread | None = None

    # What `laminar._utils.progress` calls.

    def stage(self, text: str) -> None:
        """Show a step whose length is unknown."""
        self._begin(text, 0, "", False)

    def task(self, name: str, total: int, unit: str, may_stop_early: bool) -> Progress:
        """Show steps that are counted."""
        self._begin(name, total, unit, may_stop_early)
        return self

    def report(self, done: int, detail: str = "") -> None:
        """Show the number of steps done."""
        self.done, self.detail = done, detail

    def close(self) -> None:
        """End the task; the next one may follow."""
        self.total = 0

    # What the terminal calls.

    def hide(self) -> None:
        """Stop the display, so that something else can be printed."""
        if self.thread is not None:
            self.stopping.set()
            self.thread.join()
            self.thread = None

    def _begin(self, text: str, total: int, unit: str, may_stop_early: bool) -> None:
        if not self.is_shown:
            return
        self.text, self.total, self.unit, self.may_stop_early = text, total, unit, may_stop_early
        self.done, self.detail, self.began = 0, "", time.perf_counter()
        if self.thread is None:
            self.next_line = self.began + PATIENCE
            self.stopping.clear()
            self.thread = threading.Thread(target=self._run, daemon=True)
            self.thread.start()

    def _run(self) -> None:
        update, end = _bar(self) if sys.stderr.isatty() else _lines(self)
        while not self.stopping.wait(0.2):
            if time.perf_counter() >= self.next_line:
                update()
        end()

    def line(self) -> str:
        """Return the last report as text."""
        seconds = time.perf_counter() - self.began
        if not self.total or not self.done:
            return f"{self.text}  {seconds:.0f} s"
        left = seconds * (self.total - self.done) / self.done
        most = "at most " if self.may_stop_early else ""
        return f"{self.text} {self.done}/{self.total}{self.unit}{self.detail}  {seconds:.0f} s, {most}{left:.0f} s left"


def _lines(progress: Progress) -> Drawing:
    """Return functions that print a line, at most one in `PATIENCE` seconds, and that end it."""

    def update() -> None:
        print(progress.line(), file=sys.stderr, flush=True)
        progress.next_line = time.perf_counter() + PATIENCE

    return update, lambda: None


def _bar(progress: Progress) -> Drawing:
    """Return functions that draw a bar of rich, and that remove it."""
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True
    )
    task = bar.add_task("", total=None)

    def update() -> None:
        bar.update(task, description=progress.line(), total=progress.total or None, completed=progress.done)
        bar.start()

    return update, bar.stop

"""How many images are done: a bar on a terminal that has rich, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(name: str, total: int, verbose: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many images are done."""
    if not verbose:
        yield lambda done: None
    elif sys.stderr.isatty() and (bar := _bar()) is not None:
        with bar:
            task = bar.add_task(name, total=total)
            yield lambda done: bar.update(task, completed=done)
    else:
        yield _lines(name, total)


def _bar():
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("images"))
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))


def _lines(name: str, total: int) -> Callable[[int], None]:
    """At most a line a second on standard error, and the last."""
    start = last = time.perf_counter()

    def tell(done: int) -> None:
        nonlocal last
        now = time.perf_counter()
        if done == total or now - last >= 1:
            last = now
            print(f"{name} {done}/{total} images  {now - start:.1f} s", file=sys.stderr, flush=True)

    return tell

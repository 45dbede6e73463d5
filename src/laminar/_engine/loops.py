"""Where a loop meets Ctrl-C and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._utils import interrupts, runs
from .._utils.runs import Loop
from .monitor import Monitor


@contextmanager
def recorded(monitor: Monitor, start: Mapping[str, Any] | None = None) -> Iterator[Loop]:
    """Mark the block as a loop, and yield its record.

    Parameters
    ----------
    monitor : Monitor
        The monitor of the loop; after a resumption it has the stored history and counts.
    start : mapping from names to ndarray, or None
        Where the loop starts; a stored state belongs to this start alone. None is a loop that is not stored: it is
        repeated from its start.

    Yields
    ------
    Loop
        ``stored`` is the state to go on from. Loops inside another loop are part of its iterations and have none.
    """
    run = runs.current()
    loop = Loop()
    if run is not None and start is not None and not interrupts.in_loop():
        loop = run.begin_loop(monitor, start)
    with interrupts.iterating():
        yield loop

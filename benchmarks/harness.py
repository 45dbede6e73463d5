"""Timing that can be believed on a shared machine: opponents take turns, and only ratios are reported."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass
class Row:
    """One line of the table: who was beaten at what, and by how much it has to be."""

    work: str
    against: str
    ratio: float
    target: float | None = None
    note: str = ""
    at_most: bool = False  # a ratio that has to stay small

    @property
    def verdict(self) -> str:
        if self.target is None or np.isnan(self.ratio):
            return ""
        shown = float(f"{self.ratio:.3g}")  # judged by what the table says
        return "ok" if shown == self.target or (shown < self.target) == self.at_most else "MISSED"


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    """Time one call, after the threads of the previous one have gone to sleep.

    OpenBLAS workers spin for a while after a threaded product and would take a core from whoever comes next.
    """
    gc.collect()
    time.sleep(0.25)
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def rate(work: Callable[[], object], repeats: int = 9) -> float:
    """Median seconds of short work, for kernels."""
    times = []
    work()
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


@dataclass
class Race:
    """Our seconds to the opponent's objective (infinite if it was never reached), and to the end of the call."""

    goal: float
    whole: float


Pairs = list[tuple[float, Race]]  # seconds of the opponent, ours; taken one after the other


def median_ratio(pairs: Pairs) -> float:
    """Median of theirs / ours, to an equal objective."""
    return float(np.median([theirs / ours.goal for theirs, ours in pairs]))


def spread(pairs: Pairs) -> str:
    """Smallest and largest ratio, our median time, and the ratio if our whole call is counted."""
    ratios = [theirs / ours.goal for theirs, ours in pairs]
    ours = np.median([race.goal for _, race in pairs])
    whole = np.median([theirs / race.whole for theirs, race in pairs])
    lost = sum(np.isinf(race.goal) for _, race in pairs)
    never = f"; {lost} NEVER REACHED" if lost else ""
    return f"{min(ratios):.3g} .. {max(ratios):.3g} of {len(pairs)}, ours {ours:.3g} s; whole call {whole:.3g}{never}"


def show(rows: list[Row]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Laminar: time of the opponent / time of Laminar, medians of interleaved runs")
    for name, justify in [("work", "left"), ("against", "left"), ("ratio", "right"), ("required", "right")]:
        table.add_column(name, justify=justify)
    table.add_column("")
    table.add_column("note")
    for row in rows:
        sign = "" if row.target is None else ("<= " if row.at_most else ">= ")
        target = "" if row.target is None else f"{sign}{row.target:g}"
        table.add_row(row.work, row.against, f"{row.ratio:.3g}", target, row.verdict, row.note)
    Console(width=180).print(table)

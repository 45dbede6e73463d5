"""`Run`: how items are computed: in small or whole, on all cores, with what is known already."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from threadpoolctl import threadpool_limits

from .cells import Cell, Kept, computed

Track = Callable[[int], Any]


class Skipped(Exception):
    """An item cannot be computed here; the message has the reason, and what would mend it."""


class Run:
    """Computes cells.

    Parameters
    ----------
    folder : Path or None, default=None
        Where results are kept; None keeps none.
    quick : bool, default=False
        Whether items are computed in small: fewer seeds and settings, smaller data, fewer iterations.
    n_jobs : int, default=1
        Processes; each has one thread.
    reports : callable or None, default=None
        Called with a name and a number of cells; returns a context whose value is called with the number done.

    Examples
    --------
    >>> from laminar.experiments.cells import Cell
    >>> Run().seeds(10), Run(quick=True).seeds(10)
    (range(0, 10), range(0, 2))
    """

    def __init__(
        self, folder: Path | None = None, *, quick: bool = False, n_jobs: int = 1, reports: Callable | None = None
    ):
        self.kept = None if folder is None else Kept(folder)
        self.quick, self.n_jobs, self.reports = quick, n_jobs, reports

    def seeds(self, n: int) -> range:
        """Return the seeds of so many repetitions, two in small."""
        return range(min(n, 2) if self.quick else n)

    def cells(self, name: str, cells: Sequence[Cell]) -> pd.DataFrame:
        """Compute cells.

        Parameters
        ----------
        name : str
            What is shown as progress.
        cells : sequence of Cell
            What to compute; those that are known are not computed again.

        Returns
        -------
        DataFrame
            A row a cell: its names, its scores and seconds.
        """
        scores = [None if self.kept is None else self.kept.get(cell) for cell in cells]
        missing = [i for i, found in enumerate(scores) if found is None]
        with _reported(self.reports, name, len(missing)) as report:
            for done, (i, found) in enumerate(self._computed(cells, missing), start=1):
                scores[i] = found
                if self.kept is not None:
                    self.kept.keep(cells[i], found)
                report(done)
        return pd.DataFrame([{**cell.names, **(found or {})} for cell, found in zip(cells, scores, strict=True)])

    def _computed(self, cells: Sequence[Cell], places: Sequence[int]) -> Iterator[tuple[int, dict[str, float]]]:
        if self.n_jobs == 1 or len(places) < 2:
            yield from (_one(i, cells[i]) for i in places)
            return
        # Unordered: a result is kept as soon as it is there.
        pool = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs")
        with warnings.catch_warnings():
            # joblib replaces a process that has grown by 300 MB, as one does whose data are kept for the next cells.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given to the executor")
            yield from pool(joblib.delayed(_one)(i, cells[i]) for i in places)


def _one(place: int, cell: Cell) -> tuple[int, dict[str, float]]:
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # published rules do not converge: their numbers of iterations are the papers'
        return place, computed(cell)


def _reported(reports: Callable | None, name: str, n: int) -> Any:
    from contextlib import nullcontext

    if reports is None or not n:
        return nullcontext(lambda done: None)
    return reports(name, n)

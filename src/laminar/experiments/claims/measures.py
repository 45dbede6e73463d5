"""A claim and its verdict; traces, times and orders of fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

if TYPE_CHECKING:
    from laminar.callbacks import FitState

NEAR = 1.01  # within 1 % of the objective that both of two fits reach
REPEATS = 5  # of each of several timings, in turns


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and the number that decides on it.

    Attributes
    ----------
    paper : str
        Paper and section.
    text : str
        What it claims.
    work : callable
        Cell function ``(small, seed)``; its number is ``value``.
    unit : str
        What the number is.
    holds, partly : float
        From where on, or up to where, the claim holds, and holds in part.
    at_most : bool, default=False
        Whether small numbers are those that support the claim.
    seeds : int, default=3
        Seeds of which the median is taken.
    """

    paper: str
    text: str
    work: Callable[[bool, int], dict[str, float]]
    unit: str
    holds: float
    partly: float
    at_most: bool = False
    seeds: int = 3

    def verdict(self, value: float) -> str:
        """Return the verdict of a number on the claim."""
        sign = -1 if self.at_most else 1
        if sign * value >= sign * self.holds:
            return "holds"
        return "holds in part" if sign * value >= sign * self.partly else "does not hold"

    def measured(self, value: float) -> str:
        """Return the number, what it is, and the limit."""
        limit = f"holds {'up to' if self.at_most else 'from'} {self.holds:g}"
        number = f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
        return f"{number} {self.unit} ({limit})"


class Trace:
    """Callback that keeps objective and seconds of every iteration, without those of pre-training.

    Attributes
    ----------
    objective, seconds : list of float
        After each iteration, seconds since the start of the fit.
    """

    def __init__(self) -> None:
        self.objective: list[float] = []
        self.seconds: list[float] = []

    def __call__(self, state: FitState) -> None:
        """Keep an iteration."""
        if state.stage == "fit":
            self.objective.append(float(state.objective))
            self.seconds.append(state.seconds)


def traced(model: Any, *data: Any, **settings: Any) -> Trace:
    """Fit a copy of a model and return its trace.

    Parameters
    ----------
    model : estimator
        What is fitted.
    *data, **settings
        Of ``fit``.

    Returns
    -------
    Trace
    """
    trace = Trace()
    clone(model).set_params(callback=trace).fit(*data, **settings)
    return trace


def reached(first: Trace, second: Trace) -> tuple[int, int]:
    """Return in how many iterations two fits come within 1 % of the objective that both reach.

    Examples
    --------
    >>> first, second = Trace(), Trace()
    >>> first.objective, second.objective = [9.0, 2.0, 1.0], [3.0, 2.0, 2.0]
    >>> reached(first, second)
    (2, 2)
    """
    target = NEAR * max(first.objective[-1], second.objective[-1])
    found = [int(np.argmax(np.array(trace.objective) <= target)) + 1 for trace in (first, second)]
    return found[0], found[1]


def seconds_an_iteration(fits: list[tuple[Any, tuple]], repeats: int = REPEATS) -> list[float]:
    """Return the median seconds of an iteration of several fits, which are repeated in turns.

    Parameters
    ----------
    fits : list of (estimator, tuple)
        Models, and the arguments of ``fit``.
    repeats : int, default=5
        Turns.

    Returns
    -------
    list of float
    """
    taken: list[list[float]] = [[] for _ in fits]
    for _ in range(repeats):
        for found, (model, data) in zip(taken, fits, strict=True):
            found += np.diff(traced(model, *data).seconds).tolist()
    return [float(np.median(found)) for found in taken]


def order(model: Callable[[int], Any], data: Callable[[int], tuple], small: bool) -> dict[str, float]:
    """Return the exponent e of ``seconds ~ size^e`` of an iteration, by doubling a size."""
    sizes = (1, 2) if small else (1, 4)
    one, more = seconds_an_iteration([(model(size), data(size)) for size in sizes], 2 if small else REPEATS)
    return {"value": float(np.log(more / one) / np.log(sizes[1] / sizes[0]))}

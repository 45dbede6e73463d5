"""`Item`: a table, figure or claim of a paper, and the list of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import Result
    from .run import Run

ITEMS: dict[str, Item] = {}
"""All items by name."""


@dataclass(frozen=True)
class Item:
    """A table, figure or claim of a paper.

    Attributes
    ----------
    name : str
        As ``laminar reproduce`` takes it.
    claim : str
        The claim of the paper, in a sentence.
    make : callable
        ``make(run)`` computes the item.
    """

    name: str
    claim: str
    make: Callable[[Run], Result]


def item(name: str, claim: str) -> Callable[[Callable[[Run], Result]], Callable[[Run], Result]]:
    """Enter a function into the list of items.

    Parameters
    ----------
    name : str
        Paper and number, as "trigeorgis-table1".
    claim : str
        The claim of the paper, in a sentence.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    >>> from laminar.experiments import ITEMS
    >>> ITEMS["trigeorgis-table1"].claim
    'Deep Semi-NMF reconstructs CMU PIE nearly as well as Semi-NMF, and better than all variants of NMF.'
    """

    def enter(make: Callable[[Run], Result]) -> Callable[[Run], Result]:
        ITEMS[name] = Item(name, claim, make)
        return make

    return enter

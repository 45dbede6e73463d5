"""The contract of a term: its value, and a majoriser in which the rows of the factor are separate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..._utils.threads import Items
from ..data.matrix import Rows

Block = slice | np.ndarray
"""Rows that are updated together: a slice, or their indices where rows of one group do not follow each other."""

SplitRows = Callable[[Block], tuple[np.ndarray | float, np.ndarray | float]]
"""Two matrices as a function of a block of their rows."""

Groups = Sequence[Items]
"""Blocks of rows, grouped by the Gram matrix they share. Almost always one group."""


@dataclass(frozen=True)
class Majoriser:
    """An upper bound of a term that touches it at a point ``F0``; majorisers add up with ``+``.

        1/2 <F G, F> + 1/2 sum_i r_i <c * f_i, f_i> - <B, F> - <F0 * R, log F>  +  constant

    Whatever decreases the majoriser decreases the term. No product of two different rows occurs in it: each row of F is
    a problem of k unknowns.

    Attributes
    ----------
    B : Rows or None
        Linear part, as a function of a block of rows; None is zero, here and below.
    G : ndarray of shape (k, k) or (n_groups, k, k), or None
        Curvature shared by all rows, or by those of a group.
    row_curvature, column_weights : ndarray of shape (n,) and (k,), or None
        r and c: the curvature that a penalty over a graph gives each row.
    ratio : Rows or None
        R, the ratio of a divergence.
    """

    B: Rows | None = None
    G: np.ndarray | None = None
    row_curvature: np.ndarray | None = None
    column_weights: np.ndarray | None = None
    ratio: Rows | None = None

    def __add__(self, other: Majoriser) -> Majoriser:
        """Add two majorisers that touch their terms at the same point."""
        return Majoriser(
            _sum_of_rows(self.B, other.B),
            _sum(self.G, other.G),
            _sum(self.row_curvature, other.row_curvature),
            _common(self.column_weights, other.column_weights),
            _sum_of_rows(self.ratio, other.ratio),
        )

    def linear(self, b: Block) -> np.ndarray:
        """Return B on rows b."""
        assert self.B is not None, "the majoriser has no linear part"
        return self.B(b)

    @property
    def gram(self) -> np.ndarray:
        """G, where there is one."""
        assert self.G is not None, "the majoriser has no Gram matrix"
        return self.G

    def ridge(self, b: Block) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return r on rows b, and c."""
        return (None, None) if self.row_curvature is None else (self.row_curvature[b], self.column_weights)

    def gradient(self, b: Block, f: np.ndarray, G: np.ndarray | None) -> np.ndarray:
        """Return the gradient of the term at F0, on rows b, where F0 is f."""
        return self._smooth_gradient(b, f, G) if self.ratio is None else self._smooth_gradient(b, f, G) - self.ratio(b)

    def derivatives(
        self, b: Block, f: np.ndarray, G: np.ndarray | None, typical: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and diagonal of the Hessian; ``typical`` replaces entries of f near zero."""
        gradient = self._smooth_gradient(b, f, G)
        curvature = np.zeros_like(f, dtype=np.float64)
        if G is not None:
            curvature += np.diag(G)
        if self.row_curvature is not None:
            curvature += self.row_curvature[b, None] * self.column_weights
        if self.ratio is None:
            return gradient, curvature
        ratio = self.ratio(b)
        return gradient - ratio, curvature + ratio / np.maximum(np.maximum(f, typical), np.finfo(f.dtype).tiny)

    def _smooth_gradient(self, b: Block, f: np.ndarray, G: np.ndarray | None) -> np.ndarray:
        """Return the gradient without the logarithmic part."""
        gradient = np.zeros_like(f) if G is None else f @ G
        if self.B is not None:
            gradient -= self.B(b)
        if self.row_curvature is not None:
            gradient += self.row_curvature[b, None] * self.column_weights * f
        return gradient


class Term(Protocol):
    """One addend of the objective as a function of one factor, the others fixed."""

    exact: bool
    """Whether ``majoriser(F)`` is the term itself whatever F; if not it must be renewed as F moves."""

    def value(self, F: np.ndarray) -> float:
        """Return the term at F."""

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return an upper bound that touches the term at F."""

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return the gradient at F as a difference of two non-negative parts, for multiplicative updates."""


class Fit(Term, Protocol):
    """The term that reads X. It comes first in an objective and cuts the rows into blocks."""

    groups: Groups
    row_cost: float
    """Multiplications per component that a row of B costs: how many sweeps over F one B is worth."""
    size: float
    """Norm of what is fitted, in the units of the value: what the KKT residual is relative to."""

    def rounding_error(self, value: float) -> float:
        """Return the largest change of a value near this one that rounding can cause."""

    def cached(self) -> Fit:
        """Return the same term with all that does not depend on F kept once computed."""


def by_group(G: np.ndarray | None, groups: Groups) -> Iterator[tuple[np.ndarray | None, Items]]:
    """Return pairs of a Gram matrix and the blocks of rows that share it."""
    grams = [None] * len(groups) if G is None else G.reshape(-1, *G.shape[-2:])
    return zip(grams, groups, strict=True)


def _sum(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _common(c: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    """Return the column weights of a sum: ``r c + r' c`` is of the same form, ``r c + r' c'`` is not."""
    if c is not None and other is not None and not np.array_equal(c, other):
        raise ValueError("Penalties on the rows of one factor must weight its columns alike; put the weight in r.")
    return other if c is None else c


def _sum_of_rows(A: Rows | None, B: Rows | None) -> Rows | None:
    if A is None or B is None:
        return B if A is None else A
    return lambda b: A(b) + B(b)

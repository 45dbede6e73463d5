"""The fit of several views by codes they share, where samples may lack some of the views (docs/methods.md 8.5).

Missing views do not enter the objective, and nothing is put in their place. Samples with the same views share the Gram
matrix of their codes, and the features of one view that of their components: these are the groups of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._engine.constraints import Constraint, Free
from .._engine.data.derived import Stacked
from .._engine.data.matrix import collect
from .._engine.problem import Addend, Factors, Problem
from .._engine.terms import Majoriser, SplitRows, SquaredFit, Term
from .._utils import tall, threads
from .._utils.workers.array import RemoteGroup
from .._utils.workers.pool import Workers


def missing_views(
    data: Stacked, observed: np.ndarray, codes: Constraint, penalties: Sequence[Addend] = (), *, ridge: float = 0.1
) -> Problem:
    """``1/2 sum_v w_v ||M_v (X_v - H Z_v)||^2`` over H and free Z_v; M_v keeps the samples that have view v.

    A sample that lacks a view also has the ridge ``ridge / (2 k) ||h||^2 sum_v w_v ||Z_v||^2`` over the views it has:
    where less is known, codes stay closer to zero, the mean of centred views.

    Parameters
    ----------
    data : Stacked
        The views side by side with their weights, zero where they were not observed.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    codes : Constraint
        Of H.
    penalties : sequence of Addend
        On the codes.
    ridge : float, default=0.1
        Relative to the mean curvature of the codes.
    """
    fit = MissingFit(data, observed, ridge=ridge)
    return Problem({"H": codes, "Z": Free()}, [fit.addend, *(_gathered(penalty) for penalty in penalties)])


class MissingFit:
    """The fit of what was observed. Missing entries are zero, so that only the Gram matrices differ.

    With a ``centre``, codes of known components, the ridge of `missing_views` on the codes is ``||h - centre||^2``.
    """

    def __init__(self, data: Stacked, observed: np.ndarray, *, ridge: float = 0.1, centre: np.ndarray | None = None):
        self.data, self.centre = data, centre
        self.patterns, pattern, self.counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
        self.groups = [_rows_of(pattern.ravel(), i, data.workers) for i in range(len(self.patterns))]
        self.ridges = np.where(self.patterns.all(axis=1), 0.0, ridge)

    def addend(self, name: str, F: Factors) -> SquaredFit:
        """Return the fit as a function of a factor."""
        return self.of_codes(F["Z"]) if name == "H" else self.of_components(F["H"])

    def of_codes(self, Z: np.ndarray) -> SquaredFit:
        """Samples of a pattern P share ``sum_{v in P} Z_v^T Z_v``."""
        data, k = self.data, Z.shape[1]
        by_view = np.stack([Z[s].T @ Z[s] for s in data.slices])
        G = np.tensordot(self.patterns.astype(by_view.dtype), by_view, axes=1)
        ridge = self.ridges / k * np.trace(G, axis1=1, axis2=2)
        G = (G + ridge[:, None, None] * np.eye(k)).astype(Z.dtype)
        B, sqnorm = data.product(Z), data.sqnorm
        if self.centre is not None:
            for group, count, strength in zip(self.groups, self.counts, ridge, strict=True):
                threads.each(partial(_add_to_rows, B, (strength * self.centre).astype(B.dtype)), group)
                sqnorm += int(count) * float(strength * (self.centre @ self.centre))
        return SquaredFit(lambda rows: B[rows], G, self.groups, sqnorm, data.entries_per_row)

    def of_components(self, H: np.ndarray) -> SquaredFit:
        """Features of view v share ``sum_{P with v} H_P^T H_P``."""
        data, k = self.data, H.shape[1]
        by_pattern = np.stack([threads.total(lambda rows: H[rows].T @ H[rows], group) for group in self.groups])
        ridge = self.ridges / k * np.trace(by_pattern, axis1=1, axis2=2)
        by_pattern = by_pattern + ridge[:, None, None] * np.eye(k)
        G = np.tensordot(self.patterns.T.astype(by_pattern.dtype), by_pattern, axes=1).astype(H.dtype)
        groups = [_blocks(s) for s in data.slices]
        return SquaredFit(data.T.product(H).__getitem__, G, groups, data.sqnorm, data.T.entries_per_row)


def _rows_of(pattern: np.ndarray, number: int, workers: Workers | None) -> threads.Items:
    """Return the samples of one pattern, cut into arrays of indices."""
    if workers is not None:
        return RemoteGroup(workers.put(pattern, (), pattern.dtype), number, 256)
    rows = np.flatnonzero(pattern == number)
    return [rows[b] for b in threads.tiles(len(rows), 256)]


def _add_to_rows(B: np.ndarray, row: np.ndarray, rows: np.ndarray) -> None:
    B[rows] = B[rows] + row


def _blocks(view: slice) -> list[slice]:
    return [slice(view.start + b.start, view.start + b.stop) for b in threads.blocks(view.stop - view.start, 256)]


def _gathered(addend: Addend) -> Addend:
    """The same addend with the linear part of its majoriser as one array: rows of a group do not follow each other."""

    def term(name: str, F: Factors) -> Term | None:
        found = addend(name, F)
        return found if name == "Z" or found is None else _Gathered(found)

    return term


@dataclass(frozen=True)
class _Gathered:
    term: Term

    exact = False

    def value(self, F: np.ndarray) -> float:
        return self.term.value(F)

    def majoriser(self, F: np.ndarray) -> Majoriser:
        found = self.term.majoriser(F)
        B = collect(found.linear, tall.cut(F, 1024), F.shape, F.dtype)
        return Majoriser(lambda rows: B[rows], found.G, found.row_curvature, found.column_weights)

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        return self.term.split_gradient(F)

"""The fit of several views by codes they share, where samples may lack some of the views.

Views a sample lacks do not count for it, and nothing is put in their place. Samples with the same views share the
curvature of their codes, and the features of one view that of their components: the problem falls into pieces, each an
ordinary one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._engine.constraints import Free, NonNegative
from .._engine.data.derived import Stacked
from .._engine.penalties import Smooth
from .._engine.terms import Quad
from .._engine.updates import Update
from .._utils import threads

Factors = Mapping[str, np.ndarray]

_RIDGE = 0.1  # of a sample that lacks a view, relative to the mean curvature of its codes


@dataclass(frozen=True)
class Pieces:
    """A cost that is a sum over groups of rows, each with a `Quad` of its own that counts its rows from zero."""

    pieces: Sequence[tuple[np.ndarray | slice, Quad]]

    def value(self, F: np.ndarray) -> float:
        """The cost at F."""
        return sum(term.value(F[rows]) for rows, term in self.pieces)

    def noise(self, value: float) -> float:
        """Differences of values that are rounding."""
        return sum(term.noise(value) for _, term in self.pieces)

    def residual(self, F: np.ndarray, constraint) -> float:
        """Length of the steps coordinate descent would still take, relative to the data."""
        total = sum(term.constant for _, term in self.pieces) or 1.0
        parts = (term.residual(F[rows], constraint) ** 2 * term.constant for rows, term in self.pieces)
        return float(np.sqrt(sum(parts) / total))


def piecewise(update: Update) -> Update:
    """Let every group of rows move by itself."""

    def apply(F: np.ndarray, term: Pieces, constraint=None) -> np.ndarray:
        new = np.empty_like(F)
        for rows, piece in term.pieces:
            new[rows] = update(np.ascontiguousarray(F[rows]), piece, constraint)
        return new

    return apply


@dataclass(frozen=True)
class Masked:
    """``1/2 sum_v w_v ||M_v (F_v - H Z_v)||^2``, where M_v keeps the samples that have view v; a problem for `solve`.

    A sample that lacks a view is also charged ``ridge / (2 k) ||h||^2 sum_v w_v ||Z_v||^2`` over the views it has:
    where less is known, codes stay closer to zero, the mean of centred views.

    Attributes
    ----------
    data : Stacked
        The views with their weights, zero where they were not observed.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    codes : Free or NonNegative
        What H may be; Z is free.
    penalty : Smooth or None
        Also asked of the codes.
    """

    data: Stacked
    observed: np.ndarray
    codes: Free | NonNegative = field(default_factory=NonNegative)
    penalty: Smooth | None = None

    order = ("H", "Z")

    @property
    def constraints(self) -> dict:
        """What each factor may be."""
        return {"H": self.codes, "Z": Free()}

    @cached_property
    def groups(self) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Of samples with the same views: these views, the samples, and their ridge."""
        kinds, kind = np.unique(self.observed, axis=0, return_inverse=True)
        rows = (np.flatnonzero(kind.ravel() == i) for i in range(len(kinds)))
        return [(views, at, 0.0 if views.all() else _RIDGE) for views, at in zip(kinds, rows, strict=True)]

    def term(self, name: str, F: Factors) -> Pieces:
        """The objective as one factor sees it."""
        return self._on_codes(F["H"], F["Z"]) if name == "H" else self._on_components(F["H"])

    def value(self, F: Factors) -> float:
        """The objective."""
        return self.term("Z", F).value(F["Z"])

    def _on_codes(self, H: np.ndarray, Z: np.ndarray) -> Pieces:
        B, n, k = self.data.product(Z), len(H), Z.shape[1]
        grams = np.stack([Z[s].T @ Z[s] for s in self.data.slices])
        stiffness, columns = np.zeros(n), np.zeros(k)
        if self.penalty is not None:
            pull = self.penalty.on_codes(Quad(B.__getitem__, grams[0], [], 0.0, 1.0), Z).pull(H)
            B, stiffness, columns = B - pull.grad(slice(0, n)), pull.stiffness, pull.columns
        pieces = []
        for views, rows, ridge in self.groups:
            gram = grams[views].sum(axis=0)
            # Of samples that pull at each other the stiffest stands for its group, which then has one Gram again.
            bound = stiffness[rows].max() * columns
            diagonal = ridge / k * np.trace(gram) + bound
            linear = (B[rows] + H[rows] * bound).astype(B.dtype, copy=False)
            gram = (gram + np.diag(diagonal)).astype(B.dtype)
            blocks, energy = threads.blocks(len(rows), 256), len(rows) / n * self.data.sqnorm
            pieces.append((rows, Quad(linear.__getitem__, gram, blocks, energy, self.data.entries_per_row, -np.inf)))
        return Pieces(pieces)

    def _on_components(self, H: np.ndarray) -> Pieces:
        C, k, data = self.data.T.product(H), H.shape[1], self.data
        grams = np.stack([H[rows].T @ H[rows] for _, rows, _ in self.groups])
        charges = [ridge / k * np.trace(gram) for gram, (_, _, ridge) in zip(grams, self.groups, strict=True)]
        pieces = []
        for v, s in enumerate(data.slices):
            has = [bool(views[v]) for views, _, _ in self.groups]
            gram = grams[has].sum(axis=0) + np.eye(k) * np.sum(charges, where=has)
            blocks, energy = threads.blocks(s.stop - s.start, 256), float(data.roots[v]) ** 2 * data.parts[v].sqnorm
            term = Quad(C[s].__getitem__, gram.astype(H.dtype), blocks, energy, data.T.entries_per_row)
            pieces.append((s, term if self.penalty is None else self.penalty.on_components(term, H)))
        return Pieces(pieces)

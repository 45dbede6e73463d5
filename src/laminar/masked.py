"""Samples that lack some of the views: those views do not count for them, and nothing is put in their place.

Samples with the same views share the curvature of their codes, and the features of one view that of their weights:
the problem falls into pieces, each an ordinary one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from . import threads
from .constraints import Free, NonNegative
from .penalties import Smooth
from .stacked import Stacked
from .terms import Quad
from .updates import Update

Factors = Mapping[str, np.ndarray]
Piece = tuple[np.ndarray | slice, Quad]


@dataclass(frozen=True)
class Pieces:
    """A cost that is a sum over groups of rows, each with a `Quad` of its own that counts its rows from zero."""

    pieces: Sequence[Piece]

    def value(self, F: np.ndarray) -> float:
        """The cost at F."""
        return sum(term.value(F[rows]) for rows, term in self.pieces)

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
    """``sum_v w_v ||M_v (F_v - H Z_v)||^2 / 2`` over non-negative codes H and weights Z_v, M_v keeping what was observed.

    A sample that lacks a view is also charged for the size of what its codes stand for, ``ridge / k`` times
    ``||h||^2 sum_v w_v ||Z_v||^2`` over the views it has: where less is known, codes stay closer to the mean.

    Attributes
    ----------
    data : Stacked
        The views, zero where they were not observed.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    ridge : float
        As above.
    penalty : Smooth or None
        Also asked of the codes.
    """

    data: Stacked
    observed: np.ndarray
    ridge: float = 0.1
    penalty: Smooth | None = None

    order = ("H", "Z")

    @cached_property
    def constraints(self) -> dict:
        """Codes are non-negative, weights free."""
        return {"H": NonNegative(), "Z": Free()}

    @property
    def noise(self) -> float:
        """Differences of the objective smaller than this are rounding."""
        return 8 * float(np.finfo(self.data.dtype).eps) * self.data.sqnorm

    @cached_property
    def patterns(self) -> list[tuple[np.ndarray, np.ndarray, bool]]:
        """Views of each group of samples, the samples, and whether they lack something."""
        kinds, kind = np.unique(self.observed, axis=0, return_inverse=True)
        return [(views, np.flatnonzero(kind.ravel() == i), not views.all()) for i, views in enumerate(kinds)]

    def term(self, name: str, F: Factors) -> Pieces:
        """The objective as one factor sees it."""
        return self._codes(F["H"], F["Z"]) if name == "H" else self._weights(F["H"])

    def value(self, F: Factors) -> float:
        """The objective."""
        return self.term("Z", F).value(F["Z"])

    def _codes(self, H: np.ndarray, Z: np.ndarray) -> Pieces:
        B, k = self.data.product(Z), Z.shape[1]
        grams = np.stack([Z[s].T @ Z[s] for s in self.data.slices])
        bound = np.zeros(H.shape[0]), np.zeros(k)
        if self.penalty is not None:
            tied = self.penalty.on_codes(Quad(B.__getitem__, grams[0], [], 0.0, 1.0), Z).pull(H)
            B, bound = B - tied.grad(slice(0, len(H))), (tied.stiffness, tied.columns)
        pieces = []
        for views, rows, lacking in self.patterns:
            gram = grams[views].sum(axis=0)
            if lacking:
                gram = gram + np.eye(k, dtype=gram.dtype) * (self.ridge / k * np.trace(gram))
            # Of samples that pull at each other the stiffest stands for its group: they then share a Gram again.
            stiff = bound[0][rows].max() * bound[1]
            linear = B[rows] + H[rows] * stiff
            blocks, share = threads.blocks(len(rows), 256), len(rows) / len(H)
            pieces.append(
                (
                    rows,
                    Quad(
                        linear.astype(B.dtype).__getitem__,
                        (gram + np.diag(stiff)).astype(B.dtype),
                        blocks,
                        share * self.data.sqnorm,
                        self.data.entries_per_row,
                        floor=-np.inf,
                    ),
                )
            )
        return Pieces(pieces)

    def _weights(self, H: np.ndarray) -> Pieces:
        C, k, data = self.data.T.product(H), H.shape[1], self.data
        grams = [H[rows].T @ H[rows] for _, rows, _ in self.patterns]
        pieces = []
        for v, s in enumerate(data.slices):
            has = [(gram, lacking) for gram, (views, _, lacking) in zip(grams, self.patterns, strict=True) if views[v]]
            charge = self.ridge / k * sum(np.trace(gram) for gram, lacking in has if lacking)
            gram = sum((gram for gram, _ in has), np.zeros((k, k), H.dtype)) + np.eye(k, dtype=H.dtype) * charge
            energy = float(data.roots[v]) ** 2 * data.parts[v].sqnorm
            blocks = threads.blocks(s.stop - s.start, 256)
            term = Quad(C[s].__getitem__, gram.astype(H.dtype), blocks, energy, data.T.entries_per_row)
            pieces.append((s, term if self.penalty is None else self.penalty.on_components(term, H)))
        return Pieces(pieces)

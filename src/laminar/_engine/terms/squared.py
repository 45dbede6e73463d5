"""The squared error as a function of one factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ..._utils import tall, threads
from ..data.matrix import Matrix, Rows, collect
from ..linalg import by_place
from ..linalg.blocked import column_dots, gram
from ..linalg.small import ridged
from .majoriser import Block, Groups, Majoriser, SplitRows, by_group

ROUNDING = 8  # machine epsilons: relative error of a sum over all of X (a safe choice, not a bound)
CLOSE = 1e3  # rounding errors: a value below so many is computed from the residual, where nothing cancels


@dataclass(frozen=True)
class SquaredFit:
    """``1/2 ||X - F M^T||^2 = 1/2 <F G, F> - <B, F> + 1/2 ||X||^2`` with ``B = X M`` and ``G = M^T M``.

    The residual is never formed (docs/methods.md 1.1), and the majoriser is the term itself. A ridge
    ``rho/2 sum_a ||m_a||^2 ||f_a||^2`` is the diagonal of G times ``1 + rho`` (docs/methods.md 4.5).

    Attributes
    ----------
    B : Rows
        As a function of a block of rows, so that it need not exist as a whole.
    G : ndarray of shape (k, k) or (n_groups, k, k)
        The Gram matrix; several where groups of rows have different ones, as samples with different views.
    groups : Groups
        The rows, cut for the threads and the cache.
    size : float
        ``||X||^2``.
    row_cost : float
        Stored entries of a row of X: what a row of B costs, in multiplications per component.
    residual_norm : callable or None
        ``F -> ||X - F M^T||^2``, and twice the ridge, by the residual, for fits so close that the Gram matrices cancel.
    """

    B: Rows
    G: np.ndarray
    groups: Groups
    size: float
    row_cost: float
    residual_norm: Callable[[np.ndarray], float] | None = None

    exact = True
    degree = 2  # X times t multiplies the value by t^2
    evaluate_every = 1  # sweeps: B is at hand, the value costs next to nothing
    positive_start = False

    @classmethod
    def of(cls, data: Matrix, other: np.ndarray, ridge: float | np.ndarray = 0.0) -> SquaredFit:
        """Return the term of X and the other factor M, with a ridge of this weight, or of one for each column."""

        def residual_norm(F: np.ndarray) -> float:
            lengths = column_dots(F, F, np.float64) * column_dots(other, other, np.float64) if np.any(ridge) else 0.0
            return data.distance(F, other) + float(np.sum(ridge * lengths))

        return cls(
            data.times(other),
            ridged(gram(other), ridge),
            [data.blocks(other.shape[1])],
            data.sqnorm,
            data.entries_per_row,
            residual_norm,
        )

    def cached(self) -> SquaredFit:
        """Return the same term with B kept, block by block, once computed."""
        first, k, dtype = self.groups[0], self.G.shape[-1], self.G.dtype
        if isinstance(first, threads.Elsewhere) and len(self.groups) > 1:
            return self
        if isinstance(first, threads.Elsewhere):
            B = collect(self.B, first, (first.n_rows, k), dtype)
            return replace(self, B=lambda b: B[b])
        blocks = [b for group in self.groups for b in cast(Sequence, group)]
        slices = [b for b in blocks if isinstance(b, slice)]
        if len(slices) < len(blocks):
            return self  # rows by index are those of an array
        return replace(self, B=_kept(self.B, (max(b.stop for b in slices), k), dtype))

    def value(self, F: np.ndarray) -> float:
        """Return the term at F, summed in double precision: it is a small difference of large numbers."""
        value = self.size / 2
        for G, blocks in by_group(self.G.astype(np.float64), self.groups):
            value += threads.total(lambda b, G=G: self._block_value(b, F[b].astype(np.float64), G), blocks)
        if self.residual_norm is not None and value <= CLOSE * self._rounding:  # NaN is not
            return self.residual_norm(F) / 2
        return value

    def _block_value(self, b: Block, f: np.ndarray, G: np.ndarray) -> float:
        return float(np.vdot(f @ G, f) / 2 - np.vdot(self.B(b).astype(np.float64, copy=False), f))

    @property
    def _rounding(self) -> float:
        return ROUNDING * float(np.finfo(self.G.dtype).eps) * self.size

    def rounding_error(self, value: float) -> float:
        """Return the largest change of a value near this one that rounding can cause."""
        if self.residual_norm is None or value > CLOSE * self._rounding or not self.size:
            return self._rounding
        # Computed from the residual, in double precision: entries are off by a part of those of X, with random sign.
        # Rounding F and M to their own precision changes the value itself, by the square of that rounding.
        double, own = (float(np.finfo(dtype).eps) for dtype in (np.float64, self.G.dtype))
        return ROUNDING * double * float(np.sqrt(max(value, 0.0) * self.size)) + own**2 * self.size

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return B and G, which do not depend on F."""
        return Majoriser(self.B, self.G)

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return ``F G^+ + B^-`` and ``F G^- + B^+``: G is split, not its product with F (docs/methods.md 1.2)."""
        (G,) = self.G.reshape(-1, *self.G.shape[-2:])  # published updates have one group
        signs = np.hstack([np.maximum(G, 0), np.maximum(-G, 0)])
        return lambda b: by_place.by_sign(F[b] @ signs, self.B(b))


def _kept(rows: Rows, shape: tuple[int, int], dtype: np.dtype) -> Rows:
    """Compute each block on first use, and keep it."""
    kept, done = tall.empty(shape, dtype), set()

    def get(b: slice) -> np.ndarray:
        if (b.start, b.stop) not in done:
            kept[b] = rows(b)
            done.add((b.start, b.stop))
        return kept[b]

    return get

"""`ByBlocks`: X whose rows are far from the processor, each block of which is brought to it once in a pass."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ..._utils import threads
from ..._utils.stored import Extent
from .dense import Dense, balanced
from .matrix import Matrix, Rows, RowsOf

Value = TypeVar("Value", float, np.ndarray)


class ByBlocks(Matrix):
    """X in unit scale, by blocks of rows. Every product, norm and distance is a pass over them.

    A product with the rows of X is computed as its rows are needed; one with those of the transpose at once, as a sum
    over the blocks.

    Parameters
    ----------
    shape, dtype : tuple of int, dtype
        Of X.
    extent : Extent
        Smallest and largest entry, and sums.
    """

    has_gram = True
    by_blocks = True
    flipped = False

    def __init__(self, shape: tuple[int, int], dtype: np.dtype, extent: Extent):
        self.base_shape, self.dtype, self.extent = shape, dtype, extent
        self.stored = shape[0] * shape[1]
        self.scale = extent.magnitude if extent.magnitude >= np.finfo(dtype).tiny else 1.0

    @abstractmethod
    def _read(self, b: slice) -> np.ndarray:
        """Return rows of X, in its own units."""

    @abstractmethod
    def _sum(self, of_block: Callable[[slice, Dense], Value]) -> Value:
        """Return the sum of a function of the rows of a block and of the block, over all blocks in their order."""

    @property
    def nonnegative(self) -> bool:
        """Whether no entry is below zero."""
        return self.extent.low >= 0

    @property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        return self.extent.sqnorm * self._share**2

    @property
    def total(self) -> float:
        """Sum of the entries, in unit scale."""
        return self.extent.total * self._share

    @property
    def _share(self) -> float:
        return self.extent.magnitude / self.scale

    def ratio_blocks(self, k: int) -> threads.Items:
        """Return the rows of the transpose as one slice: all of them are known after one pass."""
        return [slice(0, self.shape[0])] if self.flipped else self.blocks(k)

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b in unit scale; the transpose has no rows by themselves."""
        if self.flipped:
            raise self._missing("rows of a transpose")
        return self._read(b) / self.dtype.type(self.scale)

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        R, rest = balanced(R, self.scale, self.dtype, tall=self.flipped)
        if self.flipped:
            return np.multiply(self._sum(lambda b, part: _transposed_product(part, R[b])), rest).__getitem__

        def rows(b: slice) -> np.ndarray:
            out = self._read(b) @ R
            return out if rest == 1 else np.multiply(out, rest, out=out)

        return rows

    def ratio_times(self, M: np.ndarray) -> RowsOf:
        """Return ``(X / (F M^T)) @ M`` on rows b, where F is f."""

        def by_columns(b: slice, f: np.ndarray) -> np.ndarray:
            return self._sum(lambda rows, part: _by_slices(part.T, M[rows], f))[b]

        def by_rows(b: slice, f: np.ndarray) -> np.ndarray:
            part = self._read(b)
            return Dense(part, self.scale).ratio_times(M)(slice(0, len(part)), f)

        return by_columns if self.flipped else by_rows

    def gram(self) -> np.ndarray:
        """Return ``X^T X`` in unit scale, in double precision; for few features."""
        if self.flipped:
            raise self._missing("Gram matrix of its rows")
        return self._sum(lambda _, part: part.gram())

    def distance(self, F: np.ndarray, M: np.ndarray) -> float:
        """Return ``||X - F M^T||^2`` by its residual: for fits so close that Grams cancel."""
        A, B = (M, F) if self.flipped else (F, M)
        return self._sum(lambda b, part: part.distance(A[b], B))

    def divergence(self, F: np.ndarray, M: np.ndarray) -> float:
        """Return the Kullback-Leibler divergence of X from ``F @ M.T``."""
        A, B = (M, F) if self.flipped else (F, M)
        return self._sum(lambda b, part: part.divergence(A[b], B))


def _transposed_product(part: Dense, R: np.ndarray, few: int = 4096, rows: int = 8192) -> np.ndarray:
    """Return ``X^T R`` of a block, not in unit scale: its rows are shared by the threads, or many features are."""
    X = part.base
    if X.shape[1] > few:
        return Dense(X, 1.0, flipped=True).product(R)
    return threads.total(lambda b: X[b].T @ R[b], threads.blocks(len(X), rows))


def _by_slices(part: Matrix, M: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return ``(X / (f M^T)) @ M``, on all threads."""
    rows, slices = part.ratio_times(M), part.blocks(M.shape[1])
    return np.vstack(threads.each(lambda b: rows(b, f[b]), slices))

"""X on disk, by blocks of rows: each is read once in a pass, and the next one while it is multiplied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from ..._utils import threads
from ..._utils.stored import Stored
from .dense import Dense, balanced
from .matrix import Matrix, Rows, RowsOf

Value = TypeVar("Value", float, np.ndarray)


class Disk(Matrix):
    """A `Stored` array in unit scale. Every product, norm and distance is a pass over its blocks, in their order.

    A product with the rows of X is computed as its rows are needed, in order; one with those of the transpose at once,
    as a sum over the blocks.
    """

    has_gram = True
    on_disk = True

    def __init__(self, X: Stored):
        self.source, self.base_shape, self.dtype = X, X.shape, X.dtype
        self.stored, self.flipped = X.shape[0] * X.shape[1], False
        largest = X.extent.magnitude
        self.scale = largest if largest >= np.finfo(X.dtype).tiny else 1.0
        self._edges = [b.start for b in X.blocks]

    @property
    def nonnegative(self) -> bool:
        """Whether no entry is below zero."""
        return self.source.extent.low >= 0

    @property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        return self.source.extent.sqnorm * self._share**2

    @property
    def total(self) -> float:
        """Sum of the entries, in unit scale."""
        return self.source.extent.total * self._share

    @property
    def _share(self) -> float:
        return self.source.extent.magnitude / self.scale

    def ratio_blocks(self, k: int) -> list[slice]:
        """Return the rows of the transpose as one slice: all of them are known after one pass."""
        return [slice(0, self.shape[0])] if self.flipped else self.blocks(k)

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b in unit scale; those of the transpose need a pass over the file."""
        if not self.flipped:
            return self.source.read(b) / self.dtype.type(self.scale)
        return np.hstack([part.base[:, b].T for _, part in self._pass()]) / self.dtype.type(self.scale)

    def every(self, step: int, first: int = 0) -> Dense:
        """Return every step-th row in memory, in the same unit: for few of them."""
        return Dense(self.source.read(slice(first, None, step)), self.scale)

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        R, rest = balanced(R, self.scale, self.dtype, tall=self.flipped)
        if self.flipped:
            return np.multiply(self._sum(lambda b, part: _transposed_product(part, R[b])), rest).__getitem__

        def rows(b: slice) -> np.ndarray:
            out = np.empty((b.stop - b.start, R.shape[1]), self.dtype)
            for at, part in self._parts_of(b):
                np.matmul(part, R, out=out[at])
            return out if rest == 1 else np.multiply(out, rest, out=out)

        return rows

    def ratio_times(self, M: np.ndarray) -> RowsOf:
        """Return ``(X / (F M^T)) @ M`` on rows b, where F is f."""

        def by_columns(b: slice, f: np.ndarray) -> np.ndarray:
            return self._sum(lambda rows, part: _by_slices(part.T, M[rows], f))[b]

        def by_rows(b: slice, f: np.ndarray) -> np.ndarray:
            out = np.empty_like(f)
            for at, part in self._parts_of(b):
                out[at] = Dense(part, self.scale).ratio_times(M)(slice(0, len(part)), f[at])
            return out

        return by_columns if self.flipped else by_rows

    def gram(self) -> np.ndarray:
        """Return ``X^T X`` in unit scale, in double precision; of the transpose for few samples."""
        if not self.flipped:
            return self._sum(lambda _, part: part.gram())
        out = np.empty((self.shape[1],) * 2)
        for b in self.source.blocks:
            left = self.source.read(b).astype(np.float64) / self.scale
            for at, part in self._pass():
                out[b, at] = left @ (part.base.astype(np.float64) / self.scale).T
        return out

    def distance(self, F: np.ndarray, M: np.ndarray) -> float:
        """Return ``||X - F M^T||^2`` by its residual: for fits so close that Grams cancel."""
        A, B = (M, F) if self.flipped else (F, M)
        return self._sum(lambda b, part: part.distance(A[b], B))

    def divergence(self, F: np.ndarray, M: np.ndarray) -> float:
        """Return the Kullback-Leibler divergence of X from ``F @ M.T``."""
        A, B = (M, F) if self.flipped else (F, M)
        return self._sum(lambda b, part: part.divergence(A[b], B))

    def _parts_of(self, b: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the rows of a slice by the blocks they are in, with their places in the slice."""
        start = b.start
        while start < b.stop:
            i = bisect_right(self._edges, start) - 1
            block = self.source.blocks[i]
            stop = min(b.stop, block.stop)
            part = self.source.block(i)[start - block.start : stop - block.start]
            yield slice(start - b.start, stop - b.start), part
            start = stop

    def _pass(self) -> Iterator[tuple[slice, Dense]]:
        for i, b in enumerate(self.source.blocks):
            yield b, Dense(self.source.block(i), self.scale)

    def _sum(self, of_block: Callable[[slice, Dense], Value]) -> Value:
        """Return a sum over the blocks, in their order."""
        parts = (of_block(b, part) for b, part in self._pass())
        total = next(parts)
        for part in parts:
            total += part
        return total


def _transposed_product(part: Dense, R: np.ndarray, few: int = 4096, rows: int = 8192) -> np.ndarray:
    """Return ``X^T R`` of a block, not in unit scale: its rows are shared by the threads, or many features are."""
    X = part.base
    if X.shape[1] > few:
        return Dense(X, 1.0, flipped=True).product(R)
    return sum(threads.each(lambda b: X[b].T @ R[b], threads.blocks(len(X), rows)))


def _by_slices(part: Matrix, M: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return ``(X / (f M^T)) @ M``, on all threads."""
    rows, slices = part.ratio_times(M), part.blocks(M.shape[1])
    return np.vstack(threads.each(lambda b: rows(b, f[b]), slices))

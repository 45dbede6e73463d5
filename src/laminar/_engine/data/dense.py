"""X as an array."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..._utils import threads
from .matrix import CACHED, FLOOR, Matrix, Rows, RowsOf


class Dense(Matrix):
    """A 2-d float array; its rows are contiguous, or nearly so."""

    has_gram = True

    def __init__(self, base: np.ndarray, scale: float, flipped: bool = False):
        self.base, self.scale, self.flipped = base, scale, flipped
        self.base_shape, self.dtype, self.stored = base.shape, base.dtype, base.size
        step, item = base.strides, base.itemsize
        # BLAS reads rows that are contiguous, aligned and apart; others are copied a tile at a time.
        apart = step[0] >= item * base.shape[1] and step[0] % item == 0
        self._blas = base.flags.aligned and step[1] == item and apart

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b in unit scale: a copy, so few at a time."""
        return (self.base[:, b].T if self.flipped else self.base[b]) / self.dtype.type(self.scale)

    def every(self, step: int, first: int = 0) -> Dense:
        """Return every step-th row, in the same unit: a view where rows are contiguous."""
        part = np.ascontiguousarray(self.base[:, first::step].T) if self.flipped else self.base[first::step]
        return Dense(part, self.scale)

    def _stored_rows(self, b: slice) -> np.ndarray:
        return self.base[b]

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is below zero."""
        return all(threads.each(lambda b: float(self.base[b].min(initial=0)) >= 0, self._base_blocks()))

    @cached_property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        s = 1 / self.scale
        # Far from 1 squares leave the range of float64: a power of two, which rounds nothing, brings X near.
        power = 1.0 if 1e-100 < self.scale < 1e100 else 2.0 ** round(np.log2(s))
        rest = s / power

        def block(rows: slice) -> float:
            if self.dtype == np.float64:
                part = np.ascontiguousarray(self.base[rows])
                part = part if power == 1 else part * power
                return float(np.vdot(part, part)) * rest * rest
            part = np.multiply(self.base[rows], s, dtype=np.float64)
            return float(np.einsum("ij,ij->", part, part))

        return sum(threads.each(block, self._base_blocks()))

    @cached_property
    def total(self) -> float:
        """Sum of the entries, in unit scale."""
        s = 1 / self.scale
        parts = threads.each(lambda b: float(np.multiply(self.base[b], s, dtype=np.float64).sum()), self._base_blocks())
        return sum(parts)

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        R, rest = balanced(R, self.scale, self.dtype, tall=len(R) > self.shape[0])

        def rows(b: slice) -> np.ndarray:
            part = self.base[:, b].T if self.flipped else self.base[b]
            out = self._matmul(part, R)
            return out if rest == 1 else np.multiply(out, rest, out=out)

        if self.flipped and self.shape[0] < 128 and len(R) > 4096:
            # Few rows, and long: the threads share their length.
            stored = threads.blocks(len(R), 8192)
            return (sum(threads.each(lambda b: self._matmul(self.base[b].T, R[b]), stored)) * rest).__getitem__
        return rows

    def _matmul(self, part: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return ``part @ R`` for a part of X or of its transpose."""
        if self._blas:
            return part @ R
        # Tiles do not depend on the threads, and go as far along a stored row as they may.
        along = max(1, min(512, self.base_shape[1]))
        down, right = (along, CACHED // along) if self.flipped else (CACHED // along, along)
        out = np.zeros((len(part), R.shape[1]), self.dtype)
        for j in range(0, len(R), right):
            for i in range(0, len(part), down):
                out[i : i + down] += part[i : i + down, j : j + right].copy("K") @ R[j : j + right]
        return out

    def gram(self) -> np.ndarray:
        """Return ``X^T X`` in unit scale, in double precision; for data with few columns."""
        s = self.dtype.type(1 / self.scale)

        def share(blocks: list[slice]) -> np.ndarray:
            parts = ((self.base[:, b].T if self.flipped else self.base[b]) * s for b in blocks)
            # Multiplied in double precision too: squares of a large row would drown the others.
            parts = (part.astype(np.float64, copy=False) for part in parts)
            return sum(part.T @ part for part in parts)

        return sum(threads.each(share, threads.shares(threads.blocks(self.shape[0], 1024))))

    def ratio_times(self, M: np.ndarray) -> RowsOf:
        """Return ``(X / (F M^T)) @ M`` on rows b, where F is f."""
        # The model is brought to the units of X, never X to unit scale: it would have to be copied.
        c = self.dtype.type(self.scale)

        def by_columns(b: slice, f: np.ndarray) -> np.ndarray:
            out, step = np.zeros_like(f), max(64, min(1024, CACHED // len(f)))
            for i in range(0, len(M), step):
                part = slice(i, i + step)
                out += self._ratio(self.base[part, b], (M[part] * c) @ f.T).T @ M[part]
            return out

        def by_rows(b: slice, f: np.ndarray) -> np.ndarray:
            out, step = np.empty_like(f), max(64, CACHED // len(M))
            for i in range(0, len(f), step):
                part = slice(i, i + step)
                np.matmul(self._ratio(self.base[b][part], (f[part] * c) @ M.T), M, out=out[part])
            return out

        return by_columns if self.flipped else by_rows

    def _ratio(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return X / Y, written over Y."""
        floor = max(FLOOR * self.scale, float(np.finfo(self.dtype).tiny))
        np.maximum(Y, self.dtype.type(floor), out=Y)
        return np.divide(X, Y, out=Y)

    def _cross_entropy(self, A: np.ndarray, B: np.ndarray) -> float:
        """Return the sum of x log(x / y) in unit scale, y = A B^T."""
        c, s = self.dtype.type(self.scale), 1 / self.scale

        def block(b: slice) -> float:
            ratio = self._ratio(self.base[b], (A[b] * c) @ B.T)
            log = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
            return float(np.einsum("ij,ij->", log, np.multiply(self.base[b], s, dtype=np.float64)))

        return sum(threads.each(block, self._base_blocks()))


def balanced(R: np.ndarray, scale: float, dtype: np.dtype, *, tall: bool) -> tuple[np.ndarray, np.floating]:
    """Return R and a factor of the product ``X R`` that together divide it by the scale of X.

    The scale goes into the smaller of R and the result: no copy of a tall R. Far from 1 half of its exponent goes into
    the other, so that neither leaves the range of float32; powers of two round nothing.
    """
    half = 1.0 if tall else scale
    if not 1e-9 < scale < 1e9:
        half *= 2.0 ** (round(np.log2(scale) / 2) * (1 if tall else -1))
    return R if half == 1 else R * dtype.type(1 / half), dtype.type(half / scale)

"""X on a device: products are computed there; those with the transpose, of one row a feature, come back."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._utils.device.array import DeviceArray
from .dense import balanced
from .matrix import FLOOR, Matrix, Rows, RowsOf

BYTES = 1 << 28  # of a temporary array as large as some rows of X


class OnDevice(Matrix):
    """An array on a device, in unit scale.

    Parameters
    ----------
    X : DeviceArray of shape (n, p)
        The samples.
    scale : float or None
        What X is divided by; None is its largest magnitude.
    """

    has_gram = True
    by_blocks = True
    flipped = False

    def __init__(self, X: DeviceArray, scale: float | None = None):
        self.base: Any = X
        self.base_shape, self.dtype, self.stored = (len(X), X.shape[1]), X.dtype, X.size
        self.holders = X.workers
        if scale is None:
            largest = max(float(X.max(initial=0)), -float(X.min(initial=0)))
            scale = largest if largest >= np.finfo(X.dtype).tiny else 1.0
        self.scale = scale

    def every(self, step: int, first: int = 0) -> OnDevice:
        """Return every step-th row, in the same unit."""
        return OnDevice(self.base[first::step], self.scale)

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is below zero."""
        return float(self.base.min(initial=0)) >= 0

    @cached_property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        return sum(float(np.square(self._double(b)).sum()) for b in self._slices())

    @cached_property
    def total(self) -> float:
        """Sum of the entries, in unit scale."""
        return sum(float(self._double(b).sum()) for b in self._slices())

    def _slices(self) -> list[slice]:
        n, p = self.base_shape
        step = max(1, BYTES // (8 * max(1, p)))
        return [slice(a, min(a + step, n)) for a in range(0, n, step)]

    def _double(self, b: slice) -> DeviceArray:
        """Return rows of X itself, in unit scale and double precision."""
        return self.base[b].astype(np.float64) * (1 / self.scale)

    def rows(self, b: slice) -> Any:
        """Return rows b in unit scale, on the device; features, the rows of the transpose, in this process."""
        if self.flipped:
            return self.base[:, b].to_host().T / self.dtype.type(self.scale)
        return self.base[b] / self.dtype.type(self.scale)

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        R, rest = balanced(R, self.scale, self.dtype, tall=self.flipped)
        if self.flipped:
            return np.multiply(self.base.T @ R, rest).__getitem__

        def rows(b: slice) -> Any:
            out = self.base[b] @ R
            return out if rest == 1 else np.multiply(out, rest, out=out)

        return rows

    def gram(self) -> np.ndarray:
        """Return ``X^T X`` in unit scale, in double precision; for few columns."""
        if not self.flipped:
            return sum((part.T @ part for part in map(self._double, self._slices())), np.zeros(()))
        rows = self._double(slice(0, self.base_shape[0]))
        return (rows @ rows.to_host().T).to_host()

    def ratio_times(self, M: np.ndarray) -> RowsOf:
        """Return ``(X / (F M^T)) @ M`` on rows b, where F is f."""

        def by_columns(b: slice, f: np.ndarray) -> np.ndarray:
            return sum((self._ratio(rows, M[rows], f).T @ M[rows] for rows in self._slices()), np.zeros(()))[b]

        def by_rows(b: slice, f: Any) -> Any:
            out = np.empty_like(f)
            for rows in self._slices():
                inside = slice(max(rows.start, b.start), min(rows.stop, b.stop))
                if inside.start < inside.stop:
                    part = slice(inside.start - b.start, inside.stop - b.start)
                    out[part] = self._ratio(inside, f[part], M) @ M
            return out

        return by_columns if self.flipped else by_rows

    def ratio_blocks(self, k: int) -> Any:
        """Return the rows of the transpose as one slice: all of them are known after one pass."""
        return [slice(0, self.shape[0])] if self.flipped else self.blocks(k)

    def _ratio(self, b: slice, A: Any, B: np.ndarray) -> Any:
        """Return ``x / y`` on rows b, ``y = A B^T``."""
        floor = max(FLOOR * self.scale, float(np.finfo(self.dtype).tiny))
        model = (A * self.dtype.type(self.scale)) @ np.ascontiguousarray(B.T)
        np.maximum(model, self.dtype.type(floor), out=model)
        return np.divide(self.base[b], model, out=model)

    def _cross_entropy(self, A: Any, B: np.ndarray) -> float:
        """Return the sum of x log(x / y) in unit scale, ``y = A B^T``."""

        def part(b: slice) -> float:
            ratio = self._ratio(b, A[b], B)
            log = np.log(np.where(ratio > 0, ratio, self.dtype.type(1)))
            return float((log * self._double(b)).sum())

        return sum(map(part, self._slices()))

    def distance(self, F: Any, M: Any) -> float:
        """Return ``||X - F M^T||^2`` by its residual: for fits so close that Grams cancel."""
        A, B = (M, F) if self.flipped else (F, M)

        def part(b: slice) -> float:
            gap = self._double(b) - A[b].astype(np.float64) @ B.T.astype(np.float64)
            return float(np.square(gap).sum())

        return sum(map(part, self._slices()))

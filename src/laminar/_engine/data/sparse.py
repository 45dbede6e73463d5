"""X in compressed rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..._utils import threads
from ..linalg import kernels
from .matrix import FLOOR, Matrix, Rows, RowsOf, unit_of


class Sparse(Matrix):
    """Compressed rows; the transpose has compressed rows of its own, made when it is first used."""

    flipped = False

    def __init__(self, X, scale: float | None = None):
        if not X.has_canonical_format:  # duplicates: the one case in which X is copied, to sum them
            X = X.copy()
            X.sum_duplicates()
        self.X, self.base_shape, self.dtype, self.stored = X, X.shape, X.dtype, X.nnz
        self.scale = scale or unit_of(X.data)
        self._unit = self.dtype.type(1 / self.scale)
        self._parts = X.indptr, X.indices, X.data

    @classmethod
    def of_columns(cls, X: sp.csc_array) -> Sparse:
        """Wrap compressed columns: they are the rows of the transpose, which is kept."""
        columns = cls(X.T)
        rows = columns._transposed()
        rows.adopt(columns)
        return rows

    def _transposed(self) -> Sparse:
        return Sparse(self.X.T.tocsr(), self.scale)

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is below zero."""
        return float(self.X.data.min(initial=0.0)) >= 0

    @cached_property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        x = np.multiply(self.X.data, self._unit, dtype=np.float64)
        return float(x @ x)

    @cached_property
    def total(self) -> float:
        """Sum of the entries, in unit scale."""
        return float(np.multiply(self.X.data, self._unit, dtype=np.float64).sum())

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        R = np.ascontiguousarray(R)

        def rows(b: slice) -> np.ndarray:
            out = np.empty((b.stop - b.start, R.shape[1]), self.dtype)
            kernels.sparse_times(*self._parts, R, out, b.start, self._unit)
            return out

        return rows

    def ratio_times(self, M: np.ndarray) -> RowsOf:
        """Return ``(X / (F M^T)) @ M`` on rows b, where F is f."""

        def rows(b: slice, f: np.ndarray) -> np.ndarray:
            out = np.empty_like(f)
            kernels.kl_times(*self._parts, f, M, out, b.start, self._unit, self.dtype.type(FLOOR))
            return out

        return rows

    def rows(self, b: slice) -> sp.csr_array:
        """Return rows b in unit scale: a copy, so few at a time."""
        return self.X[b] * self._unit

    def every(self, step: int, first: int = 0) -> Sparse:
        """Return every step-th row, in the same unit."""
        return Sparse(self.X[first::step], self.scale)

    def _stored_rows(self, b: slice) -> np.ndarray:
        return self.X[b].toarray()

    def _cross_entropy(self, A: np.ndarray, B: np.ndarray) -> float:
        """Return the sum of x log(x / y) over the stored entries, in unit scale, y = A B^T."""
        last = self._unit, self.dtype.type(FLOOR)
        parts = threads.each(
            lambda b: kernels.kl_value(*self._parts, A[b], B, b.start, *last), threads.blocks(len(A), 1024)
        )
        return sum(parts)

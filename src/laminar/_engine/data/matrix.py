"""X as the engine uses it.

`wrap(X)` returns a `Matrix`: products by blocks of rows, of X and of its transpose ``X.T``. All are of X in *unit
scale*, X divided by its largest magnitude (``scale``), so that nothing over- or underflows and nothing depends on the
units of the data. X itself is never copied or changed: the scale goes into the small matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Self
from weakref import ref

import numpy as np
import scipy.sparse as sp

from ..._utils import tall, threads
from ..._utils.place import Place

Rows = Callable[[Any], np.ndarray]
"""A matrix as a function of a block of its rows, a slice or indices."""

RowsOf = Callable[[Any, np.ndarray], np.ndarray]
"""The same of a matrix that depends on a factor F, whose rows in the block are the second argument."""

FLOOR = 1e-12  # of a model's value under a logarithm or in a denominator, in unit scale; a choice
CACHED = 1 << 17  # entries of a block that stays in the second-level cache: 1 MB in float64


class Matrix(ABC):
    """X (n, p), dense, sparse or derived from other matrices, in unit scale."""

    base_shape: tuple[int, int]
    dtype: np.dtype
    scale: float  # what unit scale is multiplied by to get back to X
    flipped: bool  # whether the rows of this matrix are columns in memory
    stored: int  # entries
    has_gram: bool = False  # whether `gram` is implemented
    by_blocks: bool = False  # whether a pass over X costs more than a product: rows are in a file, or in a place
    holders: Place | None = None  # workers or device that hold the samples; None where this process reads them

    leading: tuple[int, np.ndarray] = 0, np.empty((0, 0))  # right singular vectors known so far (`svd`), and a basis
    triplets: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # of a matrix that was made from them
    _transpose: Matrix | None = None  # made from this matrix, and owned by it
    _origin: ref[Matrix] | None = None  # what this matrix was made from; weak, or the two would keep each other alive

    @abstractmethod
    def rows(self, b) -> np.ndarray:
        """Return rows b in unit scale; a copy, so few at a time. Those of a sparse matrix are sparse."""

    @abstractmethod
    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` as a function of a slice of rows, so that it need not exist as a whole."""

    @property
    @abstractmethod
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether no entry is below zero."""

    @property
    def total(self) -> float:
        """Sum of the entries, in unit scale."""
        raise self._missing("total")

    def every(self, step: int, first: int = 0) -> Matrix:
        """Return every step-th row as a matrix, in the same unit."""
        raise self._missing("every")

    def ratio_times(self, M: np.ndarray) -> RowsOf:
        """Return ``(X / (F M^T)) @ M`` as a function of a slice of rows and of F there."""
        raise self._missing("ratio_times")

    def gram(self) -> np.ndarray:
        """Return ``X^T X`` in double precision; for few columns."""
        raise self._missing("gram")

    def _cross_entropy(self, A: np.ndarray, B: np.ndarray) -> float:
        """Return the sum of x log(x / y) in unit scale, y = A B^T, rows as they are in memory."""
        raise self._missing("divergence")

    def _stored_rows(self, b: slice) -> np.ndarray:
        """Return rows as they are in memory, as an array in the units of X."""
        raise self._missing("distance")

    def _missing(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {name}.")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, p = self.base_shape
        return (p, n) if self.flipped else (n, p)

    @property
    def T(self) -> Matrix:
        """The transpose; made once, so that what it computes is kept too."""
        origin = self._origin() if self._origin is not None else None
        if origin is not None:
            return origin
        if self._transpose is None:
            twin = self._transposed()
            self.adopt(twin)
            return twin
        return self._transpose

    def adopt(self, transpose: Matrix) -> None:
        """Keep a matrix as the transpose of this one."""
        self._transpose, self._origin = transpose, None
        transpose._transpose, transpose._origin = None, ref(self)

    def _transposed(self) -> Self:
        twin = copy(self)
        twin.flipped, twin.leading, twin.triplets = not self.flipped, Matrix.leading, None
        return twin

    def unit(self, degree: int) -> float:
        """Return the factor that brings an objective of this degree in X from unit scale to the units of X."""
        if degree == 2 and self.scale > 1e150:
            raise ValueError(
                f"The largest magnitude in X is {self.scale:.3g}: its square is out of range. Divide X by a constant."
            )
        return self.scale**degree

    def __getstate__(self) -> dict[str, Any]:
        """Return what products need, in a copy or on a worker: neither the transpose nor singular vectors."""
        derived = ("_transpose", "_origin", "leading", "triplets")
        return {name: value for name, value in vars(self).items() if name not in derived}

    @property
    def workers(self) -> Any:
        """The `Place` that holds the rows of this matrix; those of a transpose, features, are in this process."""
        return None if self.flipped else self.holders

    def cut(self, size: int) -> threads.Items:
        """Return the rows in slices of about this size."""
        return threads.tiles(self.shape[0], size) if self.workers is None else self.workers.blocks(size)

    def blocks(self, k: int) -> threads.Items:
        """Return slices of rows whose (rows, k) results stay in cache, yet are tall enough for a fast product."""
        return self.cut(max(256, 32768 // k))

    def ratio_blocks(self, k: int) -> threads.Items:
        """Return slices of rows for `ratio_times`."""
        return self.blocks(k)

    @property
    def entries_per_row(self) -> float:
        """Stored entries of a row, on average: what a product costs."""
        return self.stored / max(1, self.shape[0])

    def product(self, R: np.ndarray) -> np.ndarray:
        """Return ``X @ R``."""
        return collect(self.times(R), self.blocks(R.shape[1]), (self.shape[0], R.shape[1]), self.dtype)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some rows in unit scale as an array in this process, by increasing indices: few of them."""
        if self.workers is None:
            return dense(self.rows(rows))

        def found(b: slice) -> np.ndarray:
            inside = rows[(rows >= b.start) & (rows < b.stop)]
            return self.rows(inside) if len(inside) else np.empty((0, self.shape[1]), self.dtype)

        return np.concatenate(self.workers.blocks(None).each(found))

    def distance(self, F: np.ndarray, M: np.ndarray) -> float:
        """Return ``||X - F M^T||^2`` by its residual, in blocks of rows: for fits so close that Grams cancel."""
        A, B = (M, F) if self.flipped else (F, M)

        def block(b: slice) -> float:
            gap = np.multiply(self._stored_rows(b), 1 / self.scale, dtype=np.float64) - A[b].astype(np.float64) @ B.T
            return float(np.einsum("ij,ij->", gap, gap))

        return threads.total(block, self._base_blocks())

    def _base_blocks(self) -> list[slice]:
        n, p = self.base_shape
        return threads.blocks(n, max(1, CACHED // max(1, p)))

    def divergence(self, F: np.ndarray, M: np.ndarray) -> float:
        """Return the Kullback-Leibler divergence of X from ``F @ M.T``."""
        A, B = (M, F) if self.flipped else (F, M)
        total = F.sum(0, dtype=np.float64) @ M.sum(0, dtype=np.float64)
        return max(self._cross_entropy(A, B) - self.total + float(total), 0.0)  # NaN stays NaN


def unit_of(X: np.ndarray) -> float:
    """Return the largest magnitude in X; 1 for zeros, and for numbers too small to divide by."""
    rows = threads.blocks(len(X), max(1, CACHED // max(1, X[:1].size)))
    largest = max(threads.each(lambda b: max(float(X[b].max()), -float(X[b].min())), rows), default=0.0)
    return largest if largest >= np.finfo(X.dtype).tiny else 1.0


def smallest(X) -> float:
    """Return the smallest entry of an array or a sparse matrix, in which scipy would merge duplicates: not here."""
    return float((X.copy() if sp.issparse(X) and not X.has_canonical_format else X).min())


def dense(X) -> np.ndarray:
    """Return an array as it is, a sparse matrix as an array."""
    return X.toarray() if sp.issparse(X) else X


def collect(rows: Rows, blocks: threads.Items, shape: tuple[int, ...], dtype) -> Any:
    """Write a function of rows into one array, where the rows are."""
    out = tall.empty(shape, dtype, getattr(blocks, "workers", None))

    def write(b: slice) -> None:
        out[b] = rows(b)

    threads.each(write, blocks)
    return out

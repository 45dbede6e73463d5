"""X as the engine sees it.

`wrap(X)` gives an object with two views, itself and its transpose `.T`, that share one interface:

* ``times(R)``: the product ``X @ R``, as a function of a slice of rows, so that nobody needs all of it at once;
* ``ratio_times(M)``: ``(X / (F M^T)) @ M`` as a function of a slice of rows and of F there, for Kullback-Leibler;
* ``rows(b)``: a few rows as they are, and ``every(step)`` a sample of them as data of their own;
* ``divergence(F, M)`` and ``sqnorm``.

All of them speak of X in *unit scale*, X divided by its largest magnitude (``scale``), so that nothing over- or
underflows and nothing depends on how large or small the data are. X itself is never copied or changed: the scale goes
into the small matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..._utils import threads
from ..linalg import kernels

Rows = Callable[[slice], np.ndarray]

_FLOOR = 1e-12  # of a model's value under a logarithm or in a denominator, in unit scale
CACHED = 1 << 17  # entries of a block that stays in the second-level cache


def wrap(X) -> Matrix:
    """Wrap a validated array or CSR/CSC matrix."""
    if sp.issparse(X):
        return Sparse(X) if X.format == "csr" else Sparse(X.T).T
    X = np.asarray(X)  # a view: drops np.memmap's bookkeeping
    flipped = abs(X.strides[0]) < abs(X.strides[1])
    base = X.T if flipped else X
    return Dense(base, _scale(_largest(base), base.dtype), flipped)


def smallest(X) -> float:
    """The smallest entry of an array or a sparse matrix, which stays as it is: scipy would merge duplicates in it."""
    return float((X.copy() if sp.issparse(X) and not X.has_canonical_format else X).min())


def dense(X) -> np.ndarray:
    """An array as it is, a sparse matrix as an array."""
    return X.toarray() if sp.issparse(X) else X


def _largest(X: np.ndarray) -> float:
    """Largest magnitude in X."""
    rows = threads.blocks(len(X), max(1, CACHED // max(1, X[:1].size)))
    return max(threads.each(lambda b: max(float(X[b].max()), -float(X[b].min())), rows), default=0.0)


def _scale(largest: float, dtype: np.dtype) -> float:
    """The unit of the data: their largest magnitude; 1 for zeros, and for numbers too small to divide by."""
    return largest if largest >= np.finfo(dtype).tiny else 1.0


class Matrix:
    """What dense and sparse data share. ``flipped`` says that the stored rows are this view's columns."""

    base_shape: tuple[int, int]
    dtype: np.dtype
    scale: float  # what unit scale is multiplied by to get back to X
    flipped: bool
    stored: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of this view."""
        return self.base_shape[::-1] if self.flipped else self.base_shape

    @cached_property
    def T(self) -> Matrix:
        """The transpose, sharing everything; made once, so that what it works out is kept too."""
        twin = copy(self)
        twin.flipped = not self.flipped
        twin.__dict__["T"] = self
        return twin

    def drop_transpose(self) -> None:
        """Break the reference cycle between X and its transpose, which would keep X until garbage is collected."""
        self.__dict__.pop("T", None)

    def unit(self, degree: int) -> float:
        """Return the factor that brings an objective of this degree in X from unit scale to the units of X."""
        if degree == 2 and self.scale > 1e150:
            raise ValueError(
                f"The largest magnitude in X is {self.scale:.3g}: its square is out of range. Divide X by a constant."
            )
        return self.scale**degree

    def blocks(self, k: int) -> list[slice]:
        """Slices of rows whose (rows, k) results stay in cache, yet are tall enough for a fast product."""
        return threads.blocks(self.shape[0], max(256, 32768 // k))

    @property
    def entries_per_row(self) -> float:
        """Stored entries of a row, on average: what a product costs."""
        return self.stored / max(1, self.shape[0])

    def product(self, R: np.ndarray) -> np.ndarray:
        """All of ``X @ R``."""
        return collect(self.times(R), self.blocks(R.shape[1]), (self.shape[0], R.shape[1]), self.dtype)

    def distance(self, F: np.ndarray, M: np.ndarray) -> float:
        """``||X - F M^T||^2`` by its residual, a block of rows at a time: for fits so close that Grams cancel."""
        A, B = (M, F) if self.flipped else (F, M)

        def block(b: slice) -> float:
            gap = np.multiply(self._stored_rows(b), 1 / self.scale, dtype=np.float64) - A[b].astype(np.float64) @ B.T
            return float(np.einsum("ij,ij->", gap, gap))

        return sum(threads.each(block, self._base_blocks()))

    def _base_blocks(self) -> list[slice]:
        n, p = self.base_shape
        return threads.blocks(n, max(1, CACHED // max(1, p)))

    def divergence(self, F: np.ndarray, M: np.ndarray) -> float:
        """Kullback-Leibler divergence of X from ``F @ M.T``."""
        A, B = (M, F) if self.flipped else (F, M)
        total = F.sum(0, dtype=np.float64) @ M.sum(0, dtype=np.float64)
        return max(self._cross_entropy(A, B) - self.total + float(total), 0.0)  # NaN stays NaN


class Dense(Matrix):
    """A 2-d float array; its rows are contiguous, or nearly so."""

    def __init__(self, base: np.ndarray, scale: float, flipped: bool = False):
        self.base, self.scale, self.flipped = base, scale, flipped
        self.base_shape, self.dtype, self.stored = base.shape, base.dtype, base.size
        step, item = base.strides, base.itemsize
        # BLAS reads rows that are contiguous, aligned and apart; others are copied a tile at a time.
        apart = step[0] >= item * base.shape[1] and step[0] % item == 0
        self._blas = base.flags.aligned and step[1] == item and apart

    def rows(self, b: slice) -> np.ndarray:
        """Rows b in unit scale: a copy, so few at a time."""
        return (self.base[:, b].T if self.flipped else self.base[b]) / self.dtype.type(self.scale)

    def every(self, step: int, first: int = 0) -> Dense:
        """Every step-th row, in the same unit: a view where rows are contiguous."""
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
        """``X @ R`` by rows."""
        # The scale goes into the smaller of R and the result: no copy of a tall R. Far from 1 half of its exponent goes
        # into the other, so that neither leaves the range of float32; powers of two round nothing.
        tall = len(R) > self.shape[0]
        half = 1.0 if tall else self.scale
        if not 1e-9 < self.scale < 1e9:
            half *= 2.0 ** (round(np.log2(self.scale) / 2) * (1 if tall else -1))
        R, rest = R if half == 1 else R * self.dtype.type(1 / half), self.dtype.type(half / self.scale)

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
        """``part @ R`` for a part of X or of its transpose."""
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
        """``X^T X`` in unit scale, in double precision; for data with few columns."""
        s = self.dtype.type(1 / self.scale)

        def share(blocks: list[slice]) -> np.ndarray:
            parts = ((self.base[:, b].T if self.flipped else self.base[b]) * s for b in blocks)
            # Multiplied in double precision too: squares of a large row would drown the others.
            parts = (part.astype(np.float64, copy=False) for part in parts)
            return sum(part.T @ part for part in parts)

        return sum(threads.each(share, threads.shares(threads.blocks(self.shape[0], 1024))))

    def ratio_times(self, M: np.ndarray) -> Callable[[slice, np.ndarray], np.ndarray]:
        """``(X / (F M^T)) @ M`` on rows b, where F is f."""
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
        """X / Y, over Y."""
        floor = max(_FLOOR * self.scale, float(np.finfo(self.dtype).tiny))
        np.maximum(Y, self.dtype.type(floor), out=Y)
        return np.divide(X, Y, out=Y)

    def _cross_entropy(self, A: np.ndarray, B: np.ndarray) -> float:
        """Sum of x log(x / y) in unit scale, y = A B^T."""
        c, s = self.dtype.type(self.scale), 1 / self.scale

        def block(b: slice) -> float:
            ratio = self._ratio(self.base[b], (A[b] * c) @ B.T)
            log = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
            return float(np.einsum("ij,ij->", log, np.multiply(self.base[b], s, dtype=np.float64)))

        return sum(threads.each(block, self._base_blocks()))


class Sparse(Matrix):
    """Compressed rows. The transpose is compressed once more, so that both sides have their rows at hand."""

    flipped = False

    def __init__(self, X, scale: float | None = None):
        if not X.has_canonical_format:  # duplicates: the one case in which X is copied, to sum them
            X = X.copy()
            X.sum_duplicates()
        self.X, self.base_shape, self.dtype, self.stored = X, X.shape, X.dtype, X.nnz
        self.scale = scale or _scale(_largest(X.data), X.dtype)
        self._unit = self.dtype.type(1 / self.scale)
        self._parts = X.indptr, X.indices, X.data

    @cached_property
    def T(self) -> Sparse:
        """The transpose."""
        twin = Sparse(self.X.T.tocsr(), self.scale)
        twin.__dict__["T"] = self
        return twin

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
        """``X @ R`` by rows."""
        R = np.ascontiguousarray(R)

        def rows(b: slice) -> np.ndarray:
            out = np.empty((b.stop - b.start, R.shape[1]), self.dtype)
            kernels.sparse_times(*self._parts, R, out, b.start, self._unit)
            return out

        return rows

    def ratio_times(self, M: np.ndarray) -> Callable[[slice, np.ndarray], np.ndarray]:
        """``(X / (F M^T)) @ M`` on rows b, where F is f."""

        def rows(b: slice, f: np.ndarray) -> np.ndarray:
            out = np.empty_like(f)
            kernels.kl_times(*self._parts, f, M, out, b.start, self._unit, self.dtype.type(_FLOOR))
            return out

        return rows

    def rows(self, b: slice) -> sp.csr_array:
        """Rows b in unit scale: a copy, so few at a time."""
        return self.X[b] * self._unit

    def every(self, step: int, first: int = 0) -> Sparse:
        """Every step-th row, in the same unit."""
        return Sparse(self.X[first::step], self.scale)

    def _stored_rows(self, b: slice) -> np.ndarray:
        return self.X[b].toarray()

    def _cross_entropy(self, A: np.ndarray, B: np.ndarray) -> float:
        """Sum of x log(x / y) over the stored entries, in unit scale, y = A B^T."""
        last = self._unit, self.dtype.type(_FLOOR)
        parts = threads.each(
            lambda b: kernels.kl_value(*self._parts, A[b], B, b.start, *last), threads.blocks(len(A), 1024)
        )
        return sum(parts)


def collect(rows: Rows, blocks: list[slice], shape: tuple[int, int], dtype) -> np.ndarray:
    """Write a function of rows into one array."""
    out = np.empty(shape, dtype)

    def write(b: slice) -> None:
        out[b] = rows(b)

    threads.each(write, blocks)
    return out

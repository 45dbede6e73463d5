"""The only module that touches X.

`wrap(X)` gives an object with two views, itself and its transpose `.T`, that share one interface:

* ``times(R)``: the product ``X @ R``, as a function of a slice of rows, so that nobody needs all of it at once;
* ``ratio_times(F, M)``: the same for ``(X / (F M^T)) @ M``, what Kullback-Leibler updates need;
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

from . import kernels, threads

Rows = Callable[[slice], np.ndarray]

_FLOOR = 1e-12  # of a model's value under a logarithm or in a denominator, in unit scale
_CACHED = 1 << 17  # entries of a block that stays in the second-level cache


def wrap(X) -> Matrix:
    """Wrap a validated array or CSR/CSC matrix."""
    if sp.issparse(X):
        return Sparse.of(X)
    X = np.asarray(X)  # a view: drops np.memmap's bookkeeping
    flipped = X.strides[0] < X.strides[1]
    base = X.T if flipped else X
    return Dense(base, _largest(base), flipped)


def _largest(X: np.ndarray) -> float:
    """Largest magnitude in X; 1 for zeros."""
    rows = threads.blocks(len(X), max(1, _CACHED // max(1, X[:1].size)))
    return max(threads.each(lambda b: max(float(X[b].max()), -float(X[b].min())), rows), default=0.0) or 1.0


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

    def divergence(self, F: np.ndarray, M: np.ndarray) -> float:
        """Kullback-Leibler divergence of X from ``F @ M.T``."""
        A, B = (M, F) if self.flipped else (F, M)
        total = F.sum(0, dtype=np.float64) @ M.sum(0, dtype=np.float64)
        return max(0.0, self._cross_entropy(A, B) - self.total + float(total))


class Dense(Matrix):
    """A 2-d float array; its rows are contiguous, or nearly so."""

    def __init__(self, base: np.ndarray, scale: float, flipped: bool = False):
        self.base, self.scale, self.flipped = base, scale, flipped
        self.base_shape, self.dtype, self.stored = base.shape, base.dtype, base.size
        step, item = base.strides, base.itemsize
        # BLAS reads rows that are contiguous and aligned; others are copied a block at a time.
        self._blas = base.flags.aligned and step[1] == item and step[0] >= 0 and step[0] % item == 0

    def _base_blocks(self, size: int = _CACHED) -> list[slice]:
        n, p = self.base_shape
        return threads.blocks(n, max(64, size // max(1, p)))

    @cached_property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        s = 1 / self.scale

        def block(rows: slice) -> float:
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
        # Far from 1 the scale goes half into R and half into the result: neither leaves the range of float32.
        half = self.scale if 1e-9 < self.scale < 1e9 else self.scale**0.5
        R, rest = R * self.dtype.type(1 / half), self.dtype.type(half / self.scale)

        def rows(b: slice) -> np.ndarray:
            part = self.base[:, b].T if self.flipped else self.base[b]
            out = (part if self._blas else np.ascontiguousarray(part)) @ R
            return out if rest == 1 else np.multiply(out, rest, out=out)

        return rows

    def gram(self) -> np.ndarray:
        """``X^T X`` in unit scale, summed in double precision; for data with few columns."""
        s = self.dtype.type(1 / self.scale)

        def share(blocks: list[slice]) -> np.ndarray:
            parts = ((self.base[:, b].T if self.flipped else self.base[b]) * s for b in blocks)
            return sum((part.T @ part).astype(np.float64) for part in parts)

        return sum(threads.each(share, _share(threads.blocks(self.shape[0], 1024))))

    def _ratio(self, b: slice, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """X / (A B^T) on stored rows b; B comes with the scale of X in it."""
        Y = A[b] @ B.T
        floor = max(_FLOOR * self.scale, float(np.finfo(self.dtype).tiny))
        np.maximum(Y, self.dtype.type(floor), out=Y)
        return np.divide(self.base[b], Y, out=Y)

    def ratio_times(self, F: np.ndarray, M: np.ndarray) -> Rows:
        """``(X / (F M^T)) @ M`` by rows."""
        c = self.dtype.type(self.scale)
        if not self.flipped:
            scaled = M * c

            def rows(b: slice) -> np.ndarray:
                out = np.empty((b.stop - b.start, F.shape[1]), self.dtype)
                step = max(64, _CACHED // self.base_shape[1])
                for i in range(b.start, b.stop, step):
                    part = slice(i, min(i + step, b.stop))
                    np.matmul(self._ratio(part, F, scaled), M, out=out[i - b.start : part.stop - b.start])
                return out

            return rows

        scaled = F * c
        parts = threads.each(
            lambda bs: sum(self._ratio(b, M, scaled).T @ M[b] for b in bs), _share(self._base_blocks())
        )
        return sum(parts).__getitem__

    def _cross_entropy(self, A: np.ndarray, B: np.ndarray) -> float:
        """Sum of x log(x / y) in unit scale, y = A B^T."""
        scaled, s = B * self.dtype.type(self.scale), 1 / self.scale

        def block(b: slice) -> float:
            ratio = self._ratio(b, A, scaled)
            log = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
            return float(np.einsum("ij,ij->", log, np.multiply(self.base[b], s, dtype=np.float64)))

        return sum(threads.each(block, self._base_blocks()))


class Sparse(Matrix):
    """Compressed rows of X (CSR) or of its transpose (CSC)."""

    def __init__(self, parts: tuple, base_shape: tuple[int, int], scale: float, flipped: bool):
        self.indptr, self.indices, self.values = parts
        self.base_shape, self.scale, self.flipped = base_shape, scale, flipped
        self.dtype, self.stored = self.values.dtype, self.values.size

    @classmethod
    def of(cls, X) -> Sparse:
        """Share the arrays of a scipy matrix; only one with duplicate entries is copied, to sum them."""
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        flipped = X.format == "csc"
        shape = X.shape[::-1] if flipped else X.shape
        scale = max(float(X.data.max(initial=0.0)), -float(X.data.min(initial=0.0))) or 1.0
        return cls((X.indptr, X.indices, X.data), shape, scale, flipped)

    @property
    def _parts(self) -> tuple:
        return self.indptr, self.indices, self.values

    @property
    def _unit(self):
        return self.dtype.type(1 / self.scale)

    @cached_property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        x = np.multiply(self.values, self._unit, dtype=np.float64)
        return float(x @ x)

    @cached_property
    def total(self) -> float:
        """Sum of the entries, in unit scale."""
        return float(np.multiply(self.values, self._unit, dtype=np.float64).sum())

    def times(self, R: np.ndarray) -> Rows:
        """``X @ R`` by rows."""
        R = np.ascontiguousarray(R)
        if self.flipped:
            return self._accumulate(kernels.sparse_scatter, (R,), R.shape[1], (self._unit,))

        def rows(b: slice) -> np.ndarray:
            out = np.empty((b.stop - b.start, R.shape[1]), self.dtype)
            kernels.sparse_gather(*self._parts, R, out, b.start, self._unit)
            return out

        return rows

    def ratio_times(self, F: np.ndarray, M: np.ndarray) -> Rows:
        """``(X / (F M^T)) @ M`` by rows."""
        last = self._unit, self.dtype.type(_FLOOR)
        if self.flipped:
            return self._accumulate(kernels.kl_scatter, (F, M), F.shape[1], last)

        def rows(b: slice) -> np.ndarray:
            out = np.empty((b.stop - b.start, F.shape[1]), self.dtype)
            kernels.kl_gather(*self._parts, F[b], M, out, b.start, *last)
            return out

        return rows

    def _accumulate(self, kernel: Callable, factors: tuple, k: int, last: tuple) -> Rows:
        """Run a scattering kernel on the stored rows, one buffer a thread, and sum the buffers."""

        def part(rows: slice) -> np.ndarray:
            out = np.zeros((self.base_shape[1], k), self.dtype)
            kernel(*self._parts, *factors, out, rows.start, rows.stop, *last)
            return out

        n = self.base_shape[0]
        return sum(threads.each(part, threads.blocks(n, -(-n // threads.n_threads())))).__getitem__

    def _cross_entropy(self, A: np.ndarray, B: np.ndarray) -> float:
        """Sum of x log(x / y) over the stored entries, in unit scale, y = A B^T."""
        last = self._unit, self.dtype.type(_FLOOR)
        parts = threads.each(
            lambda b: kernels.kl_value(*self._parts, A, B, b.start, b.stop, *last),
            threads.blocks(self.base_shape[0], 4096),
        )
        return sum(parts)


def _share(items: list) -> list[list]:
    """Deal items to the threads, neighbours together."""
    size = -(-len(items) // threads.n_threads())
    return [items[i : i + size] for i in range(0, len(items), size)]


def collect(rows: Rows, blocks: list[slice], shape: tuple[int, int], dtype) -> np.ndarray:
    """Write a function of rows into one array."""
    out = np.empty(shape, dtype)

    def write(b: slice) -> None:
        out[b] = rows(b)

    threads.each(write, blocks)
    return out

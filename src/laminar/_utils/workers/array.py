"""`DistributedArray`: a tall array whose rows are on workers, with the operations of arrays that a fit needs."""

from __future__ import annotations

from functools import cached_property
from typing import Any
from weakref import finalize

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .. import threads
from ..place import PlacedArray
from ..stored import Extent, extent_of, joined
from .store import LocalRows, LocalValues

ROWS = 4096  # of a slice in operations on entries


class RemoteBlocks(threads.Elsewhere):
    """The rows on some workers, cut into slices of about this size."""

    def __init__(self, workers: Any, size: int | None):
        self.workers, self.size = workers, size

    def each(self, work) -> list:
        """Run ``work(b)`` for every slice, where its rows are; results in the order of the rows."""
        return [found for part in self.workers.run(work, self.size) for found in part]

    def total(self, work) -> Any:
        """Return the sum of the results: of the slices of a block first, then of the blocks over a fixed tree."""
        return self.workers.total(work, self.size)


class RemoteGroup(threads.Elsewhere):
    """Those rows on some workers that are marked with a number, as arrays of indices of about this size."""

    def __init__(self, marks: DistributedArray, number: int, size: int):
        self.marks, self.number, self.size, self.workers = marks, number, size, marks.workers

    def each(self, work) -> list:
        """Run ``work(rows)`` for the indices of every slice, where the rows are."""
        return [found for part in self.marks.workers.run(self._of_block(work), None) for found in part[0]]

    def total(self, work) -> Any:
        """Return the sum of the results."""
        of_block = self._of_block(work)
        return self.marks.workers.total(lambda b: sum(of_block(b)), None)

    def _of_block(self, work):
        marks, number, size = self.marks, self.number, self.size

        def of_block(b: slice) -> list:
            rows = b.start + np.flatnonzero(marks[b] == number)
            return [work(rows[part]) for part in threads.tiles(len(rows), size)]

        return of_block


class BlockValues:
    """One object for each block, on the worker that has it; ``values[b]`` is for functions that are run there."""

    def __init__(self, workers: Any):
        self.workers, self.name = workers, workers.new_name()
        finalize(self, workers.free, self.name)

    def __reduce__(self):
        return LocalValues, (self.workers.session, self.name)


class DistributedArray(PlacedArray, NDArrayOperatorsMixin):
    """An array of one row a sample, of one or two dimensions, whose rows are on workers.

    ``F[b]`` is for functions that are run there (`RemoteBlocks`), which see a `LocalRows` in its place. Operations on
    entries with numbers, rows or other such arrays, products with a small matrix from the right, and sums over the
    samples are computed at once.
    """

    def __init__(self, workers: Any, shape: tuple[int, ...], dtype):
        self.workers, self.shape, self.dtype = workers, shape, np.dtype(dtype)
        self.name = workers.new_name()
        finalize(self, workers.free, self.name)

    def __reduce__(self):
        return LocalRows, (self.workers.session, self.name, self.shape, self.dtype)

    def __deepcopy__(self, memo) -> DistributedArray:
        return self.copy()

    @cached_property
    def extent(self) -> Extent:
        """Extent of the entries, in one pass; NaN or infinite where an entry is."""
        F: Any = self
        return joined(self.blocks().each(lambda b: extent_of(F[b])))

    def to_dask(self) -> Any:
        """Return a dask array of the same blocks."""
        return self.workers.to_dask(self)

    # ---- rows that come to this process --------------------------------------------------------------------------

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some rows, by increasing indices."""
        F: Any = self
        none = np.empty((0, *self.shape[1:]), self.dtype)

        def found(b: slice) -> np.ndarray:
            inside = rows[(rows >= b.start) & (rows < b.stop)]
            return F[inside] if len(inside) else none

        return np.concatenate(self.blocks().each(found))

    def to_host(self) -> np.ndarray:
        """Return all rows."""
        return np.asarray(self)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        F: Any = self
        return np.concatenate(self.blocks().each(lambda b: np.array(F[b]))).astype(dtype or self.dtype, copy=False)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):  # few rows at equal distances
            return self.take(np.arange(len(self))[at])
        rows, columns = at if isinstance(at, tuple) and len(at) == 2 else (None, None)
        if rows is Ellipsis or (isinstance(rows, slice) and rows == slice(None)):
            F: Any = self
            width = np.empty((0, *self.shape[1:]))[:, columns].shape[1:]
            return self._map(lambda b: F[b][:, columns], width, self.dtype)
        raise IndexError("rows of a distributed array are read by functions that run where they are.")

    # ---- operations ----------------------------------------------------------------------------------------------

    def _map(self, rows, width: tuple[int, ...], dtype, out: DistributedArray | None = None) -> DistributedArray:
        """Write a function of a slice of rows into an array."""
        out = self.workers.empty(width, dtype) if out is None else out
        to: Any = out

        def write(b: slice) -> None:
            to[b] = rows(b)

        self.blocks(ROWS).each(write)
        return out

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        # A product with a tall matrix from the right would be a sum over the samples, which is `cross`.
        if method != "__call__" or (ufunc is np.matmul and isinstance(inputs[1], DistributedArray)):
            return NotImplemented
        samples = [np.empty((1, *x.shape[1:]), x.dtype) if isinstance(x, DistributedArray) else x for x in inputs]
        with np.errstate(all="ignore"):
            like = ufunc(*samples, **keywords)

        def rows(b: slice) -> np.ndarray:
            return ufunc(*(x[b] if isinstance(x, LocalRows) else x for x in inputs), **keywords)

        target = None if out is None else out[0]
        return self._map(rows, like.shape[1:], like.dtype if target is None else target.dtype, target)

    def astype(self, dtype, copy: bool = True, **keywords) -> DistributedArray:
        """Return the array in another type."""
        if not copy and self.dtype == np.dtype(dtype):
            return self
        F: Any = self
        return self._map(lambda b: F[b].astype(dtype), self.shape[1:], dtype)

    def copy(self) -> DistributedArray:
        """Return a copy."""
        return self.astype(self.dtype)

    def _reduced(self, reduce, axis: int | None, initial=None) -> Any:
        F: Any = self
        own = {} if initial is None else {"initial": initial}
        parts = self.blocks(ROWS).each(lambda b: reduce(F[b], axis=axis, **own))
        return reduce(np.stack(parts), axis=0 if axis == 0 else None)

    def min(self, axis: int | None = None, initial=None) -> Any:
        """Return the smallest entry, of all or of each column."""
        return self._reduced(np.min, axis, initial)

    def max(self, axis: int | None = None, initial=None) -> Any:
        """Return the largest entry, of all or of each column."""
        return self._reduced(np.max, axis, initial)

    def any(self, axis: int | None = None) -> Any:
        """Return whether an entry is not zero."""
        return self._reduced(np.any, axis)

    def all(self, axis: int | None = None) -> Any:
        """Return whether no entry is zero."""
        return self._reduced(np.all, axis)

    def sum(self, axis: int | None = None, dtype=None) -> Any:
        """Return the sum of the entries, of all or of each column."""
        F: Any = self
        return self.blocks(ROWS).total(lambda b: F[b].sum(axis=axis, dtype=dtype))

    def mean(self, axis: int | None = None, dtype=None) -> Any:
        """Return the mean of the entries, of all or of each column."""
        total = self.sum(axis, dtype=dtype or np.float64) / (len(self) if axis == 0 else self.size)
        return total.astype(dtype or self.dtype)

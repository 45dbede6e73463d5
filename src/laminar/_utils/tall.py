"""Tall arrays, one row for each sample: in memory, in a temporary file if they would take too much, or in a place.

A place is the workers of a cluster or a device; ``workers``, here and elsewhere, is a place, or None in this process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from mmap import mmap
from typing import Any
from weakref import finalize

import numpy as np

from . import threads
from .config import has_memory_limit, memory_limit, temp_folder
from .device.array import DeviceArray
from .place import Place, PlacedArray
from .workers.array import DistributedArray

COPIES = 4  # of a factor that a fit holds: extrapolated, accepted, last update, and the one being computed
SMALL = 1 << 25  # bytes: below, without a setting, the limit, a part of the available memory, is not computed
ROWS = 1 << 14  # of a block of an operation that is limited by memory


def empty(shape: tuple[int, ...], dtype, workers: Place | None = None) -> Any:
    """Return an array of any values: in memory, mapped to a file without a name that goes with it, or in a place."""
    if workers is not None:
        return workers.empty(shape[1:], dtype)
    return _mapped(shape, dtype) if _is_large(shape, dtype) else np.empty(shape, dtype)


def zeros(shape: tuple[int, ...], dtype, workers: Place | None = None) -> Any:
    """Return an array of zeros."""
    if workers is not None:
        return fill(workers.empty(shape[1:], dtype), lambda b: 0)
    return _mapped(shape, dtype, new=True) if _is_large(shape, dtype) else np.zeros(shape, dtype)


def empty_like(F: Any) -> Any:
    """Return an array of any values in the shape, type and order of F, where F is."""
    if isinstance(F, PlacedArray):
        return F.workers.empty(F.shape[1:], F.dtype)
    return _mapped(F.shape, F.dtype) if _is_large(F.shape, F.dtype) else np.empty_like(F)


def copy(F: Any, dtype=None) -> Any:
    """Return a copy with contiguous rows."""
    out = empty(F.shape, F.dtype if dtype is None else dtype, workers_of(F))
    return fill(out, lambda b: F[b])


def fill(out: Any, rows: Callable[[slice], Any]) -> Any:
    """Write a function of a slice of rows into an array, block by block where it is, and return the array."""

    def write(b: slice) -> None:
        out[b] = rows(b)

    if isinstance(out, PlacedArray):
        out.blocks(ROWS).each(write)
    else:
        for b in blocks(len(out)):
            write(b)
    return out


def fill_blocks(out: PlacedArray, rows: Callable[[slice], Any]) -> Any:
    """Write a function of the rows of a whole block into an array in a place, and return the array."""
    to: Any = out

    def write(b: slice) -> None:
        to[b] = rows(b)

    out.blocks(None).each(write)
    return out


def drawn(shape: tuple[int, int], dtype, rows: Callable[[slice], np.ndarray], workers: Place | None = None) -> Any:
    """Return an array of a function that is called in the order of the rows, in this process, as random numbers are."""
    if workers is not None:
        return workers.put(rows, shape[1:], dtype)
    return fill(empty(shape, dtype), rows)


def placed(rows: Any, like: Any) -> Any:
    """Return an array where another one is: in its place, or as it is."""
    workers = workers_of(like)
    if workers is None or isinstance(rows, PlacedArray):
        return rows
    return workers.put(np.asarray(rows), np.shape(rows)[1:], rows.dtype)


def placed_as(factors: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    """Return factors where those of the same name are."""
    return {name: placed(F, like[name]) for name, F in factors.items()}


def workers_of(F: Any) -> Place | None:
    """Return the place that holds the rows of an array; None where this process does."""
    return F.workers if isinstance(F, PlacedArray) else None


def contiguous(F: Any, dtype) -> Any:
    """Return an array in a type, with contiguous rows; as it is if it is so already."""
    return F.astype(dtype, copy=False) if isinstance(F, PlacedArray) else np.ascontiguousarray(F, dtype=dtype)


def returned(F: Any) -> Any:
    """Return an array as users get it: one on workers as a dask array."""
    return F.to_dask() if isinstance(F, DistributedArray) else F


def take(F: Any, rows: np.ndarray) -> np.ndarray:
    """Return some rows of an array in this process, by increasing indices."""
    return F.take(rows) if isinstance(F, PlacedArray) else F[rows]


def to_host(F: Any) -> Any:
    """Return an array in this process; one that is there as it is."""
    return F.to_host() if isinstance(F, PlacedArray) else F


def rows_of(table: np.ndarray, numbers: Any) -> Any:
    """Return the rows of a small table that are numbered, -1 for the last, where the numbers are."""
    if not isinstance(numbers, DeviceArray):
        return table[numbers]
    numbers = np.where(numbers < 0, numbers + len(table), numbers)
    return numbers.like(numbers.device.send(table))[numbers]


def in_memory(change: Callable[..., None]) -> Callable[..., None]:
    """Return a function that changes rows in place, given others: those on a device in this process, and back."""

    def run(F: Any, *others: Any) -> None:
        if not isinstance(F, DeviceArray):
            change(F, *others)
            return
        here, beside = F.to_host(), [to_host(rows) for rows in others]
        threads.each(lambda b: change(here[b], *(rows[b] for rows in beside)), threads.tiles(len(here), 1024))
        F[:] = here

    return run


def cut(F: Any, size: int) -> threads.Items:
    """Return the rows of an array in slices of about this size, for `threads.each` and `threads.total`."""
    return F.blocks(size) if isinstance(F, PlacedArray) else threads.tiles(len(F), size)


def blocks(n: int) -> list[slice]:
    """Return the rows in slices for operations that are limited by memory."""
    return [slice(a, min(a + ROWS, n)) for a in range(0, n, ROWS)]


def _is_large(shape: tuple[int, ...], dtype) -> bool:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size or (size < SMALL and not has_memory_limit()):
        return False
    return COPIES * size > memory_limit()


class _Pool(list):
    """Maps that are free to be used again; closed once it is no longer in use."""

    open = True

    def give_back(self, buffer: mmap) -> None:
        if self.open:
            self.append(buffer)


_pool: ContextVar[_Pool | None] = ContextVar("laminar_maps", default=None)


@contextmanager
def recycling() -> Iterator[None]:
    """Use the files of arrays that are no longer needed again, inside a block: pages of a new one cost as a read."""
    pool = _Pool()
    token = _pool.set(pool)
    try:
        yield
    finally:
        _pool.reset(token)
        pool.open = False
        pool.clear()


def _mapped(shape: tuple[int, ...], dtype, *, new: bool = False) -> np.ndarray:
    size, pool = int(np.prod(shape)) * np.dtype(dtype).itemsize, _pool.get()
    known = [buffer for buffer in pool or () if len(buffer) == size and not new]
    if pool is not None and known:
        pool.remove(known[0])
    # A plain array, which compiled kernels take: its views hold it, and it holds the map.
    buffer = known[0] if known else _temporary_map(size)
    array: np.ndarray = np.ndarray(shape, dtype, buffer=buffer)
    if pool is not None:
        finalize(array, pool.give_back, buffer)
    return array


def _temporary_map(size: int) -> mmap:
    """Return a map of a file without a name, which is removed with the map."""
    with tempfile.TemporaryFile(prefix="laminar-", dir=temp_folder()) as file:
        file.truncate(size)
        return mmap(file.fileno(), size)

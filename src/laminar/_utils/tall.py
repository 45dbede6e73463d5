"""Tall arrays, one row for each sample: in memory, or in a temporary file where they would take too much of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from mmap import mmap
from weakref import finalize

import numpy as np

from .config import has_memory_limit, memory_limit, temp_folder

COPIES = 4  # of a factor that a fit holds: extrapolated, accepted, last update, and the one being computed
SMALL = 1 << 25  # bytes: below, without a setting, the limit, a part of the available memory, is not computed
ROWS = 1 << 14  # of a block of an operation that is limited by memory


def empty(shape: tuple[int, int], dtype) -> np.ndarray:
    """Return an array of any values: in memory, or mapped to a file without a name, which goes with the array."""
    return _mapped(shape, dtype) if _is_large(shape, dtype) else np.empty(shape, dtype)


def zeros(shape: tuple[int, int], dtype) -> np.ndarray:
    """Return an array of zeros."""
    return _mapped(shape, dtype, new=True) if _is_large(shape, dtype) else np.zeros(shape, dtype)


def empty_like(F: np.ndarray) -> np.ndarray:
    """Return an array of any values in the shape, type and order of F."""
    return _mapped(F.shape, F.dtype) if _is_large(F.shape, F.dtype) else np.empty_like(F)


def copy(F: np.ndarray, dtype=None) -> np.ndarray:
    """Return a copy with contiguous rows."""
    return fill(empty(F.shape, F.dtype if dtype is None else dtype), lambda b: F[b])


def fill(out: np.ndarray, rows: Callable[[slice], np.ndarray]) -> np.ndarray:
    """Write a function of a slice of rows into an array, block by block, and return the array."""
    for b in blocks(len(out)):
        out[b] = rows(b)
    return out


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

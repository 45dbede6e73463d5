"""Tall arrays, one row for each sample: in memory, or in a temporary file where they would take too much of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import numpy as np

from .config import has_memory_limit, memory_limit, temp_folder

COPIES = 4  # of a factor that a fit holds: extrapolated, accepted, last update, and the one being computed
SMALL = 1 << 25  # bytes: below, without a setting, memory is not even asked for
ROWS = 1 << 14  # of a block of an operation that is limited by memory


def empty(shape: tuple[int, int], dtype) -> np.ndarray:
    """Return an array of any values: in memory, or mapped to a file without a name, which goes with the array."""
    return _mapped(shape, dtype) if _is_large(shape, dtype) else np.empty(shape, dtype)


def zeros(shape: tuple[int, int], dtype) -> np.ndarray:
    """Return an array of zeros."""
    return _mapped(shape, dtype) if _is_large(shape, dtype) else np.zeros(shape, dtype)


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


def _mapped(shape: tuple[int, ...], dtype) -> np.ndarray:
    with tempfile.TemporaryFile(prefix="laminar-", dir=temp_folder()) as file:
        # The map holds the file open; a plain array, which compiled kernels take, holds the map.
        return np.asarray(np.memmap(file, dtype, "w+", shape=shape))

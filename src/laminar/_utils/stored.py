"""`Stored`: a 2-d array on disk, read by blocks of rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, NoReturn
from weakref import finalize

import numpy as np

from . import threads
from .config import memory_limit

BLOCKS = 16  # that max_memory is cut into
HELD = 4  # of them at once; besides, a pass has temporary arrays
MAX_BLOCK = 1 << 24  # bytes of a block: larger ones are not read faster, and their memory is not used again
CACHED = 1 << 17  # entries of a block that stays in the second-level cache
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


@cache
def _reader() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="laminar-read")


if hasattr(os, "register_at_fork"):  # a forked child inherits the pool object but not its thread
    os.register_at_fork(after_in_child=_reader.cache_clear)


class Extent(NamedTuple):
    """Smallest and largest entry, sum and sum of squares; the sums of X divided by its largest magnitude."""

    low: float
    high: float
    total: float
    sqnorm: float

    @property
    def magnitude(self) -> float:
        """The largest magnitude."""
        return max(self.high, -self.low)


class Stored:
    """An array on disk with the attributes of an array, which is read by blocks of rows and never as a whole.

    Parameters
    ----------
    source : array of two dimensions
        ``zarr.Array``, ``h5py.Dataset`` or anything else with ``shape``, ``dtype`` and slices of rows; or a
        ``np.memmap`` with contiguous rows.

    Attributes
    ----------
    shape, dtype : tuple of int, dtype
        Of the array; types other than float32 and float64 are converted to float64, as of arrays in memory.
    blocks : list of slice
        Of rows: as many as fit, and whole chunks of the file where these fit.
    """

    ndim = 2

    def __init__(self, source: Any):
        self.source = FileRows(source) if isinstance(source, np.memmap) else source
        self.shape = int(source.shape[0]), int(source.shape[1])
        self.dtype = next((dtype for dtype in FLOATS if dtype == source.dtype), FLOATS[0])
        self.blocks = self._cut(getattr(source, "chunks", None))
        self._ahead: dict[int, Future] = {}
        self._lock = Lock()

    def _cut(self, chunks: Any) -> list[slice]:
        (n, p), whole = self.shape, 1
        if chunks and isinstance(chunks[0], int):
            whole = max(1, chunks[0])
        most = max(1, min(memory_limit() // BLOCKS, MAX_BLOCK) // max(1, p * self.dtype.itemsize))
        rows = most // whole * whole if most >= whole else most
        return [slice(a, min(a + rows, n)) for a in range(0, n, rows)]

    def read(self, rows: slice) -> np.ndarray:
        """Return rows as an array, at once."""
        return np.ascontiguousarray(self.source[rows], dtype=self.dtype)

    def block(self, i: int) -> np.ndarray:
        """Return a block, and read the next one in the background; after the last follows the first."""
        with self._lock:
            for j in (i, (i + 1) % len(self.blocks)):
                # The last ones used come last. A thread may be behind another, for which the next is read already.
                known = self._ahead.pop(j) if j in self._ahead else _reader().submit(self.read, self.blocks[j])
                self._ahead[j] = known
            for j in list(self._ahead)[:-HELD]:
                del self._ahead[j]
            wanted = self._ahead[i]
        return wanted.result()

    def release(self) -> None:
        """Forget blocks that were read."""
        with self._lock:
            self._ahead.clear()

    @cached_property
    def extent(self) -> Extent:
        """Extent of the entries, in one pass; NaN or infinite where an entry is."""
        parts: list[Extent] = []
        for i in range(len(self.blocks)):
            parts.append(extent_of(self.block(i)))
            if not np.isfinite([parts[-1].low, parts[-1].high]).all():
                break
        return joined(parts)

    def min(self) -> float:
        """Return the smallest entry."""
        return self.extent.low

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NoReturn:
        raise _whole()

    def __array__(self, *args: Any, **keywords: Any) -> NoReturn:
        raise _whole()


def is_on_disk(X: Any) -> bool:
    """Whether X is an array of a file that has to be read: a zarr array or an HDF5 dataset; not a ``np.memmap``."""
    return (
        not isinstance(X, np.ndarray)
        and not hasattr(X, "__dask_graph__")
        and isinstance(getattr(X, "dtype", None), np.dtype)
        and all(hasattr(X, name) for name in ("shape", "chunks", "__getitem__"))
    )


def is_streamed(X: Any) -> bool:
    """Whether X is an array on disk that is read by blocks: real numbers in two dimensions, too many for memory."""
    stored = is_on_disk(X) or (isinstance(X, np.memmap) and FileRows.takes(X))
    if not stored or len(X.shape) != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        return False
    return n_bytes(X) > memory_limit() // 2


def n_bytes(X: Any) -> int:
    """Return the size of an array in memory, as floats."""
    itemsize = X.dtype.itemsize if X.dtype in FLOATS else FLOATS[0].itemsize
    return int(np.prod(X.shape, dtype=np.float64)) * itemsize


class FileRows:
    """Rows of a ``np.memmap``, read from its file: pages of a map would count as memory of the process."""

    def __init__(self, X: np.memmap):
        root: Any = X
        while isinstance(root.base, np.ndarray):
            root = root.base
        self.step, self.dtype, self.n_columns, self.n_rows = X.strides[0], X.dtype, X.shape[1], X.shape[0]
        self.at = root.offset + X.ctypes.data - root.ctypes.data
        self.file, self.lock = Path(str(X.filename)).open("rb", buffering=0), Lock()  # noqa: SIM115, closed below
        finalize(self, self.file.close)

    @staticmethod
    def takes(X: np.memmap) -> bool:
        """Whether rows are contiguous in a file, without changes that the file does not have."""
        root: Any = X
        while isinstance(root.base, np.ndarray):
            root = root.base
        return (
            isinstance(root, np.memmap)
            and X.ndim == 2
            and X.filename is not None
            and X.mode != "c"
            and X.dtype.isnative
            and X.shape[1] > 0
            and X.strides[1] == X.itemsize
            and X.strides[0] >= X.itemsize * X.shape[1]
        )

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        chosen = range(*rows.indices(self.n_rows)) if isinstance(rows, slice) else rows.tolist()
        width = self.n_columns * self.dtype.itemsize
        if isinstance(chosen, range) and chosen.step == 1 and self.step == width:
            return self._bytes(self.at + chosen.start * self.step, (len(chosen), self.n_columns))
        found = np.empty((len(chosen), self.n_columns), self.dtype)
        for i, row in enumerate(chosen):
            found[i] = self._bytes(self.at + row * self.step, (1, self.n_columns))[0]
        return found

    def _bytes(self, at: int, shape: tuple[int, int]) -> np.ndarray:
        found = np.empty(shape, self.dtype)
        view, done = found.data.cast("B"), 0
        with self.lock:
            self.file.seek(at)
            while done < len(view):
                count = self.file.readinto(view[done:])
                if not count:
                    raise ValueError(f"The file {self.file.name} ends before the array: it was changed or cut.")
                done += count
        return found


def extent_of(X: np.ndarray) -> Extent:
    """Return the extent of an array in memory, on all threads."""
    rows = threads.blocks(len(X), max(1, CACHED // max(1, X.shape[1])))
    with np.errstate(invalid="ignore", over="ignore"):
        return joined(threads.each(lambda b: _extent(X[b]), rows))


def _extent(X: np.ndarray) -> Extent:
    """Return the extent of a few rows, their sums relative to their own magnitude."""
    low, high = float(X.min()), float(X.max())
    largest = max(high, -low)
    if not 0 < largest < np.inf:
        return Extent(low, high, 0.0, 0.0)
    unit = np.divide(X, largest, dtype=np.float64)
    return Extent(low, high, float(unit.sum()), float(np.vdot(unit, unit)))


def joined(parts: Sequence[Extent]) -> Extent:
    """Return the extent of all entries, given those of parts of them."""
    low, high = float(np.min([part.low for part in parts])), float(np.max([part.high for part in parts]))
    largest = max(high, -low)
    if not 0 < largest < np.inf:
        return Extent(low, high, 0.0, 0.0)
    shares = [part.magnitude / largest for part in parts]
    return Extent(
        low,
        high,
        sum(share * part.total for share, part in zip(shares, parts, strict=True)),
        sum(share * share * part.sqnorm for share, part in zip(shares, parts, strict=True)),
    )


STREAMING = "NMF, SemiNMF, WSF, ClassDrivenNMF, SlowFeatureNMF, DeepSemiNMF and DeepWSF"  # names for sentences


def _whole() -> ValueError:
    return ValueError(
        "X is on disk and larger than half of max_memory, and this needs all of it at once: graphs of neighbours, "
        "networks, batches and published rules of several layers do. Load it with X[:], raise max_memory "
        "(laminar.set_config), or use products of blocks alone, as NMF, SemiNMF, WSF with labels, ClassDrivenNMF, "
        "SlowFeatureNMF and DeepSemiNMF do by default."
    )


def refuse_stored(X: Any, model: str) -> None:
    """Refuse an array on disk that does not fit into memory, for a model that needs all of it at once."""
    if is_on_disk(X) and is_streamed(X):
        raise ValueError(
            f"X is on disk, of {n_bytes(X) / 1e6:.4g} MB in memory, more than half of max_memory, and {model} with "
            "these parameters needs all of it at once: load it with X[:], raise max_memory (laminar.set_config), or "
            f"use one of the models that read it by blocks: {STREAMING}."
        )

"""What a worker holds, blocks of rows of arrays, and the actor that runs functions of rows on them."""

from __future__ import annotations

import pickle
import tempfile
from bisect import bisect_right
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from .. import threads
from ..stored import FileRows
from .sums import partial_sums

ALIGNMENT = 64  # bytes: results of a kernel may depend on it, in the last digit
IN_MEMORY = 0.35  # of the memory of a worker up to which blocks of X are kept in it; others are in files of its disk


Copy = tuple[int, dict[str, Any]]
"""A block of all arrays but X, and the number of the last step that it has seen."""


class Blocks:
    """Blocks of rows in this process, of all arrays of a session.

    Parameters
    ----------
    edges : list of int
        Where blocks begin, and the number of rows.
    """

    def __init__(self, edges: list[int]):
        self.edges, self._lock = edges, Lock()
        self.arrays: dict[tuple[str, int], Any] = {}
        self.copies: dict[int, Copy] = {}  # blocks of another worker at the last checkpoint

    def slice_of(self, block: int) -> slice:
        """Return the rows of a block."""
        return slice(self.edges[block], self.edges[block + 1])

    def keep(self, name: str, block: int, rows: np.ndarray, dtype: np.dtype) -> None:
        """Keep a copy of the rows of a block, aligned: one that came over the network may lie anywhere."""
        kept = _aligned(rows.shape, dtype)
        kept[...] = rows
        self.arrays[name, block] = kept

    def keep_in_file(self, name: str, block: int, rows: np.ndarray, dtype: np.dtype, folder: str) -> None:
        """Keep the rows of a block in a file without a name, from which they are read when they are needed."""
        with tempfile.NamedTemporaryFile(prefix="laminar-", dir=folder) as file:
            np.save(file, np.ascontiguousarray(rows, dtype))
            file.flush()
            self.arrays[name, block] = FileRows(np.load(Path(file.name), mmap_mode="r"))

    def part(self, name: str, block: int, width: tuple[int, ...], dtype: np.dtype) -> Any:
        """Return a block of an array; a new one has any values."""
        found = self.arrays.get((name, block))
        if found is not None:
            return found
        with self._lock:  # several threads may write to a new block
            if (name, block) not in self.arrays:
                n_rows = self.edges[block + 1] - self.edges[block]
                self.arrays[name, block] = _aligned((n_rows, *width), dtype)
            return self.arrays[name, block]

    def free(self, names: tuple[str, ...]) -> None:
        """Forget arrays."""
        for key in [key for key in self.arrays if key[0] in names]:
            del self.arrays[key]


def _aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    buffer = np.empty(size + ALIGNMENT, np.uint8)
    start = -buffer.ctypes.data % ALIGNMENT
    return buffer[start : start + size].view(dtype).reshape(shape)


_sessions: dict[str, Blocks] = {}  # in this process, where workers that are threads share one


def blocks_of(session: str, edges: list[int]) -> Blocks:
    """Return the blocks of a session in this process."""
    return _sessions.setdefault(session, Blocks(edges))


@dataclass(frozen=True)
class LazyBlock:
    """A block of X as dask's graph of it alone, computed in the process that is to hold it.

    As tasks of the scheduler its keys would be those of every other fit of the same array, and bound to workers that
    may be lost.
    """

    graph: dict
    key: Any

    def compute(self) -> Any:
        """Return the rows."""
        from dask.local import get_sync

        return get_sync(self.graph, self.key)


@dataclass(frozen=True)
class LocalRows:
    """A distributed array as a function that runs on a worker sees it: the rows of blocks that are there.

    Rows are counted from the first of all samples, and those of one call are of one block.
    """

    session: str
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: Any) -> np.ndarray:
        rows, *others = at if isinstance(at, tuple) else (at,)
        part, inside = self._locate(rows)
        return part[(inside, *others) if others else inside]

    def __setitem__(self, at: Any, values: Any) -> None:
        rows, *others = at if isinstance(at, tuple) else (at,)
        part, inside = self._locate(rows)
        part[(inside, *others)] = values

    def _locate(self, rows: Any) -> tuple[Any, Any]:
        blocks = _sessions[self.session]
        first = rows.start if isinstance(rows, slice) else int(rows[0]) if np.ndim(rows) else int(rows)
        block = bisect_right(blocks.edges, first) - 1
        part, start = blocks.part(self.name, block, self.shape[1:], self.dtype), blocks.edges[block]
        if isinstance(rows, slice):
            return part, slice(rows.start - start, rows.stop - start)
        return part, rows - start


@dataclass(frozen=True)
class LocalValues:
    """Objects of blocks as a function that runs on a worker sees them: by the rows of the block."""

    session: str
    name: str

    def __getitem__(self, rows: slice) -> Any:
        blocks = _sessions[self.session]
        return blocks.arrays[self.name, bisect_right(blocks.edges, rows.start) - 1]

    def __setitem__(self, rows: slice, value: Any) -> None:
        blocks = _sessions[self.session]
        blocks.arrays[self.name, bisect_right(blocks.edges, rows.start) - 1] = value


@dataclass(frozen=True)
class Step:
    """A function of rows that is run on every block: ``work(b)``, or ``work(b, argument)`` of the block.

    Attributes
    ----------
    work : callable
        Of a slice of rows.
    size : int or None
        Rows of a slice; None is the whole block at once.
    summed : bool
        Whether results are added up, within a block and over neighbouring blocks.
    """

    work: Callable
    size: int | None
    summed: bool = False

    def on(self, rows: slice, *argument: Any) -> Any:
        """Return the results of the slices of a block, or their sum."""
        slices = [rows]
        if self.size is not None:
            cut = threads.tiles(rows.stop - rows.start, self.size)
            slices = [slice(rows.start + b.start, rows.start + b.stop) for b in cut]
        found = threads.each(lambda b: self.work(b, *argument), slices)
        return sum(found) if self.summed else found


@dataclass(frozen=True)
class Failure:
    """An error of a function, to be raised where it was called from."""

    error: BaseException


class Store:
    """The actor of a worker."""

    def __init__(self, session: str, edges: list[int], n_threads: int):
        self.session, self.n_threads = session, n_threads
        self.blocks = blocks_of(session, edges)
        self._last: tuple[Any, Any] = None, None

    def run(
        self, number: int, blocks: list[int], payload: bytes, arguments: list | None, freed: tuple[str, ...]
    ) -> Any:
        """Run a step on some blocks and return its results; a step that is sent twice is run once."""
        if self._last[0] != (number, blocks):
            self.blocks.free(freed)
            self._last = (number, blocks), self._results(blocks, payload, arguments)
        return self._last[1]

    def _results(self, blocks: list[int], payload: bytes, arguments: list | None) -> Any:
        try:
            step = pickle.loads(payload)
            own = [()] * len(blocks) if arguments is None else [(argument,) for argument in arguments]
            with threads.own_threads(self.n_threads):
                found = [step.on(self.blocks.slice_of(i), *a) for i, a in zip(blocks, own, strict=True)]
            if not step.summed:
                return dict(zip(blocks, found, strict=True))
            parts = {(i, i + 1): part for i, part in zip(blocks, found, strict=True)}
            return partial_sums(len(self.blocks.edges) - 1, parts)
        except Exception as error:
            return Failure(error)

    def close(self) -> None:
        """Forget all blocks, and not only once dask has released the actor."""
        _sessions.pop(self.session, None)
        self.blocks.arrays.clear()
        self.blocks.copies.clear()
        self._last = None, None


# ---- tasks of dask, in the process of a store ------------------------------------------------------------------------


def keep_part(session: str, edges: list[int], name: str, block: int, rows: Any, dtype: np.dtype) -> None:
    """Keep a block of X: in memory, or in a file where this would take too much of it."""
    from distributed import get_worker

    worker, blocks = get_worker(), blocks_of(session, edges)
    limit, used = worker.memory_manager.memory_limit, worker.monitor.get_process_memory()
    rows = np.asarray(rows.compute() if isinstance(rows, LazyBlock) else rows)
    if limit and used + rows.size * np.dtype(dtype).itemsize > IN_MEMORY * limit:
        blocks.keep_in_file(name, block, rows, dtype, worker.local_directory)
    else:
        blocks.keep(name, block, rows, dtype)


def export_block(session: str, block: int, without: tuple[str, ...], number: int) -> Copy:
    """Return copies of a block of all arrays but some, after the step of this number."""
    arrays = _sessions[session].arrays.items()
    return number, {name: copy(part) for (name, i), part in arrays if i == block and name not in without}


def keep_copy(session: str, edges: list[int], block: int, made: Copy) -> None:
    """Keep what `export_block` returned on another worker, in the place of an older copy."""
    blocks_of(session, edges).copies[block] = made


def forget_copy(session: str, block: int) -> None:
    """Forget what `keep_copy` kept."""
    _sessions[session].copies.pop(block, None)


def export_copy(session: str, block: int) -> Copy:
    """Return what `keep_copy` kept."""
    return _sessions[session].copies[block]


def restore_block(session: str, edges: list[int], block: int, made: Copy) -> int:
    """Keep the blocks that `export_block` returned as those of this worker; return the last step they have seen."""
    blocks, (number, parts) = blocks_of(session, edges), made
    for name, part in parts.items():
        if isinstance(part, np.ndarray):
            blocks.keep(name, block, part, part.dtype)
        else:
            blocks.arrays[name, block] = part
    return number


def export_part(session: str, name: str, block: int) -> np.ndarray:
    """Return a copy of a block of an array, which dask may move or write to disk."""
    return np.array(_sessions[session].arrays[name, block])

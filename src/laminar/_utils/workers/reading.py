"""From dask arrays and data frames to arrays on workers, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from .. import threads
from ..extras import require
from ..progress import stage
from .array import DistributedArray
from .pool import Workers
from .store import LazyBlock

DISTRIBUTED = (  # names for sentences
    "NMF, SemiNMF, WSF, ClassDrivenNMF, SlowFeatureNMF, DeepSemiNMF, DeepWSF, MultiViewDeepNMF and MultiViewSemiNMF"
)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def is_dask(X: Any) -> bool:
    """Whether X is an array or a data frame of dask; dask is not imported for it."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def refuse_dask(X: Any, model: str) -> None:
    """Refuse dask data for a model that needs all samples at once."""
    if is_dask(X):
        raise TypeError(
            f"X is on dask, and {model} with these parameters needs all samples in one place: give X.compute(), or use "
            f"one of the models that are fitted on the workers: {DISTRIBUTED}."
        )


def is_frame(X: Any) -> bool:
    """Whether X is a data frame, or one column of it."""
    return hasattr(X, "to_dask_array")


def refuse_unknown_lengths(X: Any, name: str = "X") -> None:
    """Refuse a dask array whose number of rows is not known, as after a selection; a data frame has none."""
    if not is_frame(X) and any(np.isnan(size) for size in X.chunks[0]):
        raise ValueError(f"{name} has blocks of unknown length: call {name}.compute_chunk_sizes() first.")


def as_blocks(X: Any, name: str = "X") -> Any:
    """Return a dask array with blocks of whole rows of known number; those of a data frame are counted."""
    X = X.to_dask_array(lengths=True) if is_frame(X) else X
    refuse_unknown_lengths(X, name)
    if not isinstance(X._meta, np.ndarray):
        kind = type(X._meta).__name__
        raise TypeError(f"the blocks of {name} are of {kind}: make arrays of them, as {name}.map_blocks(np.asarray).")
    return X.rechunk({1: -1}) if X.ndim == 2 and len(X.chunks[1]) > 1 else X


def by_rows(function: Callable[[np.ndarray], np.ndarray], X: Any) -> Any:
    """Return a function of rows of a dask array as another one; blocks are computed when that is."""
    X = as_blocks(X)
    like = function(np.zeros((1, *X.shape[1:]), X.dtype))  # its shape and type
    change: dict[str, Any] = {"chunks": (X.chunks[0], like.shape[1:])} if like.ndim == 2 else {"drop_axis": 1}
    return X.map_blocks(function, dtype=like.dtype, meta=like[:0], **change)


def in_blocks_of(X: Any, rows: np.ndarray) -> Any:
    """Return an array with a row for each row of a dask array as a dask array with the same blocks."""
    import dask.array

    return dask.array.from_array(rows, chunks=(X.chunks[0], *rows.shape[1:]))


def on_workers(arrays: Sequence[Any]) -> list[DistributedArray]:
    """Compute dask arrays with the same samples block by block on the workers of the current client."""
    blocks = [as_blocks(X) for X in arrays]
    chunks = _whole_tiles(blocks[0].chunks[0])
    blocks = [X if X.chunks[0] == chunks else X.rechunk({0: chunks}) for X in blocks]
    client = current_client()
    workers = Workers(client, np.cumsum([0, *chunks]).tolist(), _holders(client, blocks[0]))
    return [workers.load(_parts(client, X), X.shape[1:], _float_type(X.dtype)) for X in blocks]


def _float_type(dtype: np.dtype) -> np.dtype:
    return next((known for known in FLOATS if known == dtype), FLOATS[0])


def _parts(client: Any, X: Any) -> list:
    """Return the blocks of X: futures where they are in memory of the workers already, lazy ones elsewhere."""
    from dask import optimize
    from dask.core import flatten
    from dask.optimization import cull

    futures = {future.key: future for future in client.futures_of(X)}
    keys = list(flatten(X.__dask_keys__()))
    if futures:
        return (
            [futures[key] for key in keys] if set(keys) <= set(futures) else client.compute(list(X.to_delayed().flat))
        )
    graph = dict(optimize(X)[0].__dask_graph__())
    return [LazyBlock(cull(graph, [key])[0], key) for key in keys]


def _whole_tiles(chunks: tuple[int, ...]) -> tuple[int, ...]:
    """Return blocks of about these numbers of rows that begin at multiples of `threads.TILE`.

    Examples
    --------
    >>> _whole_tiles((200, 200, 200)), _whole_tiles((384, 10))
    ((192, 192, 216), (384, 10))
    """
    ends, n = np.cumsum(chunks), sum(chunks)
    inside = {round(int(end) / threads.TILE) * threads.TILE for end in ends[:-1]}
    edges = sorted(edge for edge in {0, n, *inside} if edge <= n)
    return tuple(b - a for a, b in pairwise(edges))


def _holders(client: Any, X: Any) -> list[str | None]:
    """Return for each block of X a worker that has it in memory, if there is one."""
    from dask.core import flatten

    known = client.who_has(X) if client.futures_of(X) else {}
    return [next(iter(known.get(key, ())), None) for key in flatten(X.__dask_keys__())]


def current_client() -> Any:
    """Return the current client of `distributed`, or one of a cluster of threads in this process."""
    distributed = require("distributed", "dask", "fits on dask arrays")
    try:
        return distributed.get_client()
    except ValueError:
        return _local_client()


@cache
def _local_client() -> Any:
    """Start a cluster in this process, once: results stay on it after the fit."""
    from distributed import Client

    client = Client(processes=False, n_workers=1, dashboard_address=None)
    stage(f"started a dask cluster of {sum(client.nthreads().values())} threads in this process")
    return client

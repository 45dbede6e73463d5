"""From dask arrays and data frames to arrays on workers, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..extras import require
from ..progress import stage
from .array import DistributedArray
from .pool import Workers

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def is_dask(X: Any) -> bool:
    """Whether X is an array or a data frame of dask; dask is not imported to tell."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_frame(X: Any) -> bool:
    """Whether X is a data frame, or one column of it."""
    return hasattr(X, "to_dask_array")


def as_blocks(X: Any, name: str = "X") -> Any:
    """Return a dask array with blocks of whole rows of known number; those of a data frame are counted."""
    X = X.to_dask_array(lengths=True) if is_frame(X) else X
    if any(np.isnan(size) for size in X.chunks[0]):
        raise ValueError(f"{name} has blocks of unknown length: call {name}.compute_chunk_sizes() first.")
    if not isinstance(X._meta, np.ndarray):
        kind = type(X._meta).__name__
        raise TypeError(f"the blocks of {name} are of {kind}: make arrays of them, as {name}.map_blocks(np.asarray).")
    return X.rechunk({1: -1}) if X.ndim == 2 and len(X.chunks[1]) > 1 else X


def on_workers(arrays: Sequence[Any]) -> list[DistributedArray]:
    """Compute dask arrays with the same samples block by block on the workers of the current client."""
    blocks = [as_blocks(X) for X in arrays]
    chunks = blocks[0].chunks[0]
    blocks = [X if X.chunks[0] == chunks else X.rechunk({0: chunks}) for X in blocks]
    client = current_client()
    workers = Workers(client, np.cumsum([0, *(size for size in chunks if size)]), _holders(client, blocks[0], chunks))
    return [workers.load(X, next((dtype for dtype in FLOATS if dtype == X.dtype), FLOATS[0])) for X in blocks]


def _holders(client: Any, X: Any, chunks: tuple[int, ...]) -> list[str | None]:
    """Return for each block of X a worker that has it in memory, if there is one."""
    from dask.core import flatten

    known = client.who_has(X) if client.futures_of(X) else {}
    keys = list(flatten(X.__dask_keys__()))
    return [next(iter(known.get(key, ())), None) for key, size in zip(keys, chunks, strict=True) if size]


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

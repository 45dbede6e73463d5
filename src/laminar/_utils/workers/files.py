"""Arrays of files and of memory as dask arrays, whose blocks workers read by themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import threads
from ..extras import require
from ..stored import Stored

BLOCK = 1 << 26  # bytes of a block


def to_dask(X: Any) -> Any:
    """Return an array as a dask array, in blocks of whole tiles of rows.

    Blocks of a zarr array, an HDF5 dataset or a ``np.memmap`` are read from the file by the worker that needs them,
    which must reach it under the same path; those of an array in memory are sent.
    """
    da = require("dask.array", "dask", "a fit on dask")
    X = X.source if isinstance(X, Stored) else X
    n, p = X.shape
    rows = max(1, BLOCK // max(1, p * X.dtype.itemsize * threads.TILE)) * threads.TILE
    read = _reader(X)
    if read is None:
        return da.from_array(X, chunks=(rows, p))
    delayed = require("dask", "dask", "a fit on dask").delayed
    slices = [(a, min(a + rows, n)) for a in range(0, n, rows)]
    return da.concatenate([da.from_delayed(delayed(read)(a, b), (b - a, p), X.dtype) for a, b in slices])


def _reader(X: Any) -> Callable[[int, int], np.ndarray] | None:
    """Return a function that reads rows of a file in any process; None for arrays that dask has a way to read."""
    if isinstance(X, np.memmap) and X.filename is not None and X.flags.c_contiguous:
        return partial(_npy_rows, str(Path(X.filename).resolve()), X.offset, X.dtype, X.shape[1])
    if type(X).__module__.partition(".")[0] == "h5py":
        return partial(_hdf5_rows, str(Path(X.file.filename).resolve()), X.name)
    return None


def _npy_rows(path: str, offset: int, dtype: np.dtype, p: int, a: int, b: int) -> np.ndarray:
    return np.fromfile(path, dtype, (b - a) * p, offset=offset + a * p * dtype.itemsize).reshape(b - a, p)


def _hdf5_rows(path: str, name: str, a: int, b: int) -> np.ndarray:
    with require("h5py", "arrays", "an HDF5 file").File(path) as file:
        return file[name][a:b]

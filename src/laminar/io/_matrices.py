"""Arrays of any type as matrices of floats: bytes, sparse arrays, images, values that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from laminar._utils.stored import Stored
from laminar.io.dataset import row_blocks

FEW_LEVELS = 16  # bytes up to this value are drawings or counts, divided by their largest; photographs by 255


def divisor_of(array: Any) -> float:
    """Return what bytes are divided by to lie in [0, 1]; 1 for all other types."""
    if sp.issparse(array) or array.dtype != np.uint8 or not array.size:
        return 1.0
    largest = max(int(block.max()) for block in row_blocks(array))
    return 255.0 if largest > FEW_LEVELS else float(max(largest, 1))


def as_float(array: Any, divisor: float = 1.0) -> Any:
    """Return the array in float32 or float64, whichever holds its values; floats are not copied.

    Integers of 8 and 16 bits, booleans and half precision are exact in float32.
    """
    kind = array.dtype
    if kind.kind == "f":
        dtype = np.dtype(np.float32 if kind.itemsize <= 4 else np.float64)
    else:
        dtype = np.dtype(np.float32 if kind.itemsize <= 2 else np.float64)
    if kind == dtype and kind.isnative and divisor == 1:
        return array
    found = array.astype(dtype)
    if divisor != 1:
        found /= divisor
    return found


def as_csr(array: Any) -> sp.csr_array:
    """Return a sparse array or matrix of any format as csr_array of floats."""
    found = sp.csr_array(array)
    found.data = as_float(found.data)
    found.sum_duplicates()
    return found


def check_finite(source: str, X: Any) -> None:
    """Raise ValueError if values are NaN or infinite, with their number and the place of the first."""
    if isinstance(X, Stored) and np.isfinite(X.extent.magnitude):
        return
    if sp.issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        number = len(bad)
        places = [(int(np.searchsorted(X.indptr, i, side="right")) - 1, int(X.indices[i])) for i in bad[:1]]
    else:
        number, places = 0, []
        start = 0
        for block in row_blocks(X):
            found = np.argwhere(~np.isfinite(block))
            number += len(found)
            places += [(start + int(row), int(column)) for row, column in found[: 1 - len(places)]]
            start += len(block)
    if number:
        row, column = places[0]
        values = "1 value that is" if number == 1 else f"{number} values that are"
        raise ValueError(
            f"{source} has {values} NaN or infinite, the first in row {row}, column {column} (counted from 0): "
            "replace them, or leave these rows out."
        )

"""Digests of data, labels, parameters and starts: whether two fits are the same one."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._utils.stored import Stored
from ..._utils.workers.array import DistributedArray

MOST = 1 << 26  # bytes of an array that are read; of a larger one, those of rows at equal distances


def digest(value: Any) -> str:
    """Return a digest of arrays, sparse matrices, tables, numbers, text, containers and objects of these.

    Examples
    --------
    >>> digest([1, "a"]) == digest([1, "a"]), digest(np.zeros(3)) == digest(np.zeros(3, np.float32))
    (True, False)
    """
    found = blake2b(digest_size=16)
    _add(found, value, set())
    return found.hexdigest()


def _add(found: Any, value: Any, seen: set[int]) -> None:
    found.update(f"{type(value).__module__}.{type(value).__qualname__} ".encode())
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        found.update(repr(value).encode())
    elif isinstance(value, np.ndarray):
        _add_array(found, value)
    elif id(value) in seen:  # an object that holds itself
        return
    else:
        _add_parts(found, _parts(value), seen | {id(value)})


def _add_parts(found: Any, parts: Any, seen: set[int]) -> None:
    for part in parts:
        _add(found, part, seen)


def _parts(value: Any) -> list:
    """Return what a container or an object consists of."""
    if sp.issparse(value):
        value = value if value.format in ("csr", "csc") else value.tocsr()
        return [value.format, value.shape, value.data, value.indices, value.indptr]
    if isinstance(value, Stored):
        step = -(-value.shape[0] * value.shape[1] * value.dtype.itemsize // MOST)
        return [value.shape, list(value.extent), value.read(slice(None, None, step))]
    if isinstance(value, DistributedArray):
        rows: Any = value
        return [value.shape, value.blocks().each(lambda b: digest(np.asarray(rows[b])))]
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if hasattr(value, "__array__"):  # tables, and arrays of other libraries
        columns = [str(name) for name in getattr(value, "columns", ())]
        return [columns, np.asarray(value)]
    if hasattr(value, "__qualname__"):  # a function or a class
        return [value.__module__, value.__qualname__]
    # Random numbers are stored, not compared.
    return [] if isinstance(value, np.random.RandomState) else sorted(getattr(value, "__dict__", {}).items())


def _add_array(found: Any, array: np.ndarray) -> None:
    found.update(f"{array.dtype} {array.shape} ".encode())
    if array.dtype.kind == "O":
        found.update(repr(array.tolist()).encode())
        return
    step = -(-array.nbytes // MOST) if array.ndim else 1
    found.update(np.ascontiguousarray(array[::step] if step > 1 else array).reshape(-1).view(np.uint8))

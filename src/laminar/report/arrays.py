"""Arrays of a page: rounded to one or two bytes a number, and written as one block of zlib bytes beside the JSON."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "float32")
KEY = "$array"


def pack(record: Mapping[str, Any]) -> tuple[str, str]:
    r"""Write a record with arrays as JSON and as one block of bytes.

    Parameters
    ----------
    record : mapping
        Of what JSON has, and of arrays of the types in `TYPES`. Numbers that are not finite become null.

    Returns
    -------
    text : str
        JSON, in which an array is ``{"$array": [type, first byte, number of elements]}``. It has no ``<``, so that it
        can stand inside an element ``script`` whatever the names in it.
    block : str
        zlib bytes in base64.

    Examples
    --------
    >>> text, block = pack({"name": "<b>", "codes": np.arange(3, dtype=np.uint8), "score": float("nan")})
    >>> print(text)
    {"name":"\u003cb>","codes":{"$array":["uint8",0,3]},"score":null}
    >>> list(zlib.decompress(base64.b64decode(block)))
    [0, 1, 2, 0]
    """
    parts: list[bytes] = []
    text = json.dumps(_plain(record, parts), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return safe, base64.b64encode(zlib.compress(b"".join(parts), 9)).decode("ascii")


def _plain(value: Any, parts: list[bytes]) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(inner, parts) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, parts) for inner in value]
    if isinstance(value, np.ndarray):
        return {KEY: _stored(value, parts)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    raise TypeError(f"{type(value).__name__} has no form on a page")


def _stored(array: np.ndarray, parts: list[bytes]) -> list[Any]:
    if array.dtype.name not in TYPES:
        raise TypeError(f"an array of {array.dtype} has no form on a page: give one of {', '.join(TYPES)}")
    start, content = sum(map(len, parts)), np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    parts.append(content + b"\0" * (-len(content) % 4))  # every array starts where one of four bytes may
    return [array.dtype.name, start, array.size]


def unsigned(values: ArrayLike, limit: int = 255) -> tuple[np.ndarray, np.ndarray]:
    """Round non-negative columns to whole numbers up to ``limit``, each column in units of its largest entry.

    Parameters
    ----------
    values : array-like of shape (n, k)
        Values; those below zero become zero.
    limit : int, default=255
        The number of the largest entry.

    Returns
    -------
    rounded : ndarray of uint8 or uint16
        ``limit * values / largest``.
    largest : ndarray of float32 of shape (k,)
        The largest entry of each column.

    Examples
    --------
    >>> rounded, largest = unsigned([[0.0, 4.0], [1.0, 2.0]])
    >>> rounded.tolist(), largest.tolist()
    ([[0, 255], [255, 128]], [1.0, 4.0])
    """
    V = np.maximum(np.asarray(values, dtype=np.float64), 0)
    largest = V.max(axis=0, initial=0)
    scaled = np.rint(limit * V / np.where(largest > 0, largest, 1))
    return scaled.astype(np.uint8 if limit <= 255 else np.uint16), largest.astype(np.float32)


def signed(rows: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Round rows of any sign to whole numbers from -127 to 127, each row in units of its largest magnitude.

    Parameters
    ----------
    rows : array-like of shape (k, p)
        Values.

    Returns
    -------
    rounded : ndarray of int8 of shape (k, p)
        ``127 * rows / largest``.
    largest : ndarray of float32 of shape (k,)
        The largest magnitude of each row.

    Examples
    --------
    >>> rounded, largest = signed([[-2.0, 1.0]])
    >>> rounded.tolist(), largest.tolist()
    ([[-127, 64]], [2.0])
    """
    V = np.asarray(rows, dtype=np.float64)
    largest = np.abs(V).max(axis=1, initial=0)
    scaled = np.rint(127 * V / np.where(largest > 0, largest, 1)[:, None])
    return scaled.astype(np.int8), largest.astype(np.float32)


def smallest(indices: ArrayLike, n: int) -> np.ndarray:
    """Return whole numbers below n in the smallest type that holds them.

    Examples
    --------
    >>> smallest([0, 255], 256).dtype.name, smallest([0], 257).dtype.name
    ('uint8', 'uint16')
    """
    dtype = np.uint8 if n <= 256 else np.uint16 if n <= 65536 else np.uint32
    return np.asarray(indices).astype(dtype)

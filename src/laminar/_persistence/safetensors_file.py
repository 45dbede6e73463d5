"""The container: arrays by name and a map of text in the safetensors format, written atomically and read strictly.

A file is the length of the header (8 bytes), the header (JSON: dtype, shape and offsets of each tensor, and the text
under ``__metadata__``) and the bytes of the tensors, C order, without gaps.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._utils.files import replacing
from .errors import ModelFileError
from .strict_json import dump, parse

MAX_HEADER = 100_000_000  # bytes, the limit of the format
TYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
}
"""Types of numbers that a model file holds, by their names in the format."""


@dataclass(frozen=True)
class Tensor:
    """Type, shape and place of one array in a file; ``start`` and ``stop`` are bytes from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Header:
    """What a file holds: its text, its tensors in the order of their bytes, and where these begin."""

    metadata: dict[str, str]
    tensors: dict[str, Tensor]
    start: int


def write(path: str | os.PathLike, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write a file; one that was there stays as it is until the new one is complete.

    Parameters
    ----------
    path : path
        The file.
    tensors : mapping of str to ndarray
        Arrays of numbers in C order.
    metadata : mapping of str to str
        Text; the checksum of all is added to it.
    """
    from safetensors.numpy import save_file

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file in it, such as {path / 'model.laminar'}.")
    header_bytes = sum(len(dump(text)) for text in metadata.values()) + 200 * len(tensors)
    if header_bytes > MAX_HEADER:
        raise ValueError(
            f"{path} would have a header of {header_bytes >> 20} MB, more than the {MAX_HEADER // 10**6} MB that the "
            "format allows: shorten the parameters or the names."
        )
    found = checksum(metadata, {name: (tensor_type(array), array.shape) for name, array in tensors.items()})
    for name in sorted(tensors):
        found.update(_bytes_of(tensors[name]))
    with replacing(path) as partial:
        save_file(dict(tensors), partial, {**metadata, "checksum": found.hexdigest()})


def read(path: str | os.PathLike) -> tuple[Header, dict[str, np.ndarray], bool]:
    """Read a whole file.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    tuple
        The header, the arrays by name, and whether the checksum is that of the contents.
    """
    with open_regular(path) as file:
        header = read_header(path, file)
        unknown = sorted({tensor.dtype for tensor in header.tensors.values()} - set(TYPES))
        if unknown:
            raise ModelFileError(f"{path} holds arrays of type {unknown[0]!r}, which Laminar does not write.")
        arrays = {name: _read_array(path, file, header.start, tensor) for name, tensor in header.tensors.items()}
    found = checksum(header.metadata, {name: (tensor.dtype, tensor.shape) for name, tensor in header.tensors.items()})
    for name in sorted(arrays):
        found.update(_bytes_of(arrays[name]))
    return header, arrays, found.hexdigest() == header.metadata.get("checksum")


def has_valid_checksum(path: str | os.PathLike, header: Header) -> bool:
    """Return whether the checksum is that of the contents, which are read in pieces."""
    found = checksum(header.metadata, {name: (tensor.dtype, tensor.shape) for name, tensor in header.tensors.items()})
    with open_regular(path) as file:
        for name in sorted(header.tensors):
            for piece in _pieces(file, header.start, header.tensors[name]):
                found.update(piece)
    return found.hexdigest() == header.metadata.get("checksum")


def checksum(metadata: Mapping[str, str], tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> Any:
    """Return the hash of the text, and of names, types and shapes of the tensors; their bytes follow by sorted name."""
    found = blake2b(digest_size=32)
    text = {name: metadata[name] for name in sorted(metadata) if name != "checksum"}
    found.update(dump([text, [[name, tensors[name][0], list(tensors[name][1])] for name in sorted(tensors)]]).encode())
    return found


def open_regular(path: str | os.PathLike) -> BinaryIO:
    """Open a file to read; raise an error with a sentence where it is not there, is a folder or is protected."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
            raise ModelFileError(f"{path} is {what}, not a model file of Laminar: give the file itself.")
        return open(path, "rb")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist: check the path of the model file.") from None
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: you have no permission to.") from None


def read_header(path: str | os.PathLike, file: BinaryIO) -> Header:
    """Read and check the header: sizes and offsets agree with each other and with the file."""
    size = os.fstat(file.fileno()).st_size
    if not size:
        raise ModelFileError(f"{path} is empty, not a model file of Laminar.")
    first = file.read(9)
    length = int.from_bytes(first[:8], "little")
    if size < 10 or first[8:] != b"{" or length > MAX_HEADER:
        raise ModelFileError(f"{path} is not a model file of Laminar: it has no safetensors header.")
    if 8 + length > size:
        raise ModelFileError(f"{path} is truncated: the header has {length} bytes, and the file {size} in all.")
    try:
        entries = parse((first[8:] + file.read(length - 1)).decode("utf-8"))
        if not isinstance(entries, dict):
            raise ValueError("it is no JSON object")
        metadata = _check_metadata(entries.pop("__metadata__", {}))
        tensors = {name: _tensor(name, entry) for name, entry in entries.items()}
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path} is not a model file of Laminar, or is damaged: its header is not valid, {error}."
        ) from error
    return Header(metadata, _in_order(path, tensors, size - 8 - length), 8 + length)


def _check_metadata(found: Any) -> dict[str, str]:
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise ValueError("__metadata__ is no map of text")
    return found


def _tensor(name: str, entry: Any) -> Tensor:
    """Return the entry of one tensor, whose bytes must be those of its type and shape."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"the entry {name!r} has no dtype, shape and data_offsets alone")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"dtype, shape or data_offsets of {name!r} are not valid")
    start, stop = offsets
    if start > stop or (dtype in TYPES and prod(shape) * np.dtype(TYPES[dtype]).itemsize != stop - start):
        raise ValueError(f"{name!r} of shape {tuple(shape)} and type {dtype} has {stop - start} bytes")
    return Tensor(dtype, tuple(shape), start, stop)


def _are_sizes(numbers: Any) -> bool:
    return (
        isinstance(numbers, list)
        and len(numbers) <= 32
        and all(type(number) is int and 0 <= number < 2**48 for number in numbers)
    )


def _in_order(path: str | os.PathLike, tensors: dict[str, Tensor], size: int) -> dict[str, Tensor]:
    """Return the tensors in the order of their bytes, which must cover the rest of the file once."""
    ordered = dict(sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)))
    end = 0
    for name, tensor in ordered.items():
        if tensor.start != end:
            raise ModelFileError(f"{path} is damaged: the bytes of {name!r} overlap others, or leave a gap.")
        end = tensor.stop
    if end > size:
        raise ModelFileError(f"{path} is truncated: its arrays have {end} bytes, and {size} are there.")
    if end < size:
        raise ModelFileError(f"{path} is damaged: {size - end} bytes at the end belong to no array.")
    return ordered


def _read_array(path: str | os.PathLike, file: BinaryIO, start: int, tensor: Tensor) -> np.ndarray:
    try:
        array = np.empty(tensor.shape, TYPES[tensor.dtype])
    except ValueError:  # of no element, and too wide for numpy
        raise ModelFileError(f"{path} is damaged: it has an array of shape {tensor.shape}.") from None
    room, filled = _bytes_of(array).data, 0
    file.seek(start + tensor.start)
    while filled < len(room):
        count = file.readinto(room[filled:])  # type: ignore[attr-defined]
        if not count:
            raise ModelFileError(f"{path} is truncated: it became shorter while it was read.")
        filled += count
    if tensor.dtype == "BOOL" and array.size and _bytes_of(array).max() > 1:
        raise ModelFileError(f"{path} is damaged: an array of truth values has others than 0 and 1.")
    return array


def _pieces(file: BinaryIO, start: int, tensor: Tensor, step: int = 1 << 22) -> Iterator[bytes]:
    file.seek(start + tensor.start)
    for place in range(tensor.start, tensor.stop, step):
        yield file.read(min(step, tensor.stop - place))


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """Return the bytes of an array in C order, without a copy."""
    return array.reshape(-1).view(np.uint8)


def tensor_type(array: np.ndarray) -> str:
    """Return the name of the type of an array in the format; raise a TypeError where it has none."""
    names = {numpy_name: name for name, numpy_name in TYPES.items()}
    if array.dtype.name not in names:
        raise TypeError(f"an array of type {array.dtype} cannot be stored")
    return names[array.dtype.name]

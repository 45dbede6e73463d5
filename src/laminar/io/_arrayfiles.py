"""Files that hold arrays by name: .npy, .npz, .mat, .h5 and .zarr; arrays are loaded when used."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laminar._utils.extras import require

_HDF5 = b"\x89HDF\r\n\x1a\n"
_MATLAB_TYPES = {"double": "f8", "single": "f4", "logical": "?", "sparse": "f8", "char": "U1", "cell": "U1"}


@dataclass(frozen=True)
class Entry:
    """An array of a file; ``dtype`` is None if it is no array of numbers or text."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype | None
    load: Callable[[], Any]
    is_sparse: bool = False
    open: Callable[[], Any] | None = None  # returns the array without loading it, to be used after the block

    def __str__(self) -> str:
        kind = "not an array" if self.dtype is None else "text" if self.is_text else str(self.dtype)
        return f"{self.name} ({' x '.join(map(str, self.shape))}, {'sparse ' * self.is_sparse}{kind})"

    @property
    def is_numeric(self) -> bool:
        """Whether it holds real numbers."""
        return self.dtype is not None and self.dtype.kind in "biuf"

    @property
    def is_text(self) -> bool:
        """Whether it holds text."""
        return self.dtype is not None and self.dtype.kind in "US"

    def is_vector(self, length: int) -> bool:
        """Return whether it has so many values, in MATLAB as a row or a column."""
        return self.shape in ((length,), (length, 1), (1, length))

    def texts(self) -> np.ndarray:
        """Return the values of a vector as text, whole numbers without a point."""
        values = np.ravel(self.load())
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8")
        if values.dtype.kind == "f" and np.all(values == np.round(values)):
            values = values.astype(np.int64)
        return np.array([str(value) for value in values], dtype=str)


@contextmanager
def open_arrays(path: Path) -> Iterator[dict[str, Entry]]:
    """Yield the arrays of a file by name; they can be loaded while the block runs."""
    with ExitStack() as stack:
        try:
            entries = list(_opener(path)(path, stack))
        except ImportError:
            raise
        except Exception as error:  # each format has its own kinds of error
            raise ValueError(f"{path} is not a readable {path.suffix or '.zarr'} file: {error}") from error
        yield {entry.name: entry for entry in entries}


def _opener(path: Path) -> Callable[[Path, ExitStack], Iterator[Entry]]:
    ending = path.suffix.lower()
    if path.is_dir() or ending in (".zarr", ".zip"):
        return _zarr
    if ending == ".mat":
        return _matlab_hdf5 if _is_hdf5(path) else _matlab
    try:
        return {".npy": _npy, ".npz": _npz, ".h5": _hdf5, ".hdf5": _hdf5}[ending]
    except KeyError:
        raise ValueError("arrays end in .npy .npz .mat .h5 .hdf5 .zarr .zip") from None


def _is_hdf5(path: Path) -> bool:
    """Return whether the file has the mark of HDF5, after the 512 bytes that MATLAB 7.3 puts first or at once."""
    with path.open("rb") as file:
        head = file.read(512 + len(_HDF5))
    return head.startswith(_HDF5) or head[512:] == _HDF5


# numpy


def _npy(path: Path, stack: ExitStack) -> Iterator[Entry]:
    with path.open("rb") as file:
        shape, dtype = _npy_header(file)
    yield Entry(path.stem, shape, dtype, lambda: np.load(path, mmap_mode="r", allow_pickle=False))


def _npz(path: Path, stack: ExitStack) -> Iterator[Entry]:
    file = stack.enter_context(np.load(path, allow_pickle=False))
    if {"format", "shape", "data"} <= set(file.files):  # of scipy.sparse.save_npz
        yield Entry("X", tuple(file["shape"].tolist()), file["data"].dtype, lambda: sp.load_npz(path), is_sparse=True)
        return
    for name in file.files:
        with file.zip.open(f"{name}.npy") as member:
            shape, dtype = _npy_header(member)
        yield Entry(name, shape, dtype, lambda name=name: file[name])  # type: ignore[misc]


def _npy_header(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


# MATLAB, up to version 7


def _matlab(path: Path, stack: ExitStack) -> Iterator[Entry]:
    from scipy.io import whosmat

    for name, shape, kind in whosmat(path):
        dtype = _matlab_dtype(kind)
        yield Entry(name, shape, dtype, lambda name=name: _load_matlab(path, name), kind == "sparse")  # type: ignore[misc]


def _matlab_dtype(kind: str) -> np.dtype | None:
    try:
        return np.dtype(_MATLAB_TYPES.get(kind, kind))
    except TypeError:  # struct, function, object
        return None


def _load_matlab(path: Path, name: str) -> Any:
    from scipy.io import loadmat

    array = loadmat(path, variable_names=[name])[name]
    if not sp.issparse(array) and array.dtype == object:  # a cell array
        if not all(isinstance(cell, np.ndarray) and cell.dtype.kind == "U" for cell in array.ravel()):
            raise ValueError(f"{path}: the cells of {name!r} are not all text.")
        return np.array(["".join(np.ravel(cell)) for cell in array.ravel()])
    return array


# HDF5, and MATLAB from version 7.3


def _hdf5(path: Path, stack: ExitStack) -> Iterator[Entry]:
    h5py = require("h5py", "arrays", f"reading {path.suffix} files")
    file = stack.enter_context(h5py.File(path, "r"))
    for name, item in _datasets(file, h5py.Dataset):
        is_text = h5py.check_string_dtype(item.dtype) is not None
        dtype = np.dtype("U1") if is_text else item.dtype
        load = (lambda item=item: item.asstr()[()]) if is_text else (lambda item=item: item[()])
        yield Entry(name, item.shape, dtype, load, open=lambda name=name: h5py.File(path, "r")[name])  # type: ignore[misc]


def _datasets(group: Any, kind: type) -> Iterator[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    group.visititems(lambda name, item: found.append((name, item)) if isinstance(item, kind) else None)
    yield from ((name, item) for name, item in found if item.shape is not None)


def _matlab_hdf5(path: Path, stack: ExitStack) -> Iterator[Entry]:
    """Yield variables with their axes in the order of MATLAB: it stores them by columns, reversed for other readers."""
    h5py = require("h5py", "arrays", "reading .mat files of version 7.3")
    file = stack.enter_context(h5py.File(path, "r"))
    for name, item in file.items():
        if name.startswith("#"):  # where MATLAB keeps what cells refer to
            continue
        kind = item.attrs.get("MATLAB_class", b"")
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        yield _matlab_variable(file, name, item, kind)


def _matlab_variable(file: Any, name: str, item: Any, kind: str) -> Entry:
    if "MATLAB_sparse" in item.attrs:
        shape = (int(item.attrs["MATLAB_sparse"]), len(item["jc"]) - 1)
        return Entry(name, shape, np.dtype(float), lambda: _matlab_sparse(item, shape), is_sparse=True)
    if not hasattr(item, "shape"):
        return Entry(name, (), None, lambda: None)
    shape = item.shape[::-1]
    if kind == "char":
        return Entry(name, shape[:1], np.dtype("U1"), lambda: _characters(item))
    if kind == "cell":
        return Entry(name, shape, np.dtype("U1"), lambda: _cells(file, item))
    dtype = np.dtype(bool) if kind == "logical" else item.dtype
    return Entry(name, shape, dtype, lambda: item[()].astype(dtype, copy=False).T)


def _matlab_sparse(item: Any, shape: tuple[int, int]) -> sp.csc_array:
    if "data" not in item:  # no entry is nonzero
        return sp.csc_array(shape)
    return sp.csc_array((item["data"][()], item["ir"][()], item["jc"][()]), shape=shape)


def _characters(item: Any) -> np.ndarray:
    return np.array(["".join(map(chr, row)).rstrip() for row in np.atleast_2d(item[()].T)])


def _cells(file: Any, item: Any) -> np.ndarray:
    return np.array(["".join(map(chr, np.ravel(file[reference][()]))) for reference in item[()].T.ravel()])


# zarr


def _zarr(path: Path, stack: ExitStack) -> Iterator[Entry]:
    zarr = require("zarr", "arrays", "reading .zarr files")
    store: Any = str(path)
    if path.suffix.lower() == ".zip":
        if not zipfile.is_zipfile(path):
            raise ValueError("it is no archive")
        store = stack.enter_context(require("zarr.storage", "arrays").ZipStore(str(path), mode="r"))
    root = zarr.open(store, mode="r")
    arrays = _zarr_arrays(root, "") if hasattr(root, "groups") else [(path.name.partition(".")[0], root)]
    for name, item in arrays:
        lazy = (
            None if path.suffix.lower() == ".zip" else (lambda item=item: item)
        )  # an archive is closed with the block
        yield Entry(name, tuple(item.shape), _zarr_dtype(item), lambda item=item: item[...], open=lazy)  # type: ignore[misc]


def _zarr_arrays(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, item in group.arrays():
        yield prefix + name.rpartition("/")[2], item
    for name, item in group.groups():
        yield from _zarr_arrays(item, f"{prefix}{name.rpartition('/')[2]}/")


def _zarr_dtype(item: Any) -> np.dtype | None:
    try:
        return np.dtype(item.dtype)
    except TypeError:
        return None

"""Arrays of numpy, MATLAB, HDF5 and zarr files."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar._utils.stored import Stored, is_streamed
from laminar.io._arrayfiles import Entry, open_arrays
from laminar.io._columns import names_of
from laminar.io._folders import existing, first_few
from laminar.io._matrices import as_csr, as_float, check_finite, divisor_of
from laminar.io.dataset import Dataset, Matrix
from laminar.io.labels import label_frame

if TYPE_CHECKING:
    from pandas import DataFrame

USUAL_NAMES = ("X", "data", "fea")  # of the array of data, if there are several
PROPERTIES = ("ids", "image_shape", "feature_names", "names")  # arrays that describe others
SINGLE = "X"  # key of data that are not views


@dataclass(frozen=True)
class ArrayReader:
    """Reader of arrays: .npy, .npz, .mat, .h5, .hdf5 and .zarr; samples in rows.

    An .npy file of floats stays on disk and is read in parts, as do floats of HDF5 and zarr files of more than half of
    ``max_memory`` (`laminar.set_config`). Arrays (n_samples, height, width), with or without three
    channels, become rows of pixels. Bytes are divided by 255, or by their largest value if that is at most 16. Sparse
    matrices, of ``scipy.sparse.save_npz`` or MATLAB, stay sparse. Nothing is unpickled. In the same file an array
    ``ids`` names the samples, ``feature_names`` the features, and ``image_shape`` is the height and width of a row.

    `read` returns a data set whose reader has ``name``, ``divisors`` and ``n_features`` of these data, and so treats
    other files alike.

    Parameters
    ----------
    name : str, sequence of str or None, default=None
        The array; of several names each is a view. None is the only matrix of numbers, or that called X, data or fea.
    transposed : bool, default=False
        Whether samples are the columns; of images the last axis.
    label_names : str or sequence of str, default=()
        Arrays of labels, one integer or text a sample. New files may lack them.
    labels_optional : bool, default=False
        Whether files without the arrays of labels are read as well; the reader of a `Dataset` has it.
    divisors : dict of str to float, or None, default=None
        What the bytes of each view are divided by, of data without views that of "X"; found in the data if None.
    n_features : dict of str to int, or None, default=None
        Number of features of each view, of data without views that of "X"; found in the data if None.

    See Also
    --------
    read : Read data of any kind.
    TableReader : Reader of tables.

    Examples
    --------
    >>> import tempfile
    >>> from laminar.io import ArrayReader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "faces.npz"
    ...     np.savez(path, X=np.array([[0, 255], [51, 102]], dtype=np.uint8), pose=np.array([1, 2]))
    ...     data = ArrayReader(label_names="pose").read(path)
    >>> data.X, data.labels["pose"].tolist()
    (array([[0. , 1. ],
           [0.2, 0.4]], dtype=float32), [1, 2])
    """

    name: str | Sequence[str] | None = None
    transposed: bool = False
    label_names: str | Sequence[str] = ()
    labels_optional: bool = field(default=False, metadata={"from_data": True})
    divisors: Mapping[str, float] | None = field(default=None, metadata={"from_data": True})
    n_features: Mapping[str, int] | None = field(default=None, metadata={"from_data": True})

    def read(
        self, path: str | os.PathLike, *, skip_bad: bool = False, n_jobs: int | None = None, verbose: int = 0
    ) -> Dataset:
        """Read one or several arrays of a file.

        Parameters
        ----------
        path : path
            The file; of zarr a folder or a .zip file.
        skip_bad : bool, default=False
            Not used, arrays are in one file.
        n_jobs : int or None, default=None
            Not used.
        verbose : int, default=0
            Not used.

        Returns
        -------
        Dataset
            The samples, with a reader for new files.
        """
        path = existing(path)
        with open_arrays(path) as entries:
            chosen = self._choose(path, entries)
            parts = {key: self._part(path, key, entry) for key, entry in chosen.items()}
            n_samples = _common_rows(path, parts)
            used = {entry.name for entry in chosen.values()}
            others = {name: entry for name, entry in entries.items() if name not in used}
            ids = _ids(path, others, n_samples)
            labels, notes = self._labels(path, others, ids)
            described = {key: _described(part, others) for key, part in parts.items()}
        reader = replace(
            self,
            name=self._found_name(chosen, entries),
            labels_optional=True,
            divisors={key: part.divisor for key, part in described.items()},
            n_features={key: part.X.shape[1] for key, part in described.items()},
        )
        notes = [note for part in described.values() for note in part.notes] + notes
        return _dataset(described, ids=ids, labels=labels, reader=reader, notes=tuple(notes))

    @property
    def _reads_new_files(self) -> bool:
        return self.n_features is not None

    def _choose(self, path: Path, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """Return the arrays of data by view, of data without views that of "X"."""
        if not entries:
            raise ValueError(f"{path} holds no arrays.")
        if self.name is None:
            return {SINGLE: _only_matrix(path, entries)}
        if isinstance(self.name, str):
            if len(entries) == 1 and self._reads_new_files:  # a file of one array, under any name
                return {SINGLE: next(iter(entries.values()))}
            return {SINGLE: _named(path, entries, self.name)}
        return {name: _named(path, entries, name) for name in self.name}

    def _found_name(self, chosen: Mapping[str, Entry], entries: Mapping[str, Entry]) -> Any:
        if self.name is None:
            return chosen[SINGLE].name if len(entries) > 1 else None
        return self.name if isinstance(self.name, str) else tuple(self.name)

    def _part(self, path: Path, key: str, entry: Entry) -> _Part:
        source = f"{path}: array {entry.name!r}"
        _check_numbers(source, entry)
        try:
            array = _stored(entry) if entry.open is not None and not self.transposed else None
            array = entry.load() if array is None else array
        except Exception as error:  # each format has its own kinds of error
            raise ValueError(f"{source} cannot be read: {error}") from error
        if isinstance(array, Stored):
            part = _Part(array)
        else:
            part = _sparse_part(array, self.transposed) if entry.is_sparse else self._dense_part(source, key, array)
        if 0 in part.X.shape:
            raise ValueError(f"{source} is empty: it has shape {array.shape}.")
        expected = (self.n_features or {}).get(key, part.X.shape[1])
        if part.X.shape[1] != expected:
            hint = " Are the samples its columns (transposed=True)?" if array.shape[0] == expected else ""
            raise ValueError(f"{source} has {part.X.shape[1]} features, but {expected} are expected.{hint}")
        check_finite(source, part.X)
        return part

    def _dense_part(self, source: str, key: str, array: np.ndarray) -> _Part:
        array, image_shape = _by_rows(source, array, self.transposed)
        is_bytes = array.dtype == np.uint8
        # Of new files bytes are divided as those of the old ones, whatever their largest value; floats are not.
        divisor = divisor_of(array) if self.divisors is None else self.divisors.get(key, 1.0)
        found = _Part(as_float(array, divisor if is_bytes else 1.0), image_shape, divisor)
        if is_bytes and divisor != 1:
            found.notes.append(f"{source} holds bytes: divided by {divisor:.0f}.")
        return found

    def _labels(self, path: Path, others: Mapping[str, Entry], ids: np.ndarray) -> tuple[DataFrame | None, list[str]]:
        """Return the labels, and a note on arrays that may be labels too."""
        names = names_of(self.label_names)
        candidates = [name for name, entry in others.items() if _may_be_labels(entry, len(ids))]
        absent = [name for name in names if name not in candidates]
        if absent and not self.labels_optional:
            held = f"Such arrays are {', '.join(candidates)}." if candidates else "The file has no such array."
            raise ValueError(f"{path} has no array {absent[0]!r} with one label a sample (label_names). {held}")
        columns = {name: _label_values(path, others[name]) for name in names if name in candidates}
        rest = [name for name in candidates if name not in names and name not in PROPERTIES]
        note = f"{path.name}: {', '.join(rest)} may be labels, read by label_names= (--label-columns)."
        show_note = bool(rest) and not self.labels_optional
        return (label_frame(columns, ids) if columns else None), [note] * show_note


@dataclass
class _Part:
    """Data of one view."""

    X: Matrix
    image_shape: tuple[int, ...] | None = None
    divisor: float = 1.0
    feature_names: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)


# Choice of the array


def _named(path: Path, entries: Mapping[str, Entry], name: str) -> Entry:
    if name not in entries:
        nearest = difflib.get_close_matches(name, entries, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"{path} has no array {name!r}.{hint} It has {_listed(entries)}.")
    return entries[name]


def _only_matrix(path: Path, entries: Mapping[str, Entry]) -> Entry:
    if len(entries) == 1:
        return next(iter(entries.values()))
    matrices = {name: entry for name, entry in entries.items() if _is_matrix(entry) and name not in PROPERTIES}
    usual = [matrices[name] for name in USUAL_NAMES if name in matrices]
    if usual or len(matrices) == 1:
        return usual[0] if usual else next(iter(matrices.values()))
    number = f"{len(matrices)} matrices" if matrices else "no matrix of numbers"
    raise ValueError(
        f"{path} has {number}: {_listed(entries)}. Choose one by name= (--array NAME), or several as views "
        "by a tuple of names."
    )


def _is_matrix(entry: Entry) -> bool:
    return entry.is_numeric and len(entry.shape) >= 2 and sum(size > 1 for size in entry.shape) > 1


def _listed(entries: Mapping[str, Entry], at_most: int = 12) -> str:
    rest = len(entries) - at_most
    return ", ".join(map(str, list(entries.values())[:at_most])) + (f" and {rest} more" if rest > 0 else "")


# Data


def _stored(entry: Entry) -> Stored | None:
    """Return floats of a file that do not fit into memory as an array on disk, and None for others."""
    is_matrix = entry.dtype is not None and entry.dtype.kind == "f" and len(entry.shape) == 2
    source = entry.open() if is_matrix and entry.open is not None else None
    return Stored(source) if is_streamed(source) else None


def _check_numbers(source: str, entry: Entry) -> None:
    if not entry.is_numeric:
        kind = {"c": "complex numbers", "O": "Python objects", "U": "text", "S": "text", "V": "records"}
        found = "no array" if entry.dtype is None else kind.get(entry.dtype.kind, f"values of type {entry.dtype}")
        raise ValueError(f"{source} holds {found}: samples need real numbers.")


def _by_rows(source: str, array: np.ndarray, transposed: bool) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """Return samples in rows, and the shape of an image."""
    is_image = array.ndim == 3 or (array.ndim == 4 and array.shape[2 if transposed else 3] in (1, 3))
    if array.ndim != 2 and not is_image:
        raise ValueError(
            f"{source} has shape {array.shape}: samples are "
            "rows of a matrix, or images of shape (n, height, width) or (n, height, width, 3)."
        )
    if transposed:
        array = np.moveaxis(array, -1, 0)
    if not is_image:
        return array, None
    image_shape = array.shape[1:3] if array.shape[3:] == (1,) else array.shape[1:]
    return array.reshape(len(array), int(np.prod(array.shape[1:]))), image_shape


def _sparse_part(array: Any, transposed: bool) -> _Part:
    return _Part(as_csr(array.T if transposed else array))


def _common_rows(path: Path, parts: Mapping[str, _Part]) -> int:
    rows = {key: part.X.shape[0] for key, part in parts.items()}
    if len(set(rows.values())) > 1:
        found = ", ".join(f"{key} {number}" for key, number in rows.items())
        raise ValueError(f"{path}: arrays of one file as views need the same samples, but have rows: {found}.")
    return next(iter(rows.values()))


def _dataset(parts: Mapping[str, _Part], **fields: Any) -> Dataset:
    if list(parts) == [SINGLE]:
        part = parts[SINGLE]
        return Dataset(X=part.X, image_shape=part.image_shape, feature_names=part.feature_names, **fields)
    shapes = {key: part.image_shape for key, part in parts.items() if part.image_shape is not None}
    return Dataset(X={key: part.X for key, part in parts.items()}, image_shape=shapes or None, **fields)


# Arrays that describe the samples


def _described(part: _Part, others: Mapping[str, Entry]) -> _Part:
    """Return the data with the shape of images and the names of features that other arrays hold."""
    n_features = part.X.shape[1]
    shape = others.get("image_shape")
    if part.image_shape is None and shape is not None and shape.is_numeric:
        found = tuple(int(size) for size in np.ravel(shape.load()))
        part.image_shape = found if len(found) in (2, 3) and np.prod(found) == n_features else None
    for name in ("feature_names", "names"):
        if name in others and others[name].is_text and others[name].is_vector(n_features):
            part.feature_names = others[name].texts()
            break
    return part


def _ids(path: Path, others: Mapping[str, Entry], n_samples: int) -> np.ndarray:
    entry = others.get("ids")
    if entry is None:
        return np.arange(n_samples).astype(str)
    if not entry.is_vector(n_samples):
        raise ValueError(f"{path}: ids has shape {entry.shape}, but there are {n_samples} samples.")
    ids = entry.texts()
    values, times = np.unique(ids, return_counts=True)
    if np.any(times > 1):
        raise ValueError(f"{path}: ids has names more than once: {first_few(values[times > 1])}.")
    return ids


def _may_be_labels(entry: Entry, n_samples: int) -> bool:
    """Return whether an array has one number or text a sample; MATLAB holds whole numbers as floats."""
    return entry.is_vector(n_samples) and (entry.is_numeric or entry.is_text)


def _label_values(path: Path, entry: Entry) -> list[str]:
    values = entry.texts()
    if entry.dtype is not None and entry.dtype.kind == "f" and any("." in value for value in values):
        raise ValueError(f"{path}: array {entry.name!r} holds measurements, not labels: labels are integers or text.")
    return values.tolist()

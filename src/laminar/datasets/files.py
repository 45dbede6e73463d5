"""Data sets in the folder that the environment variable LAMINAR_DATA names, or elsewhere, under one call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import Bunch

from laminar.datasets.downloads import download as download_set
from laminar.datasets.layouts import holds, position_in_class, read_set
from laminar.datasets.record import Record
from laminar.datasets.records import records
from laminar.features import Resize

VARIABLE = "LAMINAR_DATA"  # environment variable with the folder


def available() -> list[str]:
    """List the data sets that :func:`load` finds; none when LAMINAR_DATA is not set.

    Returns
    -------
    list of str
        Sorted names: of all .npz files, and of :func:`records` where a file or folder of theirs is there.

    See Also
    --------
    find : Where one of them is.

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> from laminar.datasets import available
    >>> with mock.patch.dict(os.environ, LAMINAR_DATA=""):
    ...     available()
    []
    """
    entries = _entries()
    stems = {path.stem for path in entries.values() if path.suffix == ".npz"}
    return sorted(stems | {name for name, record in records().items() if any(_places(name, record, entries))})


def find(name: str) -> Path | None:
    """Return the file or folder that a data set is read from.

    Parameters
    ----------
    name : str
        Name of an .npz file without ending, or of :func:`records`.

    Returns
    -------
    Path or None
        None where LAMINAR_DATA is not set or holds nothing of the set.

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> from laminar.datasets import find
    >>> with mock.patch.dict(os.environ, LAMINAR_DATA=""):
    ...     find("orl")
    """
    return next(_places(name, records().get(name), _entries()), None)


def load(
    name: str,
    *,
    path: str | os.PathLike | None = None,
    size: int | tuple[int, int] | None = None,
    dtype: DTypeLike = np.float32,
    download: bool = False,
) -> Bunch:
    """Load one data set, from whichever files it is kept in.

    Parameters
    ----------
    name : str
        One of :func:`records`, or the name of an .npz file without ending.
    path : path or None, default=None
        The .npz or .mat file, or the folder. None is found in the folder that LAMINAR_DATA names: first an .npz file,
        then a .mat file, then a folder, by the names in the record. Images in a folder may have further labels in a
        file labels.csv beside them, as `laminar.io.read_labels` reads it.
    size : int, (height, width) or None, default=None
        Size of images, a number for squares. None is that of the file, of images in a folder that of the papers.
    dtype : dtype, default=numpy.float32
        Floating type of the data. Pixels, and other data stored as bytes, are scaled to [0, 1].
    download : bool, default=False
        Whether a set that is not found is downloaded, where it has an open source. scikit-learn keeps it in its own
        folder, ``sklearn.datasets.get_data_home()``.

    Returns
    -------
    Bunch
        ``X`` (n_samples, n_features), or ``views``, a list of such arrays, and ``view_names``, where the file has
        several views; ``attributes``, the names of the label arrays, each of which is a field too, of codes from 0 on
        and -1 where unknown; ``names``, the names of the classes of an attribute (where known); ``image_shape``; of
        sequences ``groups`` and ``frame``, the sequence of each sample and its position in it; ``source``, the path;
        and all other arrays of an .npz file.

    Raises
    ------
    FileNotFoundError
        When the set is not found; the message has where it is given out and where it should be.
    ConnectionError
        When it cannot be downloaded.

    See Also
    --------
    records : What is known of each data set.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest import mock
    >>> import numpy as np
    >>> from laminar.datasets import load
    >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, LAMINAR_DATA=folder):
    ...     pixels = np.array([[0, 255], [51, 255], [0, 0]], dtype=np.uint8)
    ...     np.savez(os.path.join(folder, "tiny.npz"), X=pixels, pose=np.array([0, 1, 1], dtype=np.int16))
    ...     tiny = load("tiny")
    >>> tiny.X[1], tiny.attributes, tiny.pose
    (array([0.2, 1. ], dtype=float32), ['pose'], array([0, 1, 1], dtype=int16))
    """
    record = records().get(name)
    shape = (size, size) if isinstance(size, int) else size
    places = list(_places(name, record, _entries()) if path is None else _inside(Path(path), record))
    if not places and record is not None and record.open_source and download:
        data, source = download_set(record, dtype), None
    elif not places:
        raise FileNotFoundError(_absent(name, record, path, download))
    else:
        data, source = _read(places, record, shape, dtype)
    data.update(name=name, source=source)
    if shape is not None:
        _resize(data, shape)
    if record is not None and record.sequence in data:
        data.attributes = [attribute for attribute in data.attributes if attribute != "frame"]
        data.groups = data[record.sequence]
        data.setdefault("frame", position_in_class(data.groups))
    return data


def _entries() -> dict[str, Path]:
    """Return what the folder holds by name in lower case."""
    folder = os.environ.get(VARIABLE)
    return {path.name.casefold(): path for path in sorted(Path(folder).glob("*"))} if folder else {}


def _places(name: str, record: Record | None, entries: dict[str, Path]) -> Iterator[Path]:
    """Yield the files and folders of a set, the preferred ones first."""
    if (file := entries.get(f"{name}.npz".casefold())) is not None:
        yield file
    if record is None:
        return
    if record.array_file and (file := entries.get(f"{record.array_file}.npz".casefold())) is not None:
        yield file
    yield from (entries[file.casefold()] for file in record.matlab_files if file.casefold() in entries)
    for folder_name in dict.fromkeys(folder.casefold() for folder in (name, *record.folders)):
        folder = entries.get(folder_name)
        if folder is not None and folder.is_dir():
            yield from (place for place in _inside(folder, record) if place.is_file() or holds(folder, record))


def _inside(path: Path, record: Record | None) -> list[Path]:
    """Return the .mat files of the set in a folder, or else the path itself, if it exists."""
    inside = {file.name.casefold(): file for file in path.glob("*.mat")}
    names = record.matlab_files if record is not None else ()
    matlab = [inside[name.casefold()] for name in names if name.casefold() in inside]
    return matlab or [path] * path.exists()


def _read(
    places: list[Path], record: Record | None, shape: tuple[int, int] | None, dtype: DTypeLike
) -> tuple[Bunch, Path]:
    """Read the first place that holds images of the size, or else the first."""
    first = None
    for place in places:
        data = read_set(place, record, shape, dtype)
        if shape is None or shape in _shapes(data).values():
            return data, place
        first = first or (data, place)
    return first  # type: ignore[return-value]


def _shapes(data: Bunch) -> dict[str, tuple[int, ...]]:
    """Return the sizes in which the images are stored, by the array X, X64, ..."""
    return {key.replace("image_shape", "X"): shape for key, shape in data.items() if key.startswith("image_shape")}


def _resize(data: Bunch, shape: tuple[int, int]) -> None:
    """Keep the images of one size alone, reduced or enlarged if they are not stored in it."""
    shapes = _shapes(data)
    if "X" not in data or "X" not in shapes:
        raise ValueError(f"size={shape}: {data.name} has no images, but other features.")
    stored = next((array for array, stored in shapes.items() if stored == shape), None)
    X = Resize(shape, image_shape=shapes["X"]).fit_transform(data.X) if stored is None else data[stored]
    X = X.astype(data.X.dtype, copy=False)
    for array in shapes:
        del data[array], data[array.replace("X", "image_shape")]
    data.update(X=X, image_shape=shape)


def _absent(name: str, record: Record | None, path: str | os.PathLike | None, download: bool) -> str:
    """Return the error of a set that is not found: what it is, where it is given out, where to put it."""
    folder = os.environ.get(VARIABLE)
    if path is not None:
        return f"{name}: {path} does not exist."
    if record is None:
        near = get_close_matches(name, [*available(), *records()], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        held = ", ".join(available()) or "no .npz file"
        where = (
            f"the folder that the environment variable {VARIABLE} names holds {held}"
            if folder
            else f"no folder is known: set the environment variable {VARIABLE} to the folder that holds {name}.npz"
        )
        return f"data set {name!r} was not found: {where}.{hint}"
    where = (
        f"in the folder that the environment variable {VARIABLE} names"
        if folder
        else f"because no folder is known: set the environment variable {VARIABLE} to one"
    )
    files = [f"{record.array_file or name}.npz", *record.matlab_files[:1]]
    if record.example:
        files.append(f"a folder {(record.folders or (name,))[0]} with files as {record.example}")
    sentences = [
        f"{record.title} ({record.what}) was not found {where}.",
        f"Owner: {record.owner}; given out: {record.page}.",
        f"Put there {' or '.join(files)}, or give its place with path=.",
    ]
    if record.open_source and not download:
        sentences.append(f"load({name!r}, download=True) takes it from {record.open_source}.")
    if download:
        sentences.append("It has no open source to download it from.")
    return " ".join(sentences)

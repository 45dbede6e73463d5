"""Data sets in the files in which they circulate: .npz, .mat, folders of images, the files of their owners."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import Bunch

from laminar.datasets.matlab import load_matlab
from laminar.datasets.record import Record
from laminar.io import Dataset, ImageReader, VideoReader, match_labels, read_labels

DATA = re.compile(r"X\d*")  # names of arrays of data in .npz files; all others are labels or properties
ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff")
VIDEOS = (".avi", ".mov", ".mp4", ".mpg", ".wmv")
# Variables of .mat files, in the order in which they are preferred.
MATRICES = ("fea", "X", "data", "facedat", "a_multipie")
LABELS = ("gnd", "gt", "Y", "y", "label", "labels", "truth")
MULTIPLE_FEATURES = ("fac", "fou", "kar", "mor", "pix", "zer")
LABEL_FILE = "labels.csv"  # further attributes of the images of a folder
NEWSPAPERS = ("bbc", "guardian", "reuters")


def read_set(path: Path, record: Record | None, size: tuple[int, int] | None, dtype: DTypeLike) -> Bunch:
    """Read a data set from a file or a folder; ``size`` is that of the images of a folder."""
    if path.suffix.lower() == ".npz":
        return read_npz(path, dtype)
    if record is None:
        raise ValueError(f"{path}: only .npz files can be read under a name that is not one of records().")
    if path.suffix.lower() == ".mat":
        return _read_matlab(path, record, dtype)
    if not path.is_dir():
        raise ValueError(f"{path}: a data set is an .npz file, a .mat file or a folder.")
    return _FOLDERS[record.folder_kind](path, record, size, dtype)


# .npz


def read_npz(path: Path, dtype: DTypeLike) -> Bunch:
    """Read arrays X, or X1, X2, ..., with labels, names and shapes of images."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    data = {key: as_float(arrays.pop(key), dtype) for key in list(arrays) if DATA.fullmatch(key)}
    names = {key.removesuffix("_names"): arrays.pop(key).tolist() for key in list(arrays) if key.endswith("_names")}
    shapes = {key: tuple(arrays.pop(key).tolist()) for key in list(arrays) if key.startswith("image_shape")}
    if not data:
        raise ValueError(f"data set {path.stem!r} holds no data: expected an array X, or X1, X2, ... for views")
    n_samples = len(next(iter(data.values())))
    attributes = [key for key, array in arrays.items() if _is_label(array, n_samples)]
    bunch = Bunch(attributes=attributes, names=names, **shapes, **arrays)
    if "X" in data:
        bunch.update(data)
    else:
        bunch.update(views=[data[f"X{v + 1}"] for v in range(len(data))], view_names=names.pop("view", None))
    return bunch


def summary(path: Path) -> dict[str, int | list[str]]:
    """Return the number of samples and the attributes of an .npz file, whose data are not read."""
    with np.load(path, allow_pickle=False) as file:
        name = next((key for key in file.files if DATA.fullmatch(key)), None)
        if name is None:
            return {}
        with file.zip.open(f"{name}.npy") as member:
            version = np.lib.format.read_magic(member)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            n_samples = read(member)[0][0]
        others = [key for key in file.files if not DATA.fullmatch(key)]
        return {"samples": n_samples, "attributes": [key for key in others if _is_label(file[key], n_samples)]}


def as_float(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return an array of floats, bytes scaled to [0, 1]."""
    scale = 1
    if array.dtype == np.uint8:
        top = int(array.max())
        # Bytes up to 16 are drawings or counts, scaled by their largest; photographs by 255.
        scale = 255 if top > 16 else max(top, 1)
    # In place: two copies of a large set in memory instead of three.
    array = array.astype(dtype)
    array /= scale
    return array


def _is_label(array: np.ndarray, n_samples: int) -> bool:
    """Distinguish labels, one integer a sample, from an index, in which all differ, and from other arrays."""
    integer = array.dtype.kind in "iu" and array.shape == (n_samples,)
    return integer and len(np.unique(array)) < n_samples


# .mat


def _read_matlab(path: Path, record: Record, dtype: DTypeLike) -> Bunch:
    variables = load_matlab(path)
    data = next((variables[name] for name in MATRICES if name in variables), None)
    if data is None:
        raise ValueError(f"{path}: no variable {', '.join(MATRICES)} with the data; it has {', '.join(variables)}.")
    labels = next((np.ravel(variables[name]) for name in LABELS if name in variables), None)
    if isinstance(data, list):
        if labels is None:
            return _cells_of_images(data, record, dtype)
        views = [as_float(_by_rows(path, view, len(labels)), dtype) for view in data]
        return _bunch({record.attributes[0]: _codes(labels)}, views=views, view_names=None)
    if labels is None and data.ndim > 2:
        return _crossed(data, record, dtype)
    if labels is None:
        raise ValueError(f"{path}: no variable {', '.join(LABELS)} with labels; it has {', '.join(variables)}.")
    codes = _codes(labels)
    X, image_shape = _upright(_by_rows(path, data, len(labels)), record)
    X = as_float(X, dtype) if image_shape is None else _pixels(X, dtype)
    positions = _positions(codes, record) if path.name.casefold() == record.matlab_files[0].casefold() else {}
    found = _bunch({record.attributes[0]: codes} | positions, X=X, image_shape=image_shape)
    if record.position in found.attributes and record.position_names:
        found.names[record.position] = list(record.position_names)
    return found


def _by_rows(path: Path, array: np.ndarray, n_samples: int) -> np.ndarray:
    """Return samples in rows: papers have them in columns, their files in either."""
    if n_samples not in array.shape or array.ndim != 2:
        raise ValueError(f"{path}: there are {n_samples} labels, but data of shape {array.shape}.")
    return array if array.shape[0] == n_samples else array.T


def _upright(X: np.ndarray, record: Record) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Return rows of pixels in the order of rows of the image, and its shape; MATLAB has that of columns."""
    side = round(X.shape[1] ** 0.5)
    shape = next((shape for shape in (*record.matlab_shapes, (side, side)) if np.prod(shape) == X.shape[1]), None)
    if record.image_shape is None or shape is None:
        return X, None
    return X.reshape(len(X), shape[1], shape[0]).transpose(0, 2, 1).reshape(len(X), -1), shape


def _pixels(X: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return pixels in [0, 1]; MATLAB often holds those of 0 to 255 as doubles."""
    X = as_float(X, dtype)
    if X.max() > 16:
        X /= 255
    return X


def _positions(codes: np.ndarray, record: Record) -> dict[str, np.ndarray]:
    """Return the position of each sample in its class as labels, where all classes are equally large."""
    if record.position is None or len(set(np.bincount(codes).tolist())) > 1:
        return {}
    return {record.position: position_in_class(codes)}


def position_in_class(codes: np.ndarray) -> np.ndarray:
    """Return the number of earlier samples of the same class.

    Examples
    --------
    >>> position_in_class(np.array([0, 0, 1, 0])).tolist()
    [0, 1, 0, 2]
    """
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    positions = np.empty(len(codes), dtype=np.int16)
    positions[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return positions


def _cells_of_images(cells: Sequence[np.ndarray], record: Record, dtype: DTypeLike) -> Bunch:
    """Read a cell of images (height, width, n) for each class, as umist_cropped.mat has."""
    X = np.concatenate([images.transpose(2, 0, 1).reshape(images.shape[2], -1) for images in cells])
    codes = np.repeat(np.arange(len(cells)), [images.shape[2] for images in cells]).astype(np.int16)
    return _bunch({record.attributes[0]: codes}, X=_pixels(X, dtype), image_shape=cells[0].shape[:2])


def _crossed(data: np.ndarray, record: Record, dtype: DTypeLike) -> Bunch:
    """Read an array whose axes are attributes and, last, pixels; combinations that were not taken are zero."""
    X, image_shape = _upright(data.reshape(-1, data.shape[-1]), record)
    taken = X.any(axis=1)
    codes = np.indices(data.shape[:-1], dtype=np.int16).reshape(data.ndim - 1, -1)[:, taken]
    labels = dict(zip(record.attributes, codes, strict=True))
    return _bunch(labels, X=_pixels(X[taken], dtype), image_shape=image_shape)


# Folders


def holds(folder: Path, record: Record) -> bool:
    """Return whether a folder has any file of the set, under the names of its owner."""
    if record.folder_kind not in ("images", "sequences"):
        return any(folder.rglob(record.example.partition(",")[0]))
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    videos = VIDEOS if record.folder_kind == "sequences" else ()
    expressions = [re.compile(rf"(?:.*/)?{pattern}") for pattern in record.patterns]
    return any(
        file.lower().endswith(videos) or any(_match(file, expression, record) for expression in expressions)
        for file in files
    )


def _read_images(folder: Path, record: Record, size: tuple[int, int] | None, dtype: DTypeLike) -> Bunch:
    """Read the images whose names have the form of the record, with the labels in them."""
    files = _files(folder)
    chosen = next((found for pattern in record.patterns if (found := _matching(files, pattern, record))), {})
    if not chosen:
        raise ValueError(
            f"{folder}: no image of {record.title} is named as {record.example}; "
            f"it holds {', '.join(islice(files, 3)) or 'nothing'}{', ...' * (len(files) > 3)}"
        )
    chosen = _first_of_classes(chosen, record)
    data = ImageReader(size=size or record.image_shape, colour=False).read(folder, files=list(chosen))
    names = {name: [labels[name] for labels in chosen.values()] for name in next(iter(chosen.values()))}
    return _labelled(folder, data, names, dtype)


def _labelled(folder: Path, data: Dataset, labels: dict[str, list[str]], dtype: DTypeLike) -> Bunch:
    """Return images with the labels in their names and those in labels.csv, if the folder has it."""
    if (folder / LABEL_FILE).exists():
        frame = match_labels(data, read_labels(folder / LABEL_FILE)).labels
        for name, values in {} if frame is None else frame.items():
            labels[str(name)] = ["" if value is None else str(value) for value in values]
    return _bunch(labels, X=np.asarray(data.X, dtype), image_shape=data.image_shape)


def _matching(files: Iterable[str], pattern: str, record: Record) -> dict[str, dict[str, str]]:
    """Return the labels of the files that match; of files that differ in their ending alone the first."""
    expression = re.compile(rf"(?:.*/)?{pattern}")
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for file in files:
        match = _match(file, expression, record)
        if match and match.string not in found:
            labels = match.groupdict()
            found[match.string] = file, labels | dict(record.derived(labels) if record.derived else {})
    return dict(found.values())


def _match(file: str, expression: re.Pattern[str], record: Record) -> re.Match[str] | None:
    """Compare the name of an image, without its ending, with that of the record."""
    ending = next((ending for ending in ENDINGS if file.lower().endswith(ending)), "")
    return expression.fullmatch(file[: len(file) - len(ending)]) if ending or record.any_ending else None


def _first_of_classes(files: dict[str, dict[str, str]], record: Record) -> dict[str, dict[str, str]]:
    """Return the first images of the first classes, where the papers use a part of the set."""
    if record.n_classes is None or record.per_class is None:
        return files
    attribute = record.attributes[0]
    counts = Counter(labels[attribute] for labels in files.values())
    large = set(islice((label for label, n in counts.items() if n >= record.per_class), record.n_classes))
    kept: Counter[str] = Counter()
    chosen = {}
    for file, labels in files.items():
        label = labels[attribute]
        kept[label] += 1
        if label in large and kept[label] <= record.per_class:
            chosen[file] = labels
    return chosen


def _read_sequences(folder: Path, record: Record, size: tuple[int, int] | None, dtype: DTypeLike) -> Bunch:
    """Read videos, or frames in a folder for each sequence."""
    if not any(file.lower().endswith(VIDEOS) for file in _files(folder)):
        return _read_images(folder, record, size, dtype)
    data = VideoReader(size=size or record.image_shape, colour=False).read(folder)
    return _labelled(folder, data, {record.attributes[0]: np.asarray(data.groups).tolist()}, dtype)


def _read_multiple_features(folder: Path, record: Record, size: tuple[int, int] | None, dtype: DTypeLike) -> Bunch:
    """Read the six tables of the owner: 200 rows of each digit, in the same order."""
    files = [_one(folder, f"mfeat-{name}") for name in MULTIPLE_FEATURES]
    views = [np.loadtxt(file, dtype=dtype, ndmin=2) for file in files]
    n_samples = len(views[0])
    y = (10 * np.arange(n_samples) // n_samples).astype(np.int16)
    return _bunch({"y": y}, views=views, view_names=list(MULTIPLE_FEATURES))


def _read_three_sources(folder: Path, record: Record, size: tuple[int, int] | None, dtype: DTypeLike) -> Bunch:
    """Read the counts (terms, stories) of three newspapers, and of the stories those that are in all."""
    from scipy.io import mmread

    stories = [np.loadtxt(_one(folder, f"3sources_{paper}.docs"), dtype=int, ndmin=1) for paper in NEWSPAPERS]
    common = sorted(set.intersection(*(set(ids.tolist()) for ids in stories)))
    counts = [mmread(_one(folder, f"3sources_{paper}.mtx")).tocsc() for paper in NEWSPAPERS]
    views = [
        np.asarray(count[:, [ids.tolist().index(story) for story in common]].T.toarray(), dtype)
        for count, ids in zip(counts, stories, strict=True)
    ]
    topics: dict[int, str] = {}
    for line in _one(folder, "3sources.disjoint.clist").read_text(encoding="utf-8").splitlines():
        topic, _, members = line.partition(":")
        topics |= {int(story): topic.strip() for story in members.split(",") if story.strip()}
    return _bunch({"y": [topics.get(story, "") for story in common]}, views=views, view_names=list(NEWSPAPERS))


_FOLDERS: Mapping[str, Callable[[Path, Record, tuple[int, int] | None, DTypeLike], Bunch]] = {
    "images": _read_images,
    "sequences": _read_sequences,
    "multiple features": _read_multiple_features,
    "three sources": _read_three_sources,
}


def _files(folder: Path) -> list[str]:
    """Return the files of a folder and its subfolders, relative to it, in natural order."""
    return sorted((path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()), key=_natural)


def _one(folder: Path, name: str) -> Path:
    found = next((path for path in sorted(folder.rglob(name)) if path.is_file()), None)
    if found is None:
        raise ValueError(f"{folder}: {name} is missing.")
    return found


# Labels


def _bunch(labels: Mapping[str, Sequence[str] | np.ndarray], **fields: object) -> Bunch:
    """Return data with labels; those given as text get codes, and names in natural order."""
    names, codes = {}, {}
    for attribute, values in labels.items():
        array = np.asarray(values)
        if array.dtype.kind in "OU":
            names[attribute] = sorted({value for value in array.tolist() if value}, key=_natural)
            code = {value: i for i, value in enumerate(names[attribute])}
            array = np.array([code.get(value, -1) for value in array.tolist()], dtype=np.int16)
        codes[attribute] = array
    if fields.get("image_shape", ()) is None:
        del fields["image_shape"]
    return Bunch(attributes=list(codes), names=names, **fields, **codes)


def _codes(labels: np.ndarray) -> np.ndarray:
    return np.unique(labels, return_inverse=True)[1].astype(np.int16)


def _natural(text: str) -> list:
    """Return a key that sorts numbers in names by value."""
    # Odd positions of the split are digits: text is compared with text, a number with a number.
    return [int(piece) if i % 2 else piece.casefold() for i, piece in enumerate(re.split(r"(\d+)", text))]

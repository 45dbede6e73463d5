"""Data sets kept as ``.npz`` files in the folder that the environment variable LAMINAR_DATA names."""

import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import Bunch

VARIABLE = "LAMINAR_DATA"  # environment variable with the folder
_DATA = re.compile(r"X\d*")  # names of arrays of data; all others are labels or properties


def available() -> list[str]:
    """List the data sets that :func:`load` finds; none when LAMINAR_DATA is not set.

    Returns
    -------
    list of str
        Sorted names.

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> from laminar.datasets import available
    >>> with mock.patch.dict(os.environ, LAMINAR_DATA=""):
    ...     available()
    []
    """
    folder = os.environ.get(VARIABLE)
    return sorted(path.stem for path in Path(folder).glob("*.npz")) if folder else []


def load(name: str, *, dtype: DTypeLike = np.float32) -> Bunch:
    """Load one data set.

    Parameters
    ----------
    name : str
        One of :func:`available`.
    dtype : dtype, default=numpy.float32
        Floating type of the data. Data stored as bytes are scaled to [0, 1].

    Returns
    -------
    Bunch
        ``X`` (n_samples, n_features), or ``views``, a list of such arrays, where the file has several views;
        ``attributes``, the names of the label arrays, each of which is a field too; ``names``, the names of the
        classes of an attribute (where known); ``image_shape``; and all other arrays of the file.

    Raises
    ------
    FileNotFoundError
        When LAMINAR_DATA is not set, or the folder has no such file.

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
    with np.load(_path(name), allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    data = {key: _as_float(arrays.pop(key), dtype) for key in list(arrays) if _DATA.fullmatch(key)}
    names = {key.removesuffix("_names"): arrays.pop(key).tolist() for key in list(arrays) if key.endswith("_names")}
    shapes = {key: tuple(arrays.pop(key).tolist()) for key in list(arrays) if key.startswith("image_shape")}
    if not data:
        raise ValueError(f"data set {name!r} holds no data: expected an array X, or X1, X2, ... for views")
    n_samples = len(next(iter(data.values())))
    attributes = [key for key, array in arrays.items() if _is_label(array, n_samples)]
    bunch = Bunch(name=name, attributes=attributes, names=names, **shapes, **arrays)
    if "X" in data:
        bunch.update(data)
    else:
        bunch.update(views=[data[f"X{v + 1}"] for v in range(len(data))], view_names=names.pop("view", None))
    return bunch


def _path(name: str) -> Path:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise FileNotFoundError(
            f"data set {name!r} was not found because no folder is known: "
            f"set the environment variable {VARIABLE} to the folder that holds {name}.npz"
        )
    if name not in available():
        raise FileNotFoundError(
            f"data set {name!r} was not found: the folder that the environment variable {VARIABLE} names "
            f"holds {', '.join(available()) or 'no .npz file'}"
        )
    return Path(folder) / f"{name}.npz"


def _as_float(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
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

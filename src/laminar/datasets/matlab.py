"""Variables of .mat files of all versions: arrays, and cells as lists of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laminar._utils.extras import require


def load_matlab(path: Path) -> dict[str, Any]:
    """Return the variables of a .mat file by name; sparse matrices are made dense.

    Raises
    ------
    ValueError
        When the file is damaged.
    """
    from scipy.io import loadmat

    try:
        variables = loadmat(path)
    except NotImplementedError:  # of version 7.3
        return _load_hdf5(path)
    except (ValueError, TypeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} is not a readable .mat file: {error}") from error
    return {name: _plain(value) for name, value in variables.items() if not name.startswith("__")}


def _plain(value: Any) -> Any:
    if sp.issparse(value):
        return value.toarray()
    return [_plain(cell) for cell in value.ravel()] if value.dtype == object else value


def _load_hdf5(path: Path) -> dict[str, Any]:
    h5py = require("h5py", "arrays", "reading .mat files of version 7.3")
    with h5py.File(path, "r") as file:
        return {
            name: _from_hdf5(file, item)
            for name, item in file.items()
            if isinstance(item, h5py.Dataset)  # others are structures, and what cells refer to
        }


def _from_hdf5(file: Any, item: Any) -> Any:
    """Return an array with the axes of MATLAB, which stores them in reverse, or a list of them."""
    if item.dtype == object:
        return [_from_hdf5(file, file[reference]) for reference in np.ravel(item[()])]
    return item[()].T

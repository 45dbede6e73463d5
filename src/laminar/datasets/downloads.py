"""Downloads of data sets through scikit-learn, which keeps them and compares checksums."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import numpy as np
import sklearn.datasets
from numpy.typing import DTypeLike
from sklearn.utils import Bunch

from laminar.datasets.record import Record

# Data sets of OpenML with the six views of the UCI set; their rows are in the same order.
OPENML_VIEWS = {"fac": 12, "fou": 14, "kar": 16, "mor": 18, "pix": 40979, "zer": 22}


def download(record: Record, dtype: DTypeLike) -> Bunch:
    """Download a data set that has an open source.

    Raises
    ------
    ConnectionError
        When the source cannot be reached.
    """
    try:
        with redirect_stdout(sys.stderr):  # where scikit-learn prints what it downloads
            return _SOURCES[record.name](dtype)
    except OSError as error:
        raise ConnectionError(
            f"{record.title} could not be downloaded from {record.open_source} ({error}): "
            f"try again with a network, or take it from {record.page}."
        ) from error


def _olivetti(dtype: DTypeLike) -> Bunch:
    faces = sklearn.datasets.fetch_olivetti_faces(shuffle=False)
    identity = np.asarray(faces.target, dtype=np.int16)
    return Bunch(
        X=np.asarray(faces.data, dtype),
        attributes=["identity"],
        names={},
        identity=identity,
        image_shape=tuple(faces.images.shape[1:]),
    )


def _multiple_features(dtype: DTypeLike) -> Bunch:
    tables = [sklearn.datasets.fetch_openml(data_id=number, as_frame=False) for number in OPENML_VIEWS.values()]
    digits = np.asarray(tables[0].target)
    if any(not np.array_equal(digits, table.target) for table in tables):
        raise ValueError("the views of the UCI digits at OpenML have their samples in different orders")
    y = np.unique(digits.astype(int), return_inverse=True)[1].astype(np.int16)
    views = [np.asarray(table.data, dtype) for table in tables]
    return Bunch(views=views, view_names=list(OPENML_VIEWS), attributes=["y"], names={}, y=y)


_SOURCES = {"orl": _olivetti, "uci_digits": _multiple_features}

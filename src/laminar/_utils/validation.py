"""Sentences about parameters and data that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from . import threads
from .device.array import DeviceArray
from .progress import stage
from .stored import Stored, is_streamed, refuse_stored
from .workers.array import DistributedArray
from .workers.reading import is_dask, is_frame, on_workers, refuse_dask, refuse_unknown_lengths


def check_choice(name: str, value: Any, choices: tuple) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def check_positive(name: str, value: float | None) -> None:
    """Refuse a number that is neither None nor above zero."""
    if value is not None and not 0 < value < np.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {value!r}.")


def count_samples(X: Any) -> int:
    """Return the number of rows of whatever X is."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


@contextmanager
def clear_errors(name: str = "X", model: BaseEstimator | None = None) -> Iterator[None]:
    """Replace scikit-learn's errors about text and NaN in an array by ones with a cure."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(
                f"{name} holds text ({error}): encode it as numbers first, as OneHotEncoder does."
            ) from None
        if model is None or "does not accept missing values" not in str(error):
            raise
        raise ValueError(f"{name} contains NaN, and {_cure_of_missing(model)}") from None


def _cure_of_missing(model: BaseEstimator) -> str:
    return (
        f"{type(model).__name__} uses every entry: leave these samples out, or fill the entries in, as "
        "sklearn.impute.SimpleImputer does. Of several views, ClusterEnsemble is fitted to samples that "
        "lack some."
    )


def refuse_masked(model: BaseEstimator, X: Any) -> None:
    """Refuse a masked array, or a list of masked rows: as an array it would be what is under the mask.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> refuse_masked(PCA(), np.ma.array([1.0, 2.0], mask=[False, True]))
    Traceback (most recent call last):
    ValueError: X has 1 masked entries, and PCA uses every entry: leave these samples out, or fill the entries in, ...
    """
    rows = X if isinstance(X, list | tuple) else [X]
    n_masked = sum(int(np.ma.count_masked(row)) for row in rows if np.ma.is_masked(row))
    if n_masked:
        raise ValueError(f"X has {n_masked} masked entries, and {_cure_of_missing(model)}")


def read_data(model: BaseEstimator, X: Any, *, streams: bool = False, **checks: Any) -> Any:
    """Return X as scikit-learn's `validate_data` does, with errors that name what to do here.

    With ``streams`` an array on disk that does not fit into memory is returned as `Stored`, and one of dask as an array
    on the workers; without, they are refused.
    """
    refuse_masked(model, X)
    with clear_errors("X", model):
        if isinstance(X, Stored) or (streams and is_streamed(X)):
            return _read_stored(model, X, checks.get("reset", True))
        if isinstance(X, DistributedArray):
            return X
        if is_dask(X) and streams:
            return _read_dask(model, X, checks.get("reset", True))
        if isinstance(X, DeviceArray):
            return _read_device(model, X, checks.get("reset", True))
        refuse_dask(X, type(model).__name__)
        refuse_stored(X, type(model).__name__)
        return validate_data(model, X, **checks)


def check_features(model: BaseEstimator, X: Any, *, reset: bool = False) -> None:
    """Check the number and the names of the features of dask data, as scikit-learn does."""
    refuse_unknown_lengths(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions, samples and features; got shape {X.shape}.")
    validate_data(model, X._meta if is_frame(X) else X, reset=reset, skip_check_array=True)


def check_on_device(X: DeviceArray, name: str = "X") -> DeviceArray:
    """Return an array on a device in a floating type, all of whose entries are finite."""
    if not X.size or X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, with a row and a column at least; got shape {X.shape}.")
    X = X if X.dtype.kind == "f" else X.astype(np.float64)
    if not np.isfinite([X.min(), X.max()]).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return X


def _read_device(model: BaseEstimator, X: DeviceArray, reset: bool) -> DeviceArray:
    """Check the number of features, and on the device that all entries are finite."""
    X = check_on_device(X)
    validate_data(model, X, reset=reset, skip_check_array=True)
    return X


def _read_dask(model: BaseEstimator, X: Any, reset: bool) -> DistributedArray:
    """Check the number of features, and on the workers that all entries are finite."""
    check_features(model, X, reset=reset)
    stage("blocks of X to the workers")
    (read,) = on_workers([X])
    if not np.isfinite([read.extent.low, read.extent.high]).all():
        raise ValueError(f"X contains NaN or infinity, and {_cure_of_missing(model)}")
    return read


def _read_stored(model: BaseEstimator, X: Any, reset: bool) -> Stored:
    """Check the number of features and, in one pass over the file, that all entries are finite."""
    X = X if isinstance(X, Stored) else Stored(X)
    validate_data(model, X, reset=reset, skip_check_array=True)
    with threads.own_threads():
        if not np.isfinite([X.extent.low, X.extent.high]).all():
            for rows in X.blocks:  # the block that has it gives the sentence
                check_array(X.read(rows), estimator=model, input_name="X")
    return X

"""`Estimator`: the base of all estimators, which records in a pickle the version of Laminar that wrote it."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from . import __version__


class OtherVersionWarning(InconsistentVersionWarning):
    """An estimator is unpickled that another version of Laminar wrote; filters for scikit-learn's warning catch it.

    Parameters
    ----------
    estimator_name : str
        Name of the class.
    original_version : str or None
        The version that wrote the pickle; None before versions were recorded.
    """

    def __init__(self, estimator_name: str, original_version: str | None):
        self.estimator_name, self.original_version = estimator_name, original_version

    def __str__(self) -> str:
        by = "an earlier version of Laminar" if self.original_version is None else f"Laminar {self.original_version}"
        return (
            f"This {self.estimator_name} was pickled by {by} and is read by {__version__}: it may fail or give other "
            "results. Fit it again, or read it with the version that wrote it."
        )


class Estimator(BaseEstimator):
    """scikit-learn's base class, which records the version in pickles of scikit-learn's own estimators alone.

    Examples
    --------
    >>> import pickle
    >>> Estimator().__getstate__() == {"_laminar_version": __version__}
    True
    >>> vars(pickle.loads(pickle.dumps(Estimator())))  # no attribute of the estimator
    {}
    """

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_laminar_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        original = state.pop("_laminar_version", None)
        if original != __version__:
            warnings.warn(OtherVersionWarning(type(self).__name__, original), stacklevel=2)
        super().__setstate__(state)

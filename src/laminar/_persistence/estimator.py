"""`Estimator`: the base of all estimators: model files, and the version of Laminar in pickles."""

from __future__ import annotations

import os
import warnings
from copy import copy
from importlib import import_module
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from .._utils import __version__
from .model_file import save_model
from .records import Describable


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

    def save(self, path: str | os.PathLike, *, data: Describable | None = None, training_codes: bool = True) -> None:
        """Write the fitted estimator to a model file, which `laminar.load` reads.

        Parameters
        ----------
        path : path
            The file, usually with the ending ".laminar". One that is there is replaced when the new one is complete.
        data : Dataset or None, default=None
            Training data as the readers of Laminar return them; names, labels and reader are stored, and not X.
        training_codes : bool, default=True
            Whether the codes of the training samples, and their names and labels, are stored. Without them new samples
            are coded, reconstructed and clustered as before, with the number of clusters of the parameters.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        TypeError
            If a parameter or attribute cannot be stored, such as a function.
        """
        save_model(self._in_memory(), path, data=data, training_codes=training_codes)

    def report(self, X: Any = None, **options: Any) -> Any:
        """Report what the layers of the fitted estimator hold, beside baselines: one HTML file.

        Parameters
        ----------
        X : Dataset, array-like, sparse matrix, views, or None, default=None
            The samples of the fit. None means the codes that the model has of them, without reconstructions and
            baselines.
        **options : dict
            ``labels``, known labels to compare with; ``given``, those that the model was given; ``groups``,
            ``image_shape`` and others, see `laminar.report.report`.

        Returns
        -------
        laminar.report.Report
            ``save("report.html")`` writes it, and notebooks show it.
        """
        # Reports are built on the public names, which are above this module.
        return import_module("laminar.report").report(self, X, **options)

    def _in_memory(self) -> Self:
        """Return the estimator with arrays of numpy, if it has others."""
        return self

    def _without_training_codes(self) -> Self:
        """Return a copy without what belongs to the training samples, where new samples do not need it."""
        return copy(self)

    def _kept_samples(self) -> list[str]:
        """Return what of the training samples the fitted attributes hold, by the names of the attributes."""
        return []

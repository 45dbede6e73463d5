"""Forms of one view: what is multiplied, weighted or brought to unit length before principal scores are taken.

    raw       x_ij / max |x|
    standard  x_ij / (standard deviation of feature j)
    unit      x_i / ||x_i||
    tfidf     unit rows of (1 + log(x_ij / m)) (1 + log((1 + n) / (1 + n_j))),  m the smallest x > 0, n_j of n have j

None has a mean subtracted, so that sparse data stay sparse; scores are centred (`scores`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._engine.data.matrix import smallest, unit_of

FORMS = ("raw", "standard", "unit", "tfidf")
COUNTS, NUMBERS = ("unit", "tfidf"), ("raw", "standard")


@dataclass(frozen=True, eq=False)
class Form:
    """A form of a view with what it learned from the training samples.

    Parameters
    ----------
    name : {"raw", "standard", "unit", "tfidf"}
        Which.
    factors : ndarray of shape (n_features,)
        What columns are multiplied by; those of "tfidf" after the logarithm.
    smallest : float
        Smallest entry above zero, the unit of the logarithm.

    Examples
    --------
    >>> X = np.array([[3.0, 0.0], [0.0, 5.0]])
    >>> fit_form("standard", X)(X).round(3)
    array([[2., 0.],
           [0., 2.]])
    >>> fit_form("unit", X)(X)
    array([[1., 0.],
           [0., 1.]])
    """

    name: str
    factors: np.ndarray
    smallest: float = 1.0

    def __call__(self, X: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
        """Return samples in this form, in double precision."""
        X = X.astype(np.float64)
        if self.name == "tfidf":
            X = _log_counts(X, self.smallest)
        X = sp.csr_array(X @ sp.diags_array(self.factors)) if sp.issparse(X) else X * self.factors
        return X if self.name in ("raw", "standard") else normalize(X)


def fit_form(name: str, X: np.ndarray | sp.csr_array) -> Form:
    """Return a form of the training samples X.

    Parameters
    ----------
    name : {"raw", "standard", "unit", "tfidf"}
        Which.
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples that have the view.

    Returns
    -------
    Form
        A function of samples.
    """
    n_samples, n_features = X.shape
    unit = np.full(n_features, 1 / unit_of(_entries(X)))
    if name == "standard":
        return Form(name, _inverse_deviations(X * unit[0]) * unit)
    if name == "tfidf":
        n_with = np.asarray((X > 0).sum(axis=0), dtype=np.float64).ravel()
        return Form(name, 1 + np.log((1 + n_samples) / (1 + n_with)), _smallest_positive(X))
    return Form(name, unit)


def names_of_forms(X: np.ndarray | sp.csr_array, *, min_zeros: float = 0.8) -> tuple[str, ...]:
    """Return the forms that suit a view: those of counts where no entry is negative and most are zero.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples that have the view.
    min_zeros : float, default=0.8
        Share of zeros above which data are taken for counts, of words for example.

    Returns
    -------
    names : tuple of str

    Examples
    --------
    >>> names_of_forms(np.eye(10)), names_of_forms(-np.eye(10))
    (('unit', 'tfidf'), ('raw', 'standard'))
    """
    n_nonzero = np.count_nonzero(_entries(X))
    is_counts = smallest(X) >= 0 and n_nonzero < (1 - min_zeros) * X.shape[0] * X.shape[1]
    return COUNTS if is_counts else NUMBERS


def suited_form(X: np.ndarray | sp.csr_array, *, min_features: float = 5.0) -> str:
    """Return the one form that suits a view, by statistics that need no labels.

    Counts are in "tfidf", see `names_of_forms`. Other data are standardised where few features have nearly all of the
    variance, as in tables of features with different units.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples that have the view.
    min_features : float, default=5.0
        Number of `effective_features` below which features are standardised: tables have 1 to 2, images and other
        measurements in one unit, which standardising harms, 17 and more (docs/clustering.md).

    Returns
    -------
    name : {"raw", "standard", "tfidf"}

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 8))
    >>> suited_form(X), suited_form(X * [100, 1, 1, 1, 1, 1, 1, 1]), suited_form(np.eye(10))
    ('raw', 'standard', 'tfidf')
    """
    if names_of_forms(X) == COUNTS:
        return "tfidf"
    return "standard" if effective_features(X) < min_features else "raw"


def effective_features(X: np.ndarray | sp.csr_array) -> float:
    """Return the number of features that hold the variance, ``(sum_j v_j)^2 / sum_j v_j^2`` with v_j that of feature j.

    Examples
    --------
    >>> effective_features(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    2.0
    """
    variances = _moments(X / unit_of(_entries(X)))[1]
    return float(variances.sum() ** 2 / ((variances**2).sum() or 1.0))


def resolve_forms(forms: Any, names: Sequence, views: Sequence[np.ndarray | sp.csr_array]) -> list[tuple[str, ...]]:
    """Return the names of the forms of each view from the parameter ``forms``.

    Parameters
    ----------
    forms : "auto", sequence of str, or dict of them by view
        The parameter.
    names : sequence
        Names of the views.
    views : sequence of {ndarray, sparse array}
        The samples that have each view.

    Returns
    -------
    names : list of tuple of str

    Examples
    --------
    >>> resolve_forms({"words": ["tfidf"]}, ["words", "pixels"], [np.eye(2), -np.eye(2)])
    [('tfidf',), ('raw', 'standard')]
    """
    by_view = forms if isinstance(forms, Mapping) else dict.fromkeys(names, forms)
    unknown = [name for name in by_view if name not in names]
    if unknown:
        raise ValueError(f"forms is given for the views {unknown}, but the views are {list(names)}.")
    return [
        names_of_forms(X) if isinstance(by_view.get(name, "auto"), str) else _checked(by_view[name], X)
        for name, X in zip(names, views, strict=True)
    ]


def plan_forms(
    forms: Any, names: Sequence, views: Sequence[np.ndarray | sp.csr_array]
) -> tuple[list[tuple[str, ...]], int]:
    """Return as many forms of each view, and of how many of them graphs of single views are made.

    With "auto" and several views unit rows are added for views side by side: for graphs of single views, and for one
    view, they were no gain.

    Parameters
    ----------
    forms : "auto", sequence of str, or dict of them by view
        The parameter.
    names : sequence
        Names of the views.
    views : sequence of {ndarray, sparse array}
        The samples that have each view.

    Returns
    -------
    names : list of tuple of str
        By view and position; the last form of a view that has fewer is repeated.
    n_summed : int

    Examples
    --------
    >>> plan_forms("auto", ["a", "b"], [np.eye(10), -np.eye(10)])
    ([('unit', 'tfidf', 'unit'), ('raw', 'standard', 'unit')], 2)
    """
    found = resolve_forms(forms, names, views)
    n_forms = max(map(len, found))
    found = [own + own[-1:] * (n_forms - len(own)) for own in found]
    if isinstance(forms, str) and len(found) > 1 and any("unit" not in own for own in found):
        found = [(*own, "unit") for own in found]
    return found, n_forms


def _checked(forms: Sequence[str], X: np.ndarray | sp.csr_array) -> tuple[str, ...]:
    if not len(forms) or any(form not in FORMS for form in forms):
        raise ValueError(f'forms must be "auto" or one or more of {", ".join(FORMS)}; got {forms!r}.')
    return tuple(checked_form(form, X) for form in forms)


def checked_form(form: str, X: np.ndarray | sp.csr_array) -> str:
    """Return the name of a form; raise an error for counts with negative entries."""
    if form == "tfidf" and smallest(X) < 0:
        raise ValueError('forms: "tfidf" is for counts, and X has negative entries: use "raw", "standard" or "unit".')
    return form


def _entries(X: Any) -> np.ndarray:
    """Return the stored entries: all of an array, those that are not zero of a sparse matrix."""
    return X.data if sp.issparse(X) else X


def _smallest_positive(X: np.ndarray | sp.csr_array) -> float:
    entries = _entries(X)
    return float(np.min(entries, initial=np.inf, where=entries > 0)) if (entries > 0).any() else 1.0


def _inverse_deviations(X: np.ndarray | sp.csr_array, *, rounding: float = 1e-6) -> np.ndarray:
    """Return one over the standard deviation of each feature; 0 for a constant one, up to rounding."""
    mean, variance = _moments(X)
    deviation = np.sqrt(variance)
    varies = deviation > rounding * np.abs(mean)
    return np.divide(1, deviation, out=np.zeros_like(deviation), where=varies)


def _moments(X: np.ndarray | sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of each feature."""
    if sp.issparse(X):
        return mean_variance_axis(sp.csr_matrix(X, dtype=np.float64), axis=0)
    return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)


def _log_counts(X: Any, unit: float) -> np.ndarray | sp.csr_array:
    """Return ``1 + log(x / unit)`` of the entries above zero, at least 0: new samples may have smaller entries."""
    entries = _entries(X)
    logs = np.zeros_like(entries)
    np.log(entries / unit, out=logs, where=entries > 0)
    logs = np.where(entries > 0, np.maximum(1 + logs, 0), 0)
    return sp.csr_array((logs, X.indices, X.indptr), shape=X.shape) if sp.issparse(X) else logs

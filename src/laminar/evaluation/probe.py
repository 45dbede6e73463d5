"""Accuracy of a linear classifier of features, cross-validated, in an order of the samples that is their own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .._utils.typing import Seed

__all__ = ["content_order", "cross_validated_prediction", "linear_prediction", "linear_probe"]


def linear_probe(
    E: np.ndarray | sp.csr_array,
    classes: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    n_splits: int = 5,
    random_state: Seed = 0,
) -> float:
    """Compute the cross-validated accuracy of a linear classifier: standardised features, logistic regression.

    Parameters
    ----------
    E : {ndarray, sparse array} of shape (n_samples, n_features)
        Features.
    classes : ndarray of shape (n_samples,)
        Class of each sample.
    groups : ndarray of shape (n_samples,) or None, default=None
        Group of each sample; samples of one group are either trained on or predicted in a split.
    n_splits : int, default=5
        Number of folds, each with the classes in their shares; at most the size of the largest class, and the number
        of groups.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.

    Returns
    -------
    float
        Share of the samples whose class is predicted when they are not trained on; NaN where no class has two samples.

    Examples
    --------
    >>> E = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> linear_probe(E, np.array([0, 0, 0, 1, 1, 1]))
    1.0
    """
    predicted = cross_validated_prediction(E, classes, groups, n_splits=n_splits, random_state=random_state)
    return float("nan") if predicted is None else int(np.sum(predicted == classes)) / len(classes)


def cross_validated_prediction(
    E: np.ndarray | sp.csr_array,
    classes: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    n_splits: int = 5,
    random_state: Seed = 0,
) -> np.ndarray | None:
    """Predict the class of every sample by the linear classifier of the others' folds.

    Parameters
    ----------
    E : {ndarray, sparse array} of shape (n_samples, n_features)
        Features.
    classes : ndarray of shape (n_samples,)
        Class of each sample.
    groups : ndarray of shape (n_samples,) or None, default=None
        Group of each sample, as for `linear_probe`.
    n_splits : int, default=5
        Number of folds, as for `linear_probe`.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.

    Returns
    -------
    ndarray of shape (n_samples,), or None
        Predicted classes; None where no class has two samples.

    Examples
    --------
    >>> E = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> cross_validated_prediction(E, np.array([0, 0, 0, 1, 1, 1])).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    n_splits = min(n_splits, int(np.unique(classes, return_counts=True)[1].max()))
    if n_splits < 2:
        return None
    splitter = StratifiedKFold(n_splits, shuffle=True, random_state=random_state)
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError("all samples of known label are in one group: give more groups, or none.")
        splitter = StratifiedGroupKFold(min(n_splits, n_groups), shuffle=True, random_state=random_state)
    predicted = np.empty_like(classes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        for train, test in splitter.split(E, classes, groups):
            predicted[test] = linear_prediction(E[train], classes[train], E[test])
    return predicted


def linear_prediction(E: np.ndarray | sp.csr_array, classes: np.ndarray, new: np.ndarray | sp.csr_array) -> np.ndarray:
    """Predict classes by a linear classifier: standardised features, logistic regression.

    Parameters
    ----------
    E : {ndarray, sparse array} of shape (n_samples, n_features)
        Features of the samples it is trained on.
    classes : ndarray of shape (n_samples,)
        Their classes.
    new : {ndarray, sparse array} of shape (n_new, n_features)
        Features of other samples.

    Returns
    -------
    ndarray of shape (n_new,)
        Their predicted classes.

    Examples
    --------
    >>> linear_prediction(np.array([[0.0], [1.0]]), np.array(["low", "high"]), np.array([[0.1], [2.0]]))
    array(['low', 'high'], dtype='<U4')
    """
    if not new.shape[0] or (classes == classes[0]).all():
        return np.full(new.shape[0], classes[0])
    scaler = StandardScaler(with_mean=not sp.issparse(E))
    return make_pipeline(scaler, LogisticRegression(max_iter=1000)).fit(E, classes).predict(new)


def content_order(arrays: Sequence[np.ndarray | sp.csr_array], *labels: np.ndarray) -> np.ndarray:
    """Return an order of samples that depends on their features and not on where they stand.

    Parameters
    ----------
    arrays : sequence of {ndarray, sparse array} of shape (n_samples, n_features)
        Features. Samples are ordered by a hash of them.
    *labels : ndarray of shape (n_samples,)
        What samples of equal features are ordered by.

    Returns
    -------
    ndarray of shape (n_samples,)
        Indices of the samples.

    Examples
    --------
    >>> X = np.array([[3.0, 1.0], [2.0, 0.0], [5.0, 4.0]])
    >>> turned = X[[2, 0, 1]]
    >>> np.array_equal(X[content_order([X])], turned[content_order([turned])])
    True
    """
    hashes = [blake2b(digest_size=16) for _ in range(arrays[0].shape[0])]
    for A in arrays:
        for i, found in enumerate(hashes):
            if sp.issparse(A):
                inside = slice(A.indptr[i], A.indptr[i + 1])
                found.update(A.indices[inside].astype(np.int64).tobytes() + A.data[inside].tobytes())
            else:
                found.update(A[i].tobytes())
    keys = [(found.digest(), *ties) for found, *ties in zip(hashes, *labels, strict=True)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))

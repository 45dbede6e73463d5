"""Estimate of the accuracy of the model on samples without a label, from those that were drawn at random."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Predict = Callable[[np.ndarray], np.ndarray]  # from the rows whose label is withheld to their predicted values


@dataclass(frozen=True)
class Estimate:
    """Shares of right predictions of labels that were withheld.

    Parameters
    ----------
    accuracy, low, high : float
        Of the model, and its 95 % interval by Wilson's formula.
    linear : float
        Of a linear classifier of the data that is given the same labels.
    largest : float
        Of always the most frequent of the other labels.
    n : int
        Number of samples drawn at random with a label.
    n_labels : int
        Number of all labels.
    """

    accuracy: float
    low: float
    high: float
    linear: float
    largest: float
    n: int
    n_labels: int


def estimate(
    X: np.ndarray,
    values: np.ndarray,
    drawn: np.ndarray,
    predict: Predict,
    *,
    n_folds: int = 5,
    is_stale: Callable[[], bool] = lambda: False,
) -> Estimate | None:
    """Withhold the labels of samples drawn at random, a fold after the other, and predict them from all other labels.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples, for the linear classifier.
    values : ndarray of shape (n_samples,)
        Labels as text, None where unknown.
    drawn : ndarray of int
        Rows that were drawn at random and have a label.
    predict : callable
        From the rows that are withheld to the values that a model without their labels predicts for them.
    n_folds : int, default=5
        Number of folds, at most that of the drawn samples.
    is_stale : callable, default=a function that returns False
        Whether the estimate is of no more use; it then ends.

    Returns
    -------
    Estimate or None
        None with fewer than two drawn samples, or if it became stale.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> values = np.array(["a", "a", "a", "b", "b", "b"], dtype=object)
    >>> found = estimate(X, values, np.array([0, 3, 4]), lambda rows: np.full(len(rows), "b"))
    >>> found.n, round(found.accuracy, 2), found.linear
    (3, 0.67, 1.0)
    """
    from scipy.stats import binomtest

    if len(drawn) < 2:
        return None
    known = np.array([value is not None for value in values])
    hits = np.zeros((3, len(drawn)), dtype=bool)  # the model, the linear classifier, the largest class
    for fold in np.array_split(np.arange(len(drawn)), min(n_folds, len(drawn))):
        if is_stale():
            return None
        withheld = drawn[fold]
        rest = known.copy()
        rest[withheld] = False
        truth = values[withheld]
        hits[0, fold] = predict(withheld) == truth
        hits[1, fold] = _linear(X[rest], values[rest].astype(str), X[withheld]) == truth
        hits[2, fold] = _most_frequent(values[rest]) == truth
    accuracy, linear, largest = (float(row.mean()) for row in hits)
    interval = binomtest(int(hits[0].sum()), len(drawn)).proportion_ci(method="wilson")
    low, high = float(interval.low), float(interval.high)
    return Estimate(accuracy, low, high, linear, largest, len(drawn), int(known.sum()))


def _linear(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from laminar.evaluation.probe import linear_prediction

    if len(set(y)) < 2:
        return np.full(len(new), y[0] if len(y) else "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few samples a class
        return linear_prediction(X, y, new)


def _most_frequent(values: np.ndarray) -> str | None:
    found, counts = np.unique(values.astype(str), return_counts=True)
    return str(found[counts.argmax()]) if len(found) else None

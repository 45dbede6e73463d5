"""Weights of several sets of features for an attribute, from the labelled samples alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._utils.labels import Attribute

RIDGES = (0.01, 0.1, 1.0)  # penalties of the classifiers, relative to features with a mean square of one; a choice


def split_half_accuracy(
    B: np.ndarray, attribute: Attribute, ridges: Sequence[float] = RIDGES, *, n_predictions: int = 2000
) -> float:
    """Compute the cross-validated accuracy of ridge classifiers, trained on random halves of the labelled rows of B.

    The rows are centred and scaled to a mean square of one; the classes are regressed as 0 and 1, with an intercept.
    Accuracies are averaged over classes of two labels or more. With few labels, halves rank features more reliably
    than leaving one out, since the classifiers of different splits differ more.

    Parameters
    ----------
    B : ndarray of shape (n_samples, n_features)
        Features.
    attribute : Attribute
        Labels.
    ridges : sequence of float, default=(0.01, 0.1, 1.0)
        Penalties on the squared coefficients; accuracies are averaged over them, which lowers their variance.
    n_predictions : int, default=2000
        Labels predicted for each penalty, approximately; there are 4 to 60 splits.

    Returns
    -------
    float
        Accuracy; 0 where no class has two labels.

    Examples
    --------
    >>> labels = Attribute(np.array([0, 0, 0, 1, 1, -1]), np.array(["a", "b"]))
    >>> split_half_accuracy(np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]]), labels)
    1.0
    """
    known, sizes = attribute.known, attribute.class_sizes
    if not (sizes > 1).any():
        return 0.0
    y, B = attribute.codes[known], B[known].astype(np.float64)
    B -= B.mean(0)
    B *= np.sqrt(len(B)) / max(np.linalg.norm(B), 1e-300)
    T, n_correct, n_trials = np.eye(len(sizes))[y], np.zeros(len(y)), 0
    for first in _random_halves(y, n_predictions):
        for train in (first, ~first):
            for prediction in _ridge_predictions(B[train], T[train], B[~train], ridges):
                n_correct[~train] += prediction.argmax(1) == y[~train]
        n_trials += len(ridges)
    per_class = np.bincount(y, weights=n_correct / n_trials, minlength=len(sizes)) / np.maximum(sizes, 1)
    return float(per_class[sizes > 1].mean())


def _random_halves(y: np.ndarray, n_predictions: int = 2000) -> Iterator[np.ndarray]:
    """Yield masks of a random half of every class; the seed is fixed."""
    rng = np.random.RandomState(0)
    for _ in range(int(np.clip(n_predictions / len(y), 4, 60))):
        order = np.lexsort((rng.random_sample(len(y)), y))
        rank = np.empty(len(y), int)
        rank[order] = np.arange(len(y)) - np.searchsorted(y[order], y[order])
        # A random offset: the larger half of a class of odd size is either one.
        yield (rank + rng.randint(2, size=y.max() + 1)[y]) % 2 == 0


def _ridge_predictions(A: np.ndarray, T: np.ndarray, new: np.ndarray, ridges: Sequence[float]) -> Iterator[np.ndarray]:
    """Yield the predictions for new rows of ridge regressions of T on A with intercept, in primal or dual form."""
    mean, intercept = A.mean(0), T.mean(0)
    A, new, T = A - mean, new - mean, T - intercept
    if len(A) <= A.shape[1]:
        gram, target, new = A @ A.T, T, new @ A.T
    else:
        gram, target = A.T @ A, A.T @ T
    for ridge in ridges:
        yield new @ np.linalg.solve(gram + ridge * np.eye(len(gram)), target) + intercept


def band_weights(
    bands: Sequence[np.ndarray],
    attribute: Attribute,
    *,
    power: float = 16.0,
    ridges: Sequence[float] = RIDGES,
    min_weight: float = 1e-3,
) -> tuple[np.ndarray, float]:
    """Compute weights of bands from the accuracy of classifiers of the labelled samples.

    Proportional to ``max(0, accuracy - chance) ** power`` with the accuracy of `split_half_accuracy`, summing to one.
    Without information in the labels (fewer than two classes, one label a class, no band above chance) the first band
    has all the weight.

    Parameters
    ----------
    bands : sequence of ndarray of shape (n_samples, n_features)
        Bands of the same samples.
    attribute : Attribute
        Labels.
    power : float, default=16.0
        Exponent; at 0 all bands above chance have the same weight.
    ridges : sequence of float, default=(0.01, 0.1, 1.0)
        Penalties of the classifiers.
    min_weight : float, default=1e-3
        Weights below this part of the largest are set to 0.

    Returns
    -------
    weights : ndarray of shape (n_bands,)
        Weights.
    accuracy : float
        Mean accuracy of the bands under these weights; 0 without information in the labels.

    Examples
    --------
    >>> labels = Attribute(np.array([0, 0, 0, 1, 1, -1]), np.array(["a", "b"]))
    >>> useless, useful = np.zeros((6, 1)), np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]])
    >>> band_weights([useless, useful], labels)
    (array([0., 1.]), 1.0)
    """
    n_classes = len(attribute.classes)
    accuracies = np.array([split_half_accuracy(B, attribute, ridges) if n_classes > 1 else 0.0 for B in bands])
    above_chance = np.maximum(0, accuracies - 1 / max(n_classes, 1))
    if not above_chance.any():
        return np.eye(len(bands))[0], 0.0
    weights = np.where(above_chance > 0, (above_chance / above_chance.max()) ** power, 0)
    weights[weights < min_weight] = 0
    weights /= weights.sum()
    return weights, float(weights @ accuracies)

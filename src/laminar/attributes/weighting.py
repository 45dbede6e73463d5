"""How much each of several sets of features says about an attribute, by the labelled samples alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._utils.labels import Attribute

RIDGES = (0.01, 0.1, 1.0)

_TRIALS = 2000  # labels that are guessed, one split after another
_NEGLIGIBLE = 1e-3  # weight, against the largest, below which a band is left out


def halves_accuracy(B: np.ndarray, attribute: Attribute, ridges: Sequence[float] = RIDGES) -> float:
    """Accuracy of ridge classifiers trained on half of the labelled rows of B and tried on the other, many times over.

    The rows are centred and brought to a mean square of one; the classes are fitted as 0 and 1, with a free intercept.
    Every class with two labels or more counts the same, however many it has. Of so few labels halves tell more surely
    which features are better than leaving out one at a time does: the classifiers differ more.

    Parameters
    ----------
    B : ndarray of shape (n_samples, n_features)
        Features.
    attribute : Attribute
        Labels.
    ridges : sequence of float, default=(0.01, 0.1, 1.0)
        Penalties on the squared coefficients. The mean of their accuracies is less a matter of chance than any of them.

    Returns
    -------
    float
        0 where no class has two labels.

    Examples
    --------
    >>> labels = Attribute(np.array([0, 0, 0, 1, 1, -1]), np.array(["a", "b"]))
    >>> halves_accuracy(np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]]), labels)
    1.0
    """
    known, sizes = attribute.known, attribute.class_sizes
    if not (sizes > 1).any():
        return 0.0
    y, B = attribute.codes[known], B[known].astype(np.float64)
    B -= B.mean(0)
    B *= np.sqrt(len(B)) / max(np.linalg.norm(B), 1e-300)
    T, hits, tried = np.eye(len(sizes))[y], np.zeros(len(y)), 0
    for first in _halves(y):
        for train in (first, ~first):
            for guess in _guesses(B[train], T[train], B[~train], ridges):
                hits[~train] += guess.argmax(1) == y[~train]
        tried += len(ridges)
    per_class = np.bincount(y, weights=hits / tried, minlength=len(sizes)) / np.maximum(sizes, 1)
    return float(per_class[sizes > 1].mean())


def _halves(y: np.ndarray) -> Iterator[np.ndarray]:
    """Masks of half of every class, at random, more of them the fewer labels there are; always the same ones."""
    rng = np.random.RandomState(0)
    for _ in range(int(np.clip(_TRIALS / len(y), 4, 60))):
        order = np.lexsort((rng.random_sample(len(y)), y))
        place = np.empty(len(y), int)
        place[order] = np.arange(len(y)) - np.searchsorted(y[order], y[order])
        # Of a class of an odd size sometimes the one half has one more and sometimes the other.
        yield (place + rng.randint(2, size=y.max() + 1)[y]) % 2 == 0


def _guesses(A: np.ndarray, T: np.ndarray, new: np.ndarray, ridges: Sequence[float]) -> Iterator[np.ndarray]:
    """Ridge regressions of T on the rows of A at new rows, with a free intercept: by samples or features, the fewer."""
    mean, middle = A.mean(0), T.mean(0)
    A, new, T = A - mean, new - mean, T - middle
    if len(A) <= A.shape[1]:
        gram, target, new = A @ A.T, T, new @ A.T
    else:
        gram, target = A.T @ A, A.T @ T
    for ridge in ridges:
        yield new @ np.linalg.solve(gram + ridge * np.eye(len(gram)), target) + middle


def weigh_bands(
    bands: Sequence[np.ndarray], attribute: Attribute, *, power: float = 16.0, ridges: Sequence[float] = RIDGES
) -> tuple[np.ndarray, float]:
    """Weigh bands by how well each tells the classes of the labelled samples apart.

    ``max(0, accuracy - chance) ** power`` with the accuracy of `halves_accuracy`, summing to one; what is negligible
    is 0. Where the labels say nothing (fewer than two classes, one label a class, no band above chance) the first band
    has all the weight.

    Parameters
    ----------
    bands : sequence of ndarray of shape (n_samples, n_features)
        Bands of the same samples.
    attribute : Attribute
        Labels.
    power : float, default=16.0
        0 weighs all bands above chance the same; the larger, the more the best band has.
    ridges : sequence of float, default=(0.01, 0.1, 1.0)
        Of the classifiers.

    Returns
    -------
    weights : ndarray of shape (n_bands,)
        Weights.
    accuracy : float
        Mean accuracy of the bands under these weights; 0 where the labels say nothing.

    Examples
    --------
    >>> labels = Attribute(np.array([0, 0, 0, 1, 1, -1]), np.array(["a", "b"]))
    >>> useless, useful = np.zeros((6, 1)), np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]])
    >>> weigh_bands([useless, useful], labels)
    (array([0., 1.]), 1.0)
    """
    n_classes = len(attribute.classes)
    accuracies = np.array([halves_accuracy(B, attribute, ridges) if n_classes > 1 else 0.0 for B in bands])
    gain = np.maximum(0, accuracies - 1 / max(n_classes, 1))
    if not gain.any():
        return np.eye(len(bands))[0], 0.0
    weights = np.where(gain > 0, (gain / gain.max()) ** power, 0)
    weights[weights < _NEGLIGIBLE] = 0
    weights /= weights.sum()
    return weights, float(weights @ accuracies)

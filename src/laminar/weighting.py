"""How much each of several sets of features says about an attribute, by the labelled samples alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .labels import Attribute

RIDGES = (0.01, 0.1, 1.0)

_NEGLIGIBLE = 1e-3  # weight, against the largest, below which a band is left out


def loo_accuracy(B: np.ndarray, attribute: Attribute, ridges: Sequence[float] = RIDGES) -> float:
    """Leave-one-out accuracy of ridge classifiers on the labelled rows of B, in closed form.

    The rows are centred and brought to a mean square of one; the classes are fitted as 0 and 1, with a free intercept.
    Every class with two labels or more counts the same, however many it has.

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
    >>> loo_accuracy(np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]]), labels)
    1.0
    """
    known, sizes = attribute.known, attribute.class_sizes
    if not (sizes > 1).any():
        return 0.0
    y, B = attribute.codes[known], B[known].astype(np.float64)
    B -= B.mean(0)
    B *= np.sqrt(len(B)) / max(np.linalg.norm(B), 1e-300)
    w, Q = np.linalg.eigh(B.T @ B)
    A, T = B @ Q, np.eye(len(sizes))[y]
    hits = np.zeros(len(y))
    for ridge in ridges:
        shrunk = A / (np.maximum(w, 0) + ridge)
        leverage = np.einsum("ij,ij->i", A, shrunk) + 1 / len(B)
        # With a ridge no sample has all the leverage, but for rounding.
        left_out = T - (T - T.mean(0) - shrunk @ (A.T @ T)) / np.maximum(1 - leverage, 1e-12)[:, None]
        hits += left_out.argmax(1) == y
    per_class = np.bincount(y, weights=hits / len(ridges), minlength=len(sizes)) / np.maximum(sizes, 1)
    return float(per_class[sizes > 1].mean())


def weigh_bands(
    bands: Sequence[np.ndarray], attribute: Attribute, *, power: float = 16.0, ridges: Sequence[float] = RIDGES
) -> tuple[np.ndarray, float]:
    """Weigh bands by how well each tells the classes of the labelled samples apart.

    ``max(0, accuracy - chance) ** power`` with the accuracy of `loo_accuracy`, summing to one; what is negligible is 0.
    Where the labels say nothing (fewer than two classes, one label a class, no band above chance) the first band has
    all the weight.

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
    accuracies = np.array([loo_accuracy(B, attribute, ridges) if n_classes > 1 else 0.0 for B in bands])
    gain = np.maximum(0, accuracies - 1 / max(n_classes, 1))
    if not gain.any():
        return np.eye(len(bands))[0], 0.0
    weights = np.where(gain > 0, (gain / gain.max()) ** power, 0)
    weights[weights < _NEGLIGIBLE] = 0
    weights /= weights.sum()
    return weights, float(weights @ accuracies)

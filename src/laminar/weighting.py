"""How much each of several sets of features says about an attribute, by the labelled samples alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .labels import Attribute

_NEGLIGIBLE = 1e-3  # weight, against the largest, below which a band is left out


def loo_accuracy(B: np.ndarray, attribute: Attribute, ridge: float = 0.01) -> float:
    """Leave-one-out accuracy of a ridge classifier on the labelled rows of B, in closed form.

    The rows are centred and brought to a mean square of one; the classes are fitted as 0 and 1, with a free intercept.
    Every class with two labels or more counts the same, however many it has.

    Parameters
    ----------
    B : ndarray of shape (n_samples, n_features)
        Features.
    attribute : Attribute
        Labels.
    ridge : float, default=0.01
        Penalty on the squared coefficients.

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
    A = B @ (Q / np.sqrt(np.maximum(w, 0) + ridge))
    T = np.eye(len(sizes))[y]
    leverage = np.einsum("ij,ij->i", A, A) + 1 / len(B)
    # With a ridge no sample has all the leverage, but for rounding.
    left_out = T - (T - T.mean(0) - A @ (A.T @ T)) / np.maximum(1 - leverage, 1e-12)[:, None]
    hits = np.bincount(y, weights=left_out.argmax(1) == y, minlength=len(sizes))
    return float((hits / np.maximum(sizes, 1))[sizes > 1].mean())


def band_weights(
    bands: Sequence[np.ndarray], attribute: Attribute, *, power: float = 4.0, ridge: float = 0.01
) -> np.ndarray:
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
    power : float, default=4.0
        0 weighs all bands above chance the same; the larger, the more the best band has.
    ridge : float, default=0.01
        Of the classifier.

    Returns
    -------
    ndarray of shape (n_bands,)
        Weights.

    Examples
    --------
    >>> labels = Attribute(np.array([0, 0, 0, 1, 1, -1]), np.array(["a", "b"]))
    >>> useless, useful = np.zeros((6, 1)), np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]])
    >>> band_weights([useless, useful], labels)
    array([0., 1.])
    """
    n_classes = len(attribute.classes)
    gain = np.zeros(len(bands))
    if n_classes > 1:
        gain = np.maximum(0, [loo_accuracy(B, attribute, ridge) - 1 / n_classes for B in bands])
    if not gain.any():
        return np.eye(len(bands))[0]
    weights = np.where(gain > 0, (gain / gain.max()) ** power, 0)
    weights[weights < _NEGLIGIBLE] = 0
    return weights / weights.sum()

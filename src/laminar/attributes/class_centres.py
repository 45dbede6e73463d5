"""Classes by the nearest centre in a space of discriminants; linear discriminant analysis from few labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.covariance import ledoit_wolf

from .held_out import squared_distances


@dataclass(frozen=True, eq=False)
class ClassCentres:
    """Normal distributions with identity covariance around the centres of classes, in discriminants of the features.

    Classes are equally probable before the features are seen: which samples have a label is the user's choice.

    Parameters
    ----------
    directions : ndarray of shape (n_features, n_directions)
        Discriminants, features times it.
    centres : ndarray of shape (n_classes, n_directions)
        Mean of each class.

    Examples
    --------
    >>> E = np.array([[0.0, 9.0], [0.1, -9.0], [1.0, 9.0], [1.1, -9.0]])
    >>> lda = pooled_lda(E, np.array([0, 0, 1, 1]), 2)
    >>> lda.predict(np.array([[0.2, 30.0], [0.9, 0.0]]))
    array([0, 1])
    """

    directions: np.ndarray
    centres: np.ndarray

    def discriminants(self, E: np.ndarray) -> np.ndarray:
        """Return the discriminants of the rows of E."""
        return E.astype(np.float64) @ self.directions

    def squared_distances(self, E: np.ndarray) -> np.ndarray:
        """Return the squared distance to each centre for the rows of E."""
        return squared_distances(self.discriminants(E), self.centres)

    def probabilities(self, E: np.ndarray) -> np.ndarray:
        """Return the probability of each class for the rows of E."""
        return softmax(-0.5 * self.squared_distances(E), axis=1)

    def predict(self, E: np.ndarray) -> np.ndarray:
        """Return the position of the most probable class for each row of E."""
        return self.squared_distances(E).argmin(1)


def pooled_lda(E: np.ndarray, codes: np.ndarray, n_classes: int) -> ClassCentres:
    """Linear discriminant analysis with one covariance of all classes, shrunk after Ledoit and Wolf.

    Parameters
    ----------
    E : ndarray of shape (n_labels, n_features)
        Features of labelled samples.
    codes : ndarray of shape (n_labels,)
        Their classes, each of them 0, ..., n_classes - 1 at least once.
    n_classes : int
        Number of classes.

    Returns
    -------
    ClassCentres
        On at most n_classes - 1 directions, in which the covariance inside the classes is the identity. Without
        differences inside the classes, as with one label in each, the nearest mean decides.
    """
    E, sizes = E.astype(np.float64), np.bincount(codes, minlength=n_classes)
    means = (np.eye(n_classes)[codes].T @ E) / sizes[:, None]
    residuals = (E - means[codes])[sizes[codes] > 1]
    if np.square(residuals).sum() > 1e-20 * np.square(E).sum():
        S = ledoit_wolf(residuals, assume_centered=True)[0] * (len(residuals) / (len(E) - n_classes))
    else:
        S = np.eye(E.shape[1]) * (np.square(means - means.mean(0)).mean() or 1.0)
    S += 1e-6 * S.trace() / len(S) * np.eye(len(S))  # with very few labels it may be singular
    root = np.linalg.cholesky(np.linalg.inv(S))
    white = means @ root
    V = np.linalg.svd(white - white.mean(0), full_matrices=False)[2][: max(n_classes - 1, 1)].T
    return ClassCentres(root @ V, white @ V)

"""Linear discriminant analysis of the features of a layer, from a few labels of its attribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.covariance import ledoit_wolf

from .._utils.labels import Attribute


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Linear discriminants ``log p_c - 1/2 (e - m_c)^T S^-1 (e - m_c)`` of classes c, up to what they share.

    Parameters
    ----------
    weights : ndarray of shape (n_features, n_classes)
        ``S^-1 (m_c - m)``, m the mean of all.
    intercepts : ndarray of shape (n_classes,)
        ``log p_c - 1/2 (m_c - m)^T S^-1 (m_c + m)``.

    Examples
    --------
    >>> labels = Attribute(np.array([0, 0, 1, 1, -1]), np.array(["a", "b"]))
    >>> E = np.array([[0.0, 9.0], [0.1, -9.0], [1.0, 9.0], [1.1, -9.0], [5.0, 0.0]])
    >>> ClassMeans.of(E, labels).predict(np.array([[0.2, 30.0], [0.9, 0.0]]))
    array([0, 1])
    """

    weights: np.ndarray
    intercepts: np.ndarray

    @classmethod
    def of(cls, E: np.ndarray, attribute: Attribute) -> ClassMeans:
        """Compute the means, and the covariance that the classes share, from the samples of known label.

        The covariance is unbiased and shrunk after Ledoit and Wolf. Without differences inside the classes, as with one
        label in each, it is that of means which are equal in all directions: the nearest one decides.
        """
        codes, E = attribute.codes[attribute.known], E[attribute.known].astype(np.float64)
        sizes = attribute.class_sizes
        means = (attribute.one_hot()[attribute.known].T @ E) / sizes[:, None]
        residuals, centre = E - means[codes], E.mean(0)
        if np.square(residuals).sum() > 1e-20 * np.square(E).sum():
            S = ledoit_wolf(residuals, assume_centered=True)[0] * (len(E) / (len(E) - len(sizes)))
        else:
            S = np.eye(E.shape[1]) * (np.square(means - centre).mean() or 1.0)
        S += 1e-6 * S.trace() / len(S) * np.eye(len(S))  # with very few labels it may be singular
        weights = np.linalg.solve(S, (means - centre).T)
        return cls(weights, np.log(sizes / len(E)) - 0.5 * ((means + centre) * weights.T).sum(1))

    def probabilities(self, E: np.ndarray) -> np.ndarray:
        """Return the probability of each class for the rows of E."""
        return softmax(self._scores(E), axis=1)

    def predict(self, E: np.ndarray) -> np.ndarray:
        """Return the position of the most probable class for each row of E."""
        return self._scores(E).argmax(1)

    def _scores(self, E: np.ndarray) -> np.ndarray:
        return E.astype(np.float64) @ self.weights + self.intercepts

"""Principal scores of data, as they are or standardised, and those of new samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from .._engine.data.svd import truncated_svd
from .._engine.linalg.small import safe_divide
from .centred import centred

Samples: TypeAlias = np.ndarray | sp.csr_array


@dataclass(frozen=True, eq=False)
class PrincipalScores:
    """Scores ``F = (X * factors - mean) basis / scale`` of samples on leading principal directions.

    Parameters
    ----------
    factors : ndarray of shape (n_features,) or None
        What features are multiplied by; None leaves them as they are.
    mean : ndarray of shape (n_features,)
        Mean of the training samples times ``factors``, in float64.
    scale : float
        Largest magnitude of the centred data, by which scores are divided.
    basis : ndarray of shape (n_features, n_scores)
        Orthonormal directions.
    singular_values : ndarray of shape (n_scores,)
        Of the centred training samples in unit scale, positive.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [1.0, 1.0, 1e6, 0.0]
    >>> plain, F = PrincipalScores.fit(X, 3, np.random.RandomState(0))
    >>> standardised, G = PrincipalScores.fit(X, 3, np.random.RandomState(0), standardised_factors(X))
    >>> bool(np.allclose(plain.of(X), F)), (F.std(0) / F.std() > 1e-3).tolist(), (G.std(0) / G.std() > 1e-3).tolist()
    (True, [True, False, False], [True, True, True])
    """

    factors: np.ndarray | None
    mean: np.ndarray
    scale: float
    basis: np.ndarray
    singular_values: np.ndarray

    @classmethod
    def fit(
        cls, X: Samples, n_scores: int, random_state: np.random.RandomState, factors: np.ndarray | None = None
    ) -> tuple[PrincipalScores, np.ndarray]:
        """Compute directions and scores of the rows of X."""
        X = _scaled(X, factors)
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        data = centred(X, mean)
        U, s, V = truncated_svd(data, n_scores, random_state)
        # Below 1000 machine epsilons of the largest, a choice, they are zero. Constant X keeps one score, zero.
        r = max(1, int(np.count_nonzero(s > 1e3 * np.finfo(X.dtype).eps * s[0])))
        singular_values = np.where(s[:r] > 0, s[:r], 1).astype(X.dtype)
        found = cls(factors, mean, data.scale, V[:, :r].astype(X.dtype), singular_values)
        return found, (U[:, :r] * s[:r]).astype(X.dtype)

    def of(self, X: Samples) -> np.ndarray:
        """Compute the scores of new samples."""
        data = centred(_scaled(X, self.factors), self.mean)
        return data.product(self.basis.astype(X.dtype)) * X.dtype.type(data.scale / self.scale)


def _scaled(X: Samples, factors: np.ndarray | None) -> Samples:
    if factors is None:
        return X
    factors = factors.astype(X.dtype)
    return sp.csr_array(X) @ sp.diags_array(factors, format="csr") if sp.issparse(X) else X * factors


def standardised_factors(X: Samples, *, least: float = 1e-6) -> np.ndarray:
    """Return the inverse standard deviations of features; 0 for those below ``least`` of the largest magnitude.

    The magnitude is that of the feature itself, so that units do not matter.
    """
    largest = abs(X).max(axis=0)
    magnitudes = np.asarray(largest.todense() if sp.issparse(largest) else largest, dtype=np.float64).ravel()
    units = np.where(magnitudes >= np.finfo(X.dtype).tiny, magnitudes, 1.0)  # squares of X / units are in range
    scaled = _scaled(X, 1 / units)
    if sp.issparse(X):
        squares = (scaled**2).mean(axis=0, dtype=np.float64) - scaled.mean(axis=0, dtype=np.float64) ** 2
        deviations = np.sqrt(np.maximum(np.asarray(squares).ravel(), 0))
    else:
        deviations = scaled.std(axis=0, dtype=np.float64)
    return safe_divide(1, deviations, floor=least) / units

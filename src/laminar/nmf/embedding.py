"""Samples of which only the inner products are known, as rows of numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.sparse import csr_array, issparse
from sklearn.metrics.pairwise import pairwise_kernels

from .._engine.data.matrix import dense


class Embedding:
    """Coordinates in an orthonormal basis of what the training samples span: their inner products are the kernel's.

    Parameters
    ----------
    kernel : str, callable or "precomputed"
        As for :func:`sklearn.metrics.pairwise.pairwise_kernels`.
    parameters : dict
        Of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    >>> E = Embedding("poly", {"degree": 2, "gamma": 1.0, "coef0": 1.0}).fit(X)
    >>> np.round(E @ E.T)
    array([[ 4.,  4.,  1.],
           [ 4.,  9.,  9.],
           [ 1.,  9., 25.]])
    """

    max_samples = 20_000  # of which all inner products are held at once: 3.2 GB in float64

    def __init__(self, kernel: str | Callable, parameters: dict):
        self.kernel, self.parameters = kernel, parameters

    def fit(self, X: np.ndarray | csr_array) -> np.ndarray:
        """Choose samples that span the others, and return the coordinates of all."""
        self.check_size(X.shape[0], f"kernel={self.kernel!r}")
        K = self._products(X)
        self._check_products(K)
        n, eps = len(K), float(np.finfo(X.dtype).eps)
        # Cholesky with pivots stops where the samples left lie in the span of those taken.
        L, pivots, rank, _ = lapack.dpstrf(K, tol=n * eps * K.diagonal().max(initial=0.0), lower=1)
        width = max(rank, 1)  # inner products that are all zero have one coordinate, of no use
        E = np.zeros((n, width))
        E[pivots - 1, :rank] = np.tril(L[:, :rank])
        self._check_rest(K, E, eps**0.4)
        self.chosen = pivots[:width] - 1
        self.root = E[self.chosen] if rank else np.ones((1, 1))
        self.samples = None if self._given else X[self.chosen]
        return E.astype(X.dtype)

    def transform(self, X: np.ndarray | csr_array) -> np.ndarray:
        """Return the coordinates of any sample's nearest point in the span."""
        K = self._dense(X)[:, self.chosen] if self._given else self._products(X, self.samples)
        return np.ascontiguousarray(solve_triangular(self.root, K.T, lower=True).T, dtype=X.dtype)

    @classmethod
    def check_size(cls, n: int, why: str) -> None:
        """Refuse to take the inner products of all pairs of too many samples."""
        if n > cls.max_samples:
            raise ValueError(
                f"{why} takes the inner products of all pairs of samples, of at most {cls.max_samples} samples; X has "
                f'{n}. Use kernel=None with rule="fast", or fit a part of X and transform the rest.'
            )

    @property
    def _given(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @staticmethod
    def _dense(X) -> np.ndarray:
        return np.asarray(dense(X), dtype=np.float64)

    def _products(self, X, Y=None) -> np.ndarray:
        """Return the inner products, in double precision: rounding would be taken for dimensions."""
        if self._given:
            return self._dense(X)
        X, Y = (M if M is None else _summed(M.astype(np.float64)) for M in (X, Y))
        parameters = {} if callable(self.kernel) else self.parameters
        K = pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **parameters)
        return self._dense(K)

    def _check_products(self, K: np.ndarray) -> None:
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                f'kernel="precomputed" needs the inner products of all pairs of samples, a square X; got {K.shape}.'
            )
        if not np.isfinite(K).all():
            raise ValueError(f"kernel={self.kernel!r} gave NaN or infinity: scale X, or choose other parameters.")
        if not np.allclose(K, K.T, rtol=1e-5, atol=1e-5 * np.abs(K).max(initial=0.0)):
            raise ValueError(f"kernel={self.kernel!r} is not symmetric: use (K + K.T) / 2.")

    def _check_rest(self, K: np.ndarray, E: np.ndarray, tol: float) -> None:
        """Raise an error unless ``E E^T`` is K: Cholesky stops early on negative eigenvalues."""
        v = np.random.default_rng(0).normal(size=(len(K), 2))
        Kv = K @ v
        if not np.abs(Kv - E @ (E.T @ v)).max() <= tol * np.abs(Kv).max():
            raise ValueError(
                f"kernel={self.kernel!r} is not an inner product of these samples: some of its eigenvalues are "
                "negative. Choose another kernel, or other parameters."
            )


def _summed(X):
    """Sum duplicate entries of X, which scikit-learn's distances would treat as entries of their own."""
    if issparse(X):
        X.sum_duplicates()
    return X

"""Data minus their mean, as matrices for products; sparse ones stay sparse."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._engine.data.matrix import Matrix, Rows, dense
from .._engine.data.wrap import wrap


class CentredSparse(Matrix):
    """Sparse data minus their mean; the dense matrix is not formed.

    Parameters
    ----------
    data : Matrix
        X.
    mean : ndarray of shape (n_features,)
        Of the columns, in unit scale.
    """

    flipped = False
    nonnegative = False

    def __init__(self, data: Matrix, mean: np.ndarray):
        self.data, self.mean = data, mean
        self.base_shape, self.dtype, self.scale, self.stored = data.shape, data.dtype, data.scale, data.stored

    @property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        return self.data.sqnorm - self.base_shape[0] * float(self.mean @ self.mean)

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        if self.flipped:
            product, total = self.data.T.times(R), R.sum(0)
            return lambda b: product(b) - np.outer(self.mean[b], total).astype(self.dtype)
        product, shift = self.data.times(R), (self.mean @ R).astype(self.dtype)
        return lambda b: product(b) - shift

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b as an array, so few at a time."""
        if self.flipped:
            return (dense(self.data.T.rows(b)) - self.mean[b, None]).astype(self.dtype)
        return (dense(self.data.rows(b)) - self.mean).astype(self.dtype)


def centred(X: np.ndarray | sp.csr_array, mean: np.ndarray) -> Matrix:
    """Wrap X minus its mean, for products.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 6.0]])
    >>> a, b = (centred(form(X), X.mean(0)) for form in (np.asarray, sp.csr_array))
    >>> a.product(np.eye(2)) * a.scale, b.product(np.eye(2)) * b.scale
    (array([[-1., -2.],
           [ 1.,  2.]]), array([[-1., -2.],
           [ 1.,  2.]]))
    """
    if not sp.issparse(X):
        return wrap(X - mean.astype(X.dtype))
    data = wrap(X)
    return CentredSparse(data, mean / data.scale)

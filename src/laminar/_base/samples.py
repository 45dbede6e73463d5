"""The rows a fit works on: the samples one by one, or joined where they must share their codes."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .._engine.data.matrix import wrap
from .._engine.problem import Chain, Problem


class Samples:
    """One row for each sample.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The data, as validated.
    whole : Matrix
        The same, wrapped.
    data : Matrix
        The rows to fit.
    rest : float
        What the objective of the samples has beyond that of the rows, in the units of X.
    """

    rest = 0.0

    def __init__(self, X):
        self.X = X
        self.data = self.whole = wrap(X)

    def join(self, H: np.ndarray) -> np.ndarray:
        """Codes of the rows, from codes of the samples."""
        return H

    def part(self, H: np.ndarray) -> np.ndarray:
        """Codes of the samples in the units of `whole`, from codes of the rows in those of `data`."""
        return H


class Joined(Samples):
    """One row for all samples of a class, and one for each sample of unknown class.

    If the n_c samples of a class share their codes, all a fit sees of them is their sum s_c. Up to a constant the
    squared error is that of the row ``s_c / sqrt(n_c)``, with codes ``sqrt(n_c) h``; the Kullback-Leibler divergence
    that of the row ``s_c``, with codes ``n_c h``.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The data, as validated.
    codes : ndarray of shape (n_samples,)
        Class of each sample, -1 where it is unknown.
    loss : {"frobenius", "kl"}
        What the rows are made for.
    """

    def __init__(self, X, codes: np.ndarray, loss: str):
        self.X, self.loss, self.whole = X, loss, wrap(X)
        # A class stands where its first sample was.
        first = np.arange(len(codes))
        _, where, code = np.unique(codes, return_index=True, return_inverse=True)
        first[codes >= 0] = where[code][codes >= 0]
        _, self.row, size = np.unique(first, return_inverse=True, return_counts=True)
        self.weight = (size if loss == "kl" else np.sqrt(size)).astype(X.dtype)
        entries = (self.weight / size.astype(X.dtype))[self.row]
        self.sums = sp.csr_array((entries, self.row, np.arange(len(codes) + 1)), (len(codes), len(size))).T
        self.data = wrap(self._reduced())

    def _reduced(self):
        with np.errstate(over="ignore"):
            rows = self.sums @ self.X
        if not np.isfinite(rows.data if sp.issparse(rows) else rows).all():
            raise ValueError(
                f"The largest magnitude in X is {self.whole.scale:.3g}: the sum of a class is out of range. "
                "Divide X by a constant."
            )
        return rows

    def join(self, H):
        """Codes of the rows, from codes of the samples: where these differ inside a class, their mean."""
        return self.sums @ H

    def part(self, H):
        """Codes of the samples in the units of `whole`, from codes of the rows in those of `data`."""
        ratio = H.dtype.type(self.data.scale / self.whole.scale)
        return (H / self.weight[:, None] * ratio)[self.row]

    @cached_property
    def rest(self) -> float:
        """What no shared codes can fit. The two objectives differ by it everywhere: here, for a model that is flat."""
        p = self.whole.shape[1]
        Z = np.full((p, 1), 1 / p, self.data.dtype)
        H = self.data.product(np.ones_like(Z))
        return max(self._value(self.whole, self.part(H), Z) - self._value(self.data, H, Z), 0.0)

    def _value(self, data, H, Z) -> float:
        value = Problem(Chain(data, loss=self.loss)).value({"H": H, "Z": Z})
        return value * (data.scale if self.loss == "kl" else data.scale**2)

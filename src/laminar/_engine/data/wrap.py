"""From an array or a sparse matrix to a `Matrix`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .dense import Dense
from .matrix import Matrix, unit_of
from .sparse import Sparse


def wrap(X) -> Matrix:
    """Wrap a validated array or CSR/CSC matrix."""
    if sp.issparse(X):
        return Sparse(X) if X.format == "csr" else Sparse.of_columns(X)
    X = np.asarray(X)  # a view: drops np.memmap's bookkeeping
    flipped = abs(X.strides[0]) < abs(X.strides[1])
    base = X.T if flipped else X
    return Dense(base, unit_of(base), flipped)

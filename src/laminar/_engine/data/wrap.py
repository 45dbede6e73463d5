"""From an array, a sparse matrix or an array on disk to a `Matrix`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._utils.stored import Stored
from .dense import Dense
from .disk import Disk
from .matrix import Matrix, unit_of
from .sparse import Sparse


def wrap(X) -> Matrix:
    """Wrap a validated array, CSR/CSC matrix or array on disk."""
    if isinstance(X, Stored):
        return Disk(X)
    if sp.issparse(X):
        return Sparse(X) if X.format == "csr" else Sparse.of_columns(X)
    X = np.asarray(X)  # a view: drops np.memmap's bookkeeping
    flipped = abs(X.strides[0]) < abs(X.strides[1])
    base = X.T if flipped else X
    return Dense(base, unit_of(base), flipped)

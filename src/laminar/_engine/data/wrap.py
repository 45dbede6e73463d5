"""From an array, a sparse matrix, an array on disk, on workers or on a device to a `Matrix`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._utils.device.array import DeviceArray
from ..._utils.stored import Stored
from ..._utils.workers.array import DistributedArray
from .dense import Dense
from .device import OnDevice
from .disk import Disk
from .matrix import Matrix, unit_of
from .remote import Remote
from .sparse import Sparse


def wrap(X) -> Matrix:
    """Wrap a validated array, CSR/CSC matrix, array on disk, on workers or on a device."""
    if isinstance(X, Stored):
        return Disk(X)
    if isinstance(X, DistributedArray):
        return Remote(X)
    if isinstance(X, DeviceArray):
        return OnDevice(X)
    if sp.issparse(X):
        return Sparse(X) if X.format == "csr" else Sparse.of_columns(X)
    X = np.asarray(X)  # a view: drops np.memmap's bookkeeping
    flipped = abs(X.strides[0]) < abs(X.strides[1])
    base = X.T if flipped else X
    return Dense(base, unit_of(base), flipped)

"""Equality of values to the bit."""

import numpy as np
import scipy.sparse as sp


def same(a, b):
    """Whether two values are the same, arrays by type, shape, order and bits."""
    if isinstance(a, np.ndarray) and a.dtype.kind != "O":
        equal = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        return a.dtype == b.dtype and a.shape == b.shape and equal
    if sp.issparse(a):
        return type(a) is type(b) and same(a.toarray(), b.toarray())
    if hasattr(a, "equals"):
        return a.equals(b)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.random.RandomState):
        return same(a.get_state(), b.get_state())
    if hasattr(a, "get_params"):
        return type(a) is type(b) and same(a.get_params(deep=False), b.get_params(deep=False))
    if type(a).__module__.startswith("laminar") and hasattr(a, "__dict__"):
        return type(a) is type(b) and same(vars(a), vars(b))
    if isinstance(a, float) and np.isnan(a):
        return type(a) is type(b) and bool(np.isnan(b))
    return type(a) is type(b) and bool(np.all(a == b))

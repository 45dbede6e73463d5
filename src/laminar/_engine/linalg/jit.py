"""Decorator of the kernels."""

from numba import njit

# numpy's error model: a test for zero before every division would keep loops from being vectorised.
compiled = njit(nogil=True, fastmath=True, error_model="numpy", cache=True)

"""Decorators of the kernels."""

from typing import Any

from numba import njit

# numpy's error model: a test for zero before every division would keep loops from being vectorised.
OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": True, "error_model": "numpy", "cache": True}
compiled = njit(**OPTIONS)
# For functions that kernels call. A call that LLVM does not inline runs another copy of the function when a kernel has
# just been compiled than when it comes from the cache, and with fastmath the copies round differently.
inlined = njit(**OPTIONS, inline="always")

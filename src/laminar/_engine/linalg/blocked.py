"""Products of tall matrices by blocks of rows: on all threads, summed in the order of the blocks."""

from __future__ import annotations

import numpy as np

from ..._utils import tall, threads


def gram(F: np.ndarray, dtype: np.dtype | type | None = None, rows: int = 4096) -> np.ndarray:
    """``F^T F``, multiplied in the given precision (F's own by default)."""

    def block(b: slice) -> np.ndarray:
        f = F[b] if dtype is None else F[b].astype(dtype, copy=False)
        return f.T @ f

    return threads.total(block, tall.cut(F, rows))


def cross(A: np.ndarray, B: np.ndarray, rows: int = 1024) -> np.ndarray:
    """``A^T B`` of two matrices with as many rows."""
    return threads.total(lambda b: A[b].T @ B[b], tall.cut(A, rows))


def column_dots(A: np.ndarray, B: np.ndarray, dtype: np.dtype | type | None = None, rows: int = 4096) -> np.ndarray:
    """``a_j^T b_j`` of all columns, summed in the given precision (their own by default)."""
    return threads.total(lambda b: np.einsum("ij,ij->j", A[b], B[b], dtype=dtype), tall.cut(A, rows))

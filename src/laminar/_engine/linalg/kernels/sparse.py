"""Products with a sparse matrix, and what the Kullback-Leibler divergence needs of it."""

from __future__ import annotations

import numpy as np

from ..jit import compiled, inlined


@compiled
def sparse_times(indptr, indices, data, R, out, start, scale):
    """Multiply rows of a sparse matrix by a dense one: ``out[i] = scale * sum_j x_{start + i, j} R[j]``.

    Parameters
    ----------
    indptr, indices, data : CSR arrays of X (n, p), or CSC arrays, for X^T.
    R : (p, k).
    out : (m, k), the result, for rows start .. start + m of X.
    start : first row.
    scale : factor of X, in the precision of ``data``.
    """
    for i in range(out.shape[0]):
        for a in range(R.shape[1]):
            out[i, a] = 0
        for t in range(indptr[start + i], indptr[start + i + 1]):
            x, j = scale * data[t], indices[t]
            for a in range(R.shape[1]):
                out[i, a] += x * R[j, a]


@inlined
def _gather(indices, M, begin, m, tile):
    """Copy the rows ``indices[begin : begin + m]`` of M to the first m rows of a tile padded with zeros."""
    for t in range(m):
        j = indices[begin + t]
        for a in range(M.shape[1]):
            tile[t, a] = M[j, a]


@inlined
def _max_row_length(indptr, start, n):
    longest = 1
    for i in range(start, start + n):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest


@inlined
def _dot(f, row):
    y = f[0] * row[0]
    for a in range(1, f.shape[0]):
        y += f[a] * row[a]
    return y


@compiled
def kl_times(indptr, indices, data, F, M, out, start, scale, floor):
    """Compute the numerator of the multiplicative update for the KL divergence, over stored entries of X.

        out[i] = sum_j x_ij / max(y_ij, floor) M[j],   Y = F M^T            (docs/methods.md 4.4)

    Parameters
    ----------
    indptr, indices, data : CSR arrays of X (n, p), or CSC arrays, for X^T.
    F : (m, k), rows start .. start + m of the factor that is updated.
    M : (p, k), the other factor.
    out : (m, k), the result.
    start : first row.
    scale : factor of X, in the precision of ``data``.
    floor : smallest y that is divided by.
    """
    n, k = F.shape
    k8 = (k + 7) // 8 * 8
    f, o = np.zeros(k8, F.dtype), np.zeros(k8, F.dtype)
    tile = np.zeros((_max_row_length(indptr, start, n), k8), F.dtype)
    for i in range(n):
        begin = indptr[start + i]
        m = indptr[start + i + 1] - begin
        _gather(indices, M, begin, m, tile)
        for a in range(k):
            f[a], o[a] = F[i, a], 0
        for t in range(m):
            r = scale * data[begin + t] / max(_dot(f, tile[t]), floor)
            for a in range(k8):
                o[a] += r * tile[t, a]
        for a in range(k):
            out[i, a] = o[a]


@compiled
def kl_value(indptr, indices, data, F, M, start, scale, floor):
    """Return ``sum_ij x_ij log(x_ij / max(y_ij, floor))`` over stored entries of X, with ``Y = F M^T``.

    The parameters are those of `kl_times`; the sum is in float64.
    """
    total = 0.0
    for i in range(F.shape[0]):
        for t in range(indptr[start + i], indptr[start + i + 1]):
            x = scale * data[t]
            if x > 0:
                total += x * np.log(x / max(_dot(F[i], M[indices[t]]), floor))
    return total

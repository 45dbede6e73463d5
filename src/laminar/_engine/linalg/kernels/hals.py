"""HALS: non-negative least squares by block coordinate descent over the columns of a factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import compiled, inlined


def padded(G: np.ndarray) -> np.ndarray:
    """Pad a Gram matrix G (k, k) with zeros to the next multiple of four; G itself if k is one already.

    `hals` updates components four at a time; those added have no curvature and stay zero. It pads G itself, so this
    is only of use to a caller that passes the same G for many blocks of rows.
    """
    k = len(G)
    if k % 4 == 0:
        return G
    P = np.zeros((k + 4 - k % 4, k + 4 - k % 4), G.dtype)  # np.pad takes as long as a block of rows
    P[:k, :k] = G
    return P


@inlined
def _sweep(Ht, Bt, G, step, ridge, gradient, m):
    """Update every component of one tile of rows once, in order, and return ``sum_a G_aa ||dh_a||^2``.

    Four components share every load of the tile for their gradients; the 4 x 4 diagonal block of G then corrects the
    later ones for the change of the earlier ones, so that the result is that of one component after the other. The
    inner loops run over samples, in vector registers.

    Parameters
    ----------
    Ht, Bt : (k, m), the tile of H and of B, transposed, with k a multiple of four; Ht is changed.
    G : (k, k).
    step : (k, 1), or with a ridge (k, m), one over the curvature, from `_inverse_curvature`.
    ridge : (k, m), ``c_a r_i``, or None.
    gradient : (4, m), scratch.
    m : number of samples in use, a multiple of 16.
    """
    zero = Ht.dtype.type(0)
    change = zero
    g0, g1, g2, g3 = gradient[0], gradient[1], gradient[2], gradient[3]
    for a in range(0, G.shape[0], 4):
        x0, x1, x2, x3 = Bt[a], Bt[a + 1], Bt[a + 2], Bt[a + 3]
        for t in range(m):
            g0[t], g1[t], g2[t], g3[t] = x0[t], x1[t], x2[t], x3[t]
        for j in range(0, G.shape[0], 4):
            a0, a1, a2, a3 = G[a, j], G[a, j + 1], G[a, j + 2], G[a, j + 3]
            b0, b1, b2, b3 = G[a + 1, j], G[a + 1, j + 1], G[a + 1, j + 2], G[a + 1, j + 3]
            c0, c1, c2, c3 = G[a + 2, j], G[a + 2, j + 1], G[a + 2, j + 2], G[a + 2, j + 3]
            d0, d1, d2, d3 = G[a + 3, j], G[a + 3, j + 1], G[a + 3, j + 2], G[a + 3, j + 3]
            x0, x1, x2, x3 = Ht[j], Ht[j + 1], Ht[j + 2], Ht[j + 3]
            for t in range(m):
                h0, h1, h2, h3 = x0[t], x1[t], x2[t], x3[t]
                g0[t] -= a0 * h0 + a1 * h1 + a2 * h2 + a3 * h3
                g1[t] -= b0 * h0 + b1 * h1 + b2 * h2 + b3 * h3
                g2[t] -= c0 * h0 + c1 * h1 + c2 * h2 + c3 * h3
                g3[t] -= d0 * h0 + d1 * h1 + d2 * h2 + d3 * h3
        if ridge is not None:
            for i in range(4):
                for t in range(m):
                    gradient[i, t] -= ridge[a + i, t] * Ht[a + i, t]
        g10, g20, g30 = G[a + 1, a], G[a + 2, a], G[a + 3, a]
        g21, g31, g32 = G[a + 2, a + 1], G[a + 3, a + 1], G[a + 3, a + 2]
        w0, w1, w2, w3 = G[a, a], G[a + 1, a + 1], G[a + 2, a + 2], G[a + 3, a + 3]
        for t in range(m):
            h0, h1, h2, h3 = Ht[a, t], Ht[a + 1, t], Ht[a + 2, t], Ht[a + 3, t]
            if ridge is None:
                s0, s1, s2, s3 = step[a, 0], step[a + 1, 0], step[a + 2, 0], step[a + 3, 0]
            else:
                s0, s1, s2, s3 = step[a, t], step[a + 1, t], step[a + 2, t], step[a + 3, t]
            e0 = max(h0 + g0[t] * s0, zero) - h0
            e1 = max(h1 + (g1[t] - g10 * e0) * s1, zero) - h1
            e2 = max(h2 + (g2[t] - g20 * e0 - g21 * e1) * s2, zero) - h2
            e3 = max(h3 + (g3[t] - g30 * e0 - g31 * e1 - g32 * e2) * s3, zero) - h3
            Ht[a, t], Ht[a + 1, t], Ht[a + 2, t], Ht[a + 3, t] = h0 + e0, h1 + e1, h2 + e2, h3 + e3
            change += w0 * e0 * e0 + w1 * e1 * e1 + w2 * e2 * e2 + w3 * e3 * e3
    return change


@inlined
def _inverse_curvature(P, ridge, step, m):
    """Write ``1 / (P_aa + ridge_at)`` into step, zero where that is below the smallest normal number."""
    one, zero = P.dtype.type(1), P.dtype.type(0)  # a plain 1 would make the division one of doubles
    for a in range(P.shape[0]):
        for t in range(m):
            curvature = P[a, a] if ridge is None else P[a, a] + ridge[a, t]
            step[a, t] = one / curvature if curvature > np.finfo(P.dtype).tiny else zero


@inlined
def _tile_rows(n, most):
    """Return the rows of a tile: ``most``, or n if that is less, as a multiple of 16."""
    return min(most, max(1, -(-n // 16)) * 16)


def hals(
    H: np.ndarray,
    B: np.ndarray,
    G: np.ndarray,
    max_sweeps: int,
    inner_tol: float,
    row_curvature: np.ndarray | None = None,
    column_weights: np.ndarray | None = None,
) -> None:
    """Solve non-negative least squares with one Gram matrix by HALS, in place.

        min_{H >= 0}  1/2 <H G, H> - <B, H> + 1/2 sum_ia r_i c_a h_ia^2
        h_a <- max(0, h_a - (H g_a - b_a + c_a r * h_a) / (G_aa + c_a r)),   a = 1..k       (docs/methods.md 1.4)

    Parameters
    ----------
    H : (n, k), start and result.
    B : (n, k), e.g. X Z^T.
    G : (k, k), e.g. Z Z^T.
    max_sweeps : most sweeps over a tile of rows (at most 96 in float64, 192 in float32, to stay in cache).
    inner_tol : a tile is done when ``sqrt(sum_a G_aa ||dh_a||^2)`` falls to this part of its first sweep's.
    row_curvature, column_weights : r (n,) and c (k,), majoriser of a graph penalty; None is zero.

    Entries whose denominator is zero are not updated. Reference implementation: tests/reference/kernels.py.
    """
    # All arguments at their places: numba compiles a default once more than the same value passed.
    descend(H, B, padded(G), int(max_sweeps), float(inner_tol), row_curvature, column_weights)


@compiled
def descend(H, B, P, max_sweeps, inner_tol, row_curvature, column_weights):
    """Compute `hals` for a Gram matrix P from `padded`.

    Entries are copied one by one: an assignment of slices compiles its error message too, for seconds.
    """
    n, k = H.shape
    # Half of `threads.TILE` and all of it: blocks that begin at its multiples have the same tiles however rows are cut.
    tile = _tile_rows(n, 96 if H.itemsize == 8 else 192)
    k4 = P.shape[0]
    zero = H.dtype.type(0)
    Ht, Bt = np.zeros((k4, tile), H.dtype), np.zeros((k4, tile), H.dtype)
    ridge: Any = None if row_curvature is None else np.zeros((k4, tile), H.dtype)
    step = np.empty((k4, tile if row_curvature is not None else 1), H.dtype)
    gradient = np.empty((4, tile), H.dtype)
    if row_curvature is None:
        _inverse_curvature(P, None, step, 1)
    for start in range(0, n, tile):
        m = min(tile, n - start)
        whole = (m + 15) // 16 * 16
        if m < whole:  # empty samples fill the last vector register: they never leave zero
            Ht.fill(zero)
            Bt.fill(zero)
            if row_curvature is not None:
                ridge.fill(zero)
        for t in range(m):
            for a in range(k):
                Ht[a, t], Bt[a, t] = H[start + t, a], B[start + t, a]
                if row_curvature is not None:
                    ridge[a, t] = row_curvature[start + t] * column_weights[a]
        if row_curvature is not None:
            _inverse_curvature(P, ridge, step, whole)
        first = zero
        for sweep in range(max(1, max_sweeps)):
            change = _sweep(Ht, Bt, P, step, ridge, gradient, whole)
            if sweep == 0:
                first = change
            elif change <= inner_tol * inner_tol * first:
                break
        for t in range(m):
            for a in range(k):
                H[start + t, a] = Ht[a, t]


@compiled
def tied_hals(F, gradient, K, G, sweeps):
    """Minimise a quadratic that couples the rows by K and the columns by G, by HALS; F becomes ``F + D`` in place.

        min_{F + D >= 0}  1/2 <K D G, D> + <gradient, D>
        f_ia <- max(0, f_ia - (gradient + K D G)_ia / (K_ii G_aa)),   i = 1..n, a = 1..k

    Parameters
    ----------
    F : (n, k), start and result.
    gradient : (n, k), of the objective at the start.
    K : (n, n), G : (k, k), both symmetric and positive semi-definite.
    sweeps : number of sweeps over all entries; there is no other stopping rule.

    Returns
    -------
    (k, n), ``G D^T``, with which a caller updates the gradient.

    Where ``G_aa`` is zero entries are not updated; where ``K_ii`` is zero row i becomes zero. Reference
    implementation: tests/reference/kernels.py.
    """
    n, k = F.shape
    zero, tiny = F.dtype.type(0), np.finfo(F.dtype).tiny
    moved = np.zeros((k, n), F.dtype)
    for _ in range(sweeps):
        for i in range(n):
            for a in range(k):
                curvature = K[i, i] * G[a, a]
                if curvature <= tiny:
                    F[i, a] = F[i, a] if K[i, i] > tiny else zero
                    continue
                slope = gradient[i, a]
                for j in range(n):
                    slope += K[i, j] * moved[a, j]
                step = max(F[i, a] - slope / curvature, zero) - F[i, a]
                F[i, a] += step
                for c in range(k):
                    moved[c, i] += step * G[a, c]
    return moved

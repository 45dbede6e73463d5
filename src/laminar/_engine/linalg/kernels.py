"""Compiled loops on plain arrays. Others are in `passes`, and one in `temporal`; the rest of Laminar is numpy.

Every kernel is serial and releases the GIL; `threads.each` runs it on blocks of rows. `tests/reference`
holds the plain numpy twin of each. Rows are samples (or features: see `terms.Quad`), and all arrays are C-ordered.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# numpy's error model: a test for zero before every division would keep loops from being vectorised.
OPTIONS = {"nogil": True, "fastmath": True, "error_model": "numpy", "cache": True}
compiled = njit(**OPTIONS)
# For functions that kernels call. A call that LLVM does not inline runs another copy of the function when a kernel has
# just been compiled than when it comes from the cache, and with fastmath the copies round differently.
inlined = njit(**OPTIONS, inline="always")


@inlined
def padded(G):
    """Grow a Gram to a multiple of four; the added components never leave zero.

    `hals` does so by itself; whoever calls it on many blocks of rows does it once.
    """
    k = G.shape[0]
    if k % 4 == 0:
        return G
    P = np.zeros((k + 4 - k % 4, k + 4 - k % 4), G.dtype)
    P[:k, :k] = G
    return P


@inlined
def _sweep(Ht, Bt, G, step, ridge, g, m):
    """One exact pass of coordinate descent over all components of a tile; returns sum G_aa (dh)^2.

    Four components are taken at a time: their gradients share every load of the tile, then the corner of G corrects
    the later ones for what the earlier ones moved. The inner loops run across samples, in vector registers.
    Without a ridge ``step`` holds one number a component, with one it holds one for every entry of the tile.
    """
    zero = Ht.dtype.type(0)
    change = zero
    g0, g1, g2, g3 = g[0], g[1], g[2], g[3]
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
                    g[i, t] -= ridge[a + i, t] * Ht[a + i, t]
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
def _steps(P, ridge, step, m):
    """One over the curvature of every coordinate; zero where there is none, or too little to divide by."""
    one, zero = P.dtype.type(1), P.dtype.type(0)  # a plain 1 would make the division one of doubles
    for a in range(P.shape[0]):
        for t in range(m):
            curvature = P[a, a] if ridge is None else P[a, a] + ridge[a, t]
            step[a, t] = one / curvature if curvature > np.finfo(P.dtype).tiny else zero


@inlined
def _even_tile(n, most):
    """Rows of a tile: at most so many, a multiple of 16, and about as many in the last one."""
    count = max(1, -(-n // most))
    return max(1, -(-n // (16 * count))) * 16


@compiled
def hals(H, B, G, max_sweeps, shrink, rows=None, columns=None):
    """Lower ``1/2 <H G, H> - <B, H>`` over ``H >= 0`` in place, by coordinate descent on cache-sized tiles of rows.

    With ``rows`` (n) and ``columns`` (k) row i also has the ridge ``1/2 rows[i] <columns * h, h>``; both may be None.
    A tile is swept until a sweep moves it less than ``shrink`` times what the first one did, or ``max_sweeps`` times.
    Components without curvature are left alone.
    """
    n, k = H.shape
    tile = _even_tile(n, 96 if H.itemsize == 8 else 192)
    P = padded(G)
    k4 = P.shape[0]
    Ht, Bt = np.zeros((k4, tile), H.dtype), np.zeros((k4, tile), H.dtype)
    ridge = None if rows is None else np.zeros((k4, tile), H.dtype)
    step, g = np.empty((k4, tile if rows is not None else 1), H.dtype), np.empty((4, tile), H.dtype)
    if rows is None:
        _steps(P, None, step, 1)
    for start in range(0, n, tile):
        m = min(tile, n - start)
        for t in range(m):
            for a in range(k):
                Ht[a, t], Bt[a, t] = H[start + t, a], B[start + t, a]
                if rows is not None:
                    ridge[a, t] = rows[start + t] * columns[a]
        whole = (m + 15) // 16 * 16  # empty samples fill the last vector register: they never leave zero
        Ht[:, m:whole], Bt[:, m:whole] = 0, 0
        if rows is not None:
            ridge[:, m:whole] = 0
            _steps(P, ridge, step, whole)
        first = H.dtype.type(0)
        for sweep in range(max(1, max_sweeps)):
            change = _sweep(Ht, Bt, P, step, ridge, g, whole)
            if sweep == 0:
                first = change
            elif change <= shrink * shrink * first:
                break
        for t in range(m):
            for a in range(k):
                H[start + t, a] = Ht[a, t]


@compiled
def tied_hals(F, gradient, K, G, sweeps):
    """Lower ``1/2 <K D G, D> + <gradient, D>`` over moves D that keep ``F + D >= 0``, by coordinate descent.

    Moves F in place and returns ``G D^T``. K ties the rows and G the columns; rows without curvature go to zero,
    columns without are left alone.
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


@inlined
def _solve_passive(G, b, passive, L, x):
    """Solve G_PP x_P = b_P by Cholesky; components that depend on earlier ones leave P (then returns False)."""
    k = b.shape[0]
    idx = np.empty(k, np.int64)
    s, independent = 0, True
    for j in range(k):
        x[j] = 0.0
        if not passive[j]:
            continue
        for c in range(s):
            v = G[j, idx[c]]
            for r in range(c):
                v -= L[s, r] * L[c, r]
            L[s, c] = v / L[c, c]
        pivot = G[j, j]
        for r in range(s):
            pivot -= L[s, r] * L[s, r]
        if pivot <= 1e-13 * G[j, j]:
            passive[j], independent = False, independent and G[j, j] == 0.0
            continue
        L[s, s] = np.sqrt(pivot)
        idx[s] = j
        s += 1
    for c in range(s):
        v = b[idx[c]]
        for r in range(c):
            v -= L[c, r] * x[idx[r]]
        x[idx[c]] = v / L[c, c]
    for c in range(s - 1, -1, -1):
        v = x[idx[c]]
        for r in range(c + 1, s):
            v -= L[r, c] * x[idx[r]]
        x[idx[c]] = v / L[c, c]
    return independent


@inlined
def _value(G, b, x):
    v = 0.0
    for i in range(b.shape[0]):
        if x[i] != 0.0:
            gx = 0.0
            for j in range(b.shape[0]):
                gx += G[i, j] * x[j]
            v += x[i] * (0.5 * gx - b[i])
    return v


@inlined
def _flip(G, b, x, passive, tol, wrong):
    """Mark the components on the wrong side of their bound; returns how many there are."""
    count = 0
    for j in range(b.shape[0]):
        if passive[j]:
            wrong[j] = x[j] < 0.0
        else:
            y = -b[j]
            for i in range(b.shape[0]):
                y += G[j, i] * x[i]
            wrong[j] = G[j, j] > 0.0 and y < -tol
        count += wrong[j]
    return count


@inlined
def _enter(G, b, passive, tol, L, x, barred):
    """Lawson and Hanson's active set, from zero: components enter one at a time, so that every step goes down."""
    k = b.shape[0]
    h = np.zeros(k)
    passive[:], barred[:] = False, False
    for _ in range(5 * k + 20):
        new, steepest = -1, tol
        for j in range(k):
            if not (passive[j] or barred[j]):
                y = b[j]
                for i in range(k):
                    y -= G[j, i] * h[i]
                if y > steepest and G[j, j] > 0.0:
                    new, steepest = j, y
        if new < 0:
            break
        passive[new] = True
        _solve_passive(G, b, passive, L, x)
        if x[new] <= 0.0:  # the slope was rounding: the others span this component
            passive[new], barred[new] = False, True
            continue
        barred[:] = False
        alpha = 0.0
        while alpha < 1.0:  # as far towards x as no component turns negative; those that stop it leave
            alpha, stop = 1.0, -1
            for j in range(k):
                if passive[j] and x[j] <= 0.0 and h[j] <= alpha * (h[j] - x[j]):
                    alpha, stop = (h[j] / (h[j] - x[j]) if h[j] > 0.0 else 0.0), j
            for j in range(k):
                h[j] = max(h[j] + alpha * (x[j] - h[j]), 0.0)
            if stop >= 0:
                h[stop], passive[stop], alpha = 0.0, False, 0.0
                _solve_passive(G, b, passive, L, x)
    x[:] = h


@compiled
def nnls(H, B, G):
    """Solve ``min_{h >= 0} 1/2 h G h - b h`` exactly for each row, in place, from the support H already has.

    Block principal pivoting (Kim and Park): components on the wrong side change sides together, one at a time once
    that stops helping. Rows it cannot solve (rank-deficient G) are left to `_enter`; a row that does not improve keeps
    what it had. Everything is float64 inside.
    """
    n, k = H.shape
    L, x, b = np.empty((k, k)), np.empty(k), np.empty(k)
    passive, wrong = np.empty(k, np.bool_), np.empty(k, np.bool_)
    start = np.empty(k)
    for i in range(n):
        tol = 0.0
        for j in range(k):
            b[j], start[j] = B[i, j], H[i, j]
            passive[j] = start[j] > 0.0
            tol = max(tol, 1e-12 * abs(b[j]))
        fewest, patience, count = k + 1, 3, -1
        for _ in range(5 * k + 20):
            if not _solve_passive(G, b, passive, L, x):
                break
            count = _flip(G, b, x, passive, tol, wrong)
            if count == 0:
                break
            if count < fewest:
                fewest, patience = count, 3
            else:
                patience -= 1
            for j in range(k - 1, -1, -1):
                if wrong[j]:
                    passive[j] = not passive[j]
                    if patience < 0:
                        break
        if count != 0:
            _enter(G, b, passive, tol, L, x, wrong)
        for j in range(k):
            x[j] = max(x[j], 0.0)
        if _value(G, b, x) <= _value(G, b, start):
            for j in range(k):
                H[i, j] = x[j]


@compiled
def sparse_times(indptr, indices, data, R, out, start, scale):
    """out[i] = scale * sum_j x_ij R[j] for the compressed rows start .. start + len(out)."""
    for i in range(out.shape[0]):
        for a in range(R.shape[1]):
            out[i, a] = 0
        for t in range(indptr[start + i], indptr[start + i + 1]):
            x, j = scale * data[t], indices[t]
            for a in range(R.shape[1]):
                out[i, a] += x * R[j, a]


@inlined
def _gather(indices, M, begin, m, tile):
    """Copy the rows of M that a compressed row touches into a tile padded with zeros."""
    for t in range(m):
        j = indices[begin + t]
        for a in range(M.shape[1]):
            tile[t, a] = M[j, a]


@inlined
def _longest(indptr, start, n):
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
    """out[i] = sum_j x_ij / y_ij M[j], y = F M^T on the pattern; F and out hold the compressed rows from start on."""
    n, k = F.shape
    k8 = (k + 7) // 8 * 8
    f, o = np.zeros(k8, F.dtype), np.zeros(k8, F.dtype)
    tile = np.zeros((_longest(indptr, start, n), k8), F.dtype)
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
    """Sum of x log(x / y) over the stored entries of the compressed rows start .. start + len(F)."""
    total = 0.0
    for i in range(F.shape[0]):
        for t in range(indptr[start + i], indptr[start + i + 1]):
            x = scale * data[t]
            if x > 0:
                total += x * np.log(x / max(_dot(F[i], M[indices[t]]), floor))
    return total

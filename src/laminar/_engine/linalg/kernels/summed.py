"""Coordinate descent over whole components with a penalty on their sums."""

from __future__ import annotations

import numpy as np

from ..jit import compiled


@compiled
def summed_hals(Z, B, G, c, alpha, eps, sweeps):
    """Minimise over each component in turn, in place; each is the minimiser with the others fixed.

        min_{Z >= 0}  1/2 <G Z, Z> - <B, Z> + sum_a (alpha G_aa / 2 q_a^2 - c_a q_a),   q_a = sum_j z_aj
        z_a <- max(0, f_a - alpha q),   f_a = z_a + (b_a - G_a Z + c_a) / G_aa,   q = sum_j z_aj   (docs/methods.md 8.2)

    q is the root of a convex function of one variable and is found by Newton's method.

    Parameters
    ----------
    Z : (k, p), the components, overwritten.
    B : (k, p).
    G : (k, k).
    c : (k,).
    alpha : weight of the penalty, in the precision of Z.
    eps : relative accuracy of q, in the precision of Z.
    sweeps : number of passes over all components.
    """
    k, p = Z.shape
    free = np.empty(p, Z.dtype)
    tiny = np.finfo(Z.dtype).tiny
    for _ in range(sweeps):
        for a in range(k):
            if G[a, a] <= tiny:
                continue
            for j in range(p):
                free[j] = B[a, j] + c[a]
            for b in range(k):
                g = G[a, b]
                for j in range(p):
                    free[j] -= g * Z[b, j]
            q = Z.dtype.type(0)
            for j in range(p):
                free[j] = Z[a, j] + free[j] / G[a, a]
                q += Z[a, j]
            for _ in range(30):
                total, positive = Z.dtype.type(0), 0
                for j in range(p):
                    z = free[j] - alpha * q
                    if z > 0:
                        total += z
                        positive += 1
                off = total - q
                if abs(off) <= eps * max(abs(q), tiny):
                    break
                q += off / (1 + alpha * positive)
            for j in range(p):
                Z[a, j] = max(free[j] - alpha * q, 0)

"""Non-negative least squares with few unknowns and many right-hand sides, solved exactly."""

from __future__ import annotations

import numpy as np

from ..jit import compiled, inlined


@inlined
def _solve_passive(G, b, passive, L, x):
    """Solve ``G_PP x_P = b_P`` by Cholesky, with x zero outside the passive set P.

    A component that depends linearly on earlier ones, by a pivot of at most 1e-13 G_jj, leaves P.

    Parameters
    ----------
    G : (k, k), b : (k,).
    passive : (k,) bool, P; changed.
    L : (k, k), scratch for the Cholesky factor.
    x : (k,), the solution.

    Returns
    -------
    Whether the components of P were independent; those without any curvature do not count.
    """
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
def _objective(G, b, x):
    """Return ``1/2 x G x - b x``."""
    v = 0.0
    for i in range(b.shape[0]):
        if x[i] != 0.0:
            gx = 0.0
            for j in range(b.shape[0]):
                gx += G[i, j] * x[j]
            v += x[i] * (0.5 * gx - b[i])
    return v


@inlined
def _infeasible(G, b, x, passive, tol, wrong):
    """Mark in ``wrong`` the components that violate the KKT conditions, and return their number.

    A passive component must not be negative, a component at zero must not have a gradient below ``-tol``.
    """
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
def _active_set(G, b, passive, tol, L, x, barred):
    """Solve for one row by Lawson and Hanson's active-set method from zero, for G without full rank; x is the result.

    The component with the steepest descent enters the passive set P, and x moves towards the least-squares solution
    on P until a component reaches zero and leaves; every step lowers the objective. It ends when no component has a
    gradient below ``-tol``, or after 5 k + 20 steps.

    C. Lawson and R. Hanson, Solving least squares problems, 1974, chapter 23.
    """
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
        if x[new] <= 0.0:  # its gradient was rounding error: the others span this component
            passive[new], barred[new] = False, True
            continue
        barred[:] = False
        alpha = 0.0
        while alpha < 1.0:  # the longest step towards x that stays feasible; the component that limits it leaves P
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
    """Solve non-negative least squares exactly for each row, by block principal pivoting, in place.

        min_{h >= 0}  1/2 h G h - b h,   for each row h of H and b of B        (docs/methods.md 1.4)

    The passive set P starts as the support of h. Given ``G_PP h_P = b_P``, all components that violate the KKT
    conditions change sides; when their number has not fallen for three steps, only the last of them does. A row is
    done when none is left. After 5 k + 20 steps, or where ``G_PP`` is singular, `_active_set` takes over; a row whose
    objective is not lower in the end is left as it was. As `scipy.optimize.nnls`, for many rows.

    Parameters
    ----------
    H : (n, k), start and result.
    B : (n, k), e.g. X Z^T.
    G : (k, k), e.g. Z Z^T. All of the work is in float64.

    J. Kim and H. Park, Fast nonnegative matrix factorization: an active-set-like method and comparisons, SIAM J. Sci.
    Comput. 33, 2011, doi:10.1137/110821172.
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
            count = _infeasible(G, b, x, passive, tol, wrong)
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
            _active_set(G, b, passive, tol, L, x, wrong)
        for j in range(k):
            x[j] = max(x[j], 0.0)
        if _objective(G, b, x) <= _objective(G, b, start):
            for j in range(k):
                H[i, j] = x[j]

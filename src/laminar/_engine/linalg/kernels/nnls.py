"""Non-negative least squares with few unknowns and many right-hand sides, solved exactly."""

from __future__ import annotations

import numpy as np

from ..jit import compiled, inlined


@inlined
def _solve_passive(G, b, passive, L, x, idx):
    """Solve ``G_PP x_P = b_P`` by Cholesky, with x zero outside the passive set P.

    A component that depends linearly on earlier ones, by a pivot of at most 1e-13 G_jj, leaves P.

    Parameters
    ----------
    G : (k, k), b : (k,).
    passive : (k,) bool, P; changed.
    L : (k, k), scratch for the Cholesky factor.
    x : (k,), the solution.
    idx : (k,) int, scratch for the members of P.

    Returns
    -------
    Whether the components of P were independent; those without any curvature do not count.
    """
    k = b.shape[0]
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
def _accept(G, b, x, h):
    """Copy the positive part of x to the row h, unless ``1/2 x G x - b x`` is higher there."""
    k = b.shape[0]
    new, old = 0.0, 0.0
    for i in range(k):
        x[i] = max(x[i], 0.0)
    for i in range(k):
        if x[i] != 0.0 or h[i] != 0.0:
            gx, gh = 0.0, 0.0
            for j in range(k):
                gx += G[i, j] * x[j]
                gh += G[i, j] * h[j]
            new += x[i] * (0.5 * gx - b[i])
            old += h[i] * (0.5 * gh - b[i])
    if new <= old:
        for i in range(k):
            h[i] = x[i]


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


def nnls(H: np.ndarray, B: np.ndarray, G: np.ndarray) -> None:
    """Solve non-negative least squares exactly for each row, by block principal pivoting, in place.

        min_{h >= 0}  1/2 h G h - b h,   for each row h of H and b of B        (docs/methods.md 1.4)

    The passive set P starts as the support of h. Given ``G_PP h_P = b_P``, all components that violate the KKT
    conditions change sides; when their number has not fallen for three steps, only the last of them does. A row is
    done when none is left. After 5 k + 20 steps, or where ``G_PP`` is singular, `active_set` takes over; a row whose
    objective is not lower in the end is left as it was. As `scipy.optimize.nnls`, for many rows.

    Parameters
    ----------
    H : (n, k), start and result.
    B : (n, k), e.g. X Z^T.
    G : (k, k), e.g. Z Z^T. All of the work is in float64.

    J. Kim and H. Park, Fast nonnegative matrix factorization: an active-set-like method and comparisons, SIAM J. Sci.
    Comput. 33, 2011, doi:10.1137/110821172.
    """
    F, B, G = (np.ascontiguousarray(A, dtype=np.float64) for A in (H, B, G))  # one kernel for both precisions
    left = np.zeros(len(F), bool)
    block_pivoting(F, B, G, left)
    if left.any():
        active_set(F, B, G, left)
    if F is not H:
        H[:] = F


@compiled
def block_pivoting(H, B, G, left):
    """Solve row by row as described in `nnls`; mark in ``left`` (n,) the rows that `active_set` has to solve."""
    n, k = H.shape
    L, x, idx = np.empty((k, k)), np.empty(k), np.empty(k, np.int64)
    passive, wrong = np.empty(k, np.bool_), np.empty(k, np.bool_)
    for i in range(n):
        b, h = B[i], H[i]
        tol = 0.0
        for j in range(k):
            passive[j] = h[j] > 0.0
            tol = max(tol, 1e-12 * abs(b[j]))
        fewest, patience, count = k + 1, 3, -1
        for _ in range(5 * k + 20):
            if not _solve_passive(G, b, passive, L, x, idx):
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
        if count == 0:
            _accept(G, b, x, h)
        else:
            left[i] = True


@compiled
def active_set(H, B, G, rows):
    """Solve the rows of a mask by Lawson and Hanson's active-set method from zero, for G without full rank, in place.

    The component with the steepest descent enters the passive set P, and x moves towards the least-squares solution
    on P until a component reaches zero and leaves; every step lowers the objective. A row ends when no component has a
    gradient below -1e-12 of the largest magnitude of b, or after 5 k + 20 steps. It is left as it was where its
    objective is not lower in the end.

    C. Lawson and R. Hanson, Solving least squares problems, 1974, chapter 23.
    """
    n, k = H.shape
    L, x, h, idx = np.empty((k, k)), np.empty(k), np.empty(k), np.empty(k, np.int64)
    passive, barred = np.empty(k, np.bool_), np.empty(k, np.bool_)
    for row in range(n):
        if not rows[row]:
            continue
        b = B[row]
        tol = 0.0
        for j in range(k):
            h[j], passive[j], barred[j] = 0.0, False, False
            tol = max(tol, 1e-12 * abs(b[j]))
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
            _solve_passive(G, b, passive, L, x, idx)
            if x[new] <= 0.0:  # its gradient was rounding error: the others span this component
                passive[new], barred[new] = False, True
                continue
            for j in range(k):
                barred[j] = False
            alpha = 0.0
            while alpha < 1.0:  # the longest step towards x that stays feasible; what limits it leaves P
                alpha, stop = 1.0, -1
                for j in range(k):
                    if passive[j] and x[j] <= 0.0 and h[j] <= alpha * (h[j] - x[j]):
                        alpha, stop = (h[j] / (h[j] - x[j]) if h[j] > 0.0 else 0.0), j
                for j in range(k):
                    h[j] = max(h[j] + alpha * (x[j] - h[j]), 0.0)
                if stop >= 0:
                    h[stop], passive[stop], alpha = 0.0, False, 0.0
                    _solve_passive(G, b, passive, L, x, idx)
        _accept(G, b, h, H[row])

"""Non-negative least squares with one Gram matrix, to the last digit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .linalg import kernels
from .linalg.small import gram_solver
from .terms.majoriser import Block

Solver = Callable[[np.ndarray, np.ndarray], None]
"""``(F, B)``: minimise ``1/2 <F G, F> - <B, F>`` over F >= 0, in place."""


def nnls_solver(G: np.ndarray, *, max_primal: int = 256) -> Solver:
    """Return the solver for rows that share G.

    Rows whose least-squares solution is non-negative are done. For the others coordinate descent finds the support and
    block principal pivoting (Kim and Park 2011) finishes.

    Parameters
    ----------
    G : ndarray of shape (k, k)
        Gram matrix.
    max_primal : int, default=256
        Components up to which the support of a row is solved for; above, the smaller of support and complement.
    """
    pivot = _pivoting(G, max_primal)
    solve, singular = gram_solver(G)
    eps = 8 * float(np.finfo(G.dtype).eps)

    def solver(F: np.ndarray, B: np.ndarray) -> None:
        rest: Block = slice(None)
        if not singular:
            free = solve(B.T).T
            done = (free >= -eps * np.abs(free).max(1, keepdims=True)).all(1)
            F[done], rest = np.maximum(free[done], 0), np.flatnonzero(~done)
        f, B = np.ascontiguousarray(F[rest]), np.ascontiguousarray(B[rest])
        kernels.hals(f, B, G, 30, 0.03)
        pivot(f, B)
        F[rest] = f

    return solver


def _pivoting(gram: np.ndarray, max_primal: int) -> Solver:
    """`kernels.nnls` on this Gram matrix; of many components, on the smaller of the primal and the dual problem."""
    G = np.ascontiguousarray(gram, dtype=np.float64)
    if len(G) <= max_primal:
        return lambda f, B: kernels.nnls(f, B, G)
    solve, singular = gram_solver(G)
    if singular:  # dependent components would enter the support one by one, for seconds a row: left to descent
        return lambda f, B: kernels.hals(f, B, gram, 50, 0.01)
    K = solve(np.eye(len(G)))
    K = np.ascontiguousarray((K + K.T) / 2)
    return lambda f, B: _primal_or_dual(f, B, G, K, solve)


def _primal_or_dual(f: np.ndarray, B: np.ndarray, G: np.ndarray, K: np.ndarray, solve: Callable) -> None:
    """Solve each row by its support or, if that is smaller, by the complement; K is the inverse of G.

    The gradient ``y = G f - b`` at the minimiser is non-negative, and zero where f is not: as ``f = K y + K b`` it
    solves the same problem with K and -K b.
    """
    rest = np.ones(len(f), bool)
    dual = np.flatnonzero(2 * (f > 0).sum(1) > f.shape[1])
    if len(dual):
        b = B[dual].astype(np.float64)
        free = np.ascontiguousarray(solve(b.T).T)  # more digits than b @ K
        y = np.where(f[dual] > 0, 0, np.maximum(f[dual] @ G - b, np.finfo(np.float64).tiny))
        kernels.nnls(y, -free, K)
        new = np.where(y > 0, 0, np.maximum(free + y @ K, 0))
        gradient = new @ G - b
        violation = np.where(new > 0, np.abs(gradient), -gradient).max(1)
        done = violation <= 1e-12 * np.abs(b).max(1)
        f[dual[done]], rest[dual[done]] = new[done], False
    if rest.any():
        part = np.ascontiguousarray(f[rest])
        kernels.nnls(part, np.ascontiguousarray(B[rest]), G)
        f[rest] = part

"""Least squares for one factor, the other given."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from .._utils import tall, threads
from .constraints import Constraint
from .data.matrix import Matrix
from .linalg.blocked import gram
from .linalg.small import gram_solver
from .objective import Objective
from .terms import SquaredFit
from .updates import exact


def best_factor(
    data: Matrix,
    other: np.ndarray,
    constraint: Constraint,
    start: np.ndarray | None = None,
    *,
    ridge: float | np.ndarray = 0.0,
) -> np.ndarray:
    """Return the minimiser of ``||X - F M^T||^2 + ridge sum_a ||f_a||^2 ||m_a||^2`` over F under the constraint.

    M is the other factor. Where its columns depend on each other and there is no ridge there are many, and the start
    decides which one is returned.
    """
    fit = SquaredFit.of(data, other, ridge)
    if start is None:
        start = tall.zeros((data.shape[0], other.shape[1]), data.dtype, data.workers)
    return constraint.update(exact)(start, Objective([fit]), constraint)


def best_codes(
    data: Matrix, Z: np.ndarray, constraint: Constraint, start: np.ndarray | None = None, *, ridge: float = 0.0
) -> np.ndarray:
    """Return codes that depend on X and the components alone: with dependent components the start is not used."""
    if ridge or not gram_solver(gram(Z))[1]:
        return best_factor(data, Z, constraint, start, ridge=ridge)
    H = best_factor(data, Z, constraint)
    return H if constraint.signed else _without_gram(data, Z, H)


def _without_gram(data: Matrix, Z: np.ndarray, H: np.ndarray, *, tol: float = 1e-14) -> np.ndarray:
    """Return the best non-negative codes on nearly dependent components, given those that their Gram matrix allows.

    A Gram matrix squares the condition of Z: beyond 1e7 it does not determine the best codes. Rows that violate the
    KKT conditions of the singular value decomposition of Z are solved by the active set method of Lawson and Hanson.
    """
    U, s, Vt = np.linalg.svd(Z.astype(np.float64), full_matrices=False)
    keep = s > max(Z.shape) * np.finfo(np.float64).eps * s[0]
    if not keep.any():  # zero components: codes are zero
        return H
    A = s[keep, None] * Vt[keep]  # ||x - h Z^T|| is ||x U - h A^T|| up to a constant
    Y = data.product(U[:, keep].astype(data.dtype)).astype(np.float64)
    size = np.linalg.norm(A, axis=0)

    def work(b: slice) -> None:
        h, y = tall.to_host(H[b]).astype(np.float64), tall.to_host(Y[b])
        residual = h @ A.T - y
        gradient = residual @ A
        allowed = tol * np.linalg.norm(y, axis=1, keepdims=True) * size
        wrong = (np.where(h > 0, np.abs(gradient), -gradient) > allowed).any(axis=1)
        for i in np.flatnonzero(wrong):
            try:
                found, error = nnls(A, y[i], maxiter=30 * A.shape[1])
            except RuntimeError:  # too many changes of the active set
                continue
            if error < np.linalg.norm(residual[i]):
                H[b.start + int(i)] = found

    threads.each(work, tall.cut(H, 64))
    return H

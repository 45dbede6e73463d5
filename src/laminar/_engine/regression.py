"""Least squares for one factor, the other given."""

from __future__ import annotations

import numpy as np

from .constraints import Constraint
from .data.matrix import Matrix
from .linalg.blocked import gram
from .linalg.small import gram_solver
from .objective import Objective
from .terms import SquaredFit
from .updates import exact


def best_factor(data: Matrix, other: np.ndarray, constraint: Constraint, start: np.ndarray | None = None) -> np.ndarray:
    """Return the minimiser of ``||X - F M^T||`` over F under the constraint, M being the other factor.

    Where columns of M depend on each other there are many, and the start decides which one is returned.
    """
    fit = SquaredFit.of(data, other)
    start = np.zeros((data.shape[0], other.shape[1]), data.dtype) if start is None else start
    return constraint.update(exact)(start, Objective([fit]), constraint)


def best_codes(data: Matrix, Z: np.ndarray, constraint: Constraint, start: np.ndarray | None = None) -> np.ndarray:
    """Return codes that depend on X and the components alone: with dependent components the start is not used."""
    if start is not None and gram_solver(gram(Z))[1]:
        start = None
    return best_factor(data, Z, constraint, start)

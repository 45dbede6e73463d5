"""Semi-NMF as a function: how layers are pre-trained."""

from __future__ import annotations

import numpy as np

from .constraints import Constraint, Free, NonNegative
from .data.matrix import Matrix
from .linalg.small import safe_divide
from .monitor import Monitor, Solution
from .problem import Problem, fit
from .regression import best_codes
from .solve import solve
from .starts import named_start, without_zeros
from .updates import Update, hals_or_exact, least_squares, multiplicative

SEMI: dict[str, Constraint] = {"H": NonNegative(), "Z": Free()}


def semi_nmf(
    data: Matrix,
    k: int,
    rng: np.random.RandomState,
    *,
    init: str = "lp",
    update: Update = hals_or_exact,
    max_iter: int = 20,
    tol: float = 1e-3,
) -> Solution:
    """Minimise ``1/2 ||X - H Z||^2`` over H >= 0 and Z of any sign; ``max_iter=0`` returns the start."""
    factors = named_start(init, data, k, rng, SEMI["Z"])
    if update is multiplicative:
        factors = {**factors, "H": without_zeros(factors["H"])}
    updates, monitor = {"H": update, "Z": least_squares}, Monitor(max_iter, tol)
    return solve(Problem(SEMI, [fit(data)]), factors, updates, monitor=monitor, extrapolate=True)


def exact_codes(data: Matrix, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the best codes, in the units of X, and components of unit length, of shape (k, p)."""
    Z = solution.factors["Z"]
    lengths = np.linalg.norm(Z.astype(np.float64), axis=0).astype(Z.dtype)
    Z = safe_divide(Z, lengths)
    H = best_codes(data, Z, NonNegative(), solution.factors["H"] * lengths)
    return H * data.dtype.type(data.scale), np.ascontiguousarray(Z.T)

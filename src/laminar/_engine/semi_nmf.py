"""Semi-NMF as a function: how layers are pre-trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .constraints import Constraint, Free, NonNegative
from .data.matrix import Matrix
from .linalg.small import safe_divide
from .monitor import Monitor, Solution
from .problem import Addend, Problem, ridge_fit
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
    penalties: Sequence[Addend] = (),
    ridge: float = 0.0,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise ``1/2 ||X - H Z||^2 + ridge/2 sum_a ||h_a||^2 ||z_a||^2`` plus penalties over H >= 0 and Z of any sign.

    ``max_iter=0`` returns the start.
    """
    factors = named_start(init, data, k, rng, SEMI["Z"])
    if getattr(update, "func", update) is multiplicative:  # or a partial of it, with an exponent
        factors = {**factors, "H": without_zeros(factors["H"])}
    updates, monitor = {"H": update, "Z": least_squares}, monitor or Monitor(20, 1e-3)
    problem = Problem(SEMI, [ridge_fit(data, ridge), *penalties])
    return solve(problem, factors, updates, monitor=monitor, extrapolate=True)


def in_units(data: Matrix, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes, in the units of X, and components of unit length, of shape (k, p)."""
    Z = solution.factors["Z"]
    lengths = np.linalg.norm(Z.astype(np.float64), axis=0).astype(Z.dtype)
    H = solution.factors["H"] * (lengths * data.dtype.type(data.scale))
    return H, np.ascontiguousarray(safe_divide(Z, lengths).T)


def exact_codes(data: Matrix, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with the best codes for the components."""
    H, Z = in_units(data, solution)
    scale = data.dtype.type(data.scale)
    H = best_codes(data, np.ascontiguousarray(Z.T), NonNegative(), H / scale if scale else H)
    return H * scale, Z

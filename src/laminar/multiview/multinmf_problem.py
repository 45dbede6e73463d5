"""One view of MultiNMF: a non-negative factorisation with codes near a target (docs/methods.md 8.2).

    1/2 ||X - H Z||^2 + alpha/2 ||H Q - T||^2,   Q = diag(sums of the components)

Neither term changes when a component is scaled and its codes are scaled back; between fits components have sum one,
where Q is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from .._engine.constraints import Constraint, NonNegative
from .._engine.data.matrix import Matrix
from .._engine.linalg import kernels
from .._engine.linalg.blocked import column_dots
from .._engine.linalg.small import safe_divide
from .._engine.monitor import Monitor
from .._engine.objective import Objective
from .._engine.problem import Addend, Factors, Problem, fit, loss_value
from .._engine.solve import solve
from .._engine.starts import best_components
from .._engine.terms import Majoriser, SplitRows, SquaredFit, Term, Tie
from .._engine.updates import Update, hals, multiplicative
from .._utils.progress import stage


@dataclass
class ViewFactors:
    """One view and its factors.

    Attributes
    ----------
    data : Matrix
        Non-negative.
    H, Z : ndarray of shape (n_samples, k), (n_features, k)
        Codes, in the unit scale of the data, and transposed components.
    """

    data: Matrix
    H: np.ndarray
    Z: np.ndarray

    @property
    def total(self) -> float:
        """Sum of the data in unit scale, 1 if they are zero: codes over it are those of a view with sum one."""
        return self.data.total if self.data.total >= 0.5 else 1.0  # of data too small to divide by, next to nothing

    def start_components(self, floor: float) -> None:
        """Set the best components for the codes, with entries of at least this part of their mean."""
        Z = np.maximum(best_components(self.data, self.H, NonNegative()), 0)
        self.Z = np.maximum(Z, self.Z.dtype.type(floor * (Z.mean() or 1.0)))
        self.normalize()

    def normalize(self) -> None:
        """Scale components to sum one, and codes inversely; a zero component becomes constant, with codes of zero."""
        q = self.Z.sum(0, dtype=np.float64)
        nonzero = q > np.finfo(self.Z.dtype).tiny
        self.H = self.H * np.where(nonzero, q, 0).astype(self.H.dtype)
        share = safe_divide(nonzero.astype(np.float64), q).astype(self.Z.dtype)
        self.Z = np.where(nonzero, self.Z * share, self.Z.dtype.type(1 / len(self.Z)))

    def fit(self, rule: ViewRule, target: np.ndarray, alpha: float, *, max_iter: int, tol: float) -> None:
        """Minimise the objective of this view over both factors."""
        constraints = {"Z": NonNegative(), "H": NonNegative()}
        problem = Problem(constraints, [fit(self.data), near_target(target, alpha)])
        updates, start = {"Z": rule.components, "H": rule.codes}, {"Z": self.Z, "H": self.H}
        # A decrease is also small in parts of the data: with more components than features a fit is almost exact, and
        # thousands of iterations would each decrease what is left of it by a little.
        monitor = Monitor(max_iter, tol, floor=0.01 * self.data.sqnorm if rule.extrapolate else 0.0)
        found = solve(problem, start, updates, monitor=monitor, extrapolate=rule.extrapolate)
        self.Z, self.H = found.factors["Z"], found.factors["H"]
        self.normalize()


def near_target(target: np.ndarray, alpha: float) -> Addend:
    """``alpha/2 ||H Q - T||^2`` as a function of H, or of Z through the sums Q."""

    def term(name: str, F: Factors) -> Term:
        H, Z = F["H"], F["Z"]
        if name == "H":
            return Tie(target.__getitem__, np.full(H.shape[1], alpha), Z.sum(0))
        return SumPenalty(column_dots(H, H), column_dots(H, target), alpha)

    return term


@dataclass(frozen=True)
class SumPenalty:
    """``alpha/2 sum_a (e_a q_a^2 - 2 c_a q_a)`` with the sums ``q = Z 1`` of the components.

    The sums couple the rows of (transposed) Z; as ``q^2 <= p sum_j z_j^2``, p times ``alpha e`` bounds the curvature.

    Attributes
    ----------
    e, c : ndarray of shape (k,)
        Squared lengths of the codes, and their products with the target.
    alpha : float
        Weight.
    """

    e: np.ndarray
    c: np.ndarray
    alpha: float

    exact = False

    def value(self, Z: np.ndarray) -> float:
        """Return the penalty at Z."""
        q = Z.sum(0, dtype=np.float64)
        return self.alpha / 2 * float(self.e @ q**2 - 2 * self.c @ q)

    def majoriser(self, Z: np.ndarray) -> Majoriser:
        """Return the bound with curvature ``p alpha e`` that touches the penalty at Z."""
        plus, minus = self.split_gradient(Z)(slice(0, len(Z)))
        column_weights = (self.alpha * self.e).astype(Z.dtype)
        p = Z.dtype.type(len(Z))
        return Majoriser(lambda b: minus - plus + p * column_weights * Z[b], None, np.full(len(Z), p), column_weights)

    def split_gradient(self, Z: np.ndarray) -> SplitRows:
        """``alpha q e`` and ``alpha c``, the same for all rows."""
        alpha = Z.dtype.type(self.alpha)
        plus, minus = alpha * Z.sum(0) * self.e, alpha * self.c
        return lambda b: (plus, minus)


@dataclass(frozen=True)
class ViewRule:
    """The updates of one view.

    Attributes
    ----------
    components, codes : Update
        Of the two factors.
    extrapolate : bool
        Whether the loop accelerates.
    floor : float
        Smallest entry of a start, relative to the mean: a multiplicative update keeps a zero.
    """

    components: Update
    codes: Update
    extrapolate: bool
    floor: float


def component_descent(Z: np.ndarray, objective: Objective, constraint: Constraint, *, sweeps: int = 2) -> np.ndarray:
    """Coordinate descent over whole components: each is the minimiser with the others fixed.

    Given its sum q a component is ``max(0, b - alpha q)``, with b its least-squares solution plus ``alpha c / G_aa``; q
    is the root of a convex function, which Newton's method finds in a few steps.
    """
    squared, penalty = cast(SquaredFit, objective.fit), cast(SumPenalty, objective.terms[1])
    dtype = Z.dtype.type
    new, B = np.ascontiguousarray(Z.T), np.ascontiguousarray(squared.B(slice(0, len(Z))).T)
    c = (penalty.alpha * penalty.c).astype(Z.dtype)
    eps = dtype(8 * np.finfo(Z.dtype).eps)
    kernels.summed_hals(new, B, np.ascontiguousarray(squared.G), c, dtype(penalty.alpha), eps, sweeps)
    return np.ascontiguousarray(new.T)


RULES = {
    "fast": ViewRule(component_descent, hals, extrapolate=True, floor=0.0),
    "published": ViewRule(multiplicative, multiplicative, extrapolate=False, floor=1e-3),
}


def shares(alpha: np.ndarray) -> np.ndarray:
    """Return the share of each view in the consensus: alpha_v over their sum, or all the same.

    Examples
    --------
    >>> shares(np.array([1.0, 3.0])), shares(np.zeros(2))
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    return alpha / alpha.sum() if alpha.any() else np.full(len(alpha), 1 / len(alpha))


def consensus(views: list[ViewFactors], alpha: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the codes of all views, each in the scale of a view with sum one."""
    pairs = zip(views, shares(alpha), strict=True)
    return sum(view.H * view.H.dtype.type(share / view.total) for view, share in pairs)


def objective(views: list[ViewFactors], alpha: np.ndarray, mean: np.ndarray) -> float:
    """Return half of ``sum_v ||X_v - H_v Z_v||^2 + alpha_v ||H_v - mean||^2``, every X_v with sum one."""
    parts = []
    for view, weight in zip(views, alpha, strict=True):
        total = view.total
        error = loss_value(view.data, "frobenius", view.H, view.Z)
        gap = view.H.astype(np.float64) / total - mean
        parts.append(error / total**2 + float(weight) / 2 * float(np.vdot(gap, gap)))
    return float(sum(parts))


def chained_start(views: list[ViewFactors], rule: ViewRule, *, rounds: int = 3, max_iter: int, tol: float) -> None:
    """Run Liu et al.'s start: plain factorisations, each from the codes of the view before, in several rounds."""
    before = views[0]
    for i in range(rounds):
        for v, view in enumerate(views):
            stage(f"initial factors, round {i + 1} of {rounds}, view {v + 1} of {len(views)}")
            view.H = before.H * view.H.dtype.type(view.total / before.total)
            view.start_components(rule.floor)
            view.fit(rule, np.zeros_like(view.H), 0.0, max_iter=max_iter, tol=tol)
            before = view

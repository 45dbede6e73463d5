"""The problem: a sum of addends over named factors, and the constraint of each factor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .constraints import Constraint
from .data.matrix import Matrix, Rows
from .linalg.blocked import column_dots
from .objective import Evaluable, Objective
from .terms import KL, Constant, GraphPenalty, MaskedL1, Ridge, SquaredFit, SymmetricOperator, Term
from .terms.penalties import masked_sums

Factors = Mapping[str, np.ndarray]

Addend = Callable[[str, Factors], Term | None]
"""``(name, factors) -> term``: one addend of the objective as a function of that factor; None if it does not occur."""

FITS: dict[str, type[SquaredFit] | type[KL]] = {"frobenius": SquaredFit, "kl": KL}


class Solvable(Protocol):
    """A problem as the loop needs it."""

    @property
    def constraints(self) -> Mapping[str, Constraint]:
        """The constraint of each factor, in the order of the updates."""

    def objective(self, name: str, factors: Factors) -> Evaluable:
        """Return the objective as a function of one factor."""


@dataclass(frozen=True)
class Problem:
    """``min sum of addends`` over the factors.

    Attributes
    ----------
    constraints : mapping from names to Constraint
        The constraint of each factor, in the order of the updates.
    addends : sequence of Addend
        The fit first. The terms of the *last* factor must add up to the whole objective, for the loop evaluates it
        there; an addend that does not depend on it is a `Constant`. Other factors may leave constants out.
    """

    constraints: Mapping[str, Constraint]
    addends: Sequence[Addend]

    @property
    def penalised(self) -> bool:
        """Whether there is more than a fit."""
        return len(self.addends) > 1

    def objective(self, name: str, factors: Factors) -> Objective:
        """Return the objective as a function of one factor."""
        terms = (addend(name, factors) for addend in self.addends)
        return Objective([term for term in terms if term is not None])

    def value(self, factors: Factors) -> float:
        """Return the objective."""
        last = list(self.constraints)[-1]
        return self.objective(last, factors).evaluate(factors[last]).value


def fit(data: Matrix, loss: str = "frobenius") -> Addend:
    """``1/2 ||X - H Z||^2``, or the divergence of X from ``H Z``: the same function of H, on X, and of Z, on X^T."""
    kind = FITS[loss]
    return lambda name, F: kind.of(data, F["Z"]) if name == "H" else kind.of(data.T, F["H"])


def ridge_fit(data: Matrix, ridge: float) -> Addend:
    """``1/2 ||X - H Z||^2 + ridge/2 sum_a ||h_a||^2 ||z_a||^2`` (docs/methods.md 4.5)."""
    of = SquaredFit.of
    return lambda name, F: of(data, F["Z"], ridge) if name == "H" else of(data.T, F["H"], ridge)


def offset_fit(data: Matrix, ridge: float) -> Addend:
    """``1/2 ||X - 1 b^T - H Z||^2 + ridge/2 sum_a ||h_a||^2 ||z_a||^2``; b is the last column of the factor Z (p, k+1).

    As a function of Z it is the fit of codes with a column of ones, which the ridge leaves out.
    """

    def term(name: str, F: Factors) -> Term:
        if name == "Z":
            ones = np.ones_like(F["H"][:, :1])
            weights = np.append(np.full(F["H"].shape[1], ridge), 0.0)
            return SquaredFit.of(data.T, np.hstack([F["H"], ones]), weights)
        Z, b = np.ascontiguousarray(F["Z"][:, :-1]), F["Z"][:, -1]
        of_data, shift = SquaredFit.of(data, Z, ridge), b @ Z
        return replace(of_data, B=lambda rows: of_data.B(rows) - shift)

    return term


def loss_value(data: Matrix, loss: str, H: np.ndarray, Z: np.ndarray) -> float:
    """Return the fit of X by ``H Z``; Z of shape (p, k)."""
    return FITS[loss].of(data.T, H).value(Z)


def smooth_codes(operator: SymmetricOperator, weight: float, *, invariant: bool = True) -> Addend:
    """``weight / 2 sum_a ||z_a||^2 h_a^T L h_a``: codes smooth over a graph.

    The published penalty lacks the factors ||z_a||^2. It has no minimiser, for H can shrink and Z grow at no change of
    the fit (docs/methods.md 1.5); ``invariant=False`` is that penalty.
    """
    row_curvature = weight * operator.row_curvature

    def term(name: str, F: Factors) -> Term:
        if name == "H":
            Z = F["Z"]
            scales = column_dots(Z, Z, np.float64) if invariant else np.ones(Z.shape[1])
            return GraphPenalty(operator, weight, scales, row_curvature)
        q = weight * operator.quad_columns(F["H"])
        return Ridge(q) if invariant else Constant(float(q.sum()) / 2)

    return term


def sparse_codes(mask: Rows, weight: float, *, invariant: bool = True) -> Addend:
    """``weight sum_a ||z_a||_1 m_a^T h_a`` for Z >= 0: an L1 penalty on the codes in a mask M (docs/methods.md 4.14).

    ``invariant=False`` is the published penalty, without the factors ||z_a||_1.
    """
    everywhere = np.ones((1, 1))

    def term(name: str, F: Factors) -> Term:
        if name == "H":
            scales = np.abs(F["Z"]).sum(0, dtype=np.float64) if invariant else np.ones(F["Z"].shape[1])
            return MaskedL1(mask, weight * scales)
        sums = weight * masked_sums(mask, F["H"])
        return MaskedL1(lambda b: everywhere.astype(F["H"].dtype), sums) if invariant else Constant(float(sums.sum()))

    return term

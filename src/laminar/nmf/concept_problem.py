"""Concept factorisation ``X ~ H A^T X`` as a problem: nothing in it is n x n (docs/methods.md 4.12).

With ``Z = A^T X`` the codes have a plain squared fit. The objective of A is that of Z, through X: its gradient is
``X dZ^T``. The rows of A are coupled by ``K = X X^T``, of which only the tiles along the diagonal are ever computed, so
that A has an objective and an update of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.factorizer import Factorization
from .._engine.constraints import Constraint
from .._engine.data.matrix import Matrix, Rows, dense
from .._engine.linalg import kernels
from .._engine.linalg.small import safe_divide
from .._engine.objective import Evaluation, Objective
from .._engine.problem import Factors
from .._engine.terms import Groups, SplitRows, SquaredFit
from .._utils import threads

Tiles = list[tuple[slice, np.ndarray]]


@dataclass(frozen=True)
class ConceptProblem(Factorization):
    """``1/2 ||X - H A^T X||^2`` over H and A."""

    @property
    def published_eta(self) -> float:
        """Exponent of the multiplicative update in the paper."""
        return 1.0

    tile_rows = 32  # larger tiles cost more inner products, smaller ones more calls

    def objective(self, name: str, factors: Factors) -> Any:  # by A the rows are coupled: no `Objective`
        """Return the objective as a function of one factor."""
        data = self.data
        if name == "H":
            return Objective([SquaredFit.of(data, data.T.product(factors["A"]))])
        # B is needed as a whole and by blocks.
        B = data.T.product(factors["H"])
        return MixtureObjective(data, replace(SquaredFit.of(data.T, factors["H"]), B=B.__getitem__), self.tiles)

    @cached_property
    def tiles(self) -> Tiles:
        """Blocks of rows with the inner products inside each; the same on any number of threads, as descent is."""
        n, size = self.data.shape[0], self.tile_rows
        blocks = [slice(i, min(i + size, n)) for i in range(0, n, size)]
        return list(zip(blocks, threads.each(lambda b: inner_products(self.data.rows(b)), blocks), strict=True))


def inner_products(rows) -> np.ndarray:
    """Return inner products of a few samples; samples that are rounding next to the largest, 1, have none."""
    K = np.ascontiguousarray(dense(rows @ rows.T))
    lost = np.diag(K) <= np.finfo(K.dtype).eps ** 2
    K[lost], K[:, lost] = 0, 0
    return K


@dataclass(frozen=True)
class MixtureObjective:
    """``1/2 ||X - H A^T X||^2`` as a function of A.

    Attributes
    ----------
    data : Matrix
        X.
    fit : SquaredFit
        The same as a function of the (transposed) components ``Z = X^T A``.
    tiles : list of (slice, ndarray)
        See `ConceptProblem`.
    """

    data: Matrix
    fit: SquaredFit
    tiles: Tiles

    @property
    def groups(self) -> Groups:
        """The rows, cut for the threads and the cache."""
        return [self.data.blocks(len(self.fit.G))]

    def cached(self) -> MixtureObjective:
        """Return the objective itself, whose fit is cached."""
        return self

    def evaluate(self, A: np.ndarray) -> Evaluation:
        """Return the value at A."""
        value = self.fit.value(self.data.T.product(A))
        return Evaluation(value, self.fit.rounding_error(value))

    def component_gradient(self, A: np.ndarray) -> np.ndarray:
        """Gradient by the components; X times it is the gradient by A."""
        Z = self.data.T.product(A)
        return self.fit.majoriser(Z).gradient(slice(0, len(Z)), Z, self.fit.G)

    def gradient(self, A: np.ndarray) -> Rows:
        """Gradient by A, as a function of a slice of rows."""
        return self.data.times(self.component_gradient(A))

    def split_gradient(self, A: np.ndarray) -> SplitRows:
        """The gradient as a difference of two parts, non-negative if X is."""
        Z = self.data.T.product(A)
        plus, minus = (self.data.times(np.asarray(part)) for part in self.fit.split_gradient(Z)(slice(0, len(Z))))
        return lambda b: (plus(b), minus(b))

    def residual(self, A: np.ndarray, constraint: Constraint) -> float:
        """KKT residual, as `Objective.residual` with the diagonal of K times that of the Gram matrix as curvature."""
        gradient, diagonal = self.gradient(A), np.diag(self.fit.G).astype(np.float64)

        def block(tile: tuple[slice, np.ndarray]) -> float:
            b, K = tile
            d = np.diag(K)[:, None] * diagonal
            step = constraint.step(A[b], gradient(b) * safe_divide(np.ones_like(d), d))
            return float(np.vdot(step * step, d))

        return float(np.sqrt(sum(threads.each(block, self.tiles)) / (self.fit.size or 1.0)))


def tiled_descent(A: np.ndarray, objective: MixtureObjective, constraint: Constraint) -> np.ndarray:
    """Coordinate descent over the samples, one tile after the other, each with the gradient after the ones before it.

    All rows at once would have to bound K by its largest eigenvalue, many times its diagonal: steps many times smaller.
    """
    new, gradient, G = A.copy(), objective.component_gradient(A), objective.fit.G
    for b, K in objective.tiles:
        rows = objective.data.rows(b)
        moved = kernels.tied_hals(new[b], np.ascontiguousarray(rows @ gradient), K, G, 2)
        gradient += rows.T @ moved.T
    return new


# ---- the published updates for data of any sign ------------------------------------------------------------------


@dataclass(frozen=True)
class SplitConceptProblem(ConceptProblem):
    """The same with K split into its positive and its negative entries: n x n, for the published rule alone."""

    @cached_property
    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """The positive and the negative part of K."""
        rows = self.data.rows(slice(None))
        K = dense(rows @ rows.T)
        return np.maximum(K, 0), np.maximum(-K, 0)

    @property
    def published_eta(self) -> float:
        """1/2 where K has negative entries."""
        return 0.5 if self.split[1].any() else 1.0

    def objective(self, name: str, factors: Factors) -> Any:
        """Return the objective as a function of one factor."""
        (plus, minus), objective = self.split, super().objective(name, factors)
        if name == "H":
            A = factors["A"]
            KA, NA = plus @ A, minus @ A
            return SplitObjective(objective, lambda H: (NA + H @ (A.T @ KA), KA + H @ (A.T @ NA)))
        H, G = factors["H"], objective.fit.G
        return SplitObjective(objective, lambda A: (minus @ H + plus @ (A @ G), plus @ H + minus @ (A @ G)))


class SplitObjective:
    """An objective whose gradient is split in a way of its own: ``F -> (plus, minus)``."""

    def __init__(self, objective, parts):
        self.objective, self.parts = objective, parts
        self.groups, self.evaluate, self.residual = objective.groups, objective.evaluate, objective.residual

    def cached(self) -> SplitObjective:
        """Return the objective itself."""
        return self

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return both parts by rows."""
        plus, minus = self.parts(F)
        return lambda b: (plus[b], minus[b])

"""Fine-tuning of layers that cannot compose to every basis, because a hidden one is smaller than the top.

The weights of all layers are one factor, packed into one row: they are coupled, so that it has an objective and an
update of its own on the same loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._engine.constraints import Constraint, Free, NonNegative
from .._engine.data.matrix import Matrix, collect
from .._engine.objective import Evaluation, Objective
from .._engine.problem import Factors
from .._engine.terms import SquaredFit
from .composition import compose, least_change


def pack(weights: Sequence[np.ndarray]) -> np.ndarray:
    """Return all weights as one row."""
    return np.concatenate([Z.ravel() for Z in weights])[None]


def unpack(W: np.ndarray, shapes: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Return the weights of each layer."""
    edges = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(W[0], edges), shapes, strict=True)]


@dataclass(frozen=True)
class NarrowProblem:
    """``1/2 ||X - H Z_m ... Z_1||^2`` over H >= 0 and the packed weights W."""

    data: Matrix
    shapes: Sequence[tuple[int, int]]

    @property
    def constraints(self) -> dict[str, Constraint]:
        """H is non-negative, W free."""
        return {"H": NonNegative(), "W": Free()}

    def objective(self, name: str, factors: Factors) -> Objective | WeightsObjective:
        """Return the objective as a function of one factor."""
        if name == "H":
            return Objective([SquaredFit.of(self.data, basis(factors["W"], self.shapes))])
        return WeightsObjective(SquaredFit.of(self.data.T, factors["H"]).cached(), self.shapes)


def basis(W: np.ndarray, shapes: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the transposed top basis."""
    return np.ascontiguousarray(compose(unpack(W, shapes))[-1].T)


@dataclass(frozen=True)
class WeightsObjective:
    """The squared error as a function of the packed weights; ``fit`` is it as a function of the top basis."""

    fit: SquaredFit
    shapes: Sequence[tuple[int, int]]

    def cached(self) -> WeightsObjective:
        """Return the objective itself, whose fit is cached."""
        return self

    def evaluate(self, W: np.ndarray) -> Evaluation:
        """Return the value at W."""
        value = self.fit.value(basis(W, self.shapes))
        return Evaluation(value, self.fit.rounding_error(value))

    def residual(self, W: np.ndarray, constraint: Constraint) -> float:
        """``sqrt(2 decrease / size)`` of one update: that of a free factor, for products the weights can have."""
        moved = alternating_least_squares(W, self, constraint)
        decrease = self.fit.value(basis(W, self.shapes)) - self.fit.value(basis(moved, self.shapes))
        return float(np.sqrt(max(2 * decrease, 0.0) / (self.fit.size or 1.0)))


def alternating_least_squares(W: np.ndarray, objective: WeightsObjective, constraint: Constraint) -> np.ndarray:
    """Update every weight once by least squares, from the input up."""
    fit, shapes = objective.fit, objective.shapes
    (blocks,) = fit.groups
    k, p = shapes[-1][0], shapes[0][1]
    product = collect(fit.B, blocks, (p, k), fit.G.dtype).T
    new = pack(least_change(unpack(W, shapes), fit.G, product))
    # With nearly dependent codes least squares may increase the objective by rounding.
    return new if objective.evaluate(new).value <= objective.evaluate(W).value else W.copy()

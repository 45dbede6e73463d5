"""Layers that reconstruct X by the products of their weights, fitted together: the packed weights are one factor.

    sum_i 1/2 ||X - H_i Z_i ... Z_1||^2 + w_i/2 sum_a ||psi_ia||^2 h_ia^T L_i h_ia,   H_i >= 0

over the layers i that are fitted, with psi_ia row a of Z_i ... Z_1. The weights of all layers are one factor, packed
into one row: they are coupled, so that it has an objective and an update of its own on the same loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._engine.constraints import Constraint, Free, NonNegative
from .._engine.data.matrix import Matrix, collect
from .._engine.objective import Evaluation, Objective
from .._engine.problem import Addend, Factors, ridge_fit, smooth_codes
from .composition import compose, least_change
from .coupled import Graphs


def pack(weights: Sequence[np.ndarray]) -> np.ndarray:
    """Return all weights as one row."""
    return np.concatenate([Z.ravel() for Z in weights])[None]


def unpack(W: np.ndarray, shapes: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Return the weights of each layer."""
    edges = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(W[0], edges), shapes, strict=True)]


@dataclass(frozen=True)
class ProductLayers:
    """The problem over the codes ``H1, H2, ...`` of the fitted layers and the packed weights ``W``.

    Attributes
    ----------
    data : Matrix
        X.
    shapes : sequence of tuple
        Shapes of the weights, from the input up.
    graphs : sequence of {None, (float, GraphOperator)}
        Weight and graph of the penalty of each layer. Layers with a graph are fitted, and the top one.
    invariant : bool
        Whether penalties are multiplied by ``||psi_ia||^2``.
    ridges : sequence of float
        Weight of the ridge of each layer; none where it is empty.
    """

    data: Matrix
    shapes: Sequence[tuple[int, int]]
    graphs: Graphs
    invariant: bool = True
    ridges: Sequence[float] = ()

    @property
    def layers(self) -> list[int]:
        """Positions of the fitted layers, from the input up."""
        top = len(self.shapes) - 1
        return [i for i, graph in enumerate(self.graphs) if graph is not None or i == top]

    @property
    def constraints(self) -> dict[str, Constraint]:
        """Codes are non-negative, weights free."""
        return {f"H{i + 1}": NonNegative() for i in self.layers} | {"W": Free()}

    def objective(self, name: str, factors: Factors) -> Objective | WeightsObjective:
        """Return the objective as a function of one factor; of codes, the terms of their layer."""
        if name != "W":
            i = int(name[1:]) - 1
            basis = _bases(factors["W"], self.shapes)[i]
            return self._layer(i, "H", {"H": factors[name], "Z": basis})
        of_layers = {i: self._layer(i, "Z", {"H": factors[f"H{i + 1}"]}).cached() for i in self.layers}
        return WeightsObjective(of_layers, self.shapes)

    def _layer(self, i: int, name: str, factors: Factors) -> Objective:
        """Return the terms of one layer as a function of its codes "H" or its (transposed) basis "Z"."""
        addends: list[Addend] = [ridge_fit(self.data, self.ridges[i] if self.ridges else 0.0)]
        graph = self.graphs[i]
        if graph is not None:
            addends.append(smooth_codes(graph[1], graph[0], invariant=self.invariant))
        terms = (addend(name, factors) for addend in addends)
        return Objective([term for term in terms if term is not None])


def _bases(W: np.ndarray, shapes: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Return the transposed basis of every layer."""
    return [np.ascontiguousarray(basis.T) for basis in compose(unpack(W, shapes))]


@dataclass(frozen=True)
class WeightsObjective:
    """The sum over layers as a function of the packed weights; ``of_layers`` are functions of the bases."""

    of_layers: Mapping[int, Objective]
    shapes: Sequence[tuple[int, int]]

    def cached(self) -> WeightsObjective:
        """Return the objective itself, whose layers are cached."""
        return self

    def evaluate(self, W: np.ndarray) -> Evaluation:
        """Return the value at W."""
        bases = _bases(W, self.shapes)
        at = [objective.evaluate(bases[i]) for i, objective in self.of_layers.items()]
        return Evaluation(sum(e.value for e in at), sum(e.rounding_error for e in at))

    def residual(self, W: np.ndarray, constraint: Constraint) -> float:
        """``sqrt(2 decrease / size)`` of one update: that of a free factor, for products the weights can have."""
        moved = alternating_least_squares(W, self, constraint)
        size = sum(objective.fit.size for objective in self.of_layers.values())
        decrease = self.evaluate(W).value - self.evaluate(moved).value
        return float(np.sqrt(max(2 * decrease, 0.0) / (size or 1.0)))


def alternating_least_squares(W: np.ndarray, objective: WeightsObjective, constraint: Constraint) -> np.ndarray:
    """Update every weight once by least squares, from the input up."""
    shapes, bases = objective.shapes, _bases(W, objective.shapes)
    grams, products = {}, {}
    for i, of_layer in objective.of_layers.items():
        majoriser = of_layer.majoriser(bases[i])
        (blocks,) = of_layer.groups
        grams[i] = majoriser.gram
        products[i] = collect(majoriser.linear, blocks, bases[i].shape, majoriser.gram.dtype).T
    new = pack(least_change(unpack(W, shapes), grams, products))
    # With nearly dependent codes least squares may increase the objective by rounding.
    return new if objective.evaluate(new).value <= objective.evaluate(W).value else W.copy()

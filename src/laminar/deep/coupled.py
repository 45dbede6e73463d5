"""Layers that are all variables, each tied to its neighbours: addends of the coupled objective (docs/methods.md 5.1).

    1/2 ||X - H_1 Z_1||^2 + mu/2 sum_{i>1} sum_b s_{i-1,b} ||h_{i-1,b} - H_i z_{i,b}||^2
        + 1/2 sum_i mu_i rho_i sum_a s_{i,a} ||h_{i,a}||^2 + penalties,   H_i >= 0

The weight ``s_{i-1,b}`` is the squared length of the basis vector of column b of H_{i-1} in X. Without it the terms of
the upper layers vanish as hidden codes shrink and weights grow; with it no change of scale changes the objective.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._engine.constraints import Constraint, Free, NonNegative
from .._engine.data.matrix import Matrix
from .._engine.linalg.blocked import column_dots, cross, gram
from .._engine.linalg.small import ridged
from .._engine.problem import Addend, Factors, Problem
from .._engine.terms import GraphPenalty, Ridge, SquaredFit, SymmetricOperator, Term, Tie
from .._utils import tall, threads
from ..graphs.operators import GraphOperator

Graphs = Sequence[tuple[float, GraphOperator] | None]
"""A weight and a graph for each layer, from the input up, or None."""


def coupled_layers(
    data: Matrix, depth: int, coupling: float, graphs: Graphs | None = None, ridges: Sequence[float] | None = None
) -> Problem:
    """Return the problem of all layers at once, over ``H_m .. H_1, Z_m .. Z_1``; Z_i is held transposed.

    From the top down, Z_1 last: everything above it is in its ridge, so that it sees the whole objective.
    """
    down = range(depth, 0, -1)
    constraints: dict[str, Constraint] = {f"H{i}": NonNegative() for i in down} | {f"Z{i}": Free() for i in down}
    ridges = ridges or [0.0] * depth
    layers = [_layer(i, coupling, ridges[i - 1], data) for i in range(2, depth + 1)]
    smooth = [_graph(i, *graph) for i, graph in enumerate(graphs or [], start=1) if graph is not None]
    return Problem(constraints, [_first(data, ridges[0]), *layers, *smooth])


def _first(data: Matrix, ridge: float) -> Addend:
    """``1/2 ||X - H_1 Z_1||^2``, and the ridge of the first layer."""

    def term(name: str, F: Factors) -> Term | None:
        if name == "H1":
            return SquaredFit.of(data, F["Z1"], ridge)
        return SquaredFit.of(data.T, F["H1"], ridge) if name == "Z1" else None

    return term


def _layer(i: int, mu: float, ridge: float, data: Matrix) -> Addend:
    """``mu/2 sum_b s_b ||h_b - H_i z_b||^2`` over the columns h_b of the codes below, and the ridge of layer i."""

    def term(name: str, F: Factors) -> Term | None:
        kind, at = name[0], int(name[1:])
        below, H, Z = F[f"H{i - 1}"], F[f"H{i}"], F[f"Z{i}"]
        if name == f"H{i}":
            weighted = mu * (Z * _squared_lengths(i - 1, F)[:, None]).astype(Z.dtype)
            rows = tall.cut(below, 256)
            G = ridged(weighted.T @ Z, ridge)
            return SquaredFit(lambda b: below[b] @ weighted, G, [rows], data.sqnorm, Z.shape[0])
        if name == f"Z{i}":
            # Row b of Z_i has the factor s_b in all of its terms: left out, for rows are separate.
            B, G = mu * cross(below, H), ridged(mu * gram(H), ridge)
            return SquaredFit(B.__getitem__, G, [threads.blocks(len(B), 256)], data.sqnorm, 1.0)
        if name == f"H{i - 1}":
            return Tie(lambda b: H[b] @ Z.T, mu * _squared_lengths(i - 1, F))
        if kind == "Z" and at < i:
            cost = _gaps(below, H, Z) + ridge * np.square(Z, dtype=np.float64) @ column_dots(H, H, np.float64)
            return Ridge(_cost(i - 1, at, mu * cost, F))
        return None

    return term


def _graph(i: int, weight: float, operator: SymmetricOperator) -> Addend:
    """``weight / 2 sum_a s_{i,a} h_{i,a}^T L h_{i,a}``: codes of layer i smooth over a graph."""

    def term(name: str, F: Factors) -> Term | None:
        if name == f"H{i}":
            return GraphPenalty(operator, weight, _squared_lengths(i, F))
        if name[0] == "Z" and int(name[1:]) <= i:
            return Ridge(_cost(i, int(name[1:]), weight * operator.quad_columns(F[f"H{i}"]), F))
        return None

    return term


def _squared_lengths(i: int, F: Factors) -> np.ndarray:
    """``s_i = s_{i-1} (Z_i * Z_i)``: squared length of the basis vector of each column of H_i."""
    s = np.ones(len(F["Z1"]))
    for j in range(1, i + 1):
        s = s @ np.square(F[f"Z{j}"], dtype=np.float64)
    return s


def _gaps(below: np.ndarray, H: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """``||h_b - H z_b||^2`` of every column of the codes below."""
    return threads.total(lambda b: np.square(below[b] - H[b] @ Z.T, dtype=np.float64).sum(0), tall.cut(H, 1024))


def _cost(i: int, at: int, cost: np.ndarray, F: Factors) -> np.ndarray:
    """Cost of a unit of s_at, given the cost of a unit of s_i: ``Z_{at+1}^2 ... Z_i^2 cost``."""
    for j in range(i, at, -1):
        cost = np.square(F[f"Z{j}"], dtype=np.float64) @ cost
    return cost

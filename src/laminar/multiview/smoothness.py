"""Shared codes that are smooth over a graph of every view, in the scale of the components of that view.

1/2 sum_v w_v alpha sum_a s_va h_a^T L_v h_a,   s_va = ||psi_va||^2, or 1                        (docs/methods.md 8.1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from .._engine.linalg.blocked import column_dots
from .._engine.problem import Addend, Factors
from .._engine.terms import Constant, Majoriser, SplitRows, Term
from ..graphs import GraphOperator


@dataclass(frozen=True)
class ViewGraphs:
    """The graphs of all views and the strength of their penalty.

    Attributes
    ----------
    operators : sequence of GraphOperator
        One a view.
    slices : sequence of slice
        The features of each view.
    alpha : float
        Strength.
    invariant : bool
        Whether s_va is the squared length of component a in view v; otherwise it is 1.
    """

    operators: Sequence[GraphOperator]
    slices: Sequence[slice]
    alpha: float
    invariant: bool = True

    def addend(self, weights: np.ndarray) -> Addend:
        """Return the penalty for given weights w_v; components hold the roots of the weights already."""

        def term(name: str, F: Factors) -> Term:
            if name == "H":
                return SmoothOverViews(self.operators, self.alpha * self._scales(F["Z"], weights))
            if self.invariant:
                return RidgeByView(self.slices, self.roughness(F["H"]))
            return Constant(float(weights @ self.roughness(F["H"]).sum(axis=1)) / 2)

        return term

    def roughness(self, H: np.ndarray) -> np.ndarray:
        """Return ``alpha h_a^T L_v h_a`` of shape (n_views, k)."""
        return self.alpha * np.stack([operator.quad_columns(H).astype(np.float64) for operator in self.operators])

    def _scales(self, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return ``w_v s_va`` of shape (n_views, k)."""
        if self.invariant:
            return np.stack([column_dots(Z[s], Z[s], np.float64) for s in self.slices])
        return np.repeat(weights[:, None], Z.shape[1], axis=1)


@dataclass(frozen=True)
class SmoothOverViews:
    """``1/2 sum_v sum_a c_va h_a^T L_v h_a`` as a function of the codes.

    With ``L_v <= diag(r_v)`` and r the largest r_v of a sample, ``sum_v c_va r_v <= r sum_v c_va``: the bound of
    `GraphPenalty`, in which rows are separate.
    """

    operators: Sequence[GraphOperator]
    scales: np.ndarray

    exact = False

    def value(self, F: np.ndarray) -> float:
        """Return the penalty at F."""
        pairs = zip(self.operators, self.scales, strict=True)
        return float(sum(operator.quad_columns(F) @ c for operator, c in pairs)) / 2

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return the bound that touches the penalty at F."""
        r = reduce(np.maximum, (operator.row_curvature for operator in self.operators)).astype(F.dtype)
        c, gradient = self.scales.sum(axis=0).astype(F.dtype), self._gradient(F)
        return Majoriser(lambda b: r[b, None] * c * F[b] - gradient[b], None, r, c)

    def _gradient(self, F: np.ndarray) -> np.ndarray:
        pairs = zip(self.operators, self.scales, strict=True)
        return sum(operator.laplacian(F) * c.astype(F.dtype) for operator, c in pairs)

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return ``sum_v c_v * D_v F`` and ``sum_v c_v * W_v F``."""
        parts = [(operator.rows(F), c.astype(F.dtype)) for operator, c in zip(self.operators, self.scales, strict=True)]
        return lambda b: (sum(rows.plus(b) * c for rows, c in parts), sum(rows.minus(b) * c for rows, c in parts))


@dataclass(frozen=True)
class RidgeByView:
    """``1/2 sum_v sum_a q_va ||z_va||^2`` as a function of the components, of which z_va are the features of view v."""

    slices: Sequence[slice]
    weights: np.ndarray

    exact = True

    def value(self, F: np.ndarray) -> float:
        """Return the penalty at F."""
        pairs = zip(self.slices, self.weights, strict=True)
        return float(sum(column_dots(F[s], F[s], np.float64) @ q for s, q in pairs)) / 2

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return ``G_v = diag(q_v)``, one a view: features of a view are a group of rows."""
        return Majoriser(G=np.stack([np.diag(q) for q in self.weights.astype(F.dtype)]))

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return ``q_v * F``, and nothing below zero."""
        sizes = [s.stop - s.start for s in self.slices]
        plus = np.repeat(self.weights, sizes, axis=0).astype(F.dtype)
        return lambda b: (F[b] * plus[b], 0)

"""Penalties on one factor F, each a term of the objective. All of them have the methods of `Term`, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..._utils import tall, threads
from ..._utils.place import Place
from ..data.matrix import Rows
from ..linalg.blocked import column_dots
from .majoriser import Majoriser, SplitRows


class LaplacianRows(NamedTuple):
    """``L F`` by rows: ``plus - minus``, both non-negative for F >= 0, and ``remainder = row_curvature F - L F``.

    The remainder is a new array at every call.
    """

    plus: Rows
    minus: Rows
    remainder: Rows


class SymmetricOperator(Protocol):
    """A symmetric matrix L over the rows of a factor, with a diagonal bound; `laminar.graphs.GraphOperator` is one."""

    @property
    def row_curvature(self) -> np.ndarray:
        """R of shape (n,), with ``L <= diag(r)``."""

    def rows(self, F: np.ndarray) -> LaplacianRows:
        """Return ``L F``, split, as functions of a slice of rows."""

    def quad_columns(self, F: np.ndarray) -> np.ndarray:
        """Return ``f_a^T L f_a`` of every column."""

    def on(self, workers: Place | None) -> SymmetricOperator:
        """Return the matrix for factors whose rows are in a place; None is in this process."""


@dataclass(frozen=True)
class GraphPenalty:
    """``weight / 2 sum_a c_a f_a^T L f_a``: rows that a graph links are similar.

    L couples the rows; its bound ``L <= diag(r)``, for a graph twice the degrees, does not (docs/methods.md 1.4.3). At
    F0 the majoriser has ``B = weight c * (r F0 - L F0)``, row curvature ``weight r`` and column weights c.
    """

    operator: SymmetricOperator
    weight: float
    column_weights: np.ndarray
    row_curvature: np.ndarray | None = None  # weight times that of the operator, where it is known already

    exact = False

    def value(self, F: np.ndarray) -> float:
        """Return the penalty at F."""
        return self.weight / 2 * float(self.operator.quad_columns(F) @ self.column_weights)

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return the bound that touches the penalty at F."""
        remainder, c = self.operator.rows(F).remainder, self.column_weights.astype(F.dtype)
        weighted = F.dtype.type(self.weight) * c

        def B(b: slice) -> np.ndarray:
            out = remainder(b)
            out *= weighted
            return out

        r = self.weight * self.operator.row_curvature if self.row_curvature is None else self.row_curvature
        return Majoriser(B, None, r.astype(F.dtype, copy=False), c)

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return ``weight c * D F`` and ``weight c * W F``, of ``L = D - W``."""
        plus, minus, _ = self.operator.rows(F)
        c = (self.weight * self.column_weights).astype(F.dtype)
        return lambda b: (plus(b) * c, minus(b) * c)


@dataclass(frozen=True)
class Tie:
    """``1/2 sum_a w_a ||s_a f_a - t_a||^2``: F, its columns in the scales s, near a target T given by rows."""

    target: Rows
    weights: np.ndarray
    scales: np.ndarray | float = 1.0

    exact = True

    def value(self, F: np.ndarray) -> float:
        """Return the weighted squared distance of F from T."""

        def gaps(b: slice) -> np.ndarray:
            return np.square(self.scales * F[b] - self.target(b), dtype=np.float64).sum(0)

        return float(threads.total(gaps, tall.cut(F, 1024)) @ self.weights) / 2

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return ``B = w s * T`` and ``G = diag(w s^2)``."""
        linear, curvature = self._coefficients(F.dtype)
        return Majoriser(lambda b: self.target(b) * linear, np.diag(curvature))

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return ``w s^2 * F + w s * T^-`` and ``w s * T^+``."""
        (linear, curvature), target = self._coefficients(F.dtype), self.target
        return lambda b: (
            F[b] * curvature + np.maximum(-target(b), 0) * linear,
            np.maximum(target(b), 0) * linear,
        )

    def _coefficients(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        linear = self.weights * self.scales
        return linear.astype(dtype), (linear * self.scales).astype(dtype)


@dataclass(frozen=True)
class Ridge:
    """``1/2 sum_a w_a ||f_a||^2``."""

    weights: np.ndarray

    exact = True

    def value(self, F: np.ndarray) -> float:
        """Return the penalty at F."""
        return float(column_dots(F, F, np.float64) @ self.weights) / 2

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return ``G = diag(w)``."""
        return Majoriser(G=np.diag(self.weights.astype(F.dtype)))

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return ``w * F``, by the sign of w."""
        plus, minus = (np.maximum(sign * self.weights, 0).astype(F.dtype) for sign in (1, -1))
        return lambda b: (F[b] * plus, F[b] * minus)


@dataclass(frozen=True)
class MaskedL1:
    """``sum_a w_a m_a^T f_a`` for F >= 0: an L1 penalty on the entries in a mask M >= 0 (docs/methods.md 4.14)."""

    mask: Rows
    weights: np.ndarray

    exact = True

    def value(self, F: np.ndarray) -> float:
        """Return the penalty at F."""
        return float(masked_sums(self.mask, F) @ self.weights)

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return ``B = -w * M``."""
        w = self.weights.astype(F.dtype)
        return Majoriser(lambda b: self.mask(b) * -w)

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return ``w * M``, and nothing below zero."""
        w = self.weights.astype(F.dtype)
        return lambda b: (self.mask(b) * w, 0)


def masked_sums(mask: Rows, F: np.ndarray) -> np.ndarray:
    """Return ``m_a^T f_a`` of every column."""
    return threads.total(lambda b: (mask(b) * F[b]).sum(0, dtype=np.float64), tall.cut(F, 4096))


@dataclass(frozen=True)
class Constant:
    """An addend that does not depend on the factor, so that its terms add up to the whole objective."""

    constant: float

    exact = True

    def value(self, F: np.ndarray) -> float:
        """Return the constant."""
        return self.constant

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return nothing: constants are left out of majorisers."""
        return Majoriser()

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return nothing: a constant has no gradient."""
        return lambda b: (0, 0)

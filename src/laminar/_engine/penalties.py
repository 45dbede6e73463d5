"""What a model asks of the codes beyond the fit: smooth over a graph, silent where a class says so.

A penalty on H alone is void: H can shrink and Z grow at no cost to the fit, so that it has no minimum (methods.md 1.5).
The *invariant* form charges what the codes would cost with components of unit length; it then shapes Z as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .._utils import threads
from ..graphs import GraphOperator
from .data.matrix import Rows
from .terms import KL, Pull, Quad


class Operator(Protocol):
    """A symmetric matrix L over the samples, as `graphs.GraphOperator` is."""

    stiffness: np.ndarray  # (n,), L <= diag(stiffness)

    def parts(self, H: np.ndarray) -> tuple[Rows, Rows, Rows]:
        """``L H`` as a difference of two non-negative parts, and ``stiffness H - L H``, as functions of rows."""

    def quad_columns(self, H: np.ndarray) -> np.ndarray:
        """``h^T L h`` of every column."""


@dataclass(frozen=True)
class Smooth:
    """``weight / 2 sum_a s_a h_a^T L h_a``, with ``s_a = ||z_a||^2`` in the invariant form and 1 otherwise."""

    operator: Operator
    weight: float
    invariant: bool = True

    def value(self, H: np.ndarray, Z: np.ndarray) -> float:
        """The penalty itself."""
        return self.weight / 2 * float(self.operator.quad_columns(H) @ self._scales(Z))

    def on_codes(self, term: Quad | KL, Z: np.ndarray) -> Quad | KL:
        """The fit as H sees it, with the penalty."""
        scales, weight = self._scales(Z), self.weight
        columns = (weight * scales).astype(Z.dtype)
        stiffness = self.operator.stiffness.astype(Z.dtype)

        def pull(H: np.ndarray) -> Pull:
            return Pull(*self.operator.parts(H), stiffness, columns)

        return replace(term, pull=pull, extra=lambda H: weight / 2 * float(self.operator.quad_columns(H) @ scales))

    def on_components(self, term: Quad | KL, H: np.ndarray) -> Quad | KL:
        """The fit as Z sees it, with the penalty: a ridge, or a constant."""
        quad = self.weight * self.operator.quad_columns(H)
        if not self.invariant:
            return replace(term, extra=lambda Z: float(quad.sum()) / 2)
        floor = 0.0 if quad.min() >= 0 else -np.inf  # an operator that rewards may outweigh the fit
        return replace(term, gram=term.gram + np.diag(quad).astype(term.gram.dtype), floor=floor)

    def _scales(self, Z: np.ndarray) -> np.ndarray:
        if not self.invariant:
            return np.ones(Z.shape[1])
        return np.einsum("ij,ij->j", Z, Z, dtype=np.float64)


@dataclass(frozen=True)
class Sparing:
    """``weight sum_a s_a m_a^T h_a``: a price on the entries a mask M >= 0 names.

    ``s_a = ||z_a||_1`` in the invariant form and 1 otherwise. The mask is a function of a slice of rows.
    """

    mask: Rows
    weight: float
    invariant: bool = True

    def value(self, H: np.ndarray, Z: np.ndarray) -> float:
        """The penalty itself."""
        return self.weight * float(self._masked(H) @ self._scales(Z))

    def on_codes(self, term: Quad | KL, Z: np.ndarray) -> Quad | KL:
        """The fit as H sees it, with the penalty."""
        scales, weight = self._scales(Z), self.weight
        columns = (weight * scales).astype(Z.dtype)

        def pull(H: np.ndarray) -> Pull:
            return Pull(self.mask, None, None, None, columns)

        return replace(term, pull=pull, extra=lambda H: weight * float(self._masked(H) @ scales))

    def on_components(self, term: Quad | KL, H: np.ndarray) -> Quad | KL:
        """The fit as Z sees it, with the penalty: a price on every entry of a component, or a constant."""
        masked = self.weight * self._masked(H)
        if not self.invariant:
            return replace(term, extra=lambda Z: float(masked.sum()))
        price, linear = masked.astype(H.dtype), term.linear
        return replace(term, linear=lambda b: linear(b) - price)

    def _masked(self, H: np.ndarray) -> np.ndarray:
        rows = threads.blocks(len(H), 4096)
        return sum(threads.each(lambda b: np.einsum("ij,ij->j", self.mask(b), H[b], dtype=np.float64), rows))

    def _scales(self, Z: np.ndarray) -> np.ndarray:
        return np.abs(Z).sum(0, dtype=np.float64) if self.invariant else np.ones(Z.shape[1])


@dataclass(frozen=True)
class Entropic:
    """``weight sum_a h_a^T L log h_a``, what Cai et al. add to a divergence; `updates.diffuse` is their rule for it.

    The pull is the one their rule rests under, which is not quite the slope of the value.
    """

    operator: GraphOperator
    weight: float

    def value(self, H: np.ndarray, Z: np.ndarray | None = None) -> float:
        """The penalty itself."""
        logs = np.log(np.maximum(H, np.finfo(H.dtype).tiny), dtype=np.float64)
        return self.weight * float(np.vdot(logs, self.operator.laplacian(H.astype(np.float64))))

    def on_codes(self, term: KL, Z: np.ndarray) -> KL:
        """The divergence as H sees it, with the penalty."""
        columns, tiny = np.full(Z.shape[1], self.weight, Z.dtype), np.finfo(Z.dtype).tiny
        degree = self.operator.degree.astype(Z.dtype)

        def pull(H: np.ndarray) -> Pull:
            _, neighbours, _ = self.operator.parts(H)
            down = lambda b: neighbours(b) / np.maximum(H[b], tiny)  # noqa: E731
            return Pull(lambda b: degree[b, None], down, None, None, columns)

        return replace(term, pull=pull, extra=self.value)

    def on_components(self, term: KL, H: np.ndarray) -> KL:
        """The divergence as Z sees it, with the penalty: a constant."""
        value = self.value(H)
        return replace(term, extra=lambda Z: value)


Penalty = Smooth | Sparing | Entropic

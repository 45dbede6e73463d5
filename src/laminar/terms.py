"""A smooth cost as one factor sees it while the others rest.

Every factor is held with its free index as rows: H as (n, k), and Z *transposed*, as (p, k). The fit of X ~ H Z is
then the same function of either, on X or on its transpose, and each row is a small problem of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import threads
from .data import Matrix, Rows, collect


@dataclass(frozen=True)
class Quad:
    """``1/2 <F G, F> - <B, F> + constant / 2``: a squared fit, or anything quadratic, seen from one factor.

    Attributes
    ----------
    linear : callable
        B as a function of a slice of rows, so that it need not exist as a whole.
    gram : ndarray of shape (k, k)
        G, the curvature every row shares.
    blocks : list of slice
        The rows, cut for the threads and the cache.
    constant : float
        Squared norm of what is fitted: the value at F = 0 is half of it.
    effort : float
        What one row of B costs, in multiplications per component; tells how many sweeps over F a new B is worth.
    """

    linear: Rows
    gram: np.ndarray
    blocks: list[slice]
    constant: float
    effort: float

    @classmethod
    def fit(cls, data: Matrix, other: np.ndarray) -> Quad:
        """``1/2 ||X - F other^T||^2``."""
        gram = gram_of(other)
        k = other.shape[1]
        return cls(data.times(other), gram, data.blocks(k), data.sqnorm, data.entries_per_row)

    def materialized(self, shape: tuple[int, int], dtype) -> Quad:
        """The same term with B held as one array: for a small factor whose value is asked for as well."""
        B = collect(self.linear, self.blocks, shape, dtype)
        return replace(self, linear=B.__getitem__)

    def value(self, F: np.ndarray) -> float:
        """Return the cost at F, summed in double precision: it is a small difference of large numbers."""
        G = self.gram.astype(np.float64)

        def block(b: slice) -> float:
            f, B = F[b].astype(np.float64), self.linear(b)
            return float(np.vdot(f @ G, f) / 2 - np.vdot(B.astype(np.float64, copy=False), f))

        return max(sum(threads.each(block, self.blocks)) + self.constant / 2, 0.0)  # NaN stays NaN

    def grad(self, b: slice, f: np.ndarray) -> np.ndarray:
        """Gradient on rows b, where F is f."""
        return f @ self.gram - self.linear(b)

    def split(self, b: slice, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient as a difference of two non-negative parts (methods.md 1.2: the *Gram* is split)."""
        B, G = self.linear(b), self.gram
        plus, minus = np.maximum(-B, 0), np.maximum(B, 0)
        plus += f @ np.maximum(G, 0)
        minus += f @ np.maximum(-G, 0)
        return plus, minus

    def residual(self, F: np.ndarray, constraint) -> float:
        """Length of the steps coordinate descent would still take, relative to the data: 0 at a KKT point."""
        d = np.diag(self.gram).astype(np.float64)
        scale = np.divide(1, d, out=np.zeros_like(d), where=d > np.finfo(np.float64).tiny)

        def block(b: slice) -> float:
            step = constraint.step(F[b], self.grad(b, F[b]) * scale)
            return float(((step * step) @ d).sum())

        return float(np.sqrt(sum(threads.each(block, self.blocks)) / (self.constant or 1.0)))


class KL:
    """Kullback-Leibler divergence of X from ``F other^T``, evaluated only where X is not zero."""

    def __init__(self, data: Matrix, other: np.ndarray):
        self.data, self.other = data, other
        self.blocks = data.blocks(other.shape[1])
        self._total = other.sum(0, dtype=np.float64).astype(other.dtype)
        self._ratio_times = data.ratio_times(other)

    def value(self, F: np.ndarray) -> float:
        """Return the divergence."""
        return self.data.divergence(F, self.other)

    def grad(self, b: slice, f: np.ndarray) -> np.ndarray:
        """Gradient on rows b, where F is f."""
        plus, minus = self.split(b, f)
        return plus - minus

    def split(self, b: slice, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient as a difference of two non-negative parts; the first is the same for all rows."""
        return self._total, self._ratio_times(b, f)

    def residual(self, F: np.ndarray, constraint) -> float:
        """Mass the multiplicative rule would still move, relative to the mass of the data."""
        typical = F.mean(0)

        def block(b: slice) -> float:
            plus, minus = self.split(b, F[b])
            relative = 1 - minus / np.maximum(plus, np.finfo(F.dtype).tiny)
            return float(np.abs(constraint.step(F[b], np.maximum(F[b], typical) * relative) * plus).sum())

        return sum(threads.each(block, self.blocks)) / (self.data.total or 1.0)


def gram_of(F: np.ndarray) -> np.ndarray:
    """``F^T F``, by blocks of rows."""
    return sum(threads.each(lambda b: F[b].T @ F[b], threads.blocks(len(F), 4096)))

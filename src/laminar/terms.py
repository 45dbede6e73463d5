"""A smooth cost as one factor sees it while the others rest.

Every factor is held with its free index as rows: H as (n, k), and Z *transposed*, as (p, k). The fit of X ~ H Z is
then the same function of either, on X or on its transpose, and each row is a small problem of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import threads
from .data import Matrix, Rows


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
        B = np.empty(shape, dtype)

        def write(b: slice) -> None:
            B[b] = self.linear(b)

        threads.each(write, self.blocks)
        return replace(self, linear=B.__getitem__)

    def value(self, F: np.ndarray) -> float:
        """Return the cost at F, summed in double precision: it is a small difference of large numbers."""
        G = self.gram.astype(np.float64)

        def block(b: slice) -> float:
            f, B = F[b].astype(np.float64), self.linear(b)
            return float(np.vdot(f @ G, f) / 2 - np.vdot(B.astype(np.float64, copy=False), f))

        return max(0.0, sum(threads.each(block, self.blocks)) + self.constant / 2)

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
        scale = np.divide(1, d, out=np.zeros_like(d), where=d > 0)

        def block(b: slice) -> float:
            step = constraint.step(F[b], self.grad(b, F[b]) * scale)
            return float(((step * step) @ d).sum())

        return float(np.sqrt(sum(threads.each(block, self.blocks)) / (self.constant or 1.0)))


@dataclass(frozen=True)
class KL:
    """Kullback-Leibler divergence of X from ``F other^T``, evaluated only where X is not zero."""

    data: Matrix
    other: np.ndarray

    @property
    def blocks(self) -> list[slice]:
        """The rows, cut for the threads and the cache."""
        return self.data.blocks(self.other.shape[1])

    def at(self, F: np.ndarray):
        """Return ``split`` at F: a function of rows."""
        total = self.other.sum(0, dtype=np.float64).astype(F.dtype)
        ratio = self.data.ratio_times(F, self.other)
        return lambda b: (np.broadcast_to(total, (b.stop - b.start, len(total))), ratio(b))

    def value(self, F: np.ndarray) -> float:
        """Return the divergence."""
        return self.data.divergence(F, self.other)

    def residual(self, F: np.ndarray, constraint) -> float:
        """Mass the multiplicative rule would still move, relative to the mass of the data."""
        split, typical = self.at(F), F.mean(0)

        def block(b: slice) -> float:
            plus, minus = split(b)
            relative = 1 - minus / np.maximum(plus, np.finfo(F.dtype).tiny)
            return float(np.abs(constraint.step(F[b], np.maximum(F[b], typical) * relative) * plus).sum())

        return sum(threads.each(block, self.blocks)) / (self.data.total or 1.0)


def gram_of(F: np.ndarray) -> np.ndarray:
    """``F^T F``, by blocks of rows."""
    return sum(threads.each(lambda b: F[b].T @ F[b], threads.blocks(len(F), 4096)))

"""Components that are mixtures of the samples themselves: ``X ~ H A^T X``, and nothing in it is n x n.

With ``Z = A^T X`` the codes see a plain fit. A sees the plain fit of Z, through X: its gradient is ``X @ dZ^T``. The
samples tie the rows of A to each other by ``K = X X^T``, of which only the tiles along the diagonal are ever made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._engine.data.matrix import Matrix, Rows, dense
from .._engine.linalg import kernels
from .._engine.problem import Chain, Factors
from .._engine.terms import Quad
from .._utils import threads

Tiles = list[tuple[slice, np.ndarray]]
_ALL = slice(None)
_TILE = 32  # rows: larger tiles cost more inner products, smaller ones more calls


@dataclass(frozen=True)
class Mixtures(Chain):
    """``data ~ H A^T data`` under a squared error."""

    right: str = "A"

    def term(self, name: str, F: Factors) -> Quad | Weights:
        """The loss as factor ``name`` sees it."""
        data = self.data
        if name == self.left:
            return Quad.fit(data, data.T.product(F[self.right]))
        H = F[self.left]
        fit = Quad.fit(data.T, H).materialized()
        return Weights(data, fit, self.tiles)

    @cached_property
    def tiles(self) -> Tiles:
        """The rows cut small, with the inner products inside each cut."""
        n = self.data.shape[0]
        # Without a look at the threads: coordinate descent depends on the cuts.
        cuts = [slice(i, min(i + _TILE, n)) for i in range(0, n, _TILE)]
        return list(zip(cuts, threads.each(lambda b: inner_products(self.data.rows(b)), cuts), strict=True))


def inner_products(rows) -> np.ndarray:
    """Inner products of a few samples; samples lost to rounding next to the largest, 1, have none."""
    K = rows @ rows.T
    K = np.ascontiguousarray(dense(K))
    lost = np.diag(K) <= np.finfo(K.dtype).eps ** 2
    K[lost], K[:, lost] = 0, 0
    return K


@dataclass(frozen=True)
class Weights:
    """``1/2 ||X - H A^T X||^2`` as A sees it.

    Attributes
    ----------
    data : Matrix
        X.
    fit : Quad
        The same as the components see it.
    tiles : list of (slice, ndarray)
        See `Mixtures`.
    Z : ndarray of shape (p, k) or None
        The (transposed) components where A stands; `at` sets them.
    """

    data: Matrix
    fit: Quad
    tiles: Tiles
    Z: np.ndarray | None = None

    @property
    def blocks(self) -> list[slice]:
        """The rows, cut for the threads and the cache."""
        return self.data.blocks(len(self.fit.gram))

    def at(self, A: np.ndarray) -> Weights:
        """The same term where A stands; gradients and updates are taken there."""
        return replace(self, Z=self.data.T.product(A))

    def value(self, A: np.ndarray) -> float:
        """Return the cost at A."""
        return self.fit.value(self.data.T.product(A))

    def noise(self, value: float) -> float:
        """Differences of values that are rounding."""
        return self.fit.noise(value)

    @property
    def slope(self) -> np.ndarray:
        """Gradient of the components, what the samples are multiplied with to give that of A."""
        return self.fit.grad(_ALL, self.Z)

    @cached_property
    def _gradient(self) -> Rows:
        return self.data.times(self.slope)

    @cached_property
    def _parts(self) -> tuple[Rows, Rows]:
        return tuple(self.data.times(part) for part in self.fit.split(_ALL, self.Z))

    def grad(self, b: slice, f: np.ndarray) -> np.ndarray:
        """Gradient on rows b, where A is f."""
        return self._gradient(b)

    def split(self, b: slice, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient as a difference of two parts, non-negative if X is."""
        return tuple(part(b) for part in self._parts)

    def residual(self, A: np.ndarray, constraint) -> float:
        """Length of the steps coordinate descent would still take, relative to the data: 0 at a KKT point."""
        term, diagonal = self.at(A), np.diag(self.fit.gram).astype(np.float64)

        def block(tile: tuple[slice, np.ndarray]) -> float:
            b, K = tile
            d = np.diag(K)[:, None] * diagonal
            scale = np.divide(1, d, out=np.zeros_like(d), where=d > np.finfo(np.float64).tiny)
            step = constraint.step(A[b], term.grad(b, A[b]) * scale)
            return float(np.vdot(step * step, d))

        return float(np.sqrt(sum(threads.each(block, self.tiles)) / (self.fit.constant or 1.0)))


def descend(A: np.ndarray, term: Weights, constraint=None) -> np.ndarray:
    """Coordinate descent over the samples, one tile after the other: each sees what the ones before it moved.

    All rows at once would have to bound K by its largest eigenvalue, many times its diagonal: steps many times smaller.
    """
    new, slope, G = A.copy(), term.at(A).slope, term.fit.gram
    for b, K in term.tiles:
        rows = term.data.rows(b)
        moved = kernels.tied_hals(new[b], np.ascontiguousarray(rows @ slope), K, G, 2)
        slope += rows.T @ moved.T
    return new


# ---- the published rules for data of any sign --------------------------------------------------------------------


@dataclass(frozen=True)
class SplitMixtures(Mixtures):
    """`Mixtures` with K split into its positive and its negative entries: n x n, for the published rules alone."""

    @cached_property
    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """The positive and the negative part of K."""
        rows = self.data.rows(_ALL)
        K = rows @ rows.T
        K = dense(K)
        return np.maximum(K, 0), np.maximum(-K, 0)

    def term(self, name: str, F: Factors) -> Split:
        """The loss as factor ``name`` sees it."""
        (plus, minus), term = self.split, super().term(name, F)
        if name == self.left:
            A = F[self.right]
            up, down = plus @ A, minus @ A
            return Split(term, lambda H: (down + H @ (A.T @ up), up + H @ (A.T @ down)))
        H, G = F[self.left], term.fit.gram
        return Split(term, lambda A: (minus @ H + plus @ (A @ G), plus @ H + minus @ (A @ G)))


@dataclass(frozen=True)
class Split:
    """A term whose gradient is split in a way of its own: F -> (plus, minus)."""

    term: Quad | Weights
    parts: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    here: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def blocks(self) -> list[slice]:
        """The rows, cut for the threads and the cache."""
        return self.term.blocks

    def at(self, F: np.ndarray) -> Split:
        """The same term where F stands."""
        return replace(self, here=self.parts(F))

    def value(self, F: np.ndarray) -> float:
        """Return the cost at F."""
        return self.term.value(F)

    def noise(self, value: float) -> float:
        """Differences of values that are rounding."""
        return self.term.noise(value)

    def grad(self, b: slice, f: np.ndarray) -> np.ndarray:
        """Gradient on rows b, where F is f."""
        plus, minus = self.split(b, f)
        return plus - minus

    def split(self, b: slice, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient as a difference of two non-negative parts."""
        plus, minus = self.here
        return plus[b], minus[b]

    def residual(self, F: np.ndarray, constraint) -> float:
        """See `Quad.residual`."""
        return self.term.residual(F, constraint)

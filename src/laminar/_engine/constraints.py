"""Constraints on a factor: the projection, and all that follows from it for updates and extrapolation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._utils import threads
from .contracts import Constraint, Update
from .updates import least_squares

__all__ = ["Constraint", "Free", "NonNegative", "UnitSum"]


class Free:
    """Any real matrix."""

    signed = True

    def project(self, F: np.ndarray) -> np.ndarray:
        """Return F."""
        return F

    def step(self, F: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Return the whole move."""
        return move

    def multiplier(self, F: np.ndarray, gradient: Callable, groups: Sequence) -> float:
        """Return zero."""
        return 0.0

    def limit(self, move: np.ndarray, F: np.ndarray) -> None:
        """Leave the move as it is."""

    def normalise(self, F: np.ndarray) -> np.ndarray:
        """Return F, of any scale."""
        return F

    def update(self, default: Update) -> Update:
        """Return least squares, whatever the default: the minimiser has a closed form."""
        return least_squares


class NonNegative:
    """No entry below zero."""

    signed = False

    def project(self, F: np.ndarray) -> np.ndarray:
        """Clip F at zero, in place."""
        return np.maximum(F, 0, out=F)

    def step(self, F: np.ndarray, move: np.ndarray) -> np.ndarray:
        """``min(F, move)``."""
        return np.minimum(F, move)

    def multiplier(self, F: np.ndarray, gradient: Callable, groups: Sequence) -> np.ndarray | float:
        """Return zero."""
        return 0.0

    def limit(self, move: np.ndarray, F: np.ndarray) -> None:
        """Take at most a tenth off an entry: multiplicative updates hardly leave a neighbourhood of zero."""
        np.maximum(move, F * -0.1, out=move)

    def normalise(self, F: np.ndarray) -> np.ndarray:
        """Return F, of any scale."""
        return F

    def update(self, default: Update) -> Update:
        """Return the default."""
        return default


class UnitSum(NonNegative):
    """No entry below zero, and every column sums to one: components under a scale-invariant divergence.

    With a Kullback-Leibler fit the exact step inside this set is the multiplicative step, rescaled.
    """

    def project(self, F: np.ndarray) -> np.ndarray:
        """Clip and rescale F, in place."""
        return self.normalise(super().project(F))

    def multiplier(self, F: np.ndarray, gradient: Callable, groups: Sequence) -> np.ndarray:
        """``sum_i f_ia g_ia`` for column a: at a KKT point the gradient has this value wherever F is positive."""
        return sum(
            threads.total(lambda b, G=G: (F[b] * gradient(b, G)).sum(0, dtype=np.float64), blocks)
            for G, blocks in groups
        )

    def normalise(self, F: np.ndarray) -> np.ndarray:
        """Divide every column by its sum, in place; a column of zeros stays."""
        total = F.sum(0, dtype=np.float64)
        return np.divide(F, total.astype(F.dtype), out=F, where=total > np.finfo(F.dtype).tiny)

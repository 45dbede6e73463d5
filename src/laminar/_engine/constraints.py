"""What a factor may be: its projection, and what follows from it for a step."""

from __future__ import annotations

import numpy as np


class Free:
    """Any real matrix."""

    def project(self, F: np.ndarray) -> np.ndarray:
        """Return F as it is."""
        return F

    def step(self, F: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Return what is left of a move ``F - move`` after projecting."""
        return move

    def restrain(self, leap: np.ndarray, F: np.ndarray) -> None:
        """Let F leap as far as it likes."""

    def settle(self, F: np.ndarray) -> np.ndarray:
        """Return F, of any scale."""
        return F


class NonNegative:
    """No entry below zero."""

    def project(self, F: np.ndarray) -> np.ndarray:
        """Clip F at zero, in place."""
        return np.maximum(F, 0, out=F)

    def step(self, F: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Return what is left of a move ``F - move`` after projecting: nothing exactly at a KKT point."""
        return np.minimum(F, move)

    def restrain(self, leap: np.ndarray, F: np.ndarray) -> None:
        """Shorten a leap from F, in place, to take a tenth of an entry at most: few rules come back from near zero."""
        np.maximum(leap, F * -0.1, out=leap)

    def settle(self, F: np.ndarray) -> np.ndarray:
        """Return F, of any scale."""
        return F

    def growth(self, F: np.ndarray, term) -> np.ndarray | float:
        """Return what a multiplicative rule multiplies each column by at rest: one."""
        return 1.0


class UnitSum(NonNegative):
    """No entry below zero, and every column sums to one: the components of a scale-free divergence.

    Under a Kullback-Leibler fit the best step inside this constraint is the multiplicative step, rescaled.
    """

    def project(self, F: np.ndarray) -> np.ndarray:
        """Clip and rescale F, in place."""
        return self.settle(super().project(F))

    def settle(self, F: np.ndarray) -> np.ndarray:
        """Scale every column to sum one, in place; a column of zeros stays."""
        total = F.sum(0, dtype=np.float64)
        return np.divide(F, total.astype(F.dtype), out=F, where=total > np.finfo(F.dtype).tiny)

    def growth(self, F: np.ndarray, term) -> np.ndarray:
        """Return the sum each column would have after a step, had it been free: settling takes it back."""
        tiny = np.finfo(F.dtype).tiny
        parts = [(F[b], *term.split(b, F[b])) for b in term.blocks]
        return np.maximum(sum((f * minus / np.maximum(plus, tiny)).sum(0) for f, plus, minus in parts), tiny)

"""What a factor may be. A constraint is its projection, nothing else."""

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

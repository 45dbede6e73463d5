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


class NonNegative:
    """No entry below zero."""

    def project(self, F: np.ndarray) -> np.ndarray:
        """Clip F at zero, in place."""
        return np.maximum(F, 0, out=F)

    def step(self, F: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Return what is left of a move ``F - move`` after projecting: nothing exactly at a KKT point."""
        return np.minimum(F, move)

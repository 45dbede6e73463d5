"""Protocols that the parts of the engine share: a constraint on a factor, and an update of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np


class Constraint(Protocol):
    """The set that a factor lies in."""

    signed: bool
    """Whether entries below zero are allowed."""

    def project(self, F: np.ndarray) -> np.ndarray:
        """Return the point of the set next to F; F may be overwritten."""

    def step(self, F: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Return what is left of a move from F to ``F - move`` after projecting; zero exactly at a KKT point."""

    def multiplier(self, F: np.ndarray, gradient: Callable, groups: Sequence) -> np.ndarray | float:
        """Return the Lagrange multipliers of equality constraints, to be subtracted from the gradient."""

    def limit(self, move: np.ndarray, F: np.ndarray) -> None:
        """Shorten an extrapolation from F to ``F + move``, in place, to what an update can take back."""

    def normalise(self, F: np.ndarray) -> np.ndarray:
        """Return F in the scale that the constraint fixes, if any; F may be overwritten."""

    def update(self, default: Update) -> Update:
        """Return the update that suits the set: the given one, unless there is a better one."""


Update = Callable[[np.ndarray, Any, Constraint], np.ndarray]
"""``(F, objective, constraint) -> new F``, a pure function that does not increase the objective."""

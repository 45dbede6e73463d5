"""Sentences about parameters and data that cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_choice(name: str, value: Any, choices: tuple) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def check_positive(name: str, value: float | None) -> None:
    """Refuse a number that is neither None nor above zero."""
    if value is not None and not 0 < value < np.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {value!r}.")


def count_samples(X: Any) -> int:
    """Return the number of rows of whatever X is."""
    return X.shape[0] if hasattr(X, "shape") else len(X)

"""What stands between two layers: a function of every entry, its slope and its inverse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

Entrywise = Callable[[np.ndarray], np.ndarray]

_HEIGHT, _PACE = 1.7159, 2 / 3  # of the scaled tanh: its slope at 0 is near 1, and it maps -1 and 1 to themselves
_MARGIN = 1e-3  # how close to the edge of its open range an inverse is taken


@dataclass(frozen=True)
class Activation:
    """An entrywise function between two layers.

    Attributes
    ----------
    value, slope : callable
        The function and its derivative.
    inverse : callable
        What is mapped to a given value, which is first brought inside the range; the positive one of two.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.deep.nonlinear import ACTIVATIONS
    >>> square = ACTIVATIONS["square"]
    >>> A = np.array([-2.0, 0.5])
    >>> square.value(A), square.slope(A), square.inverse(np.array([4.0, -1.0]))
    (array([4.  , 0.25]), array([-4.,  1.]), array([2., 0.]))
    """

    value: Entrywise
    slope: Entrywise
    inverse: Entrywise


def _stanh_inverse(Y: np.ndarray) -> np.ndarray:
    return np.arctanh(np.clip(Y / _HEIGHT, _MARGIN - 1, 1 - _MARGIN)) / _PACE


def _softplus_inverse(Y: np.ndarray) -> np.ndarray:
    Y = np.maximum(Y, _MARGIN)
    return Y + np.log(-np.expm1(-Y))  # log(e^y - 1), for large y as well


ACTIVATIONS: dict[str, Activation] = {
    "identity": Activation(lambda A: A, np.ones_like, lambda Y: Y),
    "stanh": Activation(
        lambda A: _HEIGHT * np.tanh(_PACE * A),
        lambda A: _HEIGHT * _PACE * (1 - np.tanh(_PACE * A) ** 2),
        _stanh_inverse,
    ),
    "square": Activation(np.square, lambda A: 2 * A, lambda Y: np.sqrt(np.maximum(Y, 0))),
    "relu": Activation(lambda A: np.maximum(A, 0), lambda A: (A > 0).astype(A.dtype), lambda Y: np.maximum(Y, 0)),
    "softplus": Activation(lambda A: np.logaddexp(A, A.dtype.type(0)), expit, _softplus_inverse),
    "sigmoid": Activation(expit, lambda A: expit(A) * expit(-A), lambda Y: logit(np.clip(Y, _MARGIN, 1 - _MARGIN))),
}


def activation_named(name: str) -> Activation:
    """The activation of this name."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {name!r}.")
    return ACTIVATIONS[name]

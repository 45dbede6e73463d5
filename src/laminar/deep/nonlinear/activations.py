"""Activations between two layers: entrywise functions with derivative and inverse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

Entrywise = Callable[[np.ndarray], np.ndarray]

# Scaled tanh a tanh(b x), with f(1) = 1 and f(-1) = -1: LeCun, Bottou, Orr and Mueller, Efficient BackProp, 1998.
_A, _B = 1.7159, 2 / 3
_MARGIN = 1e-3  # distance from the bounds of an open range to which values are clipped before they are inverted


@dataclass(frozen=True)
class Activation:
    """Entrywise function between two layers, with its derivative and its inverse.

    Attributes
    ----------
    value, slope : callable
        The function and its derivative.
    inverse : callable
        The inverse, of values clipped to the range; the positive one of two.

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
    return np.arctanh(np.clip(Y / _A, _MARGIN - 1, 1 - _MARGIN)) / _B


def _softplus_inverse(Y: np.ndarray) -> np.ndarray:
    Y = np.maximum(Y, _MARGIN)
    return Y + np.log(-np.expm1(-Y))  # log(e^y - 1), for large y as well


ACTIVATIONS: dict[str, Activation] = {
    "identity": Activation(lambda A: A, np.ones_like, lambda Y: Y),
    "stanh": Activation(
        lambda A: _A * np.tanh(_B * A),
        lambda A: _A * _B * (1 - np.tanh(_B * A) ** 2),
        _stanh_inverse,
    ),
    "square": Activation(np.square, lambda A: 2 * A, lambda Y: np.sqrt(np.maximum(Y, 0))),
    "relu": Activation(lambda A: np.maximum(A, 0), lambda A: (A > 0).astype(A.dtype), lambda Y: np.maximum(Y, 0)),
    "softplus": Activation(lambda A: np.logaddexp(A, A.dtype.type(0)), expit, _softplus_inverse),
    "sigmoid": Activation(expit, lambda A: expit(A) * expit(-A), lambda Y: logit(np.clip(Y, _MARGIN, 1 - _MARGIN))),
}


def activation_named(name: str) -> Activation:
    """Return the activation of a name, or raise a ValueError with all names."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {name!r}.")
    return ACTIVATIONS[name]

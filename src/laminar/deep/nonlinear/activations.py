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

    Parameters
    ----------
    value : callable
        The function, of an array.
    slope : callable
        Its derivative.
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

    def _to_file(self) -> dict[str, str]:
        """Return what a model file holds of it: its name."""
        for name, activation in ACTIVATIONS.items():
            if self in (activation, Rectified.of(activation)):
                return {"name": name}
        raise TypeError(
            f"an Activation of functions of your own cannot be saved, since a model file holds no code: use one of "
            f"{', '.join(ACTIVATIONS)}, or pickle for what you trust."
        )

    @classmethod
    def _from_file(cls, name: str) -> Activation:
        """Return the activation of a name."""
        return as_activation(name)


def _stanh_inverse(Y: np.ndarray) -> np.ndarray:
    return np.arctanh(np.clip(Y / _A, _MARGIN - 1, 1 - _MARGIN)) / _B


def _softplus_inverse(Y: np.ndarray) -> np.ndarray:
    Y = np.maximum(Y, _MARGIN)
    return Y + np.log(-np.expm1(-Y))  # log(e^y - 1), for large y as well


def _identity(A: np.ndarray) -> np.ndarray:
    return A


def _stanh(A: np.ndarray) -> np.ndarray:
    return _A * np.tanh(_B * A)


def _stanh_slope(A: np.ndarray) -> np.ndarray:
    return _A * _B * (1 - np.tanh(_B * A) ** 2)


def _twice(A: np.ndarray) -> np.ndarray:
    return 2 * A


def _root(Y: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(Y, 0))


def _positive_part(A: np.ndarray) -> np.ndarray:
    return np.maximum(A, 0)


def _is_positive(A: np.ndarray) -> np.ndarray:
    return (A > 0).astype(A.dtype)


def _softplus(A: np.ndarray) -> np.ndarray:
    return np.logaddexp(A, A.dtype.type(0))


def _sigmoid_slope(A: np.ndarray) -> np.ndarray:
    return expit(A) * expit(-A)


def _sigmoid_inverse(Y: np.ndarray) -> np.ndarray:
    return logit(np.clip(Y, _MARGIN, 1 - _MARGIN))


# Functions with names, so that a model that holds one can be pickled.
ACTIVATIONS: dict[str, Activation] = {
    "identity": Activation(_identity, np.ones_like, _identity),
    "stanh": Activation(_stanh, _stanh_slope, _stanh_inverse),
    "square": Activation(np.square, _twice, _root),
    "relu": Activation(_positive_part, _is_positive, _positive_part),
    "softplus": Activation(_softplus, expit, _softplus_inverse),
    "sigmoid": Activation(expit, _sigmoid_slope, _sigmoid_inverse),
}


def as_activation(activation: str | Activation) -> Activation:
    """Return an activation as it is, or that of a name; an error lists the names.

    Examples
    --------
    >>> as_activation("square").value(np.array([3.0]))
    array([9.])
    """
    if isinstance(activation, Activation):
        return activation
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"activation must be one of {', '.join(ACTIVATIONS)}, or an Activation(value, slope, inverse); got "
            f"{activation!r}."
        )
    return ACTIVATIONS[activation]


@dataclass(frozen=True)
class Rectified(Activation):
    """``max(0, g)``: layers below it are non-negative, as eq. 8 and 15 of Trigeorgis et al. require of all layers.

    Examples
    --------
    >>> g = Rectified.of("stanh")
    >>> g.value(np.array([-1.0, 1.5])).round(3), g.slope(np.array([-1.0, 1.5])).round(3)
    (array([0.   , 1.307]), array([0.  , 0.48]))
    """

    @classmethod
    def of(cls, activation: str | Activation) -> Rectified:
        """Return the rectified form of an activation."""
        g = as_activation(activation)
        return cls(_Clipped(g.value), _SlopeWhere(g), _OfClipped(g.inverse))

    @classmethod
    def _from_file(cls, name: str) -> Rectified:
        """Return the rectified form of the activation of a name."""
        return cls.of(name)


@dataclass(frozen=True)
class _Clipped:
    """``max(0, f(A))``; a class, so that a model can be pickled."""

    f: Entrywise

    def __call__(self, A: np.ndarray) -> np.ndarray:
        return np.maximum(self.f(A), 0)


@dataclass(frozen=True)
class _OfClipped:
    """``f(max(0, Y))``."""

    f: Entrywise

    def __call__(self, Y: np.ndarray) -> np.ndarray:
        return self.f(np.maximum(Y, 0))


@dataclass(frozen=True)
class _SlopeWhere:
    """``g'(A)`` where g(A) is positive, else 0."""

    g: Activation

    def __call__(self, A: np.ndarray) -> np.ndarray:
        return self.g.slope(A) * (self.g.value(A) > 0)

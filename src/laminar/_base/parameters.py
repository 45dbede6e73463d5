"""Parameters that have no effect are refused, not ignored."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from sklearn.base import BaseEstimator


def refuse_unused(estimator: BaseEstimator, names: Sequence[str], why: str) -> None:
    """Raise a ValueError for the first of these parameters that differs from its default, as it has no effect.

    Examples
    --------
    >>> from laminar import NMF
    >>> refuse_unused(NMF(eta=0.5), ["eta"], "there is nothing to multiply")
    Traceback (most recent call last):
        ...
    ValueError: eta=0.5 has no effect here: there is nothing to multiply. Leave it at eta=None.
    """
    signature = inspect.signature(type(estimator).__init__).parameters
    for name in names:
        value, default = getattr(estimator, name), signature[name].default
        if not (value is default or (isinstance(value, str | int | float) and value == default)):
            raise ValueError(f"{name}={value!r} has no effect here: {why}. Leave it at {name}={default!r}.")

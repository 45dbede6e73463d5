"""Kinds of values: what an attribute that is read from a file must be, before anything computes with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Kind:
    """A set of values: its name in errors, and whether a value is in it."""

    name: str
    holds: Callable[[Any], bool]


def class_name(cls: type) -> str:
    """Return module and name of a class.

    Examples
    --------
    >>> class_name(Kind)
    'laminar._persistence.kinds.Kind'
    """
    return f"{cls.__module__}.{cls.__qualname__}"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_array(value: Any, ndim: int, types: str) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == ndim and value.dtype.kind in types


def _is_finite(value: np.ndarray) -> bool:
    # The sum is finite unless an entry is not, or it overflows: no mask as large as the array.
    with np.errstate(all="ignore"):
        return bool(np.isfinite(value.sum(dtype=np.float64))) or bool(np.isfinite(value).all())


ANY = Kind("a value", lambda value: True)
FLAG = Kind("true or false", lambda value: isinstance(value, bool | np.bool_))
INTEGER = Kind("a whole number", lambda value: isinstance(value, Integral) and not isinstance(value, bool))
COUNT = Kind("a whole number of 0 or more", lambda value: INTEGER.holds(value) and value >= 0)
SIZE = Kind("a whole number of 1 or more", lambda value: INTEGER.holds(value) and value >= 1)
NUMBER = Kind("a number", _is_number)
FINITE = Kind("a finite number", lambda value: _is_number(value) and bool(np.isfinite(value)))
TEXT = Kind("text", lambda value: isinstance(value, str))
NAME = Kind("a name", lambda value: value is None or isinstance(value, str | Integral | Real | tuple))
VECTOR = Kind("a vector of finite numbers", lambda value: _is_array(value, 1, "f") and _is_finite(value))
MATRIX = Kind("a matrix of finite numbers", lambda value: _is_array(value, 2, "f") and _is_finite(value))
NUMBERS = Kind("a vector of numbers", lambda value: _is_array(value, 1, "fiu"))
INTEGERS = Kind("a vector of whole numbers", lambda value: _is_array(value, 1, "iu"))
FLAGS = Kind("an array of true and false", lambda value: isinstance(value, np.ndarray) and value.dtype.kind == "b")
NAMES = Kind(
    "a vector of text", lambda value: _is_array(value, 1, "OU") and all(isinstance(name, str) for name in value)
)
LABELS = Kind("a vector of labels", lambda value: _is_array(value, 1, "biufUO"))
SPARSE = Kind("a sparse matrix", sp.issparse)


def one_of(*words: str) -> Kind:
    """Return some words."""
    return Kind(f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words)


def optional(kind: Kind) -> Kind:
    """Return the kind with None added."""
    return Kind(f"{kind.name}, or nothing", lambda value: value is None or kind.holds(value))


def either(*kinds: Kind) -> Kind:
    """Return the values of any of some kinds."""
    return Kind(" or ".join(kind.name for kind in kinds), lambda value: any(kind.holds(value) for kind in kinds))


def list_of(kind: Kind) -> Kind:
    """Return lists and tuples of values of a kind."""
    holds = kind.holds
    return Kind(f"a list of {kind.name}", lambda value: isinstance(value, list | tuple) and all(map(holds, value)))


def dict_of(kind: Kind, keys: Kind = NAME) -> Kind:
    """Return dicts with values, and keys, of a kind."""
    return Kind(
        f"a dict of {kind.name}",
        lambda value: isinstance(value, dict) and all(map(keys.holds, value)) and all(map(kind.holds, value.values())),
    )


def made(*names: str) -> Kind:
    """Return the objects of some classes, given by module and name."""
    short = " or ".join(name.rpartition(".")[2] for name in names)
    return Kind(short, lambda value: class_name(type(value)) in names)


def check_state(name: str, state: dict[str, Any], kinds: dict[str, Kind]) -> None:
    """Raise an error unless a state has all attributes of a class, no others, and each is of its kind."""
    short = name.rpartition(".")[2]
    required = {attribute for attribute in kinds if not attribute.endswith("?")}
    by_name = {attribute.rstrip("?"): kind for attribute, kind in kinds.items()}
    missing, unknown = sorted(required - set(state)), sorted(set(state) - set(by_name))
    if missing or unknown:
        problem = f"lacks {missing[0]!r}" if missing else f"has {unknown[0]!r}, which is unknown"
        raise ValueError(f"the state of {short} {problem}")
    for attribute, value in state.items():
        if not by_name[attribute].holds(value):
            raise ValueError(f"{attribute} of {short} is not {by_name[attribute].name}")

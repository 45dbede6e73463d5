"""JSON as model files hold it: no key twice, no NaN, nesting bounded before the parser descends."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

MAX_DEPTH = 64  # of brackets; a parser that descends further could exhaust the stack

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def dump(value: Any) -> str:
    """Return JSON text, with keys in their order, which may have a meaning; NaN and infinity are refused.

    Examples
    --------
    >>> dump({"b": [1, None], "a": "x"})
    '{"b":[1,null],"a":"x"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    _check_depth(text)
    return text


def parse(text: str) -> Any:
    """Return the value of JSON text; raise a ValueError for what `dump` does not write.

    Examples
    --------
    >>> parse('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' is there twice
    >>> parse("[" * 1000)
    Traceback (most recent call last):
    ValueError: brackets are nested 1000 deep, more than 64
    """
    _check_depth(text)
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)


def _check_depth(text: str) -> None:
    brackets = "".join(_BRACKET.findall(_STRING.sub("", text)))
    codes = np.frombuffer(brackets.encode(), np.uint8)
    steps = np.where((codes == ord("[")) | (codes == ord("{")), 1, -1)
    depth = int(np.cumsum(steps).max(initial=0))
    if depth > MAX_DEPTH:
        raise ValueError(f"brackets are nested {depth} deep, more than {MAX_DEPTH}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not np.isfinite(number):
        raise ValueError(f"the number {digits} is out of range")
    return number

"""What requests hold, checked: every field with its type, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from .errors import Refused


def fields(body: bytes, content_type: str, **kinds: type | tuple[type, ...]) -> dict[str, Any]:
    """Return the fields of a JSON object.

    Parameters
    ----------
    body : bytes
        Body of the request.
    content_type : str
        Its header Content-Type: a form of another site cannot send JSON without a request for permission.
    **kinds : type or tuple of type
        Fields that it must have, with the types of their values.

    Returns
    -------
    dict
        The fields.

    Examples
    --------
    >>> fields(b'{"version": 3}', "application/json", version=int)
    {'version': 3}
    >>> fields(b'{"version": true}', "application/json", version=int)
    Traceback (most recent call last):
    laminar.studio.errors.Refused: "version" is true or false and not a whole number.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise Refused("The request is not JSON (Content-Type: application/json).", 415)
    try:
        found = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refused("The request is not valid JSON.", 400) from None
    if not isinstance(found, dict):
        raise Refused("The request is not a JSON object.", 400)
    for name, kind in kinds.items():
        if name not in found:
            raise Refused(f'The request has no "{name}".', 400)
        _check(name, found[name], kind if isinstance(kind, tuple) else (kind,))
    unknown = sorted(set(found) - set(kinds))
    if unknown:
        raise Refused(f"The request has a field {unknown[0][:40]!r}, which it should not have.", 400)
    return found


def texts(name: str, values: list, limit: int) -> list[str]:
    """Return a list of texts, at most so many."""
    if len(values) > limit:
        raise Refused(f'"{name}" has {len(values)} entries, more than there are samples.')
    for value in values:
        _check(name, value, (str,))
    return values


_NAMES = {str: "text", int: "a whole number", bool: "true or false", list: "a list", type(None): "null"}


def _check(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if type(value) not in kinds:  # exactly: True is an int otherwise
        found = _NAMES.get(type(value), type(value).__name__)
        needed = " or ".join(_NAMES[kind] for kind in kinds)
        raise Refused(f'"{name}" is {found} and not {needed}.')


def _refuse_constant(text: str) -> None:
    raise ValueError(text)

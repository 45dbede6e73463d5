"""Nodes of a model file as text and plain values, for people to read; no class is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .encode import Node

Shapes = Mapping[str, tuple[str, tuple[int, ...]]]


class Shown(str):
    """Text that stands for an object, and is shown without quotes inside of others."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def describe(node: Node, tensors: Shapes) -> Any:
    """Return a node as a plain value, or as text where it is an array or an object.

    Examples
    --------
    >>> describe({"kind": "tuple", "items": [1, {"kind": "array", "tensor": "H"}]}, {"H": ("F64", (3, 2))})
    (1, array F64 (3, 2))
    """
    if isinstance(node, list):
        return [describe(item, tensors) for item in node]
    if not isinstance(node, dict):
        return node
    kind, items = node.get("kind"), node.get("items")
    if kind == "tuple" and isinstance(items, list):
        return tuple(describe(item, tensors) for item in items)
    if kind == "dict" and isinstance(items, dict):
        return {key: describe(item, tensors) for key, item in items.items()}
    if kind in ("scalar", "float", "path"):
        return describe(node.get("value"), tensors)
    if kind == "array":
        dtype, shape = tensors.get(str(node.get("tensor")), ("?", ()))
        return Shown(f"array {dtype} {shape}")
    if kind in ("object", "estimator"):
        return _call(node, tensors)
    return Shown(kind)


def _call(node: dict[str, Node], tensors: Shapes) -> Shown:
    """Return an object as its constructor would be called."""
    parts = node.get("parameters", node.get("state"))
    arguments = parts.items() if isinstance(parts, dict) else ()
    text = ", ".join(f"{name}={describe(value, tensors)!r}" for name, value in arguments)
    return Shown(f"{str(node.get('class')).rpartition('.')[2]}({text})")

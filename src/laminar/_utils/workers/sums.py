"""Sums over blocks in one order, whichever of them are together: over a fixed binary tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Range = tuple[int, int]


def partial_sums(n: int, parts: Mapping[Range, Any]) -> dict[Range, Any]:
    """Add up neighbouring parts of ``range(n)`` as far as they complete nodes of the tree.

    Parameters
    ----------
    n : int
        Number of blocks.
    parts : mapping from (first, last + 1) to values
        Sums over nodes of the tree, single blocks among them.

    Returns
    -------
    dict
        Sums over the largest nodes that the parts complete; ``(0, n)`` once all are there.

    Examples
    --------
    >>> partial_sums(4, {(0, 1): 1.0, (1, 2): 2.0, (2, 3): 4.0})
    {(0, 2): 3.0, (2, 3): 4.0}
    >>> partial_sums(4, {(0, 2): 3.0, (2, 3): 4.0, (3, 4): 8.0})
    {(0, 4): 15.0}
    """
    return _within(0, n, parts)


def _within(first: int, last: int, parts: Mapping[Range, Any]) -> dict[Range, Any]:
    if (first, last) in parts:
        return {(first, last): parts[first, last]}
    if last - first <= 1:
        return {}
    middle = first + (1 << (last - first - 1).bit_length() - 1)
    left, right = _within(first, middle, parts), _within(middle, last, parts)
    if (first, middle) in left and (middle, last) in right:
        return {(first, last): left[first, middle] + right[middle, last]}
    return {**left, **right}

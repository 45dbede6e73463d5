"""Functions of numpy for arrays on a device: those that a fit calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np


def _first(*values: Any) -> Any:
    """Return the first array that is on a device."""
    return next(x for x in values if hasattr(x, "to_host"))


def _where(condition: Any, a: Any, b: Any) -> Any:
    F = _first(condition, a, b)
    weak = [type(x)(0) if type(x) in (int, float) else np.empty(0, x.dtype) for x in (a, b)]
    dtype = np.result_type(*weak)
    return F.like(F.device.xp.where(F.raw(condition), F.raw(a, dtype), F.raw(b, dtype)))


def _einsum(subscripts: str, A: Any, B: Any, dtype: Any = None) -> Any:
    """Sum ``A * B`` over the rows, the columns or both."""
    axis = {"ij,ij->j": 0, "ij,ij->i": 1, "ij,ij->": None}[subscripts]
    F, dtype = _first(A, B), np.result_type(A.dtype, B.dtype) if dtype is None else dtype
    return F.like(F.raw(A, dtype) * F.raw(B, dtype)).sum(axis)


def _vdot(A: Any, B: Any) -> float:
    return (A * B).sum()


def _norm(F: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    squares = (F * F).reduced("sum", axis, keepdims=keepdims)
    return np.sqrt(squares)


def _filled(value: float) -> Callable:
    def like(F: Any, dtype: Any = None) -> Any:
        xp, dtype = F.device.xp, F.dtype if dtype is None else dtype
        return F.like(xp.full(F.shape, value, dtype=F.device.dtype(dtype), device=F.device.name))

    return like


def _hstack(parts: Sequence[Any]) -> Any:
    F = _first(*parts)
    dtype = np.result_type(*(part.dtype for part in parts))
    return F.like(F.device.xp.concat([F.raw(part, dtype) for part in parts], axis=1))


def _split(F: Any, edges: Sequence[int], axis: int) -> list:
    if axis != 1:
        return NotImplemented
    cuts = [0, *map(int, edges), F.shape[1]]
    return [F[:, a:b] for a, b in pairwise(cuts)]


FUNCTIONS: dict[Callable, Callable] = {
    np.where: _where,
    np.einsum: _einsum,
    np.vdot: _vdot,
    np.linalg.norm: _norm,
    np.zeros_like: _filled(0),
    np.ones_like: _filled(1),
    np.empty_like: _filled(0),
    np.hstack: _hstack,
    np.split: _split,
    np.flatnonzero: lambda F: np.flatnonzero(F.to_host()),
    np.atleast_2d: lambda F: F,
    np.shape: lambda F: F.shape,
    np.ndim: lambda F: F.ndim,
}
"""By the function of numpy; sums over the samples come back as numpy's."""

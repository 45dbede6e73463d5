"""Kernels by where their arrays are: compiled for those in memory, array operations for those on a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..._utils.device.array import DeviceArray
from . import elementwise, kernels, on_device


def _by_place(compiled: Callable, by_arrays: Callable) -> Callable:
    @wraps(by_arrays)
    def run(*arguments: Any) -> Any:
        is_there = any(isinstance(argument, DeviceArray) for argument in arguments)
        return (by_arrays if is_there else compiled)(*arguments)

    return run


hals = _by_place(kernels.hals, on_device.hals)
multiply = _by_place(elementwise.multiply, on_device.multiply)
by_sign = _by_place(elementwise.by_sign, on_device.by_sign)
class_sums = _by_place(elementwise.class_sums, on_device.class_sums)
class_rest = _by_place(elementwise.class_rest, on_device.class_rest)

"""`DevicePlace`: a device as the place of all tall arrays of a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import threads
from ..place import Place
from .namespaces import Device

TIMES = 256  # the rows of a slice that stays in the cache of a processor: temporaries of some 250 MB


class DeviceBlocks(threads.Elsewhere):
    """Rows on a device in few slices, one after the other: it is parallel by itself."""

    def __init__(self, workers: DevicePlace, size: int | None):
        self.workers = workers
        n = workers.n_rows
        step = max(n, 1) if size is None else -(-size * TIMES // threads.TILE) * threads.TILE
        self.slices = [slice(a, min(a + step, n)) for a in range(0, n, step)]

    def each(self, work: Callable) -> list:
        """Run ``work(b)`` for every slice."""
        return [work(b) for b in self.slices]

    def total(self, work: Callable) -> Any:
        """Return the sum of the results."""
        return sum(self.each(work))


class DevicePlace(Place):
    """Arrays of some number of rows on a device.

    Parameters
    ----------
    device : Device
        The device.
    n_rows : int
        Number of rows.
    wrapped : callable
        Makes an array of this place of one of the library.
    """

    def __init__(self, device: Device, n_rows: int, wrapped: Callable[[Any, Device], Any]):
        self.device, self.n_rows, self._wrapped = device, n_rows, wrapped

    def blocks(self, size: int | None) -> DeviceBlocks:
        """Return the rows in slices of some hundred times this size; None is one slice."""
        return DeviceBlocks(self, size)

    def empty(self, width: tuple[int, ...], dtype) -> Any:
        """Return an array of any values, with rows of this shape."""
        device = self.device
        shape = (self.n_rows, *width)
        return self._wrapped(device.xp.empty(shape, dtype=device.dtype(dtype), device=device.name), device)

    def put(self, rows: np.ndarray | Callable[[slice], np.ndarray], width: tuple[int, ...], dtype) -> Any:
        """Send an array, or a function that gives its rows, to the device."""
        array = rows(slice(0, self.n_rows)) if callable(rows) else rows
        return self._wrapped(self.device.send(np.asarray(array, dtype), copy=True), self.device)

"""What holds tall arrays outside of this process's memory: the contract of workers and devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from .threads import Elsewhere


class Place(ABC):
    """Holds the rows of all tall arrays of a fit, and runs functions of slices of them."""

    n_rows: int
    """Number of samples."""

    @abstractmethod
    def blocks(self, size: int | None) -> Elsewhere:
        """Return the rows in slices of about this size; None is as few slices as there can be."""

    @abstractmethod
    def empty(self, width: tuple[int, ...], dtype) -> Any:
        """Return an array of any values, with rows of this shape."""

    @abstractmethod
    def put(self, rows: np.ndarray | Callable[[slice], np.ndarray], width: tuple[int, ...], dtype) -> Any:
        """Send an array, or a function that gives its rows in their order, to the place."""


class PlacedArray(ABC):
    """An array of one row a sample, in a place."""

    shape: tuple[int, ...]
    dtype: np.dtype

    workers: Any
    """The `Place` that holds it."""

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))

    def blocks(self, size: int | None = None) -> Elsewhere:
        """Return the rows in slices of about this size; None is as few slices as there can be."""
        return self.workers.blocks(size)

    @abstractmethod
    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some rows in this process, by increasing indices."""

    @abstractmethod
    def to_host(self) -> np.ndarray:
        """Return all rows in this process."""

    @abstractmethod
    def astype(self, dtype, copy: bool = True, **keywords) -> Any:
        """Return the array in another type."""

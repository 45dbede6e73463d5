"""X on the workers of a cluster: functions of a block are run where it is, and sums of their results come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._utils.workers.array import DistributedArray
from .by_blocks import ByBlocks, Value
from .dense import Dense


class Remote(ByBlocks):
    """A distributed array in unit scale."""

    def __init__(self, X: DistributedArray):
        super().__init__((X.shape[0], X.shape[1]), X.dtype, X.extent)
        self.base: Any = X
        self.holders = X.workers

    @property
    def has_gram(self) -> bool:  # type: ignore[override]
        """Whether `gram` is implemented: that of the samples, on workers, is not."""
        return not self.flipped

    def every(self, step: int, first: int = 0) -> Dense:
        """Return every step-th row in this process, in the same unit: for few of them."""
        return Dense(self.base[first::step], self.scale)

    def _read(self, b: slice) -> np.ndarray:
        return self.base[b]

    def _sum(self, of_block: Callable[[slice, Dense], Value]) -> Value:
        base, scale = self.base, self.scale
        return self.base.blocks().total(lambda b: of_block(b, Dense(base[b], scale)))

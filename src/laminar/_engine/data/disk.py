"""X on disk: each block is read once in a pass, and the next one while it is multiplied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

import numpy as np

from ..._utils.stored import Stored
from .by_blocks import ByBlocks, Value
from .dense import Dense


class Disk(ByBlocks):
    """A `Stored` array in unit scale; the rows of a product are needed in order."""

    def __init__(self, X: Stored):
        super().__init__(X.shape, X.dtype, X.extent)
        self.source = X
        self._edges = [b.start for b in X.blocks]

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b in unit scale; those of the transpose need a pass over the file."""
        if not self.flipped:
            return self.source.read(b) / self.dtype.type(self.scale)
        return np.hstack([part.base[:, b].T for _, part in self._pass()]) / self.dtype.type(self.scale)

    def every(self, step: int, first: int = 0) -> Dense:
        """Return every step-th row in memory, in the same unit: for few of them."""
        return Dense(self.source.read(slice(first, None, step)), self.scale)

    def gram(self) -> np.ndarray:
        """Return ``X^T X`` in unit scale, in double precision; of the transpose for few samples."""
        if not self.flipped:
            return super().gram()
        out = np.empty((self.shape[1],) * 2)
        for b in self.source.blocks:
            left = self.source.read(b).astype(np.float64) / self.scale
            for at, part in self._pass():
                out[b, at] = left @ (part.base.astype(np.float64) / self.scale).T
        return out

    def _read(self, b: slice) -> np.ndarray:
        """Return rows of one block as they are, or of several joined."""
        parts = list(self._parts_of(b))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _parts_of(self, b: slice) -> Iterator[np.ndarray]:
        """Yield the rows of a slice by the blocks they are in."""
        start = b.start
        while start < b.stop:
            i = bisect_right(self._edges, start) - 1
            block = self.source.blocks[i]
            stop = min(b.stop, block.stop)
            yield self.source.block(i)[start - block.start : stop - block.start]
            start = stop

    def _pass(self) -> Iterator[tuple[slice, Dense]]:
        for i, b in enumerate(self.source.blocks):
            yield b, Dense(self.source.block(i), self.scale)

    def _sum(self, of_block: Callable[[slice, Dense], Value]) -> Value:
        parts = (of_block(b, part) for b, part in self._pass())
        total = next(parts)
        for part in parts:
            total += part
        return total

"""The Kullback-Leibler divergence as a function of one factor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data.matrix import Matrix
from .majoriser import Groups, Majoriser, SplitRows
from .squared import ROUNDING


@dataclass(frozen=True)
class KL:
    """``D(X || F M^T) = sum x log(x / y) - x + y`` with ``y = F M^T``, evaluated only where X is not zero.

    By Jensen's inequality it is at most ``<s, F> - <F0 * R, log F>`` plus a constant, with the sums ``s = M^T 1`` and
    the ratio ``R = (X / (F0 M^T)) M``. The minimiser of that is Lee and Seung's update ``F0 * R / s`` (docs/methods.md
    4.4).

    Attributes
    ----------
    data : Matrix of shape (n, p)
        X, in unit scale.
    other : ndarray of shape (p, k)
        M.
    """

    data: Matrix
    other: np.ndarray

    exact = False
    degree = 1
    evaluate_every = 10  # sweeps: a value costs as much as a sweep
    positive_start = True  # its updates multiply: an exact zero stays

    @classmethod
    def of(cls, data: Matrix, other: np.ndarray) -> KL:
        """Return the term of X and the other factor M."""
        return cls(data, other)

    @property
    def groups(self) -> Groups:
        """The rows, cut for the threads and the cache."""
        return [self.data.ratio_blocks(self.other.shape[1])]

    @property
    def row_cost(self) -> float:
        """Stored entries of a row of X."""
        return self.data.entries_per_row

    @property
    def size(self) -> float:
        """Sum of X."""
        return self.data.total

    @cached_property
    def sums(self) -> np.ndarray:
        """s: the sum of each component."""
        return self.other.sum(0, dtype=np.float64).astype(self.other.dtype)

    def cached(self) -> KL:
        """Return the term itself: all of its majoriser depends on F."""
        return self

    def value(self, F: np.ndarray) -> float:
        """Return the divergence."""
        return self.data.divergence(F, self.other)

    def rounding_error(self, value: float) -> float:
        """Return the largest change of a value that rounding can cause."""
        return ROUNDING * float(np.finfo(self.data.dtype).eps) * abs(self.size)

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return ``B = -s`` and the ratio R."""
        ratio = self.data.ratio_times(self.other)
        return Majoriser(lambda b: -self.sums, ratio=lambda b: ratio(b, F[b]))

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return the sums s, one row for all, and the ratio R."""
        ratio = self.data.ratio_times(self.other)
        return lambda b: (self.sums, ratio(b, F[b]))

"""What is minimised: products of named factors that fit data, and what each factor may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .constraints import Free, NonNegative
from .data import Matrix
from .terms import KL, Quad

Factors = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Chain:
    """``data ~ F[left] @ F[right].T`` under a loss (see `terms` for why the right factor is transposed)."""

    data: Matrix
    left: str = "H"
    right: str = "Z"
    loss: str = "frobenius"

    def term(self, name: str, F: Factors) -> Quad | KL:
        """The loss as factor ``name`` sees it."""
        is_left = name == self.left
        data = self.data if is_left else self.data.T
        other = F[self.right if is_left else self.left]
        if self.loss == "kl":
            return KL(data, other)
        fit = Quad.fit(data, other)
        # The right factor's term also gives the objective, so its linear part is kept; the left one's is as tall
        # as the data and lives one block at a time.
        return fit if is_left else fit.materialized(F[name].shape, F[name].dtype)


@dataclass(frozen=True)
class Problem:
    """A chain and the constraint of each of its factors, in the order in which they are updated."""

    chain: Chain
    constraints: Mapping[str, Free | NonNegative] = field(default_factory=dict)

    @property
    def order(self) -> tuple[str, ...]:
        """Factors that move, in order."""
        return tuple(self.constraints)

    @property
    def noise(self) -> float:
        """Differences of the objective smaller than this are rounding."""
        data = self.chain.data
        size = data.total if self.chain.loss == "kl" else data.sqnorm
        return 8 * float(np.finfo(data.dtype).eps) * abs(size)

    def term(self, name: str, F: Factors) -> Quad | KL:
        """The objective as factor ``name`` sees it."""
        return self.chain.term(name, F)

    def value(self, F: Factors) -> float:
        """The objective: ``1/2 ||X - H Z||^2`` or the divergence, in unit scale."""
        chain = self.chain
        value = self.term(chain.right, F).value(F[chain.right])
        if chain.loss == "frobenius" and value <= 1e3 * self.noise:
            return chain.data.distance(F[chain.left], F[chain.right]) / 2
        return value

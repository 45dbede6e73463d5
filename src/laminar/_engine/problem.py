"""What is minimised: products of named factors that fit data, and what each factor may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .constraints import Free, NonNegative
from .data.matrix import Matrix
from .penalties import Penalty
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
        return replace(Quad.fit(data, other), direct=lambda F: data.distance(F, other) / 2)


@dataclass(frozen=True)
class Problem:
    """A chain, the constraints of its factors in the order of their updates, and a penalty on the left one."""

    chain: Chain
    constraints: Mapping[str, Free | NonNegative] = field(default_factory=dict)
    penalty: Penalty | None = None

    @property
    def order(self) -> tuple[str, ...]:
        """Factors that move, in order."""
        return tuple(self.constraints)

    def term(self, name: str, F: Factors) -> Quad | KL:
        """The objective as factor ``name`` sees it."""
        term, chain = self.chain.term(name, F), self.chain
        if isinstance(term, Quad) and len(self.order) > 1 and name == self.order[-1]:
            # The last term also gives the objective, so its linear part is kept. That of codes would be as tall as the
            # data: they come first, and theirs lives one block at a time.
            term = term.remembered()
        if self.penalty is None:
            return term
        if isinstance(term, Quad):
            term = replace(term, direct=None)  # which does not know the penalty
        if name == chain.left:
            return self.penalty.on_codes(term, F[chain.right])
        return self.penalty.on_components(term, F[chain.left])

    def value(self, F: Factors) -> float:
        """The objective: ``1/2 ||X - H Z||^2`` or the divergence, in unit scale, and the penalty."""
        chain = self.chain
        left, right = F[chain.left], F[chain.right]
        value = chain.term(chain.right, F).value(right)
        return value if self.penalty is None else value + self.penalty.value(left, right)

"""Stacks whose hidden layers are variables: ``sum_i mu_i ||H_{i-1} - H_i Z_i||^2`` with every H_i non-negative.

Written like that the upper terms vanish as hidden codes shrink and weights grow. Each column of H_{i-1} is therefore
charged with the squared length of what it stands for in X, ``s_{i-1}``, so that no change of scale is worth anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._engine.constraints import Free, NonNegative
from .._engine.data.matrix import Matrix
from .._engine.penalties import Operator
from .._engine.terms import Pull, Quad, gram_of
from .._utils import threads

Factors = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Coupled:
    """The problem of all layers at once; factors are ``H1 .. Hm`` and ``Z1 .. Zm``, the latter transposed.

    Attributes
    ----------
    data : Matrix
        X.
    depth : int
        Number of layers.
    coupling : float
        Weight mu of every layer above the first.
    graphs : sequence of (float, Operator) or None
        A penalty ``weight / 2 sum_a s_a h_a^T L h_a`` on the codes of each layer.
    """

    data: Matrix
    depth: int
    coupling: float
    graphs: Sequence[tuple[float, Operator] | None]

    @property
    def order(self) -> tuple[str, ...]:
        """From the top down; Z1 last, for everything above is in its ridge and its term gives the whole objective."""
        layers = range(self.depth, 0, -1)
        return (*(f"H{i}" for i in layers), *(f"Z{i}" for i in layers))

    @cached_property
    def constraints(self) -> dict:
        """Codes are non-negative, weights free."""
        return {name: NonNegative() if name[0] == "H" else Free() for name in self.order}

    def value(self, F: Factors) -> float:
        """The objective."""
        return self.term("Z1", F).value(F["Z1"])

    def term(self, name: str, F: Factors) -> Quad:
        """The objective as one factor sees it."""
        i = int(name[1:])
        return self._codes(i, F) if name[0] == "H" else self._weights(i, F)

    def _mu(self, i: int) -> float:
        return 1.0 if i == 1 else self.coupling

    def _lengths(self, i: int, F: Factors) -> np.ndarray | None:
        """Squared length of what each column of H_i stands for; None for X itself."""
        s = None
        for j in range(1, i + 1):
            Z2 = F[f"Z{j}"].astype(np.float64) ** 2
            s = Z2.sum(0) if s is None else s @ Z2
        return s

    def _load(self, i: int, F: Factors) -> np.ndarray:
        """What a unit of squared length of each column of H_i costs in all the layers above."""
        H = F[f"H{i}"]
        load = np.zeros(H.shape[1])
        if self.graphs[i - 1] is not None:
            weight, operator = self.graphs[i - 1]
            load += weight * operator.quad_columns(H)
        if i < self.depth:
            above, Z = F[f"H{i + 1}"], F[f"Z{i + 1}"]
            blocks = threads.blocks(len(H), 1024)
            gaps = threads.each(lambda b: ((H[b] - above[b] @ Z.T).astype(np.float64) ** 2).sum(0), blocks)
            load += self.coupling * sum(gaps) + Z.astype(np.float64) ** 2 @ self._load(i + 1, F)
        return load

    def _weights(self, i: int, F: Factors) -> Quad:
        """Row b of the transposed Z_i: its fit to column b of H_{i-1}, and a ridge. Its own factor s_b is left out."""
        H = F[f"H{i}"]
        ridge = np.diag(self._load(i, F)).astype(H.dtype)
        if i == 1:
            fit = Quad.fit(self.data.T, H).materialized()
            return replace(fit, gram=fit.gram + ridge)
        B = self.coupling * sum(threads.each(lambda b: F[f"H{i - 1}"][b].T @ H[b], threads.blocks(len(H), 1024)))
        rows = threads.blocks(len(B), 256)
        return Quad(B.__getitem__, self.coupling * gram_of(H) + ridge, rows, self.data.sqnorm, 1.0)

    def _codes(self, i: int, F: Factors) -> Quad:
        """H_i between the layer below and the one above."""
        Z, s, mu = F[f"Z{i}"], self._lengths(i - 1, F), self._mu(i)
        dtype, own = Z.dtype, self._lengths(i, F)
        weighted = Z if s is None else Z * s[:, None].astype(dtype)
        gram = mu * (weighted.T @ Z)
        if i == 1:
            below, blocks = self.data.times(Z), self.data.blocks(Z.shape[1])
        else:
            under, blocks = F[f"H{i - 1}"], threads.blocks(len(F[f"H{i - 1}"]), 256)
            below = lambda b: under[b] @ weighted  # noqa: E731
        linear = below
        if i < self.depth:
            pull, above, Zup = (self.coupling * own).astype(dtype), F[f"H{i + 1}"], F[f"Z{i + 1}"]
            gram = gram + np.diag(pull)
            linear = lambda b: mu * below(b) + (above[b] @ Zup.T) * pull  # noqa: E731
        elif mu != 1:
            linear = lambda b: mu * below(b)  # noqa: E731
        effort = self.data.entries_per_row if i == 1 else Z.shape[0]
        term = Quad(linear, gram.astype(dtype), blocks, self.data.sqnorm, effort)
        return term if self.graphs[i - 1] is None else self._with_graph(term, i, own)

    def _with_graph(self, term: Quad, i: int, own: np.ndarray) -> Quad:
        weight, operator = self.graphs[i - 1]
        columns = (weight * own).astype(term.gram.dtype)
        stiffness = operator.stiffness.astype(term.gram.dtype)

        def pull(H: np.ndarray) -> Pull:
            return Pull(*operator.parts(H), stiffness, columns)

        return replace(term, pull=pull)

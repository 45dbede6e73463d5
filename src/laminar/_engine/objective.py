"""The objective as a function of one factor: the sum of its terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol, cast

import numpy as np

from .._utils import threads
from .contracts import Constraint
from .linalg.small import safe_divide
from .terms.majoriser import Block, Fit, Groups, Majoriser, SplitRows, Term, by_group


class Evaluation(NamedTuple):
    """The objective at a point, and the largest change of it that rounding can cause."""

    value: float
    rounding_error: float


class Evaluable(Protocol):
    """An objective as the loop needs it, of one factor."""

    def evaluate(self, F: np.ndarray) -> Evaluation:
        """Return the value at F."""

    def residual(self, F: np.ndarray, constraint: Constraint) -> float:
        """Return the KKT residual at F."""

    def cached(self) -> Evaluable:
        """Return the same objective with what does not depend on F kept once computed."""


class Objective:
    """The sum of the terms of one factor: a `Fit`, then penalties.

    The loop needs an `Evaluable`; where the rows of a factor are coupled by a matrix, as in concept factorisation, an
    objective has these three methods, what its own update needs, and no majoriser.
    """

    def __init__(self, terms: Sequence[Term]):
        self.terms = list(terms)
        self.fit = cast(Fit, self.terms[0])

    @property
    def exact(self) -> bool:
        """Whether the majoriser is the objective itself."""
        return all(term.exact for term in self.terms)

    @property
    def groups(self) -> Groups:
        """Blocks of rows, grouped by the Gram matrix they share."""
        return self.fit.groups

    def evaluate(self, F: np.ndarray) -> Evaluation:
        """Return the value at F. Penalties are sums of squares or linear: digits cancel in the fit alone."""
        fit = self.fit.value(F)
        return Evaluation(fit + sum(term.value(F) for term in self.terms[1:]), self.fit.rounding_error(fit))

    def majoriser(self, F: np.ndarray) -> Majoriser:
        """Return the sum of the majorisers that touch the terms at F."""
        return sum((term.majoriser(F) for term in self.terms[1:]), self.fit.majoriser(F))

    def split_gradient(self, F: np.ndarray) -> SplitRows:
        """Return the gradient at F as a difference of two non-negative parts."""
        splits = [term.split_gradient(F) for term in self.terms]
        if len(splits) == 1:
            return splits[0]

        def split(b: Block) -> tuple[np.ndarray, np.ndarray]:
            plus, minus = zip(*(part(b) for part in splits), strict=True)
            return sum(plus[1:], plus[0]), sum(minus[1:], minus[0])

        return split

    def cached(self) -> Objective:
        """Return the same objective with what does not depend on F kept once computed."""
        return Objective([self.fit.cached(), *self.terms[1:]])

    def residual(self, F: np.ndarray, constraint: Constraint) -> float:
        """KKT residual ``sqrt(sum_ia d_ia step_ia^2 / size)``, zero exactly at a stationary point.

        ``step`` is what the constraint leaves of the Newton step ``gradient / d`` of each entry alone, with d the
        curvature of the majoriser. The residual does not change with the scale of X or of a component.
        """
        majoriser, typical = self.majoriser(F), F.mean(0)
        groups = list(by_group(majoriser.G, self.groups))
        multiplier = constraint.multiplier(F, lambda b, G: majoriser.gradient(b, F[b], G), groups)

        def block(b: Block, G: np.ndarray | None) -> float:
            gradient, d = majoriser.derivatives(b, F[b], G, typical)
            newton = safe_divide((gradient - multiplier).astype(np.float64), d, floor=np.finfo(np.float64).tiny)
            step = constraint.step(F[b], newton)
            with np.errstate(over="ignore"):  # infinite where a step is out of range: far from stationary
                return float(np.vdot(step * step, d))

        squares = sum(threads.total(partial(block, G=G), blocks) for G, blocks in groups)
        return float(np.sqrt(squares / (self.fit.size or 1.0)))

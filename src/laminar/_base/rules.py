"""Values a model declares for ``rule=``, and the updates of ``solver=``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from .._engine.updates import Update, accelerated_gradient, entrywise, hals, multiplicative

SOLVERS: dict[str, dict[str, Update]] = {
    "frobenius": {"auto": hals, "hals": hals, "mu": multiplicative, "apg": accelerated_gradient},
    "kl": {"auto": entrywise, "mu": entrywise},
}
"""Updates of non-negative factors, by loss and ``solver=``."""


@dataclass(frozen=True)
class Rule:
    """Start, updates and loop of a fit.

    Attributes
    ----------
    init : str
        The start of ``init="auto"``.
    solvers : mapping from names to Update
        Updates of this model in place of those of `SOLVERS`.
    order : tuple of str
        Of the updates.
    extrapolate : bool
        Whether the loop accelerates.
    exact_codes : bool
        Whether codes are made exact after the last sweep.
    invariant : bool
        Whether penalties on codes are multiplied by the size of the components (docs/methods.md 1.5).
    unit_components : bool
        Whether the start is rescaled to components of unit length.
    subsample : bool
        Whether components of tall data start from those of a subsample (`starts.learned_on_subsample`).
    eta : float or None
        Exponent of the multiplicative update; None where the solver decides what the update is.
    """

    init: str = "nndsvda"
    solvers: Mapping[str, Update] | None = None
    order: tuple[str, ...] = ("H", "Z")
    extrapolate: bool = True
    exact_codes: bool = True
    invariant: bool = True
    unit_components: bool = False
    subsample: bool = False
    eta: float | None = None

    def update(self, loss: str, solver: str, eta: float | None) -> Update:
        """Return the update of non-negative factors."""
        exponent = self.eta if eta is None else eta
        if exponent is not None:
            return partial(multiplicative, eta=exponent)
        return {**SOLVERS[loss], **(self.solvers or {})}[solver]

    def multiplies(self, loss: str, solver: str, eta: float | None) -> bool:
        """Whether that update never leaves an exact zero."""
        return loss == "kl" or solver == "mu" or self.eta is not None or eta is not None


@dataclass(frozen=True)
class Published(Rule):
    """The iterations of a paper, as printed: multiplicative, not accelerated, with its penalty on the codes alone."""

    extrapolate: bool = False
    exact_codes: bool = False
    invariant: bool = False
    eta: float | None = 1.0

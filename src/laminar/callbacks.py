"""Callbacks of `fit`: what they are given, and the stopping rule of a paper."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ._utils.callbacks import FitState
from ._utils.interrupts import InterruptedFitWarning

__all__ = ["FitState", "InterruptedFitWarning", "ReconstructionStop"]


@dataclass
class ReconstructionStop:
    """Callback that stops a fit by its reconstruction error: ``E_{t-1} - E_t <= kappa max(1, E_{t-1})``.

    E is the loss without penalties: ``||X - H Z||``, not squared. This is the rule of Trigeorgis et al., section 6.2,
    with at most 1000 iterations and samples of unit norm. It holds for the pre-training of layers too. ``converged_``
    stays False: it is about ``tol``.

    Parameters
    ----------
    kappa : float, default=1e-6
        Smallest decrease.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF
    >>> from laminar.callbacks import ReconstructionStop
    >>> X = np.random.default_rng(0).normal(size=(30, 8))
    >>> stop = ReconstructionStop(kappa=1e-2)
    >>> SemiNMF(3, rule="published", max_iter=1000, tol=0, callback=stop, random_state=0).fit(X).n_iter_ < 100
    True
    """

    kappa: float = 1e-6
    _error: float = field(default=np.inf, init=False, repr=False)  # of the last iteration

    def __call__(self, state: FitState) -> bool:
        """Return whether to stop."""
        before = np.inf if state.iteration == 1 else self._error
        self._error = state.model().reconstruction_err_
        return bool(before - self._error <= self.kappa * max(1.0, before)) if np.isfinite(before) else False

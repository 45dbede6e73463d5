"""`Penalized`: what the models share that ask something of the codes beyond the fit."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from .._engine.constraints import UnitSum
from .._engine.data.matrix import Matrix
from .._engine.penalties import Penalty, Smooth
from .._engine.problem import Problem
from .._utils.callbacks import with_callbacks
from .._utils.typing import Data
from ..graphs import GraphOperator
from .factorizer import Factorizer


class Penalized(Factorizer):
    """Base of the factorisations with a penalty on the codes, by a graph, labels or time.

    ``layers_[-1].representation`` holds the codes of the fit, which depend on the penalty; `transform` minimises the
    fit alone, for any sample.
    """

    _parameter_constraints: dict = {
        **Factorizer._parameter_constraints,
        "scale": [StrOptions({"invariant", "none"})],
    }

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the factorisation to X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels of some or all samples, one column for each attribute; -1, NaN, None and ``pandas.NA`` stand for
            unknown. Estimators and graphs without labels ignore it.
        groups : array-like of shape (n_samples,), default=None
            Sequence of each sample, for graphs in time; None means one sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, groups)

    def fit_transform(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> np.ndarray:
        """Fit the factorisation to X and return what `transform` gives for its samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels of some or all samples, one column for each attribute; -1, NaN, None and ``pandas.NA`` stand for
            unknown. Estimators and graphs without labels ignore it.
        groups : array-like of shape (n_samples,), default=None
            Sequence of each sample, for graphs in time; None means one sequence.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Non-negative codes of each sample by itself. Those of the fit, which depend on the penalty, are
            ``layers_[-1].representation``.
        """
        return self.fit(X, y, groups).transform(X)

    # ---- the penalty ---------------------------------------------------------------------------------------------

    _published_unit = False  # whether the published rule begins with components of unit length

    @property
    def _invariant(self) -> bool:
        return self.rule == "fast" and self.scale == "invariant"

    @property
    def _unit_start(self) -> bool:
        return self.rule == "published" and self._published_unit

    def _weight(self, alpha: float, data: Matrix) -> float:
        """The weight of a penalty in unit scale.

        Where the components have unit length, for good or to begin with, the scale of X is in the codes and a weight
        means the same whatever the units of X. Otherwise it is in the components, and the penalty is asked of H as
        it comes.
        """
        if self._invariant or self._unit_start:
            return alpha
        unit, most = self._unit(data), float(np.finfo(data.dtype).max) ** 0.5
        if unit == 0 or alpha / unit > most:
            raise ValueError(
                f"X is too small for a penalty on codes as they come: its largest magnitude is {data.scale:.3g}. "
                'Multiply X by a constant, or use scale="invariant" with rule="fast".'
            )
        return alpha / unit

    def _smooth(self, operator: GraphOperator, alpha: float, data: Matrix) -> Smooth | None:
        """A quadratic penalty; None where nothing is linked: the model is then the plain one, digit for digit."""
        if alpha == 0 or not operator.stiffness.any():
            return None
        weight = self._weight(alpha, data)
        if self._invariant and self.loss == "kl":
            # The components sum to one instead, and weigh the same. A divergence grows with X and not with its square:
            # per mean sum of a sample the penalty does so too. In unit scale the sum of all is one at least, or X zero.
            return Smooth(operator, weight * data.shape[0] / max(data.total, 1.0), invariant=False)
        return Smooth(operator, weight, self._invariant)

    def _limits(self, penalty: Penalty | None) -> dict:
        if penalty is not None and self._invariant and self.loss == "kl":
            return {**self._constraints, "Z": UnitSum()}
        return self._constraints

    def _settled(self, factors: dict[str, np.ndarray], problem: Problem) -> dict[str, np.ndarray]:
        if problem.penalty is None:
            return factors
        if isinstance(problem.constraints["Z"], UnitSum):
            norms = factors["Z"].sum(0)
        elif self._unit_start:
            norms = np.linalg.norm(factors["Z"], axis=0)
        else:
            return factors
        norms[norms == 0] = 1
        return {"H": factors["H"] * norms, "Z": factors["Z"] / norms}

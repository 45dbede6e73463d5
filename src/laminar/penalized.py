"""`Penalized`: what the models share that ask something of the codes beyond the fit."""

from __future__ import annotations

import numpy as np
from sklearn.utils._param_validation import StrOptions

from .base import Factorizer
from .callbacks import with_callbacks
from .constraints import UnitSum
from .data import Matrix
from .graphs import GraphOperator
from .penalties import Penalty, Smooth
from .problem import Problem


class Penalized(Factorizer):
    """A factorisation whose codes are tied to each other, to labels or to time.

    ``layers_[-1].representation`` holds the codes of the fit, which know the graph and the labels; `transform` codes
    any sample, seen before or not, by the components alone.
    """

    _parameter_constraints: dict = {
        **Factorizer._parameter_constraints,
        "scale": [StrOptions({"invariant", "none"})],
    }

    @with_callbacks
    def fit(self, X, y=None, groups=None):
        """Learn the components of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels, some or all; -1, NaN, None and ``pandas.NA`` are unknown. Models without labels ignore it.
        groups : array-like of shape (n_samples,), default=None
            The sequence each sample belongs to, for graphs in time.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X, y, groups)

    def fit_transform(self, X, y=None, groups=None) -> np.ndarray:
        """Learn the components of X and return the codes `transform` gives its samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels, some or all.
        groups : array-like of shape (n_samples,), default=None
            The sequence each sample belongs to.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Non-negative codes. Those of the fit itself are in ``layers_[-1].representation``.
        """
        return self.fit(X, y, groups).transform(X)

    def fit_predict(self, X, y=None, groups=None) -> np.ndarray:
        """Fit and return the cluster of each training sample, by the codes of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels, some or all.
        groups : array-like of shape (n_samples,), default=None
            The sequence each sample belongs to.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        H = self.fit(X, y, groups).layers_[-1].representation
        return self.clusters_.predict(H, self.n_clusters or self.n_components)

    # ---- the penalty ---------------------------------------------------------------------------------------------

    _unit_start = False  # whether the published rule begins with components of unit length

    @property
    def _invariant(self) -> bool:
        return self.rule == "fast" and self.scale == "invariant"

    def _weight(self, alpha: float, data: Matrix) -> float:
        """The weight of a penalty in unit scale.

        The invariant form is asked of X in unit scale, where a weight means the same whatever the units of X. As
        published it is asked of H as it comes, the scale of X being in the components.
        """
        weight = alpha if self._invariant else alpha / self._unit(data)
        if not np.isfinite(weight):
            raise ValueError(f'X is too small ({data.scale:.3g}) for scale="none": multiply X by a constant.')
        return weight

    def _smooth(self, operator: GraphOperator, alpha: float, data: Matrix) -> Smooth | None:
        """A quadratic penalty; None where nothing is linked: the model is then the plain one, digit for digit."""
        if alpha == 0 or not operator.stiffness.any():
            return None
        # Components of a divergence sum to one instead, and weigh the same.
        return Smooth(operator, self._weight(alpha, data), self._invariant and self.loss == "frobenius")

    def _limits(self, penalty: Penalty | None) -> dict:
        if penalty is not None and self._invariant and self.loss == "kl":
            return {**self._constraints, "Z": UnitSum()}
        return self._constraints

    def _settled(self, factors: dict[str, np.ndarray], problem: Problem) -> dict[str, np.ndarray]:
        if isinstance(problem.constraints["Z"], UnitSum) or (self._unit_start and self.rule == "published"):
            norms = self._norms(factors["Z"])
            norms[norms == 0] = 1
            factors["Z"] /= norms
            factors["H"] *= norms
        return factors

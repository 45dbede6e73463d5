"""`Penalized`: models with a penalty on the codes."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from .._engine.constraints import UnitSum
from .._engine.data.matrix import Matrix
from .._engine.problem import FITS, Addend, Factors, smooth_codes
from .._utils.callbacks import with_callbacks
from .._utils.typing import Data
from ..graphs import GraphOperator
from .factorizer import Factorization, Factorizer


def weight_in_unit_scale(weight: float, data: Matrix, degree: int, dtype: np.dtype | type) -> float:
    """Return the weight of a penalty on codes alone, whose components have the scale of X, as it is in unit scale.

    A fit of this degree in X is divided by its unit, and so is the weight; an error where it leaves the range of dtype.
    """
    unit, most = data.unit(degree), float(np.finfo(dtype).max) ** 0.5
    if unit == 0 or weight / unit > most:
        raise ValueError(
            "X is too small for a penalty on the codes alone, without the size of the components: its largest "
            f"magnitude is {data.scale:.3g}. Multiply X by a constant, or use a scale-invariant penalty."
        )
    return weight / unit


class Penalized(Factorizer):
    """Base of the factorisations with a penalty on the codes, by a graph, labels or time.

    ``layers_[-1].representation`` holds the codes of the fit, which depend on the penalty; `fit_transform` without
    labels returns them, and `fit_predict` and ``cluster()`` their clusters. `transform` minimises the fit alone, for
    any sample, and `predict` and ``cluster(X)`` return clusters of these codes, for samples of the fit too.
    """

    _parameter_constraints: dict = {
        **Factorizer._parameter_constraints,
        "scale": [StrOptions({"auto", "invariant", "none"})],
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
            unknown. Estimators without labels ignore it; graphs without labels refuse it.
        groups : array-like of shape (n_samples,), default=None
            Sequence of each sample, for graphs in time; None means one sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, groups)

    # ---- the penalty ---------------------------------------------------------------------------------------------

    @property
    def _invariant(self) -> bool:
        return self._rule.invariant if self.scale == "auto" else self.scale == "invariant"

    def _weight(self, alpha: float, data: Matrix) -> float:
        """Return the weight of a penalty in unit scale.

        Where the components have unit length, in the penalty or at the start, the scale of X is in the codes and a
        weight has the same meaning in all units of X. Otherwise it is in the components, and H is penalised as it is.
        """
        if self._invariant or self._rule.unit_components:
            return alpha
        return weight_in_unit_scale(alpha, data, FITS[self.loss].degree, data.dtype)

    def _smooth(self, operator: GraphOperator, alpha: float, data: Matrix) -> list[Addend]:
        """Return the quadratic penalty; nothing where no samples are linked: the model is then the plain one."""
        if alpha == 0 or not operator.row_curvature.any():
            return []
        operator, weight = operator.on(data.workers), self._weight(alpha, data)
        if self._invariant and self.loss == "kl":
            # The components sum to one instead. A divergence grows with X and not with its square: so does the penalty
            # per mean sum of a sample. In unit scale the sum of all entries is one at least, or X is zero.
            return [smooth_codes(operator, weight * data.shape[0] / max(data.total, 1.0), invariant=False)]
        return [smooth_codes(operator, weight, invariant=self._invariant)]

    def _factorization(self, data: Matrix, penalties: list[Addend], **keywords) -> Factorization:
        problem = super()._factorization(data, penalties, **keywords)
        if problem.penalised and self._invariant and self.loss == "kl":
            return replace(problem, constraints={**problem.constraints, "Z": UnitSum()})
        return problem

    def _start(self, problem: Factorization, X) -> Factors:
        factors = super()._start(problem, X)
        if not problem.penalised or not (self._rule.unit_components or (self.loss == "kl" and self._invariant)):
            return factors
        norms = factors["Z"].sum(0) if self.loss == "kl" and self._invariant else np.linalg.norm(factors["Z"], axis=0)
        norms[norms == 0] = 1
        return {"H": factors["H"] * norms, "Z": factors["Z"] / norms}

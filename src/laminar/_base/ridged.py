"""`Ridged`: base of the Semi-NMF models, whose ridge bounds the codes, with or without an offset."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._engine.constraints import Free
from .._engine.data.derived import Projected, Shifted
from .._engine.data.matrix import Matrix
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._engine.monitor import Monitor, Solution
from .._engine.problem import Addend, Factors, Problem, offset_fit, ridge_fit
from .._engine.regression import best_factor
from .._engine.ridge import energy, n_scores, offset_ridge, semi_nmf_ridge
from .._engine.starts import best_components, corner, learned_on_subsample, positive_combination
from .._engine.updates import Update, exact, hals_or_exact, thorough_hals
from .factorizer import Factorization, Factorizer
from .parameters import refuse_unused


def _warn_of_large_codes(model) -> None:
    warnings.warn(
        f"The codes of {type(model).__name__} are more than 100 times as large as X: its components nearly cancel each "
        'other, and small changes of X change the codes by much. Use ridge="auto" and rule="fast", or fit_offset=True '
        "in SemiNMF, or shift X to be non-negative.",
        ConvergenceWarning,
        stacklevel=8,
    )


class Ridged(Factorizer):
    """Base of the factorisations ``X ~ H Z`` or ``X ~ 1 b^T + H Z`` with H >= 0 and Z of any sign."""

    _parameter_constraints: dict = {
        **Factorizer._parameter_constraints,
        "ridge": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }

    fit_offset = False  # a parameter of `SemiNMF`
    offset_: np.ndarray | float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.rule == "published":
            refuse_unused(self, ["ridge"], 'rule="published" has none')
            if self.fit_offset:
                raise ValueError('rule="published" has no offset: use fit_offset=False, or rule="fast".')

    # ---- the problem ---------------------------------------------------------------------------------------------

    def _factorization(self, data: Matrix, penalties: list[Addend], **keywords) -> Factorization:
        """Return the fit with its ridge, on the leading right singular vectors of X where that saves time."""
        if self.fit_offset:
            mean = data.T.product(np.full((data.shape[0], 1), 1 / data.shape[0], data.dtype))[:, 0]
            data = Shifted(data, mean)
        problem = super()._factorization(data, penalties, **keywords)
        if self.rule == "published":
            return problem
        ridge, rng = self._weight_of_ridge(data, problem.n_components), check_random_state(self.random_state)
        if not ridge and not self.fit_offset:
            return problem
        near, r = data, n_scores(problem.n_components)
        if data.shape[1] > 2 * r and data.shape[0] > 2 * r:
            near = Projected(data, truncated_svd(data, r, rng))
        of = offset_fit if self.fit_offset else ridge_fit
        return replace(problem, data=near, whole=data, addends=[of(near, ridge), *problem.addends[1:]], ridge=ridge)

    def _weight_of_ridge(self, data: Matrix, k: int) -> float:
        if self.ridge != "auto":
            return float(self.ridge)
        return (offset_ridge if self.fit_offset else semi_nmf_ridge)(data, k, check_random_state(self.random_state))

    def _updates(self, problem: Factorization) -> dict[str, Update]:
        updates = super()._updates(problem)
        if problem.ridge and updates["H"] is hals_or_exact:  # components that a ridge keeps apart
            updates["H"] = thorough_hals
        return updates

    # ---- where it starts -----------------------------------------------------------------------------------------

    def _start_from(self, init, problem: Factorization, X) -> Factors:
        if self.fit_offset:
            auto = isinstance(init, str) and init == "auto"
            H = self._corner(problem) if auto else super()._start_from(init, problem, X)["H"]
            start = {"H": H, "Z": self._with_offset(problem.data, H, problem.ridge)}
            return self._head_start(problem, start)
        if problem.ridge and isinstance(init, str) and init == "auto":
            init = self._init(problem)
        return super()._start_from(init, problem, X)

    def _init(self, problem: Factorization) -> str:
        """Return the closed form where there is one, though its codes are large, and k-means elsewhere."""
        U = truncated_svd(problem.data, problem.n_components, check_random_state(self.random_state))[0]
        return "kmeans" if positive_combination(U) is None else "lp"

    def _corner(self, problem: Factorization) -> np.ndarray:
        rng = check_random_state(self.random_state)
        return corner(problem.data, problem.n_components, rng).astype(problem.data.dtype)

    def _with_offset(self, data: Matrix, H: np.ndarray, ridge: float) -> np.ndarray:
        """Return the components of given codes, and the offset as the last column."""
        ones = np.ones_like(H[:, :1])
        weights = np.append(np.full(H.shape[1], ridge), 0.0)
        return best_factor(data.T, np.hstack([H, ones]), Free(), ridge=weights)

    def _head_start(self, problem: Factorization, factors: Factors) -> Factors:
        if not problem.ridge:
            return super()._head_start(problem, factors)
        without_offset = self.fit_offset and factors["Z"].shape[1] == problem.n_components
        if problem.penalised or without_offset:  # which follows
            return factors
        of = offset_fit if self.fit_offset else ridge_fit
        learned = learned_on_subsample(
            lambda data: Problem(problem.constraints, [of(data, problem.ridge)]),
            problem.data,
            factors,
            self._updates(problem),
            samples_per_component=100,
            min_step=2,
            monitor=Monitor(self.max_iter, self.tol),
        )
        if learned is factors:
            return factors
        # Codes of the start are not those of the components that were learned.
        constraint = problem.constraints["H"]
        return {**learned, "H": exact(learned["H"], problem.objective("H", learned), constraint)}

    # ---- what it leaves ------------------------------------------------------------------------------------------

    def _canonical(self, solution: Solution, problem: Factorization) -> tuple[np.ndarray, np.ndarray]:
        """Return codes and components for X itself, of which the iterations had a projection."""
        H, Z = solution.factors["H"], solution.factors["Z"]
        refine = problem.whole is not None and not problem.penalised
        if self.fit_offset:
            Z = self._with_offset(problem.samples, H, problem.ridge) if refine else Z
            offset, Z = Z[:, -1], np.ascontiguousarray(Z[:, :-1])
            problem = replace(problem, data=Shifted(problem.samples, offset))
            self.offset_ = offset
        elif refine:
            Z = best_components(problem.samples, H, ridge=problem.ridge)
            problem = replace(problem, data=problem.samples)
        return super()._canonical(replace(solution, factors={"H": H, "Z": Z}), problem)

    def _attributes(self, solution: Solution, problem: Factorization, X) -> None:
        H, Z = self._canonical(solution, problem)
        self.ridge_, data = problem.ridge, problem.samples
        if isinstance(data, Shifted):
            data = Shifted(data.base, data.shift + self.offset_)
            self.offset_ = data.shift * data.dtype.type(data.scale)
        if energy(H, Z) > 1e4 * data.sqnorm:
            _warn_of_large_codes(self)
        self._set_layer(data, H, Z, problem.ridge)

    # ---- an offset in the methods of a fitted model --------------------------------------------------------------

    def _wrap(self, X) -> Matrix:
        data = wrap(X)
        return Shifted(data, np.asarray(self.offset_) / data.scale) if self.fit_offset else data

    def inverse_transform(self, H: ArrayLike, *, layer: int | str | None = None) -> np.ndarray:
        """Reconstruct samples from codes.

        Parameters
        ----------
        H : {array-like, sparse matrix} of shape (n_samples, n_components)
            Codes.
        layer : int, str or None, default=None
            Layer they belong to; None means the parameter ``layer``.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            H times the components of the layer, plus the offset if there is one.
        """
        check_is_fitted(self)
        X = super().inverse_transform(H, layer=layer)
        return X + self.offset_ if self.fit_offset else X

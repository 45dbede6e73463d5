"""`Factorizer`: the path of X. It is validated, becomes a problem, is solved, and is left as fitted attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._engine.constraints import Constraint
from .._engine.data.matrix import Matrix, smallest
from .._engine.data.wrap import wrap
from .._engine.linalg.small import safe_divide
from .._engine.monitor import Callback, Monitor, Snapshot, Solution
from .._engine.problem import FITS, Addend, Factors, Problem, fit, loss_value
from .._engine.solve import solve
from .._engine.starts import STARTS, best_components, learned_on_subsample, named_start, without_zeros
from .._engine.updates import Update
from .._utils import tall, threads
from .._utils.callbacks import CallbackSupportMixin, Hook, hooks, with_callbacks
from .._utils.device.namespaces import to_host
from .._utils.typing import Data
from .coding import Coder, Layer, in_units_of
from .output import OUTPUT
from .rules import Published, Rule
from .tensors import in_memory

Value = TypeVar("Value", float, np.ndarray)
Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Factorization(Problem):
    """``X ~ H Z`` under a loss, plus penalties.

    Attributes
    ----------
    data : Matrix
        The rows that H codes.
    n_components : int
        Number of columns of H.
    loss : {"frobenius", "kl"}
        The loss.
    offset : float
        What is added to the objective of ``data``, in the units of X, where that differs from the model's.
    unit : float
        What an objective in unit scale is multiplied by to be in the units of X.
    ridge : float
        Weight of the ridge in the fit (docs/methods.md 4.5).
    whole : Matrix or None
        X, where ``data`` is a projection of it.
    """

    data: Matrix
    n_components: int
    loss: str = "frobenius"
    offset: float = 0.0
    unit: float = 1.0
    ridge: float = 0.0
    whole: Matrix | None = None

    def in_units(self, value: Value) -> Value:
        """Return an objective in unit scale in the units of X."""
        return value * self.unit + self.offset

    @property
    def samples(self) -> Matrix:
        """X, of which ``data`` may be a reduced form."""
        return self.data if self.whole is None else self.whole

    def join(self, H: np.ndarray) -> np.ndarray:
        """Return codes of the rows of ``data``, from codes of the samples."""
        return H

    def expand(self, H: np.ndarray) -> np.ndarray:
        """Return codes of the samples in the unit scale of X, from codes of the rows of ``data``."""
        return H


def _fit_alone(data: Matrix, constraints: Mapping[str, Constraint], loss: str) -> Problem:
    return Problem(constraints, [fit(data, loss)])


class Factorizer(CallbackSupportMixin, Coder):
    """Base of the estimators with one layer: from X to a `Problem`, its solution and the fitted attributes."""

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "hals", "mu", "apg"})],
        "init": [StrOptions({"auto", *STARTS}), tuple, list, BaseEstimator],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "eta": [Interval(Real, 0, 1, closed="right"), None],
        "rule": [StrOptions({"fast", "published"})],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        **OUTPUT,
        "callback": [callable, None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=10,
        *,
        solver="auto",
        init="auto",
        max_iter=500,
        tol=1e-4,
        eta=None,
        rule="fast",
        n_clusters=None,
        readout="auto",
        layer=-1,
        callback=None,
        random_state=None,
        warm_start=False,
        verbose=0,
    ):
        self.n_components = n_components
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.rule = rule
        self.n_clusters = n_clusters
        self.readout = readout
        self.layer = layer
        self.callback = callback
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    # What a model declares: the constraint of each factor (`Coder`) and its two rules.
    _fast = Rule(subsample=True)
    _published = Published()

    warm_start = False  # a parameter of most models
    _last: Pair | None = None  # codes and components of the last fit, where a further one starts from them

    # ---- fitting -------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Fit the factorisation to X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y)

    def _fit(self, X, y=None, groups=None) -> Self:
        """Run the path of X."""
        self._validate_params()
        self._check_parameters()
        self._check_layer(1)
        last = vars(self).get("layers_") if self.warm_start else None
        X = self._validate(X, reset=True)
        with threads.own_threads(), hooks(self, self.max_iter, X, y) as hook, self._from_last(last, X):
            problem = self._problem(X, y, groups)
            monitor = Monitor(self.max_iter, self.tol, self._report(hook, problem, X))
            self._set_fitted(self._solve(problem, X, monitor), problem, X)
        self._warn_unconverged()
        return self

    @contextmanager
    def _from_last(self, layers: list[Layer] | None, X) -> Iterator[None]:
        """Start from the factors of the last fit inside the block, if there is one."""
        if not layers:
            yield
            return
        top = layers[-1]
        if top.components.shape[1] != X.shape[1]:
            raise ValueError(
                f"warm_start=True: the last fit was of {top.components.shape[1]} features, and X has {X.shape[1]}. Use "
                "warm_start=False, or a new estimator."
            )
        same = len(top.representation) == X.shape[0]
        self._last = (top.representation if same else self._transform(X)), top.components
        try:
            yield
        finally:
            del self._last

    def _solve(self, problem: Factorization, X, monitor: Monitor) -> Solution:
        """Return the solution by the updates of the rule and the solver."""
        return solve(
            problem,
            self._start(problem, X),
            self._updates(problem),
            monitor=monitor,
            extrapolate=self._rule.extrapolate,
            evaluate_every=self._evaluate_every,
        )

    def _set_fitted(self, solution: Solution, problem: Factorization, X) -> Self:
        """Set all fitted attributes."""
        self.objective_history_ = problem.in_units(np.array(solution.history))
        self.history_iterations_ = np.array(solution.iterations)
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        self.kkt_residual_ = solution.residual
        self._attributes(solution, problem, X)
        return self

    def _report(self, hook: Hook, problem: Factorization, X) -> Callback:
        """Return the callback of the loop, which gives objectives in the units of X and the model as it is then."""

        def report(iteration: int, value: float, snapshot: Snapshot) -> bool:
            def fitted() -> Factorizer:
                factors = {name: F.copy() for name, F in snapshot().items()}
                at, model = Solution(factors, [value], iteration, False, [iteration]), copy(self)
                model.__dict__.pop("_last", None)  # the start of this fit is no part of the model
                return model._set_fitted(at, problem, X)

            return hook(iteration, problem.in_units(value), fitted)

        return report

    @property
    def _evaluate_every(self) -> int:
        """Sweeps from one evaluation of the objective to the next; published rules evaluate each of theirs."""
        return 1 if self.rule == "published" else FITS[self.loss].evaluate_every

    # ---- the four hooks ------------------------------------------------------------------------------------------

    def _problem(self, X, y, groups) -> Factorization:
        """State what is minimised."""
        return self._factorization(wrap(X), [])

    def _start(self, problem: Factorization, X) -> Factors:
        """Return the factors to start from, in unit scale."""
        return self._start_from(self.init if self._last is None else self._last, problem, X)

    def _updates(self, problem: Factorization) -> dict[str, Update]:
        """Return the update of each factor: that of the rule and the solver, unless a constraint has a better one."""
        default = self._rule.update(self.loss, self.solver, self.eta)
        return {name: constraint.update(default) for name, constraint in problem.constraints.items()}

    def _attributes(self, solution: Solution, problem: Factorization, X) -> None:
        """Set the fitted attributes."""
        H, Z = self._canonical(solution, problem)
        self._set_layer(problem.samples, problem.expand(H), Z, problem.ridge)

    # ---- what they are made of -----------------------------------------------------------------------------------

    @property
    def _rule(self) -> Rule:
        """The declared value behind ``rule=``."""
        return self._published if self.rule == "published" else self._fast

    def _check_parameters(self) -> None:
        """Refuse parameters that another one leaves without effect."""
        if self.rule == "published" and self.solver in ("hals", "apg"):
            raise ValueError(f'rule="published" is multiplicative: use solver="auto", not "{self.solver}".')
        if self.loss == "kl" and self.solver in ("hals", "apg"):
            raise ValueError(f'solver="{self.solver}" needs a squared error: use loss="frobenius", or solver="mu".')
        if self.eta is not None and not self._rule.multiplies(self.loss, self.solver, None):
            raise ValueError(
                f'eta={self.eta} has no effect with solver="{self.solver}": it is the exponent of the multiplicative '
                'update. Use solver="mu", or eta=None.'
            )

    def _factorization(
        self, data: Matrix, penalties: list[Addend], *, n_components: int | None = None, offset: float = 0.0
    ) -> Factorization:
        """Return the fit of X and some penalties."""
        return Factorization(
            constraints={name: self._constraints[name] for name in self._rule.order},
            addends=[fit(data, self.loss), *penalties],
            data=data,
            n_components=int(self.n_components if n_components is None else n_components),
            loss=self.loss,
            offset=offset,
            unit=data.unit(FITS[self.loss].degree),
        )

    def _start_from(self, init, problem: Factorization, X) -> Factors:
        if not isinstance(init, str):
            return self._given_start(init, problem, X)
        return self._named_start(self._rule.init if init == "auto" else init, problem)

    def _named_start(self, name: str, problem: Factorization) -> Factors:
        data, constraints = problem.data, problem.constraints
        rng = check_random_state(self.random_state)
        factors = named_start(name, data, problem.n_components, rng, constraints["Z"])
        if self._rule.multiplies(self.loss, self.solver, self.eta):
            return {name: without_zeros(F) for name, F in factors.items()}
        return self._head_start(problem, factors)

    def _head_start(self, problem: Factorization, factors: Factors) -> Factors:
        """Return the factors after some iterations on few samples, for tall data without a penalty."""
        if not self._rule.subsample or problem.penalised:
            return factors
        few = partial(_fit_alone, constraints=problem.constraints, loss=self.loss)
        return learned_on_subsample(few, problem.data, factors, self._updates(problem))

    def _given_start(self, given, problem: Factorization, X) -> Factors:
        """Check ``init=(H, Z)`` or a fitted model: shapes, finiteness, signs. Z may be None: the best for H."""
        data, k = problem.data, problem.n_components
        if isinstance(given, BaseEstimator):
            # Grid searches and pipelines clone a model, and a clone is not fitted.
            check_is_fitted(given, msg="init: this %(name)s is not fitted. FrozenEstimator(model) survives cloning.")
            if not hasattr(given, "components_"):
                raise ValueError(f"init: a fitted model must have components_, as NMF has; got {type(given).__name__}.")
            # Of our own models, frozen or not, raw codes of ``components_`` whatever their ``layer`` and ``readout``.
            own = isinstance(getattr(given, "estimator", given), Coder)
            given = in_memory(given) if own else given
            given = given._transform(X) if own else given.transform(tall.to_host(X)), given.components_
        if len(given) != 2:
            raise ValueError(f"init must hold two arrays (H, Z), got {len(given)}.")
        if given[0] is None:
            raise ValueError("init: H must be given; Z may be None, the best components for H are then taken.")
        (n, p), (H, Z) = X.shape, given
        H = problem.join(self._check_factor("H", H, (n, k), problem.constraints["H"])).astype(data.dtype)
        H = tall.placed(H, X)
        if Z is None:
            return {"H": H, "Z": best_components(data, H, problem.constraints["Z"])}
        Z = self._check_factor("Z", Z, (k, p), problem.constraints["Z"])
        # The scale of X is in the components here and in the codes of the fitted model.
        return {"H": H, "Z": np.array(Z.T / data.scale, data.dtype, order="C")}

    def _check_factor(self, name: str, F, shape: tuple[int, int], constraint: Constraint) -> np.ndarray:
        """Check a factor to start from: its shape, finiteness and sign."""
        F = np.asarray(to_host(tall.to_host(F)))
        if F.shape != shape:
            raise ValueError(f"init: {name} must have shape {shape}, got {F.shape}.")
        if F.dtype.kind not in "fiub":
            raise ValueError(f"init: {name} must hold real numbers, got dtype {F.dtype}; convert it to float.")
        if not np.isfinite(F).all():
            raise ValueError(f"init: {name} contains NaN or infinity; give finite starting values.")
        if not constraint.signed and (F < 0).any():
            raise ValueError(f"init: {name} must be non-negative, its smallest entry is {F.min():.3g}.")
        return np.array(F, order="C")

    def _canonical(self, solution: Solution, problem: Factorization) -> tuple[np.ndarray, np.ndarray]:
        """Return codes, exact where the rule requires it, and components of unit length (unit sum for the KL loss)."""
        H, Z = solution.factors["H"], solution.factors["Z"]
        norms = self._norms(Z)
        Z, H = safe_divide(Z, norms), np.multiply(H, norms, out=H)
        # Exact codes of a squared error cost little; those of a divergence are iterated, after convergence only. Codes
        # under a penalty are not the best fit.
        worthwhile = self.loss == "frobenius" or solution.converged
        if self._rule.exact_codes and not problem.penalised and worthwhile:
            H = self._codes(problem.data, H, Z.T, problem.ridge)
        return H, Z

    def _norms(self, Z: np.ndarray) -> np.ndarray:
        """Return the lengths of the components, or their sums under a divergence."""
        if self.loss == "kl":
            return Z.sum(0, dtype=np.float64).astype(Z.dtype)
        return np.linalg.norm(Z.astype(np.float64), axis=0).astype(Z.dtype)

    def _set_layer(self, data: Matrix, H: np.ndarray, Z: np.ndarray, ridge: float = 0.0) -> None:
        """Set the attributes of one layer, given codes and (transposed) components in unit scale."""
        error = loss_value(data, self.loss, H, np.ascontiguousarray(Z))
        self.reconstruction_err_ = float(np.sqrt(2 * error) if self.loss == "frobenius" else error) * data.scale
        self.components_, H = np.ascontiguousarray(Z.T), in_units_of(data, H)
        self.layers_ = [Layer.of(self.components_, self.components_, H, ridge)]
        self.clusters_ = self._clusters()


class NonNegativeData(Factorizer):
    """Base of the factorisations of non-negative data."""

    def _check_data(self, X) -> None:
        least = smallest(X)
        if least < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the smallest entry of X is {least:.3g}. "
                "Use SemiNMF or WSF for data of any sign, or shift X."
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_start(self.init)

    def _check_start(self, init) -> None:
        if isinstance(init, str) and init in ("svd", "lp"):
            raise ValueError(f'init="{init}" gives components of any sign: use it with SemiNMF, or "nndsvd" here.')

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

"""`Factorizer`: the path of the data. X is validated, becomes a `Problem`, is solved, and leaves as attributes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._engine import updates
from .._engine.constraints import Free, NonNegative
from .._engine.data.matrix import Matrix, smallest
from .._engine.penalties import Penalty
from .._engine.problem import Chain, Problem
from .._engine.solve import State, solve
from .._engine.starts import STARTS, best_components, named_start
from .._engine.subsample import head_start, thinned
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.typing import Data
from .clusters import Clusters
from .coding import Coder, in_units_of
from .samples import Samples


@dataclass(frozen=True)
class Layer:
    """One layer of a fitted model.

    Attributes
    ----------
    weights : ndarray of shape (n_components, n_inputs)
        Z: the codes of the layer times Z approximate the codes of the layer below, or X.
    components : ndarray of shape (n_components, n_features)
        The product of the weights of the layer and of all layers below it: the codes times it approximate X.
    representation : ndarray of shape (n_samples, n_components)
        H, the codes of the training samples.
    """

    weights: np.ndarray
    components: np.ndarray
    representation: np.ndarray


class NonNegativeData:
    """Check of X for factorisations of non-negative data."""

    def _check_data(self, X) -> None:
        least = smallest(X)
        if least < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the smallest entry of X is {least:.3g}. "
                "Use SemiNMF or WSF for data of any sign, or shift X."
            )
        if self.init in ("svd", "lp"):
            raise ValueError(f'init="{self.init}" gives components of any sign: use it with SemiNMF, or "nndsvd" here.')
        if self.loss == "kl" and self.solver in ("hals", "apg"):
            raise ValueError(f'solver="{self.solver}" needs a squared error: use loss="frobenius", or solver="mu".')

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


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
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=10,
        *,
        solver="auto",
        init="auto",
        max_iter=500,
        tol=1e-5,
        eta=None,
        rule="fast",
        n_clusters=None,
        callback=None,
        random_state=None,
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
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    # ---- what a model states -------------------------------------------------------------------------------------

    _published_eta = 1.0
    _published_components_first = False

    @property
    def _width(self) -> int:
        """Number of components of a fit."""
        return int(self.n_components)  # True is 1, as in scikit-learn

    def _samples(self, X, y) -> Samples:
        """The rows to work on."""
        return Samples(X)

    def _auto_init(self, data: Matrix, penalty: Penalty | None) -> str:
        """Name of the start behind ``init="auto"``."""
        return "nndsvda"

    def _chain(self, data: Matrix) -> Chain:
        """The product of factors that fits the data."""
        return Chain(data, loss=self.loss)

    def _pair(self, factors: dict[str, np.ndarray], data: Matrix) -> dict[str, np.ndarray]:
        """Codes H and (transposed) components Z, from the factors of the solution."""
        return factors

    def _penalty(self, X, data: Matrix, y, groups) -> Penalty | None:
        """What is asked of the codes beyond the fit, in unit scale."""
        return None

    def _limits(self, penalty: Penalty | None) -> dict:
        """The constraint of each factor, in the order of the updates."""
        return self._constraints

    def _in_order(self, limits: dict) -> dict:
        """The order of the updates: codes first, or as published."""
        backwards = self.rule == "published" and self._published_components_first
        return dict(reversed(limits.items())) if backwards else limits

    def _settled(self, factors: dict[str, np.ndarray], problem: Problem) -> dict[str, np.ndarray]:
        """A start in the scale the model works in."""
        return factors

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

    def _fit(self, X, y=None, groups=None):
        """The path of the data."""
        self._validate_params()
        self._check_rule()
        X = self._validate(X, reset=True)
        with threads.own_threads(), hooks(self, self.max_iter, X, y) as hook:
            samples = self._samples(X, y)
            data = samples.data
            unit = self._unit(data)
            penalty = self._penalty(X, data, y, groups)  # first: labels may say how many components there are
            problem = Problem(self._chain(data), self._in_order(self._limits(penalty)), penalty)
            state = solve(
                problem,
                # Nobody else holds the start: a tall one can go after the first sweep.
                self._settled(self._ahead(self._start(samples, penalty), problem), problem),
                self._updates(problem),
                max_iter=self.max_iter,
                tol=self.tol,
                extrapolate=self.rule == "fast",
                patience=self._patience,
                evaluate_every=10 if self.loss == "kl" else 1,
                callback=lambda i, value, seconds: hook(i, value * unit + samples.rest, seconds),
            )
            self._keep(problem, state, samples)
        data.part()
        self._warn()
        return self

    def fit_transform(self, X: Data, y: ArrayLike | None = None) -> np.ndarray:
        """Fit the factorisation to X and return the codes of its samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Non-negative codes of the fit, ``layers_[-1].representation``.
        """
        return self.fit(X, y).layers_[-1].representation.copy()

    def _check_rule(self) -> None:
        """Refuse parameters that another one leaves without effect."""
        if self.rule == "published" and self.solver in ("hals", "apg"):
            raise ValueError(f'rule="published" is multiplicative: use solver="auto", not "{self.solver}".')
        if self.eta is not None and self._solver != "mu":
            raise ValueError(f'eta={self.eta} is of multiplicative rules: use solver="mu", or leave eta=None.')

    def _unit(self, data: Matrix) -> float:
        """What an objective in unit scale is multiplied by."""
        if self.loss == "kl":
            return data.scale
        if data.scale > 1e150:
            raise ValueError(
                f"The largest magnitude in X is {data.scale:.3g}: its square is out of range. Divide X by a constant."
            )
        return data.scale**2

    def _ahead(self, factors: dict[str, np.ndarray], problem: Problem) -> dict[str, np.ndarray]:
        """The start of a tall problem, improved on few of its samples; published rules begin where they are told."""
        if self.rule == "published":
            return factors
        return head_start(problem, factors, self._updates(problem), patience=self._patience)

    @property
    def _patience(self) -> int:
        """Sweeps before the first leap.

        The steps of a random start point nowhere, and leaps along them end in solutions of the same objective whose
        clusters are harder to tell apart. A free factor knows no past: there, nothing was gained by waiting.
        """
        informed = isinstance(self.init, str) and self.init != "random"
        return 0 if informed or any(isinstance(c, Free) for c in self._constraints.values()) else 5

    @property
    def _solver(self) -> str:
        """The solver behind the parameters."""
        if self.rule == "published" or self.loss == "kl":
            return "mu"
        return "hals" if self.solver == "auto" else self.solver

    def _updates(self, problem: Problem) -> dict[str, updates.Update]:
        """How each factor moves."""
        return {name: updates.for_constraint(self._update(), c) for name, c in problem.constraints.items()}

    def _update(self) -> updates.Update:
        """The rule for non-negative factors."""
        if self.loss == "kl" and self.rule == "fast" and self.eta is None:
            return updates.root
        eta = self._published_eta if self.rule == "published" else 1.0
        return {
            "hals": updates.Careful() if isinstance(self._constraints["Z"], Free) else updates.hals,
            "apg": updates.accelerated_gradient,
            "mu": partial(updates.multiplicative, eta=eta if self.eta is None else self.eta),
        }[self._solver]

    def _start(self, samples: Samples, penalty: Penalty | None) -> dict[str, np.ndarray]:
        """Codes and (transposed) components in unit scale, ready for the loop."""
        data = samples.data
        if isinstance(self.init, str):
            name = self._auto_init(data, penalty) if self.init == "auto" else self.init
            rng = check_random_state(self.random_state)
            H, Z = named_start(name, data, self._width, rng, self._constraints["Z"])
            if self._solver == "mu":  # a multiplicative rule never leaves an exact zero
                H = np.maximum(H, 1e-3 * H.mean())
                Z = np.maximum(Z, 1e-3 * Z.mean()) if (Z >= 0).all() else Z
        else:
            H, Z = self._given_start(samples)
        as_factor = partial(np.array, dtype=data.dtype, order="C", copy=True)
        return {"H": as_factor(H), "Z": as_factor(Z)}

    def _given_start(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Check ``init=(H, Z)`` or a fitted model: shapes, finiteness, signs. Z may be None: best for H."""
        given, X, data, k = self.init, samples.X, samples.data, self._width
        if isinstance(given, BaseEstimator):
            # What grid searches and pipelines make of a model is a clone, which has learned nothing.
            check_is_fitted(given, msg="init: this %(name)s is not fitted. FrozenEstimator(model) survives cloning.")
            if not hasattr(given, "components_"):
                raise ValueError(f"init: a fitted model must have components_, as NMF has; got {type(given).__name__}.")
            given = given.transform(X), given.components_
        if len(given) != 2:
            raise ValueError(f"init must hold two arrays (H, Z), got {len(given)}.")
        n, p = X.shape
        expected = {"H": (n, k), "Z": (k, p)}
        pair = {
            name: self._check_factor(name, F, expected[name])
            for name, F in zip(expected, given, strict=True)
            if F is not None
        }
        if "H" not in pair:
            raise ValueError("init: H must be given; Z may be None, the best components for H are then taken.")
        H = samples.join(pair["H"])
        if "Z" not in pair:
            learned_from = (data, H) if self.rule == "published" else thinned(data, H)
            return H, best_components(*learned_from, self._constraints["Z"])
        # The scale of X is carried by the components here and by the codes in the fitted model.
        return H, pair["Z"].T / data.scale

    def _check_factor(self, name: str, F, shape: tuple[int, int]) -> np.ndarray:
        """A factor to start from: its shape, finiteness and sign."""
        F = np.asarray(F)
        if F.shape != shape:
            raise ValueError(f"init: {name} must have shape {shape}, got {F.shape}.")
        if F.dtype.kind not in "fiub":
            raise ValueError(f"init: {name} must hold real numbers, got dtype {F.dtype}; convert it to float.")
        if not np.isfinite(F).all():
            raise ValueError(f"init: {name} contains NaN or infinity; give finite starting values.")
        if isinstance(self._constraints[name], NonNegative) and (F < 0).any():
            raise ValueError(f"init: {name} must be non-negative, its smallest entry is {F.min():.3g}.")
        return F

    def _keep(self, problem: Problem, state: State, samples: Samples) -> None:
        """Bring the solution to its canonical scale and set the fitted attributes."""
        data, whole = samples.data, samples.whole
        state.best = self._pair(state.best, data)
        norms = self._norms(state.best["Z"])
        Z = np.divide(state.best["Z"], norms, out=np.zeros_like(state.best["Z"]), where=norms > 0)
        self.components_ = np.ascontiguousarray(Z.T)
        self.objective_history_ = np.array(state.history) * self._unit(data) + samples.rest
        self.n_iter_, self.converged_ = state.n_iter, state.converged
        state.factors, state.plain = {}, {}  # as tall as H, and no longer needed
        H = np.multiply(state.best["H"], norms.astype(data.dtype), out=state.best["H"])
        # Exact codes of a squared loss cost little; those of a divergence are iterated: a fit cut short keeps its own.
        # Codes that a penalty shaped are not the best fit, and not meant to be.
        if problem.penalty is None and self.rule == "fast" and (self.loss == "frobenius" or state.converged):
            H = self._codes(data, H)
        H = samples.part(H)
        error = Problem(Chain(whole, loss=self.loss)).value({"H": H, "Z": np.ascontiguousarray(Z)})
        self.reconstruction_err_ = float(np.sqrt(2 * error) if self.loss == "frobenius" else error) * whole.scale
        H = in_units_of(whole, H)
        self.layers_ = [Layer(self.components_, self.components_, H)]
        self.clusters_ = Clusters(H, self.random_state)
        self._n_features_out = len(self.components_)

    def _norms(self, Z: np.ndarray) -> np.ndarray:
        """The canonical scale: unit length, or unit sum where sums have a meaning."""
        if self.loss == "kl":
            return Z.sum(0, dtype=np.float64).astype(Z.dtype)
        return np.linalg.norm(Z.astype(np.float64), axis=0).astype(Z.dtype)

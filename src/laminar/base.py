"""`Factorizer`: the path of the data. X is validated, becomes a `Problem`, is solved, and leaves as attributes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import threads, updates
from .callbacks import CallbackSupportMixin, hooks, with_callbacks
from .coding import Coder
from .constraints import NonNegative
from .data import Matrix, wrap
from .init import STARTS, best_components
from .penalties import Penalty
from .problem import Chain, Problem
from .readout import Clusters
from .solve import State, solve


@dataclass(frozen=True)
class Layer:
    """One layer of a fitted model.

    Attributes
    ----------
    weights : ndarray of shape (n_components, n_inputs)
        What the layer multiplies its codes by to give the layer below.
    components : ndarray of shape (n_components, n_features)
        The same down to the input, so that it can be drawn.
    representation : ndarray of shape (n_samples, n_components)
        Codes of the training samples.
    """

    weights: np.ndarray
    components: np.ndarray
    representation: np.ndarray


class NonNegativeData:
    """For models of parts: X must not be negative."""

    def _check_data(self, X) -> None:
        # scipy would sum duplicate entries in the caller's own matrix to find the smallest.
        smallest = (X.copy() if issparse(X) and not X.has_canonical_format else X).min()
        if smallest < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the smallest entry of X is {smallest:.3g}. "
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
    """What every single-layer model shares; a model states its constraints and its start."""

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
        self._store(locals())

    def _store(self, parameters: dict) -> None:
        """Keep the parameters of ``__init__``, given its ``locals()``, as they are: scikit-learn's rule."""
        for name, value in parameters.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    # ---- what a model states -------------------------------------------------------------------------------------

    _published_eta = 1.0

    def _auto_init(self, data: Matrix) -> str:
        """Name of the start behind ``init="auto"``."""
        return "nndsvda"

    def _penalty(self, X, data: Matrix, y, groups) -> Penalty | None:
        """What is asked of the codes beyond the fit, in unit scale."""
        return None

    def _limits(self, penalty: Penalty | None) -> dict:
        """The constraint of each factor, in the order of the updates."""
        return self._constraints

    def _settled(self, factors: dict[str, np.ndarray], problem: Problem) -> dict[str, np.ndarray]:
        """A start in the scale the model works in."""
        return factors

    # ---- fitting -------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X, y=None):
        """Learn the components of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X)

    def _fit(self, X, y=None, groups=None):
        """The path of the data."""
        self._validate_params()
        X = self._validate(X, reset=True)
        with threads.own_threads(), hooks(self, self.max_iter) as hook:
            data = wrap(X)
            unit = self._unit(data)
            penalty = self._penalty(X, data, y, groups)
            problem = Problem(Chain(data, loss=self.loss), self._limits(penalty), penalty)
            state = solve(
                problem,
                # Nobody else holds the start: a tall one can go after the first sweep.
                self._settled(self._start(X, data), problem),
                {name: updates.for_constraint(self._update(), c) for name, c in problem.constraints.items()},
                max_iter=self.max_iter,
                tol=self.tol,
                extrapolate=self.rule == "fast",
                evaluate_every=10 if self.loss == "kl" else 1,
                callback=lambda i, value, seconds: hook(i, value * unit, seconds),
            )
            self._keep(problem, state)
        return self

    def fit_transform(self, X, y=None) -> np.ndarray:
        """Learn the components of X and return the codes of its samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Non-negative codes.
        """
        return self.fit(X, y).layers_[-1].representation.copy()

    def _unit(self, data: Matrix) -> float:
        """What an objective in unit scale is multiplied by."""
        if self.loss == "kl":
            return data.scale
        if data.scale > 1e150:
            raise ValueError(
                f"The largest magnitude in X is {data.scale:.3g}: its square is out of range. Divide X by a constant."
            )
        return data.scale**2

    @property
    def _solver(self) -> str:
        """The solver behind the parameters."""
        if self.rule == "published" or self.loss == "kl":
            return "mu"
        return "hals" if self.solver == "auto" else self.solver

    def _update(self) -> updates.Update:
        """The rule for non-negative factors."""
        if self.loss == "kl" and self.rule == "fast" and self.eta is None:
            return updates.root
        eta = self._published_eta if self.rule == "published" else 1.0
        return {
            "hals": updates.hals,
            "apg": updates.accelerated_gradient,
            "mu": partial(updates.multiplicative, eta=eta if self.eta is None else self.eta),
        }[self._solver]

    def _start(self, X, data: Matrix) -> dict[str, np.ndarray]:
        """Codes and (transposed) components in unit scale, ready for the loop."""
        if isinstance(self.init, str):
            name = self._auto_init(data) if self.init == "auto" else self.init
            H, Z = STARTS[name](data, self.n_components, check_random_state(self.random_state))
            if self._solver == "mu":  # a multiplicative rule never leaves an exact zero
                H = np.maximum(H, 1e-3 * H.mean())
                Z = np.maximum(Z, 1e-3 * Z.mean()) if (Z >= 0).all() else Z
        else:
            H, Z = self._given_start(X, data)
        as_factor = partial(np.array, dtype=data.dtype, order="C", copy=True)
        return {"H": as_factor(H), "Z": as_factor(Z)}

    def _given_start(self, X, data: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Check ``init=(H, Z)`` or a fitted model: shapes, finiteness, signs. Z may be None: best for H."""
        given = self.init
        if isinstance(given, BaseEstimator):
            check_is_fitted(given)
            if not hasattr(given, "components_"):
                raise ValueError(f"init: a fitted model must have components_, as NMF has; got {type(given).__name__}.")
            given = given.transform(X), given.components_
        if len(given) != 2:
            raise ValueError(f"init must hold two arrays (H, Z), got {len(given)}.")
        n, p = data.shape
        expected = {"H": (n, self.n_components), "Z": (self.n_components, p)}
        pair = {name: np.asarray(F) for name, F in zip(expected, given, strict=True) if F is not None}
        for name, F in pair.items():
            if F.shape != expected[name]:
                raise ValueError(f"init: {name} must have shape {expected[name]}, got {F.shape}.")
            if F.dtype.kind not in "fiub":
                raise ValueError(f"init: {name} must hold real numbers, got dtype {F.dtype}; convert it to float.")
            if not np.isfinite(F).all():
                raise ValueError(f"init: {name} contains NaN or infinity; give finite starting values.")
            if isinstance(self._constraints[name], NonNegative) and (F < 0).any():
                raise ValueError(f"init: {name} must be non-negative, its smallest entry is {F.min():.3g}.")
        if "H" not in pair:
            raise ValueError("init: H must be given; Z may be None, the best components for H are then taken.")
        if "Z" not in pair:
            return pair["H"], best_components(data, pair["H"], self._constraints["Z"])
        # The scale of X is carried by the components here and by the codes in the fitted model.
        return pair["H"], pair["Z"].T / data.scale

    def _keep(self, problem: Problem, state: State) -> None:
        """Bring the solution to its canonical scale and set the fitted attributes."""
        data = problem.chain.data
        norms = self._norms(state.best["Z"])
        Z = np.divide(state.best["Z"], norms, out=np.zeros_like(state.best["Z"]), where=norms > 0)
        self.components_ = np.ascontiguousarray(Z.T)
        self.objective_history_ = np.array(state.history) * self._unit(data)
        self.n_iter_, self.converged_ = state.n_iter, state.converged
        state.factors, state.plain = {}, {}  # as tall as H, and no longer needed
        H = np.multiply(state.best["H"], norms.astype(data.dtype), out=state.best["H"])
        # Exact codes of a squared loss cost little; those of a divergence are iterated: a fit cut short keeps its own.
        # Codes that a penalty shaped are not the best fit, and not meant to be.
        if problem.penalty is None and self.rule == "fast" and (self.loss == "frobenius" or state.converged):
            H = self._codes(data, H)
        error = Problem(problem.chain).value({"H": H, "Z": np.ascontiguousarray(Z)})
        self.reconstruction_err_ = float(np.sqrt(2 * error) if self.loss == "frobenius" else error) * data.scale
        H *= data.dtype.type(data.scale)
        self.layers_ = [Layer(self.components_, self.components_, H)]
        self.clusters_ = Clusters(H, self.random_state)
        self._n_features_out = self.n_components
        if not state.converged and self.tol > 0 and state.n_iter >= self.max_iter:
            warnings.warn(
                f"{type(self).__name__} stopped at max_iter={self.max_iter} before it converged; "
                "raise max_iter, or tol if this is precise enough.",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, seen through scikit-learn's wrapper
            )

    def _norms(self, Z: np.ndarray) -> np.ndarray:
        """The canonical scale: unit length, or unit sum where sums have a meaning."""
        if self.loss == "kl":
            return Z.sum(0, dtype=np.float64).astype(Z.dtype)
        return np.linalg.norm(Z.astype(np.float64), axis=0).astype(Z.dtype)

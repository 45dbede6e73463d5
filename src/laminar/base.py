"""`Factorizer`: the path of the data. X is validated, becomes a `Problem`, is solved, and leaves as attributes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from . import threads, updates
from .callbacks import CallbackSupportMixin, hooks, with_callbacks
from .constraints import NonNegative
from .data import Matrix, wrap
from .init import STARTS, best_components
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


class Factorizer(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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

    loss = "frobenius"

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

    _constraints: dict = {"H": NonNegative(), "Z": NonNegative()}
    _published_eta = 1.0

    def _check_data(self, X) -> None:
        """Refuse X the model has no meaning for."""

    def _auto_init(self, data: Matrix) -> str:
        """Name of the start behind ``init="auto"``."""
        return "nndsvda"

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
        self._validate_params()
        X = self._validate(X, reset=True)
        with threads.own_threads(), hooks(self, self.max_iter) as hook:
            data = wrap(X)
            problem = self._problem(data, self._constraints)
            unit = self._unit(data)
            state = solve(
                problem,
                self._start(X, data),  # nobody else holds it: a tall start can go after the first sweep
                {name: updates.for_constraint(self._update(), c) for name, c in problem.constraints.items()},
                max_iter=self.max_iter,
                tol=self.tol,
                extrapolate=self.rule == "fast",
                evaluate_every=10 if self.loss == "kl" else 1,
                callback=lambda i, value, seconds: hook(i, value * unit, seconds),
            )
            self._keep(data, state)
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

    def _validate(self, X, *, reset: bool):
        X = validate_data(
            self, X, reset=reset, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32], order=None
        )
        self._check_data(X)
        return X

    def _unit(self, data: Matrix) -> float:
        """What an objective in unit scale is multiplied by."""
        if self.loss == "kl":
            return data.scale
        if data.scale > 1e150:
            raise ValueError(
                f"The largest magnitude in X is {data.scale:.3g}: its square is out of range. Divide X by a constant."
            )
        return data.scale**2

    def _problem(self, data: Matrix, constraints: dict) -> Problem:
        return Problem(Chain(data, loss=self.loss), constraints)

    @property
    def _solver(self) -> str:
        """The solver behind the parameters."""
        if self.rule == "published" or self.loss == "kl":
            return "mu"
        return "hals" if self.solver == "auto" else self.solver

    def _update(self) -> updates.Update:
        """The rule for non-negative factors."""
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

    def _keep(self, data: Matrix, state: State) -> None:
        """Bring the solution to its canonical scale and set the fitted attributes."""
        norms = self._norms(state.best["Z"])
        Z = np.divide(state.best["Z"], norms, out=np.zeros_like(state.best["Z"]), where=norms > 0)
        self.components_ = np.ascontiguousarray(Z.T)
        self.objective_history_ = np.array(state.history) * self._unit(data)
        self.n_iter_, self.converged_ = state.n_iter, state.converged
        state.factors, state.plain = {}, {}  # as tall as H, and no longer needed
        H = np.multiply(state.best["H"], norms.astype(data.dtype), out=state.best["H"])
        # Exact codes of a squared loss cost little; those of a divergence are iterated: a fit cut short keeps its own.
        if self.rule == "fast" and (self.loss == "frobenius" or state.converged):
            H = self._codes(data, H)
        error = self._problem(data, self._constraints).value({"H": H, "Z": np.ascontiguousarray(Z)})
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

    # ---- using ---------------------------------------------------------------------------------------------------

    def transform(self, X) -> np.ndarray:
        """Code samples exactly: the best non-negative combination of the components for each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, seen before or not.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Non-negative codes, in the units of X.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        with threads.own_threads():
            data = wrap(X)
            H = self._codes(data, self._blank(data))
        H *= data.dtype.type(data.scale)
        return H

    def _blank(self, data: Matrix) -> np.ndarray:
        """Codes that know nothing: zero, or spread evenly where a rule multiplies them."""
        shape = (data.shape[0], len(self.components_))
        if self.loss == "frobenius":
            return np.zeros(shape, data.dtype)
        return np.full(shape, max(data.total, 1e-300) / np.prod(shape), data.dtype)

    def _codes(self, data: Matrix, H: np.ndarray) -> np.ndarray:
        """Codes on the fitted components, exact for a squared loss."""
        constraint = self._constraints["H"]
        problem = self._problem(data, {"H": constraint})
        factors = {"H": H, "Z": np.ascontiguousarray(self.components_.T, dtype=data.dtype)}
        if self.loss == "frobenius":
            term = problem.term("H", factors)
            # Dependent components have many exact codes: then H must not choose, only the sample and the components.
            start = np.zeros_like(H) if updates.gram_solver(term.gram)[1] else H
            return updates.for_constraint(updates.exact, constraint)(start, term)
        return solve(
            problem,
            factors,
            {"H": updates.multiplicative},
            max_iter=1000,
            tol=1e-9,
            extrapolate=True,
            evaluate_every=10,
        ).best["H"]

    def inverse_transform(self, H) -> np.ndarray:
        """Map codes back to the input space.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Their reconstruction.
        """
        check_is_fitted(self)
        H = np.asarray(H)
        if H.ndim != 2 or H.shape[1] != len(self.components_):
            raise ValueError(f"H must have shape (n_samples, {len(self.components_)}), got {H.shape}.")
        return H @ self.components_

    def cluster(self, X, n_clusters: int | None = None) -> np.ndarray:
        """Cluster samples by their codes, in a scaling no change of basis can alter (`readout.Clusters`).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        n_clusters : int or None
            Number of clusters; None means the model's ``n_clusters``, or its number of components.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        check_is_fitted(self)
        return self.clusters_.predict(self.transform(X), n_clusters or self.n_clusters or self.n_components)

    def predict(self, X) -> np.ndarray:
        """Return the cluster of each sample; `cluster` with the model's own number of clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        return self.cluster(X)

    def fit_predict(self, X, y=None) -> np.ndarray:
        """Fit and return the cluster of each training sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        H = self.fit(X, y).layers_[-1].representation
        return self.clusters_.predict(H, self.n_clusters or self.n_components)

    def score(self, X, y=None) -> float:
        """Share of X the model explains: 1 is a perfect fit.

        ``1 - ||X - HZ||^2 / ||X||^2``, or with the KL loss ``-D(X || HZ) / sum(X)``, where 0 is a perfect fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Higher is better.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        with threads.own_threads():
            data = wrap(X)
            H = self._codes(data, self._blank(data))
            value = self._problem(data, {}).value({"H": H, "Z": np.ascontiguousarray(self.components_.T, data.dtype)})
        if self.loss == "kl":
            return -value / data.total if data.total else 0.0
        return 1 - 2 * value / data.sqnorm if data.sqnorm else 1.0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

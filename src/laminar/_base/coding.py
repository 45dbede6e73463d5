"""`Coder`: the methods of a fitted model, from samples to codes, and from codes to samples and clusters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._engine.constraints import Constraint, Free, NonNegative
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.monitor import Monitor
from .._engine.problem import Problem, fit, loss_value
from .._engine.regression import best_codes, best_factor
from .._engine.solve import solve
from .._engine.updates import multiplicative
from .._utils import threads
from .._utils.progress import stages
from .._utils.typing import Data
from .._utils.validation import check_choice
from .clusters import Clusters, reader


@contextmanager
def no_text(name: str = "X"):
    """Replace scikit-learn's error about text in an array by one with a cure."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(f"{name} holds text ({error}): encode it as numbers first, as OneHotEncoder does.") from None


def in_units_of(data: Matrix, H: np.ndarray) -> np.ndarray:
    """Multiply codes by the scale of the data, in place; raise an error where they leave the range of their type."""
    if max(float(H.max(initial=0)), -float(H.min(initial=0))) * data.scale > float(np.finfo(H.dtype).max):
        raise ValueError(
            f"The largest magnitude in X is {data.scale:.3g}: its codes are out of range. Divide X by a constant."
        )
    H *= H.dtype.type(data.scale)
    return H


def nameable(model, H: np.ndarray) -> np.ndarray:
    """Return the codes; raise an error where `set_output` needs another number of names of columns."""
    if H.shape[1] != model._n_features_out and _get_output_config("transform", model)["dense"] != "default":
        raise ValueError(
            f"set_output names {model._n_features_out} columns and these codes have {H.shape[1]}: read this layer "
            'after set_output(transform="default").'
        )
    return H


@dataclass(frozen=True)
class Layer:
    """One layer of a fitted model.

    Attributes
    ----------
    weights : ndarray of shape (n_components, n_inputs)
        Z_i: codes times it approximate the layer below.
    components : ndarray of shape (n_components, n_features)
        ``Z_i ... Z_1``: codes times it approximate X.
    representation : ndarray of shape (n_samples, n_components)
        Codes of the training samples.
    """

    weights: np.ndarray
    components: np.ndarray
    representation: np.ndarray


class Coder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all estimators: transform, score and clusters, from ``components_``, ``layers_`` and ``clusters_``."""

    loss = "frobenius"
    readout = "whitened"  # a parameter of most estimators
    _constraints: Mapping[str, Constraint] = {"H": NonNegative(), "Z": NonNegative()}

    def _check_data(self, X) -> None:
        """Raise an error for X that the model is not defined for."""

    @no_text()
    def _validate(self, X, *, reset: bool):
        X = validate_data(
            self, X, reset=reset, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32], order=None
        )
        self._check_data(X)
        return X

    def _clusters(self) -> Clusters:
        """Return the clusters of the top layer in the form the parameter ``readout`` names."""
        top = self.layers_[-1]
        read = None if self.readout == "whitened" else reader(self.readout, top)
        return Clusters(top.representation, self.random_state, read)

    def _stages(self) -> AbstractContextManager[None]:
        """Return a block in which slow steps are announced, with ``verbose=1``."""
        return stages(type(self).__name__, getattr(self, "verbose", 0))

    def _warn_unconverged(self) -> None:
        if not self.converged_ and self.tol > 0 and self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"{type(self).__name__} stopped at max_iter={self.max_iter} before it converged; "
                "raise max_iter, or tol if this is precise enough.",
                ConvergenceWarning,
                stacklevel=5,  # the caller of fit, seen through scikit-learn's wrapper
            )

    def fit_transform(self, X: Data, y: ArrayLike | None = None, **parameters) -> np.ndarray:
        """Fit the estimator to X and return the codes of the fit, ``layers_[-1].representation``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; for estimators of several views, the views in any form `fit` takes.
        y : array-like or None, default=None
            Labels, for the estimators whose `fit` uses them.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes of the training samples as the fit found them, which depend on its labels, neighbours or time.
            `transform` codes every sample by itself, since labels and neighbours of new samples are unknown, and may
            give other codes for the same samples. In a pipeline the next step is fitted to the codes returned here and
            applied to those of `transform`.
        """
        return self.fit(X, y, **parameters).layers_[-1].representation.copy()

    def transform(
        self, X: Data, *, layer: int | str = -1, method: str = "nonnegative", readout: str = "raw"
    ) -> np.ndarray:
        """Compute the codes of samples for the fitted components.

        The codes of a sample minimise the loss over ``h >= 0``, without any penalty; samples do not influence each
        other.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        layer : int or str, default=-1
            Position in ``layers_``; the last is the top layer. A name is that of an attribute, for estimators with
            layers of attributes.
        method : {"nonnegative", "pinv"}, default="nonnegative"
            "pinv" is unconstrained least squares: faster, with codes of any sign.
        readout : {"raw", "whitened", "isometric"}, default="raw"
            Form of the codes: H itself; whitened by the codes of the training samples, with rows of unit norm, the form
            that is clustered, which does not depend on the basis of the codes; or times the square root of the Gram
            matrix of the components, so that distances are those of the reconstructions, for classifiers.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened.
        """
        return nameable(self, self._transform(X, layer, method, readout))

    def _transform(
        self, X, layer: int | str = -1, method: str = "nonnegative", readout: str = "raw", **coding
    ) -> np.ndarray:
        """Return the codes as an array whatever the configuration of `set_output`; ``coding`` is passed to `_code`."""
        check_is_fitted(self)
        check_choice("method", method, ("nonnegative", "pinv"))
        layer = self._layer_at(layer)
        read_out = reader(readout, self._layer(layer))
        X = self._validate(X, reset=False)
        return read_out(self._code(X, layer, method, **coding))

    def _layer_at(self, layer: int | str) -> int:
        """Return the position of a layer that is given by position or, in models of attributes, by name."""
        if isinstance(layer, str):
            raise ValueError(
                f"layer={layer!r} is no attribute: the layers of {type(self).__name__} have no names; give a position."
            )
        return layer

    def _layer(self, layer: int | str):
        n, layer = len(self.layers_), self._layer_at(layer)
        if not isinstance(layer, Integral) or not -n <= layer < n:
            raise ValueError(
                f"layer={layer!r} is out of range: the model has {n} layers, give a whole number from {-n} to {n - 1}."
            )
        return self.layers_[layer]

    def _code(self, X, layer: int, method: str) -> np.ndarray:
        """Return codes of validated samples on one layer."""
        components = self._layer(layer).components
        with threads.own_threads():
            data = wrap(X)
            if method == "pinv":
                H = best_factor(data, np.ascontiguousarray(components.T, dtype=data.dtype), Free())
            else:
                H = self._codes(data, self._uniform_codes(data, components), components)
        return in_units_of(data, H)

    def _uniform_codes(self, data: Matrix, components: np.ndarray) -> np.ndarray:
        """Return codes to start from: zero, or all equal where the update multiplies them."""
        shape = data.shape[0], len(components)
        if self.loss == "frobenius":
            return np.zeros(shape, data.dtype)
        return np.full(shape, max(data.total, 1e-300) / np.prod(shape), data.dtype)

    def _score_codes(self, data: Matrix) -> np.ndarray:
        return self._codes(data, self._uniform_codes(data, self.components_), self.components_)

    def _codes(self, data: Matrix, H: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Return the best codes on given components, from H; exact for a squared error."""
        constraint, Z = self._constraints["H"], np.ascontiguousarray(components.T, dtype=data.dtype)
        if self.loss == "frobenius":
            return best_codes(data, Z, constraint, H)
        problem, monitor = Problem({"H": constraint}, [fit(data, self.loss)]), Monitor(1000, 1e-9)
        updates = {"H": multiplicative}
        factors = {"H": H, "Z": Z}
        return solve(problem, factors, updates, monitor=monitor, extrapolate=True, evaluate_every=10).factors["H"]

    def inverse_transform(self, H: ArrayLike, *, layer: int = -1) -> np.ndarray:
        """Reconstruct samples from codes.

        Parameters
        ----------
        H : {array-like, sparse matrix} of shape (n_samples, n_components)
            Codes.
        layer : int, default=-1
            Position in ``layers_`` of the layer they belong to.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            H times the components of the layer.
        """
        check_is_fitted(self)
        return self._check_codes(H, layer) @ self._layer(layer).components

    @no_text("H")
    def _check_codes(self, H, layer: int = -1):
        """Check codes of a layer: an array or sparse matrix of finite numbers."""
        k = len(self._layer(layer).components)
        H = check_array(
            H,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_2d=False,
            allow_nd=True,
            input_name="H",
        )
        if H.ndim != 2 or H.shape[1] != k:
            raise ValueError(f"H must have shape (n_samples, {k}), got {H.shape}.")
        return H

    def cluster(
        self,
        X: Data | None = None,
        n_clusters: int | None = None,
        *,
        layer: int | str = -1,
        readout: str | None = None,
        n_init: int = 20,
    ) -> np.ndarray:
        """Cluster samples by their codes.

        k-means finds the clusters of the training samples by the codes of the fit. Other samples are brought to the
        same form, by the codes of `transform`, and join the nearest cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
            Samples, in the fit or new. None means the training samples, by the codes of the fit.
        n_clusters : int or None, default=None
            Number of clusters; None means the parameter ``n_clusters`` of the estimator or, if that is None, the number
            of components of the layer.
        layer : int or str, default=-1
            Position in ``layers_``, or the name of an attribute for estimators with layers of attributes.
        readout : {"raw", "whitened", "isometric"} or None, default=None
            Form of the codes, see `transform`; None means the parameter ``readout`` of the estimator.
        n_init : int, default=20
            Number of starts of k-means.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        check_is_fitted(self)
        allowed = {
            "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
            "n_init": [Interval(Integral, 1, None, closed="left")],
        }
        validate_parameter_constraints(allowed, {"n_clusters": n_clusters, "n_init": n_init}, "cluster")
        of = self._layer(layer)
        if X is None:
            H = of.representation
        else:
            H = self._transform(X) if of is self.layers_[-1] else self._transform(X, layer=layer)
        clusters = self.clusters_
        if of is not self.layers_[-1] or readout not in (None, self.readout) or n_init != clusters.n_init:
            read = reader(readout or self.readout, of)
            clusters = Clusters(of.representation, self.clusters_.random_state, read, n_init=n_init)
        with self._stages():
            return clusters.predict(H, n_clusters or self.n_clusters or len(of.components))

    def predict(self, X: Data) -> np.ndarray:
        """Cluster samples by their codes, with the number of clusters of the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        return self.cluster(X)

    def fit_predict(self, X: Data, y: ArrayLike | None = None, **parameters) -> np.ndarray:
        """Fit the estimator and cluster the training samples by the codes of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; for estimators of several views, the views in any form `fit` takes.
        y : array-like or None, default=None
            Labels, for the estimators whose `fit` uses them.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        H = self.fit(X, y, **parameters).layers_[-1].representation
        with self._stages():
            return self.clusters_.predict(H, self.n_clusters or len(self.components_))

    def score(self, X: Data, y: ArrayLike | None = None) -> float:
        """Return the explained part of X, 1 for a perfect fit.

        ``1 - ||X - H Z||^2 / ||X||^2`` with the codes H of `transform` on the top layer; with ``loss="kl"``
        ``-D(X || H Z) / sum(X)``, which is 0 for a perfect fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Higher is better.
        """
        return self._score(X)

    def _score(self, X, **coding) -> float:
        """Return the score; ``coding`` is passed to `_score_codes`."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        with threads.own_threads():
            data = wrap(X)
            H = self._score_codes(data, **coding)
            value = loss_value(data, self.loss, H, np.ascontiguousarray(self.components_.T, data.dtype))
        if self.loss == "kl":
            return -value / data.total if data.total else 0.0
        return 1 - 2 * value / data.sqnorm if data.sqnorm else 1.0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

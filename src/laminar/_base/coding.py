"""`Coder`: the methods of a fitted model, from samples to codes, and from codes to samples and clusters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_array, check_is_fitted

from .._engine.constraints import Constraint, Free, NonNegative
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.linalg.small import whitener
from .._engine.monitor import Monitor
from .._engine.problem import Problem, fit, loss_value
from .._engine.regression import best_codes, best_factor
from .._engine.solve import solve
from .._engine.updates import multiplicative
from .._utils import tall, threads
from .._utils.device.array import DeviceArray
from .._utils.progress import stages
from .._utils.typing import Data
from .._utils.validation import check_choice, check_features, check_on_device, clear_errors, read_data
from .._utils.workers.array import DistributedArray
from .._utils.workers.reading import by_rows, is_dask
from .clusters import Clusters, Form, Joined, Readout, refuse_without_codes, side_by_side
from .graph_clusters import clusters_of
from .output import LayerOutput


def in_units_of(data: Matrix, H: np.ndarray) -> np.ndarray:
    """Multiply codes by the scale of the data, in place; raise an error where they leave the range of their type."""
    if max(float(H.max(initial=0)), -float(H.min(initial=0))) * data.scale > float(np.finfo(H.dtype).max):
        raise ValueError(
            f"The largest magnitude in X is {data.scale:.3g}: its codes are out of range. Divide X by a constant."
        )
    H *= H.dtype.type(data.scale)
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
    representation : ndarray of shape (n_samples, n_components), or dask array
        Codes of the training samples.
    ridge : float
        Weight rho of the ridge on the codes: those of a sample x minimise ``||x - h Z||^2 + rho ||h||^2``.
    whitening, mean : ndarray or None
        Whitening matrix and mean of the training codes, in a model that was saved without these codes, or whose codes
        are a dask array.
    """

    weights: np.ndarray
    components: np.ndarray
    representation: np.ndarray
    ridge: float = 0.0
    whitening: np.ndarray | None = None
    mean: np.ndarray | None = None

    @classmethod
    def of(cls, weights: np.ndarray, components: np.ndarray, H: Any, ridge: float = 0.0) -> Layer:
        """Return the layer with these codes; those on workers become a dask array, beside what new samples need."""
        if not isinstance(H, DistributedArray):
            return cls(weights, components, H, ridge)
        return cls(weights, components, H.to_dask(), ridge, whitener(H), H.mean(0))

    def without_codes(self) -> Layer:
        """Return the layer without codes of training samples, but with what new samples need of them."""
        H = self.representation
        if not len(H):
            return self
        if self.whitening is not None:
            return replace(self, representation=np.empty((0, H.shape[1]), H.dtype))
        return replace(self, representation=H[:0].copy(), whitening=whitener(H), mean=H.mean(axis=0))


def _codes_of_rows(model: Coder, place: int, method: str, X: np.ndarray) -> np.ndarray:
    return model._codes_at(X, [place], method)[0]


METHODS = ("nonnegative", "pinv")
"""Ways to code samples: over h >= 0, or by unconstrained least squares."""


class Coder(LayerOutput):
    """Base of the models with clusters: transform, score, cluster, from ``components_``, ``layers_``, ``clusters_``."""

    loss = "frobenius"
    _takes_tensors = True
    _uses_labels = False  # whether codes of the fit depend on y
    _streams = False  # whether X on disk is read by blocks, where it does not fit into memory, and X on workers used
    _constraints: Mapping[str, Constraint] = {"H": NonNegative(), "Z": NonNegative()}

    def _check_data(self, X) -> None:
        """Raise an error for X that the model is not defined for."""

    @property
    def _couples_samples(self) -> bool:
        """Whether the codes of a sample depend on other samples: those of a divergence are iterated all at once."""
        return self.loss == "kl"

    def _validate(self, X, *, reset: bool):
        checks = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32], "order": None}
        X = read_data(self, X, reset=reset, streams=self._streams, **checks)
        self._check_data(X)
        return X

    def _clusters(self) -> Clusters:
        """Return the clusters of the layer and in the form that the parameters name, and remember which these are."""
        self._clustered = self._places(), self._form(None, self._cluster_form)
        return self._clusters_at(*self._clustered, self.random_state)

    @property
    def _fitted_form(self) -> Form:
        """The form that "auto" means for clusters: in files of earlier versions that of the fit."""
        return self._clustered[1] if self.readout == "auto" else self._cluster_form

    def _clusters_at(self, places: list, form: Form, random_state, n_init: int = 20) -> Clusters:
        H, read = self._fit_codes(places), self._cluster_reader(places, form)
        return clusters_of(form, H, read, random_state, n_init=n_init)

    def _fit_codes(self, places: list) -> np.ndarray:
        """Return the raw codes of the fit, side by side."""
        parts = [self._at(place).representation for place in places]
        refuse_without_codes(parts[0], "this clustering")
        return side_by_side(parts)

    def _cluster_reader(self, places: list, form: Form) -> Readout | Joined | None:
        """Return the form in which raw codes side by side are clustered; None whitens them when first needed."""
        alone = len(places) == 1 and form == "whitened" and self._at(places[0]).whitening is None
        return None if alone else self._joined_reader(places, form)

    def _joined_reader(self, places: list, form: Form) -> Readout | Joined:
        reads = [self._reader(place, form) for place in places]
        if len(reads) == 1:
            return reads[0]
        return Joined(tuple(reads), np.cumsum([self._n_codes(place) for place in places])[:-1])

    def _stages(self) -> AbstractContextManager[None]:
        """Return a block in which slow steps are announced, with ``verbose=1``."""
        return stages(type(self).__name__, getattr(self, "verbose", 0))

    def _warn_unconverged(self) -> None:
        if not self.converged_ and self.tol > 0 and self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"{type(self).__name__} stopped at max_iter={self.max_iter} before it converged; "
                "raise max_iter, or tol if this is precise enough.",
                ConvergenceWarning,
                stacklevel=5 + self._takes_tensors,  # the caller of fit, seen through wrappers
            )

    def fit_transform(
        self,
        X: Data,
        y: ArrayLike | None = None,
        *,
        layer: int | str | None = None,
        method: str = "nonnegative",
        readout: Form | None = None,
        **parameters,
    ) -> np.ndarray:
        """Fit the estimator to X and return codes of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like or None, default=None
            Labels, for the estimators whose `fit` uses them.
        layer : int, str or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.
        method : {"nonnegative", "pinv"}, default="nonnegative"
            "pinv" codes the training samples as `transform` does, by unconstrained least squares.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the codes as for `transform`; None means the parameter ``readout``.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes of the training samples as the fit found them, ``representation`` of the layer, which may depend on
            their neighbours or on time; but with labels y, for estimators that use them, the codes of `transform`. A
            step of a pipeline that is fitted to the codes returned here is applied to those of `transform`, of samples
            whose labels are unknown: codes that depend on labels would mislead it. ``layers_`` has them.
        """
        check_choice("method", method, METHODS)
        self.fit(X, y, **parameters)
        if method == "pinv" or (self._uses_labels and y is not None):
            return self.transform(X, layer=layer, method=method, readout=readout)
        return self._fit_output(X, self._places(layer), self._form(readout, self._code_form))

    def transform(
        self,
        X: Data,
        *,
        layer: int | str | None = None,
        method: str = "nonnegative",
        readout: Form | None = None,
    ) -> np.ndarray:
        """Compute the codes of samples for the fitted components.

        The codes of a sample minimise the loss over ``h >= 0``, with the ridge of the fit if it had one and no other
        penalty; samples do not influence each other, and labels, neighbours or time, on which the codes of the fit may
        depend, are not used, not even for the samples of the fit: ``layers_`` has the codes of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        layer : int, str or None, default=None
            Position in ``layers_``, the last is the top layer; "all" is all layers side by side; another name is that
            of an attribute, for estimators with layers of attributes. None means the parameter ``layer``.
        method : {"nonnegative", "pinv"}, default="nonnegative"
            "pinv" is unconstrained least squares: faster, with codes of any sign.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the codes: H itself, which is also "auto"; whitened by the codes of the training samples, with rows
            of unit norm; or times the square root of the Gram matrix of the components, so that distances are those of
            the reconstructions, for classifiers. A number t is between isometric, 0, and whitened, 1, up to rotations:
            with ``H Z = U diag(s) V^T`` of the training samples the rows f of ``U diag(s)^(1 - t)`` over ``||f||^t``.
            None means the parameter ``readout``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened.
        """
        places, form = self._places(layer), self._form(readout, self._code_form)
        return self._output(self._parts(X, places, form, method=method), X, places)

    def _transform(self, X, layer: int | str = -1, readout: Form = "raw", **coding) -> np.ndarray:
        """Return codes as an array whatever the parameters; ``coding`` is passed to `_codes_at`."""
        return side_by_side(self._parts(X, self._places(layer), readout, **coding))

    def _parts(self, X, places: list, form: Form, **coding) -> list[np.ndarray]:
        """Return the codes of samples at each place."""
        reads = [self._reader(place, form) for place in places]
        codes = self._codes_at(X, places, **coding)
        return [read(H) for read, H in zip(reads, codes, strict=True)]

    def _codes_at(self, X, places: list, method: str = "nonnegative", **coding) -> list[np.ndarray]:
        """Return the raw codes of samples at each place; ``coding`` is passed to `_code`."""
        check_choice("method", method, METHODS)
        if is_dask(X) and not self._couples_samples:
            return self._codes_by_rows(X, places, method)
        X = self._validate(X, reset=False)
        codes = [self._code(X, place, method, **coding) for place in places]
        return [tall.returned(H) for H in codes]

    def _codes_by_rows(self, X, places: list, method: str) -> list:
        """Return the raw codes of dask data as dask arrays, which are computed when they are needed."""
        check_features(self, X)
        alone = copy(self)  # without the samples of the fit, and for blocks without names: it is sent to all of them
        alone.layers_ = [layer.without_codes() for layer in self.layers_]
        for name in {"clusters_", "feature_names_in_"} & set(vars(alone)):
            delattr(alone, name)
        return [by_rows(partial(_codes_of_rows, alone, place, method), X) for place in places]

    def _position(self, layer: int | str | None) -> int:
        """Return the position of the one layer that codes belong to; None means the parameter ``layer``."""
        layer = self.layer if layer is None else layer
        if isinstance(layer, str) and layer == "all":
            raise ValueError('layer="all" is no layer that codes belong to: give the position of one.')
        return self._layer_at(layer)

    def _code(self, X, layer: int, method: str) -> np.ndarray:
        """Return codes of validated samples on one layer."""
        of = self.layers_[layer]
        components = of.components
        with threads.own_threads():
            data = self._wrap(X)
            if method == "pinv":
                H = best_factor(data, np.ascontiguousarray(components.T, dtype=data.dtype), Free())
            else:
                H = self._codes(data, self._uniform_codes(data, components), components, of.ridge)
        return in_units_of(data, H)

    def _wrap(self, X) -> Matrix:
        """Return validated samples as what the components approximate."""
        return wrap(X)

    def _uniform_codes(self, data: Matrix, components: np.ndarray) -> np.ndarray:
        """Return codes to start from: zero, or all equal where the update multiplies them."""
        shape = data.shape[0], len(components)
        if self.loss == "frobenius":
            return tall.zeros(shape, data.dtype, data.workers)
        value = max(data.total, 1e-300) / np.prod(shape)
        return tall.fill(tall.empty(shape, data.dtype, data.workers), lambda b: value)

    def _score_codes(self, data: Matrix) -> np.ndarray:
        top = self.layers_[-1]
        return self._codes(data, self._uniform_codes(data, top.components), top.components, top.ridge)

    def _codes(self, data: Matrix, H: np.ndarray, components: np.ndarray, ridge: float = 0.0) -> np.ndarray:
        """Return the best codes on given components, from H; exact for a squared error."""
        constraint, Z = self._constraints["H"], np.ascontiguousarray(components.T, dtype=data.dtype)
        if self.loss == "frobenius":
            return best_codes(data, Z, constraint, H, ridge=ridge)
        problem, monitor = Problem({"H": constraint}, [fit(data, self.loss)]), Monitor(1000, 1e-9)
        updates = {"H": multiplicative}
        factors = {"H": H, "Z": Z}
        return solve(problem, factors, updates, monitor=monitor, extrapolate=True, evaluate_every=10).factors["H"]

    def inverse_transform(self, H: ArrayLike, *, layer: int | str | None = None) -> np.ndarray:
        """Reconstruct samples from raw codes.

        Parameters
        ----------
        H : {array-like, sparse matrix} of shape (n_samples, n_components)
            Codes, those of ``readout="raw"``.
        layer : int, str or None, default=None
            Position in ``layers_`` of the layer they belong to; None means the parameter ``layer``.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            H times the components of the layer.
        """
        check_is_fitted(self)
        of = self.layers_[self._position(layer)]
        if is_dask(H):
            return H @ of.components
        return self._check_codes(H, of) @ of.components

    @clear_errors("H")
    def _check_codes(self, H, layer: Layer):
        """Check codes of a layer: an array or sparse matrix of finite numbers."""
        k = len(layer.components)
        checks = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32], "ensure_2d": False}
        if isinstance(H, DeviceArray):
            H = check_on_device(H, "H")
        else:
            H = check_array(H, allow_nd=True, input_name="H", **checks)
        if H.ndim != 2 or H.shape[1] != k:
            raise ValueError(f"H must have shape (n_samples, {k}), got {H.shape}.")
        return H

    def cluster(
        self,
        X: Data | None = None,
        n_clusters: int | None = None,
        *,
        layer: int | str | None = None,
        readout: Form | None = None,
        n_init: int = 20,
    ) -> np.ndarray:
        """Cluster samples by their codes.

        Clusters are those of the training samples by the codes of the fit. In the form of a number t, which is 0.75 by
        default, they are spectral clusters (Ng, Jordan and Weiss) of a graph: of n_clusters clusters the ``3
        n_clusters`` directions of largest s are taken, each sample is linked to its ten nearest ones with weight one
        over the rank, and of more than 10 000 samples 10 000 at random are. A named form is clustered by k-means.

        Samples X are brought to the same form, by the codes of `transform`, and join the nearest cluster: the nearest
        of ten means of each cluster, or the centre of k-means. So training samples given as X may join other clusters
        than ``X=None`` returns, the more where the fit used labels, neighbours or time, on which its codes depend.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
            Samples, in the fit or new. None means the training samples, by the codes of the fit.
        n_clusters : int or None, default=None
            Number of clusters; None means the parameter ``n_clusters`` of the estimator or, if that is None, the number
            of components of the layer, of several layers that of the last.
        layer : int, str or None, default=None
            Layer as for `transform`; None means the parameter ``layer``. Of "all", the layers are brought to the form
            one by one and clustered side by side.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the codes as for `transform`, but that "auto" is the form the estimator clusters by default, 0.75
            for most. None means the parameter ``readout``.
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
        places, form = self._places(layer), self._form(readout, self._fitted_form)
        clusters = self.clusters_
        if (places, form) != self._clustered or n_init != clusters.n_init:
            clusters = self._clusters_at(places, form, clusters.random_state, n_init)
        n_clusters = n_clusters or self.n_clusters or self._n_codes(places[-1])
        H = None if X is None else side_by_side(self._codes_at(X, places))
        with self._stages():
            return clusters.labels(n_clusters) if H is None else clusters.predict(H, n_clusters)

    def _without_training_codes(self) -> Self:
        kept = super()._without_training_codes()
        places, form = self._places(), self._form(None, self._fitted_form)
        clusters = self.clusters_
        if (places, form) != self._clustered:
            clusters = self._clusters_at(places, form, clusters.random_state, clusters.n_init)
        kept._clustered = places, form
        kept.clusters_ = clusters.without_codes(self.n_clusters or self._n_codes(places[-1]))
        return kept

    def predict(self, X: Data) -> np.ndarray:
        """Cluster samples by the codes of `transform`, with the number of clusters of the estimator.

        Labels, neighbours or time, which the codes of the fit may depend on, are not used, since those of new samples
        are unknown: for training samples `fit_predict`, or `cluster` without X, returns the clusters of the codes of
        the fit, and they may differ.

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
        """Fit the estimator and cluster the training samples by the codes of the fit, ``layers_[-1].representation``.

        Where the fit used labels, neighbours or time, these codes depend on them, and so do the clusters. `predict`
        codes every sample by itself, and may return other clusters for the same samples.

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
        return self.fit(X, y, **parameters).cluster()

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
            data, size = self._wrap(X), wrap(X).sqnorm
            H = self._score_codes(data, **coding)
            value = loss_value(data, self.loss, H, np.ascontiguousarray(self.components_.T, data.dtype))
        if self.loss == "kl":
            return -value / data.total if data.total else 0.0
        return 1 - 2 * value / size if size else 1.0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = self._on_devices
        return tags

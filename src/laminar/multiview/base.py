"""`SharedCoder`: the methods of a fitted model of views that share their codes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import Clusters, Form, Readout, reader, readout_basis
from .._base.coding import Layer
from .._base.graph_clusters import GraphClusters
from .._base.views import ViewCoder
from .._engine.constraints import Constraint, Free, NonNegative
from .._engine.data.derived import Normalized, Stacked
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.monitor import Monitor, Snapshot, Solution
from .._utils.callbacks import CallbackSupportMixin, Hook
from .._utils.views import Views
from ..graphs import Graph
from .consensus import SharedCodes
from .layers import View, common_length, in_units


class SharedCoder(CallbackSupportMixin, ViewCoder):
    """Base of the models ``X_v ~ H Z_v`` with one H >= 0 for all views, weighted.

    A model has the parameters ``normalize``, ``n_clusters``, ``clustering``, ``readout`` and ``random_state``.
    """

    @property
    @abstractmethod
    def _centred(self) -> bool:
        """Whether samples of unit norm are centred."""

    @property
    @abstractmethod
    def _cluster_graph(self) -> str | Graph:
        """The graph of codes that spectral clusters are of."""

    _streams = True

    # ---- views ---------------------------------------------------------------------------------------------------

    @property
    def _constraint(self) -> Constraint:
        """Of the codes while they are fitted: signed ones are shifted in the end."""
        return Free() if self._centred else NonNegative()

    def _shared_codes(self, views: Views, fitted: dict[object, View] | None = None) -> SharedCodes:
        """Return the views normalised as in this fit, or as when the model was fitted."""
        triples = zip(views.names, views.arrays, views.observed.T, strict=True)
        parts = [self._part(array, has, fitted[name] if fitted else None) for name, array, has in triples]
        stacked = Stacked(parts, np.ones(len(parts)))
        # Squares are double, codes have the type of X and are larger than it, though hardly a thousand times.
        if stacked.scale > min(1e150, 1e-3 * float(np.finfo(stacked.dtype).max)):
            raise ValueError(
                f"The largest magnitude in X is {stacked.scale:.3g}: its square or its codes are out of range. Divide "
                "X by a constant, or use normalize=True."
            )
        return SharedCodes(stacked, views.observed, self._constraint)

    def _part(self, array, observed: np.ndarray, fitted: View | None) -> Matrix:
        """Return one view, normalised."""
        if not self.normalize:
            return wrap(array)
        if fitted is not None:
            return Normalized(array, observed, fitted.mean.astype(array.dtype), fitted.size)
        if self._centred:
            return Normalized(array, observed)
        return Normalized(array, observed, np.zeros(array.shape[1], array.dtype), 1.0)

    def _warn_constant_views(self, shared: SharedCodes, views: Views) -> None:
        constant = [name for name, part in zip(views.names, shared.views.parts, strict=True) if part.sqnorm == 0]
        if constant and len(views.names) > 1:
            what = "equal" if self._centred else "zero"
            warnings.warn(
                f"All samples are {what} in views {constant}: they have no effect.", UserWarning, stacklevel=5
            )

    def _monitor(self, shared: SharedCodes, hook: Hook) -> Monitor:
        """Return the monitor of a fit to these views in unit scale; the callback gets objectives in their units."""
        unit = shared.compact.scale**2

        def report(iteration: int, value: float, snapshot: Snapshot) -> bool:
            return hook(iteration, value * unit, lambda: copy(self)._keep(shared, *snapshot()["fitted"]))

        return Monitor(self.max_iter, self.tol, report)

    # ---- fitted attributes ---------------------------------------------------------------------------------------

    def _keep(self, shared: SharedCodes, solution: Solution, view_layers: list[list[Layer]]) -> Self:
        """Set the fitted attributes; the history of the solution is in the unit of the views that were solved for."""
        H, Z, powers = (solution.factors[name] for name in ("H", "Z", "powers"))
        self.weights_, self.views_ = solution.factors["weights"], {}
        for name, power, part, layers in zip(self.view_names_, powers, shared.views.parts, view_layers, strict=True):
            if isinstance(part, Normalized):
                own = in_units(layers, part.size)
                length = common_length(part, H, own[-1].components)
                self.views_[name] = View(float(power), own, part.mean, part.size, length)
            else:
                self.views_[name] = View(float(power), in_units(layers, 1.0), np.zeros(part.shape[1], part.dtype), 1.0)
        views = self.views_.values()
        self.components_ = np.hstack([view.layers[-1].components for view in views])
        self.mean_ = np.concatenate([view.mean for view in views])
        self.layers_ = [Layer.of(self.components_, self.components_, H)]
        for name, view in self.views_.items():
            self.views_[name] = replace(view, layers=[_finished(layer, H, self.layers_[-1]) for layer in view.layers])
        self.objective_history_ = np.array(solution.history) * shared.compact.scale**2
        self.history_iterations_ = np.array(solution.iterations)
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        self.kkt_residual_ = solution.residual
        weighted = Z * shared.roots(powers, Z.dtype)
        self._basis = readout_basis(H, weighted, *shared.spread(powers), self.n_clusters or H.shape[1])
        self.embedding_ = Readout(self._basis, 1.0)(self.layers_[-1].representation)
        self.clusters_ = self._clusters()
        return self

    # ---- what a fitted model is used for -------------------------------------------------------------------------

    _cluster_form: Form = "whitened"

    def _reader(self, place, form: Form) -> Readout:
        """Return a form of the shared codes; that of ``embedding_`` is the whitened one."""
        if form == "whitened":
            return Readout(self._basis, 1.0)
        return reader(form, replace(self._at(place), components=self._weighted().T))

    def _clusters_at(self, places: list, form: Form, random_state, n_init: int = 20) -> Clusters:
        H, read = self._fit_codes(places), self._joined_reader(places, form)
        if self.clustering == "kmeans":
            return Clusters(H, random_state, read, n_init=n_init)
        n_directions = None if isinstance(form, str) else 3
        return GraphClusters(H, random_state, read, self._cluster_graph, n_directions=n_directions, n_init=n_init)

    _sample_attributes = ("embedding_",)

    def _without_training_codes(self) -> Self:
        kept = super()._without_training_codes()
        kept.views_ = {
            name: replace(view, layers=[layer.without_codes() for layer in view.layers])
            for name, view in self.views_.items()
        }
        return kept

    def _kept_samples(self) -> list[str]:
        hidden = [
            f"views_[{name!r}].layers[{i}].representation"
            for name, view in self.views_.items()
            for i, layer in enumerate(view.layers)
            if len(layer.representation)
        ]
        return super()._kept_samples() + hidden

    def _weighted(self) -> np.ndarray:
        """Return transposed components, with the weights of their views."""
        return np.vstack([v.layers[-1].components.T * (v.size * v.weight**0.5) for v in self.views_.values()])

    def _coded(self, views: Views) -> np.ndarray:
        """Return codes of samples."""
        shared, *known = self._known(views)
        return shared.code(*known)

    def _explained(self, views: Views) -> float:
        """Return the share of samples their codes explain."""
        shared, *known = self._known(views)
        return shared.explained(*known)

    def _known(self, views: Views) -> tuple[SharedCodes, np.ndarray, np.ndarray]:
        """Return samples normalised as in the fit, the weights of the views and their components."""
        shared = self._shared_codes(views, self.views_)
        weights = np.array([view.weight for view in self.views_.values()])
        return shared, weights, self._weighted().astype(shared.views.dtype)

    def inverse_transform(self, H: ArrayLike) -> np.ndarray:  # type: ignore[override]  # one set of codes
        """Reconstruct the views of samples from codes, each view in its own units.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_codes)
            The codes that all views share, those of ``readout="raw"``.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features of all views)
            The views side by side, ``s_v (mean_v + H @ components_v)``. Codes are of samples of unit norm and do not
            hold their lengths: s_v is the length that, given to all training samples, has the smallest squared error
            in view v, ``views_[v].length``; 1 without ``normalize``.
        """
        check_is_fitted(self)
        X = self._check_codes(H, self.layers_[-1]) @ self.components_ + self.mean_
        lengths = np.repeat([view.length for view in self.views_.values()], self.view_sizes_)
        return X * lengths.astype(X.dtype)


def _finished(layer: Layer, H: np.ndarray, shared: Layer) -> Layer:
    """Return a layer of a view as users get it; the codes H that views share are those of the shared layer."""
    if layer.representation is not H:
        return Layer.of(layer.weights, layer.components, layer.representation, layer.ridge)
    return replace(layer, representation=shared.representation, whitening=shared.whitening, mean=shared.mean)

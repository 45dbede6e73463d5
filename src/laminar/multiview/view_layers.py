"""`LayeredViews`: codes on the layers of single views, and on the one they share."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import reader
from .._base.coding import Layer, in_units_of, nameable
from .._engine.constraints import NonNegative
from .._engine.regression import best_codes
from .._utils import threads
from .._utils.typing import ViewData
from .._utils.validation import check_choice
from .._utils.views import Views
from .base import SharedCoder
from .consensus import SharedCodes
from .layers import View


class LayeredViews(SharedCoder):
    """Base of the models with hidden layers of every view below the shared codes; views are not centred."""

    @property
    def _centred(self) -> bool:
        return False

    def _shared_codes(self, views: Views, fitted: dict[object, View] | None = None) -> SharedCodes:
        shared = super()._shared_codes(views, fitted)
        # Zero is no mean of views that are not centred: the less of a sample is known, the nearer it is to the mean.
        return shared if fitted is None else replace(shared, centre=self.layers_[-1].representation.mean(axis=0))

    def transform(  # type: ignore[override]  # layers of views
        self,
        X: ViewData,
        *,
        layer: int = -1,
        view: object = None,
        observed: ArrayLike | None = None,
        readout: str = "raw",
    ) -> np.ndarray:
        """Compute the codes of samples for the fitted components.

        The shared codes of a sample minimise ``sum_v w_v ||x_v - h Psi_v||^2`` over h >= 0 and the views it has; one
        that lacks views has in addition the ridge ``0.1 / k ||h - m||^2 sum_v w_v ||Psi_v||^2`` over the views it has,
        with m the mean code of the training samples. Codes of layer i of one view minimise ``||x_v - h Z_i ...
        Z_1||^2``. Neither has the penalty, which is of the samples of the fit.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes. New samples may lack views: a view may be absent from a dict, or be None in a
            list.
        layer : int, default=-1
            Position of the layer; the last is the one that all views share. Others require ``view``.
        view : name or position of a view, or None, default=None
            View, as in ``view_names_``, whose layer and samples are used alone; None means the shared codes of all.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.
        readout : {"raw", "whitened", "isometric"}, default="raw"
            Form of the codes: H itself; whitened, with rows of unit norm, which does not depend on the basis of the
            codes; or times the square root of the Gram matrix of the components, so that distances are those of the
            reconstructions, for classifiers.

        Returns
        -------
        H : ndarray of shape (n_samples, n_codes)
            Codes.
        """
        return nameable(self, self._transform(X, observed, readout, layer=layer, view=view))

    def _transform(self, X, observed=None, readout="raw", *, layer=-1, view=None) -> np.ndarray:  # type: ignore[override]
        check_is_fitted(self)
        if view is None:
            if layer not in (-1, len(next(iter(self.views_.values())).layers) - 1):
                raise ValueError(f"layer={layer!r} belongs to one view: give view=, one of {list(self.view_names_)}.")
            return super()._transform(X, observed, readout)
        found = self._view_layer(layer, view)
        check_choice("readout", readout, ("raw", "whitened", "isometric"))
        views, v = self._read_new(X, observed), self.view_names_.index(view)
        lacking = int((~views.observed[:, v]).sum())
        if lacking:
            raise ValueError(f"{lacking} samples lack view {view!r}, whose layers are read: leave them out.")
        with threads.own_threads():
            part = self._part(views.arrays[v], views.observed[:, v], self.views_[view])
            Z = np.ascontiguousarray(found.components.T, dtype=part.dtype)
            return reader(readout, found)(in_units_of(part, best_codes(part, Z, NonNegative())))

    def _view_layer(self, layer: int, view: object) -> Layer:
        """Return one layer of one view."""
        if view not in self.view_names_:
            raise ValueError(f"view={view!r} was not there in fit, which had {list(self.view_names_)}.")
        layers = self.views_[view].layers
        n = len(layers)
        if not isinstance(layer, Integral) or not -n <= layer < n:
            raise ValueError(
                f"layer={layer!r} is out of range: a view has {n} layers, give a whole number from {-n} to {n - 1}."
            )
        return layers[layer]

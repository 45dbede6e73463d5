"""`LayeredViews`: codes on the layers of single views, and on the one they share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .._base.clusters import Form, Readout, reader, side_by_side
from .._base.coding import Layer, in_units_of
from .._engine.constraints import NonNegative
from .._engine.regression import best_codes
from .._utils import tall, threads
from .._utils.typing import ViewData
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
        if fitted is None:
            return shared
        top = self.layers_[-1]
        return replace(shared, centre=top.representation.mean(axis=0) if top.mean is None else top.mean)

    # ---- places: a layer of a view, or the layer that all views share --------------------------------------------

    @property
    def _n_layers(self) -> int:
        return len(next(iter(self.views_.values())).layers)

    def _places(self, layer=None, view=None) -> list:
        """Return (position, view) of the layers that are meant, with None for the view of the shared one."""
        places, top = super()._places(layer), self._n_layers - 1
        if view is not None and view not in self.view_names_:
            raise ValueError(f"view={view!r} was not there in fit, which had {list(self.view_names_)}.")
        names = self.view_names_ if view is None else [view]
        hidden = [(i, name) for name in names for i in places if i < top or view is not None]
        return [*hidden, (top, None)] if view is None and top in places else hidden

    def _at(self, place) -> Layer:
        i, view = place
        return self.layers_[-1] if view is None else self.views_[view].layers[i]

    def _place_name(self, place) -> str:
        i, view = place
        return f"layer{i}" if view is None else f"{view if isinstance(view, str) else f'view{view}'}_layer{i}"

    def _reader(self, place, form: Form) -> Readout:
        return super()._reader(place, form) if place[1] is None else reader(form, self._at(place))

    # ---- codes ---------------------------------------------------------------------------------------------------

    def fit_transform(  # layers of views
        self,
        X: ViewData,
        y: ArrayLike | None = None,
        *,
        layer: int | str | None = None,
        view: object = None,
        readout: Form | None = None,
        **parameters,
    ) -> np.ndarray:
        """Fit the estimator to the views and return the codes of the fit.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes.
        y : Ignored
            Not used, present for API consistency.
        layer : int, "all" or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.
        view : name or position of a view, or None, default=None
            View as for `transform`.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the codes as for `transform`; None means the parameter ``readout``.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        H : ndarray of shape (n_samples, n_codes)
            Codes of the training samples as the fit found them, which depend on their neighbours. `transform` codes
            every sample by itself and may give other codes for the same samples.
        """
        self.fit(X, y, **parameters)
        return self._fit_output(X, self._places(layer, view), self._form(readout, self._code_form))

    def transform(  # type: ignore[override]  # layers of views
        self,
        X: ViewData,
        *,
        layer: int | str | None = None,
        view: object = None,
        observed: ArrayLike | None = None,
        readout: Form | None = None,
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
        layer : int, "all" or None, default=None
            Position of the layer; the last is the one that all views share. Of a lower one the codes of all views are
            side by side. "all" is the lower layers of every view, then the shared one. None means the parameter
            ``layer``.
        view : name or position of a view, or None, default=None
            View, as in ``view_names_``, whose layers and samples are used alone; None means all.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the codes: H itself, which is also "auto"; whitened, with rows of unit norm, which does not depend
            on the basis of the codes, for clusters; or times the square root of the Gram matrix of the components, so
            that distances are those of the reconstructions, for classifiers. A number is between isometric, 0, and
            whitened, 1. None means the parameter ``readout``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_codes)
            Codes.
        """
        places, form = self._places(layer, view), self._form(readout, self._code_form)
        return self._output(self._parts(X, places, form, observed=observed), X, places)

    def _transform(self, X, layer=-1, readout="raw", *, view=None, **coding) -> np.ndarray:
        return side_by_side(self._parts(X, self._places(layer, view), readout, **coding))

    def _codes_at(self, X, places: list, observed=None) -> list[np.ndarray]:  # type: ignore[override]
        with threads.own_threads():
            views = self._read_new(X, observed)
            codes = [self._coded(views) if view is None else self._coded_alone(views, i, view) for i, view in places]
            return [tall.returned(H) for H in codes]

    def _coded_alone(self, views: Views, i: int, view: object) -> np.ndarray:
        """Return codes of samples on one layer of one view."""
        v = self.view_names_.index(view)
        lacking = int((~views.observed[:, v]).sum())
        if lacking:
            raise ValueError(f"{lacking} samples lack view {view!r}, whose layers are read: leave them out.")
        part = self._part(views.arrays[v], views.observed[:, v], self.views_[view])
        Z = np.ascontiguousarray(self.views_[view].layers[i].components.T, dtype=part.dtype)
        return in_units_of(part, best_codes(part, Z, NonNegative()))

"""`ViewReader`: views in every form they may come in; `ViewCoder`: the methods of a fitted model of several views."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from .._persistence.estimator import Estimator
from .._utils import tall, threads
from .._utils.place import Place
from .._utils.stored import refuse_stored
from .._utils.typing import ViewData
from .._utils.validation import clear_errors
from .._utils.views import Views, first_view, is_table, prepared, read_views, split_columns
from .._utils.workers.reading import is_dask, refuse_dask
from .._utils.workers.views import has_dask, read_dask_views
from .clusters import Form
from .coding import Coder

_ARRAYS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


class ViewReader(Estimator):
    """Base of the estimators of several views: X is a list or dict of views, or one array with ``view_sizes``."""

    def _check_data(self, views: Views) -> None:
        """Raise an error for views that the model is not defined for."""

    _takes_tensors = False  # X is several arrays
    _streams = False  # whether views on workers are used

    @clear_errors()
    def _read(self, X, observed=None, *, allow_missing: bool = True) -> Views:
        """Read the views to fit, all of one floating type, and set their names and sizes."""
        X = prepared(X, self.view_sizes)
        if self._streams and has_dask(X):
            self.__dict__.pop("feature_names_in_", None)
            views = read_dask_views(_by_position(X, self.view_sizes), observed, allow_missing=allow_missing)
        else:
            views = self._read_here(X, observed, allow_missing)
        self.view_names_ = views.names
        self.view_sizes_ = np.array([array.shape[1] for array in views.arrays])
        self.n_features_in_ = int(self.view_sizes_.sum())
        views = _of_one_type(views)
        self._check_data(views)
        return views

    def _read_here(self, X, observed, allow_missing: bool) -> Views:
        """Read views in this process."""
        if _several(X):
            self.__dict__.pop("feature_names_in_", None)
        else:
            refuse_stored(X, type(self).__name__)
            refuse_dask(X, type(self).__name__)
            X = validate_data(self, X, **_ARRAYS)
        return read_views(X, self.view_sizes, observed=observed, allow_missing=allow_missing, accept_sparse=True)

    @clear_errors()
    def _read_new(self, X, observed=None) -> Views:
        """Read the views to code, as many as in `fit`; one that no sample has is empty."""
        check_is_fitted(self)
        given = self._named(prepared(X, self.view_sizes))
        mask = None if observed is None else np.asarray(observed)
        present = []
        for v, name in enumerate(self.view_names_):
            if name in given and not (_is_blank(given[name]) or (mask is not None and not mask[:, v].any())):
                present.append(v)
        if not present:
            raise ValueError("no sample has any view: give at least one view of each.")
        named = {self.view_names_[v]: given[self.view_names_[v]] for v in present}
        has = None if mask is None else mask[:, present]
        if self._streams and has_dask(named):
            views = read_dask_views(named, has, allow_missing=True)
        else:
            views = read_views(named, observed=has, allow_missing=True, accept_sparse=True)
        for v, array in zip(present, views.arrays, strict=True):
            if array.shape[1] != self.view_sizes_[v]:
                raise ValueError(
                    f"view {self.view_names_[v]!r} has {array.shape[1]} features, but {type(self).__name__} was fitted "
                    f"on {self.view_sizes_[v]} of them."
                )
        views = self._completed(_of_one_type(views), present)
        self._check_data(views)
        return views

    def _named(self, X) -> dict[Hashable, Any]:
        """Return the views of X that are there, by the names of `fit`."""
        names = self.view_names_
        if not _several(X):
            refuse_stored(X, type(self).__name__)
            if not is_dask(X):
                X = validate_data(self, X, reset=False, **_ARRAYS)
            edges = np.cumsum([0, *self.view_sizes_])
            return {name: X[:, edges[v] : edges[v + 1]] for v, name in enumerate(names)}
        if not isinstance(X, Mapping):
            if len(X) != len(names):
                raise ValueError(
                    f"{len(X)} views were given, but {type(self).__name__} was fitted on {len(names)}: put None where "
                    "there is nothing of a view."
                )
            return {name: view for name, view in zip(names, X, strict=True) if view is not None}
        unknown = [name for name in X if name not in names]
        if unknown:
            raise ValueError(f"views {unknown} were not there in fit, which had {list(names)}.")
        return {name: view for name, view in X.items() if view is not None}

    def _completed(self, views: Views, present: list[int]) -> Views:
        n_samples, dtype = views.observed.shape[0], views.arrays[0].dtype
        observed = np.zeros((n_samples, len(self.view_names_)), dtype=bool)
        observed[:, present] = views.observed
        workers = tall.workers_of(views.arrays[0])
        arrays: list[Any] = [_no_entries((n_samples, int(size)), dtype, workers) for size in self.view_sizes_]
        for v, array in zip(present, views.arrays, strict=True):
            arrays[v] = array
        return Views(arrays, self.view_names_, observed)


class ViewCoder(ViewReader, Coder):
    """Base of the factorisations of several views.

    An estimator implements the codes of views, ``_coded``, and the part of the views they explain, ``_explained``.
    """

    @property
    def labels_(self) -> np.ndarray:
        """Cluster of each training sample."""
        return self.cluster()

    def fit_transform(  # one way to code samples
        self,
        X: ViewData,
        y: ArrayLike | None = None,
        *,
        layer: int | str | None = None,
        readout: Form | None = None,
        **parameters,
    ) -> np.ndarray:
        """Fit the estimator to the views and return the codes of the fit.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes.
        y : array-like or None, default=None
            Labels, for the estimators whose `fit` uses them.
        layer : int, str or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the codes as for `transform`; None means the parameter ``readout``.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        H : ndarray of shape (n_samples, n_codes)
            Codes of the training samples as the fit found them, which depend on its labels or neighbours. `transform`
            codes every sample by itself and may give other codes for the same samples.
        """
        self.fit(X, y, **parameters)
        return self._fit_output(X, self._places(layer), self._form(readout, self._code_form))

    def transform(  # type: ignore[override]  # samples that lack views
        self,
        X: ViewData,
        *,
        layer: int | str | None = None,
        observed: ArrayLike | None = None,
        readout: Form | None = None,
    ) -> np.ndarray:
        """Compute the codes of samples for the fitted components, from the views they have.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes. New samples may lack views: a view may be absent from a dict, or be None in a
            list.
        layer : int, "all" or None, default=None
            Position in ``layers_``, which has one layer. None means the parameter ``layer``.
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
            Codes, one set for all views.
        """
        places, form = self._places(layer), self._form(readout, self._code_form)
        return self._output(self._parts(X, places, form, observed=observed), X, places)

    def _codes_at(self, X, places: list, observed=None) -> list[np.ndarray]:  # type: ignore[override]
        """Return the codes of samples at each place."""
        with threads.own_threads():
            views = self._read_new(X, observed)
            return [tall.returned(self._coded(views)) for _ in places]

    def score(self, X: ViewData, y: ArrayLike | None = None) -> float:
        """Return the explained part of the views, each weighted as in `fit`; 1 for a perfect fit.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes. New samples may lack views: a view may be absent from a dict, or be None in a
            list.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Higher is better.
        """
        check_is_fitted(self)
        with threads.own_threads():
            return self._explained(self._read_new(X))


def _several(X) -> bool:
    """Whether these are views, and not one array."""
    if not isinstance(X, list | tuple):
        return isinstance(X, Mapping) and not sp.issparse(X)  # some sparse matrices are dicts too
    return all(item is None for item in X) or is_table(first_view(X))


def _by_position(X, view_sizes) -> Mapping[Hashable, Any]:
    """Return the dask arrays of views by their names or positions; one array has them side by side."""
    if isinstance(X, Mapping):
        return X
    if isinstance(X, list | tuple):
        return dict(enumerate(X))
    return split_columns(X, view_sizes)


def _no_entries(shape: tuple[int, int], dtype: np.dtype, workers: Place | None) -> Any:
    """Return a view that no sample has."""
    return sp.csr_array(shape, dtype=dtype) if workers is None else tall.zeros(shape, dtype, workers)


def _is_blank(view) -> bool:
    """Whether no sample has this view; of one on workers it is found there."""
    if sp.issparse(view) or is_dask(view):
        return False
    rows = [row for row in view if row is not None] if isinstance(view, list | tuple) else view
    array = np.asarray(rows)
    return array.size == 0 or (array.dtype.kind == "f" and bool(np.isnan(array).all()))


def _of_one_type(views: Views) -> Views:
    dtype = np.result_type(*(array.dtype for array in views.arrays))
    return views._replace(arrays=[array.astype(dtype, copy=False) for array in views.arrays])

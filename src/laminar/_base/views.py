"""`ViewCoder`: the methods of a fitted model of several views."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from .._utils import threads
from .._utils.typing import ViewData
from .._utils.validation import check_choice
from .._utils.views import Views, first_view, is_table, read_views
from .coding import Coder, nameable, no_text

_ARRAYS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


class ViewCoder(Coder):
    """Base of the estimators of several views: X is a list or dict of views, or one array with ``view_sizes``.

    An estimator implements the codes of views, ``_coded``, the part of the views they explain, ``_explained``, and the
    forms of the codes, ``_read_out``.
    """

    @no_text()
    def _read(self, X, observed=None, *, allow_missing: bool = True) -> Views:
        """Read the views to fit, all of one floating type, and set their names and sizes."""
        if _several(X):
            self.__dict__.pop("feature_names_in_", None)
        else:
            X = validate_data(self, X, **_ARRAYS)
        views = read_views(X, self.view_sizes, observed=observed, allow_missing=allow_missing, accept_sparse=True)
        self.view_names_ = views.names
        self.view_sizes_ = np.array([array.shape[1] for array in views.arrays])
        self.n_features_in_ = int(self.view_sizes_.sum())
        views = _of_one_type(views)
        self._check_data(views)
        return views

    @no_text()
    def _read_new(self, X, observed=None) -> Views:
        """Read the views to code, as many as in `fit`; one that no sample has is empty."""
        check_is_fitted(self)
        given = self._named(X)
        mask = None if observed is None else np.asarray(observed)
        present = []
        for v, name in enumerate(self.view_names_):
            if name in given and not (_is_blank(given[name]) or (mask is not None and not mask[:, v].any())):
                present.append(v)
        if not present:
            raise ValueError("no sample has any view: give at least one view of each.")
        views = read_views(
            {self.view_names_[v]: given[self.view_names_[v]] for v in present},
            observed=None if mask is None else mask[:, present],
            allow_missing=True,
            accept_sparse=True,
        )
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
        return dict(X)

    def _completed(self, views: Views, present: list[int]) -> Views:
        n_samples, dtype = views.observed.shape[0], views.arrays[0].dtype
        observed = np.zeros((n_samples, len(self.view_names_)), dtype=bool)
        observed[:, present] = views.observed
        arrays: list[Any] = [sp.csr_array((n_samples, size), dtype=dtype) for size in self.view_sizes_]
        for v, array in zip(present, views.arrays, strict=True):
            arrays[v] = array
        return Views(arrays, self.view_names_, observed)

    @property
    def labels_(self) -> np.ndarray:
        """Cluster of each training sample."""
        check_is_fitted(self)
        with self._stages():
            return self.clusters_.predict(self.layers_[-1].representation, self.n_clusters or len(self.components_))

    def transform(  # type: ignore[override]  # samples that lack views instead of layers
        self, X: ViewData, *, observed: ArrayLike | None = None, readout: str = "raw"
    ) -> np.ndarray:
        """Compute the codes of samples for the fitted components, from the views they have.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes. New samples may lack views: a view may be absent from a dict, or be None in a
            list.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.
        readout : {"raw", "whitened", "isometric"}, default="raw"
            Form of the codes: H itself; the form that is clustered, with rows of unit norm, which does not depend on
            the basis of the codes; or times the square root of the Gram matrix of the components, so that distances are
            those of the reconstructions, for classifiers.

        Returns
        -------
        H : ndarray of shape (n_samples, n_codes)
            Codes, one set for all views.
        """
        return nameable(self, self._transform(X, observed, readout))

    def _transform(self, X, observed=None, readout: str = "raw") -> np.ndarray:  # type: ignore[override]
        """Return the codes as an array whatever the configuration of `set_output`."""
        check_is_fitted(self)
        check_choice("readout", readout, ("raw", "whitened", "isometric"))
        with threads.own_threads():
            H = self._coded(self._read_new(X, observed))
        return self._read_out(H, readout)

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


def _is_blank(view) -> bool:
    """Whether no sample has this view."""
    if sp.issparse(view):
        return False
    rows = [row for row in view if row is not None] if isinstance(view, list | tuple) else view
    array = np.asarray(rows)
    return array.size == 0 or (array.dtype.kind == "f" and bool(np.isnan(array).all()))


def _of_one_type(views: Views) -> Views:
    dtype = np.result_type(*(array.dtype for array in views.arrays))
    return views._replace(arrays=[array.astype(dtype, copy=False) for array in views.arrays])

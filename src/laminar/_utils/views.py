"""Validation of several views of the same samples: arrays with the same rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from .stored import refuse_stored
from .workers.reading import refuse_dask

__all__ = ["Views", "read_views"]

_RESHAPE = (
    "a view has rows, its samples, and columns, its features. Reshape your data: array.reshape(-1, 1) is one feature "
    "of many samples, array.reshape(1, -1) one sample of many features."
)
_FORMS = "a list or a dict of arrays (n_samples, n_features), or one such array"


class Views(NamedTuple):
    """Validated views.

    Examples
    --------
    >>> arrays, names, observed = read_views({"pixels": [[1.0, 2.0], [3.0, 4.0]], "words": [[0.0], [1.0]]})
    >>> names, [array.shape for array in arrays], bool(observed.all())
    (['pixels', 'words'], [(2, 2), (2, 1)], True)
    """

    arrays: list[np.ndarray]
    """One array (n_samples, n_features) per view, float32 or float64; the row of a sample without that view is zero."""

    names: list[Hashable]
    """Keys of the dict, or positions."""

    observed: np.ndarray
    """Mask (n_samples, n_views) of the views that each sample has."""


def read_views(
    views: Mapping[Hashable, ArrayLike] | Sequence[ArrayLike] | ArrayLike,
    view_sizes: Sequence[int] | None = None,
    *,
    observed: ArrayLike | None = None,
    allow_missing: bool = False,
    accept_sparse: bool = False,
) -> Views:
    """Read views from a list or a dict of arrays, or from one array of all views side by side.

    Parameters
    ----------
    views : list or dict of array-like, or one array-like
        Arrays (n_samples, n_features) with the same rows. One array is one view, or all of them side by side when
        `view_sizes` is given. A sample lacks a view when its row there is None, or NaN throughout.
    view_sizes : sequence of int or None
        Number of columns of each view in one stacked array.
    observed : array-like of bool of shape (n_samples, n_views) or None
        Mask of the views that each sample has, in addition to None and NaN; other entries are ignored.
    allow_missing : bool
        Whether samples may lack a view. Every sample needs one at least.
    accept_sparse : bool
        Whether sparse matrices are accepted, and kept as CSR; missing views are then given by `observed`.

    Returns
    -------
    Views
        The arrays, their names, and the mask.

    Examples
    --------
    >>> stacked = [[1.0, 2.0, 3.0], [4.0, 5.0, float("nan")]]
    >>> arrays, names, observed = read_views(stacked, view_sizes=[2, 1], allow_missing=True)
    >>> arrays[1].ravel(), observed.tolist()
    (array([3., 0.]), [[True, True], [True, False]])
    >>> read_views([[[1.0], [2.0]], [[1.0], None]])
    Traceback (most recent call last):
    ValueError: 1 of 2 samples lack view 1 (NaN or None), and every sample is needed in every view here: ...
    """
    named = _named(prepared(views, view_sizes), view_sizes, accept_sparse)
    arrays, names = list(named.values()), list(named)
    n_samples = arrays[0].shape[0]
    lengths = {name: array.shape[0] for name, array in named.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"views must have the same samples as rows, but their numbers of rows are {lengths}.")
    mask = read_mask(observed, (n_samples, len(arrays)))
    mask &= np.column_stack([~_missing_rows(array, mask[:, v], names[v]) for v, array in enumerate(arrays)])
    if not mask.all():
        check_missing(mask, names, allow_missing)
        arrays = [_zero_missing(array, mask[:, v]) for v, array in enumerate(arrays)]
    return Views(arrays, names, mask)


def prepared(views: Any, view_sizes: Sequence[int] | None = None) -> Any:
    """Return views in the form they came in, masked entries as NaN; refuse what has one dimension or no view.

    Examples
    --------
    >>> prepared([np.ma.array([[1, 2]], mask=[[False, True]]), None])
    [array([[ 1., nan]]), None]
    """
    if isinstance(views, Mapping) and not sp.issparse(views):
        return {name: _nan_where_masked(view) for name, view in views.items()}
    if not isinstance(views, list | tuple):
        if getattr(views, "ndim", 2) == 1:
            raise ValueError(f"X is one-dimensional, of shape {views.shape}: {_RESHAPE}")
        return _nan_where_masked(views)
    first = first_view(views)
    if first is None and len(views):
        raise ValueError("no sample has any view: all in X are None.")
    if isinstance(first, Number):
        raise ValueError(f"X is a list of {len(views)} numbers: {_RESHAPE}")
    if getattr(first, "ndim", 2) == 1 and view_sizes is None:
        raise ValueError(
            f"X is a list of {len(views)} one-dimensional arrays, rows of one view or views of one feature each. "
            "Reshape your data: np.vstack(X) is one view of these rows, [x.reshape(-1, 1) for x in X] are views of one "
            "feature."
        )
    return [_nan_where_masked(view) for view in views]


def _nan_where_masked(view: Any) -> Any:
    if isinstance(view, list | tuple):
        return [_nan_where_masked(row) for row in view] if any(np.ma.is_masked(row) for row in view) else view
    if not np.ma.is_masked(view):
        return view
    return (view if view.dtype.kind == "f" else view.astype(np.float64)).filled(np.nan)


def _named(views: Any, view_sizes: Sequence[int] | None, accept_sparse: bool) -> dict[Hashable, Any]:
    """Return the validated arrays by name."""
    if _is_one_table(views):
        return split_columns(_check(views, accept_sparse, input_name="X"), view_sizes)
    if not isinstance(views, Mapping | list | tuple):
        raise TypeError(f"views must be {_FORMS}; got {type(views).__name__}.")
    if view_sizes is not None:
        raise ValueError(f"view_sizes={view_sizes!r} is for one stacked array, but {len(views)} views were given.")
    if not views:
        raise ValueError(f"there are no views; give {_FORMS}.")
    items = views.items() if isinstance(views, Mapping) else enumerate(views)
    return {name: _read_one(view, name, accept_sparse) for name, view in items}


def split_columns(stacked: Any, view_sizes: Sequence[int] | None) -> dict[Hashable, Any]:
    """Return the views of an array that has them side by side; all of it is one without their sizes."""
    if view_sizes is None:
        return {0: stacked}
    edges = np.cumsum([0, *view_sizes])
    if min(view_sizes, default=0) < 1 or edges[-1] != stacked.shape[1]:
        raise ValueError(
            f"view_sizes must be numbers of columns above 0 that add up to the {stacked.shape[1]} of the stacked "
            f"array; got {list(view_sizes)}, which add up to {edges[-1]}."
        )
    return {v: stacked[:, a:b] for v, (a, b) in enumerate(pairwise(edges))}


def _is_one_table(views: Any) -> bool:
    if isinstance(views, list | tuple):
        return len(views) > 0 and not is_table(first_view(views))
    return sp.issparse(views) or hasattr(views, "__array__")  # sparse first: some are dicts too


def is_table(item: Any) -> bool:
    """Distinguish a view from a row of numbers."""
    if isinstance(item, list | tuple):
        return np.ndim(first_view(item)) > 0
    return getattr(item, "ndim", 0) > 1


def first_view(items: Sequence) -> Any:
    return next((item for item in items if item is not None), None)


def _read_one(view: Any, name: Hashable, accept_sparse: bool) -> Any:
    if view is None:
        raise ValueError(f"view {name!r} is None, so that no sample has it: leave this view out.")
    if getattr(view, "ndim", 2) == 1:
        raise ValueError(f"view {name!r} is one-dimensional, of shape {view.shape}: {_RESHAPE}")
    if isinstance(view, list | tuple):
        width = max((len(row) for row in view if row is not None), default=0)
        view = [[np.nan] * width if row is None else row for row in view]
    try:
        return _check(view, accept_sparse)
    except (TypeError, ValueError) as error:
        raise type(error)(f"view {name!r}: {error}") from None


def _check(view: Any, accept_sparse: bool, **keywords) -> Any:
    refuse_stored(view, "a model of several views")
    refuse_dask(view, "this model of several views")
    return check_array(
        view,
        accept_sparse="csr" if accept_sparse else False,
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        **keywords,
    )


def read_mask(observed: ArrayLike | None, shape: tuple[int, int]) -> np.ndarray:
    """Read which sample has which view; None is all."""
    if observed is None:
        return np.ones(shape, dtype=bool)
    mask = np.array(observed)
    if mask.shape != shape or mask.dtype != bool:
        raise ValueError(
            f"observed must be boolean with a row a sample and a column a view, shape {shape}; "
            f"got {mask.dtype} of shape {mask.shape}."
        )
    return mask


def _missing_rows(array: Any, observed: np.ndarray, name: Hashable) -> np.ndarray:
    """Mark rows in which all entries are NaN; raise a ValueError for an observed row in which some are."""
    if sp.issparse(array):
        if np.isnan(array.data).any():
            raise ValueError(f"view {name!r}: a sparse view contains NaN; mark missing samples with observed=.")
        return np.zeros(array.shape[0], dtype=bool)
    unknown = np.isnan(array)
    missing = unknown.all(axis=1)
    partly_missing(np.flatnonzero(unknown.any(axis=1) & ~missing & observed), name)
    return missing


def partly_missing(partly: np.ndarray, name: Hashable) -> None:
    """Refuse rows of a view some entries of which are unknown."""
    if len(partly):
        raise ValueError(
            f"view {name!r} contains NaN or masked entries in a part of {len(partly)} rows, the first of them row "
            f"{partly[0]}: a sample has all of a view or nothing of it. Fill these entries in, as "
            "sklearn.impute.SimpleImputer does, or make the whole row NaN for ClusterEnsemble, which is fitted "
            "to samples that lack views."
        )


def check_missing(mask: np.ndarray, names: list, allow_missing: bool) -> None:
    """Refuse missing views where none may be, views that no sample has, and samples without a view."""
    counts, n_samples = (~mask).sum(axis=0), len(mask)
    worst = int(counts.argmax())
    if not allow_missing:
        raise ValueError(
            f"{counts[worst]} of {n_samples} samples lack view {names[worst]!r} (NaN or None), and every sample is "
            "needed in every view here: drop these samples, fill the view in, or use ClusterEnsemble."
        )
    if counts[worst] == n_samples:
        raise ValueError(f"no sample has view {names[worst]!r}: leave this view out.")
    without = np.flatnonzero(~mask.any(axis=1))
    if len(without):
        raise ValueError(f"{len(without)} samples have no view at all, the first of them row {without[0]}: drop them.")


def _zero_missing(array: Any, observed: np.ndarray) -> Any:
    if sp.issparse(array):
        return sp.csr_array(sp.diags_array(observed.astype(array.dtype)) @ array)
    return np.where(observed[:, None], array, array.dtype.type(0))

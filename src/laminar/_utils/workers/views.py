"""Several views of the same samples on workers, some samples without some of the views."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import tall
from ..views import Views, check_missing, partly_missing, read_mask
from .array import DistributedArray
from .reading import is_dask, on_workers


def has_dask(views: Any) -> bool:
    """Whether one of several views, or a stack of them, is of dask."""
    if isinstance(views, Mapping):
        return any(map(is_dask, views.values()))
    return any(map(is_dask, views)) if isinstance(views, list | tuple) else is_dask(views)


def read_dask_views(named: Mapping[Hashable, Any], observed: ArrayLike | None, *, allow_missing: bool) -> Views:
    """Compute views on the workers and find out which sample has which; missing rows are zero.

    As `read_views` does of arrays in memory. Which sample has which view, a row of bytes for each, comes to this
    process.
    """
    names = list(named)
    local = [name for name, view in named.items() if not is_dask(view)]
    if local:
        raise TypeError(f"views {local} are not of dask, and the others are: give all of them as dask arrays.")
    arrays = on_workers(list(named.values()))
    mask = read_mask(observed, (len(arrays[0]), len(arrays)))
    mask &= np.column_stack([~_missing_rows(X, mask[:, v], names[v]) for v, X in enumerate(arrays)])
    if not mask.all():
        check_missing(mask, names, allow_missing)
        arrays = [_zero_missing(X, mask[:, v]) for v, X in enumerate(arrays)]
    return Views(arrays, names, mask)


def _missing_rows(X: DistributedArray, observed: np.ndarray, name: Hashable) -> np.ndarray:
    """Mark rows in which all entries are NaN; an error for an observed row in which some are, or an infinite one."""
    extent, F = X.extent, X
    if np.isfinite([extent.low, extent.high]).all():
        return np.zeros(len(X), dtype=bool)

    def unknown(b: slice) -> np.ndarray:
        if np.isinf(F[b]).any():
            raise ValueError(f"view {name!r}: Input contains infinity or a value too large.")
        return np.stack([np.isnan(F[b]).all(1), np.isnan(F[b]).any(1)], axis=1)

    missing, some = np.concatenate(X.blocks().each(unknown)).T
    partly_missing(np.flatnonzero(some & ~missing & observed), name)
    return missing


def _zero_missing(X: DistributedArray, observed: np.ndarray) -> DistributedArray:
    has = tall.placed(observed, X)
    return tall.fill(tall.empty_like(X), lambda b: np.where(has[b, None], X[b], 0))

"""One data set from several sources that label different attributes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from laminar._utils.labels import read_attribute
from laminar._utils.typing import Data
from laminar._utils.validation import count_samples

if TYPE_CHECKING:
    from pandas import DataFrame

Source = tuple[Data, Mapping[Hashable, ArrayLike]]  # samples, and the labels of each attribute


def stack_sources(sources: Sequence[Source] | Mapping[Hashable, Source]) -> tuple[Data, DataFrame, np.ndarray]:
    """Stack data sets that label different attributes; what a source does not label is unknown there.

    Parameters
    ----------
    sources : sequence of (X, labels), or mapping from a name to such a pair
        X of shape (n_samples, n_features), the same features in every source; ``labels``, a mapping from the name of
        an attribute to its labels, of which some may be unknown (-1, NaN, None). It may be empty.

    Returns
    -------
    X : {ndarray, sparse array, DataFrame} of shape (n_samples_of_all, n_features)
        All samples, source after source; sparse if one source is, a DataFrame if all are.
    y : DataFrame
        One column an attribute, in the order in which the sources name them; None where a label is unknown. Every
        ``fit(X, y)`` that takes several attributes takes it.
    source : ndarray of shape (n_samples_of_all,)
        Name of the source of each sample, or its position if the sources have no names.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.datasets import stack_sources
    >>> X, y, source = stack_sources({
    ...     "studio": (np.zeros((2, 5)), {"pose": ["left", "right"]}),
    ...     "web": (np.ones((2, 5)), {"identity": [7, -1]}),
    ... })
    >>> X.shape, source.tolist()
    ((4, 5), ['studio', 'studio', 'web', 'web'])
    >>> y["pose"].tolist(), y["identity"].tolist()
    (['left', 'right', None, None], [None, None, 7, None])
    """
    import pandas

    named: dict[Hashable, Source] = dict(sources.items() if isinstance(sources, Mapping) else enumerate(sources))
    if not named:
        raise ValueError("sources is empty: give at least one pair of samples and labels, as (X, {'pose': y}).")
    _check_pairs(named)
    sizes = [count_samples(X) for X, _ in named.values()]
    _check_features(named)
    names = dict.fromkeys(name for _, labels in named.values() for name in labels)
    columns = {name: _column(name, named, sizes) for name in names}
    y = pandas.DataFrame(columns, index=range(sum(sizes)), dtype=object)
    return _stack([X for X, _ in named.values()]), y, np.repeat(np.array(list(named)), sizes)


def _check_pairs(named: Mapping[Hashable, Any]) -> None:
    for name, source in named.items():
        if not (isinstance(source, tuple | list) and len(source) == 2 and isinstance(source[1], Mapping)):
            raise ValueError(
                f"source {name!r} must be a pair of samples and labels by attribute, as (X, {{'pose': y}}); got a "
                f"{type(source).__name__}."
            )


def _check_features(named: Mapping[Hashable, Source]) -> None:
    """Raise a ValueError if two sources differ in the number or the names of their features."""
    features = {name: list(getattr(X, "columns", range(np.shape(X)[1]))) for name, (X, _) in named.items()}
    (first, expected), *others = features.items()
    for name, found in others:
        if len(found) != len(expected) or (
            _is_frame(named[name][0]) and _is_frame(named[first][0]) and found != expected
        ):
            raise ValueError(
                f"source {name!r} has not the features of source {first!r} ({len(found)} and {len(expected)}): bring "
                "all to the same features in the same order, images by laminar.features.Resize."
            )


def _column(name: Hashable, named: Mapping[Hashable, Source], sizes: list[int]) -> np.ndarray:
    """Return the labels of one attribute over all sources, None where unknown."""
    parts = []
    for (_, labels), n in zip(named.values(), sizes, strict=True):
        attribute = read_attribute(labels.get(name), n)
        values = np.full(n, None, dtype=object)
        values[attribute.known] = attribute.classes[attribute.codes[attribute.known]].tolist()
        parts.append(values)
    return np.concatenate(parts)


def _stack(parts: list[Any]) -> Data:
    if all(map(_is_frame, parts)):
        import pandas

        return pandas.concat(parts, ignore_index=True)
    if any(map(sp.issparse, parts)):
        return sp.vstack([sp.csr_array(X) for X in parts], format="csr")
    return np.concatenate([np.asarray(X) for X in parts])


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")

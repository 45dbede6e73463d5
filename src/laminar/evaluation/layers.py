"""Layers of any fitted model by one interface: their names, codes, features and clusters."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import STANDARD, Clusters, Form, Readout, check_form, reader, refuse_without_codes
from .._base.coding import Layer
from .._base.graph_clusters import clusters_of
from .._base.output import LayerOutput
from .._utils.typing import Seed, ViewData

__all__ = [
    "clusters_of_layer",
    "codes_of_layer",
    "layer_clusters",
    "layer_features",
    "layer_names",
    "layer_places",
    "read_out",
]


def layer_clusters(
    model: BaseEstimator,
    layer: int | str,
    n_clusters: int,
    X: ViewData | None = None,
    *,
    view: Hashable = None,
    readout: Form | None = None,
    n_init: int = 20,
    random_state: Seed = 0,
) -> np.ndarray:
    """Cluster samples by one layer of a fitted model; clusters are those of the training samples.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.
    layer : int or str
        Position in ``layers_``, or the name of an attribute, as for `layer_features`.
    n_clusters : int
        Number of clusters.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), views, or None, default=None
        Samples, coded by `transform`; None means the training samples with the codes of the fit.
    view : name or position of a view, or None, default=None
        View whose hidden layer ``layer`` is, for a model of several views; None means ``layers_``.
    readout : {"raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
        Form of the codes that is clustered, see `cluster` of the models; None means 0.75 and, of the top layer, the
        model's own.
    n_init : int, default=20
        Starts of k-means.
    random_state : int, RandomState instance or None, default=0
        Seed of k-means.

    Returns
    -------
    ndarray of shape (n_samples,)
        Cluster of each sample.

    See Also
    --------
    layer_features : The features that are clustered.
    layer_attribute_table : Scores of these clusters for all layers.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF, layer_clusters
    >>> X = np.array([[3.0, 0.0, 1.0], [6.0, 0.1, 2.0], [0.0, 1.0, 1.0], [0.1, 3.0, 3.0]])
    >>> found = layer_clusters(SemiNMF(n_components=2, random_state=0).fit(X), 0, n_clusters=2)
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True
    """
    check_is_fitted(model, "layers_")
    if readout is None and getattr(model, "_clusters_layers", False):
        return model.cluster(X, n_clusters, layer=layer)
    place = _position(model, layer, view), view
    clusters = clusters_of_layer(model, *place, readout, n_init, random_state)
    return clusters.labels(n_clusters) if X is None else clusters.predict(codes_of_layer(model, *place, X), n_clusters)


def layer_features(
    model: BaseEstimator,
    layer: int | str,
    X: ViewData | None = None,
    *,
    view: Hashable = None,
    readout: Form | None = None,
) -> np.ndarray:
    """Return the features of samples in one layer of a fitted model, by default those that are clustered.

    These are codes of exponent 0.75, of which clusters are of the first three directions each; of the top layer the
    model's own read-out, as in `cluster`; of `AttributeLayers` its read-out of each layer.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.
    layer : int or str
        Position in ``layers_``, as in ``transform(layer=...)``; or the name of an attribute, for models with layers of
        attributes.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), views, or None, default=None
        Samples, coded by `transform`; None means the training samples with the codes of the fit.
    view : name or position of a view, or None, default=None
        View in whose layers ``layer`` is a position, for a model of several views; None means ``layers_``.
    readout : {"raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
        Form of the codes, see `transform` of the models; None means the one that is clustered.

    Returns
    -------
    ndarray of shape (n_samples, n_directions)
        Features.

    See Also
    --------
    layer_clusters : Clusters of these features.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF, layer_features
    >>> X = np.random.default_rng(0).normal(size=(20, 5))
    >>> model = SemiNMF(n_components=3, random_state=0).fit(X)
    >>> np.linalg.norm(layer_features(model, 0, X[:2], readout="whitened"), axis=1).round(6)
    array([1., 1.])
    """
    check_is_fitted(model, "layers_")
    place = _position(model, layer, view), view
    return read_out(model, *place, codes_of_layer(model, *place, X), readout)


def layer_names(model: BaseEstimator) -> list[str]:
    """Name the layers of a fitted model as `transform` calls them: "layer 0 (100)" for 100 components, or an attribute.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.

    Returns
    -------
    list of str
        From the input up; of models with a layer for each attribute their names, of `AttributeLayers` then "rest".

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF
    >>> from laminar.evaluation.layers import layer_names
    >>> layer_names(SemiNMF(n_components=3).fit(np.eye(4)))
    ['layer 0 (3)']
    """
    sizes = [layer.representation.shape[1] for layer in model.layers_]
    names = [f"layer {i}" for i in range(len(sizes))]
    if _has_attributes(model):
        found = [*model.attributes_, *model._more_layers]
        names = [name if isinstance(name, str) else f"attribute {name}" for name in found]
    return [f"{name} ({k})" for name, k in zip(names, sizes, strict=True)]


# ---- layers of any model ---------------------------------------------------------------------------------------------


def _has_attributes(model: BaseEstimator) -> bool:
    """Whether the layers are those of attributes, as of `AttributeLayers` and baselines with labels."""
    return hasattr(model, "training_codes")


def layer_places(model: BaseEstimator) -> dict[str, tuple[int, Hashable]]:
    """Return position and, of hidden layers of several views, view of all layers, by their names.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.

    Returns
    -------
    dict
        Name, as in the rows of `layer_attribute_table` -> (layer, view), as for `layer_features`.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF
    >>> layer_places(SemiNMF(n_components=3).fit(np.eye(4)))
    {'layer 0 (3)': (0, None)}
    """
    hidden = {
        f"{view}, layer {i} ({layer.representation.shape[1]})": (i, view)
        for view, found in getattr(model, "views_", {}).items()
        for i, layer in enumerate(found.layers[:-1])
    }
    if hidden:
        top = 1 + max(i for i, _ in hidden.values())
        return {**hidden, f"shared, layer {top} ({model.layers_[-1].representation.shape[1]})": (0, None)}
    return {name: (i, None) for i, name in enumerate(layer_names(model))}


def _position(model: BaseEstimator, layer: int | str, view: Hashable) -> int:
    """Return the position of a layer in ``layers_``, or in the layers of a view; raise an error where there is none."""
    if isinstance(layer, str):
        return model._layer_at(layer)
    depths = {name: len(found.layers) for name, found in getattr(model, "views_", {}).items()}
    if view is not None and depths.get(view, 0) < 2:
        raise ValueError(f"view={view!r} is no view with layers of its own: leave it out, or give one of the fit.")
    n = len(model.layers_) if view is None else depths[view]
    if view is None and depths and layer == max(depths.values()) - 1:
        return n - 1  # the layer that views share, by its number in `transform`
    if not isinstance(layer, Integral) or not -n <= layer < n:
        raise ValueError(f"layer={layer!r} is out of range: give a whole number from {-n} to {n - 1}.")
    return int(layer) % n


def _found(model: BaseEstimator, layer: int, view: Hashable) -> Layer:
    return model.layers_[layer] if view is None else model.views_[view].layers[layer]


def codes_of_layer(model: BaseEstimator, layer: int, view: Hashable, X: ViewData | None) -> np.ndarray:
    """Return the codes of samples, or of the fit, as they are."""
    if X is None:
        H = _found(model, layer, view).representation
        refuse_without_codes(H, "the codes of the fit")
        return H
    if _has_attributes(model):
        return model._transform(X, layer, "raw")
    if view is not None:
        return model._transform(X, layer=layer, view=view, readout="raw")
    if hasattr(model, "view_names_"):
        return model._transform(X, readout="raw")
    return model._transform(X, layer=layer, readout="raw")


def _read(model: BaseEstimator, layer: int, view: Hashable, readout: Form | None) -> tuple[Form, Readout]:
    """Return a form, by default the one that is clustered, and the function from codes to it."""
    if readout is not None:
        check_form(readout)
    if _has_attributes(model):
        form = model._form(readout, model._code_form)
        return form, model._reader(layer, form)
    top = view is None and layer == len(model.layers_) - 1
    if top and isinstance(model, LayerOutput):
        form = model._form(readout, model._cluster_form)
        return form, model._reader(model._places(-1)[-1], form)
    if top and readout is None:
        return "raw", model.clusters_.read
    form = STANDARD if readout is None else readout
    return form, reader(form, _found(model, layer, view))


def read_out(model: BaseEstimator, layer: int, view: Hashable, H: np.ndarray, readout: Form | None) -> np.ndarray:
    """Return codes in a form, by default the one that is clustered, in double precision."""
    return _read(model, layer, view, readout)[1](H.astype(np.float64, copy=False))


def clusters_of_layer(
    model: BaseEstimator, layer: int, view: Hashable, readout: Form | None, n_init: int, random_state: Seed
) -> Clusters:
    """Return the clusters of the codes of the fit in a form."""
    form, read = _read(model, layer, view, readout)
    H = codes_of_layer(model, layer, view, None)
    if hasattr(model, "clustering") and view is None:
        return model._clusters_at(model._places(-1), form, random_state, n_init)
    return clusters_of(form, H, read, random_state, n_init=n_init)

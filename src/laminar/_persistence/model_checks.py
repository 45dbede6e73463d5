"""Shapes of a model that was read: what belongs together agrees, so that no method fails halfway."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .classes import RECORDS
from .kinds import FINITE, NAMES, TEXT, VECTOR, class_name, list_of, optional


def check_model(model: Any) -> None:
    """Raise a ValueError unless the fitted attributes of a model agree in their shapes.

    Parameters
    ----------
    model : estimator
        With attributes of the right kinds, see `classes`.
    """
    state = vars(model)
    for attribute, check in _CHECKS.items():
        if attribute in state:
            check(model)


def check_data(data: Any) -> None:
    """Raise a ValueError unless the parts of a description of data are arrays that agree in their lengths."""
    _require(NAMES.holds(data.ids), "the names of the samples are no text")
    for name in ("labels", "groups", "sources", "observed"):
        part = getattr(data, name)
        is_array = hasattr(part, "columns") if name == "labels" else isinstance(part, np.ndarray)
        _require(part is None or (is_array and len(part) == len(data.ids)), f"{name} are not those of the samples")
    names = data.feature_names
    by_view = names if isinstance(names, dict) else {} if names is None else {"X": names}
    _require(all(map(NAMES.holds, by_view.values())), "the names of the features are no text")
    _require(data.X is None, "the description of the data has data")
    readers = [data.reader, *(getattr(data.reader, "readers", {}).values() if data.reader is not None else ())]
    known = all(reader is None or class_name(type(reader)) in RECORDS for reader in readers)
    _require(known and list_of(TEXT).holds(data.notes), "the reader or the notes of the data are not valid")
    _require(optional(FINITE).holds(data.frame_rate), "the frame rate is no number")
    for scaling in data.scaling.values() if isinstance(data.scaling, dict) else [data.scaling]:
        if scaling is not None:
            _check_scaling(scaling)


def _check_scaling(scaling: Any) -> None:
    _require(class_name(type(scaling)) == "laminar.io.dataset.Scaling", "the scaling of the data is not valid")
    is_valid = VECTOR.holds(scaling.mean) and VECTOR.holds(scaling.scale) and len(scaling.mean) == len(scaling.scale)
    _require(is_valid, "the scaling of the data is not valid")


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ValueError(problem)


def _check_names(model: Any) -> None:
    _require(len(model.feature_names_in_) == model.n_features_in_, "feature_names_in_ has not a name for each feature")


def _n_inputs(model: Any) -> int:
    """Return the number of columns that the components approximate."""
    embedding = vars(model).get("_embedding")
    return model.n_features_in_ if embedding is None else len(embedding.chosen)


def _check_components(model: Any) -> None:
    _require(model.components_.shape[1] == _n_inputs(model), "components_ has not a column for each feature")
    if "mean_" in vars(model):
        _require(len(model.mean_) == model.n_features_in_, "mean_ has not a number for each feature")


def _check_layers(model: Any) -> None:
    _require(len(model.layers_) > 0, "there is no layer")
    _check_stack(model.layers_, _n_inputs(model), chained=not {"attributes_", "_stages"} & set(vars(model)))
    widths = [len(layer.components) for layer in model.layers_]
    _require(len(model.components_) == widths[model._main], "components_ are not those of the layer")


def _check_stack(layers: Sequence[Any], n_inputs: int, *, chained: bool) -> None:
    for layer in layers:
        k = len(layer.weights)
        same = len(layer.components) == layer.representation.shape[1] == k
        _require(same, "weights, components and codes of a layer have different numbers of components")
        _require(layer.components.shape[1] == n_inputs, "components of a layer have not a column for each feature")
        _require(layer.whitening is None or len(layer.whitening) == k, "whitening of a layer has another size")
        _require(layer.mean is None or len(layer.mean) == k, "mean of a layer has another size")
    rows = {len(layer.representation) for layer in layers}
    _require(len(rows) == 1, "layers have codes of different numbers of samples")
    if chained:
        sizes = [n_inputs, *(len(layer.weights) for layer in layers)]
        follows = all(layer.weights.shape[1] == below for layer, below in zip(layers, sizes, strict=False))
        _require(follows, "weights of a layer do not belong to the layer below")


def _check_views(model: Any) -> None:
    sizes = model.view_sizes_
    _require(len(sizes) == len(model.view_names_) == len(set(model.view_names_)) > 0, "views have not a name each")
    _require(bool((sizes > 0).all()) and sizes.sum() == model.n_features_in_, "view_sizes_ are not those of the views")


def _check_layers_of_views(model: Any) -> None:
    _require(list(model.views_) == list(model.view_names_), "views_ have not the names of the views")
    _require(len({len(view.layers) for view in model.views_.values()}) == 1, "views have different numbers of layers")
    for size, view in zip(model.view_sizes_, model.views_.values(), strict=True):
        _require(len(view.layers) > 0 and len(view.mean) == size, "a view has no layer, or a mean of another size")
        _check_stack(view.layers, size, chained=True)
        _require(len(view.layers[-1].components) == len(model.components_), "a view has another number of components")
    _require(len(model._basis) == len(model.components_), "the basis of the embedding has another size")


def _check_totals(model: Any) -> None:
    n = len(model.view_sizes_)
    _require(len(model.totals_) == len(model._alpha) == n, "totals_ have not a number for each view")
    _require(bool((model.totals_ > 0).all()), "totals_ are not positive")


def _check_clusters(model: Any) -> None:
    clusters = model.clusters_
    places = model._clustered
    _require(isinstance(places, tuple) and len(places) == 2 and isinstance(places[0], list), "_clustered is not valid")
    for read in (clusters.read, vars(clusters).get("_read")):
        _check_readout(read, clusters.H.shape[1])
    for n, fitted in clusters._fitted.items():
        if hasattr(fitted, "cluster_centers_"):
            _require(len(fitted.cluster_centers_) == n, "there is not a centre for each cluster")
        if hasattr(fitted, "owners"):
            _require(len(fitted.owners) == len(fitted.means) > 0, "there is not a cluster for each mean")
    for found in vars(clusters).get("_labels", {}).values():
        _require(len(found) == len(clusters.H), "there is not a cluster for each sample")


def _check_readout(read: Any, width: int) -> None:
    if read is None:
        return
    if hasattr(read, "edges"):
        edges = [0, *read.edges.tolist(), width]
        _require(len(edges) == len(read.reads) + 1 and edges == sorted(edges), "read-outs have not a layer each")
        for part, (start, stop) in zip(read.reads, pairwise(edges), strict=True):
            _check_readout(part, stop - start)
    elif read.basis is not None:
        _require(len(read.basis) == width, "the basis of a read-out has another size than the codes")


def _check_nonlinear(model: Any) -> None:
    if model._stack is not None:
        shapes = [layer.weights.shape for layer in model.layers_]
        _require([Z.shape for Z in model._stack.weights] == shapes, "the stack has other weights than the layers")


def _check_embedding(model: Any) -> None:
    embedding, n = model._embedding, len(model._embedding.chosen)
    _require(embedding.root.shape == (n, n) and bool((embedding.chosen >= 0).all()), "the kernel's basis is not square")
    _require(embedding.kernel == model.kernel, "the kernel is another one")
    if embedding.samples is None:
        inside = embedding.kernel == "precomputed" and bool((embedding.chosen < model.n_features_in_).all())
        _require(inside, "the samples of the kernel are missing")
    else:
        _require(embedding.samples.shape == (n, model.n_features_in_), "the samples of the kernel have another shape")


def _check_classes(model: Any) -> None:
    owners = model.component_classes_
    _require(len(owners) == len(model.components_), "component_classes_ has not a class for each component")
    _require(getattr(model.classes_, "ndim", 0) == 1, "classes_ is no vector")
    _require(bool((owners >= -1).all()) and owners.max(initial=-1) < len(owners), "component_classes_ is out of range")
    if model._has_classes:
        _require(0 < len(model.classes_) <= owners.max() + 1, "classes_ and component_classes_ do not agree")


def _check_attributes(model: Any) -> None:
    n = len(model.attributes_) + len(model._more_layers)
    _require(len(model.layers_) == n, "there is not a layer an attribute")
    _require(isinstance(model.classes_, dict), "classes_ is no dict")
    _require(list(model.classes_) == list(model.attributes_), "classes_ are not those of attributes_")
    _require(isinstance(model.labels_, dict), "labels_ is no dict")
    _require(set(model.labels_) <= set(model.attributes_), "labels_ are not those of attributes_")


def _check_baseline(model: Any) -> None:
    _check_scores(model._principal, model.n_features_in_)
    r, sizes = len(model._principal.singular_values), [len(model.classes_[name]) for name in model.attributes_]
    for centres, n_classes in zip(vars(model).get("_centres", ()), sizes, strict="_centres" in vars(model)):
        fits = centres.directions.shape == (r, centres.centres.shape[1]) and len(centres.centres) == n_classes
        _require(fits, "class centres do not fit")
    if "_graph" in vars(model):
        _check_graph(model._graph, r)
        n = len(model._graph.graph.degree)
        fits = [S.shape for S in model._spread] == [(n, max(size, 1)) for size in sizes]
        _require(fits, "spread labels do not fit")


def _check_bank(model: Any) -> None:
    _require(len(model.layers_) == len(model._maps), "there is not a map a layer")
    bank = model._bank
    _require("scores" in bank.principal, "the principal scores are missing")
    for scores in bank.principal.values():
        _check_scores(scores, model.n_features_in_)
    _require(len(bank.sizes) == len(bank.bands) > 0 and bank.length >= 0, "the bands have not a size each")
    for graph in bank._graphs.values():
        _check_graph(graph, len(bank.scores.singular_values))
    for found, layer in zip(model._maps, model.layers_, strict=True):
        _check_coders(bank, found, layer)
    for name, found in zip(model.attributes_, model._maps, strict=False):
        _check_class_centres(found, len(model.classes_[name]))


def _check_scores(scores: Any, n_features: int) -> None:
    p, r = scores.basis.shape
    _require(p == len(scores.mean) == n_features, "the basis has not a row for each feature")
    _require(scores.factors is None or len(scores.factors) == p, "the features have not a factor each")
    _require(len(scores.singular_values) == r and scores.scale > 0, "the singular values are not those of the basis")


def _check_graph(graph: Any, n_scores: int) -> None:
    rank, n = len(graph.singular_values), len(graph.graph.degree)
    _require(0 < rank <= n_scores and bool((graph.singular_values > 0).all()), "a graph has no such scores")
    _require(graph.graph.W.shape == (n, n) and bool((graph.graph.degree > 0).all()), "a graph has other degrees")
    _require(graph._search.n_samples_fit_ == n and graph._search.n_features_in_ == rank, "a graph has other points")
    _require(graph._search.n_neighbors == graph.n_neighbors, "a graph has other neighbours")


def _check_coders(bank: Any, found: Any, layer: Any) -> None:
    k, d = layer.weights.shape
    sizes = [coder.weights.shape for coder in found.coders]
    same = all(coder.directions.shape == coder.weights.shape for coder in found.coders)
    whole = (sum(codes for codes, _ in sizes), sum(features for _, features in sizes))
    _require(same and whole == (k, d) and len(found.offset) == d, "coders have another size than their layer")
    _require(
        len(found.maps) > 0 and all(b < len(bank.bands) for b in found.maps), "a layer has a band that is not there"
    )
    for b, A in found.maps.items():
        _require(A.shape == (_band_width(bank, bank.bands[b]), d), "a layer has maps of another size")


def _band_width(bank: Any, band: Any) -> int:
    """Return the number of columns of a band that new samples have; raise an error where it cannot be computed."""
    if band.graph is None:
        _require(band.kind in bank.principal, "the principal scores of a band are missing")
        return len(bank.principal[band.kind].singular_values)
    graph, filtered = bank._graphs.get(band.graph), bank._filtered.get(band)
    complete = graph is not None and filtered is not None and len(filtered) == len(graph.graph.degree)
    _require(complete, "the graph or the filtered scores of a band are missing")
    width = filtered.shape[1]
    _require(band.kind == "diffusion" or width == len(bank.scores.singular_values), "a band has another size")
    return width


def _check_class_centres(found: Any, n_classes: int) -> None:
    directions, centres = found.classes.directions, found.classes.centres
    _require(len(centres) == n_classes and centres.shape[1] == directions.shape[1], "class centres do not fit")
    _require(len(directions) <= len(found.offset), "class centres have more directions than the layer")


def _check_offset(model: Any) -> None:
    if getattr(model, "fit_offset", False):
        offset = vars(model).get("offset_")
        _require(getattr(offset, "shape", None) == (model.n_features_in_,), "offset_ has not a number for each feature")


def _check_patterns(model: Any) -> None:
    k = len(model.components_)
    _require(model.patterns_.shape == model.components_.shape, "patterns_ have another shape than components_")
    _require(len(model.deltas_) == len(model.explained_variance_ratio_) == k, "deltas_ have not a number a feature")


def _check_images(model: Any) -> None:
    _require(len(model.image_shape_) in (2, 3), "image_shape_ is no shape of an image")
    n_pixels = 1
    for side in model.image_shape_:
        n_pixels *= side
    _require(n_pixels == model.n_features_in_, "image_shape_ has not the number of pixels of the images")


_CHECKS = {
    "feature_names_in_": _check_names,
    "components_": _check_components,
    "layers_": _check_layers,
    "view_sizes_": _check_views,
    "views_": _check_layers_of_views,
    "totals_": _check_totals,
    "clusters_": _check_clusters,
    "_stack": _check_nonlinear,
    "_embedding": _check_embedding,
    "component_classes_": _check_classes,
    "attributes_": _check_attributes,
    "_bank": _check_bank,
    "_principal": _check_baseline,
    "ridge_": _check_offset,
    "patterns_": _check_patterns,
    "image_shape_": _check_images,
}
"""By an attribute that the models concerned have."""

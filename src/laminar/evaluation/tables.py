"""Agreement of the clusters of every layer's codes with every attribute."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import reader
from .._base.spectral import kmeans
from .._utils.extras import require
from .._utils.labels import Attribute, attribute_names, read_attribute, read_labels
from .._utils.typing import Data, Seed, ViewData
from .._utils.validation import check_choice
from ..metrics import adjusted_rand_index, clustering_accuracy, normalized_mutual_information

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["layer_attribute_table", "layer_clusters", "layer_features", "layer_names"]

METRICS = {"accuracy": clustering_accuracy, "nmi": normalized_mutual_information, "ari": adjusted_rand_index}


def layer_attribute_table(
    model: BaseEstimator,
    X: ViewData | None,
    attributes: Mapping | ArrayLike,
    *,
    metrics: Sequence[str] = ("accuracy", "nmi"),
    readout: str | None = None,
    n_init: int = 20,
    random_state: Seed = 0,
    transductive: bool = True,
) -> DataFrame:
    """Score how well the clusters of every layer's codes agree with every attribute.

    By default the codes of a layer are whitened, their rows scaled to unit length, and k-means finds as many clusters
    as the attribute has classes. The labels are used for the score alone. The layers of `AttributeLayers` are clustered
    by their own read-out. A model of several views with layers has a row for each hidden layer of each view, and one
    for the layer they share.

    Parameters
    ----------
    model : fitted model with ``layers_``
        Any model of Laminar, of one layer or of several.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), views, or None
        The samples that `attributes` describe. May be None for the training samples.
    attributes : mapping from name to labels, DataFrame, or array-like of shape (n_samples, n_attributes)
        Labels, some or all; -1, NaN, None and ``pandas.NA`` are unknown. Every sample is clustered, only those of known
        label are scored.
    metrics : sequence of {"accuracy", "nmi", "ari"}, default=("accuracy", "nmi")
        Clustering accuracy, normalised mutual information (geometric mean), adjusted Rand index.
    readout : {"raw", "whitened", "isometric"} or None, default=None
        Form of the codes that is clustered, see `transform` of the models; the papers cluster raw codes. None means the
        whitened form and, of the top layer, the model's own.
    n_init : int, default=20
        Starts of k-means.
    random_state : int, RandomState instance or None, default=0
        Seed of k-means.
    transductive : bool, default=True
        Whether X holds the training samples, in their order; the codes of the fit are then used. Otherwise X is coded
        with ``transform`` and assigned to the clusters of the training samples.

    Returns
    -------
    DataFrame
        One row a layer, from the input up, named "layer 1 (100)" for 100 components, "lbp, layer 1 (100)" for one of a
        view, "shared, layer 2 (50)" for the one that views share, or by the attribute of the layer; columns (attribute,
        metric).

    See Also
    --------
    laminar.plots.layer_attribute_figure : The same as a heat map.

    Examples
    --------
    >>> from laminar import DeepSemiNMF, layer_attribute_table
    >>> from laminar.datasets import make_faces
    >>> faces = make_faces(4, 3, 3, size=12, random_state=0)
    >>> model = DeepSemiNMF(layers=(12, 6), random_state=0).fit(faces.X)
    >>> table = layer_attribute_table(model, faces.X, {"identity": faces.identity, "pose": faces.pose})
    >>> list(table.index), list(table["identity"].columns)
    (['layer 1 (12)', 'layer 2 (6)'], ['accuracy', 'nmi'])
    """
    pandas = require("pandas", "report", "laminar.layer_attribute_table")
    check_is_fitted(model, "layers_")
    for metric in metrics:
        check_choice("metrics", metric, tuple(METRICS))
    if transductive:
        _check_training(model, X)
    places = _places(model)
    samples = None if transductive else X
    features = {name: layer_features(model, i, samples, view=v, readout=readout) for name, (i, v) in places.items()}
    columns = _read_attributes(attributes, len(next(iter(features.values()))))
    rows = {}
    for label, E in features.items():
        layer, view = places[label]
        training = E if transductive else layer_features(model, layer, view=view, readout=readout)
        row = rows[label] = {}
        for name, attribute in columns.items():
            clusters = _cluster(training, E, len(attribute.classes), n_init, random_state)
            true, known = attribute.codes, attribute.known
            row |= {(name, metric): METRICS[metric](true[known], clusters[known]) for metric in metrics}
    table = pandas.DataFrame.from_dict(rows, orient="index")
    table.columns = pandas.MultiIndex.from_tuples(table.columns, names=("attribute", "metric"))
    return table


def layer_clusters(
    model: BaseEstimator,
    layer: int,
    n_clusters: int,
    X: Data | None = None,
    *,
    readout: str | None = None,
    n_init: int = 20,
    random_state: Seed = 0,
) -> np.ndarray:
    """Cluster samples by one layer of a fitted model; k-means is fitted to the training samples.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.
    layer : int
        Position in ``layers_``.
    n_clusters : int
        Number of clusters.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
        Samples; None means the training samples.
    readout : {"raw", "whitened", "isometric"} or None, default=None
        As for `layer_attribute_table`.
    n_init : int, default=20
        Starts of k-means.
    random_state : int, RandomState instance or None, default=0
        Seed of k-means.

    Returns
    -------
    ndarray of shape (n_samples,)
        Cluster of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF
    >>> from laminar.evaluation.tables import layer_clusters
    >>> X = np.array([[3.0, 0.0, 1.0], [6.0, 0.1, 2.0], [0.0, 1.0, 1.0], [0.1, 3.0, 3.0]])
    >>> found = layer_clusters(SemiNMF(n_components=2, random_state=0).fit(X), 0, n_clusters=2)
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True
    """
    training = layer_features(model, layer, readout=readout)
    E = training if X is None else layer_features(model, layer, X, readout=readout)
    return _cluster(training, E, n_clusters, n_init, random_state)


def layer_features(
    model: BaseEstimator,
    layer: int,
    X: ViewData | None = None,
    *,
    view: Hashable = None,
    readout: str | None = None,
) -> np.ndarray:
    """Return the features of samples in one layer of a fitted model that are clustered.

    By default whitened codes with unit rows; of the top layer the model's own read-out, as in `cluster`; of
    `AttributeLayers` its read-out of each layer.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.
    layer : int
        Position in ``layers_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), views, or None, default=None
        Samples; None means the training samples with the codes of the fit.
    view : name or position of a view, or None, default=None
        View in whose layers ``layer`` is a position, for a model of several views; None means ``layers_``.
    readout : {"raw", "whitened", "isometric"} or None, default=None
        As for `layer_attribute_table`.

    Returns
    -------
    ndarray of shape (n_samples, n_directions)
        Features.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF
    >>> from laminar.evaluation.tables import layer_features
    >>> X = np.random.default_rng(0).normal(size=(20, 5))
    >>> model = SemiNMF(n_components=3, random_state=0).fit(X)
    >>> np.linalg.norm(layer_features(model, 0, X[:2]), axis=1).round(6)
    array([1., 1.])
    """
    if hasattr(model, "training_codes"):
        if readout is not None:
            raise ValueError(f"{type(model).__name__} has one read-out of a layer, its parameter: leave readout=None.")
        form = model._form(None, model._code_form)
        return model.training_codes(layer) if X is None else model._transform(X, layer, form)
    top = view is None and layer in (-1, len(model.layers_) - 1)
    found = model.views_[view].layers[layer] if view is not None else model.layers_[layer]
    if X is None:
        H = found.representation
    elif view is not None:
        H = model._transform(X, layer=layer, view=view)
    else:
        H = model._transform(X) if top else model._transform(X, layer=layer)
    if readout is None and top:
        # In double precision, as `cluster` has them.
        return model._reader(model._places(-1)[-1], model._form(None, model._cluster_form))(H.astype(np.float64))
    return reader(readout or "whitened", found)(H)


def layer_names(model: BaseEstimator) -> list[str]:
    """Name the layers of a fitted model: "layer 1 (100)" for 100 components, or by their attributes.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.

    Returns
    -------
    list of str
        From the input up.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF
    >>> from laminar.evaluation.tables import layer_names
    >>> layer_names(SemiNMF(n_components=3).fit(np.eye(4)))
    ['layer 1 (3)']
    """
    sizes = [layer.representation.shape[1] for layer in model.layers_]
    names = [f"layer {i + 1}" for i in range(len(sizes))]
    own = getattr(model, "attributes_", [])
    if any(isinstance(name, str) for name in own):
        names = [*map(str, own), "rest"]
    return [f"{name} ({k})" for name, k in zip(names, sizes, strict=True)]


def _places(model: BaseEstimator) -> dict[str, tuple[int, Hashable]]:
    """Return position and, of hidden layers of several views, view of all layers, by their names."""
    hidden = {
        f"{view}, layer {i + 1} ({layer.representation.shape[1]})": (i, view)
        for view, found in getattr(model, "views_", {}).items()
        for i, layer in enumerate(found.layers[:-1])
    }
    if hidden:
        depth = 2 + max(i for i, _ in hidden.values())
        return {**hidden, f"shared, layer {depth} ({model.layers_[-1].representation.shape[1]})": (-1, None)}
    return {name: (i, None) for i, name in enumerate(layer_names(model))}


def _cluster(training: np.ndarray, E: np.ndarray, n_clusters: int, n_init: int, random_state: Seed) -> np.ndarray:
    if n_clusters > len(training):
        raise ValueError(f"{n_clusters} clusters are more than the {len(training)} samples the model was fitted on.")
    return kmeans(training, n_clusters, random_state, n_init).predict(E)


def _check_training(model: BaseEstimator, X: ViewData | None) -> None:
    """Raise a ValueError if X has another number of samples than the fit."""
    n = len(model.layers_[0].representation)
    if getattr(X, "shape", (n,))[0] != n:
        raise ValueError(
            f"X has {X.shape[0]} samples but the model was fitted on {n}: give the training samples, or "
            "transductive=False for others."
        )


def _read_attributes(attributes: Mapping | ArrayLike, n_samples: int) -> dict[Hashable, Attribute]:
    """Read attributes by name, or by position; raise a ValueError for one without labels."""
    if isinstance(attributes, Mapping):
        found = {name: read_attribute(labels, n_samples) for name, labels in attributes.items()}
    else:
        read = read_labels(attributes, n_samples)
        found = dict(zip(attribute_names(read), read, strict=True))
    for name, attribute in found.items():
        if not attribute.known.any():
            raise ValueError(f"attribute {name!r} has no known label to score on: leave it out.")
    return found

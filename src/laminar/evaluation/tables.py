"""Agreement of every layer's codes with every attribute: clusters, and a linear classifier."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import STANDARD, Clusters, Form, Readout, check_form, reader, refuse_without_codes
from .._base.coding import Layer
from .._base.graph_clusters import clusters_of
from .._base.output import LayerOutput
from .._base.spectral import kmeans
from .._utils import threads
from .._utils.labels import Attribute, attribute_names, read_attribute, read_groups, read_labels
from .._utils.progress import track
from .._utils.typing import Seed, ViewData
from .._utils.validation import check_choice
from ..metrics import adjusted_rand_index, clustering_accuracy, normalized_mutual_information
from .probe import content_order, linear_probe

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["layer_attribute_table", "layer_clusters", "layer_features", "layer_names", "layer_places"]

METRICS = {"accuracy": clustering_accuracy, "nmi": normalized_mutual_information, "ari": adjusted_rand_index}


def layer_attribute_table(
    model: BaseEstimator,
    X: ViewData | None,
    attributes: Mapping | ArrayLike,
    *,
    metrics: Sequence[str] = ("accuracy", "nmi", "probe"),
    readout: Form | None = None,
    groups: ArrayLike | None = None,
    n_init: int = 20,
    random_state: Seed = 0,
    verbose: int = 0,
) -> DataFrame:
    """Score how well every layer of a fitted model shows every attribute: by clusters, and by a linear classifier.

    Clusters show the attribute that most of the variance of a layer is due to; a linear classifier, the probe, also
    finds those that are there beside it. Samples are coded by `transform`, whatever their order and whether or not they
    were in the fit. Labels are used for the scores and for the probe alone.

    By default the codes of a layer have the clusters of their rank graph at exponent 0.75, as in `cluster`, as many as
    the attribute has classes; they are found in the codes of the training samples, and the samples of X join the
    nearest ones. Those of `MultipleClusterings` have the clusters of their own graphs. The layers of `AttributeLayers`
    are clustered by k-means of their own read-out. A model of several views with layers has a row for each hidden layer
    of each view, and one for the layer they share.

    Parameters
    ----------
    model : fitted model with ``layers_``
        Any model of Laminar, of one layer or of several.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), views, or None
        The samples that `attributes` describe. None means the training samples, in their order, with the codes of the
        fit, which may depend on labels, neighbours or time; those of `transform` do not.
    attributes : mapping from name to labels, DataFrame, or array-like of shape (n_samples, n_attributes)
        Labels, some or all; -1, NaN, None and ``pandas.NA`` are unknown. Every sample is clustered; only those of known
        label are scored, and classified.
    metrics : sequence of {"accuracy", "nmi", "ari", "probe"}, default=("accuracy", "nmi", "probe")
        Of the clusters: clustering accuracy, normalised mutual information (geometric mean), adjusted Rand index.
        "probe": accuracy of a logistic regression on the standardised codes in their isometric read-out, in five-fold
        cross-validation, with the classes in their shares in every fold; NaN where no class has two known labels.
    readout : {"raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
        Form of the codes that is clustered, see `cluster` of the models; the papers cluster raw codes. None means 0.75
        and, of the top layer, the model's own.
    groups : array-like of shape (n_samples,) or None, default=None
        Group of each sample, such as a sequence or a person. The probe does not predict samples of groups that it is
        trained on.
    n_init : int, default=20
        Starts of k-means.
    random_state : int, RandomState instance or None, default=0
        Seed of k-means, of the folds and of the row of chance.
    verbose : int, default=0
        1 shows progress on standard error.

    Returns
    -------
    DataFrame
        Columns (attribute, metric). The first row, "chance", is what needs no codes: the mean score of random clusters
        with the sizes of the classes, and for the probe the share of the largest class. The next, "X (1024)" for 1024
        features, or "lbp, X (1024)" for each view, has k-means of X and the probe of X; samples without that view are
        left out, and it is absent for ``X=None``. Then one row a layer, from the input up, named as `transform` calls
        it: "layer 0 (100)" for ``layer=0`` of 100 components, "lbp, layer 0 (100)" for one of a view, "shared, layer 1
        (50)" for the one that views share; or by the attribute of the layer, "pose (100)".

    See Also
    --------
    layer_clusters : The clusters that are scored.
    layer_features : The features that they are found in.
    laminar.plots.layer_attribute_figure : The same as a heat map.

    Examples
    --------
    >>> from laminar import DeepSemiNMF, layer_attribute_table
    >>> from laminar.datasets import make_faces
    >>> faces = make_faces(4, 3, 3, size=12, random_state=0)
    >>> model = DeepSemiNMF(layers=(12, 6), random_state=0).fit(faces.X)
    >>> table = layer_attribute_table(model, faces.X, {"identity": faces.identity, "pose": faces.pose})
    >>> list(table.index), list(table["identity"].columns)
    (['chance', 'X (144)', 'layer 0 (12)', 'layer 1 (6)'], ['accuracy', 'nmi', 'probe'])
    >>> pose = table["pose"].loc["layer 1 (6)"]
    >>> bool(pose["probe"] > pose["accuracy"])
    True
    """
    import pandas

    check_is_fitted(model, "layers_")
    _check_metrics(metrics, readout, groups)
    rows = {
        name: _layer_row(model, X, *place, readout, metrics, n_init, random_state)
        for name, place in layer_places(model).items()
    }
    n_samples = len(next(iter(rows.values())).has)
    columns = _read_attributes(attributes, n_samples)
    group = None if groups is None else read_groups(groups, n_samples)
    if X is not None:
        inputs = _input_rows(model, X)
        ties = [attribute.codes for attribute in columns.values()] + ([] if group is None else [group])
        order = content_order([row.probed for row in inputs.values()], *ties)
        rows = {name: row.take(order) for name, row in {**inputs, **rows}.items()}
        columns = {name: replace(attribute, codes=attribute.codes[order]) for name, attribute in columns.items()}
        group = None if group is None else group[order]
    scores: dict[str, dict] = {"chance": {}}
    with threads.own_threads():  # of k-means and the probe one thread each: theirs cost more than they save
        for name, attribute in columns.items():
            scores["chance"] |= {(name, metric): _chance(attribute, metric, random_state) for metric in metrics}
        cells = [(name, label) for name in columns for label in rows]
        for name, label in track(cells, "scores of the layers", unit="scores", verbose=verbose):
            found = rows[label].scores(columns[name], metrics, group, n_init, random_state)
            scores.setdefault(label, {}).update({(name, metric): score for metric, score in found.items()})
    table = pandas.DataFrame.from_dict(scores, orient="index")
    table.columns = pandas.MultiIndex.from_tuples(table.columns, names=("attribute", "metric"))
    return table


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
    clusters = _clusters(model, *place, readout, n_init, random_state)
    return clusters.labels(n_clusters) if X is None else clusters.predict(_codes(model, *place, X), n_clusters)


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
    return _read_out(model, *place, _codes(model, *place, X), readout)


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
    >>> from laminar.evaluation.tables import layer_names
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


def _codes(model: BaseEstimator, layer: int, view: Hashable, X: ViewData | None) -> np.ndarray:
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


def _read_out(model: BaseEstimator, layer: int, view: Hashable, H: np.ndarray, readout: Form | None) -> np.ndarray:
    """Return codes in a form, by default the one that is clustered, in double precision."""
    return _read(model, layer, view, readout)[1](H.astype(np.float64, copy=False))


def _clusters(
    model: BaseEstimator, layer: int, view: Hashable, readout: Form | None, n_init: int, random_state: Seed
) -> Clusters:
    """Return the clusters of the codes of the fit in a form."""
    form, read = _read(model, layer, view, readout)
    H = _codes(model, layer, view, None)
    if hasattr(model, "clustering") and view is None:
        return model._clusters_at(model._places(-1), form, random_state, n_init)
    return clusters_of(form, H, read, random_state, n_init=n_init)


# ---- rows of the table -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """The features that are scored in one row, of all samples; ``has`` marks those that have them."""

    clusters: Clusters | None  # of the codes of the fit; None for k-means of the samples that have them
    clustered: Any  # codes or samples; None for the codes of the fit
    probed: Any
    has: np.ndarray
    find: Callable[[int], np.ndarray] | None = None  # so many clusters by the model itself, of its own graphs

    def take(self, order: np.ndarray) -> _Row:
        """Return the row of samples in another order."""
        clustered = None if self.clustered is None else self.clustered[order]
        probed = None if self.probed is None else self.probed[order]
        find = None if self.find is None else lambda n_clusters: self.find(n_clusters)[order]
        return _Row(self.clusters, clustered, probed, self.has[order], find)

    def scores(
        self,
        attribute: Attribute,
        metrics: Sequence[str],
        groups: np.ndarray | None,
        n_init: int,
        random_state: Seed,
    ) -> dict[str, float]:
        """Return the scores of an attribute by metric."""
        known = attribute.known & self.has
        if not known.any():
            return dict.fromkeys(metrics, float("nan"))
        true, clusters, found = attribute.codes[known], None, {}
        for metric in metrics:
            if metric == "probe":
                group = None if groups is None else groups[known]
                found[metric] = linear_probe(self.probed[known], true, group, random_state=random_state)
                continue
            if clusters is None:
                clusters = self._cluster(known, len(attribute.classes), n_init, random_state)
            found[metric] = METRICS[metric](true, clusters)
        return found

    def _cluster(self, known: np.ndarray, n_clusters: int, n_init: int, random_state: Seed) -> np.ndarray:
        if self.find is not None:
            return self.find(n_clusters)[known]
        if self.clusters is not None:
            if self.clustered is None:
                return self.clusters.labels(n_clusters)[known]
            return self.clusters.predict(self.clustered[known], n_clusters)
        training = self.clustered[self.has]
        return kmeans(training, min(n_clusters, training.shape[0]), random_state, n_init).predict(self.clustered[known])


def _layer_row(
    model: BaseEstimator,
    X: ViewData | None,
    layer: int,
    view: Hashable,
    readout: Form | None,
    metrics: Sequence[str],
    n_init: int,
    random_state: Seed,
) -> _Row:
    H = _codes(model, layer, view, X)
    scored = set(metrics) - {"probe"}
    clusters = _clusters(model, layer, view, readout, n_init, random_state) if scored else None
    probed = _read_out(model, layer, view, H, "isometric") if "probe" in metrics else None
    clustered = H if scored and X is not None else None
    find = None
    if readout is None and getattr(model, "_clusters_layers", False):
        find = partial(model.cluster, X, layer=layer)
    return _Row(clusters, clustered, probed, np.ones(len(H), dtype=bool), find)


def _input_rows(model: BaseEstimator, X: ViewData) -> dict[str, _Row]:
    """Return the row of X, or one of each view."""
    if hasattr(model, "view_names_"):
        views = model._read_new(X)
        parts = zip(views.names, views.arrays, views.observed.T, strict=True)
        return {f"{name}, X ({A.shape[1]})": _Row(None, A, A, has) for name, A, has in parts}
    A = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if sp.issparse(A):
        A = sp.csr_array(A)
        A.sort_indices()
    return {f"X ({A.shape[1]})": _Row(None, A, A, np.ones(A.shape[0], dtype=bool))}


def _chance(attribute: Attribute, metric: str, random_state: Seed, n_draws: int = 20) -> float:
    """Return the mean score of random clusters with the sizes of the classes; of a classifier, the largest share."""
    true = np.sort(attribute.codes[attribute.known])
    if metric == "probe":
        return float(attribute.class_sizes.max() / len(true))
    rng = check_random_state(random_state)
    return float(np.mean([METRICS[metric](true, rng.permutation(true)) for _ in range(n_draws)]))


# ---- parameters ------------------------------------------------------------------------------------------------------


def _check_metrics(metrics: Sequence[str], readout: Form | None, groups: ArrayLike | None) -> None:
    if isinstance(metrics, str) or not len(metrics):
        raise ValueError(f'metrics must be a sequence of one or more names, as ("accuracy", "probe"); got {metrics!r}.')
    for metric in metrics:
        check_choice("metrics", metric, (*METRICS, "probe"))
    if groups is not None and "probe" not in metrics:
        raise ValueError('groups has no effect without the metric "probe", whose folds they separate: leave it out.')
    if readout is not None and not set(metrics) - {"probe"}:
        raise ValueError(f"readout={readout!r} has no effect without a metric of clusters: leave it out.")


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

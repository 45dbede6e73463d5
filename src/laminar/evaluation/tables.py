"""Agreement of every layer's codes with every attribute: clusters, and a linear classifier."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import Clusters, Form
from .._base.spectral import kmeans
from .._utils import threads
from .._utils.labels import Attribute, attribute_names, read_attribute, read_groups, read_labels
from .._utils.progress import track
from .._utils.typing import Seed, ViewData
from .._utils.validation import check_choice
from ..metrics import adjusted_rand_index, clustering_accuracy, normalized_mutual_information
from .layers import clusters_of_layer, codes_of_layer, layer_places, read_out
from .probe import content_order, linear_probe

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["layer_attribute_table"]

METRICS = {"accuracy": clustering_accuracy, "nmi": normalized_mutual_information, "ari": adjusted_rand_index}


def layer_attribute_table(
    model: BaseEstimator,
    X: ViewData | None,
    attributes: Mapping | ArrayLike,
    *,
    metrics: Sequence[str] = ("accuracy", "nmi", "probe"),
    readout: Form | None = None,
    groups: ArrayLike | None = None,
    baselines: Mapping[str, BaseEstimator] | None = None,
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
    baselines : mapping from name to fitted model, or None, default=None
        Models with a layer for each attribute, as `laminar.baselines.PooledLDA`, that were given the same labels as
        ``model``: each adds a row, which has the scores of each attribute in its own layer.
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
        (50)" for the one that views share; or by the attribute of the layer, "pose (100)". Then a row a baseline, NaN
        where it was given no label of an attribute.

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
    own_rows = _own_rows(baselines or {}, X, list(columns), readout, metrics, n_init, random_state)
    group = None if groups is None else read_groups(groups, n_samples)
    if X is not None:
        inputs = _input_rows(model, X)
        ties = [attribute.codes for attribute in columns.values()] + ([] if group is None else [group])
        order = content_order([row.probed for row in inputs.values()], *ties)
        rows = {name: row.take(order) for name, row in {**inputs, **rows}.items()}
        own_rows = {place: row.take(order) for place, row in own_rows.items()}
        columns = {name: replace(attribute, codes=attribute.codes[order]) for name, attribute in columns.items()}
        group = None if group is None else group[order]
    scores: dict[str, dict] = {"chance": {}}
    with threads.own_threads():  # of k-means and the probe one thread each: theirs cost more than they save
        for name, attribute in columns.items():
            scores["chance"] |= {(name, metric): _chance(attribute, metric, random_state) for metric in metrics}
        cells = [(name, label, row) for name in columns for label, row in rows.items()]
        cells += [(name, label, row) for (label, name), row in own_rows.items()]
        for name, label, row in track(cells, "scores of the layers", unit="scores", verbose=verbose):
            found = row.scores(columns[name], metrics, group, n_init, random_state)
            scores.setdefault(label, {}).update({(name, metric): score for metric, score in found.items()})
    table = pandas.DataFrame.from_dict(scores, orient="index").loc[list(scores)]
    table.columns = pandas.MultiIndex.from_tuples(table.columns, names=("attribute", "metric"))
    return table


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
    H = codes_of_layer(model, layer, view, X)
    scored = set(metrics) - {"probe"}
    clusters = clusters_of_layer(model, layer, view, readout, n_init, random_state) if scored else None
    probed = read_out(model, layer, view, H, "isometric") if "probe" in metrics else None
    clustered = H if scored and X is not None else None
    find = None
    if readout is None and getattr(model, "_clusters_layers", False):
        find = partial(model.cluster, X, layer=layer)
    return _Row(clusters, clustered, probed, np.ones(len(H), dtype=bool), find)


def _own_rows(
    baselines: Mapping[str, BaseEstimator], X: ViewData | None, attributes: Sequence[Hashable], *settings: Any
) -> dict[tuple[str, Hashable], _Row]:
    """Return the rows of models of attributes: by name and attribute, each of that attribute's layer."""
    for label, model in baselines.items():
        known = list(getattr(model, "attributes_", ()))
        if not set(known) & set(attributes):
            raise ValueError(
                f"baselines: {label!r} has a layer for none of the attributes {', '.join(map(repr, attributes))}, but "
                f"for {', '.join(map(repr, known)) or 'no attribute'}: fit it to columns of these names."
            )
    return {
        (label, name): _layer_row(model, X, list(model.attributes_).index(name), None, *settings)
        for label, model in baselines.items()
        for name in attributes
        if name in model.attributes_
    }


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

"""Spectral clusters of codes, extended to new samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from .._utils.progress import stage
from .._utils.workers.reading import in_blocks_of, is_dask
from ..graphs import Graph
from .clusters import Clusters, Form, Joined, Readout
from .spectral import graph_affinity, kmeans, spectral_labels


class GraphClusters(Clusters):
    """Spectral clusters (Ng, Jordan and Weiss) of a graph of read-outs, computed on first use and kept.

    A sample that was not in the graph belongs to the cluster that has the nearest mean, of ten means of each cluster.

    Parameters
    ----------
    H, random_state, read, n_init
        As for `Clusters`.
    graph : {"rank", "knn"} or Graph, default="rank"
        Built on the read-outs.
    n_neighbors : int or None, default=None
        Neighbours of the graph, or all others where there are fewer; None takes those that suit the number of clusters.
    n_directions : int or None, default=None
        Directions of the read-out for each cluster, the first ones; None takes all.
    max_samples : int, default=10_000
        Training samples in the graph, at random if there are more: the search for neighbours is quadratic in them.

    Examples
    --------
    >>> from laminar.graphs import Rank
    >>> H = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
    >>> found = GraphClusters(H, random_state=0, graph=Rank(1)).predict(H, n_clusters=2)
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True
    """

    n_neighbors: int | None = None  # of files written before there were these two
    n_directions: int | None = None
    _labels: Mapping[int, np.ndarray] = MappingProxyType({})  # of the training samples, where all are in the graph

    def __init__(
        self,
        H: np.ndarray,
        random_state=None,
        read: Readout | Joined | None = None,
        graph: str | Graph = "rank",
        *,
        n_neighbors: int | None = None,
        n_directions: int | None = None,
        n_init: int = 20,
        max_samples: int = 10_000,
    ):
        super().__init__(H, random_state, read, n_init=n_init, max_samples=max_samples)
        self.graph, self.n_neighbors, self.n_directions = graph, n_neighbors, n_directions

    def features(self, H: np.ndarray, n_clusters: int | None = None) -> np.ndarray:
        """Return codes in the form that is clustered, for so many clusters, in double precision."""
        n_directions = n_clusters and self.n_directions and n_clusters * self.n_directions
        read = self._read.leading(n_directions) if n_directions else self._read
        return read(H.astype(np.float64, copy=False))

    def _model(self, H: np.ndarray, n_clusters: int) -> NearestMean:
        rng = check_random_state(self.random_state)
        E = self._sampled(H, n_clusters, max(self.max_samples, n_clusters))
        stage(f"spectral clustering of {len(E)} samples, {n_clusters} clusters")
        labels = np.zeros(len(E), dtype=int)
        if n_clusters > 1 and (E[0] != E).any():  # samples that are all alike are one cluster
            n_neighbors = self.n_neighbors and min(self.n_neighbors, len(E) - 1)
            W = graph_affinity(E, self.graph, n_clusters, n_neighbors)
            labels = spectral_labels(W, n_clusters, rng, n_init=self.n_init)
        if len(E) == len(H):
            self._labels = {**self._labels, n_clusters: labels}
        return nearest_mean(E, labels, self.random_state)

    def labels(self, n_clusters: int) -> np.ndarray:
        """Return the clusters of the training samples; of those that are not in the graph, as of new samples."""
        if len(self.H):
            self._fit(n_clusters)
        found = self._labels.get(n_clusters)
        if found is None:
            return super().labels(n_clusters)
        return in_blocks_of(self.H, found) if is_dask(self.H) else found.copy()

    def without_codes(self, n_clusters: int) -> Clusters:
        """Return a copy without the codes of the training samples, which predicts this number of clusters."""
        kept = super().without_codes(n_clusters)
        vars(kept)["_labels"] = {}
        return kept


@dataclass(frozen=True, eq=False)
class NearestMean:
    """The cluster of the nearest of some means.

    Attributes
    ----------
    means : ndarray of shape (n_means, n_directions)
        The means.
    owners : ndarray of shape (n_means,)
        The cluster of each.
    """

    means: np.ndarray
    owners: np.ndarray

    def predict(self, E: np.ndarray) -> np.ndarray:
        """Return the cluster of each row of features."""
        return self.owners[pairwise_distances_argmin(E, self.means)]


def nearest_mean(E: np.ndarray, labels: np.ndarray, seed: int, *, n_means: int = 10) -> NearestMean:
    """Fit some means to each cluster by k-means, at most one for two samples.

    It is right for new samples as often as the nearest training sample (docs/clustering.md), and does not need these. A
    mean may be of one sample that is far from the others.

    Parameters
    ----------
    E : ndarray of shape (n_samples, n_directions)
        Features.
    labels : ndarray of shape (n_samples,)
        Clusters.
    seed : int
        Seed of k-means within the clusters.
    n_means : int, default=10
        Means of each cluster.

    Returns
    -------
    NearestMean

    Examples
    --------
    >>> E = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> model = nearest_mean(E, np.array([1, 1, 0, 0]), seed=0)
    >>> model.predict(np.array([[1.0], [4.0]]))
    array([1, 0])
    """
    means = {}
    for label in np.unique(labels):
        part = E[labels == label]
        count = min(n_means, max(1, len(part) // 2), len(np.unique(part, axis=0)))
        means[label] = kmeans(part, count, seed, n_init=3).cluster_centers_
    owners = np.repeat(list(means), [len(part) for part in means.values()])
    return NearestMean(np.vstack(list(means.values())), owners)


def clusters_of(
    form: Form, H: np.ndarray, read: Readout | Joined | None, random_state=None, *, n_init: int = 20
) -> Clusters:
    """Return the clusters of codes in a form: spectral ones of a partly whitened form, k-means of a named one.

    Parameters
    ----------
    form : str or float
        What ``read`` is: the name of a form or the exponent of the whitening.
    H, read, random_state, n_init
        As for `Clusters`.

    Returns
    -------
    Clusters

    Examples
    --------
    >>> type(clusters_of("raw", np.eye(3), Readout())).__name__, type(clusters_of(1, np.eye(3), Readout())).__name__
    ('Clusters', 'GraphClusters')
    """
    if isinstance(form, str):
        return Clusters(H, random_state, read, n_init=n_init)
    return GraphClusters(H, random_state, read, n_neighbors=10, n_directions=3, n_init=n_init)

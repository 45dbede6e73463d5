"""Spectral clusters of codes, extended to new samples."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state

from .._utils.progress import stage
from ..graphs import Graph
from .clusters import Clusters, Form, Joined, Readout
from .spectral import graph_affinity, spectral_labels


class GraphClusters(Clusters):
    """Spectral clusters (Ng, Jordan and Weiss) of a graph of read-outs, computed on first use and kept.

    A sample that was not in the graph belongs to the cluster of the nearest one that was.

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

    def features(self, H: np.ndarray, n_clusters: int) -> np.ndarray:
        """Return codes in the form that is clustered for so many clusters, in double precision."""
        read = self._read if self.n_directions is None else self._read.leading(self.n_directions * n_clusters)
        return read(H.astype(np.float64, copy=False))

    def _nodes(self, H: np.ndarray, n_clusters: int) -> np.ndarray:
        """Return the features of the samples in the graph."""
        return self._sampled(H, n_clusters, max(self.max_samples, n_clusters))

    def _model(self, H: np.ndarray, n_clusters: int) -> KNeighborsClassifier:
        E, rng = self._nodes(H, n_clusters), check_random_state(self.random_state)
        stage(f"spectral clustering of {len(E)} samples, {n_clusters} clusters")
        labels = np.zeros(len(E), dtype=int)
        if n_clusters > 1:
            n_neighbors = self.n_neighbors and min(self.n_neighbors, len(E) - 1)
            W = graph_affinity(E, self.graph, n_clusters, n_neighbors)
            labels = spectral_labels(W, n_clusters, rng, n_init=self.n_init)
        return KNeighborsClassifier(1).fit(E, labels)

    def without_codes(self, n_clusters: int) -> Clusters:
        """Return a copy without codes of training samples: new samples belong to the cluster of the nearest mean."""
        kept = self._alone(n_clusters)
        if len(self.H) and kept._fitted:
            E = self._nodes(self.H, n_clusters)
            labels = kept._fitted[n_clusters].predict(E)
            found = np.unique(labels)
            means = np.vstack([E[labels == i].mean(axis=0) for i in found])
            kept._fitted[n_clusters] = KNeighborsClassifier(1).fit(means, found)
        return kept


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

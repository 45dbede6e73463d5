"""Spectral clusters of codes, extended to new samples."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state

from .._utils.progress import stage
from ..graphs import Graph
from .clusters import Clusters, Joined, Readout, subsample
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

    def __init__(
        self,
        H: np.ndarray,
        random_state=None,
        read: Readout | Joined | None = None,
        graph: str | Graph = "rank",
        *,
        n_init: int = 20,
        max_samples: int = 10_000,
    ):
        super().__init__(H, random_state, read, n_init=n_init, max_samples=max_samples)
        self.graph = graph

    def _model(self, H: np.ndarray, n_clusters: int) -> KNeighborsClassifier:
        rng = check_random_state(self.random_state)
        E = self.features(np.asarray(subsample(H, self.max_samples, rng)))
        stage(f"spectral clustering of {len(E)} samples, {n_clusters} clusters")
        labels = np.zeros(len(E), dtype=int)
        if n_clusters > 1:
            labels = spectral_labels(graph_affinity(E, self.graph, n_clusters), n_clusters, rng, n_init=self.n_init)
        return KNeighborsClassifier(1).fit(E, labels)

"""Affinities of the samples of one view: dense or sparse, symmetric, non-negative, with a zero diagonal."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from .._base.spectral import Affinity, graph_affinity
from ..graphs import Graph, Precomputed
from ..graphs.neighbours import in_range


def check_dense(n_samples: int, user: str, alternative: str, *, max_dense: int = 5000) -> None:
    """Raise a ValueError, with an alternative, for n x n arrays above ``max_dense`` samples: 200 MB in float64."""
    if n_samples > max_dense:
        raise ValueError(
            f"{user} needs dense arrays of n_samples x n_samples, and n_samples={n_samples} is more than {max_dense}: "
            f"{alternative}."
        )


def gaussian(X: np.ndarray) -> np.ndarray:
    """Return ``exp(-distance^2 / (2 sigma^2))`` of all pairs, sigma their median distance; zero on the diagonal."""
    check_dense(len(X), 'affinity="gaussian"', 'use affinity="knn" or "rank", or fewer samples')
    W = euclidean_distances(in_range(X.astype(np.float64))[0], squared=True)
    square = np.median(W[np.tri(len(W), k=-1, dtype=bool)])
    np.divide(W, -2 * (square or W.mean() or 1.0), out=W)  # the median is 0 where half of the pairs are equal
    np.exp(W, out=W)
    np.fill_diagonal(W, 0)
    return W


def build_affinity(
    X: np.ndarray | sp.csr_array, affinity: str | Graph, n_neighbors: int | None, n_clusters: int
) -> Affinity:
    """Build the affinity of the samples of one view from the parameters of a clusterer."""
    if isinstance(affinity, str) and affinity == "gaussian":
        return gaussian(X)
    if isinstance(affinity, str) and affinity == "precomputed":
        affinity = Precomputed(X)
    return graph_affinity(X, affinity, n_clusters, n_neighbors)

"""Spectral clustering of a graph: affinity, embedding, k-means.

    N = D^-1/2 W D^-1/2,   U = its k leading eigenvectors,   clusters = k-means of the rows of U at unit length

A. Ng, M. Jordan and Y. Weiss, On spectral clustering: analysis and an algorithm, NIPS 2001.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from threadpoolctl import ThreadpoolController

from .._engine.linalg.eigen import leading_eigenvectors
from .._engine.linalg.small import safe_divide, unit_rows
from .._utils.typing import Seed
from ..graphs import KNN, Graph, Rank

Affinity: TypeAlias = np.ndarray | sp.csr_array


def graph_affinity(
    X: np.ndarray | sp.csr_array,
    graph: str | Graph,
    n_clusters: int,
    n_neighbors: int | None = None,
    *,
    max_dense: int = 5000,
) -> Affinity:
    """Build the edge weights W of a graph over the rows of X, as an array where a fifth of them or more is not zero.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples.
    graph : {"knn", "rank"} or Graph
        Which graph.
    n_clusters : int
        Number of clusters, from which "rank" takes its number of neighbours.
    n_neighbors : int or None, default=None
        Neighbours of "knn" (None means 5) and "rank" (None: by the number of clusters).
    max_dense : int, default=5000
        Samples up to which an n x n array is formed: 200 MB in float64.

    Returns
    -------
    W : {ndarray, sparse array} of shape (n_samples, n_samples)

    Examples
    --------
    >>> graph_affinity(np.array([[0.0], [0.1], [5.0], [5.1]]), KNN(1), 2)
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    if isinstance(graph, str):
        graph = {
            "knn": lambda: KNN(min(5, X.shape[0] - 1) if n_neighbors is None else n_neighbors),
            "rank": lambda: Rank(n_neighbors, n_clusters),
        }[graph]()
    W = graph.build(X).tocsr()
    dense = W.nnz > 0.2 * W.shape[0] ** 2  # products with an array are then faster
    return W.toarray() if dense and W.shape[0] <= max_dense else W


def count_connected(W: Affinity) -> int:
    """Count the connected components of two samples or more; a dense W counts as connected."""
    if not sp.issparse(W):
        return 1
    sizes = np.bincount(connected_components(W, directed=False)[1])
    return int((sizes > 1).sum())


def inverse_root(degree: np.ndarray) -> np.ndarray:
    """Return ``degree^-1/2``, 0 where the degree is 0."""
    return safe_divide(1, np.sqrt(degree))


def normalized(W: Affinity) -> Affinity:
    """Return ``D^-1/2 W D^-1/2``, whose eigenvalues lie in [-1, 1]; rows of samples without edges are zero."""
    scale = inverse_root(np.asarray(W.sum(axis=1), dtype=np.float64).ravel())
    if sp.issparse(W):
        return sp.csr_array(sp.diags_array(scale) @ W @ sp.diags_array(scale))
    return W * scale[:, None] * scale


def unit_embedding(E: np.ndarray) -> np.ndarray:
    """Scale the rows of an embedding to unit length; rows below 1e-6 of the longest are rounding and become zero.

    Examples
    --------
    >>> unit_embedding(np.array([[3.0, 4.0], [1e-12, -1e-11]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    norms = np.linalg.norm(E, axis=1, keepdims=True)
    return unit_rows(np.where(norms > 1e-6 * norms.max(), E, 0))


@cache
def _openmp() -> ThreadpoolController:
    """Return the thread pool of k-means, which is loaded with this module: to find it takes longer than a small fit."""
    return ThreadpoolController().select(user_api="openmp")


def kmeans(E: np.ndarray, n_clusters: int, random_state: Seed, n_init: int = 20) -> KMeans:
    """Fit k-means to the rows of E, the best of ``n_init`` starts.

    Parameters
    ----------
    E : ndarray of shape (n_samples, n_dimensions)
        Features, as they are.
    n_clusters : int
        Number of clusters.
    random_state : int, RandomState instance or None
        Seed of the starts.
    n_init : int, default=20
        Number of starts.

    Returns
    -------
    KMeans
        Fitted: ``labels_`` and ``predict``.

    Examples
    --------
    >>> labels = kmeans(np.array([[0.0], [0.1], [5.0]]), 2, random_state=0).labels_
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    # On one thread: the sums of several are added in an order of their own, and rounding may move a sample.
    with _openmp().limit(limits=1):
        return KMeans(int(n_clusters), n_init=n_init, random_state=random_state).fit(E)


def spectral_labels(W: Affinity, n_clusters: int, random_state: Seed = None, *, n_init: int = 20) -> np.ndarray:
    """Cluster the nodes of a graph (Ng, Jordan and Weiss).

    Parameters
    ----------
    W : {ndarray, sparse array} of shape (n_samples, n_samples)
        Symmetric, non-negative edge weights, as from `graph_affinity`.
    n_clusters : int
        Number of clusters, and of eigenvectors.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means and of the eigensolver.
    n_init : int, default=20
        Starts of k-means.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Cluster of each sample.

    Examples
    --------
    >>> W = graph_affinity(np.array([[0.0], [0.1], [5.0], [5.1]]), KNN(1), 2)
    >>> labels = spectral_labels(W, 2, random_state=0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    rng = check_random_state(random_state)
    seed = kmeans_seed(rng)
    vectors = leading_eigenvectors(normalized(W), n_clusters, rng)[1]
    return kmeans(unit_embedding(vectors), n_clusters, seed, n_init).labels_


def kmeans_seed(rng: np.random.RandomState) -> int:
    """Draw a seed for k-means; before the eigensolver draws, so that k-means does not depend on how often it does."""
    return rng.randint(2**31 - 1)

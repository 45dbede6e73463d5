"""How alike two samples of one view are: dense or sparse, symmetric, non-negative, with a zero diagonal."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics.pairwise import euclidean_distances

from ..graphs import KNN, Graph, Precomputed, Rank
from ..graphs.neighbours import in_range

MAX_DENSE = 5000  # samples up to which an n x n array is made: 200 MB each

Affinity: TypeAlias = np.ndarray | sp.csr_array


def check_dense(n_samples: int, what: str, instead: str) -> None:
    """Refuse an n x n array that would not fit."""
    if n_samples > MAX_DENSE:
        raise ValueError(
            f"{what} needs dense arrays of n_samples x n_samples, and n_samples={n_samples} is more than {MAX_DENSE}: "
            f"{instead}."
        )


def gaussian(X: np.ndarray) -> np.ndarray:
    """``exp(-distance^2 / (2 sigma^2))`` between all pairs, sigma their median distance; zero on the diagonal."""
    check_dense(len(X), 'affinity="gaussian"', 'use affinity="knn" or "rank", or fewer samples')
    W = euclidean_distances(in_range(X.astype(np.float64))[0], squared=True)
    square = np.median(W[np.tri(len(W), k=-1, dtype=bool)])
    np.divide(W, -2 * (square or W.mean() or 1.0), out=W)  # more than half of the pairs may be equal
    np.exp(W, out=W)
    np.fill_diagonal(W, 0)
    return W


def build_affinity(X, affinity: str | Graph, n_neighbors: int | None, n_clusters: int) -> Affinity:
    """Return the affinity of the samples of one view, by the name or graph a clusterer was given."""
    if isinstance(affinity, str) and affinity == "gaussian":
        return gaussian(X)
    if isinstance(affinity, str):
        affinity = {
            "knn": lambda: KNN(min(5, X.shape[0] - 1) if n_neighbors is None else n_neighbors),
            "rank": lambda: Rank(n_neighbors, n_clusters),
            "precomputed": lambda: Precomputed(X),
        }[affinity]()
    W = affinity.build(X).tocsr()
    full = W.nnz > 0.2 * W.shape[0] ** 2  # products are then faster with an array
    return W.toarray() if full and W.shape[0] <= MAX_DENSE else W


def count_pieces(W: Affinity) -> int:
    """Return in how many pieces of two samples or more the graph falls; a full one counts as whole."""
    if not sp.issparse(W):
        return 1
    sizes = np.bincount(connected_components(W, directed=False)[1])
    return int((sizes > 1).sum())


def normalized(W: Affinity) -> Affinity:
    """``D^-1/2 W D^-1/2``, whose eigenvalues lie in [-1, 1]; a sample without links keeps a row of zeros."""
    scale = inverse_root(np.asarray(W.sum(axis=1), dtype=np.float64).ravel())
    if sp.issparse(W):
        return sp.csr_array(sp.diags_array(scale) @ W @ sp.diags_array(scale))
    return W * scale[:, None] * scale


def inverse_root(degree: np.ndarray) -> np.ndarray:
    """``degree^-1/2``, and 0 where there is none."""
    return np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)

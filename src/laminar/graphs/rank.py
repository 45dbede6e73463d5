"""Graph of nearest neighbours with weights by rank."""

# ruff: noqa: D102 -- the build is the one of Graph

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .._utils.typing import Data
from .neighbours import as_rows, in_range, nearest
from .operators import GraphOperator, SparseOperator
from .specs import Graph


@dataclass(frozen=True)
class Rank(Graph):
    """Graph of nearest neighbours with weight one over the rank: 1, 1/2, 1/3, ...

    The weight of an edge is the mean of both directions, ``W = (A + A^T) / 2`` with ``a_ij = 1 / r`` where j is the
    r-th neighbour of i. It depends on the order of distances alone, so that views with different metrics give
    comparable graphs, and it decreases, so that many neighbours can be taken where samples have near-duplicates.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbours of each sample, itself not counted. By default half the mean size of a cluster, within 5 and 50,
        where `n_clusters` is given, and 10 where it is not; never more than there are.
    n_clusters : int, optional
        Number of clusters.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [10.0]])
    >>> Rank(2).build(X).tocsr().toarray()
    array([[0.  , 1.  , 0.5 , 0.  ],
           [1.  , 0.  , 0.75, 0.25],
           [0.5 , 0.75, 0.  , 0.5 ],
           [0.  , 0.25, 0.5 , 0.  ]])
    """

    n_neighbors: int | None = None
    n_clusters: int | None = None

    def __post_init__(self):
        if self.n_clusters is not None and self.n_clusters < 1:
            raise ValueError(f"n_clusters must be at least 1; got {self.n_clusters!r}.")

    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        X = as_rows(X)
        n_samples = X.shape[0]
        if n_samples < 2:
            raise ValueError(f"neighbours are ranked among 2 samples or more; X has {n_samples}.")
        k = self._resolve_n_neighbors(n_samples)
        _, neighbours = nearest(in_range(X)[0], k)
        A = rank_weights(neighbours, n_samples)
        return SparseOperator((A + A.T) / 2)

    def _resolve_n_neighbors(self, n_samples: int) -> int:
        if self.n_neighbors is None:
            # The default has no measurement on record.
            per_cluster = 10 if self.n_clusters is None else round(n_samples / (2 * self.n_clusters))
            return min(max(per_cluster, 5), 50, n_samples - 1)
        if not 1 <= self.n_neighbors < n_samples:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be at least 1 and below the number of samples, "
                f"{n_samples}; lower n_neighbors, or give more than {n_samples} samples."
            )
        return self.n_neighbors


def rank_weights(neighbours: np.ndarray, n_nodes: int) -> sp.csr_array:
    """Return ``a_ij = 1 / r`` where j is the r-th neighbour of i.

    Parameters
    ----------
    neighbours : ndarray of shape (n_samples, n_neighbors)
        Positions of the neighbours, from the nearest on.
    n_nodes : int
        Number of samples among which they are neighbours.

    Returns
    -------
    A : sparse array of shape (n_samples, n_nodes)

    Examples
    --------
    >>> rank_weights(np.array([[2, 1], [0, 2], [1, 0]]), 3).toarray()
    array([[0. , 0.5, 1. ],
           [1. , 0. , 0.5],
           [0.5, 1. , 0. ]])
    """
    n_samples, k = neighbours.shape
    weights = np.tile(1 / np.arange(1.0, k + 1), n_samples)
    starts = k * np.arange(n_samples + 1)
    return sp.csr_array((weights, neighbours.ravel(), starts), shape=(n_samples, n_nodes))

"""Graph of nearest training samples by their principal scores, with edges to new samples."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from .._engine.linalg.small import unit_rows
from ..graphs import KNN
from .bands import GraphKey


class NeighbourGraph:
    """Graph of nearest training samples, by the directions of their whitened scores or by the scores themselves.

    Parameters
    ----------
    F : ndarray of shape (n_samples, n_scores)
        Principal scores of the training samples.
    singular_values : ndarray of shape (n_scores,)
        Singular values, with which scores are whitened.
    key : tuple
        Number of leading scores or None for all, exponent of the whitening, neighbours of each sample.
    samples_per_score : int, default=6
        Fewest samples for each leading score: of few samples fewer are used. No measurement on record.
    """

    def __init__(self, F: np.ndarray, singular_values: np.ndarray, key: GraphKey, *, samples_per_score: int = 6):
        rank, self.whitening, n_neighbors = key
        n_leading = len(singular_values) if rank is None else min(rank, max(2, len(F) // samples_per_score))
        self.singular_values = singular_values[:n_leading]
        points = self._points(F)
        self.n_neighbors = min(n_neighbors, len(F) - 1)
        self.graph = KNN(self.n_neighbors).build(points)
        self._search = NearestNeighbors(n_neighbors=self.n_neighbors).fit(points)

    def _points(self, F: np.ndarray) -> np.ndarray:
        if not self.whitening:
            return F
        W = F[:, : len(self.singular_values)] / self.singular_values ** F.dtype.type(self.whitening)
        # Divided by the largest magnitude first: the squares of an outlier could overflow.
        return unit_rows(W / np.maximum(np.abs(W).max(1, keepdims=True), np.finfo(W.dtype).tiny))

    def edges_to(self, F: np.ndarray) -> sp.csr_array:
        """Return the normalised weights ``1 / sqrt(q d_j)`` between new samples (rows) with scores F and the graph."""
        neighbours = self._search.kneighbors(self._points(F), return_distance=False)
        weights = 1 / np.sqrt(self.n_neighbors * self.graph.degree[neighbours])
        starts = np.arange(0, neighbours.size + 1, self.n_neighbors)
        shape = (len(F), len(self.graph.degree))
        return sp.csr_array((weights.ravel().astype(F.dtype), neighbours.ravel(), starts), shape=shape)

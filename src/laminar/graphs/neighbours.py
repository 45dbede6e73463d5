"""Graphs of nearest neighbours."""

# ruff: noqa: D102 -- every build is the one of Graph

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize as unit_rows
from sklearn.utils import check_array, gen_batches

from .._utils.validation import check_choice, check_positive
from .operators import SparseOperator, row_squares
from .specs import Graph


@dataclass(frozen=True)
class KNN(Graph):
    """Link each sample to its nearest neighbours, in Euclidean distance; of equally near ones the first win.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of each sample, itself not counted.
    weight : {"binary", "heat", "cosine"}
        1; ``exp(-distance^2 / (2 bandwidth^2))``; or the cosine where it is positive, with the neighbours
        nearest in angle (a zero sample is then linked to none).
    symmetrize : {"union", "mutual"}
        Link two samples when one is a neighbour of the other, or when each is the other's.
    bandwidth : float, optional
        Of the heat weights. By default the mean distance over all pairs, of 3000 samples at most.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [10.0]])
    >>> KNN(1).build(X).tocsr().toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [0., 0., 1., 0.]])
    """

    n_neighbors: int = 5
    weight: Literal["binary", "heat", "cosine"] = "binary"
    symmetrize: Literal["union", "mutual"] = "union"
    bandwidth: float | None = None

    def __post_init__(self):
        check_choice("weight", self.weight, ("binary", "heat", "cosine"))
        check_choice("symmetrize", self.symmetrize, ("union", "mutual"))
        check_positive("bandwidth", self.bandwidth)

    def build(self, X, y=None, groups=None):
        X = as_rows(X)
        n_samples = X.shape[0]
        if not 1 <= self.n_neighbors < n_samples:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be at least 1 and below the number of samples, "
                f"{n_samples}; lower n_neighbors, or give more than {n_samples} samples."
            )
        X, unit = in_range(X)
        points = unit_rows(X) if self.weight == "cosine" else X
        squares, neighbours = nearest(points, self.n_neighbors)
        starts = np.arange(0, neighbours.size + 1, self.n_neighbors)
        edges = self._weights(X, unit, squares, neighbours).ravel()
        W = sp.csr_array((edges, neighbours.ravel(), starts), shape=(n_samples, n_samples))
        return SparseOperator(W.maximum(W.T) if self.symmetrize == "union" else W.minimum(W.T))

    def _weights(self, X, unit, squares, neighbours):
        if self.weight == "binary":
            return np.ones_like(squares)
        if self.weight == "heat":
            bandwidth = self.bandwidth / unit if self.bandwidth else mean_distance(X)
            return np.exp(-squares / (2 * bandwidth**2))
        blank = row_squares(X) == 0  # no angle, although the formula would give one
        cosine = np.maximum(1 - squares / 2, 0)  # of unit rows
        return np.where(blank[:, None] | blank[neighbours], 0, cosine)


def as_rows(X: ArrayLike) -> np.ndarray | sp.csr_array:
    """Validate X in its own precision; what the caller holds is not changed."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if sp.issparse(X) and not X.has_canonical_format:  # scipy would sort and sum the entries in place
        X = X.copy()
        X.sum_duplicates()
    return X


def in_range(X: np.ndarray | sp.csr_array) -> tuple[np.ndarray | sp.csr_array, float]:
    """X and 1, or where squares would leave the range of its precision X in unit scale and that unit."""
    unit = max(float(X.max()), -float(X.min()))
    # Numbers too small to divide by are left as they are.
    return (X, 1.0) if unit < np.finfo(X.dtype).tiny or 1e-9 < unit < 1e9 else (X / X.dtype.type(unit), unit)


def mean_distance(X: np.ndarray | sp.csr_array, max_samples: int = 3000) -> float:
    """Mean over all pairs of samples, or of a fixed choice of ``max_samples``."""
    n_samples = X.shape[0]
    if n_samples > max_samples:
        X = X[np.sort(np.random.default_rng(0).choice(n_samples, max_samples, replace=False))]
    n_pairs = X.shape[0] * (X.shape[0] - 1)
    mean = float(euclidean_distances(X).sum(dtype=np.float64)) / n_pairs
    return mean or 1.0  # when all samples are equal any width will do


def nearest(X: np.ndarray | sp.csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances and positions of each sample's k nearest others; of equally near, the first."""
    n_samples = X.shape[0]
    search = NearestNeighbors().fit(X)
    squares, neighbours = np.empty((n_samples, k)), np.empty((n_samples, k), dtype=np.intp)
    pending, width = np.arange(n_samples), min(2 * k + 2, n_samples)
    while len(pending):
        tied = []
        for part in gen_batches(len(pending), max(1, 2**22 // width)):
            rows = pending[part]
            candidates = search.kneighbors(X[rows], width, return_distance=False)
            squares[rows], neighbours[rows], unsure = _nearest_among(X, rows, candidates, k)
            tied.append(rows[unsure])
        pending = np.concatenate(tied) if width < n_samples else pending[:0]
        width = min(4 * width, n_samples)
    return squares, neighbours


def _nearest_among(X, rows, candidates, k):
    """The k nearest candidates of each row, and whether equally near ones may have been left out."""
    squares = _squared_distances(X, rows, candidates)
    squares[candidates == rows[:, None]] = np.inf  # the sample itself, wherever it was found
    order = np.lexsort((candidates, squares), axis=1)
    squares, candidates = np.take_along_axis(squares, order, 1), np.take_along_axis(candidates, order, 1)
    farther = (squares > squares[:, k - 1 : k]) & np.isfinite(squares)
    return squares[:, :k], candidates[:, :k], ~farther.any(axis=1)


def _squared_distances(X, rows, others):
    """Squared distances of each row to its others, by differences: matrix products break ties by rounding."""
    n_samples, width = X.shape[0], others.shape[1]
    per_sample = X.nnz // n_samples + 1 if sp.issparse(X) else X.shape[1]
    out = np.empty(others.shape)
    for part in gen_batches(len(rows), max(1, 2**22 // (width * per_sample))):
        difference = X[np.repeat(rows[part], width)] - X[others[part].ravel()]
        out[part] = row_squares(difference).reshape(-1, width)
    return out

"""Graphs of nearest neighbours."""

# ruff: noqa: D102 -- every build is the one of Graph

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, gen_batches

from .._utils.progress import stage
from .._utils.typing import Data
from .._utils.validation import check_choice, check_positive
from .._utils.workers.array import DistributedArray
from .operators import GraphOperator, SparseOperator, row_squares
from .specs import Graph

Points = np.ndarray | sp.csr_array  # validated samples as rows
_searching = Lock()  # the threads of numba that pynndescent uses may be those of one caller at a time


@dataclass(frozen=True)
class KNN(Graph):
    """Graph of nearest neighbours in Euclidean distance; ties go to the sample that comes first.

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
        Of the heat weights, and theirs alone. By default the mean distance over all pairs, of a subsample if there are
        more than 3000.

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
        check_bandwidth(self.bandwidth, self.weight, "heat")

    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        X = as_rows(X)
        n_samples = X.shape[0]
        if not 1 <= self.n_neighbors < n_samples:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be at least 1 and below the number of samples, "
                f"{n_samples}; lower n_neighbors, or give more than {n_samples} samples."
            )
        X, unit = in_range(X)
        points = normalize(X) if self.weight == "cosine" else X
        squares, neighbours = nearest(points, self.n_neighbors)
        starts = np.arange(0, neighbours.size + 1, self.n_neighbors)
        edges = self._weights(X, unit, squares, neighbours).ravel()
        W = sp.csr_array((edges, neighbours.ravel(), starts), shape=(n_samples, n_samples))
        return SparseOperator(W.maximum(W.T) if self.symmetrize == "union" else W.minimum(W.T))

    def _weights(self, X: Points, unit: float, squares: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        if self.weight == "binary":
            return np.ones_like(squares)
        if self.weight == "heat":
            bandwidth = self.bandwidth / unit if self.bandwidth else mean_distance(X)
            return np.exp(-squares / (2 * bandwidth**2))
        is_zero = row_squares(X) == 0  # has no angle, although the formula would give one
        cosine = np.maximum(1 - squares / 2, 0)  # of unit rows
        return np.where(is_zero[:, None] | is_zero[neighbours], 0, cosine)


def check_bandwidth(bandwidth: float | None, weight: str, kernel: str) -> None:
    """Refuse a bandwidth that is not positive, or of weights that have none."""
    check_positive("bandwidth", bandwidth)
    if bandwidth is not None and weight != kernel:
        raise ValueError(
            f"bandwidth={bandwidth!r} has no effect with weight={weight!r}: it is that of weight={kernel!r}."
        )


def as_rows(X: Data) -> Points:
    """Validate X in its own precision; sparse X is copied where scipy would change it in place."""
    if isinstance(X, DistributedArray):
        raise TypeError(
            'X is on dask, and this graph compares samples in different blocks: use labels (weight="binary") or a '
            "chain; a graph that you made with edges inside of blocks, laminar.graphs.Precomputed(W); no "
            "graph, where the model can do without; or fit in memory, X.compute()."
        )
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if sp.issparse(X) and not X.has_canonical_format:  # scipy would sort and sum the entries in place
        X = X.copy()
        X.sum_duplicates()
    return X


def in_range(X: Points) -> tuple[Points, float]:
    """Return X and 1; or, where squares could over- or underflow, ``X / unit`` and its largest magnitude ``unit``."""
    unit = max(float(X.max()), -float(X.min()))
    # A subnormal unit has no finite inverse: X is then returned as it is.
    return (X, 1.0) if unit < np.finfo(X.dtype).tiny or 1e-9 < unit < 1e9 else (X / X.dtype.type(unit), unit)


def mean_distance(X: Points, max_samples: int = 3000) -> float:
    """Return the mean distance over all pairs of samples, or over those of a fixed subsample of ``max_samples``."""
    n_samples = X.shape[0]
    if n_samples > max_samples:
        X = X[np.sort(np.random.default_rng(0).choice(n_samples, max_samples, replace=False))]
    n_pairs = X.shape[0] * (X.shape[0] - 1)
    mean = float(euclidean_distances(X).sum(dtype=np.float64)) / n_pairs
    return mean or 1.0  # where all samples are equal, any bandwidth gives the same graph


def nearest(
    X: Points, k: int, *, max_entries: int = 2**22, max_exact: int = 75_000, max_tree: int = 8
) -> tuple[np.ndarray, np.ndarray]:
    """Find the k nearest other samples of each sample; ties go to the sample that comes first.

    Of more than ``max_exact`` samples with more than ``max_tree`` features they are found approximately, by descent
    over a graph of neighbours (W. Dong, M. Charikar and K. Li, WWW 2011, doi:10.1145/1963405.1963487; pynndescent).
    The result does not depend on a seed, nor on the number of threads.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples.
    k : int
        Number of neighbours, below n_samples.
    max_entries : int, default=2**22
        Candidates that are held at a time; bounds the memory, 32 MB in float64.
    max_exact : int, default=75_000
        Most samples of an exact search, whose time is quadratic in them. Below it the first approximate search of a
        process, which compiles for 25 seconds, would take longer.
    max_tree : int, default=8
        Most features of an exact search by a tree, for any number of samples; with 12 to 15 features a tree is
        up to eight times slower than all distances.

    Returns
    -------
    squares : ndarray of shape (n_samples, k)
        Squared distances, ascending.
    neighbours : ndarray of shape (n_samples, k)
        Positions.
    """
    n_samples, n_features = X.shape
    squares, neighbours = np.empty((n_samples, k)), np.empty((n_samples, k), dtype=np.intp)
    if n_samples > max_exact and n_features > max_tree:
        candidates = approximate_candidates(X, min(k + 15, n_samples))
        for batch in gen_batches(n_samples, max(1, max_entries // candidates.shape[1])):
            rows = np.arange(n_samples)[batch]
            squares[rows], neighbours[rows], _ = _nearest_among(X, rows, candidates[rows], k, max_entries)
        pending = np.flatnonzero(np.isinf(squares[:, -1]))  # fewer than k were found
    else:
        stage(f"nearest neighbours of {n_samples} samples")
        pending = np.arange(n_samples)
    # Of few samples scikit-learn chooses, as it does of sparse ones.
    brute = n_samples > 20_000 and n_features > max_tree
    search = NearestNeighbors(algorithm="brute" if brute else "auto").fit(X)
    width = min(2 * k + 2, n_samples)
    while len(pending):  # samples with ties at the end of their list of candidates get a longer one
        tied = []
        for batch in gen_batches(len(pending), max(1, max_entries // width)):
            rows = pending[batch]
            candidates = search.kneighbors(X[rows], width, return_distance=False)
            squares[rows], neighbours[rows], is_tied = _nearest_among(X, rows, candidates, k, max_entries)
            tied.append(rows[is_tied])
        pending = np.concatenate(tied) if width < n_samples else pending[:0]
        width = min(4 * width, n_samples)
    return squares, neighbours


def approximate_candidates(X: Points, width: int) -> np.ndarray:
    """Find about the ``width`` nearest samples of each sample, itself among them, by nearest neighbour descent.

    On one thread: the result of several depends on their number. X is centred, since the search is in float32.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples.
    width : int
        Number of candidates; with 15 more than the neighbours needed, nearly all of these are among them.

    Returns
    -------
    candidates : ndarray of shape (n_samples, width)
        Positions.
    """
    stage(f"approximate nearest neighbours of {X.shape[0]} samples; the first search of a process compiles for 25 s")
    from pynndescent import NNDescent  # here, since its import takes half a second

    if sp.issparse(X):
        points = sp.csr_matrix(X, dtype=np.float32)
    else:
        points = np.subtract(X, X.mean(0), out=np.empty(X.shape, np.float32), casting="same_kind")
    with _searching:
        found = NNDescent(points, n_neighbors=width, random_state=0, n_jobs=1).neighbor_graph[0]
    own = np.arange(len(found), dtype=found.dtype)[:, None]
    return np.where(found < 0, own, found)  # -1 where fewer were found


def _nearest_among(
    X: Points, rows: np.ndarray, candidates: np.ndarray, k: int, max_entries: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose the k nearest candidates of each row; rows whose ties may lie beyond the candidates are marked."""
    squares = _squared_distances(X, rows, candidates, max_entries)
    squares[candidates == rows[:, None]] = np.inf  # the sample itself
    order = np.lexsort((candidates, squares), axis=1)
    squares, candidates = np.take_along_axis(squares, order, 1), np.take_along_axis(candidates, order, 1)
    farther = (squares > squares[:, k - 1 : k]) & np.isfinite(squares)
    return squares[:, :k], candidates[:, :k], ~farther.any(axis=1)


def _squared_distances(X: Points, rows: np.ndarray, others: np.ndarray, max_entries: int) -> np.ndarray:
    """Compute squared distances of each row to its others, by differences: matrix products break ties by rounding."""
    n_samples, width = X.shape[0], others.shape[1]
    per_sample = X.nnz // n_samples + 1 if sp.issparse(X) else X.shape[1]
    out = np.empty(others.shape)
    for batch in gen_batches(len(rows), max(1, max_entries // (width * per_sample))):
        difference = X[np.repeat(rows[batch], width)] - X[others[batch].ravel()]
        out[batch] = row_squares(difference).reshape(-1, width)
    return out

"""Bands of a graph filter bank: principal scores smoothed over a graph of samples, and the difference from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from .._engine.data.matrix import Matrix, Rows, dense
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._engine.linalg.small import unit_rows
from .._utils.progress import stage
from .._utils.validation import check_choice, check_positive
from ..graphs import KNN
from ..graphs.smoothing import smooth


@dataclass(frozen=True)
class Band:
    """Parameters of one band of the principal scores F of the samples.

    ``S`` solves ``(I + strength (I - N)) S = F`` with ``N = D^-1/2 W D^-1/2``, W being the graph of nearest neighbours
    of the whitened scores with unit rows.

    Parameters
    ----------
    kind : {"scores", "smooth", "detail"}, default="scores"
        F itself, S, or F - S.
    rank : int, default=40
        Leading scores the graph is built on; at most a sixth of the samples, but two.
    n_neighbors : int, default=5
        Neighbours of each sample; at most the number of others.
    strength : float, default=3.0
        Strength of the smoothing.

    Examples
    --------
    >>> Band().name, Band("smooth", rank=80, strength=30.0).name
    ('scores', 'smooth(80, 5, 30)')
    """

    kind: Literal["scores", "smooth", "detail"] = "scores"
    rank: int = 40
    n_neighbors: int = 5
    strength: float = 3.0

    def __post_init__(self):
        check_choice("kind", self.kind, ("scores", "smooth", "detail"))
        for name in ("rank", "n_neighbors", "strength"):
            check_positive(name, getattr(self, name))

    @property
    def source(self) -> Band:
        """Smooth band with the same parameters."""
        return replace(self, kind="smooth")

    @property
    def name(self) -> str:
        """Name in tables."""
        if self.kind == "scores":
            return self.kind
        return f"{self.kind}({self.rank}, {self.n_neighbors}, {self.strength:g})"


BANDS = (
    Band(),
    *(Band("smooth", *p) for p in ((40, 5, 3.0), (80, 5, 3.0), (80, 5, 30.0))),
    *(Band("detail", *p) for p in ((20, 5, 10.0), (40, 10, 10.0), (40, 5, 1.0), (80, 5, 1.0))),
)
"""Default bands. On faces, identity is mostly in smooth bands and light in detail bands."""


class NeighbourGraph:
    """Graph of nearest training samples, by their whitened leading scores with unit rows, with edges to new samples.

    Parameters
    ----------
    F : ndarray of shape (n_samples, n_scores)
        Principal scores of the training samples.
    singular_values : ndarray of shape (n_scores,)
        Singular values, with which scores are whitened.
    rank : int
        Number of leading scores.
    n_neighbors : int
        Neighbours of each sample.
    samples_per_score : int, default=6
        Fewest samples for each score: of few samples fewer scores are used. No measurement on record.
    """

    def __init__(
        self, F: np.ndarray, singular_values: np.ndarray, rank: int, n_neighbors: int, *, samples_per_score: int = 6
    ):
        self.singular_values = singular_values[: min(rank, max(2, len(F) // samples_per_score))]
        points = self._whitened(F)
        self.n_neighbors = min(n_neighbors, len(F) - 1)
        self.graph = KNN(self.n_neighbors).build(points)
        self._search = NearestNeighbors(n_neighbors=self.n_neighbors).fit(points)

    def _whitened(self, F: np.ndarray) -> np.ndarray:
        W = F[:, : len(self.singular_values)] / self.singular_values
        # Divided by the largest magnitude first: the squares of an outlier could overflow.
        return unit_rows(W / np.maximum(np.abs(W).max(1, keepdims=True), np.finfo(W.dtype).tiny))

    def edges_to(self, F: np.ndarray) -> sp.csr_array:
        """Return the normalised weights ``1 / sqrt(q d_j)`` between new samples (rows) with scores F and the graph."""
        neighbours = self._search.kneighbors(self._whitened(F), return_distance=False)
        weights = 1 / np.sqrt(self.n_neighbors * self.graph.degree[neighbours])
        starts = np.arange(0, neighbours.size + 1, self.n_neighbors)
        shape = (len(F), len(self.graph.degree))
        return sp.csr_array((weights.ravel().astype(F.dtype), neighbours.ravel(), starts), shape=shape)


class FilterBank:
    """Bands of training samples, and their extension to new ones; all are scaled to the mean square of the scores.

    Parameters
    ----------
    bands : sequence of Band
        Parameters of the bands.
    n_scores : int
        Number of principal scores, at most the rank of the centred data.
    max_nodes : int, default=10_000
        Training samples in the graphs, at random if there are more; the others are then added as new samples are.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> bank = FilterBank([Band(), Band("smooth", 2), Band("detail", 2)], n_scores=3)
    >>> [band.shape for band in bank.fit(X, np.random.RandomState(0))]
    [(30, 3), (30, 3), (30, 3)]
    >>> {position: band.shape for position, band in bank.extend(X[:5], [0, 2]).items()}
    {0: (5, 3), 2: (5, 3)}
    """

    def __init__(self, bands: Sequence[Band] = BANDS, n_scores: int = 200, *, max_nodes: int = 10_000):
        self.bands, self.n_scores, self.max_nodes = tuple(bands), n_scores, max_nodes

    def fit(self, X: np.ndarray | sp.csr_array, random_state: np.random.RandomState) -> list[np.ndarray]:
        """Compute the bands of the rows of X, in unit scale (``scale``)."""
        self.mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        data = centred(X, self.mean)
        stage(f"singular value decomposition of {X.shape[0]} x {X.shape[1]}")
        U, s, V = truncated_svd(data, self.n_scores, random_state)
        # Below 1000 machine epsilons of the largest, a choice, they are zero. Constant X keeps one score, zero.
        r = max(1, int(np.count_nonzero(s > 1e3 * np.finfo(X.dtype).eps * s[0])))
        self.scale, self.basis = data.scale, V[:, :r].astype(X.dtype)
        self.singular_values = np.where(s[:r] > 0, s[:r], 1).astype(X.dtype)
        F = (U[:, :r] * s[:r]).astype(X.dtype)
        self._graphs: dict[tuple[int, int], NeighbourGraph] = {}
        self._smooth: dict[Band, np.ndarray] = {}
        is_node = self._choose_nodes(len(F), random_state)
        bands = self._fit_bands(F, is_node)
        total = float(np.linalg.norm(F))
        norms = [float(np.linalg.norm(band)) for band in bands]
        # A band that is rounding error is set to zero.
        self.sizes = [F.dtype.type(total / norm if norm > 1e-6 * total else 0) for norm in norms]
        return [np.multiply(size, band) for size, band in zip(self.sizes, bands, strict=True)]

    def _choose_nodes(self, n_samples: int, random_state: np.random.RandomState) -> np.ndarray:
        """Return whether each training sample is in the graphs."""
        if n_samples <= self.max_nodes:
            return np.ones(n_samples, dtype=bool)
        is_node = np.zeros(n_samples, dtype=bool)
        is_node[random_state.choice(n_samples, self.max_nodes, replace=False)] = True
        return is_node

    def _fit_bands(self, F: np.ndarray, is_node: np.ndarray) -> list[np.ndarray]:
        """Compute the bands of the training samples; graphs and smooth scores of the nodes are stored for `extend`."""
        nodes, others = F[is_node], F[~is_node]
        for band in self.bands:
            key, source = (band.rank, band.n_neighbors), band.source
            if band.kind == "scores" or source in self._smooth:
                continue
            stage(f"band {band.name} of {len(nodes)} samples")
            if key not in self._graphs:
                self._graphs[key] = NeighbourGraph(nodes, self.singular_values, *key)
            self._smooth[source] = smooth(self._graphs[key].graph, nodes, band.strength)
        edges = {}
        if len(others):
            stage(f"bands of {len(others)} further samples")
            edges = {key: graph.edges_to(others) for key, graph in self._graphs.items()}

        def smooth_scores(band: Band) -> np.ndarray:
            if not len(others):
                return self._smooth[band.source]
            S = np.empty_like(F)
            S[is_node], S[~is_node] = self._smooth[band.source], self._attach(band, others, edges)
            return S

        return [self._band(band, F, smooth_scores) for band in self.bands]

    def _attach(self, band: Band, F: np.ndarray, edges: Mapping[tuple[int, int], sp.csr_array]) -> np.ndarray:
        """Compute the smooth scores of samples that are not nodes, by the formula of `extend`."""
        mean = edges[band.rank, band.n_neighbors] @ self._smooth[band.source]
        return (F + F.dtype.type(band.strength) * mean) / F.dtype.type(1 + band.strength)

    @staticmethod
    def _band(band: Band, F: np.ndarray, smooth_scores: Callable[[Band], np.ndarray]) -> np.ndarray:
        """Return a band of samples with scores F."""
        if band.kind == "scores":
            return F
        S = smooth_scores(band)
        return S if band.kind == "smooth" else F - S

    @property
    def has_graphs(self) -> bool:
        """Whether bands of new samples need training samples."""
        return bool(self._graphs)

    def keep(self, which: Iterable[int]) -> None:
        """Discard the graphs and smooth scores that only other bands need."""
        sources = {self.bands[b].source for b in which}
        self._smooth = {source: S for source, S in self._smooth.items() if source in sources}
        keys = {(source.rank, source.n_neighbors) for source in self._smooth}
        self._graphs = {key: graph for key, graph in self._graphs.items() if key in keys}

    def extend(self, X: np.ndarray | sp.csr_array, which: Iterable[int]) -> dict[int, np.ndarray]:
        """Compute bands of new samples, by position.

        A new sample is added to the graph, the smooth scores of the training samples fixed:
        ``s = (f + strength sum_j S_j / sqrt(q d_j)) / (1 + strength)`` over its q nearest training samples j.
        """
        data = centred(X, self.mean)
        F = data.product(self.basis.astype(X.dtype)) * X.dtype.type(data.scale / self.scale)
        edges = {key: graph.edges_to(F) for key, graph in self._graphs.items()}

        def band(b: int) -> np.ndarray:
            return self._band(self.bands[b], F, lambda spec: self._attach(spec, F, edges))

        return {b: np.multiply(self.sizes[b], band(b)).astype(X.dtype, copy=False) for b in which}


class CentredSparse(Matrix):
    """Sparse data minus their mean; the dense matrix is not formed.

    Parameters
    ----------
    data : Matrix
        X.
    mean : ndarray of shape (n_features,)
        Of the columns, in unit scale.
    """

    flipped = False
    nonnegative = False

    def __init__(self, data: Matrix, mean: np.ndarray):
        self.data, self.mean = data, mean
        self.base_shape, self.dtype, self.scale, self.stored = data.shape, data.dtype, data.scale, data.stored

    @property
    def sqnorm(self) -> float:
        """Squared Frobenius norm, in unit scale."""
        return self.data.sqnorm - self.base_shape[0] * float(self.mean @ self.mean)

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        if self.flipped:
            product, total = self.data.T.times(R), R.sum(0)
            return lambda b: product(b) - np.outer(self.mean[b], total).astype(self.dtype)
        product, shift = self.data.times(R), (self.mean @ R).astype(self.dtype)
        return lambda b: product(b) - shift

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b as an array, so few at a time."""
        if self.flipped:
            return (dense(self.data.T.rows(b)) - self.mean[b, None]).astype(self.dtype)
        return (dense(self.data.rows(b)) - self.mean).astype(self.dtype)


def centred(X: np.ndarray | sp.csr_array, mean: np.ndarray) -> Matrix:
    """Wrap X minus its mean, for products.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 6.0]])
    >>> a, b = (centred(form(X), X.mean(0)) for form in (np.asarray, sp.csr_array))
    >>> a.product(np.eye(2)) * a.scale, b.product(np.eye(2)) * b.scale
    (array([[-1., -2.],
           [ 1.,  2.]]), array([[-1., -2.],
           [ 1.,  2.]]))
    """
    if not sp.issparse(X):
        return wrap(X - mean.astype(X.dtype))
    data = wrap(X)
    return CentredSparse(data, mean / data.scale)

"""Graph bands: what samples share with their neighbours and what they do not, for given and for new samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from .._engine.data.matrix import Matrix, wrap
from .._engine.data.svd import truncated_svd
from .._engine.linalg.small import unit_rows
from .._utils.typing import Data
from .._utils.validation import check_choice, check_positive
from ..graphs import KNN
from ..graphs.smoothing import smooth

_PER_DIRECTION = 6  # samples a direction of a graph needs: with fewer, neighbours are chance
_NOISE = 1e3  # singular values below so many roundings of the largest are none


@dataclass(frozen=True)
class Band:
    """One band of the principal scores F of the samples.

    Samples are linked to their nearest neighbours by the directions of their whitened scores; ``S`` solves
    ``(I + strength (I - N)) S = F``, N being the graph's weights normalised by its degrees.

    Parameters
    ----------
    kind : {"scores", "smooth", "detail"}, default="scores"
        F itself, S, or F - S.
    rank : int, default=40
        Leading scores the graph is built on; never more than a sixth of the samples (but two).
    n_neighbors : int, default=5
        Of each sample; never more than there are others.
    strength : float, default=3.0
        Of the smoothing.

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
        """The smooth band it is made of."""
        return replace(self, kind="smooth")

    @property
    def name(self) -> str:
        """What tables call it."""
        if self.kind == "scores":
            return self.kind
        return f"{self.kind}({self.rank}, {self.n_neighbors}, {self.strength:g})"


BANDS = (
    Band(),
    *(Band("smooth", *p) for p in ((40, 5, 3.0), (80, 5, 3.0), (80, 5, 30.0))),
    *(Band("detail", *p) for p in ((20, 5, 10.0), (40, 10, 10.0), (40, 5, 1.0), (80, 5, 1.0))),
)
"""Smooth bands tend to hold who or what is seen, detail bands how it is lit."""


class Neighbours:
    """A graph of training samples by the directions of their whitened leading scores, open to new ones."""

    def __init__(self, F: np.ndarray, spread: np.ndarray, rank: int, n_neighbors: int):
        self.spread = spread[: min(rank, max(2, len(F) // _PER_DIRECTION))]
        codes = self._directions(F)
        self.n_neighbors = min(n_neighbors, len(F) - 1)
        self.graph = KNN(self.n_neighbors).build(codes)
        self._search = NearestNeighbors(n_neighbors=self.n_neighbors).fit(codes)

    def _directions(self, F: np.ndarray) -> np.ndarray:
        codes = F[:, : len(self.spread)] / self.spread
        # The squares of a sample far away are out of range.
        return unit_rows(codes / np.maximum(np.abs(codes).max(1, keepdims=True), np.finfo(codes.dtype).tiny))

    def links(self, F: np.ndarray) -> sp.csr_array:
        """Normalised weights between new samples (rows) and those of the graph, by the scores of the new ones."""
        near = self._search.kneighbors(self._directions(F), return_distance=False)
        weights = 1 / np.sqrt(self.n_neighbors * self.graph.degree[near])
        starts = np.arange(0, near.size + 1, self.n_neighbors)
        shape = (len(F), len(self.graph.degree))
        return sp.csr_array((weights.ravel().astype(F.dtype), near.ravel(), starts), shape=shape)


class FilterBank:
    """Bands of samples, found on some and extended to any; all have the mean square of the scores.

    Parameters
    ----------
    bands : sequence of Band
        Which.
    n_scores : int
        Principal scores to work with.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> bank = FilterBank([Band(), Band("smooth", 2), Band("detail", 2)], n_scores=3)
    >>> [band.shape for band in bank.fit(X, np.random.RandomState(0))]
    [(30, 3), (30, 3), (30, 3)]
    >>> {position: band.shape for position, band in bank.extend(X[:5], [0, 2]).items()}
    {0: (5, 3), 2: (5, 3)}
    """

    def __init__(self, bands: Sequence[Band] = BANDS, n_scores: int = 200):
        self.bands, self.n_scores = tuple(bands), n_scores

    def fit(self, X: Data, random_state: np.random.RandomState) -> list[np.ndarray]:
        """Find the bands of the rows of X, in unit scale (``scale``)."""
        self.mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        data = centred(X, self.mean)
        U, s, V = truncated_svd(data, self.n_scores, random_state)
        # Where nothing varies one score of zero is left.
        r = max(1, int(np.count_nonzero(s > _NOISE * np.finfo(X.dtype).eps * s[0])))
        self.scale, self.basis = data.scale, V[:, :r].astype(X.dtype)
        self.spread = np.where(s[:r] > 0, s[:r], 1).astype(X.dtype)
        F = (U[:, :r] * s[:r]).astype(X.dtype)
        self._neighbours: dict[tuple[int, int], Neighbours] = {}
        self._smooth: dict[Band, np.ndarray] = {}
        found = [self._band(band, F) for band in self.bands]
        total = float(np.linalg.norm(F))
        norms = [float(np.linalg.norm(part)) for part in found]
        # A band of nothing but rounding stays nothing.
        self.sizes = [F.dtype.type(total / norm if norm > 1e-6 * total else 0) for norm in norms]
        return [np.multiply(size, part) for size, part in zip(self.sizes, found, strict=True)]

    def _band(self, band: Band, F: np.ndarray) -> np.ndarray:
        """A band of the samples of the fit; what it is made of is kept for new ones."""
        if band.kind == "scores":
            return F
        place, source = (band.rank, band.n_neighbors), band.source
        if place not in self._neighbours:
            self._neighbours[place] = Neighbours(F, self.spread, *place)
        if source not in self._smooth:
            self._smooth[source] = smooth(self._neighbours[place].graph, F, band.strength)
        return self._smooth[source] if band.kind == "smooth" else F - self._smooth[source]

    def keep(self, which: Iterable[int]) -> None:
        """Forget what only other bands need."""
        sources = {self.bands[b].source for b in which}
        self._smooth = {source: S for source, S in self._smooth.items() if source in sources}
        places = {(source.rank, source.n_neighbors) for source in self._smooth}
        self._neighbours = {place: near for place, near in self._neighbours.items() if place in places}

    def extend(self, X, which: Iterable[int]) -> dict[int, np.ndarray]:
        """Some bands of samples that need not have been in the fit, by position.

        A new sample becomes one more node of the graph and leaves the others where they are:
        ``s = (f + strength sum_j S_j / sqrt(q d_j)) / (1 + strength)`` over its q nearest training samples j.
        """
        data = centred(X, self.mean)
        F = data.product(self.basis.astype(X.dtype)) * X.dtype.type(data.scale / self.scale)
        links = {place: near.links(F) for place, near in self._neighbours.items()}

        def band(spec: Band) -> np.ndarray:
            if spec.kind == "scores":
                return F
            pull = X.dtype.type(spec.strength) * (links[spec.rank, spec.n_neighbors] @ self._smooth[spec.source])
            S = (F + pull) / X.dtype.type(1 + spec.strength)
            return S if spec.kind == "smooth" else F - S

        return {b: np.multiply(self.sizes[b], band(self.bands[b])).astype(X.dtype, copy=False) for b in which}


class CentredSparse:
    """Sparse data less their mean, as a product needs them: nothing is made dense."""

    def __init__(self, data: Matrix, mean: np.ndarray, flipped: bool = False):
        self.data, self.mean, self.flipped = data, mean, flipped
        self.shape, self.dtype, self.scale = data.shape[:: -1 if flipped else 1], data.dtype, data.scale

    @property
    def T(self) -> CentredSparse:
        """The transpose."""
        return CentredSparse(self.data, self.mean, not self.flipped)

    def product(self, R: np.ndarray) -> np.ndarray:
        """All of ``X @ R``, in unit scale."""
        if self.flipped:
            return self.data.T.product(R) - np.outer(self.mean, R.sum(0)).astype(self.dtype)
        return self.data.product(R) - (self.mean @ R).astype(self.dtype)


def centred(X, mean: np.ndarray) -> Matrix | CentredSparse:
    """X less its mean, ready for products.

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

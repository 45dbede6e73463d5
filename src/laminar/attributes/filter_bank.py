"""Filter bank: the bands of training samples, and those of new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.spectral import normalized
from .._engine.linalg.eigen import filtered_eigenvectors
from .._utils.progress import stage
from ..graphs.smoothing import smooth
from .bands import BANDS, Band, GraphKey
from .neighbour_graph import NeighbourGraph
from .principal_scores import PrincipalScores, Samples, standardised_factors


class BandStore:
    """Bands of the samples of one fit, for further fits to the same samples with other labels.

    The samples are kept, not copied: they must not be changed in between.

    Examples
    --------
    >>> from laminar import AttributeLayers
    >>> X, store = np.random.default_rng(0).random((30, 5)), BandStore()
    >>> with reusing_bands(store):
    ...     models = [AttributeLayers(4, random_state=0).fit(X, ["a", "b", *[None] * k, *"ab"]) for k in (26, 26)]
    >>> np.array_equal(models[0].components_, models[1].components_)
    True
    """

    def __init__(self) -> None:
        self.key: tuple | None = None
        self.X: Any = None
        self.bands: list[np.ndarray] = []

    def fit(self, bank: FilterBank, X: Samples, random_state: np.random.RandomState) -> list[np.ndarray]:
        """Return the bands of a bank, computed where those that are stored are of other samples, bands or seeds."""
        _, state, position, *_ = random_state.get_state(legacy=True)
        key = (bank.bands, bank.n_scores, bank.max_nodes, np.asarray(state).tobytes(), position)
        if self.key != key or not _same(X, self.X):
            self.bands = bank.compute(X, random_state)
            self.key, self.X, self._fitted, self._next = key, X, dict(vars(bank)), random_state.get_state()
        vars(bank).update(self._fitted)
        random_state.set_state(self._next)  # of what follows in the fit
        return list(self.bands)


_store: ContextVar[BandStore | None] = ContextVar("laminar_band_store", default=None)


@contextmanager
def reusing_bands(store: BandStore) -> Iterator[None]:
    """Let fits in the block take bands from a store, and leave theirs there: bands do not depend on labels."""
    token = _store.set(store)
    try:
        yield
    finally:
        _store.reset(token)


def _same(X: Any, Y: Any) -> bool:
    """Whether two matrices are equal."""
    if X is Y or Y is None or type(X) is not type(Y) or X.shape != Y.shape or X.dtype != Y.dtype:
        return X is Y
    return (X != Y).nnz == 0 if sp.issparse(X) else np.array_equal(X, Y)


class FilterBank:
    """Bands of training samples, and their extension to new ones; the mean squared length of a centred row is 1.

    Parameters
    ----------
    bands : sequence of Band
        Parameters of the bands.
    n_scores : int
        Number of principal scores, at most the rank of the centred data, and of eigenvectors of a graph.
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

    def fit(self, X: Samples, random_state: np.random.RandomState) -> list[np.ndarray]:
        """Compute the bands of the rows of X; ``length`` is the root mean squared length of the centred rows."""
        store = _store.get()
        return self.compute(X, random_state) if store is None else store.fit(self, X, random_state)

    def compute(self, X: Samples, random_state: np.random.RandomState) -> list[np.ndarray]:
        """Compute the bands as `fit` does, whether or not they have been computed before."""
        self.principal: dict[str, PrincipalScores] = {}
        own: dict[str, np.ndarray] = {}
        for kind in dict.fromkeys(("scores", *(band.kind for band in self.bands if band.graph is None))):
            stage(f"singular value decomposition of {X.shape[0]} x {X.shape[1]}, {kind}")
            factors = standardised_factors(X) if kind == "standardised" else None
            self.principal[kind], own[kind] = PrincipalScores.fit(X, self.n_scores, random_state, factors)
        F = own["scores"]
        self._graphs: dict[GraphKey, NeighbourGraph] = {}
        self._filtered: dict[Band, np.ndarray] = {}
        is_node = self._choose_nodes(len(F), random_state)
        self._fit_nodes(F[is_node], random_state)
        bands = self._fit_bands(own, is_node)
        self.length = float(np.linalg.norm(F)) / len(F) ** 0.5 * self.scores.scale
        self.sizes = [_inverse_length(spec.kind, band, F) for spec, band in zip(self.bands, bands, strict=True)]
        return [np.multiply(size, band) for size, band in zip(self.sizes, bands, strict=True)]

    @property
    def scores(self) -> PrincipalScores:
        """Directions of the principal scores F."""
        return self.principal["scores"]

    def _choose_nodes(self, n_samples: int, random_state: np.random.RandomState) -> np.ndarray:
        """Return whether each training sample is in the graphs."""
        if n_samples <= self.max_nodes:
            return np.ones(n_samples, dtype=bool)
        is_node = np.zeros(n_samples, dtype=bool)
        is_node[random_state.choice(n_samples, self.max_nodes, replace=False)] = True
        return is_node

    def _fit_nodes(self, F: np.ndarray, random_state: np.random.RandomState) -> None:
        """Build the graphs on samples with scores F, and store what is filtered by them, for `extend`."""
        eigenvectors: dict[GraphKey, tuple[np.ndarray, np.ndarray]] = {}
        for band in self.bands:
            key = band.graph
            if key is None:
                continue
            stage(f"band {band.name} of {len(F)} samples")
            if key not in self._graphs:
                self._graphs[key] = NeighbourGraph(F, self.scores.singular_values, key)
            graph = self._graphs[key].graph
            if band.kind != "diffusion":
                self._filtered[band] = smooth(graph, F, band.strength)
                continue
            if key not in eigenvectors:
                n_vectors = min(self.n_scores, len(F) - 1)
                eigenvectors[key] = filtered_eigenvectors(normalized(graph.tocsr()), n_vectors, random_state)
            self._filtered[band] = diffuse(*eigenvectors[key], band.strength).astype(F.dtype)

    def _fit_bands(self, own: Mapping[str, np.ndarray], is_node: np.ndarray) -> list[np.ndarray]:
        """Compute the bands of the training samples from their scores."""
        F = own["scores"]
        edges, others = {}, F[~is_node]
        if len(others):
            stage(f"bands of {len(others)} further samples")
            edges = {key: graph.edges_to(others) for key, graph in self._graphs.items()}

        def filtered(band: Band) -> np.ndarray:
            nodes = self._filtered[band]
            if not len(others):
                return nodes
            whole = np.empty((len(F), nodes.shape[1]), nodes.dtype)
            whole[is_node], whole[~is_node] = nodes, self._attach(band, others, edges)
            return whole

        return [_band(band, own, filtered) for band in self.bands]

    def _attach(self, band: Band, F: np.ndarray, edges: Mapping[Any, sp.csr_array]) -> np.ndarray:
        """Compute what the graph filters of samples that are not nodes, by the formulas of `extend`."""
        mean = edges[band.graph] @ self._filtered[band]
        own = 0 if band.kind == "diffusion" else F
        return (own + F.dtype.type(band.strength) * mean) / F.dtype.type(1 + band.strength)

    @property
    def has_graphs(self) -> bool:
        """Whether bands of new samples need training samples."""
        return bool(self._graphs)

    def keep(self, which: Iterable[int]) -> None:
        """Forget what only other bands need."""
        kept = {self.bands[b] for b in which}
        self._filtered = {band: S for band, S in self._filtered.items() if band in kept}
        self._graphs = {key: graph for key, graph in self._graphs.items() if key in {band.graph for band in kept}}
        kinds = {"scores", *(band.kind for band in kept)}
        self.principal = {kind: scores for kind, scores in self.principal.items() if kind in kinds}

    def extend(self, X: Samples, which: Iterable[int]) -> dict[int, np.ndarray]:
        """Compute bands of new samples, by position.

        A new sample with scores f is added to the graph, what is stored of its q nearest training samples j fixed:
        ``s = (f + strength sum_j S_j / sqrt(q d_j)) / (1 + strength)``, and of diffusion, which f has no part in, the
        same with f = 0.
        """
        bands = {b: self.bands[b] for b in which}
        kinds: set[str] = {"scores", *(band.kind for band in bands.values() if band.graph is None)}
        own = {kind: self.principal[kind].of(X) for kind in kinds}
        F = own["scores"]
        keys = {band.graph for band in bands.values() if band.graph is not None}
        edges = {key: self._graphs[key].edges_to(F) for key in keys}
        found = {b: _band(band, own, lambda band: self._attach(band, F, edges)) for b, band in bands.items()}
        return {b: np.multiply(self.sizes[b], band).astype(X.dtype, copy=False) for b, band in found.items()}


def _band(band: Band, own: Mapping[str, np.ndarray], filtered: Callable[[Band], np.ndarray]) -> np.ndarray:
    """Return a band of samples from their own scores, by kind, and what the graphs filter of them."""
    if band.graph is None:
        return own[band.kind]
    return own["scores"] - filtered(band) if band.kind == "detail" else filtered(band)


def diffuse(values: np.ndarray, vectors: np.ndarray, strength: float) -> np.ndarray:
    """Scale eigenvectors of N so that their inner products are ``(I + strength (I - N))^-1`` in their span."""
    return vectors / np.sqrt(1 + strength * np.maximum(1 - values, 0))  # at most 1 but for rounding


def _inverse_length(kind: str, band: np.ndarray, F: np.ndarray) -> np.floating:
    """Return the inverse of the root mean squared length of centred rows; 0 for a band that is rounding error."""
    length = float(np.linalg.norm(band - band.mean(axis=0)))
    whole = float(np.linalg.norm(F if kind in ("smooth", "detail") else band))  # what it is a part of
    return F.dtype.type(len(F) ** 0.5 / length if length > 1e-6 * whole else 0)

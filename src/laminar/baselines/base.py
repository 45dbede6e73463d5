"""Base classes of the baselines: views are read, embedded by the method, and clustered by k-means."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from .._base.spectral import Affinity, count_connected, kmeans, kmeans_seed, unit_embedding
from .._persistence.estimator import Estimator
from .._utils.typing import ViewData
from .._utils.views import read_views
from ..graphs import Graph
from .affinity import build_affinity


class ViewClusterer(ClusterMixin, Estimator, ABC):
    """Clusterer of several views; a subclass defines the embedding of the samples, `_embed`."""

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "view_sizes": ["array-like", None],
        "random_state": ["random_state"],
    }

    def fit(self, X: ViewData, y: ArrayLike | None = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : list or dict of array-like of shape (n_samples, n_features), or one such array
            The views. One array is one view, or several side by side when ``view_sizes`` gives their widths.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        self._validate_params()
        views = self._read(X)
        random_state = check_random_state(self.random_state)
        seed = kmeans_seed(random_state)
        self.embedding_ = unit_embedding(self._embed(views, random_state))
        self.labels_ = kmeans(self.embedding_, self.n_clusters, seed, self.n_init).labels_
        return self

    _takes_affinities = False
    _takes_missing = False  # whether samples may lack views; their rows are then NaN
    _sample_attributes: tuple[str, ...] = ("embedding_", "labels_")

    def _without_training_codes(self) -> Self:
        kept = super()._without_training_codes()
        for name in self._sample_attributes:
            value = getattr(self, name)
            setattr(kept, name, [part[:0] for part in value] if isinstance(value, list) else value[:0])
        return kept

    def _kept_samples(self) -> list[str]:
        return [name for name in self._sample_attributes if len(self.labels_)]

    def _read(self, X: ViewData) -> list[Affinity]:
        views, self.view_names_, observed = read_views(
            X, self.view_sizes, allow_missing=self._takes_missing, accept_sparse=self._takes_affinities
        )
        if not observed.all():
            views = [np.where(has[:, None], view, np.nan) for view, has in zip(views, observed.T, strict=True)]
        n_samples = views[0].shape[0]
        if n_samples < max(2, self.n_clusters):
            raise ValueError(
                f"n_clusters={self.n_clusters} needs a sample a cluster, and two at least, but n_samples={n_samples}."
            )
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True)  # keeps the names of the features
        self.n_features_in_ = sum(view.shape[1] for view in views)
        return views

    @abstractmethod
    def _embed(self, views: list[Affinity], random_state: np.random.RandomState) -> np.ndarray:
        """Return the rows that k-means clusters, before they are scaled to unit length."""


class AffinityClusterer(ViewClusterer):
    """Clusterer that uses the affinities of the samples in each view, and nothing else of it."""

    _parameter_constraints: dict = {
        **ViewClusterer._parameter_constraints,
        "affinity": [StrOptions({"gaussian", "knn", "rank", "precomputed"}), Graph],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self, n_clusters=8, *, affinity="gaussian", n_neighbors=None, n_init=20, view_sizes=None, random_state=None
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state

    @property
    def _takes_affinities(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    def _affinities(self, views: list[Affinity]) -> list[Affinity]:
        affinities = [build_affinity(view, self.affinity, self.n_neighbors, self.n_clusters) for view in views]
        n_connected = max(count_connected(W) for W in affinities)
        if n_connected > self.n_clusters:
            warnings.warn(
                f"A graph of the samples has {n_connected} connected components, more than "
                f"n_clusters={self.n_clusters}: which of them are separated is arbitrary. "
                "Raise n_neighbors, or use another affinity.",
                UserWarning,
                stacklevel=4,
            )
        return affinities

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inputs = tags.input_tags
        inputs.pairwise = inputs.sparse = inputs.positive_only = self._takes_affinities
        return tags

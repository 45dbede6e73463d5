"""What the baselines share: views are read, embedded by the method, and clustered by k-means."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from .._engine.linalg.small import unit_rows
from .._utils.typing import ViewData
from .._utils.views import read_views
from ..graphs import Graph
from .affinity import Affinity, build_affinity, count_pieces


class ViewClusterer(ClusterMixin, BaseEstimator, ABC):
    """A clusterer of several views; a method states how it embeds the samples."""

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
        seed = random_state.randint(2**31 - 1)  # drawn first: k-means shall not depend on what the eigensolver drew
        self.embedding_ = unit_rows(without_rounding(self._embed(views, random_state)))
        self.labels_ = cluster_rows(self.embedding_, self.n_clusters, seed, self.n_init)
        return self

    _takes_affinities = False

    def _read(self, X) -> list[Affinity]:
        views, self.view_names_, _ = read_views(X, self.view_sizes, accept_sparse=self._takes_affinities)
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
        """Return the rows k-means sees, before they are brought to unit length."""


class AffinityClusterer(ViewClusterer):
    """A clusterer that sees nothing of a view but which samples are alike in it."""

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
        pieces = max(count_pieces(W) for W in affinities)
        if pieces > self.n_clusters:
            warnings.warn(
                f"A graph of the samples falls into {pieces} pieces, more than n_clusters={self.n_clusters}: which of "
                "them are told apart is arbitrary. Raise n_neighbors, or use another affinity.",
                UserWarning,
                stacklevel=4,
            )
        return affinities

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inputs = tags.input_tags
        inputs.pairwise = inputs.sparse = inputs.positive_only = self._takes_affinities
        return tags


def without_rounding(E: np.ndarray) -> np.ndarray:
    """Set rows that no eigenvector reaches to zero: brought to unit length, their rounding would look like data.

    Examples
    --------
    >>> import numpy as np
    >>> without_rounding(np.array([[0.5, 0.5], [1e-12, -1e-11]]))
    array([[0.5, 0.5],
           [0. , 0. ]])
    """
    norms = np.linalg.norm(E, axis=1, keepdims=True)
    return np.where(norms > 1e-6 * norms.max(), E, 0)


def cluster_rows(E: np.ndarray, n_clusters: int, random_state, n_init: int = 20) -> np.ndarray:
    """Cluster the rows of an embedding by k-means.

    Parameters
    ----------
    E : ndarray of shape (n_samples, n_dimensions)
        The embedding, as it is.
    n_clusters : int
        Number of clusters.
    random_state : int, RandomState instance or None
        Seed of the starts.
    n_init : int
        Number of starts; the best is kept.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Cluster of each row.

    Examples
    --------
    >>> import numpy as np
    >>> labels = cluster_rows(np.array([[0.0], [0.1], [5.0]]), 2, random_state=0)
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    return KMeans(n_clusters, n_init=n_init, random_state=random_state).fit_predict(E)

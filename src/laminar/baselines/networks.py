"""Spectral clustering of one network of samples, made of a network of each view: SNF and NEMO."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils._param_validation import Interval

from .._base.spectral import Affinity, normalized
from .._engine.linalg.eigen import leading_eigenvectors
from .._engine.linalg.small import safe_divide
from ..graphs.neighbours import in_range
from .affinity import check_dense
from .base import ViewClusterer


def scaled_similarity(X: np.ndarray, n_neighbors: int, mu: float) -> np.ndarray:
    """Return ``exp(-d_ij^2 / (mu e_ij))`` of all pairs, e_ij the mean of d_ij and of both distances to neighbours.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    n_neighbors : int
        Neighbours whose mean distance is the scale of a sample.
    mu : float
        Width of the kernel.

    Returns
    -------
    W : ndarray of shape (n_samples, n_samples)
        Symmetric, with ones on the diagonal.

    Examples
    --------
    >>> scaled_similarity(np.array([[0.0], [1.0], [3.0]]), 1, 0.5).round(2)
    array([[1.  , 0.14, 0.  ],
           [0.14, 1.  , 0.01],
           [0.  , 0.01, 1.  ]])
    """
    distances = euclidean_distances(in_range(X.astype(np.float64))[0])
    near = np.sort(distances, axis=1)[:, 1 : n_neighbors + 1].mean(axis=1)
    scale = (near[:, None] + near + distances) / 3
    return np.exp(-safe_divide(distances**2, mu * scale))


def _neighbour_mask(W: np.ndarray, k: int) -> np.ndarray:
    """Mark the k most similar others of each sample."""
    others = W - np.diag(np.full(len(W), np.inf))
    mask = np.zeros(W.shape, dtype=bool)
    np.put_along_axis(mask, np.argsort(-others, axis=1, kind="stable")[:, :k], True, axis=1)
    return mask


class _NetworkClusterer(ViewClusterer):
    """Clusterer of one dense network of all samples; a subclass defines it, `_network`."""

    _parameter_constraints: dict = {
        **ViewClusterer._parameter_constraints,
        "mu": [Interval(Real, 0, None, closed="neither")],
    }

    def _network(self, views: list[np.ndarray]) -> np.ndarray:
        """Return the weights of all pairs of samples."""
        raise NotImplementedError

    def _embed(self, views: list[Affinity], random_state: np.random.RandomState) -> np.ndarray:
        check_dense(len(views[0]), type(self).__name__, "use laminar.ClusterEnsemble, or fewer samples")
        W = self._network(views)
        np.fill_diagonal(W, 0)
        return leading_eigenvectors(normalized(W), self.n_clusters, random_state)[1]


class SimilarityNetworkFusion(_NetworkClusterer):
    """SNF: similarity network fusion (Wang et al.), and spectral clustering of the fused network.

    With P_v the normalised similarities of view v and S_v those to its nearest neighbours alone, ``max_iter`` times
    ``P_v <- S_v (mean of P_w, w != v) S_v^T``; the network is the mean of all P_v. As published, with dense arrays; one
    view is its own network, since there is nothing to fuse it with.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors.
    n_neighbors : int, default=20
        Nearest neighbours.
    mu : float, default=0.5
        Width of the kernel.
    max_iter : int, default=20
        Number of iterations.
    n_init : int, default=20
        Starts of k-means.
    view_sizes : sequence of int or None, default=None
        Widths of the views when they come as one array.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means and of the eigensolver.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows that were clustered.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    NEMO : Views that samples may lack.

    References
    ----------
    B. Wang et al., Similarity network fusion for aggregating data types on a genomic scale, Nature Methods 11, 2014.
    doi:10.1038/nmeth.2810.

    Examples
    --------
    >>> from laminar.baselines import SimilarityNetworkFusion
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(80, random_state=0)
    >>> clustering_accuracy(data.y, SimilarityNetworkFusion(4, random_state=0).fit_predict(data.views))
    1.0
    """

    _parameter_constraints: dict = {
        **_NetworkClusterer._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        n_neighbors=20,
        mu=0.5,
        max_iter=20,
        n_init=20,
        view_sizes=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.max_iter = max_iter
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state

    def _network(self, views: list[np.ndarray]) -> np.ndarray:
        k = min(self.n_neighbors, len(views[0]) - 1)
        similar = [scaled_similarity(view, k, self.mu) for view in views]
        full = [_half_diagonal(W) for W in similar]
        local = [_rows_of_sum_one(np.where(_neighbour_mask(W, k), W, 0)) for W in similar]
        for _ in range(self.max_iter if len(views) > 1 else 0):
            total = sum(full)
            full = [_half_diagonal(S @ ((total - P) / (len(full) - 1)) @ S.T) for S, P in zip(local, full, strict=True)]
        self.n_iter_ = self.max_iter
        mean = np.mean(full, axis=0)
        return (mean + mean.T) / 2


def _half_diagonal(W: np.ndarray) -> np.ndarray:
    """Return rows of sum one with 1/2 on the diagonal, which keeps the similarity to itself from fading or ruling."""
    W = W - np.diag(np.diag(W))
    P = _rows_of_sum_one(W) / 2
    np.fill_diagonal(P, 0.5)
    return (P + P.T) / 2


def _rows_of_sum_one(W: np.ndarray) -> np.ndarray:
    return safe_divide(W, W.sum(axis=1, keepdims=True))


class NEMO(_NetworkClusterer):
    """NEMO: neighbourhood-based multi-omics clustering (Rappoport and Shamir), for samples that may lack views.

    The relative similarity of two samples in a view is that of each to the other, where they are neighbours, divided by
    the sum over its neighbours. The network is its mean over the views that both samples have. With dense arrays.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors.
    n_neighbors : int or None, default=None
        Nearest neighbours; None means the number of samples that have the view divided by that of clusters.
    mu : float, default=0.5
        Width of the kernel, that of SNF.
    n_init : int, default=20
        Starts of k-means.
    view_sizes : sequence of int or None, default=None
        Widths of the views when they come as one array.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means and of the eigensolver.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows that were clustered.

    See Also
    --------
    SimilarityNetworkFusion : All views of all samples.

    References
    ----------
    N. Rappoport and R. Shamir, NEMO: cancer subtyping by integration of partial multi-omic data, Bioinformatics 35,
    2019. doi:10.1093/bioinformatics/btz058.

    Examples
    --------
    >>> from laminar.baselines import NEMO
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(80, random_state=0)
    >>> views = [view.copy() for view in data.views]
    >>> views[0][:20] = np.nan  # samples without the first view
    >>> clustering_accuracy(data.y, NEMO(4, random_state=0).fit_predict(views))
    1.0
    """

    _parameter_constraints: dict = {
        **_NetworkClusterer._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
    }
    _takes_missing = True

    def __init__(self, n_clusters=8, *, n_neighbors=None, mu=0.5, n_init=20, view_sizes=None, random_state=None):
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state

    def _network(self, views: list[np.ndarray]) -> np.ndarray:
        n_samples = len(views[0])
        total, counts = np.zeros((n_samples, n_samples)), np.zeros((n_samples, n_samples))
        for view in views:
            at = np.flatnonzero(~np.isnan(view).any(axis=1))
            if len(at) > 1:
                total[np.ix_(at, at)] += self._relative_similarity(view[at])
                counts[np.ix_(at, at)] += 1
        return safe_divide(total, counts)

    def _relative_similarity(self, X: np.ndarray) -> np.ndarray:
        k = min(self.n_neighbors or max(1, round(len(X) / self.n_clusters)), len(X) - 1)
        W = scaled_similarity(X, k, self.mu)
        relative = _rows_of_sum_one(np.where(_neighbour_mask(W, k), W, 0))
        return relative + relative.T

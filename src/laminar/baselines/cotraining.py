"""Spectral clustering of several views by co-training, and by minimum disagreement."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.linalg import eigh, qr
from sklearn.utils._param_validation import Interval

from .._base.spectral import Affinity, inverse_root, normalized
from .._engine.linalg.eigen import Operator, leading_eigenvectors
from .base import AffinityClusterer


class CoTrainedSpectral(AffinityClusterer):
    """Co-Train: co-trained multi-view spectral clustering (Kumar and Daume).

    Each view's affinity W is projected on the spectral embeddings of the others, ``S = (W P + P W) / 2`` with
    ``P = sum_w U_w U_w^T``, and embedded again, ``max_iter`` times. All embeddings, side by side, are clustered;
    published figures take the view and the iteration that agree best with the true classes, unknown here.

    The iterations minimise no objective. S may have negative entries; degrees below a hundredth of
    their mean size are raised to it. S has a small rank, is never formed, and its eigenvectors are exact.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors a view.
    affinity : {"gaussian", "knn", "rank", "precomputed"} or Graph, default="gaussian"
        Affinity of the samples in each view, see `NgJordanWeiss`; "precomputed" views are affinities themselves.
    n_neighbors : int or None, default=None
        Neighbours for "knn" (None means 5) and "rank" (None: by the number of clusters).
    max_iter : int, default=5
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
    embedding_ : ndarray of shape (n_samples, n_views * n_clusters)
        Unit rows that were clustered.
    n_iter_ : int
        Number of iterations.

    References
    ----------
    A. Kumar and H. Daume III, A co-training approach for multi-view spectral clustering, ICML 2011.

    Examples
    --------
    >>> from laminar.baselines import CoTrainedSpectral
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(80, random_state=0)
    >>> clustering_accuracy(data.y, CoTrainedSpectral(4, random_state=0).fit_predict(data.views))
    1.0
    """

    _parameter_constraints: dict = {
        **AffinityClusterer._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        affinity="gaussian",
        n_neighbors=None,
        max_iter=5,
        n_init=20,
        view_sizes=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            affinity=affinity,
            n_neighbors=n_neighbors,
            n_init=n_init,
            view_sizes=view_sizes,
            random_state=random_state,
        )
        self.max_iter = max_iter

    def _embed(self, views: list[Affinity], random_state: np.random.RandomState) -> np.ndarray:
        affinities = self._affinities(views)
        U = [leading_eigenvectors(normalized(W), self.n_clusters, random_state)[1] for W in affinities]
        for _ in range(self.max_iter if len(U) > 1 else 0):
            U = [
                _projected_embedding(W, np.hstack(U[:v] + U[v + 1 :]), self.n_clusters)
                for v, W in enumerate(affinities)
            ]
        self.n_iter_ = self.max_iter
        return np.hstack(U)


def _projected_embedding(W: Affinity, B: np.ndarray, k: int) -> np.ndarray:
    """Return the leading eigenvectors of ``D^-1/2 S D^-1/2`` for ``S = (W B B^T + B B^T W) / 2``."""
    WB = W @ B
    degree = (WB @ B.sum(axis=0) + B @ WB.sum(axis=0)) / 2
    scale = inverse_root(np.maximum(degree, 1e-2 * np.abs(degree).mean()))[:, None]
    Q, R = qr(np.hstack([WB, B]) * scale, mode="economic")
    half = R[:, : B.shape[1]] @ R[:, B.shape[1] :].T
    return Q @ eigh(half + half.T)[1][:, ::-1][:, :k]


class MinDisagreement(AffinityClusterer):
    """Min-D: multi-view spectral clustering that minimises disagreement (de Sa).

    Two views make a bipartite graph whose sides are the samples in each view, linked by ``W_1 W_2``; its leading
    singular vectors embed both sides. More views make a graph of as many sides with the links ``W_v W_w`` between all
    pairs of them, which for two views is the same. The embeddings of a sample, one a side, are averaged.
    One view is paired with itself. Products of affinities are never formed.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of singular vectors.
    affinity : {"gaussian", "knn", "rank", "precomputed"} or Graph, default="gaussian"
        Affinity of the samples in each view, see `NgJordanWeiss`; "precomputed" views are affinities themselves.
    n_neighbors : int or None, default=None
        Neighbours for "knn" (None means 5) and "rank" (None: by the number of clusters).
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

    References
    ----------
    V. de Sa, Spectral clustering with two views, ICML workshop on learning with multiple views, 2005.

    Examples
    --------
    >>> from laminar.baselines import MinDisagreement
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(80, random_state=0)
    >>> labels = MinDisagreement(4, affinity="knn", random_state=0).fit_predict(data.views)
    >>> clustering_accuracy(data.y, labels)
    1.0
    """

    def _embed(self, views: list[Affinity], random_state: np.random.RandomState) -> np.ndarray:
        W = self._affinities(views)
        sides = W if len(W) > 1 else W * 2
        n = W[0].shape[0]

        def product(x: np.ndarray) -> np.ndarray:
            products = [A @ part for A, part in zip(sides, np.split(x, len(sides)), strict=True)]
            total = sum(products)
            return np.concatenate([A @ (total - own) for A, own in zip(sides, products, strict=True)])

        scale = inverse_root(product(np.ones(n * len(sides))))
        graph = Operator(len(scale), lambda x: (scale * product((scale * x.T).T).T).T)
        vectors = leading_eigenvectors(graph, self.n_clusters, random_state)[1]
        return np.mean(np.split(vectors, len(sides)), axis=0)

"""Subspace clustering: samples are combinations of each other, and the coefficients their affinity."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, svd
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.spectral import normalized
from .._engine.linalg.eigen import leading_eigenvectors
from .._engine.linalg.small import unit_rows
from ..graphs import KNN, Graph, Rank
from ..graphs.neighbours import in_range
from .affinity import check_dense
from .base import ViewClusterer


class SelfExpression(NamedTuple):
    """Objective of the representation C of one view: ``||X^T - X^T C||^2 + Tr(C S C^T)``."""

    U: np.ndarray
    """Left singular vectors of X."""
    squares: np.ndarray
    """Squared singular values."""
    smoothness: np.ndarray
    """S, ``alpha`` times the Laplacian of the view's graph."""

    def solve(self, extra: np.ndarray | float = 0.0) -> np.ndarray:
        """Minimise with ``S + extra`` for S: C solves ``K C + C (S + extra) = K`` with ``K = X X^T``."""
        b, V = eigh(self.smoothness + extra, check_finite=False)
        share = self.squares[:, None] / (self.squares[:, None] + np.maximum(b, 0))
        return self.U @ (share * (self.U.T @ V)) @ V.T

    def value(self, C: np.ndarray) -> float:
        """Return the objective at C."""
        error = np.sqrt(self.squares)[:, None] * (self.U.T - self.U.T @ C)
        return float(np.vdot(error, error) + np.vdot(C @ self.smoothness, C))


class SmoothRepresentation(ViewClusterer):
    """Smooth representation clustering (Hu et al.) of one view; NaMSC: of several, one by one.

    Each view, its rows scaled to unit length, is represented by itself,

        min ||X^T - X^T C||^2 + alpha Tr(C L C^T)

    with the Laplacian L of a graph; C has a closed form. Views are independent: the affinity of two samples is the
    sum over the views of ``|C| + |C^T|``, and is clustered as by `NgJordanWeiss`, diagonal included. C is n x n, so
    that there can be 5000 samples at most.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=1.0
        Weight of smoothness.
    graph : {"knn", "dot", "rank"} or Graph, default="knn"
        Which samples should have similar representations: binary 4 nearest neighbours, all pairs by their inner
        product where it is positive, `laminar.graphs.Rank`, or any other graph over the samples.
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
    representations_ : list of ndarray of shape (n_samples, n_samples)
        C of each view; column i holds the coefficients of sample i.

    See Also
    --------
    DiMSC : With a penalty that makes the representations of views differ.

    References
    ----------
    H. Hu, Z. Lin, J. Feng and J. Zhou, Smooth representation clustering, CVPR 2014.

    Examples
    --------
    >>> from laminar.baselines import SmoothRepresentation
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(80, random_state=0)
    >>> clustering_accuracy(data.y, SmoothRepresentation(4, random_state=0).fit_predict(data.views))
    1.0
    """

    _parameter_constraints: dict = {
        **ViewClusterer._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "graph": [StrOptions({"knn", "dot", "rank"}), Graph],
    }

    def __init__(self, n_clusters=8, *, alpha=1.0, graph="knn", n_init=20, view_sizes=None, random_state=None):
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.graph = graph
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state

    _sample_attributes = ("embedding_", "labels_", "representations_")

    def _embed(self, views: list[np.ndarray], random_state: np.random.RandomState) -> np.ndarray:
        check_dense(len(views[0]), type(self).__name__, "cluster a part of the samples, or use CoRegularizedSpectral")
        self.representations_ = self._represent([self._expression(view) for view in views])
        affinity = sum(np.abs(C) + np.abs(C.T) for C in self.representations_)
        return leading_eigenvectors(normalized(affinity), self.n_clusters, random_state)[1]

    def _represent(self, views: list[SelfExpression]) -> list[np.ndarray]:
        return [view.solve() for view in views]

    def _expression(self, X: np.ndarray) -> SelfExpression:
        X = unit_rows(in_range(X.astype(np.float64))[0])
        U, s, _ = svd(X, full_matrices=False)
        kept = s > 1e-10 * s[0]
        return SelfExpression(U[:, kept], s[kept] ** 2, self.alpha * self._laplacian(X))

    def _laplacian(self, X: np.ndarray) -> np.ndarray:
        if isinstance(self.graph, str) and self.graph == "dot":
            W = np.maximum(X @ X.T, 0)
            return np.diag(W.sum(axis=1)) - W
        named = {"knn": KNN(min(4, len(X) - 1)), "rank": Rank(n_clusters=self.n_clusters)}
        graph = named[self.graph] if isinstance(self.graph, str) else self.graph
        return graph.build(X).laplacian(np.eye(len(X)))


class DiMSC(SmoothRepresentation):
    """DiMSC: diversity-induced multi-view subspace clustering (Cao et al.).

    `SmoothRepresentation` with the Hilbert-Schmidt independence criterion between views as a penalty,
    ``alpha_diversity sum_{v<w} Tr(K_v J K_w J)`` with ``K_v = C_v^T C_v`` and J the centring matrix. One view after the
    other is solved exactly, so the objective never increases; the sum is over unordered pairs, for which the published
    step is the minimiser.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=1.0
        Weight of smoothness.
    alpha_diversity : float, default=100.0
        Weight of diversity; 0 is `SmoothRepresentation`.
    graph : {"knn", "dot", "rank"} or Graph, default="dot"
        Which samples should have similar representations, see `SmoothRepresentation`. The published code uses "dot".
    max_iter : int, default=10
        Largest number of sweeps over the views.
    tol : float, default=1e-5
        Stop when a sweep lowers the objective by less than this part of it.
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
    representations_ : list of ndarray of shape (n_samples, n_samples)
        C of each view; column i holds the coefficients of sample i.
    objective_history_ : ndarray
        The objective, before the first sweep and after each.
    n_iter_ : int
        Number of sweeps.

    References
    ----------
    X. Cao, C. Zhang, H. Fu, S. Liu and H. Zhang, Diversity-induced multi-view subspace clustering, CVPR 2015.

    Examples
    --------
    >>> from laminar.baselines import DiMSC
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(80, random_state=0)
    >>> clustering_accuracy(data.y, DiMSC(4, alpha=0.1, random_state=0).fit_predict(data.views))
    1.0
    """

    _parameter_constraints: dict = {
        **SmoothRepresentation._parameter_constraints,
        "alpha_diversity": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        alpha=1.0,
        alpha_diversity=100.0,
        graph="dot",
        max_iter=10,
        tol=1e-5,
        n_init=20,
        view_sizes=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters, alpha=alpha, graph=graph, n_init=n_init, view_sizes=view_sizes, random_state=random_state
        )
        self.alpha_diversity = alpha_diversity
        self.max_iter = max_iter
        self.tol = tol

    def _represent(self, views: list[SelfExpression]) -> list[np.ndarray]:
        C = super()._represent(views)
        kernels = [_centred_kernel(c) for c in C]
        history = [self._objective(views, C, kernels)]
        for _ in range(self.max_iter):
            for v, view in enumerate(views):
                C[v] = view.solve(self.alpha_diversity * sum(kernels[:v] + kernels[v + 1 :]))
                kernels[v] = _centred_kernel(C[v])
            history.append(self._objective(views, C, kernels))
            if history[-2] - history[-1] <= self.tol * history[-1]:
                break
        self.objective_history_, self.n_iter_ = np.array(history), len(history) - 1
        return C

    def _objective(self, views: list[SelfExpression], C: list[np.ndarray], kernels: list[np.ndarray]) -> float:
        alone = sum(view.value(c) for view, c in zip(views, C, strict=True))
        # J is a projection: centring either kernel or both is the same.
        shared = sum(np.vdot(kernels[v], kernels[w]) for v in range(len(C)) for w in range(v))
        return float(alone + self.alpha_diversity * shared)


def _centred_kernel(C: np.ndarray) -> np.ndarray:
    """Return ``J C^T C J``, J the centring matrix."""
    centred = C - C.mean(axis=1, keepdims=True)
    return centred.T @ centred

"""Spectral clustering of several views with a penalty on the disagreement of their embeddings."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.linalg import svd
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.spectral import Affinity, normalized
from .._engine.linalg.eigen import leading_eigenvectors, plus_low_rank
from .base import AffinityClusterer


class CoRegularizedSpectral(AffinityClusterer):
    """Co-Reg: co-regularised multi-view spectral clustering (Kumar, Rai and Daume).

    With ``N_v`` the normalised affinity of view v, maximises over orthonormal ``U_v``

    * pairwise: ``sum_v Tr(U_v^T N_v U_v) + alpha sum_{v<w} ||U_v^T U_w||^2``, and clusters all ``U_v`` side by side;
    * centroid: ``sum_v Tr(U_v^T N_v U_v) + alpha sum_v ||U_v^T U||^2``, and clusters ``U``, orthonormal too.

    Each step is an exact maximisation over one factor, so the objective never falls. With a sparse affinity nothing
    of size n x n is formed.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors a view.
    variant : {"pairwise", "centroid"}, default="pairwise"
        Regularisation of each embedding towards those of the other views, or towards a common one.
    alpha : float, default=0.025
        Weight of the regularisation. With 0 views are independent. A sum over ordered pairs would be twice as large.
    affinity : {"gaussian", "knn", "rank", "precomputed"} or Graph, default="gaussian"
        Affinity of the samples in each view, see `NgJordanWeiss`; "precomputed" views are affinities themselves.
    n_neighbors : int or None, default=None
        Neighbours for "knn" (None means 5) and "rank" (None: by the number of clusters).
    max_iter : int, default=5
        Largest number of sweeps over the views.
    tol : float, default=1e-6
        Stop when a sweep raises the objective by less than this part of it.
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
    embedding_ : ndarray of shape (n_samples, n_views * n_clusters) or (n_samples, n_clusters)
        Unit rows that were clustered.
    objective_history_ : ndarray
        The objective, before the first sweep and after each.
    n_iter_ : int
        Number of sweeps.

    See Also
    --------
    NgJordanWeiss : One view.

    References
    ----------
    A. Kumar, P. Rai and H. Daume III, Co-regularized multi-view spectral clustering, NIPS 2011.

    Examples
    --------
    >>> from laminar.baselines import CoRegularizedSpectral
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(80, random_state=0)
    >>> clustering_accuracy(data.y, CoRegularizedSpectral(4, random_state=0).fit_predict(data.views))
    1.0
    """

    _parameter_constraints: dict = {
        **AffinityClusterer._parameter_constraints,
        "variant": [StrOptions({"pairwise", "centroid"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        variant="pairwise",
        alpha=0.025,
        affinity="gaussian",
        n_neighbors=None,
        max_iter=5,
        tol=1e-6,
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
        self.variant = variant
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def _embed(self, views: list[Affinity], random_state: np.random.RandomState) -> np.ndarray:
        N = [normalized(W) for W in self._affinities(views)]
        U = [leading_eigenvectors(A, self.n_clusters, random_state)[1] for A in N]
        history = [self._objective(N, U)]
        for _ in range(self.max_iter):
            for v, A in enumerate(N):
                regularized = plus_low_rank(A, self._targets(U, v), self.alpha)
                U[v] = leading_eigenvectors(regularized, self.n_clusters, random_state, known=U[v])[1]
            history.append(self._objective(N, U))
            if history[-1] - history[-2] <= self.tol * abs(history[-1]):
                break
        self.objective_history_, self.n_iter_ = np.array(history), len(history) - 1
        return np.hstack(U) if self.variant == "pairwise" else _centre(U)

    def _targets(self, U: list[np.ndarray], v: int) -> np.ndarray:
        """Return the columns that ``U_v`` is regularised towards; none for a single view."""
        return _centre(U) if self.variant == "centroid" else np.hstack([U[v][:, :0], *U[:v], *U[v + 1 :]])

    def _objective(self, N: list[Affinity], U: list[np.ndarray]) -> float:
        fit = sum(np.vdot(F, A @ F) for A, F in zip(N, U, strict=True))
        agreement = sum(np.sum((F.T @ self._targets(U, v)) ** 2) for v, F in enumerate(U))
        pairs = agreement if self.variant == "centroid" else agreement / 2  # each was counted from both sides
        return float(fit + self.alpha * pairs)


def _centre(U: list[np.ndarray]) -> np.ndarray:
    """Return an orthonormal basis of the mean subspace: leading eigenvectors of ``sum_v U_v U_v^T``."""
    return svd(np.hstack(U), full_matrices=False)[0][:, : U[0].shape[1]]

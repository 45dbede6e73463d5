"""Spectral clustering of one view, and the joining of several views to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.spectral import Affinity, normalized
from .._engine.linalg.eigen import leading_eigenvectors
from .._engine.linalg.small import unit_rows
from .._utils.progress import stage, stages
from .._utils.typing import Seed, ViewData
from .._utils.views import read_views
from ..ensemble.forms import FORMS, checked_form, fit_form, suited_form
from ..ensemble.scores import principal_scores
from ..graphs import Rank
from ..graphs.neighbours import in_range
from ..metrics import normalized_mutual_information
from .base import AffinityClusterer, ViewClusterer


class NgJordanWeiss(AffinityClusterer):
    """Spectral clustering of one view (Ng, Jordan and Weiss).

    The leading eigenvectors of ``D^-1/2 W D^-1/2``, rows brought to unit length, clustered by k-means. W has a zero
    diagonal, and a sample without links an embedding of zeros.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors.
    affinity : {"gaussian", "knn", "rank", "precomputed"} or Graph, default="gaussian"
        W: ``exp(-distance^2 / (2 sigma^2))`` with the median distance as sigma, up to 5000 samples; the binary graph
        of nearest neighbours; the graph of ranks, `laminar.graphs.Rank`; X itself, symmetric and non-negative, dense
        or sparse; or the weights of a graph of `laminar.graphs` built on X.
    n_neighbors : int or None, default=None
        Neighbours for "knn" (None means 5) and "rank" (None: by the number of clusters).
    n_init : int, default=20
        Starts of k-means.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means and of the eigensolver.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows that were clustered.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Of the normalised affinity, in decreasing order, within [-1, 1].

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss, On spectral clustering: analysis and an algorithm, NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.baselines import NgJordanWeiss
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> labels = NgJordanWeiss(2, affinity="knn", n_neighbors=2, random_state=0).fit_predict(X)
    >>> labels.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    True
    """

    view_sizes = None
    _parameter_constraints: dict = {
        name: allowed for name, allowed in AffinityClusterer._parameter_constraints.items() if name != "view_sizes"
    }

    def __init__(self, n_clusters=8, *, affinity="gaussian", n_neighbors=None, n_init=20, random_state=None):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.random_state = random_state

    def _embed(self, views: list[Affinity], random_state: np.random.RandomState) -> np.ndarray:
        if len(views) > 1:
            raise ValueError(
                f"NgJordanWeiss clusters one view and got {len(views)}: join them with concat_features, or use "
                "CoRegularizedSpectral."
            )
        (W,) = self._affinities(views)
        self.eigenvalues_, vectors = leading_eigenvectors(normalized(W), self.n_clusters, random_state)
        return vectors


class WhitenedSpectral(ViewClusterer):
    """Spectral clustering of the rank graph of partly whitened principal scores of one view.

    With ``X - 1 m^T ~ U diag(s) V^T`` samples are the unit rows of ``U diag(s)^(1 - t)`` with so many directions for
    each cluster, linked by `laminar.graphs.Rank`. The plain form of what `laminar.ClusterEnsemble` makes many of.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors.
    exponent : float, default=0.75
        The exponent t: 0 keeps the distances of the data, 1 gives all directions the same size.
    directions : int, default=3
        Principal directions for each cluster.
    n_neighbors : int, default=10
        Neighbours of each sample.
    form : {"auto", "raw", "standard", "unit", "tfidf"}, default="auto"
        Form of X: as it is; features over their standard deviations; rows of unit length; or counts weighted by tf-idf.
        "auto" is "tfidf" where no entry is negative and more than 0.8 are zero, "standard" where fewer than
        five features hold the variance, ``(sum_j v_j)^2 / sum_j v_j^2 < 5`` of their variances v, as in tables with
        different units, otherwise "raw".
    n_init : int, default=20
        Starts of k-means.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means and of the eigensolver.
    verbose : int, default=0
        1 shows which form was chosen.

    Attributes
    ----------
    form_ : {"raw", "standard", "unit", "tfidf"}
        The form of X.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows that were clustered.

    See Also
    --------
    NgJordanWeiss : Other graphs, of the samples as they are.
    laminar.ClusterEnsemble : The agreement of many such graphs.

    Examples
    --------
    >>> from laminar.baselines import WhitenedSpectral
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(80, random_state=0)
    >>> clustering_accuracy(data.y, WhitenedSpectral(4, random_state=0).fit_predict(data.views[0]))
    1.0
    """

    view_sizes = None
    _parameter_constraints: dict = {
        **{name: kind for name, kind in ViewClusterer._parameter_constraints.items() if name != "view_sizes"},
        "exponent": [Interval(Real, 0, 1, closed="both")],
        "directions": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "form": [StrOptions({"auto", *FORMS})],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        exponent=0.75,
        directions=3,
        n_neighbors=10,
        form="auto",
        n_init=20,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.exponent = exponent
        self.directions = directions
        self.n_neighbors = n_neighbors
        self.form = form
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _embed(self, views: list[Affinity], random_state: np.random.RandomState) -> np.ndarray:
        if len(views) > 1:
            raise ValueError(
                f"WhitenedSpectral clusters one view and got {len(views)}: use laminar.ClusterEnsemble, or join them "
                "with concat_features."
            )
        self.form_ = suited_form(views[0]) if self.form == "auto" else checked_form(self.form, views[0])
        with stages(type(self).__name__, self.verbose):
            stage(f"{views[0].shape[0]} x {views[0].shape[1]} in the form {self.form_!r}")
        X = fit_form(self.form_, views[0])(views[0])
        scores = principal_scores(X, self.directions * self.n_clusters, random_state)
        points = scores.whitened(scores.training, len(scores.sizes), self.exponent)
        W = Rank(min(self.n_neighbors, len(X) - 1)).build(points).tocsr()
        return leading_eigenvectors(normalized(W), self.n_clusters, random_state)[1]


def concat_features(views: ViewData, view_sizes: Sequence[int] | None = None) -> np.ndarray:
    """Join views side by side (ConcatFea), with equal weight: unit rows, centred, of the same total variance.

    Parameters
    ----------
    views : list or dict of array-like of shape (n_samples, n_features), or one such array
        The views; one array holds them side by side.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where the views are one array.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features of all views)
        The joined views.

    Examples
    --------
    >>> from laminar.baselines import concat_features
    >>> concat_features([[[1.0, 0.0], [0.0, 1.0]], [[100.0, 0.0], [0.0, 1.0]]])
    array([[ 0.70710678, -0.70710678,  0.70710678, -0.70710678],
           [-0.70710678,  0.70710678, -0.70710678,  0.70710678]])
    """
    return np.hstack([_unit_variance(unit_rows(in_range(view)[0])) for view in read_views(views, view_sizes).arrays])


def _unit_variance(X: np.ndarray) -> np.ndarray:
    """Centre the columns and make the mean squared length of the rows 1; a constant view stays zero."""
    X = X - X.mean(axis=0)
    size = float(np.linalg.norm(X)) / len(X) ** 0.5
    return X / size if size > 1e-6 else np.zeros_like(X)


def concat_pca(
    views: ViewData,
    n_components: int | float = 0.95,
    view_sizes: Sequence[int] | None = None,
    random_state: Seed = None,
) -> np.ndarray:
    """Compute the principal components of the views joined by `concat_features` (ConcatPCA).

    Parameters
    ----------
    views : list or dict of array-like of shape (n_samples, n_features), or one such array
        The views; one array holds them side by side.
    n_components : int or float in (0, 1), default=0.95
        How many, or the share of the variance they hold together.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where the views are one array.
    random_state : int, RandomState instance or None, default=None
        Seed, where a randomised solver is used.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_components)
        Scores of the samples.

    Examples
    --------
    >>> from laminar.baselines import concat_pca
    >>> from laminar.datasets import make_views
    >>> concat_pca(make_views(60, random_state=0).views, n_components=4).shape
    (60, 4)
    """
    X = concat_features(views, view_sizes)
    return PCA(n_components, random_state=random_state).fit_transform(X)


class BestView(NamedTuple):
    """Best of several views, its clusters, and the scores of all of them.

    Attributes
    ----------
    name : object
        Name of the best view.
    labels : ndarray of shape (n_samples,)
        Its clusters.
    scores : dict
        Score of every view, by name.

    Examples
    --------
    >>> BestView(name="pixels", labels=np.array([0, 1]), scores={"pixels": 1.0, "noise": 0.2}).name
    'pixels'
    """

    name: object
    labels: np.ndarray
    scores: dict


def best_single_view(
    views: ViewData,
    y: ArrayLike,
    clusterer: NgJordanWeiss,
    *,
    view_sizes: Sequence[int] | None = None,
    score: Callable[[ArrayLike, ArrayLike], float] = normalized_mutual_information,
) -> BestView:
    """Cluster every view by itself and return the one that agrees best with the true classes (BestSV).

    An oracle: an upper bound for the choice of a single view, not a method for unknown classes.

    Parameters
    ----------
    views : list or dict of array-like of shape (n_samples, n_features), or one such array
        The views; one array holds them side by side.
    y : array-like of shape (n_samples,)
        True classes.
    clusterer : clusterer
        What clusters one view; it is cloned, never fitted itself.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where the views are one array.
    score : callable, default=normalized_mutual_information
        ``score(y, labels)``, larger is better.

    Returns
    -------
    BestView
        ``name`` of the best view, its ``labels``, and the ``scores`` of all by name.

    Examples
    --------
    >>> from laminar.baselines import NgJordanWeiss, best_single_view
    >>> from laminar.datasets import make_views
    >>> data = make_views(60, n_noise_features=5, random_state=0)
    >>> best = best_single_view(data.views, data.y, NgJordanWeiss(4, random_state=0))
    >>> best.scores[best.name] > best.scores[3]
    True
    """
    arrays, names, _ = read_views(views, view_sizes)
    labels = {name: clone(clusterer).fit_predict(array) for name, array in zip(names, arrays, strict=True)}
    scores = {name: score(y, found) for name, found in labels.items()}
    best = max(scores, key=scores.get)
    return BestView(best, labels[best], scores)

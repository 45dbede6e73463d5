"""Clusters that many graphs of one view or several agree on."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.coding import Layer
from .._base.output import OUTPUT
from .._utils import interrupts, threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.progress import stage
from .._utils.typing import ViewData
from .._utils.views import Views
from .agreement import (
    cluster_components,
    consensus_labels,
    kept_members,
    mean_agreement,
    memberships,
    pairwise_information,
    two_groups,
)
from .base import EnsembleCoder, Reading
from .forms import plan_forms
from .grid import Member, member_grid, member_sizes
from .members import member_graph, member_labels
from .spaces import Spaces, build_spaces


@dataclass
class _Ensemble:
    """State of a fit: what is drawn before the first member, then the members made so far."""

    views: Views  # all samples
    rows: np.ndarray  # those the members are made of
    spaces: Spaces
    seed: int
    members: list[Member]
    weights: list[np.ndarray]
    partitions: list[np.ndarray]


class ClusterEnsemble(CallbackSupportMixin, EnsembleCoder):
    """Cluster ensemble: clusters that many graphs of one view or several agree on.

    Members are spectral clusterings of graphs that differ in the form of the data, the whitening and number of
    principal scores, and the number of neighbours. Those that agree best with the others are kept, and the clusters are
    those of their co-association matrix. The graphs find the clusters; the factorisation X_v ~ H Z_v shows them: H >= 0
    (n_samples, n_clusters) are soft memberships, with rows that add to one, and Z_v (n_clusters, n_features_v) is near
    the means of the clusters in view v (scikit-learn's NMF calls them W and H).

    Parameters
    ----------
    n_clusters : int, default=8
        Number c of clusters, of every member and of the result.
    forms : "auto", sequence of {"raw", "standard", "unit", "tfidf"}, or dict of them by view, default="auto"
        Forms of the data that members are made of: as they are; divided by the standard deviation of each feature;
        samples of unit norm; or with weights by logarithms of counts and of document frequencies. "auto" is "unit" and
        "tfidf" for a view without negative entries of which more than 0.8 are zero, else "raw" and "standard"; and for
        several views side by side "unit" as well.
    whitening : sequence of float, default=(0.0, 0.75, 1.0)
        Exponents t of (1): 0 keeps the distances of the data, 1 gives all principal directions the same size.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the memberships that `transform` and `fit_transform` return, see `transform`; "auto" is "raw".
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where X is one array with the views side by side. None means that one array is
        one view.
    max_samples : int, default=5000
        Samples that members are made of, at random if there are more; the others are then assigned as new samples are.
    n_init : int, default=10
        Starts of k-means for the final clusters; each member has three.
    callback : callable or None, default=None
        Called after every member with a `laminar.callbacks.FitState`, whose ``iteration`` is the number of members and
        whose ``objective`` is their mean agreement; no more members are made when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the decompositions, of k-means, and of the choice of samples where there are many.
    verbose : int, default=0
        1 shows what is being done, the forms that were chosen, and a progress line.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample.
    components_ : ndarray of shape (n_clusters, n_features of all views)
        All Z_v side by side, in the units of the views.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_clusters), the memberships of the training samples.
    members_ : list of Member
        All members: ``source`` ("view", the graph of the only view; "sum", of the graphs of all views; "joint", the
        graph of all views side by side), ``form``, ``exponent`` t, ``directions`` for each cluster, ``n_neighbors``.
    agreement_ : ndarray of shape (n_members,)
        Mean normalised mutual information of each member with the others.
    pairwise_agreement_ : ndarray of shape (n_members, n_members)
        That of all pairs.
    kept_ : ndarray of bool of shape (n_members,)
        Which members were kept.
    common_ : dict of dict
        What these have in common: by property the share of the kept members with each value.
    alternatives_ : list of Reading
        Another reading of the same samples: of two groups of members, by average linkage of one minus their agreement,
        ``labels`` of the smaller one and its positions ``members``; empty where that is a single member.
    weights_ : ndarray of shape (n_views,)
        Weights of the views, mean of the kept members.
    n_iter_ : int
        Number of members made.
    converged_ : bool
        Whether all members were made.
    view_names_ : list
        Names of the views: the keys of a dict, else positions.
    view_sizes_ : ndarray of shape (n_views,)
        Number of features of each view.
    n_features_in_ : int
        Number of features of all views.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` was one array with column names that are all strings.

    See Also
    --------
    MultiViewSemiNMF : Shared codes of several views that also reconstruct them; uses labels.
    SmoothedSemiNMF : Codes smoothed over one graph of one view.
    laminar.baselines : Methods that multi-view papers compare with.

    Notes
    -----
    **Algorithm.** With Q one form of a view, ``Q - 1 m^T ~ U diag(s) V^T`` and k = 2c or 3c, a member has the points,
    graph and clusters (docs/ensemble.md has what each part brings)::

        F = unit rows of U_k diag(s_k)^(1 - t)                                                                      (1)
        A_ij = 1 / rank of j among the neighbours of i,   W = (A + A^T) / 2,   b_i = unit row i of A + I            (2)
        S_ij = w_ij (b_i . b_j + 0.02),   labels = k-means of unit rows of the c leading eigenvectors
                                                   of D^-1/2 S D^-1/2                                               (3)

    Several views are joined in two ways: their graphs are added up, ``S = sum_v w_v S_v / sum(S_v)``, with weights by
    the correlation of the graphs as in `MultiViewSemiNMF`; and (1) is applied to the scores of all views side by side,
    in which views that a sample lacks are filled from max(30, 3c) joint scores, twelve times.

    With P_1 .. P_g the clusters of all members, B the indicators of the clusters of those that are kept and
    d = B B^T 1, the result is::

        a_i = mean over j of NMI(P_i, P_j);   kept are the members of each t with a_i at or above their median      (4)
        labels = k-means of the unit rows of the c leading left singular vectors of D^-1/2 B                        (5)
        H = B Q / n_kept,   q_lj = share of member cluster l in final cluster j;   Z_v = (H^T H)^-1 H^T X_v         (6)

    (5) are spectral clusters of the co-association matrix B B^T [2]_, which is not formed. New samples have the mean
    memberships of the five nearest training samples, with weights one over the rank, over all kept members.

    The objective of a cluster ensemble is that of [1]_: clusters with the largest mutual information with the members.
    H is made for clusters: as an approximation of X it is a model of centroids, far from the best of rank c.

    References
    ----------
    .. [1] A. Strehl and J. Ghosh, Cluster ensembles: a knowledge reuse framework for combining multiple partitions,
       Journal of Machine Learning Research 3, 2002.
    .. [2] A. L. N. Fred and A. K. Jain, Combining multiple clusterings using evidence accumulation, IEEE TPAMI 27,
       2005. doi:10.1109/TPAMI.2005.113.

    Examples
    --------
    >>> from laminar import ClusterEnsemble
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(90, n_classes=3, n_noise_features=20, random_state=0)
    >>> model = ClusterEnsemble(3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.y, model.labels_), len(model.members_)
    (1.0, 30)
    >>> one, two, *_ = data.views
    >>> model.predict([one, two, None, None]).shape  # new samples need not have every view
    (90,)
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "forms": [StrOptions({"auto"}), "array-like", dict],
        "whitening": ["array-like"],
        **OUTPUT,
        "view_sizes": ["array-like", None],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        forms="auto",
        whitening=(0.0, 0.75, 1.0),
        readout="auto",
        layer=-1,
        view_sizes=None,
        max_samples=5000,
        n_init=10,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.forms = forms
        self.whitening = whitening
        self.readout = readout
        self.layer = layer
        self.view_sizes = view_sizes
        self.max_samples = max_samples
        self.n_init = n_init
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: ViewData, y: ArrayLike | None = None, observed: ArrayLike | None = None) -> Self:
        """Make the members, keep those that agree, and find the clusters they have in common.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix} of shape (n_samples, n_features_v), or one such array
            The views. One array is one view, or several side by side when ``view_sizes`` gives their numbers of
            features. A sample lacks a view where its row is None, or NaN throughout.
        y : Ignored
            Not used, present for API consistency.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_layer(1)
        exponents = _exponents(self.whitening)
        views = self._read(X, observed)
        n_samples = len(views.observed)
        if n_samples < self.n_clusters:
            raise ValueError(f"n_clusters={self.n_clusters} needs a sample a cluster, but n_samples={n_samples}.")
        rng = check_random_state(self.random_state)
        rows = _chosen_rows(views.observed, self.max_samples, rng)
        sample = _taken(views, rows)
        parts = [array[has] for array, has in zip(sample.arrays, sample.observed.T, strict=True)]
        names, n_summed = plan_forms(self.forms, sample.names, parts)
        sizes = member_sizes(len(rows), self.n_clusters)
        grid = member_grid(names, exponents, sizes, n_summed=n_summed)
        with threads.own_threads(), hooks(self, len(grid), X, y) as hook:
            for view, of_view in zip(views.names, names, strict=True):
                stage(f"view {view!r} in the forms {', '.join(of_view)}")
            spaces = build_spaces(sample.arrays, sample.observed, names, int(self.n_clusters), rng)
            made = _Ensemble(views, rows, spaces, rng.randint(2**31 - 1), [], [], [])
            seeds = rng.randint(2**31 - 1, size=len(grid))
            with interrupts.iterating():
                for member, seed in zip(grid, seeds, strict=True):
                    S, weights = member_graph(member, spaces)
                    made.members.append(member)
                    made.weights.append(weights)
                    made.partitions.append(member_labels(S, self.n_clusters, seed))
                    agreed = mean_agreement(pairwise_information(made.partitions, self.n_clusters)).mean()
                    stops = hook(len(made.members), agreed, lambda: copy(self)._keep(made, len(grid)))
                    if stops or interrupts.is_requested():
                        break
            self._keep(made, len(grid))
        return self

    # ---- fitted attributes ---------------------------------------------------------------------------------------

    def _keep(self, made: _Ensemble, n_planned: int) -> Self:
        """Set the fitted attributes from the members made so far."""
        stage(f"agreement of {len(made.members)} members")
        self.n_iter_, self.converged_ = len(made.members), len(made.members) == n_planned
        self.members_, self._member_weights, self._spaces = list(made.members), np.array(made.weights), made.spaces
        self.pairwise_agreement_ = pairwise_information(made.partitions, self.n_clusters)
        self.agreement_ = mean_agreement(self.pairwise_agreement_)
        kept = kept_members(self.pairwise_agreement_, [member.exponent for member in made.members])
        other = two_groups(self.pairwise_agreement_)[1]
        self.kept_ = np.isin(np.arange(self.n_iter_), kept)
        self.weights_ = self._member_weights[kept].mean(axis=0)
        self.labels_, H, self._memberships = self._consensus(made, kept)
        self.alternatives_ = [Reading(self._consensus(made, other)[0], other)] if len(other) > 1 else []
        Z = [
            cluster_components(X[has], H[has]) for X, has in zip(made.views.arrays, made.views.observed.T, strict=True)
        ]
        self.components_ = np.hstack(Z).astype(made.views.arrays[0].dtype)
        self.layers_ = [Layer(self.components_, self.components_, H.astype(self.components_.dtype))]
        return self

    def _consensus(self, made: _Ensemble, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return clusters and memberships of all samples by some members, and memberships of those in the graphs."""
        partitions = [made.partitions[i] for i in chosen]
        found = consensus_labels(partitions, self.n_clusters, np.random.RandomState(made.seed), self.n_init)
        own = memberships(partitions, found, self.n_clusters)
        n_samples = len(made.views.observed)
        if len(made.rows) == n_samples:
            return found, own, own
        others = np.setdiff1d(np.arange(n_samples), made.rows)
        stage(f"vote on {len(others)} further samples")
        labels, H = np.empty(n_samples, dtype=found.dtype), np.empty((n_samples, self.n_clusters))
        H[made.rows], H[others] = own, self._vote(_taken(made.views, others), chosen, own)
        labels[made.rows], labels[others] = found, H[others].argmax(axis=1)
        return labels, H, own


def _exponents(whitening: ArrayLike) -> list[float]:
    found = np.asarray(whitening)
    if found.ndim != 1 or not found.size or found.dtype.kind not in "fiu" or not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"whitening must be one or more numbers from 0 to 1; got {whitening!r}.")
    return [float(t) for t in found]


def _chosen_rows(observed: np.ndarray, max_samples: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the samples that members are made of: all, or random ones, and two at least that have each view."""
    n_samples = len(observed)
    if n_samples <= max_samples:
        return np.arange(n_samples)
    drawn = rng.choice(n_samples, max_samples, replace=False)
    return np.unique(np.concatenate([drawn, *(np.flatnonzero(has)[:2] for has in observed.T)]))


def _taken(views: Views, rows: np.ndarray) -> Views:
    if len(rows) == len(views.observed):
        return views
    return Views([array[rows] for array in views.arrays], views.names, views.observed[rows])

"""Clusters that many graphs of one view or several agree on."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import refuse_without_codes
from .._base.coding import Layer
from .._base.output import LayerOutput
from .._base.views import ViewReader
from .._engine.data.wrap import wrap
from .._engine.linalg.small import gram_solver, ridged
from .._utils import interrupts, threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.progress import stage
from .._utils.typing import ViewData
from .._utils.views import Views
from .agreement import consensus_labels, mean_agreement, memberships, pairwise_information, two_groups
from .forms import resolve_forms
from .grid import Member, member_grid, member_sizes
from .members import member_graph, member_labels
from .spaces import NewScores, Spaces, build_spaces
from .voting import vote


@dataclass(frozen=True, eq=False)
class Reading:
    """Clusters that some members agree on.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of each training sample.
    members : ndarray of int
        Positions of the members in ``members_``.
    """

    labels: np.ndarray
    members: np.ndarray


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


class ClusterEnsemble(CallbackSupportMixin, ClusterMixin, ViewReader, LayerOutput):
    """Cluster ensemble: clusters that many graphs of one view or several agree on.

    Members are spectral clusterings of graphs that differ in the form of the data, the whitening and number of
    principal scores, and the number of neighbours. They fall into two groups by their agreement; the larger one is
    kept, and the clusters are those of its co-association matrix. The graphs find the clusters; the factorisation
    X_v ~ H Z_v shows them: H >= 0 (n_samples, n_clusters) are soft memberships, with rows that add to one, and Z_v
    (n_clusters, n_features_v) is near the means of the clusters in view v (scikit-learn's NMF calls them W and H).

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
        Other clusters of the same samples: ``labels`` of the smaller group of members, and their positions
        ``members``; empty where that is a single one.
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

        kept = the larger of two clusters of members, by average linkage of 1 - NMI(P_i, P_j)                       (4)
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
    >>> clustering_accuracy(data.y, model.labels_), len(model.members_), int(model.kept_.sum())
    (1.0, 30, 29)
    >>> one, two, *_ = data.views
    >>> model.predict([one, two, None, None]).shape  # new samples need not have every view
    (90,)
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "forms": [StrOptions({"auto"}), "array-like", dict],
        "whitening": ["array-like"],
        "view_sizes": ["array-like", None],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _cluster_form = "raw"

    def __init__(
        self,
        n_clusters=8,
        *,
        forms="auto",
        whitening=(0.0, 0.75, 1.0),
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
        exponents = _exponents(self.whitening)
        views = self._read(X, observed)
        n_samples = len(views.observed)
        if n_samples < self.n_clusters:
            raise ValueError(f"n_clusters={self.n_clusters} needs a sample a cluster, but n_samples={n_samples}.")
        rng = check_random_state(self.random_state)
        rows = _chosen_rows(views.observed, self.max_samples, rng)
        sample = _taken(views, rows)
        names, n_summed = self._form_names(sample)
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

    def _form_names(self, sample: Views) -> tuple[list[tuple[str, ...]], int]:
        """Return the forms of each view, and how many of them are of single views too."""
        parts = [array[has] for array, has in zip(sample.arrays, sample.observed.T, strict=True)]
        names = resolve_forms(self.forms, sample.names, parts)
        n_forms = max(map(len, names))
        names = [own + own[-1:] * (n_forms - len(own)) for own in names]
        is_auto = isinstance(self.forms, str)
        if is_auto and len(names) > 1 and any("unit" not in own for own in names):
            # Of views side by side alone: for one view, and for graphs of single views, it was no gain.
            return [(*own, "unit") for own in names], n_forms
        return names, n_forms

    # ---- fitted attributes ---------------------------------------------------------------------------------------

    def _keep(self, made: _Ensemble, n_planned: int) -> Self:
        """Set the fitted attributes from the members made so far."""
        stage(f"agreement of {len(made.members)} members")
        self.n_iter_, self.converged_ = len(made.members), len(made.members) == n_planned
        self.members_, self._member_weights, self._spaces = list(made.members), np.array(made.weights), made.spaces
        self.pairwise_agreement_ = pairwise_information(made.partitions, self.n_clusters)
        self.agreement_ = mean_agreement(self.pairwise_agreement_)
        kept, other = two_groups(self.pairwise_agreement_)
        self.kept_ = np.isin(np.arange(self.n_iter_), kept)
        self.weights_ = self._member_weights[kept].mean(axis=0)
        self.labels_, H, self._memberships = self._consensus(made, kept)
        self.alternatives_ = [Reading(self._consensus(made, other)[0], other)] if len(other) > 1 else []
        Z = [_components(X, H, has) for X, has in zip(made.views.arrays, made.views.observed.T, strict=True)]
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

    def _vote(self, views: Views, chosen: np.ndarray, H: np.ndarray) -> np.ndarray:
        new = NewScores(self._spaces, views.arrays, views.observed)
        return vote(self._spaces, [self.members_[i] for i in chosen], self._member_weights[chosen], H, new)

    @property
    def common_(self) -> dict[str, dict]:
        """What the kept members have in common: for each of their properties the share of them with each value."""
        kept = [member for member, is_kept in zip(self.members_, self.kept_, strict=True) if is_kept]
        counts = {field.name: Counter(getattr(member, field.name) for member in kept) for field in fields(Member)}
        return {name: {value: n / len(kept) for value, n in sorted(c.items())} for name, c in counts.items()}

    # ---- using ---------------------------------------------------------------------------------------------------

    def transform(
        self,
        X: ViewData,
        *,
        layer: int | str | None = None,
        observed: ArrayLike | None = None,
        readout: str | None = None,
    ) -> np.ndarray:
        """Compute the memberships of samples, by a vote of their nearest training samples in every kept member.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes. New samples may lack views: a view may be absent from a dict, or be None in a
            list.
        layer : int, "all" or None, default=None
            Position in ``layers_``, which has one layer.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.
        readout : {"auto", "raw", "whitened", "isometric"} or None, default=None
            Form of the memberships: H itself, which is also None and "auto"; whitened, with rows of unit norm; or times
            the square root of the Gram matrix of the components, so that distances are those of the reconstructions.

        Returns
        -------
        H : ndarray of shape (n_samples, n_clusters)
            Memberships, not negative; rows add to one, unless they are in another form.
        """
        places, form = self._places(layer), self._form(readout, self._code_form)
        return self._output([self._transform(X, readout=form, observed=observed)], X, places)

    def _transform(self, X: ViewData, *, readout: str = "raw", observed: ArrayLike | None = None) -> np.ndarray:
        """Return memberships in a form, as an array whatever the parameters."""
        with threads.own_threads():
            views = self._read_new(X, observed)
            H = self._vote(views, np.flatnonzero(self.kept_), self._memberships)
        return self._reader(0, readout)(H.astype(views.arrays[0].dtype))

    def fit_transform(self, X: ViewData, y: ArrayLike | None = None, **parameters) -> np.ndarray:
        """Fit the ensemble and return the memberships of the training samples.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes.
        y : Ignored
            Not used, present for API consistency.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        H : ndarray of shape (n_samples, n_clusters)
            Memberships by the members themselves, ``layers_[0].representation``; `transform` gives those of a vote.
        """
        self.fit(X, y, **parameters)
        return self._fit_output(X, self._places(), "raw")

    def predict(self, X: ViewData, *, observed: ArrayLike | None = None) -> np.ndarray:
        """Return the cluster of samples, in the fit or new: the largest of the memberships of `transform`.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes; new samples may lack views, as in `transform`.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample; of training samples it may differ from ``labels_``.
        """
        return self._transform(X, observed=observed).argmax(axis=1)

    def cluster(self, X: ViewData | None = None) -> np.ndarray:
        """Return the clusters of the training samples, ``labels_``, or those that `predict` gives.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array, or None, default=None
            Samples, in the fit or new. None means the training samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        check_is_fitted(self)
        if X is not None:
            return self.predict(X)
        refuse_without_codes(self.layers_[0].representation, "the clusters of the training samples")
        return self.labels_

    def inverse_transform(self, H: ArrayLike) -> np.ndarray:
        """Return mixtures of the components, ``H @ components_``: for memberships, weighted means of clusters.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_clusters)
            Memberships.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features of all views)
            The views side by side, in their units.
        """
        check_is_fitted(self)
        H = check_array(H, dtype=[np.float64, np.float32], input_name="H")
        if H.shape[1] != len(self.components_):
            raise ValueError(f"H must have shape (n_samples, {len(self.components_)}), got {H.shape}.")
        return H @ self.components_

    # ---- model files ---------------------------------------------------------------------------------------------

    _sample_attributes = ("labels_",)

    def _without_training_codes(self) -> Self:
        kept = super()._without_training_codes()
        kept.alternatives_ = [Reading(reading.labels[:0].copy(), reading.members) for reading in self.alternatives_]
        return kept

    def _kept_samples(self) -> list[str]:
        # transform needs the training samples that vote.
        return [*super()._kept_samples(), "scores and memberships of the samples in its graphs (_spaces, _memberships)"]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


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


def _components(X, H: np.ndarray, observed: np.ndarray, *, ridge: float = 1e-6) -> np.ndarray:
    """Return ``(H^T H + ridge)^-1 H^T X`` over the samples that have the view."""
    data, own = wrap(X[observed]), H[observed]
    solve, _ = gram_solver(ridged(own.T @ own, ridge))
    return solve(data.T.product(own.astype(data.dtype)).T.astype(np.float64)) * data.scale

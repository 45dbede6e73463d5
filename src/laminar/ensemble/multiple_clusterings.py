"""Several clusterings of one view that differ from each other, without labels."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
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
from .._utils.typing import Data
from .agreement import cluster_components, pairwise_information
from .clusterings import Clustering, chosen_layers, cluster_subspace, without_main_clusters
from .forms import FORMS, fit_form, resolve_forms, suited_form
from .multiple_coder import MultipleCoder
from .scores import Scores, principal_scores
from .subspaces import SUBSPACES, Stages, Subspace, directions_needed


class MultipleClusterings(CallbackSupportMixin, MultipleCoder):
    """Multiple, non-redundant clusterings: layers that show different attributes, found without labels.

    Samples differ in several ways at once, as portraits do by person, pose and light, and one clustering can show one
    of them. Each layer has clusters of its own, in a subspace of its own: principal scores whitened more or less, of
    the data and of what is left of them when the main clusters are taken out. X ~ H_l Z_l for layer l: H_l >= 0
    (n_samples, k_l) are soft memberships, with rows that add to one, and Z_l (k_l, n_features) is near the means of the
    clusters (scikit-learn's NMF calls them W and H).

    Parameters
    ----------
    n_layers : int, default=5
        Largest number of layers; fewer where clusterings agree, or have no support.
    form : {"auto", "raw", "standard", "unit", "tfidf"}, default="auto"
        Form of the data: as they are; divided by the standard deviation of each feature; samples of unit norm; or with
        weights by logarithms of counts and of document frequencies. "auto" is "tfidf" for data without negative
        entries of which more than 0.8 are zero, "standard" where one feature has more than half of the variance, else
        "raw".
    max_clusters : int, default=50
        Largest number of clusters of a layer.
    max_agreement : float, default=0.8
        A layer is left out if its clusters have more than this normalised mutual information with those of a layer of
        more support.
    min_support : float, default=0.25
        A layer is left out if its support is less, except the first.
    readout : {"auto", "raw", "whitened", "isometric"}, default="auto"
        Form of the memberships that `transform` and `fit_transform` return, see `transform`; "auto" is "raw".
    layer : int or "all", default=0
        Position in ``layers_`` of the layer that is meant where none is given.
    max_samples : int, default=5000
        Samples that graphs are made of, at random if there are more; the others are then assigned as new samples are.
    n_init : int, default=10
        Starts of k-means for the final clusters of a layer.
    callback : callable or None, default=None
        Called after every subspace with a `laminar.callbacks.FitState`, whose ``iteration`` is the number of subspaces
        and whose ``objective`` is their mean support; no further one is clustered when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the decompositions, of k-means, of the reference data, and of the choice of samples.
    verbose : int, default=0
        1 shows what is being done, and a progress line.

    Attributes
    ----------
    layers_ : list of Layer
        At most ``n_layers``, in decreasing order of support. ``weights`` and ``components`` of a layer are Z_l, its
        ``representation`` is H_l of shape (n_samples, k_l), the memberships of the training samples.
    support_ : ndarray of shape (n_layers,)
        How far the clusters of each layer stand out: their modularity above that of data without clusters, (5). At
        most 1, and near 0 for such data.
    pairwise_agreement_ : ndarray of shape (n_layers, n_layers)
        Normalised mutual information of the clusters of the layers: how different they are.
    common_ : list of dict
        Where each layer was found: ``main_clusters`` ("in" the data, or "out": taken out of them), the ``exponent`` t
        of the whitening, the numbers of ``directions``, and ``n_clusters``.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample in ``layer``, or the first for "all"; `cluster` has those of the others.
    components_ : ndarray of shape (k_0, n_features)
        Z of the first layer.
    n_iter_ : int
        Number of subspaces that were clustered.
    converged_ : bool
        Whether all of them were.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    ClusterEnsemble : One clustering, of which the number of clusters is known.
    AttributeLayers : Layers of given attributes, from a few labels of each.
    layer_attribute_table : Which layer shows which attribute.

    Notes
    -----
    **Algorithm.** With the principal scores F of the data, ``X - 1 m^T ~ F V^T``, and P_0 the main clusters,
    those of F with t = 0.75::

        R = F - M[P_0],   row j of M the mean of F over cluster j of P_0                                            (1)
        points = unit rows of U_k diag(s_k)^(1 - t),   F or R = U diag(s)                                           (2)
        S = mean of the graphs of shared neighbours of the points for two numbers k, each of sum one                (3)
        c = least number with ``Q(c) - Q_0(c)`` within 5 % of its maximum                                           (4)
        support = (Q(c) - Q_0(c)) / (1 - 1/c - Q_0(c))                                                              (5)
        P = k-means of the unit rows of the c leading eigenvectors of D^-1/2 S D^-1/2                               (6)
        H = mean over k of the clusters P of the five nearest samples, weights one over the rank;
        Z = (H^T H)^-1 H^T X                                                                                        (7)

    Subspaces are F with t = 0.75, 0.5 and 0, and R with t = 1, 0.5 and 0. Strong and smooth changes, as of light, are
    in few directions and need no whitening; a person is in many. An attribute is much easier to see when the main
    clusters are taken out: X is modelled as a sum of effects [1]_, and (1) is the removal of one of them [2]_. (3) is
    as in `ClusterEnsemble`. In (4) Q is the modularity [3]_ of the clusters in S, and Q_0 that of the same graph of
    Gaussian data with the singular values of F or R; in (5) 1 - 1/c is the largest modularity of c clusters. H of a
    training sample counts the sample itself as its nearest one, so that `transform` gives the same.

    The number of clusters is an estimate, and there need not be one: `cluster` takes another. An attribute that no
    subspace shows is not found, and layers have no names: which attribute a layer shows is seen from its samples, or
    from a few labels (docs/layers-without-labels.md).

    References
    ----------
    .. [1] P. Jain, R. Meka and I. S. Dhillon, Simultaneous unsupervised learning of disparate clusterings, Statistical
       Analysis and Data Mining 1, 2008.
    .. [2] Y. Cui, X. Z. Fern and J. G. Dy, Non-redundant multi-view clustering via orthogonalization, IEEE
       International Conference on Data Mining (ICDM), 2007.
    .. [3] M. E. J. Newman and M. Girvan, Finding and evaluating community structure in networks, Physical Review E 69,
       2004. doi:10.1103/PhysRevE.69.026113.

    Examples
    --------
    >>> from laminar import MultipleClusterings
    >>> from laminar.datasets import make_faces
    >>> from laminar.metrics import normalized_mutual_information
    >>> faces = make_faces(8, 3, 4, size=16, random_state=0)
    >>> model = MultipleClusterings(random_state=0).fit(faces.X)
    >>> found = [model.cluster(layer=i, n_clusters=8) for i in range(len(model.layers_))]
    >>> max(normalized_mutual_information(faces.identity, labels) for labels in found) > 0.7
    True
    """

    _parameter_constraints: dict = {
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "form": [StrOptions({"auto", *FORMS})],
        "max_clusters": [Interval(Integral, 2, None, closed="left")],
        "max_agreement": [Interval(Real, 0, 1, closed="both")],
        "min_support": [Interval(Real, None, 1, closed="right")],
        **OUTPUT,
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_layers=5,
        *,
        form="auto",
        max_clusters=50,
        max_agreement=0.8,
        min_support=0.25,
        readout="auto",
        layer=0,
        max_samples=5000,
        n_init=10,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_layers = n_layers
        self.form = form
        self.max_clusters = max_clusters
        self.max_agreement = max_agreement
        self.min_support = min_support
        self.readout = readout
        self.layer = layer
        self.max_samples = max_samples
        self.n_init = n_init
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Cluster the samples in every subspace, and keep the clusterings that have support and differ.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_layer(self.n_layers)
        X = self._validate(X, reset=True)
        rng = check_random_state(self.random_state)
        self._seed = rng.randint(2**31 - 1)
        rows = np.arange(X.shape[0])
        if len(rows) > self.max_samples:
            rows = np.sort(rng.choice(len(rows), self.max_samples, replace=False))
        with threads.own_threads(), hooks(self, len(SUBSPACES), X, y) as hook:
            sample = X if len(rows) == X.shape[0] else X[rows]
            name = suited_form(sample) if self.form == "auto" else self.form
            form = fit_form(resolve_forms([name], [0], [sample])[0][0], sample)
            subspaces = [subspace.limited(len(rows)) for subspace in SUBSPACES]
            stage(f"scores of {len(rows)} x {X.shape[1]} in the form {form.name}")
            scores = principal_scores(form(sample), directions_needed(subspaces) + self.max_clusters, rng)
            with interrupts.iterating():
                found = [self._clustering(subspaces[0], scores, rng)]
                stages = without_main_clusters(form, scores, found[0], rng)

                def fitted() -> MultipleClusterings:
                    return copy(self)._keep(X, rows, stages, found)

                stops = hook(1, found[0].support, fitted)
                for subspace in subspaces[1:]:
                    if stops or interrupts.is_requested():
                        break
                    found.append(self._clustering(subspace, stages.scores[subspace.stage], rng))
                    stops = hook(len(found), np.mean([clustering.support for clustering in found]), fitted)
            self._keep(X, rows, stages, found)
        return self

    def _clustering(self, subspace: Subspace, scores: Scores, rng: np.random.RandomState) -> Clustering:
        stage(f"clusters in {'what main clusters leave' if subspace.stage else 'data'}, t = {subspace.exponent}")
        return cluster_subspace(subspace, scores, self.max_clusters, rng, n_init=self.n_init)

    # ---- fitted attributes ---------------------------------------------------------------------------------------

    def _keep(self, X, rows: np.ndarray, stages: Stages, found: list[Clustering]) -> Self:
        """Set the fitted attributes from the clusterings found so far."""
        self.n_iter_, self.converged_ = len(found), len(found) == len(SUBSPACES)
        widest = max(clustering.n_clusters for clustering in found)
        information = pairwise_information([clustering.labels for clustering in found], widest)
        support = np.array([clustering.support for clustering in found])
        kept = chosen_layers(information, support, self.n_layers, self.max_agreement, self.min_support)
        self.support_, self.pairwise_agreement_ = support[kept], information[np.ix_(kept, kept)]
        self._stages = stages
        self._subspaces = [found[i].subspace for i in kept]
        self._voters = [found[i].labels for i in kept]
        self._numbers = [found[i].n_clusters for i in kept]
        everywhere = self._scores_of(X, rows)
        self.layers_ = []
        for place in range(len(kept)):
            H = self._memberships(place, everywhere)
            Z = cluster_components(X, H).astype(X.dtype)
            self.layers_.append(Layer(Z, Z, H.astype(X.dtype)))
        self.components_ = self.layers_[0].components
        self.labels_ = self._labels_at(self._places()[0])
        return self

    def _scores_of(self, X, rows: np.ndarray) -> list[np.ndarray]:
        """Return the scores of the training samples, those in the graphs and others, at both stages."""
        training = [scores.training for scores in self._stages.scores]
        if len(rows) == X.shape[0]:
            return training
        others = np.setdiff1d(np.arange(X.shape[0]), rows)
        stage(f"vote on {len(others)} further samples")
        found = []
        for own, new in zip(training, self._stages.of(X[others]), strict=True):
            F = np.empty((X.shape[0], own.shape[1]))
            F[rows], F[others] = own, new
            found.append(F)
        return found

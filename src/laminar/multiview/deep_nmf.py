"""One representation of several views of the same samples."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.clusters import embed, readout_basis
from .._base.coding import Layer
from .._base.graph_clusters import CLUSTERINGS
from .._base.views import ViewCoder
from .._engine.constraints import Free, NonNegative
from .._engine.data.derived import Normalized, Stacked, isometric
from .._engine.data.wrap import wrap
from .._engine.linalg.small import isometry
from .._engine.monitor import Monitor, Solution
from .._engine.problem import smooth_codes
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.typing import ViewData
from .._utils.views import Views
from ..graphs import Graph
from . import published as published_views
from .consensus import SharedCodes, all_views, consensus, weighted_consensus
from .graphs import codes_graph, named_graph, view_graphs
from .layers import View, in_units, view_layers
from .weights import given_weights


class MultiViewDeepNMF(CallbackSupportMixin, ViewCoder):
    """Multi-view Semi-NMF with layers, X_v ~ H Z_v with shared non-negative codes H and weighted views.

    Minimises over H >= 0 (n_samples, k), the codes of all views, and Z_v (k, n_features_v) of any sign, the components
    of view v (scikit-learn's NMF calls them W and H)::

        1/2 sum_v w_v ||F_v - H Z_v||^2 + 1/2 sum_a s_a y_a^T L y_a,   L = beta sum_v w_v L_v + alpha sum_j C_j     (1)

    where F_v is view v with samples of unit norm, centred, and times a number that gives all views the same total
    variance; w_v is the weight of the view; L_v is the Laplacian of its graph; and h^T C_j h the scatter of h inside
    the classes of attribute j of y. y_a = h_a - h_k, a = 1..k-1, are coordinates in which codes that differ by a
    constant are the same, and ``s_a = sum_v w_v ||z_va||^2``. By default beta is 0 and y is not given, and the second
    term vanishes. A sample counts in the views it has; one that lacks views has in addition the ridge
    ``0.05 / (k - 1) ||y_i||^2 sum_v w_v ||Z_v||^2`` over the views it has. With ``normalize=False`` F_v is the view as
    it comes, and y_a = h_a for all a.

    Parameters
    ----------
    layers : sequence of int, int or None, default=None
        Size of each layer of a view, from the input up; the last is k, the number of shared codes. None is one layer
        with ``1 + max(30, 2 n_clusters)`` codes, or as many as the samples and features allow.
    weights : {"agreement", "equal", "auto", "paper"} or array-like of shape (n_views,), default="agreement"
        The weights w_v. "agreement": in proportion to the sum of the correlations of the neighbour graph of the view
        with those of the others. "equal". "auto": ``w_v = a_v^gamma``, where a minimises ``sum_v a_v^gamma R_v`` over
        weights with sum one and R_v is what is left of view v; it favours views that are easy to fit. "paper": the same
        formula, eq. 15 of [1]_, for any gamma. Numbers are divided by their sum.
    gamma : float, default=2.0
        Exponent of the weights "auto", above 1, and "paper", not 1; below 1 eq. 15 of [1]_ is the maximiser, and views
        that are fitted worse have more weight.
    beta : float, default=0.0
        Weight of the graphs of the views. In most cases that were measured it makes no difference or makes results
        worse.
    alpha : float, default=1.0
        Weight of the scatter inside classes, where `fit` is given labels.
    graph : {"rank", "knn"} or Graph, default="rank"
        Neighbour graph of a view, for "agreement" and ``beta``, and of the codes, for clusters: "rank" links nearest
        neighbours with weight one over the rank, "knn" the five nearest with weight 1.
    n_clusters : int or None, default=None
        Number of clusters of ``labels_``, `predict` and `fit_predict`; None means the number of codes. At least so many
        directions of the codes are in ``embedding_``.
    clustering : {"spectral", "kmeans", "published"}, default="spectral"
        Spectral clustering of the graph of ``embedding_``; k-means of ``embedding_``; or, as in [1]_, spectral
        clustering of the graph of the five nearest neighbours (heat kernel) of the codes.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where X is one array with the views side by side. None means that one array is
        one view.
    normalize : bool, default=True
        Whether samples are brought to unit norm and centred, and views to the same total variance.
    max_iter : int, default=150
        Maximum number of iterations. One iteration updates H and all Z_v once.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``.
    rule : {"fast", "published"}, default="fast"
        "published" is Algorithm 1 of [1]_ on samples of unit norm: ``max_iter`` multiplicative iterations for the
        pre-training of each layer and as many of fine-tuning, ``layers=(100, 50)`` if None, weights as with "paper", no
        labels, every sample in every view.
    callback : callable or None, default=None
        Called after every iteration as ``callback(iteration, objective, seconds)``; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the decompositions and initialisers, of the choice of samples where there are many, and of k-means.
    verbose : int, default=0
        1 shows a progress line.

    Attributes
    ----------
    weights_ : ndarray of shape (n_views,)
        Weights of the views, with sum one; for the weights "auto" and "paper" a_v, where ``w_v = a_v^gamma``.
    views_ : dict of View
        By name or position: ``weight`` w_v, ``layers`` from the input up, ``mean`` and ``size``; F_v is a sample of
        unit norm less ``mean``, times ``size``.
    components_ : ndarray of shape (k, n_features of all views)
        The components of all views side by side, for samples of unit norm: a sample is near
        ``mean_ + H @ components_``.
    mean_ : ndarray of shape (n_features of all views,)
        Mean of the samples of unit norm; zeros without `normalize`.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, k), the codes of the training samples.
    embedding_ : ndarray of shape (n_samples, n_directions)
        The left singular vectors of H Z whose singular values exceed those of noise, Z being all Z_v side by side,
        times the roots of their weights; rows of unit norm. They do not depend on the basis of the codes.
    clusters_ : Clusters
        Clusters of the codes, by ``clustering``; fitted on first use.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample, computed on first use.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1), or (4) for ``rule="published"``, after each accepted iteration, with the weights of that
        iteration.
    n_iter_ : int
        Number of iterations made.
    converged_ : bool
        Whether the fit met ``tol`` within ``max_iter`` iterations.
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
    MultiNMF : Non-negative views, each with codes of its own.
    DeepSemiNMF : One view.
    laminar.baselines : Methods that multi-view papers compare with.

    Notes
    -----
    **Algorithm.** With `normalize` the problem is solved for Y (n_samples, k - 1) of any sign: with B = sum_v w_v F_v
    Z_v^T, G = sum_v w_v Z_v Z_v^T and q_a = y_a^T L y_a, one iteration is::

        Y   <- B G^-1, or with a second term in (1) the minimiser of a majoriser
        Z_v <- (Y^T Y + diag(q))^-1 Y^T F_v                                                                         (2)

    over the samples that have view v, with an extrapolation after [2]_, and in the end non-negative codes for the same
    product, Algorithm 2 of [3]_::

        h_i = [y_i, 0] - min(0, min_a y_ia),     Z_v <- [Z_v; -1^T Z_v]                                             (3)

    The initial Y is the truncated SVD of the views side by side, each times ``sqrt(w_v)``: without missing views,
    penalties and weights that change it is the minimiser already. Without `normalize` the codes are updated as in
    `SemiNMF`. The weights "auto" are computed anew after every five iterations,
    ``a_v = R_v^(1/(1-gamma)) / sum_u R_u^(1/(1-gamma))``, eq. 15 of [1]_.

    ``rule="published"`` decreases, with Psi_v the product of the weights of view v, ``w_v = a_v^gamma`` and X_v of unit
    norm::

        1/2 sum_v w_v (||X_v - H Psi_v||^2 + beta Tr(H^T L_v H))                                                    (4)

    half of eq. 3 of [1]_. In each iteration the weights of view v follow eq. 4, its hidden codes eq. 5, and with B_v =
    X_v Psi_v^T, G_v = Psi_v Psi_v^T, d_v the degrees and W_v the weights of its graph::

        H <- H * (sum_v w_v (B_v^+ + H G_v^- + beta W_v H) / sum_v w_v (B_v^- + H G_v^+ + beta d_v * H))^(1/2)      (5)

    then eq. 15. (5) is eq. 7 of [1]_ summed over the views with their weights, as in the authors' code: as printed,
    view after view, it can increase (4) (docs/methods.md 8.1).

    Of linear layers only the product enters (1): hidden layers are those of a factorisation of the view by itself,
    changed as little as the shared codes require. Time is linear in the samples: views are compared on 2000 samples and
    at most 10000 are clustered, drawn at random, and the others join the cluster of the nearest one. With ``beta > 0``
    the graphs are of all samples, and the search for neighbours is quadratic in them.

    References
    ----------
    .. [1] H. Zhao, Z. Ding and Y. Fu, Multi-view clustering via deep matrix factorization, AAAI Conference on
       Artificial Intelligence, 2017.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.
    .. [3] N. Gillis and A. Kumar, Exact and heuristic algorithms for semi-nonnegative matrix factorization, SIAM
       Journal on Matrix Analysis and Applications 36, 2015. arXiv:1410.7220.

    Examples
    --------
    >>> from laminar import MultiViewDeepNMF
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(90, n_classes=3, n_noise_features=20, random_state=0)
    >>> model = MultiViewDeepNMF(n_clusters=3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.y, model.labels_), bool(model.weights_[3] < 0.02)
    (1.0, True)
    >>> one, two, *_ = data.views
    >>> model.predict([one, two, None, None]).shape  # new samples need not have every view
    (90,)
    """

    _parameter_constraints: dict = {
        "layers": ["array-like", Integral, None],
        "weights": [StrOptions({"agreement", "equal", "auto", "paper"}), "array-like"],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "graph": [StrOptions({"rank", "knn"}), Graph],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "clustering": [StrOptions(set(CLUSTERINGS))],
        "view_sizes": ["array-like", None],
        "normalize": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions({"fast", "published"})],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        layers=None,
        *,
        weights="agreement",
        gamma=2.0,
        beta=0.0,
        alpha=1.0,
        graph="rank",
        n_clusters=None,
        clustering="spectral",
        view_sizes=None,
        normalize=True,
        max_iter=150,
        tol=1e-4,
        rule="fast",
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.layers = layers
        self.weights = weights
        self.gamma = gamma
        self.beta = beta
        self.alpha = alpha
        self.graph = graph
        self.n_clusters = n_clusters
        self.clustering = clustering
        self.view_sizes = view_sizes
        self.normalize = normalize
        self.max_iter = max_iter
        self.tol = tol
        self.rule = rule
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: ViewData, y: ArrayLike | None = None, observed: ArrayLike | None = None) -> Self:
        """Fit the shared codes and the components of every view.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix} of shape (n_samples, n_features_v), or one such array
            The views. One array is one view, or several side by side when ``view_sizes`` gives their numbers of
            features. A sample lacks a view where its row is None, or NaN throughout.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels of some or all samples, one column for each attribute; -1, NaN, None and ``pandas.NA`` stand for
            unknown. Codes of samples of one class become similar.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_combination()
        views = self._read(X, observed)
        with threads.own_threads(), hooks(self, self.max_iter, X, y) as hook:
            rng = check_random_state(self.random_state)
            shared = self._shared_codes(views)
            self._warn_constant_views(shared, views)
            unit = shared.views.scale**2
            monitor = Monitor(self.max_iter, self.tol, lambda i, value, *_: hook(i, value * unit))
            fit = self._publish if self.rule == "published" else self._agree
            self._keep(shared, *fit(shared, views, y, rng, monitor))
        self._warn_unconverged()
        return self

    def _check_combination(self) -> None:
        if not self._moving:
            return
        if self.gamma == 1:
            raise ValueError("gamma=1 puts all the weight on one view: use a gamma above 1, or other weights.")
        if self.gamma < 1 and self.rule == "fast" and self.weights == "auto":
            raise ValueError(
                f'weights="auto" minimises over the weights, for which gamma must be above 1; got {self.gamma}. '
                'weights="paper" takes any gamma.'
            )
        if self.gamma < 1:
            warnings.warn(
                f"gamma={self.gamma} is below 1: views that are fitted worse count more, and the objective may rise.",
                UserWarning,
                stacklevel=4,
            )

    @property
    def _moving(self) -> bool:
        """Whether weights follow the residuals."""
        return self.rule == "published" or (isinstance(self.weights, str) and self.weights in ("auto", "paper"))

    # ---- views ---------------------------------------------------------------------------------------------------

    @property
    def _centred(self) -> bool:
        return self.normalize and self.rule == "fast"

    def _shared_codes(self, views: Views, fitted: dict[object, View] | None = None) -> SharedCodes:
        """Return the views normalised as in this fit, or as when the model was fitted."""
        parts = []
        for name, array, has in zip(views.names, views.arrays, views.observed.T, strict=True):
            if not self.normalize:
                parts.append(wrap(array))
            elif fitted is not None:
                parts.append(Normalized(array, has, fitted[name].mean.astype(array.dtype), fitted[name].size))
            elif self.rule == "published":  # samples at unit length, and no more
                parts.append(Normalized(array, has, np.zeros(array.shape[1], array.dtype), 1.0))
            else:
                parts.append(Normalized(array, has))
        stacked = Stacked(parts, np.ones(len(parts)))
        # Squares are double, codes have the type of X and are larger than it, though hardly a thousand times.
        if stacked.scale > min(1e150, 1e-3 * float(np.finfo(stacked.dtype).max)):
            raise ValueError(
                f"The largest magnitude in X is {stacked.scale:.3g}: its square or its codes are out of range. Divide "
                "X by a constant, or use normalize=True."
            )
        return SharedCodes(stacked, views.observed, Free() if self._centred else NonNegative())

    def _warn_constant_views(self, shared: SharedCodes, views: Views) -> None:
        constant = [name for name, part in zip(views.names, shared.views.parts, strict=True) if part.sqnorm == 0]
        if constant and len(views.names) > 1:
            warnings.warn(f"All samples are equal in views {constant}: they have no effect.", UserWarning, stacklevel=5)

    def _sizes(self, views: Stacked) -> tuple[int, ...]:
        """The sizes of the layers, from the input up."""
        n, p = views.shape
        if self.layers is None and self.rule == "published":
            return tuple(max(1, min(k, n, p)) for k in (100, 50))
        if self.layers is None:
            return (max(1, min(max(30, 2 * (self.n_clusters or 1)), n - 1, p)) + int(self._centred),)
        sizes = np.atleast_1d(self.layers)
        if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
            raise ValueError(f"layers must be one or more whole numbers above 0, as (100, 50); got {self.layers!r}.")
        if self._centred and sizes[-1] < 2:
            raise ValueError(
                "around a mean k codes hold k - 1 directions: the last of layers must be 2 or more, or "
                f"normalize=False; got {self.layers!r}."
            )
        if sizes.min() < sizes[-1]:
            raise ValueError(f"no layer may be smaller than the last, which all views share; got {self.layers!r}.")
        return tuple(int(k) for k in sizes)

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _agree(self, whole: SharedCodes, views: Views, y, rng, monitor: Monitor) -> tuple[Solution, list[list[Layer]]]:
        sizes = self._sizes(whole.views)
        small = Stacked([isometric(part) for part in whole.views.parts], np.ones(len(views.names)))
        seen = small.parts, views.observed, named_graph(self.graph, self.n_clusters, views.observed)
        weights = given_weights(self.weights, *seen, rng)
        shares = np.full(len(views.names), 1 / len(views.names)) if weights is None else weights
        operator = codes_graph(*seen, shares, beta=self.beta, y=y, alpha=self.alpha)
        penalties = [] if operator is None else [smooth_codes(operator, 1.0)]
        k, shared = sizes[-1] - int(self._centred), replace(whole, views=small, penalties=penalties)
        if weights is None:
            solution = weighted_consensus(shared, k, self.gamma, rng, monitor)
        else:
            solution = consensus(shared, k, weights, rng, monitor)
        solution = all_views(replace(whole, penalties=penalties), solution)
        H, Z = solution.factors["H"], solution.factors["Z"]
        pairs = zip(whole.views.parts, whole.views.slices, strict=True)
        layers = [view_layers(part, np.ascontiguousarray(Z[s].T), sizes[:-1], H, rng) for part, s in pairs]
        return solution, layers

    def _publish(
        self, whole: SharedCodes, views: Views, y, rng, monitor: Monitor
    ) -> tuple[Solution, list[list[Layer]]]:
        if not views.observed.all():
            raise ValueError('rule="published" needs every sample in every view: use rule="fast".')
        graphs: list = [None] * len(views.names)
        if self.beta > 0:
            graph = named_graph(self.graph, self.n_clusters, views.observed)
            graphs = view_graphs(whole.views.parts, views.observed, graph)
        return published_views.run(
            whole.views,
            self._sizes(whole.views),
            graphs,
            rng,
            gamma=self.gamma,
            beta=self.beta,
            monitor=monitor,
        )

    def _keep(self, shared: SharedCodes, solution: Solution, view_layers: list[list[Layer]]) -> None:
        """Set the fitted attributes."""
        H, Z, powers = (solution.factors[name] for name in ("H", "Z", "powers"))
        self.weights_, self.views_ = solution.factors["weights"], {}
        for name, power, part, layers in zip(self.view_names_, powers, shared.views.parts, view_layers, strict=True):
            mean, size = np.zeros(part.shape[1], part.dtype), 1.0
            if isinstance(part, Normalized):
                mean, size = part.mean, part.size
            self.views_[name] = View(float(power), in_units(layers, size), mean, size)
        views = self.views_.values()
        self.components_ = np.hstack([view.layers[-1].components for view in views])
        self.mean_ = np.concatenate([view.mean for view in views])
        self.layers_ = [Layer(self.components_, self.components_, H)]
        self.objective_history_ = np.array(solution.history) * shared.views.scale**2
        self.n_iter_, self.converged_, self._n_features_out = solution.n_iter, solution.converged, H.shape[1]
        weighted = Z * shared.roots(powers, Z.dtype)
        self._basis = readout_basis(H, weighted, *shared.spread(powers), self.n_clusters or H.shape[1])
        self.clusters_ = CLUSTERINGS[self.clustering](H, self.random_state, self._basis, self.graph)
        self.embedding_ = self._read_out(H, "whitened")
        if len(views) > 1 and self._moving and self.weights_.max() > 0.9:
            warnings.warn(
                f"view {self.view_names_[int(self.weights_.argmax())]!r} has {self.weights_.max():.3f} of the weight: "
                "weights by residuals favour views that are easy to fit. weights='agreement' does not.",
                UserWarning,
                stacklevel=5,
            )

    # ---- what a fitted model is used for -------------------------------------------------------------------------

    def _read_out(self, H: np.ndarray, readout: str) -> np.ndarray:
        if readout == "whitened":
            return embed(H, self._basis).astype(H.dtype)
        if readout == "isometric":
            return (H @ isometry(self._weighted().T)).astype(H.dtype)
        return H

    def _weighted(self) -> np.ndarray:
        """Return transposed components, with the weights of their views."""
        return np.vstack([v.layers[-1].components.T * (v.size * v.weight**0.5) for v in self.views_.values()])

    def _coded(self, views: Views) -> np.ndarray:
        """Return codes of samples."""
        shared, *known = self._known(views)
        return shared.code(*known)

    def _explained(self, views: Views) -> float:
        """Return the share of samples their codes explain."""
        shared, *known = self._known(views)
        return shared.explained(*known)

    def _known(self, views: Views) -> tuple[SharedCodes, np.ndarray, np.ndarray]:
        """Return samples normalised as in the fit, the weights of the views and their components."""
        shared = self._shared_codes(views, self.views_)
        weights = np.array([view.weight for view in self.views_.values()])
        return shared, weights, self._weighted().astype(shared.views.dtype)

    def inverse_transform(self, H: ArrayLike) -> np.ndarray:  # type: ignore[override]  # one set of codes
        """Reconstruct the views of samples from codes.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_codes)
            Codes.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features of all views)
            ``mean_ + H @ components_``: samples of unit norm in every view, side by side.
        """
        return super().inverse_transform(H) + self.mean_

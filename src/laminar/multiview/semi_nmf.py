"""One set of codes for several views, weighted by their agreement."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.coding import Layer
from .._base.output import OUTPUT
from .._engine.data.derived import Stacked
from .._engine.monitor import Monitor, Solution
from .._engine.problem import smooth_codes
from .._utils import threads
from .._utils.callbacks import hooks, with_callbacks
from .._utils.labels import read_labels, warn_uninformative
from .._utils.typing import ViewData
from .._utils.views import Views
from .._utils.workers.views import has_dask
from ..graphs import Graph
from .base import SharedCoder
from .consensus import SharedCodes, all_views, reporting
from .graphs import classes_graph, named_graph
from .weights import agreement_weights, given_weights


class MultiViewSemiNMF(SharedCoder):
    """Multi-view Semi-NMF, X_v ~ H Z_v, with shared non-negative codes H and views weighted by their agreement.

    Minimises over H >= 0 (n_samples, k), the codes of all views, and Z_v (k, n_features_v) of any sign, the components
    of view v (scikit-learn's NMF calls them W and H)::

        1/2 sum_v w_v ||F_v - H Z_v||^2 + alpha/2 sum_a s_a y_a^T C y_a                                             (1)

    where F_v is view v with samples of unit norm, centred, and times a number that gives all views the same total
    variance; w_v is the weight of the view; and h^T C h the scatter of h inside the classes of y, summed over its
    attributes. y_a = h_a - h_k, a = 1..k-1, are coordinates in which codes that differ by a constant are the same, and
    ``s_a = sum_v w_v ||z_va||^2``. Without y the second term vanishes. A sample counts in the views it has; one that
    lacks views has in addition the ridge ``0.05 / (k - 1) ||y_i||^2 sum_v w_v ||Z_v||^2`` over the views it has. With
    ``normalize=False`` F_v is the view as it comes, and y_a = h_a for all a.

    Parameters
    ----------
    n_components : int or None, default=None
        Number k of shared codes; None means ``1 + max(30, 2 n_clusters)``, or as many as the samples and features
        allow.
    weights : {"agreement", "equal"} or array-like of shape (n_views,), default="agreement"
        The weights w_v. "agreement": in proportion to the sum of the correlations of the neighbour graph of the view
        with those of the others. Numbers are divided by their sum.
    alpha : float, default=1.0
        Weight of the scatter inside classes, where `fit` is given labels.
    neighbor_graph : {"rank", "knn"} or Graph, default="rank"
        Neighbour graph of a view, for "agreement", and of the codes, for clusters: "rank" links nearest neighbours with
        weight one over the rank, "knn" the five nearest with weight 1.
    n_clusters : int or None, default=None
        Number of clusters of ``labels_``, `predict` and `fit_predict`; None means the number of codes. At least so many
        directions of the codes are in ``embedding_``.
    clustering : {"spectral", "kmeans"}, default="spectral"
        Spectral clustering of the graph of the codes, or k-means of the codes.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform`; the
        whitened one is that of ``embedding_``. "auto" returns raw codes and clusters whitened ones.
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
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
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the decompositions and initialisers, of the choice of samples where there are many, and of k-means.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    weights_ : ndarray of shape (n_views,)
        Weights of the views, with sum one.
    views_ : dict of View
        By name or position: ``weight`` w_v, ``layers`` with one layer, ``mean`` and ``size``; F_v is a sample of unit
        norm less ``mean``, times ``size``; ``length``, what reconstructions are multiplied by in `inverse_transform`.
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
        Clusters of the codes, by ``clustering`` and ``readout``; fitted on first use.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample, computed on first use.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1) after each accepted iteration.
    history_iterations_ : ndarray of shape (n_accepted,)
        The iteration of each entry of ``objective_history_``.
    n_iter_ : int
        Number of iterations made.
    converged_ : bool
        Whether the fit met ``tol`` within ``max_iter`` iterations.
    kkt_residual_ : float or None
        KKT residual at the beginning of the last sweep: 0 at a stationary point, without scale; None if not computed.
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
    MultiViewDeepNMF : Several layers, a graph of every view, weights by the residuals (DMF-MVC).
    MultiNMF : Non-negative views, each with codes of its own.
    laminar.baselines : Methods that multi-view papers compare with.

    Notes
    -----
    **Algorithm.** With `normalize` the problem is solved for Y (n_samples, k - 1) of any sign: with B = sum_v w_v F_v
    Z_v^T, G = sum_v w_v Z_v Z_v^T and q_a = alpha y_a^T C y_a, one iteration is::

        Y   <- B G^-1, or with labels the minimiser of a majoriser
        Z_v <- (Y^T Y + diag(q))^-1 Y^T F_v                                                                         (2)

    over the samples that have view v, with an extrapolation after [1]_, and in the end non-negative codes for the same
    product, Algorithm 2 of [2]_::

        h_i = [y_i, 0] - min(0, min_a y_ia),     Z_v <- [Z_v; -1^T Z_v]                                             (3)

    The initial Y is the truncated SVD of the views side by side, each times ``sqrt(w_v)``: without missing views and
    labels it is the minimiser already. Without `normalize` the codes are updated as in `SemiNMF`. The weights by
    agreement are Laminar's own (docs/methods.md 8.5). Time is linear in the samples: views are compared on 2000
    samples and at most 10000 are clustered, drawn at random, and the others join the cluster of the nearest one.

    References
    ----------
    .. [1] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.
    .. [2] N. Gillis and A. Kumar, Exact and heuristic algorithms for semi-nonnegative matrix factorization, SIAM
       Journal on Matrix Analysis and Applications 36, 2015. arXiv:1410.7220.

    Examples
    --------
    >>> from laminar import MultiViewSemiNMF
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(90, n_classes=3, n_noise_features=20, random_state=0)
    >>> model = MultiViewSemiNMF(n_clusters=3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.y, model.labels_), bool(model.weights_[3] < 0.02)
    (1.0, True)
    >>> one, two, *_ = data.views
    >>> model.predict([one, two, None, None]).shape  # new samples need not have every view
    (90,)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "weights": [StrOptions({"agreement", "equal"}), "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "neighbor_graph": [StrOptions({"rank", "knn"}), Graph],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "clustering": [StrOptions({"spectral", "kmeans"})],
        **OUTPUT,
        "view_sizes": ["array-like", None],
        "normalize": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        weights="agreement",
        alpha=1.0,
        neighbor_graph="rank",
        n_clusters=None,
        clustering="spectral",
        readout="auto",
        layer=-1,
        view_sizes=None,
        normalize=True,
        max_iter=150,
        tol=1e-4,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.weights = weights
        self.alpha = alpha
        self.neighbor_graph = neighbor_graph
        self.n_clusters = n_clusters
        self.clustering = clustering
        self.readout = readout
        self.layer = layer
        self.view_sizes = view_sizes
        self.normalize = normalize
        self.max_iter = max_iter
        self.tol = tol
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
        self._check_layer(1)
        views = self._read(X, observed)
        if y is not None and self.alpha > 0:
            warn_uninformative(read_labels(y, len(views.observed)), stacklevel=3)
        with threads.own_threads(), hooks(self, self.max_iter, views.arrays if has_dask(X) else X, y) as hook:
            shared = self._shared_codes(views)
            self._warn_constant_views(shared, views)
            self._keep(shared, *self._solve(shared, views, y, self._monitor(shared, hook)))
        self._warn_unconverged()
        return self

    @property
    def _centred(self) -> bool:
        return self.normalize

    @property
    def _cluster_graph(self) -> str | Graph:
        return self.neighbor_graph

    def _width(self, views: Stacked) -> int:
        """Return the number of codes that are solved for: of a centred view one less than there are."""
        n, p = views.shape
        if self.n_components is None:
            return max(1, min(max(30, 2 * (self.n_clusters or 1)), n - 1, p))
        if self._centred and self.n_components < 2:
            raise ValueError(
                "around a mean k codes hold k - 1 directions: n_components must be 2 or more, or normalize=False; got "
                f"{self.n_components!r}."
            )
        return int(self.n_components) - int(self._centred)

    def _solve(self, whole: SharedCodes, views: Views, y, monitor: Monitor) -> tuple[Solution, list[list[Layer]]]:
        """Return the codes and components of all views, and the one layer of each."""
        rng, k = check_random_state(self.random_state), self._width(whole.views)
        weights = given_weights(self.weights, len(views.names))
        if weights is None:
            graph = named_graph(self.neighbor_graph, self.n_clusters, views.observed)
            weights = agreement_weights(whole.compact.parts, views.observed, graph, rng)
        operator = classes_graph(y, self.alpha, len(views.observed))
        penalties = [] if operator is None else [smooth_codes(operator.on(whole.views.workers), 1.0)]
        shared = replace(whole, views=whole.compact, penalties=penalties)

        def finish(solution: Solution) -> tuple[Solution, list[list[Layer]]]:
            factors = {"H": solution.factors["H"], "weights": weights, "powers": weights}
            found = all_views(replace(whole, penalties=penalties), replace(solution, factors=factors))
            H, Z = found.factors["H"], found.factors["Z"]
            bases = [np.ascontiguousarray(Z[s].T) for s in whole.views.slices]
            return found, [[Layer(basis, basis, H)] for basis in bases]

        return finish(shared.solve(weights, shared.start(weights, k, rng), reporting(monitor, finish)))

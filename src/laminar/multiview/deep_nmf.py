"""Deep matrix factorisation of several views with shared codes."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.coding import Layer
from .._base.output import OUTPUT
from .._base.parameters import refuse_unused
from .._engine.monitor import Monitor, Solution
from .._utils import threads
from .._utils.callbacks import Hook, hooks, with_callbacks
from .._utils.typing import ViewData
from .._utils.views import Views
from .._utils.workers.views import has_dask
from ..graphs import KNN, Graph, GraphOperator
from . import fine_tuning, published
from .consensus import SharedCodes
from .graphs import graphs_of_views, view_graph
from .layers import Pretraining, view_layer_sizes
from .view_layers import LayeredViews
from .weights import check_gamma, given_weights, warn_one_view

Fitted = tuple[Solution, list[list[Layer]], list[list[np.ndarray]]]
"""The shared factors, the layers of every view, and the histories of their pre-training."""

DEFAULTS = {  # of parameters left at None or "auto"
    "fast": {"alpha": 0.01, "gamma": 2.0, "scale": "invariant", "pretraining_max_iter": 20},
    "published": {"alpha": 0.01, "gamma": 0.5, "scale": "none", "pretraining_max_iter": 150},
}


class MultiViewDeepNMF(LayeredViews):
    """DMF-MVC: deep matrix factorisation of several views, X_v ~ H Z_m^(v) ... Z_1^(v) with shared codes H >= 0.

    Minimises over H >= 0 (n_samples, k), the codes of all views, weights Z_i^(v) of any sign with the product Psi_v
    (k, n_features_v), the components of view v (scikit-learn's NMF calls codes and components W and H), and a on the
    simplex, eq. 3 of [1]_ in a form that has a minimum::

        1/2 sum_v a_v^gamma (||F_v - H Psi_v||^2 + alpha sum_a s_va h_a^T L_v h_a + 0.2 ||F_v||^2)                  (1)

    where F_v is view v with samples of unit norm, h_a column a of H, psi_va row a of Psi_v, ``s_va = ||psi_va||^2`` and
    L_v the Laplacian of the graph of the samples in view v. The paper's penalty has s_va = 1, as ``scale="none"``; with
    it H can shrink and Psi_v grow at no change of the fit. The last addend is a constant for given a: without it a view
    of few features, which k codes fit without error, would take all the weight. With fixed ``weights`` w_v it is::

        1/2 sum_v w_v (||F_v - H Psi_v||^2 + alpha sum_a s_va h_a^T L_v h_a)                                        (2)

    Parameters
    ----------
    layers : sequence of int, int or None, default=None
        Size of each layer of a view, from the input up; the last is k, the number of shared codes. None means (100,
        50), the sizes of the paper, or less: the first at most the number of samples and the largest number of features
        of a view, the last half of it, or ``n_clusters`` if that is more.
    graph : {"knn", "rank", "chain"}, Graph, matrix, list, dict or None, default="knn"
        Graph of the samples of each view, over which codes are smooth: "knn" links the ``n_neighbors`` nearest ones
        with weight 1, "rank" nearest neighbours with weight one over the rank, "chain" consecutive samples; a matrix
        holds the weights. A list or a dict has one of these for each view. None is no penalty.
    n_neighbors : int, default=5
        Neighbours of "knn", and of the graph of the codes for spectral clusters; at most the number of samples less 1.
    alpha : float or None, default=None
        Weight of the graphs, the paper's beta. None means 0.01, as in the paper.
    scale : {"auto", "invariant", "none"}, default="auto"
        Whether s_va is ``||psi_va||^2`` or 1; "auto" as in the table below.
    weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        Weights of the views: "auto" finds a with (1). Numbers are divided by their sum.
    gamma : float or None, default=None
        Exponent of the weights "auto", above 1. The larger it is the less the weights differ; with 2 or more no a_v is
        above 6 times another. ``rule="published"`` takes any gamma but 1. None as in the table below.
    n_clusters : int or None, default=None
        Number of clusters of ``labels_``, `predict` and `fit_predict`; None means the number of codes.
    clustering : {"spectral", "kmeans"}, default="spectral"
        Spectral clustering of the graph of the ``n_neighbors`` nearest neighbours of the codes, as in [1]_, or k-means
        of the codes.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform`; the
        whitened one of the shared codes is that of ``embedding_``. "auto" is "raw", as in [1]_.
    layer : int or "all", default=-1
        Layer that `transform`, `fit_transform`, `cluster`, `predict` and `fit_predict` use. The last is the one that
        all views share; of a lower one the codes of all views are side by side. "all" is the lower layers of every
        view, then the shared one.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where X is one array with the views side by side. None means that one array is
        one view.
    normalize : bool, default=True
        Whether samples are brought to unit norm. If not, F_v is the view as it comes, and a_v^gamma is multiplied by
        the mean of all ``||F_u||^2`` over ``||F_v||^2``, so that weights do not depend on the units of the views.
    pretraining : {"semi-nmf", None}, default="semi-nmf"
        How the layers of a view are initialised: each by Semi-NMF of the codes below it, or by random codes.
    pretraining_max_iter : int or None, default=None
        Maximum number of iterations of pre-training of each layer. None as in the table below.
    max_iter : int, default=150
        Maximum number of iterations of fine-tuning. One iteration updates H and all Psi_v once.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value, the KKT residual is at most ``sqrt(tol)``, and the weights have changed by at most ``tol``.
        ``rule="published"`` makes all its iterations and has converged if the last two changed the objective by at most
        ``tol`` of it.
    rule : {"fast", "published"}, default="fast"
        "published" is Algorithm 1 of [1]_; every sample is in every view. What is left at None or "auto" follows it:

        ====================  ===========  ===========
        parameter             "fast"       "published"
        ====================  ===========  ===========
        alpha                 0.01         0.01
        scale                 "invariant"  "none"
        gamma                 2            0.5
        pretraining_max_iter  20           150
        ====================  ===========  ===========
    consensus : {"summed", "printed"}, default="summed"
        The update of H with ``rule="published"``: (7), or eq. 7 of [1]_ as printed, which may increase the objective.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisers, of the choice of samples where there are many, and of k-means.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    weights_ : ndarray of shape (n_views,)
        Weights of the views, with sum one: a_v, or w_v.
    views_ : dict of View
        By name or position: ``weight``, that is ``a_v^gamma`` or w_v; ``layers`` from the input up, of which the last
        has the shared codes and Psi_v; ``mean`` (zero) and ``size`` (one); ``length``, what reconstructions are
        multiplied by in `inverse_transform`.
    components_ : ndarray of shape (k, n_features of all views)
        All Psi_v side by side: a sample of unit norm is near ``H @ components_``.
    mean_ : ndarray of shape (n_features of all views,)
        Zeros.
    layers_ : list of Layer
        The shared layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, k), the codes of the training samples.
    embedding_ : ndarray of shape (n_samples, n_directions)
        The left singular vectors of H Psi whose singular values exceed those of noise, Psi being all Psi_v side by
        side, times the roots of their weights; rows of unit norm. They do not depend on the basis of the codes.
    clusters_ : Clusters
        Clusters of the codes, by ``clustering`` and ``readout``; fitted on first use.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample, computed on first use.
    pretraining_histories_ : dict of list of ndarray
        By view, layer by layer: half the squared error after each accepted iteration of pre-training; of the shared
        layer with ``rule="published"`` alone.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1) or (2), or (6) for ``rule="published"``, after each accepted iteration, with the weights of
        that iteration.
    history_iterations_ : ndarray of shape (n_accepted,)
        The iteration of each entry of ``objective_history_``.
    n_iter_ : int
        Number of iterations made, without pre-training.
    converged_ : bool
        Whether the fit met ``tol`` within ``max_iter`` iterations.
    kkt_residual_ : float or None
        KKT residual at the beginning of the last sweep: 0 at a stationary point, and without scale. None for
        ``rule="published"``.
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
    MultiViewSemiNMF : One layer, weights by agreement, labels, samples that lack views.
    MultiNMF : Non-negative views, each with codes of its own.
    DeepSemiNMF : One view.
    laminar.baselines : Methods that multi-view papers compare with.

    Notes
    -----
    **Algorithm.** *Pre-training*: the hidden layers of each view are Semi-NMF, each of the codes below it in the
    distances of the view. The codes of the last ones, side by side, give the initial H. *Fine-tuning*: with w_v the
    weight of view v, B = sum_v w_v F_v Psi_v^T, G = sum_v w_v Psi_v Psi_v^T, ``c_va = w_v s_va``,
    ``q_va = alpha h_a^T L_v h_a``, and r_v with L_v <= diag(r_v), in general twice the degrees, one iteration is::

        h_a   <- max(0, h_a - (H g_a - b_a + alpha sum_v c_va L_v h_a) / (G_aa + alpha sum_v c_va max_u r_u))      (3)
        Psi_v <- (H^T H + diag(q_v))^-1 H^T F_v                                                                     (4)

    with an extrapolation after [2]_, and after every five iterations eq. 15 of [1]_ on what is left of a view::

        a_v <- R_v^(1/(1-gamma)) / sum_u R_u^(1/(1-gamma)),   R_v the bracket of (1)                                (5)

    None of these increases (1). Of linear layers only the product enters (1): in the end the hidden layers of a view
    are changed as little as Psi_v requires, and their codes are the best ones on them.

    ``rule="published"`` pre-trains all layers of each view from random codes, starts with the codes of the view that
    has the smallest relative residual, and decreases::

        1/2 sum_v a_v^gamma R_v,   R_v = ||F_v - H Psi_v||^2 + alpha Tr(H^T L_v H)                                  (6)

    half of eq. 3 of [1]_. In each iteration the weights of view v follow eq. 4, its hidden codes eq. 5, and with B_v =
    F_v Psi_v^T, G_v = Psi_v Psi_v^T, ``w_v = a_v^gamma``, d_v the degrees and W_v the weights of its graph::

        H <- H * (sum_v w_v (B_v^+ + H G_v^- + alpha W_v H) / sum_v w_v (B_v^- + H G_v^+ + alpha d_v * H))^(1/2)    (7)

    then eq. 15. (7) is eq. 7 of [1]_ summed over the views with their weights, as in the authors' code. As printed,
    ``consensus="printed"``, eq. 7 is applied view after view without weights, and splits (H G_v)^+ and (H G_v)^-. For
    gamma below 1, as the paper's 0.5, eq. 15 *maximises* (6) over a (docs/methods.md 8.1).

    The default of alpha is the paper's (docs/multiview.md has others). The search for neighbours is quadratic in the
    samples; at most 10000 are clustered, drawn at random, and the others join the cluster of the nearest one.

    References
    ----------
    .. [1] H. Zhao, Z. Ding and Y. Fu, Multi-view clustering via deep matrix factorization, AAAI Conference on
       Artificial Intelligence, 2017.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> from laminar import MultiViewDeepNMF
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(90, n_classes=3, random_state=0)
    >>> model = MultiViewDeepNMF((20, 8), n_clusters=3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.y, model.labels_)
    1.0
    >>> model.transform(data.views).shape, model.transform(data.views, layer=0, view=1).shape
    ((90, 8), (90, 20))
    """

    _parameter_constraints: dict = {
        "layers": ["array-like", Integral, None],
        "graph": [StrOptions({"knn", "rank", "chain"}), Graph, "sparse matrix", np.ndarray, list, dict, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "scale": [StrOptions({"auto", "invariant", "none"})],
        "weights": [StrOptions({"auto", "equal"}), "array-like"],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "clustering": [StrOptions({"spectral", "kmeans"})],
        **OUTPUT,
        "view_sizes": ["array-like", None],
        "normalize": ["boolean"],
        "pretraining": [StrOptions({"semi-nmf"}), None],
        "pretraining_max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions({"fast", "published"})],
        "consensus": [StrOptions({"summed", "printed"})],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        layers=None,
        *,
        graph="knn",
        n_neighbors=5,
        alpha=None,
        scale="auto",
        weights="auto",
        gamma=None,
        n_clusters=None,
        clustering="spectral",
        readout="auto",
        layer=-1,
        view_sizes=None,
        normalize=True,
        pretraining="semi-nmf",
        pretraining_max_iter=None,
        max_iter=150,
        tol=1e-4,
        rule="fast",
        consensus="summed",
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.layers = layers
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.scale = scale
        self.weights = weights
        self.gamma = gamma
        self.n_clusters = n_clusters
        self.clustering = clustering
        self.readout = readout
        self.layer = layer
        self.view_sizes = view_sizes
        self.normalize = normalize
        self.pretraining = pretraining
        self.pretraining_max_iter = pretraining_max_iter
        self.max_iter = max_iter
        self.tol = tol
        self.rule = rule
        self.consensus = consensus
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    _cluster_form = "raw"

    @with_callbacks
    def fit(self, X: ViewData, y: ArrayLike | None = None) -> Self:
        """Fit the layers of every view and the shared codes.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix} of shape (n_samples, n_features_v), or one such array
            The views, every sample in every view. One array is one view, or several side by side when ``view_sizes``
            gives their numbers of features.
        y : Ignored
            Not used, present for API consistency; `MultiViewSemiNMF` has labels.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_combination()
        views = self._read(X)
        if not views.observed.all():
            raise ValueError(
                f"{int((~views.observed.all(axis=1)).sum())} samples lack a view, and MultiViewDeepNMF is fitted to "
                "samples that have all of them: use MultiViewSemiNMF."
            )
        with threads.own_threads(), hooks(self, self.max_iter, views.arrays if has_dask(X) else X, y) as hook:
            rng, shared = check_random_state(self.random_state), self._shared_codes(views)
            self._warn_constant_views(shared, views)
            sizes = view_layer_sizes(self.layers, shared.views, self.n_clusters)
            self._check_layer(len(sizes))
            graphs = self._graphs(shared, views)
            fit = self._publish if self.rule == "published" else self._fine_tune
            solution, layers, histories = fit(
                shared, sizes, graphs, rng, self._pretraining(hook), self._monitor(shared, hook)
            )
            self.pretraining_histories_ = dict(zip(self.view_names_, histories, strict=True))
            self._keep(shared, solution, layers)
        if self._follows_residuals:
            warn_one_view(self.weights_, self.view_names_)
        self._warn_unconverged()
        return self

    # ---- parameters ----------------------------------------------------------------------------------------------

    def _resolved(self, name: str):
        """Return a parameter, by the rule where it is None or "auto"."""
        value = getattr(self, name)
        return DEFAULTS[self.rule][name] if value is None or value == "auto" else value

    @property
    def _cluster_graph(self) -> Graph:
        return KNN(max(1, min(self.n_neighbors, len(self.layers_[-1].representation) - 1)))

    @property
    def _follows_residuals(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "auto"

    def _check_combination(self) -> None:
        """Refuse combinations of parameters in which one has no meaning."""
        if self.rule == "published":
            if not self._follows_residuals:
                raise ValueError('rule="published" finds its weights by eq. 15: use weights="auto", or rule="fast".')
            if self.scale == "invariant":
                raise ValueError('rule="published" has the printed penalty: use scale="none", or rule="fast".')
        elif self.consensus == "printed":
            raise ValueError('consensus="printed" is eq. 7 of the paper: use it with rule="published".')
        if self.graph is None and self.alpha:
            raise ValueError(f"alpha={self.alpha} has no effect without a graph: use graph='knn', or alpha=None.")
        if self.pretraining is None:
            refuse_unused(self, ["pretraining_max_iter"], "there is no pre-training")
        if not self._follows_residuals and self.gamma is not None:
            raise ValueError(f'gamma={self.gamma} is the exponent of weights="auto": leave it at None.')
        if self.consensus == "printed":
            warnings.warn(
                'consensus="printed" is eq. 7 view after view, without the weights: the objective may increase.',
                UserWarning,
                stacklevel=4,
            )
        check_gamma(self._resolved("gamma"), self.rule)

    def _graphs(self, shared: SharedCodes, views: Views) -> list[GraphOperator] | None:
        """Return the graph of every view; None where there is no penalty."""
        specs = graphs_of_views(self.graph, views.names, self.n_neighbors, shared.views.shape[0])
        if specs is None or self._resolved("alpha") == 0:
            return None
        triples = zip(shared.compact.parts, views.arrays, specs, strict=True)
        return [view_graph(*triple) for triple in triples]

    def _pretraining(self, hook: Hook) -> Pretraining:
        chosen = self.pretraining is not None
        return Pretraining(self._resolved("pretraining_max_iter") if chosen else 0, hook, chosen)

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _fine_tune(self, shared: SharedCodes, sizes, graphs, rng, pretraining: Pretraining, monitor: Monitor) -> Fitted:
        return fine_tuning.run(
            shared,
            sizes,
            graphs,
            rng,
            alpha=self._resolved("alpha"),
            invariant=self._resolved("scale") == "invariant",
            weights=given_weights(self.weights, len(shared.views.parts)),
            gamma=self._resolved("gamma"),
            pretraining=pretraining,
            monitor=monitor,
        )

    def _publish(self, shared: SharedCodes, sizes, graphs, rng, pretraining: Pretraining, monitor: Monitor) -> Fitted:
        return published.run(
            shared,
            sizes,
            graphs or [None] * len(shared.views.parts),
            rng,
            gamma=self._resolved("gamma"),
            alpha=self._resolved("alpha"),
            printed=self.consensus == "printed",
            pretraining=pretraining,
            monitor=monitor,
        )

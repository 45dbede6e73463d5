"""Weakly supervised Semi-NMF: codes that are smooth over graphs of labels."""

from __future__ import annotations

from numbers import Real
from typing import cast

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.factorizer import Factorization
from .._base.parameters import refuse_unused
from .._base.penalized import Penalized
from .._base.ridged import Ridged
from .._base.rules import Published, Rule
from .._engine.constraints import Free, NonNegative
from .._engine.data.wrap import wrap
from .._engine.updates import hals_or_exact
from .._utils.labels import read_alphas, read_labels, warn_uninformative
from ..graphs import Graph, GraphOperator, Labels, as_graph, with_labels


class WSF(Ridged, Penalized):
    """Weakly supervised Semi-NMF (WSF; with several attributes WSF-MA): codes smooth over label graphs.

    Minimises over H >= 0 (n_samples, k), the codes, and Z (k, n_features) of any sign, the components (scikit-learn
    calls them W and H)::

        1/2 ||X - H Z||^2 + rho/2 sum_a ||h_a||^2 ||z_a||^2 + 1/2 sum_j alpha_j sum_a ||z_a||^2 h_a^T L_j h_a       (1)

    with h_a column a of H, z_a row a of Z, and L_j the Laplacian of the graph of attribute j, which links samples that
    share a known label ([1]_, eq. 16). The ridge rho is that of `SemiNMF`, 0 on non-negative X. With ``scale="none"``
    the factors ``||z_a||^2`` of the penalty are left out: (1) without the ridge is then half of eq. 20 of [1]_, or of
    eq. 22 for several attributes, and has no minimiser (docs/methods.md 1.5). Samples without a known label are not in
    the penalty; without labels the model is Semi-NMF.

    Parameters
    ----------
    n_components : int, default=10
        Number of components k.
    alpha : float or sequence of float, default=1.0
        Weight of the penalty, one for all attributes or one for each.
    weight : {"binary", "rbf", "dot"}, default="binary"
        Weight of the link between two samples of a class: 1; ``exp(-||x_i - x_j||^2 / (2 sigma^2))``; or the inner
        product of the samples, or 0 where it is negative ([1]_, eq. 16, 17 and 18). The diagonal, which cancels in L_j,
        is zero, as in the authors' code; ``graph=laminar.graphs.Labels(self_loops=True)`` has that of the paper.
    bandwidth : float or None, default=None
        Width sigma of ``weight="rbf"``; None means the median distance inside classes.
    graph : {"labels", "knn", "chain", "rank"}, Graph, sparse matrix or ndarray, default="labels"
        Graph of the samples, if not those of the labels: "knn" links each sample to its five nearest ones; "chain"
        links consecutive samples of a sequence; "rank" links neighbours with weights 1, 1/2, 1/3 and so on; a matrix
        holds the weights, symmetric and non-negative. Graphs can be summed: ``WSF(graph=Labels() + 0.5 * Chain())``
        with those of `laminar.graphs`. ``alpha`` is then one number. With y a graph of nearest neighbours becomes
        :class:`laminar.graphs.LabelledKNN`, also in a sum; other graphs that do not use y refuse it.
    scale : {"auto", "invariant", "none"}, default="auto"
        Whether the penalty has the factors ``||z_a||^2``. "none" leaves them out, as published: smaller codes with
        larger components then decrease the penalty at no cost, the objective has no minimiser, and the result depends
        on the number of iterations. "auto" is "invariant" for ``rule="fast"`` and "none" for ``rule="published"``.
    ridge : "auto" or float, default="auto"
        Weight rho of the ridge, see `SemiNMF`; "auto" is 0 on data where Semi-NMF without labels attains its minimum
        with codes of bounded size, as on non-negative X, and for ``rule="published"``.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of H: HALS, that is coordinate descent over columns; multiplicative updates; or the accelerated projected
        gradient of NeNMF. "auto" is "hals", but "mu" for ``rule="published"``, which excludes "hals" and "apg". Z is
        the least-squares solution in every case.
    init : str, (H, Z) or estimator, default="auto"
        Initial factors: "random", "kmeans", "svd", "lp", "nndsvd", "nndsvda" or "nndsvdar"; arrays of shapes
        (n_samples, n_components) and (n_components, n_features), where Z may be None and is then fitted to H; or a
        fitted estimator with ``components_``, whose codes of X are the initial H. "auto" is "lp", or "kmeans" where
        there is a ridge and no closed form, or "random" for ``rule="published"``. A fitted estimator loses what it
        learned when it is cloned, as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it prevents that.
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1, or 1/2 for ``rule="published"``. Other than None it needs
        ``solver="mu"`` or ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the updates of [1]_, without extrapolation, on the penalty with ``scale="none"``.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means ``n_components``.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform` and
        `cluster`. "auto" returns raw codes and clusters those of 0.75.
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    warm_start : bool, default=False
        Whether a further `fit` starts from the factors of the last one, as after an interruption, not from ``init``.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Z, with rows of unit Euclidean norm.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_components), the codes of the fit, which depend on the penalty; `transform` gives codes that do
        not.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    ridge_ : float
        rho.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1) after each accepted iteration. With ``scale="none"`` or ``rule="published"`` it belongs to the
        factors before the rows of Z are normalised.
    history_iterations_ : ndarray of shape (n_accepted,)
        The iteration of each entry of ``objective_history_``.
    n_iter_ : int
        Number of iterations made.
    converged_ : bool
        Whether the fit met ``tol`` within ``max_iter`` iterations.
    kkt_residual_ : float or None
        KKT residual at the beginning of the last sweep: 0 at a stationary point, without scale; None if not computed.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    SemiNMF : The model without labels.
    GNMF : Non-negative data and components.
    DeepWSF : Several layers, each with its attribute.
    AttributeLayers : One layer for each attribute.

    Notes
    -----
    **Algorithm.** With B = X Z^T, G = Z Z^T, ``s_a = ||z_a||^2``, W = sum_j alpha_j W_j, d = W 1, L = diag(d) - W, q_a
    = h_a^T L h_a and c with L <= diag(c), in general 2 d, one iteration is::

        h_a <- max(0, h_a - (H g_a - b_a + s_a L h_a) / (G_aa + s_a c)),   a = 1..k                                 (2)
        Z   <- (H^T H + diag(q))^-1 H^T X                                                                           (3)

    with the diagonals of G and H^T H times 1 + rho.

    (2) is HALS on a majoriser, (3) exact; neither increases (1). Both steps are followed by an extrapolation
    ``F + beta (F - F_old)`` with an adaptive beta, after [2]_; an iteration that increases the objective is rejected
    and beta is decreased. ``solver="mu"`` and ``solver="apg"`` replace HALS by the multiplicative update, or by an
    accelerated projected gradient, for the same objective. ``rule="published"``: eq. 4 and 5 of [1]_ with the graph, Z
    before H::

        Z <- pinv(H) X,     H <- H * ((B^+ + H G^- + W H) / (B^- + H G^+ + d * H))^(1/2)                            (4)

    with ``A^+ = max(A, 0)`` and ``A^- = max(-A, 0)``. The paper gives the rule for H with a graph in its supplement
    only; (4) is the authors' code, and does not increase (1) with ``scale="none"``.

    The label of a new sample is not known: `transform` minimises the fit alone.

    References
    ----------
    .. [1] G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning
       attribute representations, IEEE TPAMI 39, 2017. doi:10.1109/TPAMI.2016.2554555, arXiv:1509.03248.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import WSF
    >>> X = np.random.default_rng(0).normal(size=(20, 6))
    >>> pose = ["left", "right", None, "left"] * 5
    >>> H = WSF(3, alpha=100.0, random_state=0).fit(X, pose).layers_[0].representation
    >>> bool(np.ptp(H[0::4], axis=0).max() < 0.1 * np.ptp(H[2::4], axis=0).max())
    True
    """

    _streams = True
    _uses_labels = True
    _parameter_constraints: dict = {
        **Ridged._parameter_constraints,
        **Penalized._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "weight": [StrOptions({"binary", "rbf", "dot"})],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
        "graph": [StrOptions({"knn", "labels", "chain", "rank"}), Graph, "sparse matrix", np.ndarray],
    }
    _constraints = {"H": NonNegative(), "Z": Free()}
    _fast = Rule(init="lp", solvers={"auto": hals_or_exact, "hals": hals_or_exact})
    _published = Published(init="random", order=("Z", "H"), eta=0.5)

    def __init__(
        self,
        n_components=10,
        *,
        alpha=1.0,
        weight="binary",
        bandwidth=None,
        graph="labels",
        scale="auto",
        ridge="auto",
        solver="auto",
        init="auto",
        max_iter=500,
        tol=1e-4,
        eta=None,
        rule="fast",
        n_clusters=None,
        readout="auto",
        layer=-1,
        callback=None,
        random_state=None,
        warm_start=False,
        verbose=0,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.weight = weight
        self.bandwidth = bandwidth
        self.graph = graph
        self.scale = scale
        self.ridge = ridge
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.rule = rule
        self.n_clusters = n_clusters
        self.readout = readout
        self.layer = layer
        self.callback = callback
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def _problem(self, X, y, groups) -> Factorization:
        if y is not None:
            warn_uninformative(read_labels(y, X.shape[0]), stacklevel=6, singletons=not self._is_labels)
        data = wrap(X)
        graphs = [(alpha, graph) for alpha, graph in self._graphs(X, y, groups) if graph.degree.any()]
        return self._factorization(data, [term for alpha, graph in graphs for term in self._smooth(graph, alpha, data)])

    def _graphs(self, X, y, groups) -> list[tuple[float, GraphOperator]]:
        """Return the graph of each attribute, or the given one, with its weight."""
        if not self._is_labels:
            (alpha,) = read_alphas(self.alpha, 1)
            graph = with_labels(cast(Graph, as_graph(self.graph)), y, X.shape[0])
            return [(alpha, graph.build(X, y, groups))]
        if y is None:
            return []
        attributes = read_labels(y, X.shape[0])
        alphas = read_alphas(self.alpha, len(attributes))
        spec = Labels(self.weight, bandwidth=self.bandwidth)
        return [(alpha, spec.link(X, a)) for alpha, a in zip(alphas, attributes, strict=True)]

    @property
    def _on_devices(self) -> bool:  # type: ignore[override]
        """Whether X may be on a device: other graphs compare samples, or are sparse matrices."""
        return self._is_labels and self.weight == "binary"

    @property
    def _is_labels(self) -> bool:
        return isinstance(self.graph, str) and self.graph == "labels"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self._is_labels:
            refuse_unused(self, ["weight"], 'it is that of graph="labels"; in a sum use laminar.graphs.Labels(weight)')
        if self.weight != "rbf":
            refuse_unused(self, ["bandwidth"], 'it is the width of weight="rbf"')

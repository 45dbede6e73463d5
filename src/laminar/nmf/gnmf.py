"""Graph-regularised NMF: codes that are smooth over a graph of neighbours, labels, time, or sums of them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import cast

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.factorizer import Factorization, NonNegativeData
from .._base.parameters import refuse_unused
from .._base.penalized import Penalized
from .._base.rules import Published
from .._engine.constraints import Constraint
from .._engine.data.matrix import collect
from .._engine.data.wrap import wrap
from .._engine.objective import Objective
from .._engine.problem import Factors
from .._engine.terms import KL, Constant, Majoriser, SplitRows, Term
from .._engine.updates import Update
from .._utils import threads
from .._utils.labels import read_labels, warn_uninformative
from ..graphs import KNN, Graph, GraphOperator, as_graph, with_labels


class GNMF(NonNegativeData, Penalized):
    """Graph-regularised NMF (GNMF): codes that are smooth over a graph; with labels, semi-supervised GNMF (sGNMF).

    Minimises over H >= 0 (n_samples, k), the codes, and Z >= 0 (k, n_features), the components (scikit-learn calls them
    W and H)::

        1/2 ||X - H Z||^2 + alpha/2 sum_a ||z_a||^2 h_a^T L h_a                                                     (1)

    with h_a column a of H, z_a row a of Z, and ``L = diag(W 1) - W`` the Laplacian of a graph with weights W, so that
    ``h^T L h = 1/2 sum_ij W_ij (h_i - h_j)^2``. With ``scale="none"`` the factors ``||z_a||^2`` are left out: (1) is
    then half the objective O_1 of [1]_, and has no minimiser (docs/methods.md 1.5). With ``loss="kl"`` it is::

        D(X || H Z) + w/2 sum_a h_a^T L h_a,   rows of Z with sum one,   w = alpha n_samples / sum(X)               (2)

    or, with ``scale="none"``, with w = alpha and rows of Z of any sum.

    Parameters
    ----------
    n_components : int, default=10
        Number of components k.
    loss : {"frobenius", "kl"}, default="frobenius"
        Half the squared error, or the generalised Kullback-Leibler divergence (counts, spectra, text).
    graph : {"knn", "labels", "chain", "rank"}, Graph, sparse matrix or ndarray, default="knn"
        The graph W: "knn" links each sample to its ``n_neighbors`` nearest ones (weight 1, either direction); "labels"
        links samples that share a known label of y; "chain" links consecutive samples of a sequence; "rank" links
        neighbours with weights 1, 1/2, 1/3 and so on; a matrix holds the weights, symmetric and non-negative. Graphs
        can be summed: ``laminar.graphs.KNN(5) + 0.5 * laminar.graphs.Chain()``. With y a graph of nearest neighbours,
        of any weights, also in a sum, is that of semi-supervised GNMF, :class:`laminar.graphs.LabelledKNN`: two samples
        of known class are linked if and only if the classes are equal. Other graphs that do not use y refuse it.
    n_neighbors : int, default=5
        Neighbours of each sample in the graph "knn".
    alpha : float, default=0.1
        Weight of the penalty; with 0 the model is NMF.
    scale : {"auto", "invariant", "none"}, default="auto"
        Whether the penalty has the factors ``||z_a||^2``. "none" leaves them out, as published: smaller codes with
        larger components then decrease the penalty at no cost, the objective has no minimiser, and the result depends
        on the number of iterations. "auto" is "invariant" for ``rule="fast"`` and "none" for ``rule="published"``.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of the non-negative factors: HALS, that is coordinate descent over columns; multiplicative updates; or
        the accelerated projected gradient of NeNMF. "auto" is "hals", but "mu" for ``loss="kl"`` and for
        ``rule="published"``, which exclude "hals" and "apg".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z) or estimator, default="auto"
        Initial factors: the name of an initialiser; arrays of shapes (n_samples, n_components) and (n_components,
        n_features), where Z may be None and is then fitted to H; or a fitted estimator with ``components_``, whose
        codes of X are the initial H. "auto" is "nndsvda". A fitted estimator loses what it learned when it is cloned,
        as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it prevents that.
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1. Other than None it needs ``solver="mu"``, ``loss="kl"`` or
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the multiplicative updates of [1]_, without extrapolation, on the penalty with
        ``scale="none"``, from components of unit norm.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means ``n_components``.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform` and
        `cluster`. "auto" returns raw codes and clusters those of 0.75.
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
        With ``loss="kl"`` the objective is the last one that was evaluated.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    warm_start : bool, default=False
        Whether a further `fit` starts from the factors of the last one, as after an interruption, not from ``init``.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Z, with rows of unit Euclidean norm, or unit sum with ``loss="kl"``.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_components), the codes of the fit, which depend on the penalty; `transform` gives codes that do
        not.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual; with ``loss="kl"`` the divergence.
    objective_history_ : ndarray of shape (n_evaluations,)
        The objective (1), or (2), after each accepted iteration; with ``loss="kl"``, where evaluating it costs as much
        as an iteration, after the first, every tenth and the last; published
        rules evaluate every iteration. With ``scale="none"`` or ``rule="published"`` it
        belongs to the factors before the rows of Z are normalised.
    history_iterations_ : ndarray of shape (n_evaluations,)
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
    WSF : Data and components of any sign.
    SlowFeatureNMF : The graph is time.
    laminar.graphs : Graphs to choose from.

    Notes
    -----
    **Algorithm.** With B = X Z^T, G = Z Z^T, ``s_a = ||z_a||^2``, d = W 1, q_a = h_a^T L h_a and c with L <= diag(c),
    in general 2 d, one iteration is HALS on a majoriser of (1)::

        h_a <- max(0, h_a - (H g_a - b_a + alpha s_a L h_a) / (G_aa + alpha s_a c)),   a = 1..k                     (3)
        z_a <- max(0, z_a - (G'_a Z - h_a^T X) / G'_aa),   G' = H^T H + alpha diag(q)                               (4)

    Both steps are followed by an extrapolation ``F + beta (F - F_old)`` with an adaptive beta, after [2]_; an iteration
    that increases the objective is rejected and beta is decreased. ``solver="mu"`` and ``solver="apg"`` replace HALS by
    the multiplicative update, or by an accelerated projected gradient, for the same objective. With ``loss="kl"``, R =
    X / (H Z), r = H * (R Z^T), u = w c and b = 1 - u * H + w L H::

        H <- 2 r / (b + sqrt(b^2 + 4 u r)),   Z <- Z * (H^T R), its rows divided by their sums                      (5)

    which is the minimiser of a majoriser of (2) (docs/methods.md 4.8). ``rule="published"`` are the multiplicative
    rules of [1]_ for its objective O_1::

        H <- H * (X Z^T + alpha W H) / (H Z Z^T + alpha d * H),   Z <- Z * (H^T X) / (H^T H Z)                      (6)

    and with ``loss="kl"`` those for its objective O_2, which is ``D(X || H Z) + alpha sum_a h_a^T L log h_a``: Z as in
    NMF, and every column of H by the linear system::

        h_a <- (s_a I + alpha L)^-1 (h_a * (R Z^T)_a),   s_a = sum_j z_aj                                           (7)

    (3), (4), (5) and (6) do not increase the objective; (7) may, by little.

    New samples have no place in the graph: `transform` minimises the fit alone.

    References
    ----------
    .. [1] D. Cai, X. He, J. Han and T. Huang, Graph regularized nonnegative matrix factorization for data
       representation, IEEE TPAMI 33, 2011. doi:10.1109/TPAMI.2010.231.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import GNMF
    >>> X = np.random.default_rng(0).gamma(1.0, size=(20, 6))
    >>> smooth, plain = (GNMF(3, alpha=alpha, n_neighbors=3).fit(X) for alpha in (10.0, 0.0))
    >>> bool(smooth.reconstruction_err_ > plain.reconstruction_err_)
    True
    """

    _uses_labels = True
    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "loss": [StrOptions({"frobenius", "kl"})],
        "graph": [StrOptions({"knn", "labels", "chain", "rank"}), Graph, "sparse matrix", np.ndarray],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }
    _published = Published(unit_components=True)

    def __init__(
        self,
        n_components=10,
        *,
        loss="frobenius",
        graph="knn",
        n_neighbors=5,
        alpha=0.1,
        scale="auto",
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
        self.loss = loss
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.scale = scale
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
        data, operator = wrap(X), self._operator(X, y, groups)
        if operator is None:
            return self._factorization(data, [])
        if self.rule == "published" and self.loss == "kl" and operator.degree.any():
            return self._factorization(data, [EntropicPenalty(operator, self._weight(self.alpha, data)).addend])
        return self._factorization(data, self._smooth(operator, self.alpha, data))

    def _operator(self, X, y, groups) -> GraphOperator | None:
        """Return the graph of the samples; None with alpha = 0."""
        if self.alpha == 0:
            return None
        if y is not None:
            warn_uninformative(read_labels(y, X.shape[0]), stacklevel=7, singletons=True)
        graph = KNN(self.n_neighbors) if self._is_knn else cast(Graph, as_graph(self.graph))
        return with_labels(graph, y, X.shape[0]).build(X, y, groups)

    @property
    def _is_knn(self) -> bool:
        return isinstance(self.graph, str) and self.graph == "knn"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self._is_knn:
            refuse_unused(
                self, ["n_neighbors"], 'it is that of graph="knn"; in a sum use laminar.graphs.KNN(n_neighbors)'
            )

    def _updates(self, problem: Factorization) -> dict[str, Update]:
        updates = super()._updates(problem)
        if self.rule == "published" and self.loss == "kl" and problem.penalised:
            updates["H"] = diffusion
        return updates


@dataclass(frozen=True)
class EntropicPenalty:
    """``weight sum_a h_a^T L log h_a``, the penalty of Cai et al. with a divergence; `diffusion` is their update.

    Their update is stationary where ``weight (d - (W H) / H)`` balances the gradient of the divergence, which is not
    quite the gradient of the value: `majoriser` has that slope and is no bound.
    """

    operator: GraphOperator
    weight: float

    exact = False

    def addend(self, name: str, F: Factors) -> Term:
        """Return the penalty as a function of a factor."""
        return self if name == "H" else Constant(self.value(F["H"]))

    def value(self, H: np.ndarray) -> float:
        """Return the penalty at H."""
        logs = np.log(np.maximum(H, np.finfo(H.dtype).tiny), dtype=np.float64)
        return self.weight * float(np.vdot(logs, self.operator.laplacian(H.astype(np.float64))))

    def majoriser(self, H: np.ndarray) -> Majoriser:
        """Return the slope in which the update is stationary."""
        split = self.split_gradient(H)

        def B(b: slice) -> np.ndarray:
            plus, minus = split(b)
            return np.asarray(minus - plus)

        return Majoriser(B)

    def split_gradient(self, H: np.ndarray) -> SplitRows:
        """``weight d`` and ``weight (W H) / H``."""
        neighbours, tiny = self.operator.rows(H).minus, np.finfo(H.dtype).tiny
        degree, weight = self.operator.degree.astype(H.dtype), H.dtype.type(self.weight)
        return lambda b: (weight * degree[b, None], weight * (neighbours(b) / np.maximum(H[b], tiny)))


def diffusion(H: np.ndarray, objective: Objective, constraint: Constraint) -> np.ndarray:
    """Cai et al.'s update for a divergence over a graph: Lee and Seung's, diffused over the edges.

    Column a solves ``(s_a I + weight L) h = h_a * ratio_a`` by conjugate gradients, the solution is non-negative; no
    n x n matrix is formed.
    """
    fit, penalty = cast(KL, objective.fit), cast(EntropicPenalty, objective.terms[1])
    operator, weight, sums = penalty.operator, penalty.weight, fit.sums.astype(np.float64)
    split = fit.split_gradient(H)
    (blocks,) = fit.groups
    mass = collect(lambda b: H[b] * split(b)[1], blocks, H.shape, np.float64)

    def component(a: int) -> np.ndarray:
        diagonal = np.maximum(sums[a] + weight * operator.degree, np.finfo(np.float64).tiny)
        system = LinearOperator(2 * diagonal.shape, lambda h: sums[a] * h + weight * operator.laplacian(h))
        scaled = LinearOperator(2 * diagonal.shape, lambda h: h / diagonal)
        return cg(system, mass[:, a], H[:, a].astype(np.float64), rtol=1e-12, maxiter=1000, M=scaled)[0]

    codes = threads.each(component, range(H.shape[1]))
    return np.maximum(np.stack(codes, axis=1), 0).astype(H.dtype)

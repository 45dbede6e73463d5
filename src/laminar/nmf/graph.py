"""Factorisations whose codes are smooth over a graph of the samples: neighbours, labels, time, or sums of them."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.factorizer import NonNegativeData
from .._base.penalized import Penalized
from .._engine import updates
from .._engine.constraints import Free, NonNegative
from .._engine.data.matrix import Matrix
from .._engine.penalties import Entropic, Penalty, Smooth
from .._engine.problem import Problem
from .._utils.labels import read_alphas, read_labels
from ..graphs import KNN, Graph, GraphOperator, LabelledKNN, Labels, as_graph
from ..graphs.operators import SumOperator

_GRAPH = [StrOptions({"knn", "labels", "chain"}), Graph, "sparse matrix", np.ndarray]
_ALPHA = Interval(Real, 0, None, closed="left")


class GNMF(NonNegativeData, Penalized):
    """NMF with codes that are smooth over a graph of the samples; with labels, semi-supervised GNMF.

    ``||X - H Z||^2 + alpha sum_a ||z_a||^2 h_a^T L h_a``, everything non-negative: samples that the graph links get
    similar codes. The factors ||z_a||^2 keep the penalty from being dodged by small codes and large components.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    loss : {"frobenius", "kl"}, default="frobenius"
        Squared error, or generalised Kullback-Leibler divergence.
    graph : {"knn", "labels", "chain"}, Graph, sparse matrix or ndarray, default="knn"
        Which samples to link. A matrix is symmetric and non-negative; a sum such as
        ``laminar.graphs.KNN(5) + 0.5 * laminar.graphs.Chain()`` is welcome.
    n_neighbors : int, default=5
        Of the graph "knn". Where ``y`` knows the classes of both samples they decide instead.
    alpha : float, default=0.1
        Weight of the penalty; 0 is NMF.
    scale : {"invariant", "none"}, default="invariant"
        "none" is the published penalty, without the factors ||z_a||^2: it has no minimum, and what it does depends on
        when the fit stops.
    solver, init, max_iter, tol, eta, n_clusters, callback, random_state, verbose
        As for :class:`NMF`.
    rule : {"fast", "published"}, default="fast"
        "published" runs the iterations of Cai et al. to the letter, with ``scale="none"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, of unit length (unit sum for the KL loss).
    layers_ : list of Layer
        One layer; ``representation`` holds the codes of the fit, which know the graph.
    reconstruction_err_, objective_history_, n_iter_, converged_
        As for :class:`NMF`; the objective includes the penalty.

    See Also
    --------
    WSF : The same for data of any sign.

    References
    ----------
    D. Cai, X. He, J. Han and T. Huang, Graph regularized nonnegative matrix factorization for data representation,
    IEEE TPAMI 33, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import GNMF
    >>> X = np.random.default_rng(0).gamma(1.0, size=(20, 6))
    >>> smooth, plain = (GNMF(3, alpha=alpha, n_neighbors=3).fit(X) for alpha in (10.0, 0.0))
    >>> bool(smooth.reconstruction_err_ > plain.reconstruction_err_)
    True
    """

    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "loss": [StrOptions({"frobenius", "kl"})],
        "graph": _GRAPH,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [_ALPHA],
    }
    _published_unit = True

    def __init__(
        self,
        n_components=10,
        *,
        loss="frobenius",
        graph="knn",
        n_neighbors=5,
        alpha=0.1,
        scale="invariant",
        solver="auto",
        init="auto",
        max_iter=500,
        tol=1e-5,
        eta=None,
        rule="fast",
        n_clusters=None,
        callback=None,
        random_state=None,
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
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def _penalty(self, X, data: Matrix, y, groups) -> Smooth | Entropic | None:
        if self.alpha == 0:
            return None
        graph = as_graph(self.graph)
        if isinstance(self.graph, str) and self.graph == "knn":
            graph = (KNN if y is None else LabelledKNN)(self.n_neighbors)
        operator = graph.build(X, y, groups)
        if self.rule == "published" and self.loss == "kl" and operator.degree.any():
            return Entropic(operator, self._weight(self.alpha, data))
        return self._smooth(operator, self.alpha, data)

    def _updates(self, problem: Problem) -> dict[str, updates.Update]:
        rules = super()._updates(problem)
        if isinstance(problem.penalty, Entropic):
            rules["H"] = partial(updates.diffuse, penalty=problem.penalty)
        return rules


class WSF(Penalized):
    """Weakly supervised Semi-NMF: samples that share a label get similar codes.

    ``||X - H Z||^2 + sum_j alpha_j sum_a ||z_a||^2 h_a^T L_j h_a``, H non-negative, Z of any sign, one graph of labels
    for each attribute j (with several attributes this is WSF-MA). A sample with no known label is free.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    alpha : float or sequence of float, default=1.0
        Weight of the penalty, one for all attributes or one for each.
    weight : {"binary", "rbf", "dot"}, default="binary"
        How strongly two samples of a class are linked: equally, by their distance, or by their inner product.
    graph : {"labels", "knn", "chain"}, Graph, sparse matrix or ndarray, default="labels"
        Which samples to link, if not those that share a label. A slow-feature Semi-NMF with labels is
        ``WSF(graph=Labels() + 0.5 * Chain())``.
    scale : {"invariant", "none"}, default="invariant"
        "none" is the published penalty, without the factors ||z_a||^2: it has no minimum, and what it does depends on
        when the fit stops.
    solver, init, max_iter, tol, eta, n_clusters, callback, random_state, verbose
        As for :class:`SemiNMF`.
    rule : {"fast", "published"}, default="fast"
        "published" runs the iterations of Trigeorgis et al. to the letter, with ``scale="none"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The basis, of unit length.
    layers_ : list of Layer
        One layer; ``representation`` holds the codes of the fit, which know the labels.
    reconstruction_err_, objective_history_, n_iter_, converged_
        As for :class:`SemiNMF`; the objective includes the penalty.

    See Also
    --------
    GNMF : Non-negative data and components.

    References
    ----------
    G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning attribute
    representations, IEEE TPAMI 39, 2017.

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

    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "alpha": [_ALPHA, "array-like"],
        "weight": [StrOptions({"binary", "rbf", "dot"})],
        "graph": _GRAPH,
    }
    _constraints: dict = {"H": NonNegative(), "Z": Free()}
    _published_eta = 0.5
    _published_components_first = True

    def __init__(
        self,
        n_components=10,
        *,
        alpha=1.0,
        weight="binary",
        graph="labels",
        scale="invariant",
        solver="auto",
        init="auto",
        max_iter=500,
        tol=1e-5,
        eta=None,
        rule="fast",
        n_clusters=None,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.weight = weight
        self.graph = graph
        self.scale = scale
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.rule = rule
        self.n_clusters = n_clusters
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def _auto_init(self, data: Matrix, penalty: Penalty | None) -> str:
        if self.rule == "published":
            return "random"
        # For data of mixed sign the optimum of the fit alone has components that all but cancel, and codes that differ
        # in size and little else: from there no weight brings them to terms with the labels.
        return "svd" if penalty is not None and not data.nonnegative else "lp"

    def _penalty(self, X, data: Matrix, y, groups) -> Smooth | None:
        graphs = [(alpha, graph) for alpha, graph in self._graphs(X, y, groups) if alpha > 0 and graph.degree.any()]
        if len(graphs) > 1:
            graphs = [(1.0, SumOperator(graphs))]
        return self._smooth(graphs[0][1], graphs[0][0], data) if graphs else None

    def _graphs(self, X, y, groups) -> list[tuple[float, GraphOperator]]:
        """The graph of each attribute, or the one asked for, and its weight."""
        if not (isinstance(self.graph, str) and self.graph == "labels"):
            (alpha,) = read_alphas(self.alpha, 1)
            return [(alpha, as_graph(self.graph).build(X, y, groups))]
        if y is None:
            return []
        attributes = read_labels(y, X.shape[0])
        alphas = read_alphas(self.alpha, len(attributes))
        return [(alpha, Labels(self.weight).link(X, a)) for alpha, a in zip(alphas, attributes, strict=True)]

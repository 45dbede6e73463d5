"""Factorisations whose codes are smooth over a graph of the samples: neighbours, labels, time, or sums of them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.factorizer import Factorization, NonNegativeData
from .._base.penalized import Penalized
from .._base.rules import Published, Rule
from .._engine.constraints import Constraint, Free, NonNegative
from .._engine.data.matrix import collect, wrap
from .._engine.objective import Objective
from .._engine.problem import Factors
from .._engine.terms import Constant, Majoriser, SplitRows, Term
from .._engine.updates import Update, hals_or_exact
from .._utils import threads
from .._utils.labels import read_alphas, read_labels
from ..graphs import KNN, Graph, GraphOperator, LabelledKNN, Labels, as_graph

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
    _published = Published(unit_components=True)

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
        self._store(locals())

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
        if isinstance(self.graph, str) and self.graph == "knn":
            return (KNN if y is None else LabelledKNN)(self.n_neighbors).build(X, y, groups)
        return as_graph(self.graph).build(X, y, groups)

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
            return minus - plus

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
    fit, penalty = objective.terms
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
    _constraints = {"H": NonNegative(), "Z": Free()}
    _fast = Rule(init="lp", solvers={"auto": hals_or_exact, "hals": hals_or_exact})
    _published = Published(init="random", order=("Z", "H"), eta=0.5)

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
        self._store(locals())

    def _problem(self, X, y, groups) -> Factorization:
        data = wrap(X)
        graphs = [(alpha, graph) for alpha, graph in self._graphs(X, y, groups) if graph.degree.any()]
        return self._factorization(data, [term for alpha, graph in graphs for term in self._smooth(graph, alpha, data)])

    def _start(self, problem: Factorization, X) -> Factors:
        # For data of mixed sign the optimum of the fit alone has components that almost cancel, and codes that differ
        # in size and little else: from there no weight makes them agree with the labels.
        mixed = problem.penalised and not problem.data.nonnegative
        if mixed and isinstance(self.init, str) and self.init == "auto" and self._rule is self._fast:
            return self._named_start("svd", problem)
        return super()._start(problem, X)

    def _graphs(self, X, y, groups) -> list[tuple[float, GraphOperator]]:
        """Return the graph of each attribute, or the given one, with its weight."""
        if not (isinstance(self.graph, str) and self.graph == "labels"):
            (alpha,) = read_alphas(self.alpha, 1)
            return [(alpha, as_graph(self.graph).build(X, y, groups))]
        if y is None:
            return []
        attributes = read_labels(y, X.shape[0])
        alphas = read_alphas(self.alpha, len(attributes))
        return [(alpha, Labels(self.weight).link(X, a)) for alpha, a in zip(alphas, attributes, strict=True)]

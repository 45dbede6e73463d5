"""Deep WSF: layers of codes, each shaped by the labels of an attribute."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils._param_validation import Interval, StrOptions

from .._engine.data.matrix import Matrix, wrap
from .._engine.linalg.small import unit_rows, whitener
from .._utils import threads
from .._utils.callbacks import hooks, with_callbacks
from .._utils.labels import Attribute, read_alphas, read_labels
from .._utils.typing import Data
from ..graphs import GraphOperator, Labels
from ..graphs.operators import SumOperator
from .linear import Deep, Fit, Graphs
from .nonlinear import ScaleFreePenalty


class DeepWSF(Deep):
    """Deep Semi-NMF with weak labels: samples that share a pose, an expression, an identity get similar codes, on the
    layer of that attribute.

    Parameters
    ----------
    layers : sequence of int, default=(100, 40)
        Size of each layer, from the input up.
    alphas : float or sequence of float, default=0.01
        Weight of the labels, one for all attributes or one for each.
    attribute_layers : {"in order", "auto"} or sequence of int, default="in order"
        The layer of each attribute: the first attribute on the first layer, and so on (the last takes what is left);
        positions; or "auto", which fits without labels, sees on the labelled samples which layer carries which
        attribute, and fits again.
    mode : {"network", "coupled", "paper"}, default="network"
        "network": hidden codes follow from the top ones, so that the labels of every layer shape all of them. One layer
        without an activation is :class:`WSF`.
        "coupled": hidden codes are variables tied to both neighbours. "paper": Algorithm 2 of Trigeorgis et al. to the
        letter, in which labels of hidden layers act in pre-training alone.
    weight : {"binary", "rbf", "dot"}, default="binary"
        How strongly two samples of a class are linked: equally, by their distance, or by their inner product.
    coupling : float, default=1.0
        Weight of the layers above the first in the mode "coupled".
    activation : {None, "stanh", "square", "relu", "softplus", "sigmoid"}, default=None
        What stands between the layers, in the mode "network".
    solver : {"auto", "hals", "mu", "apg", "lbfgs", "adam"}, default="auto"
        Where hidden codes follow from the top ones, that is in the mode "network" with labels and several layers, or
        with an activation: "lbfgs" ("auto"), "apg" or "adam". Elsewhere "hals" ("auto"), "mu" or "apg"; the mode
        "paper" has its own.
    batch_size : int or None, default=None
        With an activation: learn from so many samples at a time, which needs "adam".
    init, max_iter, tol, n_clusters, callback, random_state, verbose
        As for :class:`DeepSemiNMF`.

    Attributes
    ----------
    layers_ : list of Layer
        From the input up, each with ``weights``, ``components`` in the input space and ``representation``.
    attribute_layers_ : dict
        The layer of each attribute, by its name or position.
    components_, reconstruction_err_, objective_history_, n_iter_, converged_
        As for :class:`DeepSemiNMF`; the objective includes the penalties.

    See Also
    --------
    WSF : One layer.
    AttributeLayers : Laminar's own model of attributes.

    References
    ----------
    G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning attribute
    representations, IEEE TPAMI 39, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import DeepWSF
    >>> X = np.random.default_rng(0).normal(size=(40, 12))
    >>> y = [["left", "a"], ["right", "b"], [None, "a"], ["left", None]] * 10
    >>> model = DeepWSF(layers=(6, 3), max_iter=20, tol=0, random_state=0).fit(X, y)
    >>> model.attribute_layers_, [layer.representation.shape for layer in model.layers_]
    ({0: 0, 1: 1}, [(40, 6), (40, 3)])
    """

    _parameter_constraints: dict = {
        **Deep._parameter_constraints,
        "alphas": [Interval(Real, 0, None, closed="left"), "array-like"],
        "attribute_layers": [StrOptions({"in order", "auto"}), "array-like"],
        "mode": [StrOptions({"network", "coupled", "paper"})],
        "weight": [StrOptions({"binary", "rbf", "dot"})],
        "coupling": [Interval(Real, 0, None, closed="neither")],
    }
    del _parameter_constraints["rule"]

    def __init__(
        self,
        layers=(100, 40),
        *,
        alphas=0.01,
        attribute_layers="in order",
        mode="network",
        weight="binary",
        coupling=1.0,
        activation=None,
        solver="auto",
        batch_size=None,
        init="auto",
        max_iter=500,
        tol=1e-5,
        n_clusters=None,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.layers = layers
        self.alphas = alphas
        self.attribute_layers = attribute_layers
        self.mode = mode
        self.weight = weight
        self.coupling = coupling
        self.activation = activation
        self.solver = solver
        self.batch_size = batch_size
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_clusters = n_clusters
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None, init=None) -> Self:
        """Learn the layers of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels, some or all; -1, NaN, None and ``pandas.NA`` are unknown.
        init : fitted model with layers, default=None
            Start from its weights instead of pre-training.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X, y, init)

    def _fit(self, X, y, init):
        self._validate_params()
        self._check_mode()
        X = self._validate(X, reset=True)
        attributes = () if y is None else read_labels(y, X.shape[0])
        alphas = read_alphas(self.alphas, len(attributes), "alphas")
        with threads.own_threads(), hooks(self, max(self.max_iter, 1), X, y) as hook:
            data = wrap(X)
            self._unit(data)  # X out of range is refused before anything is done with it
            graphs = self._graphs(X, attributes, alphas)
            self._check_solver(*self._kind(graphs))
            where = self._assign(X, data, attributes, init)
            self._run(X, data, self._penalties(graphs, where), init, hook)
        names = [j if a.name is None else a.name for j, a in enumerate(attributes)]
        self.attribute_layers_ = dict(zip(names, where, strict=True))
        self._warn()
        return self

    def _check_mode(self) -> None:
        if self.activation is not None and self.mode != "network":
            raise ValueError(f'activation="{self.activation}" needs mode="network", got "{self.mode}".')
        if self.batch_size is not None and self.activation is None:
            raise ValueError("batch_size needs an activation here: labels tie the samples of a linear stack together.")

    def _kind(self, graphs: Graphs) -> tuple[bool, str]:
        """Whether hidden codes follow from the top ones, and what to call such a fit."""
        if self.activation is not None:
            return True, f"activation={self.activation!r}"
        if self.mode != "network":
            return False, f'mode="{self.mode}"'
        if any(graphs) and len(self._sizes) > 1:
            return True, 'mode="network" with labels'
        return False, 'mode="network" without labels or with one layer'

    def _run(self, X, data: Matrix, graphs, init, hook) -> None:
        """Fit with a penalty (or None) on each layer."""
        self._stack = None
        if self._kind(graphs)[0]:
            penalties = [g and ScaleFreePenalty(*g) for g in graphs]
            fit = self._train_stack(X, data, init, self.activation or "identity", penalties, hook)
            if self.activation is None:
                # Without an activation this is a stack as any other: its codes are exact.
                first, *hidden = fit.stack.weights
                weights = [first / data.dtype.type(data.scale), *hidden]
                self._keep(data, Fit(fit.stack.forward(fit.H), weights, [], fit.n_iter, fit.converged))
                self.objective_history_ = fit.history
            else:
                self._keep_fit(X, fit)
        elif self.mode == "paper":
            self._keep(data, self._publish(X, data, graphs, hook))
        elif self.mode == "coupled" or any(graphs):
            self._keep(data, self._couple(data, *self._begin(data, init), graphs, hook))
        else:
            self._keep(data, self._fine_tune(data, *self._begin(data, init), hook))

    # ---- which labels shape which layer --------------------------------------------------------------------------

    def _assign(self, X, data: Matrix, attributes: Sequence[Attribute], init) -> list[int]:
        """The layer of each attribute."""
        depth, n = len(self._sizes), len(attributes)
        if isinstance(self.attribute_layers, str):
            if self.attribute_layers == "in order" or not n:
                return [min(j, depth - 1) for j in range(n)]
            self._run(X, data, [None] * depth, init, lambda *news: False)
            return [self._carrier(attribute) for attribute in attributes]
        layers = np.asarray(self.attribute_layers)
        if layers.shape != (n,) or layers.dtype.kind not in "iu" or not ((-depth <= layers) & (layers < depth)).all():
            raise ValueError(
                f"attribute_layers must name one of the {depth} layers for each of the {n} attributes, as positions "
                f"from 0 to {depth - 1}; got {self.attribute_layers!r}."
            )
        return [int(layer) % depth for layer in layers]

    def _carrier(self, attribute: Attribute) -> int:
        """The layer on which the nearest labelled neighbour of a labelled sample most often shares its label."""
        known = attribute.known
        hits = []
        for layer in self.layers_:
            H = layer.representation
            hits.append(_nearest_agrees(unit_rows(H @ whitener(H))[known], attribute.codes[known]))
        return int(np.argmax(hits))

    def _graphs(self, X, attributes: Sequence[Attribute], alphas: list[float]) -> Graphs:
        """A weight and a graph for each attribute, or None where it links nobody."""
        graphs = [(alpha, Labels(self.weight).link(X, a)) for alpha, a in zip(alphas, attributes, strict=True)]
        return [(alpha, graph) if alpha > 0 and graph.degree.any() else None for alpha, graph in graphs]

    def _penalties(self, graphs: Graphs, where: list[int]) -> Graphs:
        """A weight and a graph for each layer, or None where no label acts."""
        found: list[list[tuple[float, GraphOperator]]] = [[] for _ in self._sizes]
        for pair, layer in zip(graphs, where, strict=True):
            if pair is not None:
                found[layer].append(pair)
        return [(1.0, SumOperator(pairs)) if pairs else None for pairs in found]


def _nearest_agrees(E: np.ndarray, codes: np.ndarray) -> float:
    """How often a sample's nearest neighbour has its label."""
    if len(E) < 2:
        return 0.0
    D = euclidean_distances(E, squared=True)
    np.fill_diagonal(D, np.inf)
    return float((codes[D.argmin(1)] == codes).mean())

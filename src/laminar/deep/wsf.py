"""Deep WSF: layers of codes, each shaped by the labels of an attribute."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils._param_validation import Interval, StrOptions

from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.linalg.small import unit_rows, whitener
from .._engine.monitor import Solution
from .._utils import threads
from .._utils.callbacks import hooks, with_callbacks
from .._utils.labels import Attribute, attribute_names, read_alphas, read_labels
from .._utils.typing import Data
from ..graphs import GraphOperator, Labels
from ..graphs.operators import SumOperator
from .coupled import Graphs
from .linear import Deep, layer_factors
from .nonlinear import ScaleFreePenalty


class DeepWSF(Deep):
    """Deep weakly supervised Semi-NMF (Deep WSF): layers of codes, each smooth over the label graph of an attribute.

    H_i (n_samples, k_i) are the codes of layer i, Z_i (k_i, k_{i-1}) its weights, k_0 = n_features and H_0 = X. The
    codes of the top layer take the place of scikit-learn's W, the product of the weights that of its H. Attribute j has
    the label graph with Laplacian L_j, on layer l(j). ``mode="network"`` minimises over H_m >= 0 and weights of any
    sign, with eps = 2^-22::

        1/2 ||X - H_1 Z_1||^2 + 1/2 ||X||^2 sum_j alpha_j / k_l sum_a h_a^T L_j h_a / ||h_a||^2
                              + eps/2 ||H_1||^2 ||Z_1||^2                                                           (1)

    with h_a column a of H_l, l = l(j), and H_{i-1} = g(H_i Z_i); g is the activation, by default the identity. One
    layer without an activation is `WSF`, and without labels the model is `DeepSemiNMF` with ``graph=None``.
    ``mode="coupled"`` minimises over all H_i >= 0::

        1/2 sum_i mu_i sum_b s_{i-1,b} ||(H_{i-1} - H_i Z_i)_b||^2 + 1/2 sum_j alpha_j sum_a s_la h_a^T L_j h_a     (2)

    over the columns b of H_{i-1}, with mu_1 = 1, mu_i = ``coupling`` above, s_0 = 1 and ``s_i = (Z_i * Z_i) s_{i-1}``.
    ``mode="paper"`` decreases, with the attributes of the top layer alone::

        1/2 ||X - H_m Z_m ... Z_1||^2 + 1/2 sum_j alpha_j Tr(H_m^T L_j H_m)                                         (3)

    (2), and (1) but for the ridge, do not depend on the scales of the codes. Eq. 21 of [1]_ has the trace penalty on
    the codes of every layer: it has no minimiser, and Algorithm 2 of [1]_ does not minimise it (docs/methods.md 5.4).

    Parameters
    ----------
    layers : sequence of int, default=(100, 40)
        Size k_1, ..., k_m of each layer, from the input up.
    alphas : float or sequence of float, default=0.01
        Weight alpha_j of the penalty, one for all attributes or one for each.
    attribute_layers : {"in order", "auto"} or sequence of int, default="in order"
        Layer of each attribute. "in order": the first attribute on the first layer, and so on, all that are left on the
        last. A sequence holds positions. "auto" fits without labels first, and takes the layer on which the nearest
        labelled neighbour of a labelled sample most often has the same label.
    mode : {"network", "coupled", "paper"}, default="network"
        "network": hidden codes are functions of the top codes, and the labels of every layer act on all weights.
        "coupled": hidden codes are variables, tied to the layers below and above. "paper": Algorithm 2 of [1]_, in
        which the labels of hidden layers act in pre-training alone.
    weight : {"binary", "rbf", "dot"}, default="binary"
        Weight of the link between two samples of a class: 1; ``exp(-||x_i - x_j||^2 / (2 b^2))`` with b the median
        distance inside classes; or the inner product of the samples, which must not be negative ([1]_, eq. 16, 17 and
        18).
    coupling : float, default=1.0
        Weight mu_i of the layers above the first in (2).
    activation : {None, "stanh", "square", "relu", "softplus", "sigmoid"}, default=None
        Function g between the layers, applied entry by entry: ``1.7159 tanh(2 x / 3)``, ``x^2``, ``max(0, x)``,
        ``log(1 + exp(x))`` or ``1 / (1 + exp(-x))``. None is the identity. It needs ``mode="network"``.
    solver : {"auto", "hals", "mu", "apg", "lbfgs", "adam"}, default="auto"
        Where hidden codes are functions of the top codes, that is in the mode "network" with labels and several layers,
        or with an activation: "lbfgs" ("auto"), "apg" or "adam" ("auto" with ``batch_size``). Elsewhere the update of
        the codes: "hals" ("auto"), "mu" or "apg". ``mode="paper"`` has its own updates.
    batch_size : int or None, default=None
        Number of samples of a batch of "adam"; it needs an activation. None uses all samples at once.
    init : str, default="auto"
        Initialiser of the pre-training of each layer: "random", "kmeans", "svd", "lp", "nndsvd", "nndsvda" or
        "nndsvdar". "auto" is "random" for (1), else "lp"; ``mode="paper"`` always begins with random codes.
    max_iter : int, default=500
        Maximum number of iterations after pre-training. 0 keeps the initial weights: with ``fit(X, init=model)`` the
        result are the codes of X on the layers of another model.
    tol : float, default=1e-5
        (1) has converged when three iterations in a row (20 epochs of "adam") each decrease the objective by less than
        ``tol`` of its value; (2), and a model without labels, when two consecutive iterations each decrease it by at
        most ``tol`` times its value and the KKT residual is at most ``sqrt(tol)``. ``mode="paper"`` makes all its
        iterations and has converged if the last two changed the objective by at most ``tol`` of it.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means the size of the top layer.
    callback : callable or None, default=None
        Called after every iteration as ``callback(iteration, objective, seconds)``; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    verbose : int, default=0
        1 shows a progress line.

    Attributes
    ----------
    attribute_layers_ : dict
        Layer of each attribute, by the name of its column of y, or by its position.
    layers_ : list of Layer
        From the input up. ``weights`` is Z_i of shape (k_i, k_{i-1}), ``components`` the basis Z_i ... Z_1 of shape
        (k_i, n_features) (with an activation, see ``components_``), and ``representation`` H_i of shape (n_samples,
        k_i), the codes of the training samples. In the mode "network" with labels the hidden codes are g(H_{i+1}
        Z_{i+1}) and may be negative.
    components_ : ndarray of shape (k_m, n_features)
        The basis Z_m ... Z_1 of the top layer, with rows of unit Euclidean norm. With an activation, the change of the
        reconstruction when one top code alone goes from 0 to its root mean square.
    clusters_ : Clusters
        k-means of the top codes, whitened and with rows of unit norm, fitted when `predict`, `fit_predict` or `cluster`
        first needs it.
    reconstruction_err_ : float
        ``||X - H_m Z_m ... Z_1||``, or ``||X - H_1 Z_1||`` with an activation, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1), (2) or (3), or that of `WSF` or `DeepSemiNMF`, after each accepted iteration.
    n_iter_ : int
        Number of iterations made, without pre-training.
    converged_ : bool
        Whether the fit met its stopping rule, see ``tol``, within ``max_iter`` iterations.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    WSF : One layer.
    DeepSemiNMF : The model without labels.
    AttributeLayers : One layer for each attribute.

    Notes
    -----
    **Algorithm.** (1) is minimised by L-BFGS-B over H_m and Z_2, ..., Z_m, with the best Z_1 for them. With E = H_1 Z_1
    - X and dP_i the derivative of the penalties of layer i, the gradient is::

        dH_1 = E Z_1^T + dP_1,   dA_i = dH_{i-1} * g'(H_i Z_i),   dZ_i = H_i^T dA_i,   dH_i = dA_i Z_i^T + dP_i     (4)

    for i = 2..m, the total derivative; section 4.1 of [1]_ leaves out dP_{i-1} in dA_i (docs/methods.md 5.5). (2) is
    minimised by HALS for the codes, from the top down, then least squares for the weights, with an extrapolation after
    [2]_. Pre-training is that of `DeepSemiNMF`.

    ``mode="paper"`` is Algorithm 2 of [1]_, after a pre-training by WSF of each layer with its own labels. For i = 1..m
    in each iteration, with W_i = sum_j alpha_j W_j over the attributes of layer i and d_i = W_i 1::

        Z_i <- pinv(H_m Z_m ... Z_{i+1}) X pinv(Psi_{i-1}),   Psi_i = Z_i ... Z_1                                   (5)
        H_i <- H_i * ((B^+ + H_i G^- + W_i H_i) / (B^- + H_i G^+ + d_i * H_i))^(1/2),   B = X Psi_i^T               (6)

    with ``G = Psi_i Psi_i^T``, ``A^+ = max(A, 0)`` and ``A^- = max(-A, 0)``. (5) is eq. 11 and (6) eq. 12 of [1]_ with
    the graph, from the authors' code. Neither increases (3).

    References
    ----------
    .. [1] G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning
       attribute representations, IEEE TPAMI 39, 2017. doi:10.1109/TPAMI.2016.2554555, arXiv:1509.03248.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

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
        """Fit the layers to X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels of some or all samples, one column for each attribute; -1, NaN, None and ``pandas.NA`` stand for
            unknown.
        init : fitted estimator with layers, default=None
            Initial weights, instead of pre-training, as for transfer from labelled data: an estimator with the same
            layers, fitted to the same features.

        Returns
        -------
        self : object
            The fitted estimator.
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
            data.unit(2)  # refuses X out of range before anything else
            graphs = self._graphs(X, attributes, alphas)
            self._check_solver(*self._kind(graphs))
            where = self._assign(X, data, attributes, init)
            self._run(X, data, self._penalties(graphs, where), init, hook)
        self.attribute_layers_ = dict(zip(attribute_names(attributes), where, strict=True))
        self._warn_unconverged()
        return self

    def _check_mode(self) -> None:
        if self.activation is not None and self.mode != "network":
            raise ValueError(f'activation="{self.activation}" needs mode="network", got "{self.mode}".')
        if self.batch_size is not None and self.activation is None:
            raise ValueError("batch_size needs an activation here: labels tie the samples of a linear stack together.")

    def _kind(self, graphs: Graphs) -> tuple[bool, str]:
        """Return whether hidden codes follow from the top ones, and the parameters that imply it."""
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
                # Without an activation the layers are linear and their codes exact.
                first, *hidden = fit.stack.weights
                factors = layer_factors(fit.stack.forward(fit.H), [first / data.dtype.type(data.scale), *hidden])
                self._keep(data, Solution(factors, [], fit.n_iter, fit.converged))
                self.objective_history_ = np.array(fit.history)  # in the units of X
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
        """Return the layer of each attribute."""
        depth, n = len(self._sizes), len(attributes)
        if isinstance(self.attribute_layers, str):
            if self.attribute_layers == "in order" or not n:
                return [min(j, depth - 1) for j in range(n)]
            self._run(X, data, [None] * depth, init, lambda *_: False)
            return [self._best_layer(attribute) for attribute in attributes]
        layers = np.asarray(self.attribute_layers)
        if layers.shape != (n,) or layers.dtype.kind not in "iu" or not ((-depth <= layers) & (layers < depth)).all():
            raise ValueError(
                f"attribute_layers must name one of the {depth} layers for each of the {n} attributes, as positions "
                f"from 0 to {depth - 1}; got {self.attribute_layers!r}."
            )
        return [int(layer) % depth for layer in layers]

    def _best_layer(self, attribute: Attribute) -> int:
        """Return the layer on which the nearest labelled neighbour of a labelled sample most often shares its label."""
        known = attribute.known
        hits = []
        for layer in self.layers_:
            H = layer.representation
            hits.append(_nearest_agrees(unit_rows(H @ whitener(H))[known], attribute.codes[known]))
        return int(np.argmax(hits))

    def _graphs(self, X, attributes: Sequence[Attribute], alphas: list[float]) -> Graphs:
        """Return a weight and a graph for each attribute, or None where it has no edge."""
        graphs = [(alpha, Labels(self.weight).link(X, a)) for alpha, a in zip(alphas, attributes, strict=True)]
        return [(alpha, graph) if alpha > 0 and graph.degree.any() else None for alpha, graph in graphs]

    def _penalties(self, graphs: Graphs, where: list[int]) -> Graphs:
        """Return a weight and a graph for each layer, or None where no label acts."""
        found: list[list[tuple[float, GraphOperator]]] = [[] for _ in self._sizes]
        for pair, layer in zip(graphs, where, strict=True):
            if pair is not None:
                found[layer].append(pair)
        return [(1.0, SumOperator(pairs)) if pairs else None for pairs in found]


def _nearest_agrees(E: np.ndarray, codes: np.ndarray) -> float:
    """Return the share of samples whose nearest neighbour has their label."""
    if len(E) < 2:
        return 0.0
    D = euclidean_distances(E, squared=True)
    np.fill_diagonal(D, np.inf)
    return float((codes[D.argmin(1)] == codes).mean())

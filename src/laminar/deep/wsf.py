"""Deep WSF: layers of codes, each shaped by the labels of an attribute."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.parameters import refuse_unused
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._utils import threads
from .._utils.callbacks import Hook, hooks, with_callbacks
from .._utils.labels import Attribute, attribute_names, by_name, read_alphas, read_labels, warn_uninformative
from .._utils.typing import Data
from ..graphs import GraphOperator, Labels, as_graph
from ..graphs.operators import SumOperator
from .coupled import Graphs
from .linear import Deep
from .pretraining import layer_sizes


class DeepWSF(Deep):
    """Deep weakly supervised Semi-NMF (Deep WSF): layers of codes, each smooth over the label graph of an attribute.

    H_i (n_samples, k_i) are the codes of layer i, Z_i (k_i, k_{i-1}) its weights, k_0 = n_features and H_0 = X. The
    codes of the top layer take the place of scikit-learn's W, the product of the weights that of its H. Attribute j has
    the label graph with Laplacian L_j, on layer l(j). The layers are pre-trained one after the other by WSF, each with
    its own labels, and then minimise over all H_i >= 0 and weights of any sign::

        sum_i 1/2 ||X - H_i Z_i ... Z_1||^2 + 1/2 sum_j alpha_j sum_a ||psi_a||^2 h_a^T L_j h_a                     (1)

    where i runs over the layers with labels or a graph and the top one, and h_a and psi_a are column a of H_l and row a
    of Z_l ... Z_1 with l = l(j). Hidden layers without labels are not in (1): their codes are the best for their
    basis. (1) is eq. 21 of [1]_ with two changes, without which it has no minimiser (docs/methods.md 5.4): the codes of
    hidden layers reconstruct X as well, as in their updates in Algorithm 2 of [1]_, else H_i = 0 is best; and the
    factors ``||psi_a||^2``, without which the penalty vanishes as H shrinks and Z grows. ``scale="none"`` leaves these
    factors out, as printed. On centred X the ridge of `SemiNMF` is added for the codes of every layer in (1) and (2),
    ``rho_i/2 sum_a ||psi_ia||^2 ||h_ia||^2``. With the labels on the top layer the model is `WSF` initialised by
    pre-training, and without labels `DeepSemiNMF`.

    ``objective="coupled"`` minimises over all H_i >= 0::

        1/2 sum_i mu_i sum_b s_{i-1,b} ||(H_{i-1} - H_i Z_i)_b||^2 + 1/2 sum_j alpha_j sum_a s_la h_a^T L_j h_a     (2)

    over the columns b of H_{i-1}, with mu_1 = 1, mu_i = ``coupling`` above, s_0 = 1 and ``s_i = (Z_i * Z_i) s_{i-1}``.
    With an activation g, or one of the solvers "adam" and "sgd", hidden codes are functions of the top codes, H_{i-1} =
    g(H_i Z_i), and with eps = 2^-22 for the solvers "lbfgs" and "apg"::

        1/2 ||X - H_1 Z_1||^2 + 1/2 ||X||^2 sum_j alpha_j / k_l sum_a h_a^T L_j h_a / ||h_a||^2
                              + eps/2 ||H_1||^2 ||Z_1||^2                                                           (3)

    which does not depend on the scale of a code; with ``scale="none"`` the penalty of eq. 21 as printed, ``1/2 sum_j
    alpha_j Tr(H_l^T L_j H_l)``. ``rule="published"`` decreases, with the attributes of the top layer alone::

        1/2 ||X - H_m Z_m ... Z_1||^2 + 1/2 sum_j alpha_j Tr(H_m^T L_j H_m)                                         (4)

    Parameters
    ----------
    layers : sequence of int, int or None, default=None
        Size k_1, ..., k_m of each layer, from the input up. None is two layers, of a half and a quarter of the number
        of samples or features, whichever is smaller, at most 625 and 40.
    alphas : float, sequence of float or dict, default=0.1
        Weight alpha_j of the penalty (lambda), one for all attributes, one for each, or by the name of the attribute.
    attribute_layers : None, "in order", "mutual information", sequence of int or dict, default=None
        Layer of each attribute. None puts one attribute on the top layer; of several, it must be given. "in order": the
        first attribute on the first layer, and so on, all that are left on the last. A sequence holds positions, a dict
        positions by the name of the attribute. "mutual information" fits without labels first, clusters the codes of
        each layer, and assigns attributes to layers so that the sum of their normalised mutual information is largest
        (footnote 3 of [1]_).
    weight : {"binary", "rbf", "dot"} or graphs.Labels, default="binary"
        Weight of the link between two samples of a class: 1; ``exp(-||x_i - x_j||^2 / (2 b^2))`` with b the
        ``bandwidth``; or the inner product of the samples, 0 where it is negative ([1]_, eq. 16, 17 and 18). A
        specification has further options, as the printed diagonal, ``Labels(self_loops=True)``.
    bandwidth : float or None, default=None
        Width b (sigma) of ``weight="rbf"``; None means the median distance inside classes.
    graphs : sequence or None, default=None
        A further graph for each layer, from the input up, as for `WSF`: None, "knn", "chain", "rank", a Graph, or a
        matrix of weights.
    alpha : float, default=0.1
        Weight of the penalty of each of ``graphs``.
    objective : {"reconstruction", "coupled"}, default="reconstruction"
        (1) or (3); or (2), in which each layer is tied to the one below it.
    scale : {"auto", "invariant", "none"}, default="auto"
        Whether penalties are independent of the scales of the codes, or as printed. "auto" is "invariant" for
        ``rule="fast"`` and "none" for ``rule="published"``.
    ridge : "auto" or float, default="auto"
        Weight rho of the ridge of each layer's codes, see `SemiNMF`; "auto" is, for each layer by its size, 0 on
        non-negative X and what keeps its codes bounded on other X. None with an activation, the solvers "adam" and
        "sgd", and for ``rule="published"``.
    coupling : float, default=1.0
        Weight mu_i of the layers above the first in (2).
    activation : {None, "stanh", "square", "relu", "softplus", "sigmoid"} or Activation, default=None
        Function g between the layers, applied entry by entry: ``1.7159 tanh(2 x / 3)``, ``x^2``, ``max(0, x)``,
        ``log(1 + exp(x))``, ``1 / (1 + exp(-x))``, or one of your own, ``laminar.Activation(value, slope, inverse)``.
        None is the identity.
    hidden : {"free", "nonnegative"}, default="free"
        With an activation, "nonnegative" replaces g by max(0, g), so that the codes of all layers are non-negative, as
        eq. 15 of [1]_ states; those of g itself may be negative.
    solver : {"auto", "hals", "mu", "apg", "lbfgs", "adam", "sgd"}, default="auto"
        Without an activation the update of the codes: "hals" ("auto"), "mu" or "apg"; or "adam" and "sgd" on (3), with
        the identity for g. With an activation the optimiser of (3): "lbfgs" ("auto"), "apg", "adam" ("auto" with
        ``batch_size``) or "sgd". ``rule="published"`` has its own updates.
    batch_size : int or None, default=None
        Number of samples of a batch of "adam" and "sgd"; None uses all samples at once. The penalty of a batch is
        estimated from the links between its samples.
    pretraining : {"wsf", "semi-nmf", None}, default="wsf"
        How the layers are initialised: each by WSF of the codes below it, with its own labels; by Semi-NMF, without
        labels; or not at all: the codes of each layer are those of ``init``.
    pretraining_max_iter : int or None, default=None
        Maximum number of iterations of the pre-training of each layer. None is 20, 30 with an activation and 500 for
        ``rule="published"``.
    init : str, default="auto"
        Initialiser of the codes of each layer: "random", "kmeans", "svd", "lp", "nndsvd", "nndsvda" or "nndsvdar".
        "auto" is "lp"; "random" with an activation, without pre-training and for ``rule="published"``, where zeros of
        other starts are raised to a small positive number.
    max_iter : int, default=500
        Maximum number of iterations after pre-training. 0 keeps the initial weights: with ``fit(X, init=model)`` the
        result are the codes of X on the layers of another model.
    tol : float, default=1e-4
        (1) and (2) have converged when two consecutive iterations each decrease the objective by at most ``tol`` times
        its value and the KKT residual is at most ``sqrt(tol)``; (3) when three iterations in a row (20 epochs of "adam"
        and "sgd") each decrease it by less than ``tol`` of its value. ``rule="published"`` makes all its iterations and
        has converged if the last two changed the objective by at most ``tol`` of it;
        `laminar.callbacks.ReconstructionStop` is the paper's stopping rule.
    eta : float or None, default=None
        Exponent of the multiplicative updates, in (0, 1]. None is 1 for ``solver="mu"`` and 1/2 for
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" is Algorithm 2 of [1]_, in which the labels of hidden layers act in pre-training and on their own
        codes alone; with an activation Nesterov's accelerated gradient for each factor in turn, section 3.1 of [1]_.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means the size of the top layer.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform` and
        `cluster`. "auto" returns raw codes and clusters those of 0.75; [1]_ clusters raw codes.
    layer : int or str, default=-1
        Layer that `transform`, `fit_transform`, `cluster`, `predict` and `fit_predict` use: its position in
        ``layers_``, the name of an attribute, or "all", the codes of all layers side by side.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit, or the pre-training of the layer,
        stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    warm_start : bool, default=False
        Whether a further `fit` starts from the weights of the last one, as after an interruption, and not from
        pre-training.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    attribute_layers_ : dict
        Layer of each attribute, by the name of its column of y, or by its position.
    attribute_scores_ : dict
        For ``attribute_layers="mutual information"``, the normalised mutual information of each attribute with the
        clusters of each layer of the fit without labels; else empty.
    layers_ : list of Layer
        From the input up. ``weights`` is Z_i of shape (k_i, k_{i-1}), ``components`` the basis Z_i ... Z_1 of shape
        (k_i, n_features) (with an activation, see ``components_``), and ``representation`` H_i of shape (n_samples,
        k_i), the codes of the training samples. In (3) the hidden codes are g(H_{i+1} Z_{i+1}) and may be negative.
    components_ : ndarray of shape (k_m, n_features)
        The basis Z_m ... Z_1 of the top layer, with rows of unit Euclidean norm. With an activation, the change of the
        reconstruction when one top code alone goes from 0 to its root mean square.
    clusters_ : Clusters
        k-means of the codes of ``layer`` in the form of ``readout``, fitted when `predict`, `fit_predict` or `cluster`
        first needs it.
    reconstruction_err_ : float
        ``||X - H_m Z_m ... Z_1||``, or ``||X - H_1 Z_1||`` with an activation, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1), (2), (3) or (4) after each accepted iteration.
    history_iterations_ : ndarray of shape (n_accepted,)
        The iteration of each entry of ``objective_history_``.
    pretraining_histories_ : list of ndarray
        For each pre-trained layer, its objective after each iteration. Empty where the start is the optimum already.
    n_iter_ : int
        Number of iterations made, without pre-training.
    converged_ : bool
        Whether the fit met its stopping rule, see ``tol``, within ``max_iter`` iterations.
    kkt_residual_ : float or None
        KKT residual at the beginning of the last sweep: 0 at a stationary point, and without scale. None where the
        solver has none: networks, batches and published rules of several layers.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    WSF : One layer; with several attributes, WSF-MA.
    DeepSemiNMF : The model without labels.
    AttributeLayers : One layer for each attribute.

    Notes
    -----
    **Algorithm.** One iteration for (1) updates the codes of each fitted layer by HALS, as in `WSF`, with B = X Psi_i^T
    and G = Psi_i Psi_i^T for Psi_i = Z_i ... Z_1, and then the weights, from the input up, each the minimiser of (1)
    nearest to where it was, in a norm with entries weighted by their curvature. With T_ij = Z_j ... Z_{i+1} and q_j the
    vector of ``alpha_j h_a^T L_j h_a``::

        Z_i <- A^+ (sum_j T_ij^T H_j^T X) pinv(Psi_{i-1}),     A = sum_j T_ij^T (H_j^T H_j + diag(q_j)) T_ij        (5)

    with an extrapolation of the codes after [2]_. Where the top layer alone is fitted this is the iteration of `WSF`
    for its composed basis. (2) is minimised by HALS for the codes, from the top down, then least squares for the
    weights. (3) is minimised by L-BFGS-B over H_m and Z_2, ..., Z_m, with the best Z_1 for them. With E = H_1 Z_1 - X
    and dP_i the derivative of the penalties of layer i, the gradient is::

        dH_1 = E Z_1^T + dP_1,   dA_i = dH_{i-1} * g'(H_i Z_i),   dZ_i = H_i^T dA_i,   dH_i = dA_i Z_i^T + dP_i     (6)

    for i = 2..m, the total derivative; section 4.1 of [1]_ leaves out dP_{i-1} in dA_i (docs/methods.md 5.5).

    ``rule="published"`` is Algorithm 2 of [1]_. For i = 1..m in each iteration, with W_i = sum_j alpha_j W_j over the
    attributes of layer i and d_i = W_i 1::

        Z_i <- pinv(H_m Z_m ... Z_{i+1}) X pinv(Psi_{i-1}),   Psi_i = Z_i ... Z_1                                   (7)
        H_i <- H_i * ((B^+ + H_i G^- + W_i H_i) / (B^- + H_i G^+ + d_i * H_i))^eta,   B = X Psi_i^T                 (8)

    with ``G = Psi_i Psi_i^T``, ``A^+ = max(A, 0)`` and ``A^- = max(-A, 0)``. (7) is eq. 11 and (8) eq. 12 of [1]_ with
    the graph, from the authors' code. Neither increases (4).

    References
    ----------
    .. [1] G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning
       attribute representations, IEEE TPAMI 39, 2017. doi:10.1109/TPAMI.2016.2554555, arXiv:1509.03248.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from laminar import DeepWSF
    >>> X = np.random.default_rng(0).normal(size=(40, 12))
    >>> y = pd.DataFrame({"pose": ["left", "right", None, "left"] * 10, "who": ["a", "b", "a", None] * 10})
    >>> model = DeepWSF((6, 3), attribute_layers={"pose": 0, "who": 1}, random_state=0).fit(X, y)
    >>> model.transform(X, layer="pose").shape, model.transform(X, layer="who").shape
    ((40, 6), (40, 3))
    """

    _uses_labels = True
    _parameter_constraints: dict = {
        **Deep._parameter_constraints,
        "alphas": [Interval(Real, 0, None, closed="left"), "array-like", Mapping],
        "attribute_layers": [StrOptions({"in order", "mutual information"}), "array-like", Mapping, None],
        "weight": [StrOptions({"binary", "rbf", "dot"}), Labels],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
        "graphs": ["array-like", None],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        layers=None,
        *,
        alphas=0.1,
        attribute_layers=None,
        weight="binary",
        bandwidth=None,
        graphs=None,
        alpha=0.1,
        objective="reconstruction",
        scale="auto",
        ridge="auto",
        coupling=1.0,
        activation=None,
        hidden="free",
        solver="auto",
        batch_size=None,
        pretraining="wsf",
        pretraining_max_iter=None,
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
        self.layers = layers
        self.alphas = alphas
        self.attribute_layers = attribute_layers
        self.weight = weight
        self.bandwidth = bandwidth
        self.graphs = graphs
        self.alpha = alpha
        self.objective = objective
        self.scale = scale
        self.ridge = ridge
        self.coupling = coupling
        self.activation = activation
        self.hidden = hidden
        self.solver = solver
        self.batch_size = batch_size
        self.pretraining = pretraining
        self.pretraining_max_iter = pretraining_max_iter
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

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None, init=None, groups: ArrayLike | None = None) -> Self:
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
        groups : array-like of shape (n_samples,), default=None
            Sequence of each sample, for graphs in time; None means one sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_combination(init)
        init = copy(self) if init is None and self.warm_start and "layers_" in vars(self) else init
        X = self._validate(X, reset=True)
        self._sizes = layer_sizes(self.layers, *X.shape)
        attributes = () if y is None else read_labels(y, X.shape[0])
        warn_uninformative(attributes, stacklevel=4)
        names = attribute_names(attributes)
        alphas = read_alphas(by_name(self.alphas, names, "alphas"), len(attributes), "alphas")
        with threads.own_threads(), hooks(self, max(self.max_iter, 1), X, y) as hook:
            data = wrap(X)
            data.unit(2)  # refuses X out of range before anything else
            self.attribute_scores_: dict = {}
            # All on the top layer until they are assigned, which may need a fit without labels.
            self.attribute_layers_ = dict.fromkeys(names, len(self._sizes) - 1)
            self._check_layer(len(self._sizes))
            where = self._assign(X, data, attributes, init)
            self.attribute_layers_ = dict(zip(names, where, strict=True))
            links = self._links(X, attributes, alphas)
            self._run(X, data, self._penalties(X, links, where, groups), init, hook)
        self._warn_unconverged()
        return self

    def _check_combination(self, init) -> None:
        super()._check_combination(init)
        if not (isinstance(self.weight, str) and self.weight == "rbf"):
            refuse_unused(self, ["bandwidth"], 'it is the width of weight="rbf"')
        if self.graphs is None:
            refuse_unused(self, ["alpha"], "it weighs the graphs of the layers, and there are none")
        if self.batch_size is not None and not self._network:
            raise ValueError('batch_size needs an activation here, or solver="adam" or "sgd": labels link the batches.')

    @property
    def _layer_names(self) -> Mapping[Hashable, int]:
        return {name: i for name, i in self.attribute_layers_.items() if isinstance(name, str)}

    # ---- which labels shape which layer --------------------------------------------------------------------------

    def _assign(self, X, data: Matrix, attributes: Sequence[Attribute], init) -> list[int]:
        """Return the layer of each attribute."""
        depth, n, names = len(self._sizes), len(attributes), attribute_names(attributes)
        if self.attribute_layers is None:
            if n > 1 and depth > 1:
                raise ValueError(
                    f"y has {n} attributes, {names}, and the model {depth} layers: say which layer has which, as in "
                    f'attribute_layers={dict(zip(names, range(n), strict=True))}, "in order" or '
                    '"mutual information".'
                )
            return [depth - 1] * n
        if isinstance(self.attribute_layers, str):
            if self.attribute_layers == "in order" or not n:
                return [min(j, depth - 1) for j in range(n)]
            return self._by_mutual_information(X, data, attributes, init)
        layers = np.asarray(by_name(self.attribute_layers, names, "attribute_layers"))
        if layers.shape != (n,) or layers.dtype.kind not in "iu" or not ((-depth <= layers) & (layers < depth)).all():
            raise ValueError(
                f"attribute_layers must name one of the {depth} layers for each of the {n} attributes, as positions "
                f"from 0 to {depth - 1}; got {self.attribute_layers!r}."
            )
        return [int(layer) % depth for layer in layers]

    def _by_mutual_information(self, X, data: Matrix, attributes: Sequence[Attribute], init) -> list[int]:
        """Assign attributes to layers by the clusters of a fit without labels."""
        no_hook: Hook = lambda *_, **__: False  # noqa: E731
        self._run(X, data, [None] * len(self._sizes), init, no_hook)
        scores = np.empty((len(attributes), len(self._sizes)))
        for j, attribute in enumerate(attributes):
            known, n_classes = attribute.known, max(1, len(attribute.classes))
            for i in range(len(self._sizes)):
                found = np.asarray(self.cluster(n_clusters=n_classes, layer=i))
                scores[j, i] = normalized_mutual_info_score(
                    attribute.codes[known], found[known], average_method="geometric"
                )
        names = attribute_names(attributes)
        self.attribute_scores_ = dict(zip(names, scores, strict=True))
        where = scores.argmax(1)  # of attributes beyond the number of layers
        by_name = np.argsort([str(name) for name in names])  # equal scores do not depend on the order of the columns
        rows, columns = linear_sum_assignment(scores[by_name], maximize=True)
        where[by_name[rows]] = columns
        return where.tolist()

    def _links(self, X, attributes: Sequence[Attribute], alphas: list[float]) -> Graphs:
        """Return a weight and a label graph for each attribute, or None where it has no edge."""
        weight: Any = self.weight
        spec = weight if isinstance(weight, Labels) else Labels(weight, bandwidth=self.bandwidth)
        graphs = [(alpha, spec.link(X, a)) for alpha, a in zip(alphas, attributes, strict=True)]
        return [(alpha, graph) if alpha > 0 and graph.degree.any() else None for alpha, graph in graphs]

    def _penalties(self, X, links: Graphs, where: list[int], groups) -> Graphs:
        """Return a weight and a graph for each layer, the sum of all that act on it, or None."""
        found: list[list[tuple[float, GraphOperator]]] = [[] for _ in self._sizes]
        for pair, layer in zip(links, where, strict=True):
            if pair is not None:
                found[layer].append(pair)
        graphs = [None] * len(self._sizes) if self.graphs is None else list(self.graphs)
        if len(graphs) != len(self._sizes):
            raise ValueError(
                f"graphs must hold one entry for each of the {len(self._sizes)} layers; got {len(graphs)}."
            )
        for pairs, graph in zip(found, graphs, strict=True):
            spec = as_graph(graph)
            if spec is not None and self.alpha > 0:
                operator = spec.build(X, None, groups)
                if operator.degree.any():
                    pairs.append((float(self.alpha), operator))
        return [(1.0, SumOperator(pairs)) if pairs else None for pairs in found]

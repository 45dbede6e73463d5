"""Deep Semi-NMF: several layers of non-negative codes, each the basis of the one above."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._base.parameters import refuse_unused
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._utils import threads
from .._utils.callbacks import hooks, with_callbacks
from .._utils.typing import Data
from ..graphs import as_graph
from .batches import Batches
from .coupled import Graphs
from .linear import Deep
from .pretraining import layer_sizes


class DeepSemiNMF(Batches):
    """Deep Semi-NMF, X ~ H_m Z_m ... Z_1 with H_m non-negative and the weights of any sign.

    H_i (n_samples, k_i) are the codes of layer i, Z_i (k_i, k_{i-1}) its weights, k_0 = n_features and H_0 = X. The
    codes of the top layer take the place of scikit-learn's W, the product of the weights that of its H. The layers are
    pre-trained one after the other and then fine-tuned together. What is minimised, and recorded in
    ``objective_history_``, is eq. 10 of [1]_::

        1/2 ||X - H_m Z_m ... Z_1||^2 + rho/2 sum_a ||psi_a||^2 ||h_a||^2,   H_m >= 0                               (1)

    with h_a column a of H_m, psi_a row a of Z_m ... Z_1, and the ridge rho of `SemiNMF`, 0 on non-negative X, without
    which there is no minimiser on centred X (docs/methods.md 4.5). With a graph of Laplacian L it is the model of Zhao
    et al. [4]_ with one view::

        1/2 ||X - H_m Z_m ... Z_1||^2 + 1/2 sum_a ||psi_a||^2 (alpha h_a^T L h_a + rho ||h_a||^2)                   (2)

    or with ``scale="none"`` the penalty ``alpha/2 Tr(H_m^T L H_m)`` as printed, which has no minimiser
    (docs/methods.md 1.5). With ``objective="coupled"`` all codes are variables::

        1/2 sum_i mu_i sum_b s_{i-1,b} ||(H_{i-1} - H_i Z_i)_b||^2,   all H_i >= 0                                  (3)

    over the columns b of H_{i-1}, with mu_1 = 1, mu_i = ``coupling`` above, s_0 = 1 and ``s_i = (Z_i * Z_i) s_{i-1}``,
    which make it independent of the scales of the codes; the ridges add ``1/2 sum_i mu_i rho_i sum_a s_ia ||h_ia||^2``
    and a graph ``alpha/2 sum_a s_ma h_a^T L h_a``. With an
    activation g, eq. 14 of [1]_ and a small ridge with eps = 2^-22, which the solvers "lbfgs" and "apg" have::

        1/2 ||X - H_1 Z_1||^2 + eps/2 ||H_1||^2 ||Z_1||^2,   H_{i-1} = g(H_i Z_i),   H_m >= 0                       (4)

    and with a graph ``alpha/2 ||X||^2 / k_m sum_a h_a^T L h_a / ||h_a||^2``, which no scale of the codes changes.

    Parameters
    ----------
    layers : sequence of int, int or None, default=None
        Size k_1, ..., k_m of each layer, from the input up. None is two layers, of a half and a quarter of the number
        of samples or features, whichever is smaller, at most 625 and 40.
    objective : {"reconstruction", "coupled"}, default="reconstruction"
        The squared error of the whole product, (1), (2) or (4); or of every layer to the one below it, (3).
    graph : {None, "knn", "chain", "rank"}, Graph, sparse matrix or ndarray, default=None
        Graph over which the top codes are to be smooth: "knn" links the five nearest neighbours with weight 1, "chain"
        consecutive samples, "rank" nearest neighbours with weight one over the rank; a matrix holds the weights.
    alpha : float, default=0.1
        Weight of the penalty of the graph (lambda, or beta of [4]_).
    scale : {"auto", "invariant", "none"}, default="auto"
        Whether the penalty is multiplied by the squared norms of the components, or as printed. "auto" is "invariant"
        for ``rule="fast"`` and "none" for ``rule="published"``.
    ridge : "auto" or float, default="auto"
        Weight rho of the ridge of each layer's codes, see `SemiNMF`; "auto" is, for each layer by its size, 0 on
        non-negative X and what keeps its codes bounded on other X. None with an activation, the solvers "adam" and
        "sgd", and for ``rule="published"``.
    coupling : float, default=1.0
        Weight mu_i of the layers above the first in (3).
    activation : {None, "stanh", "square", "relu", "softplus", "sigmoid"} or Activation, default=None
        Function g between the layers, applied entry by entry: ``1.7159 tanh(2 x / 3)``, ``x^2``, ``max(0, x)``,
        ``log(1 + exp(x))``, ``1 / (1 + exp(-x))``, or one of your own, ``laminar.Activation(value, slope, inverse)``.
        None is the identity.
    hidden : {"free", "nonnegative"}, default="free"
        With an activation, "nonnegative" replaces g by max(0, g), so that the codes of all layers are non-negative, as
        eq. 15 of [1]_ states; those of g itself may be negative.
    solver : {"auto", "hals", "mu", "apg", "lbfgs", "adam", "sgd"}, default="auto"
        Without an activation the update of the codes: "hals" ("auto"), that is coordinate descent over columns,
        multiplicative updates or accelerated projected gradient; or "adam" and "sgd", eq. 15 of [1]_. With an
        activation the optimiser of (4): "lbfgs" ("auto"), "apg", "adam" ("auto" with ``batch_size``) or "sgd".
        ``rule="published"`` has its own updates.
    batch_size : int or None, default=None
        Number of samples of a batch; None uses all samples at once. Without an activation and with ``solver="auto"``
        the codes of a batch are exact and the weights follow discounted sums over the batches; otherwise batches are
        steps of Adam or gradient descent.
    pretraining : {"semi-nmf", "wsf", None}, default="semi-nmf"
        How the layers are initialised: each by Semi-NMF of the codes below it; by WSF, Semi-NMF with the penalty of
        the graph where the layer has one; or not at all: the codes of each layer are those of ``init``.
    pretraining_max_iter : int or None, default=None
        Maximum number of iterations of the pre-training of each layer. None is 20, 30 with an activation and 500 for
        ``rule="published"``.
    init : str, default="auto"
        Initialiser of the codes of each layer: "random", "kmeans", "svd", "lp", "nndsvd", "nndsvda" or "nndsvdar".
        "auto" is "lp", Algorithm 3 of [3]_; "random" with an activation, without pre-training and for
        ``rule="published"``, where zeros of other starts are raised to a small positive number.
    max_iter : int, default=500
        Maximum number of iterations after pre-training: of fine-tuning, or epochs with ``batch_size``. 0 keeps the
        initial weights: with ``fit(X, init=model)`` the result are the codes of X on the layers of another model.
    tol : float, default=1e-4
        Without an activation the fit has converged when two consecutive iterations each decrease the objective by at
        most ``tol`` times its value and the KKT residual is at most ``sqrt(tol)``; for (4) after three iterations (20
        epochs of "adam" and "sgd"), in batches after three epochs, that each decrease it by less than ``tol`` of its
        value. ``rule="published"`` makes all its iterations and has converged if the last two changed the objective by
        at most ``tol`` of it; `laminar.callbacks.ReconstructionStop` is the paper's stopping rule.
    eta : float or None, default=None
        Exponent of the multiplicative updates, in (0, 1]. None is 1 for ``solver="mu"`` and 1/2 for
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" is Algorithm 1 of [1]_ on (1), Algorithm 2 with a graph, or with an activation Nesterov's
        accelerated gradient for each factor in turn, section 3.1 of [1]_.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means the size of the top layer.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform` and
        `cluster`. "auto" returns raw codes and clusters those of 0.75; [1]_ clusters raw codes.
    layer : int or "all", default=-1
        Layer that `transform`, `fit_transform`, `cluster`, `predict` and `fit_predict` use: its position in
        ``layers_``, or "all", the codes of all layers side by side.
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
    layers_ : list of Layer
        From the input up. ``weights`` is Z_i of shape (k_i, k_{i-1}), ``components`` the basis Z_i ... Z_1 of shape
        (k_i, n_features) (with an activation, see ``components_``), and ``representation`` H_i of shape (n_samples,
        k_i), the codes of the training samples.
    components_ : ndarray of shape (k_m, n_features)
        The basis Z_m ... Z_1 of the top layer, with rows of unit Euclidean norm. With an activation, the change of the
        reconstruction when one top code alone goes from 0 to its root mean square.
    clusters_ : Clusters
        k-means of the codes of ``layer`` in the form of ``readout``, fitted when `predict`, `fit_predict` or `cluster`
        first needs it.
    reconstruction_err_ : float
        ``||X - H_m Z_m ... Z_1||``, or ``||X - H_1 Z_1||`` with an activation, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1), (2), (3) or (4) after each accepted iteration. In batches, and with "adam" and "sgd", the sum
        over the batches of an epoch, each before its own step.
    history_iterations_ : ndarray of shape (n_accepted,)
        The iteration of each entry of ``objective_history_``.
    pretraining_histories_ : list of ndarray
        For each pre-trained layer, ``1/2 ||H_{i-1} - H_i Z_i||^2`` after each iteration, in the distances of X for
        ``rule="fast"`` without an activation. Empty where the start is the optimum already.
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
    SemiNMF : One layer.
    SmoothedSemiNMF : Codes smoothed over a graph of neighbours, which find clusters better.
    DeepWSF : Layers with labels.
    MultiLayerNMF : Non-negative layers, learned one after the other.
    MultiViewDeepNMF : Several views.

    Notes
    -----
    **Algorithm.** *Pre-training*: layer i is a Semi-NMF of the codes below it, multiplied by the square root of the
    Gram matrix of their basis, so that distances are those in the space of X. *Fine-tuning* of (1): with Psi = Z_m ...
    Z_1, B = X Psi^T and G = Psi Psi^T, one iteration is that of `SemiNMF`, or with a graph that of `WSF`::

        h_a <- max(0, h_a - (H_m g_a - b_a) / G_aa),   a = 1..k_m;        Psi <- (H_m^T H_m)^-1 H_m^T X             (5)

    Each step is followed by an extrapolation ``F + beta (F - F_old)`` with an adaptive beta, after [2]_; an iteration
    that increases the objective is rejected and beta is decreased. In the end Z_1 takes the change of Psi by the least
    change, so that the hidden layers keep their rank; where a hidden layer is smaller than the top one, every Z_i is
    changed in each iteration instead. ``rule="published"``, eq. 11 and 12 of [1]_, for i = 1..m in each iteration::

        Z_i <- pinv(H_m Z_m ... Z_{i+1}) X pinv(Psi_{i-1}),   Psi_i = Z_i ... Z_1                                   (6)
        H_i <- H_i * ((B_i^+ + H_i G_i^-) / (B_i^- + H_i G_i^+))^eta,   B_i = X Psi_i^T,   G_i = Psi_i Psi_i^T      (7)

    with ``A^+ = max(A, 0)`` and ``A^- = max(-A, 0)``. (The paper writes Psi_{i-1} in eq. 12, where Psi_i is meant.)
    Singular values up to ``max(shape) eps`` of the largest count as zero, as in the authors' MATLAB. (3) is minimised
    by HALS and least squares with extrapolation; (4) by L-BFGS-B over H_m and Z_2, ..., Z_m, with the best Z_1 for
    them.

    (1) depends on H_m and on the product of the weights alone: fine-tuning is Semi-NMF initialised by pre-training, and
    hidden codes do not enter it (docs/methods.md 5.1). Hidden codes are those of pre-training or, where fine-tuning
    changed their basis, the best non-negative codes of X on it.

    References
    ----------
    .. [1] G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning
       attribute representations, IEEE TPAMI 39, 2017. doi:10.1109/TPAMI.2016.2554555, arXiv:1509.03248.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.
    .. [3] N. Gillis and A. Kumar, Exact and heuristic algorithms for semi-nonnegative matrix factorization, SIAM
       Journal on Matrix Analysis and Applications 36, 2015. arXiv:1410.7220.
    .. [4] H. Zhao, Z. Ding and Y. Fu, Multi-view clustering via deep matrix factorization, AAAI Conference on
       Artificial Intelligence, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import DeepSemiNMF
    >>> X = np.random.default_rng(0).normal(size=(40, 12))
    >>> model = DeepSemiNMF(layers=(6, 3), random_state=0).fit(X)
    >>> [layer.components.shape for layer in model.layers_], model.transform(X, layer=0).shape
    ([(6, 12), (3, 12)], (40, 6))
    """

    _parameter_constraints: dict = {
        **Deep._parameter_constraints,
        "graph": [None, StrOptions({"rank", "knn", "chain"}), HasMethods("build"), "sparse matrix", np.ndarray],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        layers=None,
        *,
        objective="reconstruction",
        graph=None,
        alpha=0.1,
        scale="auto",
        ridge="auto",
        coupling=1.0,
        activation=None,
        hidden="free",
        solver="auto",
        batch_size=None,
        pretraining="semi-nmf",
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
        self.objective = objective
        self.graph = graph
        self.alpha = alpha
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
        y : Ignored
            Not used, present for API consistency.
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
        self._stream = self._online = None
        self._sizes = layer_sizes(self.layers, *X.shape)
        self._check_layer(len(self._sizes))
        with threads.own_threads(), hooks(self, max(self.max_iter, 1), X, y) as hook:
            data = wrap(X)
            data.unit(2)  # refuses X out of range before anything else
            self._run(X, data, self._graphs(X, groups), init, hook)
        self._warn_unconverged()
        return self

    @property
    def _on_devices(self) -> bool:  # type: ignore[override]
        """Whether X may be on a device: a graph over the samples would have to be there too."""
        return self._streams and self.graph is None and self.objective == "reconstruction"

    def _check_combination(self, init) -> None:
        super()._check_combination(init)
        if self.graph is None:
            refuse_unused(self, ["alpha", "scale"], "there is no graph, and no penalty")
            if self.pretraining == "wsf":
                raise ValueError('pretraining="wsf" has no penalty without a graph: use "semi-nmf".')
        elif self.batch_size is not None and not self._network:
            raise ValueError('batch_size with a graph needs solver="adam" or "sgd": the graph links the batches.')

    def _graphs(self, X, groups) -> Graphs:
        """Return the penalty of each layer: a graph on the top codes, if there is one."""
        hidden = [None] * (len(self._sizes) - 1)
        graph = as_graph(self.graph)
        if graph is None or self.alpha == 0:
            return [*hidden, None]
        operator = graph.build(X, None, groups)
        return [*hidden, (float(self.alpha), operator) if operator.degree.any() else None]

    def _run(self, X, data: Matrix, graphs: Graphs, init, hook) -> None:
        if self.batch_size is None or self._network:
            super()._run(X, data, graphs, init, hook)
            return
        self._stack, self.pretraining_histories_ = None, []
        self._ridges = self._weights_of_ridges(data)
        self._keep(data, self._by_batches(X, data, init, hook))

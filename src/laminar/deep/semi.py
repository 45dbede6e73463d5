"""Deep Semi-NMF: several layers of non-negative codes, each the basis of the one above."""

from __future__ import annotations

from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._engine.data.matrix import Matrix
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._engine.linalg.blocked import gram
from .._engine.monitor import Monitor, Solution
from .._utils import threads
from .._utils.callbacks import hooks, with_callbacks
from .._utils.typing import Data
from ..graphs import Rank, as_graph
from ..graphs.smoothing import smoothed_codes
from .batches import Batches
from .composition import is_narrow, least_change, regress
from .linear import Deep
from .rotation import nonnegative_rotation


class DeepSemiNMF(Batches):
    """Deep Semi-NMF, X ~ H_m Z_m ... Z_1 with H_m non-negative and the weights of any sign.

    H_i (n_samples, k_i) are the codes of layer i, Z_i (k_i, k_{i-1}) its weights, k_0 = n_features and H_0 = X. The
    codes of the top layer take the place of scikit-learn's W, the product of the weights that of its H. What is
    minimised, and recorded in ``objective_history_``, depends on the parameters. With ``graph=None``, eq. 10 of [1]_::

        1/2 ||X - H_m Z_m ... Z_1||^2,   H_m >= 0                                                                   (1)

    With a graph, which is the default for the squared error, the top codes do not minimise (1). They are the smoothed,
    whitened samples Y (n_samples, k_m), rotated to be as non-negative as possible::

        1/2 ||Y R - H_m||^2   over rotations R (k_m, k_m) and H_m >= 0                                              (2)

    and the weights are then fitted to them by least squares. With ``objective="coupled"`` all codes are variables::

        1/2 sum_i mu_i sum_b s_{i-1,b} ||(H_{i-1} - H_i Z_i)_b||^2,   all H_i >= 0                                  (3)

    over the columns b of H_{i-1}, with mu_1 = 1, mu_i = ``coupling`` above, s_0 = 1 and ``s_i = (Z_i * Z_i) s_{i-1}``,
    which make it independent of the scales of the codes. With an activation g, eq. 14 of [1]_ and a small ridge with
    eps = 2^-22::

        1/2 ||X - H_1 Z_1||^2 + eps/2 ||H_1||^2 ||Z_1||^2,   H_{i-1} = g(H_i Z_i),   H_m >= 0                       (4)

    Parameters
    ----------
    layers : sequence of int, default=(625, 40)
        Size k_1, ..., k_m of each layer, from the input up.
    objective : {"reconstruction", "coupled"}, default="reconstruction"
        The squared error of the whole product, (1), (2) or (4); or of every layer to the one below it, (3).
    graph : {"auto", None, "rank", "knn", "chain"}, Graph, sparse matrix or ndarray, default="auto"
        Graph over which the whitened samples are smoothed: "rank" links nearest neighbours with weight one over the
        rank, "knn" the five nearest with weight 1, "chain" consecutive samples; a matrix holds the weights. None
        minimises (1). "auto" is "rank" where a graph is possible, that is for ``objective="reconstruction"`` without
        activation, ``batch_size``, ``rule="published"`` and ``fit(init=...)``, and None elsewhere. With "rank" clusters
        of faces are found better than with None (docs/clustering.md).
    smoothing : float, default=5.0
        Strength lam of the smoothing over the graph.
    coupling : float, default=1.0
        Weight mu_i of the layers above the first in (3).
    activation : {None, "stanh", "square", "relu", "softplus", "sigmoid"}, default=None
        Function g between the layers, applied entry by entry: ``1.7159 tanh(2 x / 3)``, ``x^2``, ``max(0, x)``,
        ``log(1 + exp(x))`` or ``1 / (1 + exp(-x))``. None is the identity.
    solver : {"auto", "hals", "mu", "apg", "lbfgs", "adam"}, default="auto"
        Without an activation the update of the codes: "hals" ("auto"), that is coordinate descent over columns,
        multiplicative updates or accelerated projected gradient; with a graph, of the hidden codes alone. With an
        activation the optimiser of (4): "lbfgs" ("auto"), "apg" or "adam" ("auto" with ``batch_size``).
        ``rule="published"`` has its own updates.
    batch_size : int or None, default=None
        Number of samples of a batch; None uses all samples at once. Without an activation the codes of a batch are
        exact and the weights follow discounted sums over the batches; with one, batches are steps of Adam.
    init : str, default="auto"
        Initialiser of the pre-training of each layer: "random", "kmeans", "svd", "lp", "nndsvd", "nndsvda" or
        "nndsvdar". "auto" is "lp", Algorithm 3 of [3]_, or "random" with an activation. With a graph it initialises the
        hidden layers alone; ``rule="published"`` always begins with random codes.
    max_iter : int, default=500
        Maximum number of iterations after pre-training: of fine-tuning; epochs with ``batch_size``; with a graph,
        rotations, at most 150. 0 keeps the initial weights: with ``fit(X, init=model)`` the result are the codes of X
        on the layers of another model.
    tol : float, default=1e-5
        For (1) and (3) the fit has converged when two consecutive iterations each decrease the objective by at most
        ``tol`` times its value and the KKT residual is at most ``sqrt(tol)``; for (4) after three iterations (20 epochs
        of "adam"), in batches after three epochs, that each decrease it by less than ``tol`` of its value. (2) ends
        when a rotation decreases it by less than 1e-6 of its value. ``rule="published"`` makes all its iterations and
        has converged if the last two changed the objective by at most ``tol`` of it.
    rule : {"fast", "published"}, default="fast"
        "published" is Algorithm 1 of [1]_ on (1): ``max_iter`` multiplicative iterations for the pre-training of each
        layer, and as many of fine-tuning.
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
    layers_ : list of Layer
        From the input up. ``weights`` is Z_i of shape (k_i, k_{i-1}), ``components`` the basis Z_i ... Z_1 of shape
        (k_i, n_features) (with an activation, see ``components_``), and ``representation`` H_i of shape (n_samples,
        k_i), the codes of the training samples.
    components_ : ndarray of shape (k_m, n_features)
        The basis Z_m ... Z_1 of the top layer, with rows of unit Euclidean norm. With an activation, the change of the
        reconstruction when one top code alone goes from 0 to its root mean square.
    clusters_ : Clusters
        k-means of the top codes, whitened and with rows of unit norm, fitted when `predict`, `fit_predict` or `cluster`
        first needs it. After smoothing over a graph the codes are not whitened: each column is divided by the norm of
        its component instead.
    reconstruction_err_ : float
        ``||X - H_m Z_m ... Z_1||``, or ``||X - H_1 Z_1||`` with an activation, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1), (2), (3) or (4) after each accepted iteration. In batches, and with "adam", the sum over the
        batches of an epoch, each before its own step.
    n_iter_ : int
        Number of iterations made, without pre-training: of fine-tuning, epochs or rotations.
    converged_ : bool
        Whether the fit met its stopping rule, see ``tol``, within ``max_iter`` iterations.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    SemiNMF : One layer.
    DeepWSF : Layers with labels.
    MultiLayerNMF : Non-negative layers, learned one after the other.
    MultiViewDeepNMF : Several views.

    Notes
    -----
    **Algorithm.** *Pre-training*: layer i is a Semi-NMF of the codes below it, multiplied by the square root of the
    Gram matrix of their basis, so that distances are those in the space of X. *Fine-tuning* of (1): with Psi = Z_m ...
    Z_1, B = X Psi^T and G = Psi Psi^T, one iteration is that of `SemiNMF`::

        h_a <- max(0, h_a - (H_m g_a - b_a) / G_aa),   a = 1..k_m;        Psi <- (H_m^T H_m)^-1 H_m^T X             (5)

    Each step is followed by an extrapolation ``F + beta (F - F_old)`` with an adaptive beta, after [2]_; an iteration
    that increases the objective is rejected and beta is decreased. In the end Z_1 takes the change of Psi by the least
    change, so that the hidden layers keep their rank; where a hidden layer is smaller than the top one, every Z_i is
    changed in each iteration instead. ``rule="published"``, eq. 11 and 12 of [1]_, for i = 1..m in each iteration::

        Z_i <- pinv(H_m Z_m ... Z_{i+1}) X pinv(Psi_{i-1}),   Psi_i = Z_i ... Z_1                                   (6)
        H_i <- H_i * ((B_i^+ + H_i G_i^-) / (B_i^- + H_i G_i^+))^(1/2),   B_i = X Psi_i^T,   G_i = Psi_i Psi_i^T    (7)

    with ``A^+ = max(A, 0)`` and ``A^- = max(-A, 0)``. (The paper writes Psi_{i-1} in eq. 12, where Psi_i is meant.)
    *With a graph*: U holds the leading left singular vectors of X with rows of unit norm, W is the graph of these rows,
    N = D^-1/2 W D^-1/2, and::

        S = ((1 + lam) I - lam N)^-1 U,     Y = the k_m leading principal scores of S, with rows of unit norm
        H_m <- max(0, Y R),     R <- P Q^T from the singular value decomposition P D Q^T of Y^T H_m                 (8)

    from two random rotations, of which the better is kept. U has k_m columns, or with ``n_clusters`` at least
    ``2 n_clusters``. (3) is minimised by HALS and least squares with extrapolation; (4) by L-BFGS-B over H_m and Z_2,
    ..., Z_m, with the best Z_1 for them.

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

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import DeepSemiNMF
    >>> X = np.random.default_rng(0).normal(size=(40, 12))
    >>> model = DeepSemiNMF(layers=(6, 3), graph=None, random_state=0).fit(X)
    >>> [layer.components.shape for layer in model.layers_], model.transform(X, layer=0).shape
    ([(6, 12), (3, 12)], (40, 6))
    """

    _parameter_constraints: dict = {
        **Deep._parameter_constraints,
        "objective": [StrOptions({"reconstruction", "coupled"})],
        "graph": [None, StrOptions({"auto", "rank", "knn", "chain"}), HasMethods("build"), "sparse matrix", np.ndarray],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "coupling": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        layers=(625, 40),
        *,
        objective="reconstruction",
        graph="auto",
        smoothing=5.0,
        coupling=1.0,
        activation=None,
        solver="auto",
        batch_size=None,
        init="auto",
        max_iter=500,
        tol=1e-5,
        rule="fast",
        n_clusters=None,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.layers = layers
        self.objective = objective
        self.graph = graph
        self.smoothing = smoothing
        self.coupling = coupling
        self.activation = activation
        self.solver = solver
        self.batch_size = batch_size
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.rule = rule
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
        y : Ignored
            Not used, present for API consistency.
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
        self._check_combination(init)
        X = self._validate(X, reset=True)
        self._stack = self._stream = self._online = None
        with threads.own_threads(), hooks(self, max(self.max_iter, 1), X, y) as hook:
            data = wrap(X)
            data.unit(2)  # refuses X out of range before anything else
            if self.activation is not None:
                self._keep_fit(X, self._train_stack(X, data, init, self.activation, None, hook))
            else:
                self._keep(data, *self._solved(X, data, init, hook))
        self._warn_unconverged()
        return self

    def _check_combination(self, init) -> None:
        published, coupled = self.rule == "published", self.objective == "coupled"
        if published and (coupled or init is not None):
            raise ValueError('rule="published" has one objective and its own start: use rule="fast".')
        if (self.activation is not None or self.batch_size is not None) and (published or coupled):
            raise ValueError('an activation or batch_size needs objective="reconstruction" and rule="fast".')
        self._check_solver(self.activation is not None, f"activation={self.activation!r}")
        special = published or coupled or init is not None or self.activation or self.batch_size
        if special and not self._graph_is_free:
            raise ValueError("a graph smooths the codes of the squared error from a start of its own: use graph=None.")

    @property
    def _graph_is_free(self) -> bool:
        """Whether ``graph`` has its default."""
        return self.graph is None or _is(self.graph, "auto")

    def _solved(self, X, data: Matrix, init, hook) -> tuple[Solution, np.ndarray | None]:
        """Return the solution of a fit without an activation and, with a graph, the lengths of the top codes."""
        without_graphs = [None] * len(self._sizes)
        if self.rule == "published":
            return self._publish(X, data, without_graphs, hook), None
        if self.batch_size is not None:
            return self._by_batches(X, data, init, hook), None
        # One sample has no neighbours.
        plain = self.graph is None or init is not None or (_is(self.graph, "auto") and data.shape[0] == 1)
        if self.objective == "reconstruction" and not plain:
            return self._smooth(data, hook)
        start = self._begin(data, init)
        if self.objective == "coupled":
            return self._couple(data, *start, without_graphs, hook), None
        return self._fine_tune(data, *start, hook), None

    def _smooth(self, data: Matrix, hook, *, max_rotations: int = 150) -> tuple[Solution, np.ndarray]:
        """Whiten the codes of the top layer, smooth them over the graph of their directions, and rotate them to be
        non-negative, in at most ``max_rotations`` steps.
        """
        rng, k = check_random_state(self.random_state), self._sizes[-1]
        U, s, _ = truncated_svd(data, self._width(k), rng)
        rank = max(1, int((s > max(data.shape) * np.finfo(data.dtype).eps * s[0]).sum()))
        Y = smoothed_codes(U[:, :rank], self._graph(k), self.smoothing)[:, :k]
        Y = np.pad(Y, ((0, 0), (0, k - Y.shape[1])))  # components beyond the rank of X are zero
        monitor = Monitor(min(max(self.max_iter, 1), max_rotations), 0.0, hook)
        solution = nonnegative_rotation(Y, rng, monitor=monitor)
        H = solution.factors["H"].astype(data.dtype)
        codes, before = self._pretrain(data, self._sizes[:-1])
        before.append(regress(H, codes[-1] if codes else data))
        weights, product = before, data.T.product(H).T
        for _ in range(10 if is_narrow(before) else 1):
            weights = least_change(weights, gram(H), product)
        codes, weights, lengths = self._hidden_codes(data, [*codes, H], weights, before)
        return self._reached(codes, weights, solution), lengths

    def _graph(self, k: int):
        if _is(self.graph, "auto") or _is(self.graph, "rank"):
            return Rank(n_clusters=self.n_clusters or k)
        return as_graph(self.graph)

    def _width(self, k: int) -> int:
        """Return the number of whitened directions of the graph: at least twice the number of clusters."""
        return max(k, 2 * self.n_clusters) if self.n_clusters else k


def _is(value, name: str) -> bool:
    """Whether a parameter, which may be an array, equals a string."""
    return isinstance(value, str) and value == name

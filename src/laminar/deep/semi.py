"""Deep Semi-NMF: several layers of non-negative codes, each the basis of the one above."""

from __future__ import annotations

from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._engine.data.matrix import Matrix, wrap
from .._engine.data.svd import truncated_svd
from .._engine.terms import gram_of
from .._utils import threads
from .._utils.callbacks import hooks, with_callbacks
from .._utils.typing import Data
from ..graphs import Rank, as_graph
from ..graphs.smoothing import smoothed_codes
from .batches import Batches
from .linear import Deep, Fit
from .rotation import nonnegative_rotation
from .stacks import is_narrow, least_change, regress

_TURNS = 150  # of the rotation that makes smoothed codes non-negative


class DeepSemiNMF(Batches):
    """Deep Semi-NMF, ``X ~ H_m Z_m ... Z_1`` with H_m non-negative and the weights of any sign.

    Parameters
    ----------
    layers : sequence of int, default=(625, 40)
        Size of each layer, from the input up.
    objective : {"reconstruction", "coupled"}, default="reconstruction"
        Squared error of the whole product; or of every layer to the one below, with hidden layers that are variables.
    graph : {"auto", None, "rank", "knn"}, Graph or sparse matrix, default="auto"
        Codes that agree with their neighbours: samples are linked where their whitened codes are close, codes are
        smoothed over the graph and turned until they are non-negative. None is the plain model. "auto" is "rank" for
        the squared error from a start of one's own, where it finds clusters of faces better (docs/clustering.md), and
        None elsewhere.
    smoothing : float, default=5.0
        How strongly the graph smooths.
    coupling : float, default=1.0
        Weight of the layers above the first in the coupled objective.
    activation : {None, "stanh", "square", "relu", "softplus", "sigmoid"}, default=None
        What stands between the layers: ``X ~ g(... g(H_m Z_m) ...) Z_1``. With one, hidden codes follow from the top.
    solver : {"auto", "hals", "mu", "apg", "lbfgs", "adam"}, default="auto"
        How codes move: coordinate descent ("auto"), multiplicative updates, accelerated gradient. With an activation
        "lbfgs" ("auto"), "apg" or "adam". With a graph it moves the hidden codes alone; the published rule has its own.
    batch_size : int or None, default=None
        Learn from so many samples at a time. Without an activation each batch is coded exactly and the basis follows
        running sums; with one, the steps are Adam's.
    init : {"auto", "random", "kmeans", "svd", "lp"}, default="auto"
        Start of each layer's pre-training; "auto" is "lp".
    max_iter : int, default=500
        Largest number of sweeps of fine-tuning; with a graph, of turns, which are never more than 150. 0 keeps the
        start: with ``fit(X, init=model)`` the codes of X on another model's layers.
    tol : float, default=1e-5
        Stop when a sweep lowers the objective by less than this part of it and the KKT residual is below its root.
        With a graph the turns end when they gain less than 1e-6, whatever ``tol``. The published rule makes all its
        sweeps: it has converged if the last two changed the objective by less than ``tol`` of it.
    rule : {"fast", "published"}, default="fast"
        "published" is Algorithm 1 of Trigeorgis et al. to the letter: multiplicative pre-training and fine-tuning of
        ``max_iter`` sweeps each, from random codes.
    n_clusters : int or None, default=None
        For `predict`; None means the size of the top layer.
    callback : callable or None, default=None
        Called with (iteration, objective, seconds); stops the fit by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts and of k-means.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    layers_ : list of Layer
        From the input up, each with ``weights``, ``components`` in the input space and ``representation``.
    components_ : ndarray of shape (layers[-1], n_features)
        Basis of the top layer, of unit length.
    reconstruction_err_ : float
        ``||X - H_m Z_m ... Z_1||``.
    objective_history_ : ndarray
        The objective, sweep by sweep; with a graph, the distance of the smoothed codes from non-negative ones.
    n_iter_ : int
        Number of sweeps, or of turns with a graph.
    converged_ : bool
        Whether the fit came to rest within ``max_iter``, by what ``tol`` says.

    Notes
    -----
    The squared error of a linear stack depends on the top codes and the product of the weights alone: fine-tuning *is*
    Semi-NMF from where pre-training ended. Hidden layers are then read-outs, kept as close to pre-training as the top
    allows.

    References
    ----------
    G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning attribute
    representations, IEEE TPAMI 39, 2017.

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
        """Learn the layers of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.
        init : fitted model with layers, default=None
            Start from its weights instead of pre-training, as for transfer from labelled data: a model with the same
            layers on the same features.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X, y, init)

    def _fit(self, X, y, init):
        self._validate_params()
        self._check_combination(init)
        X = self._validate(X, reset=True)
        self._stack = self._stream = self._online = None
        with threads.own_threads(), hooks(self, max(self.max_iter, 1), X, y) as hook:
            data = wrap(X)
            self._unit(data)  # X out of range is refused before anything is done with it
            if self.activation is not None:
                self._keep_fit(X, self._train_stack(X, data, init, self.activation, None, hook))
            else:
                self._keep(data, self._solved(X, data, init, hook))
        self._warn()
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
        """Whether no graph was asked for by name."""
        return self.graph is None or _is(self.graph, "auto")

    def _solved(self, X, data: Matrix, init, hook) -> Fit:
        """The fit these parameters ask for, without an activation."""
        nothing = [None] * len(self._sizes)
        if self.rule == "published":
            return self._publish(X, data, nothing, hook)
        if self.batch_size is not None:
            return self._by_batches(X, data, init, hook)
        # One sample has no neighbours.
        plain = self.graph is None or init is not None or (_is(self.graph, "auto") and data.shape[0] == 1)
        if self.objective == "reconstruction" and not plain:
            return self._smooth(data, hook)
        start = self._begin(data, init)
        if self.objective == "coupled":
            return self._couple(data, *start, nothing, hook)
        return self._fine_tune(data, *start, hook)

    def _smooth(self, data: Matrix, hook) -> Fit:
        """The top layer: whitened codes, smoothed over the graph of their directions, turned to be non-negative."""
        rng, k = check_random_state(self.random_state), self._sizes[-1]
        U, s, _ = truncated_svd(data, self._width(k), rng)
        rank = max(1, int((s > max(data.shape) * np.finfo(data.dtype).eps * s[0]).sum()))
        Y = smoothed_codes(U[:, :rank], self._graph(k), self.smoothing)[:, :k]
        Y = np.pad(Y, ((0, 0), (0, k - Y.shape[1])))  # components beyond the rank of X stay silent
        turns = min(max(self.max_iter, 1), _TURNS)
        H, history, converged = nonnegative_rotation(Y, rng, max_iter=turns, callback=hook)
        H = H.astype(data.dtype)
        codes, before = self._pretrain(data, self._sizes[:-1])
        before.append(regress(H, codes[-1] if codes else data))
        weights, gram, product = before, gram_of(H), data.T.product(H).T
        for _ in range(10 if is_narrow(before) else 1):
            weights = least_change(weights, gram, product)
        codes, weights, lengths = self._read_out(data, [*codes, H], weights, before)
        return Fit(codes, weights, history, len(history), converged or not self.max_iter, lengths)

    def _graph(self, k: int):
        if _is(self.graph, "auto") or _is(self.graph, "rank"):
            return Rank(n_clusters=self.n_clusters or k)
        return as_graph(self.graph)

    def _width(self, k: int) -> int:
        """How many whitened directions the graph of a layer is built on: enough to tell the clusters apart."""
        return max(k, 2 * self.n_clusters) if self.n_clusters else k


def _is(value, name: str) -> bool:
    """Whether a parameter that may be an array is this word."""
    return isinstance(value, str) and value == name

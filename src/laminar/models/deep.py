"""Deep Semi-NMF: several layers of non-negative codes, each the basis of the one above."""

from __future__ import annotations

from itertools import pairwise
from numbers import Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .. import threads
from ..callbacks import hooks, with_callbacks
from ..data import Matrix, wrap
from ..deep import Deep, Fit
from ..graphs import Rank, as_graph
from ..linalg import truncated_svd
from ..nonlinear import code, stream_step
from ..nonlinear import pretrain as pretrain_stack
from ..online import Online
from ..smoothing import nonnegative_rotation, smoothed_codes
from ..stacks import canonical, compose, is_narrow, keep_close, regress


class DeepSemiNMF(Deep):
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
        the squared error from a start of one's own, where it was best on every set of images measured, and None
        elsewhere.
    smoothing : float, default=5.0
        How strongly the graph smooths.
    coupling : float, default=1.0
        Weight of the layers above the first in the coupled objective.
    activation : {None, "stanh", "square", "relu", "softplus", "sigmoid"}, default=None
        What stands between the layers: ``X ~ g(... g(H_m Z_m) ...) Z_1``. With one, hidden codes follow from the top.
    solver : {"auto", "hals", "mu", "apg", "lbfgs", "adam"}, default="auto"
        How codes move: coordinate descent ("auto"), multiplicative updates, accelerated gradient. With an activation
        "lbfgs" ("auto"), "apg" or "adam".
    batch_size : int or None, default=None
        Learn from so many samples at a time. Without an activation each batch is coded exactly and the basis follows
        running sums; with one, the steps are Adam's.
    init : {"auto", "random", "kmeans", "svd", "lp"}, default="auto"
        Start of each layer's pre-training; "auto" is "lp".
    max_iter : int, default=500
        Largest number of sweeps of fine-tuning. 0 keeps the start: with ``fit(X, init=model)`` the codes of X on
        another model's layers.
    tol : float, default=1e-5
        Stop when a sweep lowers the objective by less than this part of it and the KKT residual is below its root.
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
        Number of sweeps.
    converged_ : bool
        Whether the fit stopped by itself.

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
        self._store(locals())

    @with_callbacks
    def fit(self, X, y=None, init=None):
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
        return self._fit(X, init)

    def _fit(self, X, init):
        self._validate_params()
        self._check_combination(init)
        X = self._validate(X, reset=True)
        self._stack = self._stream = self._online = None
        with threads.own_threads(), hooks(self, max(self.max_iter, 1)) as hook:
            data = wrap(X)
            unit = self._unit(data)
            if self.activation is not None:
                self._keep_fit(X, self._train_stack(X, data, init, self.activation, None, hook))
            else:
                self._keep(data, self._route(data, init)(X, data, init, in_units(hook, unit)))
        self._warn()
        return self

    def _check_combination(self, init) -> None:
        if self.rule == "published" and (self.objective == "coupled" or init is not None):
            raise ValueError('rule="published" has one objective and its own start: use rule="fast".')
        if self.activation is not None and (self.rule == "published" or self.objective == "coupled"):
            raise ValueError('an activation needs objective="reconstruction" and rule="fast".')
        self._check_solver()
        special = (
            self.rule == "published",
            self.objective == "coupled",
            init is not None,
            self.activation,
            self.batch_size,
        )
        plain = any(special)
        if plain and not (self.graph is None or _is(self.graph, "auto")):
            raise ValueError("a graph smooths the codes of the squared error from a start of its own: use graph=None.")

    def _route(self, init):
        """How these parameters are fitted."""
        nothing = [None] * len(self._sizes)
        if self.rule == "published":
            return lambda X, data, init, callback: self._publish(X, data, nothing, callback)
        if self.objective == "coupled":
            return lambda X, data, init, callback: self._couple(data, *self._begin(data, init), nothing, callback)
        if self.batch_size is not None:
            return self._by_batches
        return self._reconstruct if self.graph is None or init is not None else self._smooth

    def _reconstruct(self, X, data: Matrix, init, callback) -> Fit:
        return self._fine_tune(data, *self._begin(data, init), callback)

    def _smooth(self, X, data: Matrix, init, callback) -> Fit:
        """The top layer: whitened codes, smoothed over the graph of their directions, turned to be non-negative."""
        rng, k = check_random_state(self.random_state), self._sizes[-1]
        U = truncated_svd(data, self._width(k), rng)[0]
        Y = smoothed_codes(U, self._graph(k), self.smoothing)[:, :k]
        Y = np.pad(Y, ((0, 0), (0, k - Y.shape[1])))  # components beyond the rank of X stay silent
        H, history = nonnegative_rotation(Y, rng)
        H = H.astype(data.dtype)
        codes, weights = self._pretrain(data, self._sizes[:-1])
        weights.append(regress(H, codes[-1] if codes else data))
        codes.append(H)
        weights = keep_close(weights, regress(H, data))
        for i, value in enumerate(history):
            callback(i + 1, value / data.scale**2, 0.0)
        return Fit(codes, weights, [value / data.scale**2 for value in history], len(history), spherical=True)

    def _graph(self, k: int):
        if _is(self.graph, "auto") or _is(self.graph, "rank"):
            return Rank(n_clusters=self.n_clusters or k)
        return as_graph(self.graph)

    def _width(self, k: int) -> int:
        """How many whitened directions the graph of a layer is built on: enough to tell the clusters apart."""
        return max(k, 2 * self.n_clusters) if self.n_clusters else k

    def _by_batches(self, X, data: Matrix, init, callback) -> Fit:
        """Epochs over contiguous batches in random order, then the codes of all samples."""
        rng, n = check_random_state(self.random_state), data.shape[0]
        edges = [*range(0, n, self.batch_size), n]
        batches = [slice(a, b) for a, b in pairwise(edges) if b > a]
        online, history = self._first_batch(X[: max(self.batch_size, 2 * max(self._sizes))], init), []
        for epoch in range(max(self.max_iter, 1)):
            cost = sum(online.learn(wrap(X[batches[i]]), self._exact)[1] for i in rng.permutation(len(batches)))
            history.append(cost / data.scale**2)
            quiet = epoch > 0 and abs(history[-2] - history[-1]) <= self.tol * history[-1]
            if callback(epoch + 1, history[-1], 0.0) or quiet:
                break
        weights = [online.weights[0] / data.dtype.type(data.scale), *online.weights[1:]]
        codes = [self._exact(data, basis) for basis in compose(weights)]
        return Fit(codes, weights, history, len(history), bool(quiet))

    def _exact(self, data: Matrix, basis: np.ndarray) -> np.ndarray:
        return self._codes(data, np.zeros((data.shape[0], len(basis)), data.dtype), basis)

    def _first_batch(self, X, init) -> Online:
        """Weights in the units of X, from another model or from pre-training on a few samples."""
        if is_narrow(self._sizes):
            raise ValueError(f"layers={self.layers!r}: batches need a top layer that is not larger than a hidden one.")
        data = wrap(X)
        if init is not None:
            return Online(self._given_weights(init, data))
        weights = self._pretrain(data, self._sizes)[1]
        return Online([weights[0] * data.dtype.type(data.scale), *weights[1:]])

    def partial_fit(self, X, y=None):
        """Learn from one more batch of a stream, and forget it: memory does not grow with the number of batches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The batch. The first one begins the layers: the larger it is the better they start.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The model so far; its codes are those of this batch.
        """
        first = not hasattr(self, "layers_")
        if first:
            self._validate_params()
            self._check_combination(None)
        X = self._validate(X, reset=first)
        with threads.own_threads():
            self._learn_stack(X) if self.activation is not None else self._learn_linear(X)
        return self

    def _learn_linear(self, X) -> None:
        if not hasattr(self, "_online"):
            self._online, self.objective_history_ = self._first_batch(X, None), np.empty(0)
        data = wrap(X)
        H, cost = self._online.learn(data, self._exact)
        codes = (
            [self._exact(data, B) * data.scale for B in compose(self._online.weights[:-1])]
            if len(self._sizes) > 1
            else []
        )
        codes, weights, _ = canonical([*codes, H.astype(data.dtype)], self._online.weights)
        self._keep_layers(codes, weights, compose(weights))
        self._heard(cost, self._online.n_batches)

    def _learn_stack(self, X) -> None:
        if not hasattr(self, "_stream"):
            self._stream = pretrain_stack(X, self._sizes, self.activation, random_state=self.random_state)[0]
            self.objective_history_ = np.empty(0)
        self._stream = stream_step(X, self._stream)
        self._keep_stack(X, self._stream.stack, code(X, self._stream.stack))
        self._heard(self._stream.loss * X.shape[0], self._stream.n_steps)

    def _heard(self, cost: float, n_batches: int) -> None:
        """Keep the cost of each batch as it came."""
        self.objective_history_ = np.append(self.objective_history_, cost)
        self.reconstruction_err_ = float(np.sqrt(2 * cost))
        self.n_iter_, self.converged_ = n_batches, True


def _is(value, name: str) -> bool:
    """Whether a parameter that may be an array is this word."""
    return isinstance(value, str) and value == name

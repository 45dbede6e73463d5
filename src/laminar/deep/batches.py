"""Learning a linear stack from batches: each is coded exactly, and the basis minimises discounted sums over all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from .._base.clusters import refuse_without_codes
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.linalg.small import ridged
from .._engine.loops import recorded
from .._engine.monitor import Solution
from .._utils import threads
from .._utils.callbacks import Hook
from .._utils.typing import Data
from .composition import compose, least_change, unit_basis
from .linear import Deep
from .nonlinear import Stream, code, stream_step
from .pretraining import layer_sizes

Code = Callable[[Matrix, np.ndarray, float], np.ndarray]  # a batch, a basis and a ridge -> its codes, in unit scale


@dataclass
class Online:
    """A stack learned from a stream of batches; its memory does not grow with their number.

    Attributes
    ----------
    weights : list of ndarray
        From the input up.
    unit : float
        What the basis is multiplied by to be in the units of X.
    ridge : float
        Weight of the ridge of the top codes.
    n_batches : float
        Number of batches so far.
    gram, product : ndarray
        Discounted sums of ``H^T H`` and ``H^T X``.
    discount : float
        Exponent: at batch t the sums so far are multiplied by ``(1 - 1/t)^discount``, for they were coded on an
        earlier basis.
    """

    weights: list[np.ndarray]
    unit: float
    ridge: float = 0.0
    n_batches: float = 0
    gram: np.ndarray = field(init=False)
    product: np.ndarray = field(init=False)
    discount: float = 1.5

    def __post_init__(self):
        basis = compose(self.weights)[-1]
        self.gram, self.product = np.zeros((len(basis),) * 2), np.zeros(basis.shape)

    def remember(self, H: np.ndarray, n_batches: float) -> None:
        """Set the sums to those of codes H, for which the weights are the best, in so many batches."""
        H = H.astype(np.float64) / self.unit
        self.gram = H.T @ H
        self.product, self.n_batches = ridged(self.gram, self.ridge) @ compose(self.weights)[-1], n_batches

    def learn(self, batch: Matrix, code: Code) -> tuple[np.ndarray, float]:
        """Code a batch, then move the basis; returns the codes and half their squared error, both over ``unit``."""
        basis, scale = compose(self.weights)[-1], batch.scale / self.unit
        H = code(batch, basis, self.ridge).astype(np.float64) * scale
        product = batch.T.product(H.astype(batch.dtype)).T.astype(np.float64) * scale
        gram = H.T @ H
        fit = float(np.vdot(gram, basis.astype(np.float64) @ basis.T) / 2 - np.vdot(product, basis))
        self.n_batches += 1
        keep = (1 - 1 / self.n_batches) ** self.discount
        self.gram, self.product = keep * self.gram + gram, keep * self.product + product
        top = len(self.weights) - 1
        self.weights = least_change(self.weights, {top: ridged(self.gram, self.ridge)}, {top: self.product})
        return H, max(fit + batch.sqnorm * scale**2 / 2, 0.0)


class Batches(Deep):
    """A stack that is learned from batches of samples: in epochs, or from a stream."""

    _online: Online | None = None  # state of a stream: of a linear stack, and of one with an activation
    _stream: Stream | None = None

    def _by_batches(self, X, data: Matrix, init, hook, *, n_small: int = 3) -> Solution:
        """Fit in epochs over contiguous batches in random order, until ``n_small`` small decreases in a row."""
        rng, n = check_random_state(self.random_state), data.shape[0]
        batches = [slice(a, min(a + self.batch_size, n)) for a in range(0, n, self.batch_size)]
        online = self._first_batch(wrap(X[: max(self.batch_size, 2 * max(self._sizes))]), init, hook)

        def layers(factors) -> tuple[list[np.ndarray], list[np.ndarray]]:
            weights = unit_basis(factors["weights"])[0]
            return self._codes_of_layers(data, weights), weights

        monitor = replace(self._monitor(data, hook, layers), n_small=n_small)
        with recorded(monitor):
            while monitor.running:
                costs = (online.learn(wrap(X[batches[i]]), self._exact_codes)[1] for i in rng.permutation(len(batches)))
                monitor.step(sum(costs) * (online.unit / data.scale) ** 2, lambda: {"weights": online.weights})
        return self._reached(*layers({"weights": online.weights}), Solution.reached({}, monitor))

    def _first_batch(self, data: Matrix, init=None, hook: Hook = lambda *_, **__: False) -> Online:
        """Return weights from another model or from pre-training on a few samples."""
        if init is not None:
            return Online(self._given_weights(init, data), data.scale, self._ridges[-1])
        without_graphs = [None] * len(self._sizes)
        return Online(self._pretrain(data, self._sizes, without_graphs, hook)[1], data.scale, self._ridges[-1])

    @available_if(lambda self: self._check_stream())
    def partial_fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Update the layers with one batch of a stream of samples.

        The codes of the batch are exact for the current weights; without an activation the weights then minimise the
        error of the batches so far, older ones discounted, and with one they make a step of Adam. Memory does not grow
        with the number of batches. It needs ``objective="reconstruction"``, ``rule="fast"`` and no graph.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The batch. The layers are pre-trained on the first one, so a large one is better.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The estimator; ``representation`` of its layers holds the codes of this batch.
        """
        self._validate_params()
        self._check_combination(None)
        X = self._validate(X, reset=not hasattr(self, "layers_"))
        if not hasattr(self, "layers_"):
            self._sizes, self.pretraining_histories_ = layer_sizes(self.layers, *X.shape), []
            self._check_layer(len(self._sizes))
            self._ridges = self._weights_of_ridges(wrap(X))
        with threads.own_threads():
            data = wrap(X)
            data.unit(2)  # refuses X out of range before anything else
            self._learn_linear(data) if self.activation is None else self._learn_stack(X)
        self.objective_history_ = np.append(self.objective_history_, self.reconstruction_err_**2 / 2)
        self.n_iter_, self.converged_ = len(self.objective_history_), True
        self.history_iterations_ = np.arange(1, self.n_iter_ + 1)
        return self

    def _check_stream(self) -> bool:
        if self.rule == "published" or self.objective == "coupled" or self.graph is not None:
            raise AttributeError(
                'partial_fit learns the squared error of the product: use objective="reconstruction", rule="fast" and '
                "graph=None."
            )
        return True

    def _learn_linear(self, data: Matrix) -> None:
        if self._online is None or self._stack is not None:  # a stack with an activation is no start
            fitted = hasattr(self, "layers_") and self._stack is None
            self._online = self._continued(data.shape[0]) if fitted else self._first_batch(data)
            self._stack, self.objective_history_ = None, np.empty(0)
        online = self._online
        H, cost = online.learn(data, self._exact_codes)
        weights, sizes = unit_basis(online.weights)
        bases = compose(weights)
        hidden = zip(bases[:-1], self._ridges, strict=False)
        codes = [self._exact_codes(data, B, ridge) * data.dtype.type(data.scale) for B, ridge in hidden]
        self._keep_layers([*codes, (H * (sizes[-1] * online.unit)).astype(data.dtype)], weights, bases)
        self.reconstruction_err_ = float(np.sqrt(2 * cost)) * online.unit

    def _continued(self, batch_size: int) -> Online:
        """Return a fitted model as the start of a stream, as if fitted in batches of this size."""
        H = self.layers_[-1].representation
        refuse_without_codes(H, "partial_fit")
        weights, unit = [layer.weights for layer in self.layers_], float(np.abs(H).max(initial=0)) or 1.0
        online = Online(weights, unit, self.layers_[-1].ridge)
        online.remember(H, len(H) / batch_size)
        return online

    def _learn_stack(self, X) -> None:
        same = self._stack is not None and self._stack.activation == self._activation
        state: Any = self._stream
        if state is None or not same:
            without_graphs = [None] * len(self._sizes)
            state = self._stack if same else self._pretrained_stack(X, without_graphs, lambda *_, **__: False)[0]
            self.objective_history_ = np.empty(0)
        self._stream = stream_step(X, state)
        self._keep_stack(X, self._stream.stack, code(X, self._stream.stack))

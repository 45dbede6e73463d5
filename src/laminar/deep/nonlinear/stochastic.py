"""Adam and gradient descent on batches of samples, over their own codes and the common weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import EllipsisType

import numpy as np
from sklearn.utils import check_random_state

from ..._engine.data.matrix import Matrix, Rows
from ..._engine.monitor import Monitor
from ..._utils import threads
from ..._utils.typing import Data, Seed
from .coding import code
from .gradients import Penalty, as_data, evaluate, loss_and_gradients
from .stack import Stack


@dataclass
class Moments:
    """Exponential means of a gradient and of its square, as in Adam (Kingma and Ba, 2015, arXiv:1412.6980)."""

    mean: np.ndarray
    square: np.ndarray
    beta1: float = 0.9  # the paper's, as the next two
    beta2: float = 0.999
    epsilon: float = 1e-8

    @classmethod
    def zeros(cls, F: np.ndarray) -> Moments:
        """Return the moments of parameters F before the first gradient."""
        return cls(np.zeros_like(F), np.zeros_like(F))

    def step(
        self, gradient: np.ndarray, count: int, rate: float, rows: slice | np.ndarray | EllipsisType = ...
    ) -> np.ndarray:
        """Update the moments of some rows by their ``count``-th gradient, and return the step to subtract."""
        mean = self.beta1 * self.mean[rows] + (1 - self.beta1) * gradient
        square = self.beta2 * self.square[rows] + (1 - self.beta2) * gradient * gradient
        self.mean[rows], self.square[rows] = mean, square
        size = np.sqrt(square / (1 - self.beta2**count)) + self.epsilon
        return rate / (1 - self.beta1**count) * mean / size


Batch = slice | np.ndarray
Step = Callable[[Batch, Rows, list[Penalty | None], Stack, np.ndarray], float]
"""A batch, its samples and penalties, the weights and all codes, changed in place -> the objective before the step."""


def stochastic_gradient(
    data: Matrix,
    stack: Stack,
    H: np.ndarray,
    penalties: list[Penalty | None],
    monitor: Monitor,
    batch_size: int | None,
    step: Step,
    random_state: Seed,
) -> tuple[Stack, np.ndarray]:
    """Minimise by steps on batches, in unit scale; codes change with their batch.

    A penalty over a graph is estimated in each batch from the edges between its samples.
    """
    rng = check_random_state(random_state)
    stack = Stack([Z.copy() for Z in stack.weights], stack.activation)
    while monitor.running:
        total = 0.0
        for batch in _batches(len(H), batch_size, rng):
            total += step(batch, _samples(data, batch), _of_batch(penalties, batch, len(H)), stack, H)
        monitor.step(total, lambda: {"H": H, "weights": stack.weights})
    return stack, H


def adam(data: Matrix, stack: Stack, H: np.ndarray, rate: float) -> Step:
    """Return the steps of Adam with projection; the moments of codes change with their batch."""
    moments, own = [Moments.zeros(Z) for Z in stack.weights], Moments.zeros(H)
    seen, counts = 0, np.zeros(len(H), int)

    def step(batch: Batch, samples: Rows, penalties: list[Penalty | None], stack: Stack, H: np.ndarray) -> float:
        nonlocal seen
        value, by_codes, by_weights = evaluate(data, stack, H[batch], penalties, samples)
        seen += 1
        counts[batch] += 1
        H[batch] = np.maximum(H[batch] - own.step(by_codes, int(counts[batch][0]), rate, batch), 0)
        for Z, moment, gradient in zip(stack.weights, moments, by_weights, strict=True):
            Z -= moment.step(gradient, seen, rate)
        return value

    return step


def sgd(data: Matrix, stack: Stack, H: np.ndarray, rate: float) -> Step:
    """Return steps of gradient descent with projection, their size by Armijo's rule on the batch.

    The size begins at ``1000 rate`` and is halved, for this batch and all later ones, until the batch decreases by a
    half of what the gradient promises.
    """
    size = 1000 * rate

    def step(batch: Batch, samples: Rows, penalties: list[Penalty | None], stack: Stack, H: np.ndarray) -> float:
        nonlocal size
        h = H[batch]
        value, by_codes, by_weights = evaluate(data, stack, h, penalties, samples)
        while True:
            t = H.dtype.type(size)
            new = np.maximum(h - t * by_codes, 0)
            weights = [Z - t * G for Z, G in zip(stack.weights, by_weights, strict=True)]
            promised = float(np.vdot(by_codes, h - new)) + size * sum(float(np.vdot(G, G)) for G in by_weights)
            trial = evaluate(data, Stack(weights, stack.activation), new, penalties, samples)[0]
            if trial <= value - 0.5 * promised:
                H[batch], stack.weights = new, weights
                return value
            size /= 2
            if size * promised <= np.finfo(H.dtype).eps * abs(value) or not promised > 0:
                return value

    return step


STEPS: dict[str, Callable[[Matrix, Stack, np.ndarray, float], Step]] = {"adam": adam, "sgd": sgd}
"""Steps of the stochastic solvers."""


def _of_batch(penalties: list[Penalty | None], batch: Batch, n_samples: int) -> list[Penalty | None]:
    """Return the penalties of the samples of a batch."""
    if isinstance(batch, slice):
        return penalties
    return [penalty and penalty.take(batch, n_samples) for penalty in penalties]


def _batches(n: int, size: int | None, rng: np.random.RandomState) -> list[slice] | list[np.ndarray]:
    """Return all samples as one batch, or a random partition into batches of about equal size."""
    return [slice(0, n)] if size is None else np.array_split(rng.permutation(n), max(1, round(n / size)))


def _samples(data: Matrix, batch: slice | np.ndarray) -> Rows:
    """Return the rows of X of a batch, as a function of a slice of it."""
    return data.rows if isinstance(batch, slice) else lambda b: data.rows(batch[b])


@dataclass
class Stream:
    """State of a stack that is trained on a stream of batches.

    Attributes
    ----------
    stack : Stack
        The weights so far.
    scale : float
        Largest magnitude in the first batch, the unit of the steps of the first layer's weights.
    moments : list of Moments
        Of the weights of each layer.
    n_steps : int
        Number of batches so far.
    loss : float
        Objective of the last batch before its step, per sample.
    """

    stack: Stack
    scale: float = 1.0
    moments: list[Moments] = field(default_factory=list)
    n_steps: int = 0
    loss: float = np.inf


def stream_step(X: Data | Matrix, state: Stack | Stream, *, learning_rate: float = 1e-3) -> Stream:
    """Update a stack by one batch of a stream: code its samples, then take one step of Adam over the weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The batch, of 32 samples or more.
    state : Stack or Stream
        The start, e.g. from `pretrain` on a first batch; then the result of the last step.
    learning_rate : float, default=1e-3
        Step of Adam.

    Returns
    -------
    Stream
        The new state. The old one is unchanged, except for its moments.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.deep.nonlinear import pretrain, stream_step
    >>> X = np.random.default_rng(0).uniform(size=(400, 8))
    >>> state, _ = pretrain(X[:100], (5, 3), "relu", random_state=0)
    >>> for batch in np.split(X, 4):
    ...     state = stream_step(batch, state)
    >>> state.n_steps, state.stack.sizes
    (4, (5, 3))
    """
    with threads.own_threads():
        data = as_data(X)
        if isinstance(state, Stack):
            state = Stream(state, data.scale, [Moments.zeros(Z) for Z in state.weights])
        H = code(data, state.stack)
        loss, _, gradients = loss_and_gradients(data, state.stack, H)
        sizes = [state.scale] + [1.0] * (len(gradients) - 1)
        weights = [
            Z - s * moment.step(gradient * (s / state.scale**2), state.n_steps + 1, learning_rate)
            for Z, s, moment, gradient in zip(state.stack.weights, sizes, state.moments, gradients, strict=True)
        ]
    stack = Stack([Z.astype(data.dtype, copy=False) for Z in weights], state.stack.activation)
    return Stream(stack, state.scale, state.moments, state.n_steps + 1, loss / len(H))

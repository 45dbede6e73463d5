"""Adam on batches of samples, over their own codes and the common weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import EllipsisType

import numpy as np
from sklearn.utils import check_random_state

from ..._engine.data.matrix import Matrix, Rows
from ..._engine.monitor import Monitor
from ..._utils import threads
from ..._utils.typing import Data, Seed
from .coding import code
from .gradients import ScaleFreePenalty, as_data, backward, loss_and_gradients, penalty_gradients
from .stack import Stack, run


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


def adam(
    data: Matrix,
    stack: Stack,
    H: np.ndarray,
    penalties: list[ScaleFreePenalty | None],
    monitor: Monitor,
    batch_size: int | None,
    rate: float,
    random_state: Seed,
) -> tuple[Stack, np.ndarray]:
    """Minimise by Adam with projection, in unit scale; codes and their moments change with their batch."""
    if batch_size is not None and any(penalty is not None for penalty in penalties):
        raise ValueError("a graph links samples of different batches: use batch_size=None with penalties.")
    rng = check_random_state(random_state)
    stack = Stack([Z.copy() for Z in stack.weights], stack.activation)
    moments, own, steps = [Moments.zeros(Z) for Z in stack.weights], Moments.zeros(H), 0
    while monitor.running:
        epoch, total = monitor.n_iter + 1, 0.0
        for batch in _batches(len(H), batch_size, rng):
            codes, slopes = run(stack, H[batch])
            penalty, of_penalties = penalty_gradients(penalties, codes, data)
            loss, by_codes, by_weights = backward(_samples(data, batch), stack, codes, slopes, of_penalties)
            steps, total = steps + 1, total + loss + penalty
            H[batch] = np.maximum(H[batch] - own.step(by_codes, epoch, rate, batch), 0)
            for Z, moment, gradient in zip(stack.weights, moments, by_weights, strict=True):
                Z -= moment.step(gradient, steps, rate)
        monitor.step(total)
    return stack, H


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

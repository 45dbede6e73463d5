"""Adam on batches of samples: each sample has its own row of codes, all share the weights."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.utils import check_random_state

from ..._engine.data.matrix import Matrix, Rows
from ..._utils import threads
from .codes import code
from .gradients import ScaleFreePenalty, as_data, backward, loss_and_gradients, pulled
from .stack import Stack, run

_DECAY, _SQUARED_DECAY, _FLOOR = 0.9, 0.999, 1e-8


@dataclass
class Moments:
    """Running means of a gradient and of its square, of some parameters."""

    mean: np.ndarray
    square: np.ndarray

    @classmethod
    def of(cls, F: np.ndarray) -> Moments:
        """Moments that have seen nothing."""
        return cls(np.zeros_like(F), np.zeros_like(F))

    def step(self, gradient: np.ndarray, count: int, rate: float, rows=...) -> np.ndarray:
        """Take in the ``count``-th gradient, of some rows, and return what to subtract from them."""
        mean = _DECAY * self.mean[rows] + (1 - _DECAY) * gradient
        square = _SQUARED_DECAY * self.square[rows] + (1 - _SQUARED_DECAY) * gradient * gradient
        self.mean[rows], self.square[rows] = mean, square
        size = np.sqrt(square / (1 - _SQUARED_DECAY**count)) + _FLOOR
        return rate / (1 - _DECAY**count) * mean / size


def adam(
    data: Matrix,
    stack: Stack,
    H: np.ndarray,
    penalties: list[ScaleFreePenalty | None],
    monitor,
    batch_size: int | None,
    rate: float,
    random_state,
) -> tuple[Stack, np.ndarray]:
    """Adam with projection, in unit scale. Rows of codes and their moments move only when their sample is seen."""
    if batch_size is not None and any(penalty is not None for penalty in penalties):
        raise ValueError("a graph ties samples of different batches: use batch_size=None with penalties.")
    rng = check_random_state(random_state)
    stack = Stack([Z.copy() for Z in stack.weights], stack.activation)
    moments, own, steps = [Moments.of(Z) for Z in stack.weights], Moments.of(H), 0
    while monitor.left:
        epoch, total = len(monitor.history) + 1, 0.0
        for batch in _batches(len(H), batch_size, rng):
            codes, slopes = run(stack, H[batch])
            penalty, pulls = pulled(penalties, codes, data)
            loss, by_codes, by_weights = backward(_samples(data, batch), stack, codes, slopes, pulls)
            steps, total = steps + 1, total + loss + penalty
            H[batch] = np.maximum(H[batch] - own.step(by_codes, epoch, rate, batch), 0)
            for Z, moment, gradient in zip(stack.weights, moments, by_weights, strict=True):
                Z -= moment.step(gradient, steps, rate)
        monitor(total)
    return stack, H


def _batches(n: int, size: int | None, rng: np.random.RandomState) -> list[slice] | list[np.ndarray]:
    """All samples as they are; or in random order, in parts of about equal size so that none is too small."""
    return [slice(0, n)] if size is None else np.array_split(rng.permutation(n), max(1, round(n / size)))


def _samples(data: Matrix, batch: slice | np.ndarray) -> Rows:
    """The samples of a batch as a function of a slice of it."""
    return data.rows if isinstance(batch, slice) else lambda b: data.rows(batch[b])


@dataclass
class Stream:
    """A stack that learns from batches as they come.

    Attributes
    ----------
    stack : Stack
        The weights so far.
    scale : float
        Largest magnitude in the first batch: steps of the first layer's weights are in its units.
    moments : list of Moments
        Of the weights of each layer.
    n_steps : int
        Number of batches seen.
    loss : float
        Objective of the last batch before its step, a sample.
    """

    stack: Stack
    scale: float = 1.0
    moments: list[Moments] = field(default_factory=list)
    n_steps: int = 0
    loss: float = np.inf


def stream_step(X, state: Stack | Stream, *, learning_rate: float = 1e-3) -> Stream:
    """Learn from one batch of a stream: code its samples, then take a step of Adam with the weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The batch, of 32 samples or more.
    state : Stack or Stream
        Where the weights start, as `pretrain` on a first batch gives them; then what the last step returned.
    learning_rate : float, default=1e-3
        Step of Adam.

    Returns
    -------
    Stream
        The new state; the old one stays as it is, but for its moments.

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
            state = Stream(state, data.scale, [Moments.of(Z) for Z in state.weights])
        H = code(data, state.stack)
        loss, _, gradients = loss_and_gradients(data, state.stack, H)
        sizes = [state.scale] + [1.0] * (len(gradients) - 1)
        weights = [
            Z - s * moment.step(gradient * (s / state.scale**2), state.n_steps + 1, learning_rate)
            for Z, s, moment, gradient in zip(state.stack.weights, sizes, state.moments, gradients, strict=True)
        ]
    stack = Stack([Z.astype(data.dtype, copy=False) for Z in weights], state.stack.activation)
    return Stream(stack, state.scale, state.moments, state.n_steps + 1, loss / len(H))

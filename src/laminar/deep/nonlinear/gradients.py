"""Objective of a stack and its exact gradient, in few passes over X.

The gradient of a penalty is added to that of its layer *before* it is propagated to the next: the total derivative, not
the one the paper prints (docs/methods.md 5.5). X is in unit scale throughout (see `_engine.data.matrix`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse

from ..._engine.data.matrix import Matrix, Rows, dense
from ..._engine.data.wrap import wrap
from ..._engine.linalg.small import safe_divide
from ..._utils import threads
from ..._utils.typing import Data
from ...graphs.operators import GraphOperator
from .activations import Activation
from .stack import ROWS, Stack, run


@dataclass(frozen=True)
class ScaleFreePenalty:
    """Mean Rayleigh quotient of a graph Laplacian, ``weight / 2 ||X||^2 / k sum_a h_a^T L h_a / ||h_a||^2``.

    It does not depend on the scale of any unit, and is relative to the squared norm of X. It replaces the invariant
    penalty of linear models, ``||z_a||^2 h_a^T L h_a``, since the scale of a unit below an activation is not free.

    Parameters
    ----------
    weight : float
        Weight: at 1, units that are independent between neighbours cost about the degree of a sample times as much as
        a reconstruction of zero.
    operator : GraphOperator
        A graph over the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.graphs import Chain
    >>> from laminar.deep.nonlinear import ScaleFreePenalty, Stack, loss_and_gradients
    >>> X = H = np.array([[1.0], [2.0], [4.0]])
    >>> penalties = [ScaleFreePenalty(2.0, Chain().build(X))]
    >>> [loss_and_gradients(X, Stack([np.eye(1) / c], "relu"), c * H, penalties)[0] for c in (1, 0.01)]
    [5.0, 5.0]
    """

    weight: float
    operator: GraphOperator

    def __call__(self, H: np.ndarray, data: Matrix) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at H, in unit scale."""
        weight = self.weight * data.sqnorm / H.shape[1]
        sqnorms = np.einsum("ij,ij->j", H, H, dtype=np.float64)
        inverse = safe_divide(1, sqnorms, floor=np.finfo(H.dtype).tiny)
        gradient = self.operator.laplacian(H)
        quotients = np.einsum("ij,ij->j", H, gradient, dtype=np.float64) * inverse
        gradient -= H * quotients.astype(H.dtype)
        gradient *= (weight * inverse).astype(H.dtype)
        return 0.5 * weight * float(quotients.sum()), gradient

    def take(self, rows: np.ndarray, n_samples: int) -> ScaleFreePenalty:
        """Return the penalty of a batch: summed over random batches of all samples its mean is about the penalty.

        Two samples are in one of the batches with probability ``(b - 1) / (n - 1)``, and a quotient is a mean already.
        """
        share = len(rows) / n_samples * (n_samples - 1) / max(len(rows) - 1, 1)
        return ScaleFreePenalty(self.weight * share, self.operator.take(rows))


@dataclass(frozen=True)
class TracePenalty:
    """``weight / 2 Tr(H^T L H)``, the penalty of eq. 21 of Trigeorgis et al. as printed; it has no minimiser.

    Parameters
    ----------
    weight : float
        lambda_i, in the squared units of X.
    operator : GraphOperator
        A graph over the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.graphs import Chain
    >>> from laminar.deep.nonlinear import Stack, TracePenalty, loss_and_gradients
    >>> X = H = np.array([[1.0], [2.0], [4.0]])
    >>> penalties = [TracePenalty(2.0, Chain().build(X))]
    >>> [loss_and_gradients(X, Stack([np.eye(1) / c], "relu"), c * H, penalties)[0] for c in (1, 0.01)]
    [5.0, 0.0005]
    """

    weight: float
    operator: GraphOperator

    def __call__(self, H: np.ndarray, data: Matrix) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at H, in unit scale."""
        gradient = self.operator.laplacian(H)
        gradient *= H.dtype.type(self.weight / data.unit(2))
        return 0.5 * float(np.einsum("ij,ij->", H, gradient, dtype=np.float64)), gradient

    def take(self, rows: np.ndarray, n_samples: int) -> TracePenalty:
        """Return the penalty of a batch, see `ScaleFreePenalty.take`; here it is a sum over pairs."""
        share = (n_samples - 1) / max(len(rows) - 1, 1)
        return TracePenalty(self.weight * share, self.operator.take(rows))


Penalty = ScaleFreePenalty | TracePenalty
Penalties = Sequence[Penalty | None] | None


def as_data(X: Data | Matrix) -> Matrix:
    """Wrap X, unless it is a `Matrix` already."""
    if isinstance(X, Matrix):
        return X
    array: Any = X if issparse(X) else np.asarray(X)
    return wrap(array if array.dtype in (np.float32, np.float64) else array.astype(np.float64))


def as_penalties(penalties: Penalties, stack: Stack) -> list[Penalty | None]:
    """Return a list with one penalty or None per layer."""
    m = len(stack.weights)
    penalties = [None] * m if penalties is None else list(penalties)
    if len(penalties) != m:
        raise ValueError(f"penalties must hold one entry a layer, {m} (None for no penalty); got {len(penalties)}.")
    return penalties


def loss_and_gradients(
    X: Data | Matrix, stack: Stack, H: np.ndarray, penalties: Penalties = None
) -> tuple[float, np.ndarray, list[np.ndarray]]:
    """Compute ``1/2 ||X - H_1 Z_1||^2`` plus penalties on the codes of layers, and its gradient.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.
    stack : Stack
        The weights.
    H : ndarray of shape (n_samples, n_units)
        Codes of the top layer.
    penalties : sequence of {None, ScaleFreePenalty, TracePenalty} or None, default=None
        One entry a layer, from the input up.

    Returns
    -------
    loss : float
        The objective.
    codes_gradient : ndarray of shape (n_samples, n_units)
        By the codes of the top layer.
    weights_gradients : list of ndarray
        By the weights of each layer.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.deep.nonlinear import Stack, loss_and_gradients
    >>> stack = Stack([np.array([[1.0, 2.0]]), np.array([[3.0]])], "square")
    >>> loss, by_codes, by_weights = loss_and_gradients(np.array([[8.0, 16.0]]), stack, np.array([[1.0]]))
    >>> loss, by_codes, by_weights[0]
    (2.5, array([[90.]]), array([[ 9., 18.]]))
    """
    data = as_data(X)
    H = stack.check(H).astype(data.dtype, copy=False)
    loss, by_codes, by_weights = evaluate(data, to_unit(stack, data), H, as_penalties(penalties, stack))
    by_weights[0] *= 1 / data.scale
    unit = data.scale**2
    return loss * unit, by_codes * unit, [G * unit for G in by_weights]


def evaluate(
    data: Matrix, stack: Stack, H: np.ndarray, penalties: Sequence[Penalty | None], samples: Rows | None = None
) -> tuple[float, np.ndarray, list[np.ndarray]]:
    """Return the objective and its gradient by H_m and by the weights, in unit scale.

    ``samples`` are the rows of X that H codes, all of them by default.
    """
    codes, slopes = run(stack, H)
    penalty, of_penalties = penalty_gradients(penalties, codes, data)
    loss, by_codes, by_weights = backward(samples or data.rows, stack, codes, slopes, of_penalties)
    return loss + penalty, by_codes, by_weights


def to_unit(stack: Stack, data: Matrix) -> Stack:
    """Scale the first weights for X in unit scale, and convert all to the precision of X."""
    first, *hidden = (Z.astype(data.dtype, copy=False) for Z in stack.weights)
    return Stack([first * data.dtype.type(1 / data.scale), *hidden], stack.activation)


def from_unit(stack: Stack, data: Matrix) -> Stack:
    """Scale the first weights back to the scale of X: the inverse of `to_unit`."""
    first, *hidden = stack.weights
    return Stack([first * data.dtype.type(data.scale), *hidden], stack.activation)


def penalty_gradients(
    penalties: Sequence[Penalty | None], codes: list[np.ndarray], data: Matrix
) -> tuple[float, list[Rows | None]]:
    """Return the sum of the penalties, and the gradient of each by the codes of its layer, as a function of rows."""
    found = [None if penalty is None else penalty(H, data) for penalty, H in zip(penalties, codes, strict=True)]
    return sum(value for value, _ in filter(None, found)), [pair and pair[1].__getitem__ for pair in found]


def backward(
    samples: Rows,
    stack: Stack,
    codes: list[np.ndarray],
    slopes: list[np.ndarray],
    of_penalties: list[Rows | None],
    first: int = 0,
) -> tuple[float, np.ndarray, list[np.ndarray]]:
    """Compute ``1/2 ||X - H_1 Z_1||^2``, and the gradient of the objective by H_m and by weights (back-propagation).

    Parameters
    ----------
    samples : callable
        Rows of X as a function of a slice.
    stack, codes, slopes
        The weights, and what `run` returned for them.
    of_penalties : list of {None, callable}
        Gradient of the penalty of each layer, as a function of a slice of rows.
    first : int, default=0
        First layer whose weights have their gradient computed.
    """
    by_codes = np.empty_like(codes[-1])

    def block(b: slice, sums: list[np.ndarray]) -> float:
        D = codes[0][b] @ stack.weights[0]
        D -= dense(samples(b))
        loss = float(np.einsum("ij,ij->i", D, D).sum(dtype=np.float64)) / 2
        for i, Z in enumerate(stack.weights):
            if i >= first:
                sums[i - first] += codes[i][b].T @ D
            D = D @ Z.T
            penalty = of_penalties[i]
            if penalty is not None:
                D += penalty(b)
            if i < len(slopes):
                D *= slopes[i][b]
        by_codes[b] = D
        return loss

    def share(blocks: list[slice]) -> tuple[float, list[np.ndarray]]:
        sums = [np.zeros_like(Z) for Z in stack.weights[first:]]
        return sum(block(b, sums) for b in blocks), sums

    parts = threads.each(share, threads.shares(threads.blocks(len(by_codes), ROWS)))
    sums = [sum(grads) for grads in zip(*(sums for _, sums in parts), strict=True)]
    return sum(loss for loss, _ in parts), by_codes, sums


def _gram(H: np.ndarray) -> np.ndarray:
    """Return ``H^T H`` in double precision, since errors of single precision could exceed the ridge."""

    def share(blocks: list[slice]) -> np.ndarray:
        rows = (H[b].astype(np.float64, copy=False) for b in blocks)
        return reduce(add, (h.T @ h for h in rows))

    return sum(threads.each(share, threads.shares(threads.blocks(len(H), ROWS))))


class ReducedObjective:
    """Objective as a function of H_m and ``Z_2 .. Z_m``, minimised over Z_1 (variable projection).

        min_{Z_1}  1/2 ||X - H_1 Z_1||^2 + ridge / 2 ||H_1||^2 ||Z_1||^2  +  penalties

    At the minimising Z_1 the partial gradient is the gradient. The ridge does not depend on the scale of H_1; it keeps
    Z_1 bounded where the columns of H_1 are nearly dependent, and leads to better minima: without it the first
    iterations follow directions that are rounding error.

    Parameters
    ----------
    data : Matrix
        X.
    activation : str or Activation
        The activation.
    penalties : sequence of {None, ScaleFreePenalty, TracePenalty}
        One entry a layer.
    ridge : float, default=2**-22
        Without unit. Of 1e-15 .. 1e-4 this gave the lowest final loss for every activation on faces.
    """

    def __init__(
        self,
        data: Matrix,
        activation: str | Activation,
        penalties: Sequence[Penalty | None],
        ridge: float = 2.0**-22,
    ):
        self.data, self.activation, self.penalties, self.ridge = data, activation, penalties, ridge

    def first_weights(self, H: np.ndarray) -> np.ndarray:
        """Return the minimising Z_1 for codes H of the first layer."""
        gram = _gram(H)
        np.fill_diagonal(gram, gram.diagonal() + max(self.ridge * gram.trace(), np.finfo(np.float64).tiny))
        factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        Z = np.empty((H.shape[1], self.data.shape[1]), H.dtype)
        product = self.data.T.times(H)

        def work(b: slice) -> None:
            Z[:, b] = cho_solve(factor, product(b).T.astype(np.float64), overwrite_b=True, check_finite=False)

        threads.each(work, threads.blocks(Z.shape[1], ROWS))
        return Z

    def __call__(self, H: np.ndarray, hidden: list[np.ndarray]) -> tuple[float, np.ndarray, list[np.ndarray]]:
        """Return the value, and the gradient by H_m and ``Z_2 .. Z_m``."""
        # Z_1 depends on H_1: until that is computed, an empty matrix takes its place.
        size = hidden[0].shape[1] if hidden else H.shape[1]
        stack = Stack([np.empty((size, 0), H.dtype), *hidden], self.activation)
        codes, slopes = run(stack, H)
        Z = self.first_weights(codes[0])
        stack.weights = [Z, *stack.weights[1:]]
        penalty, of_penalties = penalty_gradients(self.penalties, codes, self.data)
        sqnorms = [float(np.einsum("ij,ij->", F, F, dtype=np.float64)) for F in (codes[0], Z)]
        ridge, own = H.dtype.type(self.ridge * sqnorms[1]), of_penalties[0]
        of_penalties[0] = lambda b: ridge * codes[0][b] if own is None else ridge * codes[0][b] + own(b)
        loss, by_codes, by_weights = backward(self.data.rows, stack, codes, slopes, of_penalties, first=1)
        return loss + penalty + self.ridge * sqnorms[0] * sqnorms[1] / 2, by_codes, by_weights

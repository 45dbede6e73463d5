"""The objective of a stack and its exact gradient, in few passes over X.

The penalties are added to a layer's gradient *before* it is handed to the next: the total derivative, not the one the
paper prints (methods.md 5.5). Everything below speaks of X in unit scale (see `data`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse

from ..._engine.data.matrix import Matrix, Rows, dense, wrap
from ..._utils import threads
from ...graphs.operators import GraphOperator
from .stack import ROWS, Stack, run


@dataclass(frozen=True)
class ScaleFreePenalty:
    """``weight / 2 ||X||^2 / k sum_a h_a^T L h_a / ||h_a||^2``: how rough each unit is, whatever its scale.

    The same for any positive scale of every unit, and comparable to the fit for any scale of X. It takes the place of
    the invariant penalty of linear models, whose unit components a layer below an activation does not have.

    Parameters
    ----------
    weight : float
        How much it counts: at 1 a layer of units without any likeness between neighbours costs about as much, times
        the degree of a sample, as a fit that explains nothing.
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
        price = self.weight * data.sqnorm / H.shape[1]
        size = np.einsum("ij,ij->j", H, H, dtype=np.float64)
        inverse = np.divide(1, size, out=np.zeros_like(size), where=size > np.finfo(H.dtype).tiny)
        pull = self.operator.laplacian(H)
        rough = np.einsum("ij,ij->j", H, pull, dtype=np.float64) * inverse
        pull -= H * rough.astype(H.dtype)
        pull *= (price * inverse).astype(H.dtype)
        return 0.5 * price * float(rough.sum()), pull


RIDGE = 2.0**-22  # the best for the final loss of every activation on faces, of 1e-15 .. 1e-4

Penalties = Sequence[ScaleFreePenalty | None] | None


def as_data(X) -> Matrix:
    """X as `data` wraps it, if it is not yet."""
    if isinstance(X, Matrix):
        return X
    X = X if issparse(X) else np.asarray(X)
    return wrap(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))


def as_penalties(penalties: Penalties, stack: Stack) -> list[ScaleFreePenalty | None]:
    """One penalty or None a layer."""
    m = len(stack.weights)
    penalties = [None] * m if penalties is None else list(penalties)
    if len(penalties) != m:
        raise ValueError(f"penalties must hold one entry a layer, {m} (None for no penalty); got {len(penalties)}.")
    return penalties


def loss_and_gradients(
    X, stack: Stack, H: np.ndarray, penalties: Penalties = None
) -> tuple[float, np.ndarray, list[np.ndarray]]:
    """Value and gradient of ``1/2 ||X - H_1 Z_1||^2`` plus penalties on the codes of layers.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.
    stack : Stack
        The weights.
    H : ndarray of shape (n_samples, n_units)
        Codes of the top layer.
    penalties : sequence of {None, ScaleFreePenalty} or None, default=None
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
    inside = to_unit(stack, data)
    codes, slopes = run(inside, stack.check(H).astype(data.dtype, copy=False))
    penalty, pulls = pulled(as_penalties(penalties, stack), codes, data)
    loss, by_codes, by_weights = backward(data.rows, inside, codes, slopes, pulls)
    by_weights[0] *= 1 / data.scale
    unit = data.scale**2
    return (loss + penalty) * unit, by_codes * unit, [G * unit for G in by_weights]


def to_unit(stack: Stack, data: Matrix) -> Stack:
    """The same stack for X in unit scale, in the precision of X."""
    first, *hidden = (Z.astype(data.dtype, copy=False) for Z in stack.weights)
    return Stack([first * data.dtype.type(1 / data.scale), *hidden], stack.activation)


def from_unit(stack: Stack, data: Matrix) -> Stack:
    """The same stack for X as it is."""
    first, *hidden = stack.weights
    return Stack([first * data.dtype.type(data.scale), *hidden], stack.activation)


def pulled(
    penalties: Sequence[ScaleFreePenalty | None], codes: list[np.ndarray], data: Matrix
) -> tuple[float, list[Rows | None]]:
    """Sum of the penalties, and the gradient of each by its own codes as a function of a slice of rows."""
    found = [None if penalty is None else penalty(H, data) for penalty, H in zip(penalties, codes, strict=True)]
    return sum(value for value, _ in filter(None, found)), [pair and pair[1].__getitem__ for pair in found]


def backward(
    samples: Rows,
    stack: Stack,
    codes: list[np.ndarray],
    slopes: list[np.ndarray],
    pulls: list[Rows | None],
    first: int = 0,
) -> tuple[float, np.ndarray, list[np.ndarray]]:
    """``1/2 ||X - H_1 Z_1||^2``, and the gradient of it and the penalties by H_m and the weights from ``first`` on."""
    by_codes = np.empty_like(codes[-1])

    def block(b: slice, sums: list[np.ndarray]) -> float:
        D = codes[0][b] @ stack.weights[0]
        D -= dense(samples(b))
        loss = float(np.einsum("ij,ij->i", D, D).sum(dtype=np.float64)) / 2
        for i, Z in enumerate(stack.weights):
            if i >= first:
                sums[i - first] += codes[i][b].T @ D
            D = D @ Z.T
            if pulls[i] is not None:
                D += pulls[i](b)
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
    """``H^T H`` in double precision: the errors of single precision could outweigh the ridge."""

    def share(blocks: list[slice]) -> np.ndarray:
        rows = (H[b].astype(np.float64, copy=False) for b in blocks)
        return sum(h.T @ h for h in rows)

    return sum(threads.each(share, threads.shares(threads.blocks(len(H), ROWS))))


class Reduced:
    """The objective as a function of H_m and ``Z_2 .. Z_m``: Z_1 is always the best one for them.

    With the best Z_1 the partial gradient is the whole gradient. A small ridge ``RIDGE / 2 ||H_1||^2 ||Z_1||^2``, free
    of scale, keeps Z_1 bounded where codes of the first layer depend on each other. It also leads to better minima:
    without it the first steps follow directions that only rounding tells apart.
    """

    def __init__(self, data: Matrix, activation: str, penalties: Sequence[ScaleFreePenalty | None]):
        self.data, self.activation, self.penalties = data, activation, penalties

    def first(self, H: np.ndarray) -> np.ndarray:
        """The best Z_1 for codes of the first layer."""
        gram = _gram(H)
        np.fill_diagonal(gram, gram.diagonal() + max(RIDGE * gram.trace(), np.finfo(np.float64).tiny))
        factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        Z = np.empty((H.shape[1], self.data.shape[1]), H.dtype)
        product = self.data.T.times(H)

        def work(b: slice) -> None:
            Z[:, b] = cho_solve(factor, product(b).T.astype(np.float64), overwrite_b=True, check_finite=False)

        threads.each(work, threads.blocks(Z.shape[1], ROWS))
        return Z

    def __call__(self, H: np.ndarray, hidden: list[np.ndarray]) -> tuple[float, np.ndarray, list[np.ndarray]]:
        """Return the value, and the gradient by H_m and ``Z_2 .. Z_m``."""
        # The weights of layer 1 are not known before its codes: an empty matrix stands in for them.
        size = hidden[0].shape[1] if hidden else H.shape[1]
        stack = Stack([np.empty((size, 0), H.dtype), *hidden], self.activation)
        codes, slopes = run(stack, H)
        stack.weights[0] = Z = self.first(codes[0])
        penalty, pulls = pulled(self.penalties, codes, self.data)
        lengths = [float(np.einsum("ij,ij->", F, F, dtype=np.float64)) for F in (codes[0], Z)]
        tie, own = H.dtype.type(RIDGE * lengths[1]), pulls[0]
        pulls[0] = lambda b: tie * codes[0][b] if own is None else tie * codes[0][b] + own(b)
        loss, by_codes, by_weights = backward(self.data.rows, stack, codes, slopes, pulls, first=1)
        return loss + penalty + RIDGE * lengths[0] * lengths[1] / 2, by_codes, by_weights

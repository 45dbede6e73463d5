"""Stacks of linear layers, ``X ~ H_m Z_m ... Z_1``: how they begin, compose, and keep their hidden layers.

Weights are lists ``[Z_1, ..., Z_m]`` with Z_i of shape (k_i, k_{i-1}); the *basis* of layer i, ``Z_i ... Z_1``, is what
its codes multiply to give X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._engine.data.matrix import Matrix, collect, wrap
from .._engine.linalg.small import isometry
from .._engine.terms import Quad
from .._engine.updates import gram_solver
from .._utils import threads

FitLayer = Callable[[Matrix, int], np.ndarray]  # data and a size -> non-negative codes


def compose(weights: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The basis of every layer.

    >>> [B.tolist() for B in compose([np.array([[1.0, 2.0]]), np.array([[3.0]])])]
    [[[1.0, 2.0]], [[3.0, 6.0]]]
    """
    bases = [weights[0]]
    for Z in weights[1:]:
        bases.append(Z @ bases[-1])
    return bases


def regress(H: np.ndarray, Y: Matrix | np.ndarray) -> np.ndarray:
    """The weights ``min_Z ||Y - H Z||``, by the Gram of H in double precision: a Gram squares the condition."""
    rows = threads.blocks(len(H), 1024)
    double = [H[b].astype(np.float64) for b in rows]
    solve, _ = gram_solver(sum(threads.each(lambda h: h.T @ h, double)))
    if isinstance(Y, Matrix):
        product = Y.T.product(H).T
    else:
        product = sum(threads.each(lambda i: double[i].T @ Y[rows[i]], range(len(rows))))
    return solve(product).astype(H.dtype)


def pretrain(data: Matrix, sizes: Sequence[int], fit: FitLayer) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Codes and weights layer by layer: each layer factorises the codes below it, *with the distances they stand for*.

    Codes are known up to a change of basis only. Factorised as they come, a layer would keep an arbitrary part of the
    one below; in the isometric read-out it keeps the part that matters for X.
    """
    codes, weights = [], []
    for k in sizes:
        if not codes:
            H = fit(data, k)
            weights.append(regress(H, data))
        else:
            H = fit(wrap(codes[-1] @ isometry(compose(weights)[-1]).astype(data.dtype)), k)
            weights.append(regress(H, codes[-1]))
        codes.append(H)
    return codes, weights


def _down(weights: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, float]:
    """``T = Z_m ... Z_2`` with rows of unit length, what they were divided by, and what is rounding in it."""
    T = compose([Z.astype(np.float64) for Z in weights[1:]])[-1]
    size = np.linalg.norm(T, axis=1, keepdims=True)
    return np.divide(T, size, out=np.zeros_like(T), where=size > 0), size, 100 * float(np.finfo(weights[0].dtype).eps)


def is_narrow(weights: Sequence[np.ndarray]) -> bool:
    """Whether some basis of the top cannot be reached: a hidden layer is smaller than the top, or says too little."""
    if len(weights) == 1:
        return False
    T, _, noise = _down(weights)
    spread = np.linalg.svd(T, compute_uv=False)
    return len(spread) < len(T) or bool(spread[-1] <= noise * spread[0])


def keep_close(weights: Sequence[np.ndarray], basis: np.ndarray) -> list[np.ndarray]:
    """The weights nearest to the given ones whose top basis is as wished; they must not be narrow.

    Fine-tuning by alternating least squares with the least change moves Z_1 alone, and always within the range of
    ``T = Z_m ... Z_2``: however many sweeps were made, they amount to this one step. Hidden layers keep their rank,
    where the published pseudo-inverse leaves them that of the top layer.
    """
    if len(weights) == 1:
        return [basis]
    T, size, noise = _down(weights)
    first = weights[0].astype(np.float64)
    wished = np.divide(basis, size, out=np.zeros(basis.shape), where=size > 0)
    moved = first + np.linalg.pinv(T, rcond=noise) @ (wished - T @ first)
    return [moved.astype(basis.dtype), *weights[1:]]


def least_change(weights: Sequence[np.ndarray], gram: np.ndarray, product: np.ndarray) -> list[np.ndarray]:
    """One round of least squares over all weights, from the input up, each with the least change that makes it best.

    Parameters
    ----------
    weights : sequence of ndarray
        Where they start.
    gram, product : ndarray
        ``H^T H`` and ``H^T X`` of the top codes.

    Returns
    -------
    weights : list of ndarray
        Where no hidden layer is smaller than the top the first move reaches the best basis, and the others rest.
    """
    G, C = gram.astype(np.float64), product.astype(np.float64)
    W = [Z.astype(np.float64) for Z in weights]
    for i in range(len(W)):
        T = compose(W[i + 1 :])[-1] if i + 1 < len(W) else np.eye(len(G))
        P = compose(W[:i])[-1] if i else None
        rest = C - G @ T @ (W[i] if P is None else W[i] @ P)
        move = gram_solver(T.T @ G @ T)[0](T.T @ rest)
        W[i] = W[i] + (move if P is None else gram_solver(P @ P.T)[0](P @ move.T).T)
    return [new.astype(Z.dtype) for new, Z in zip(W, weights, strict=True)]


class NarrowLeastSquares:
    """The update of a top basis that not every matrix can be (`is_narrow`); F is the transposed basis."""

    def __init__(self, weights: Sequence[np.ndarray]):
        self.weights = list(weights)

    def __call__(self, F: np.ndarray, term: Quad, constraint=None) -> np.ndarray:
        """Move every weight once; returns the basis they compose to."""
        weights = least_change(self.weights, term.gram, collect(term.linear, term.blocks, F.shape, F.dtype).T)
        new = np.ascontiguousarray(compose(weights)[-1].T)
        if term.value(new) > term.value(F):  # rounding: the least squares of nearly dependent codes
            return F.copy()
        self.weights = weights
        return new


def unit_basis(weights: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The weights of the same stack with bases of unit length, and the lengths its bases had."""
    units, sizes = [], []
    for Z, basis in zip(weights, compose(weights), strict=True):
        size = np.linalg.norm(basis.astype(np.float64), axis=1)
        inverse = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
        W = Z * sizes[-1] if sizes else Z
        units.append((W * inverse[:, None]).astype(basis.dtype))
        sizes.append(size)
    return units, sizes


def canonical(
    codes: Sequence[np.ndarray], weights: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Codes, weights and the lengths of the basis vectors, which become one; the products stay what they were."""
    units, sizes = unit_basis(weights)
    return [H * size.astype(H.dtype) for H, size in zip(codes, sizes, strict=True)], units, sizes

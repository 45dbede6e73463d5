"""Stacks of linear layers, ``X ~ H_m Z_m ... Z_1``: how they begin, compose, and keep their hidden layers.

Weights are lists ``[Z_1, ..., Z_m]`` with Z_i of shape (k_i, k_{i-1}); the *basis* of layer i, ``Z_i ... Z_1``, is what
its codes multiply to give X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import threads
from .data import Matrix, collect, wrap
from .readout import isometry
from .terms import Quad
from .updates import gram_solver

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


def is_narrow(sizes: Sequence[int]) -> bool:
    """Whether a hidden layer is smaller than the top one, so that not every basis of the top can be reached."""
    return min(sizes) < sizes[-1]


def keep_close(weights: Sequence[np.ndarray], basis: np.ndarray) -> list[np.ndarray]:
    """The weights nearest to the given ones whose top basis is as wished.

    Fine-tuning by alternating least squares with the least change moves Z_1 alone, and always within the range of
    ``T = Z_m ... Z_2``: however many sweeps were made, they amount to this one step. Hidden layers keep their rank,
    where the published pseudo-inverse leaves them that of the top layer.
    """
    if len(weights) == 1:
        return [basis]
    T = compose(weights[1:])[-1]
    solve, _ = gram_solver(T @ T.T)
    return [weights[0] + T.T @ solve(basis - T @ weights[0]).astype(T.dtype), *weights[1:]]


class NarrowLeastSquares:
    """The update of a top basis that has to pass through a hidden layer smaller than itself.

    One round of least squares over all weights, each with the least change; F is the transposed top basis.
    """

    def __init__(self, weights: Sequence[np.ndarray]):
        self.weights = list(weights)

    def __call__(self, F: np.ndarray, term: Quad, constraint=None) -> np.ndarray:
        """Move every weight once; returns the basis they compose to."""
        G = term.gram.astype(np.float64)
        C = collect(term.linear, term.blocks, F.shape, F.dtype).T.astype(np.float64)
        W = [Z.astype(np.float64) for Z in self.weights]
        for i in range(len(W)):
            T = np.eye(len(W[-1])) if i == len(W) - 1 else compose(W[i + 1 :])[-1]
            P = compose(W[:i])[-1] if i else None
            rest = C - G @ (T @ W[i] @ P if i else T @ W[i])
            move = gram_solver(T.T @ G @ T)[0](T.T @ rest)
            W[i] = W[i] + (gram_solver(P @ P.T)[0](P @ move.T).T if i else move)
        self.weights = [Z.astype(F.dtype) for Z in W]
        return np.ascontiguousarray(compose(self.weights)[-1].T)


def canonical(
    codes: Sequence[np.ndarray], weights: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Codes, weights and the lengths of the basis vectors, which become one; the products stay what they were."""
    codes, weights, sizes = list(codes), list(weights), []
    below = None
    for i, basis in enumerate(compose(weights)):
        size = np.linalg.norm(basis.astype(np.float64), axis=1)
        inverse = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
        codes[i] = codes[i] * size.astype(basis.dtype)
        W = weights[i] if below is None else weights[i] * below
        weights[i] = (W * inverse[:, None]).astype(basis.dtype)
        below = size
        sizes.append(size)
    return codes, weights, sizes

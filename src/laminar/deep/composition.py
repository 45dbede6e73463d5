"""Linear layers ``X ~ H_m Z_m ... Z_1``: composition, least squares over all weights, canonical scale.

Weights are lists ``[Z_1, ..., Z_m]`` with Z_i of shape (k_i, k_{i-1}); the *basis* of layer i, ``Z_i ... Z_1``, is what
its codes multiply to give X.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.linalg.blocked import cross, gram
from .._engine.linalg.small import gram_solver, isometry, safe_divide

FitLayer = Callable[[Matrix, int], np.ndarray]  # data and the position of a layer -> non-negative codes


def compose(weights: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the basis of every layer.

    >>> [B.tolist() for B in compose([np.array([[1.0, 2.0]]), np.array([[3.0]])])]
    [[[1.0, 2.0]], [[3.0, 6.0]]]
    """
    bases = [weights[0]]
    for Z in weights[1:]:
        bases.append(Z @ bases[-1])
    return bases


def regress(H: np.ndarray, Y: Matrix | np.ndarray) -> np.ndarray:
    """Return ``argmin_Z ||Y - H Z||``, by the Gram of H in double precision: a Gram squares the condition."""
    solve, _ = gram_solver(gram(H, np.float64, 1024))
    product = Y.T.product(H).T if isinstance(Y, Matrix) else cross(H.astype(np.float64, copy=False), Y)
    return solve(product).astype(H.dtype)


def pretrain(data: Matrix, depth: int, fit: FitLayer) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return codes and weights layer by layer: each layer factorises the codes below it in the distances of X.

    Codes are known up to a change of basis only. Factorised directly, a layer would keep an arbitrary part of the one
    below; multiplied by the root of the Gram matrix of their basis (`isometry`) they keep the part that matters for X.
    """
    codes: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    for i in range(depth):
        if not codes:
            H = fit(data, i)
            weights.append(regress(H, data))
        else:
            H = fit(wrap(codes[-1] @ isometry(compose(weights)[-1]).astype(data.dtype)), i)
            weights.append(regress(H, codes[-1]))
        codes.append(H)
    return codes, weights


def _down(weights: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, float]:
    """``T = Z_m ... Z_2`` with rows of unit length, their lengths before, and the relative rounding error of T."""
    T = compose([Z.astype(np.float64) for Z in weights[1:]])[-1]
    size = np.linalg.norm(T, axis=1, keepdims=True)
    return safe_divide(T, size), size, 100 * float(np.finfo(weights[0].dtype).eps)


def is_narrow(weights: Sequence[np.ndarray]) -> bool:
    """Whether the weights cannot compose to every top basis: a hidden layer has a smaller rank than the top."""
    if len(weights) == 1:
        return False
    T, _, rounding = _down(weights)
    spectrum = np.linalg.svd(T, compute_uv=False)
    return len(spectrum) < len(T) or bool(spectrum[-1] <= rounding * spectrum[0])


def keep_close(weights: Sequence[np.ndarray], basis: np.ndarray) -> list[np.ndarray]:
    """Return the weights nearest to the given ones that compose to this top basis; they must not be narrow.

    Fine-tuning by alternating least squares with the least change moves Z_1 alone, and always within the range of
    ``T = Z_m ... Z_2``: however many sweeps were made, they amount to this one step. Hidden layers keep their rank,
    where the published pseudo-inverse leaves them that of the top layer.
    """
    if len(weights) == 1:
        return [basis]
    T, size, rounding = _down(weights)
    first = weights[0].astype(np.float64)
    target = safe_divide(basis.astype(np.float64), size)
    moved = first + np.linalg.pinv(T, rcond=rounding) @ (target - T @ first)
    return [moved.astype(basis.dtype), *weights[1:]]


def least_change(
    weights: Sequence[np.ndarray], grams: Mapping[int, np.ndarray], products: Mapping[int, np.ndarray]
) -> list[np.ndarray]:
    """Run least squares once over all weights, from the input up, each the minimiser nearest to where it was.

    Entries are weighted by their curvature in the distance, so that it does not depend on the scales of hidden codes.

    Parameters
    ----------
    weights : sequence of ndarray
        Where they start.
    grams, products : mapping from positions to ndarray
        ``H_i^T H_i``, plus the diagonal of a ridge if there is one, and ``H_i^T X`` of each layer i that reconstructs
        X.

    Returns
    -------
    weights : list of ndarray
        Where the top layer alone reconstructs X and no hidden one is smaller, Z_1 alone changes: its first move reaches
        the best basis.
    """
    G = {i: gram.astype(np.float64) for i, gram in grams.items()}
    W = [Z.astype(np.float64) for Z in weights]
    for i in range(len(W)):
        P = compose(W[:i])[-1] if i else None
        curvature, gradient = np.zeros((len(W[i]),) * 2), np.zeros((len(W[i]), next(iter(products.values())).shape[1]))
        for j in (j for j in G if j >= i):
            T = compose(W[i + 1 : j + 1])[-1] if j > i else np.eye(len(W[i]))
            curvature += T.T @ G[j] @ T
            gradient = gradient + T.T @ (products[j] - G[j] @ T @ (W[i] if P is None else W[i] @ P))
        if not curvature.any():
            continue
        move = gram_solver(curvature)[0](gradient)
        W[i] = W[i] + (move if P is None else gram_solver(P @ P.T)[0](P @ move.T).T)
    return [new.astype(Z.dtype) for new, Z in zip(W, weights, strict=True)]


def unit_basis(weights: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the weights of the same product with bases of unit length, and the lengths the bases had."""
    units: list[np.ndarray] = []
    sizes: list[np.ndarray] = []
    for Z, basis in zip(weights, compose(weights), strict=True):
        size = np.linalg.norm(basis.astype(np.float64), axis=1)
        inverse = safe_divide(np.ones_like(size), size)
        W = Z * sizes[-1] if sizes else Z
        units.append((W * inverse[:, None]).astype(basis.dtype))
        sizes.append(size)
    return units, sizes


def canonical(
    codes: Sequence[np.ndarray], weights: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Return codes and weights with bases of unit length and the same products, and the lengths the bases had."""
    units, sizes = unit_basis(weights)
    return [H * size.astype(H.dtype) for H, size in zip(codes, sizes, strict=True)], units, sizes

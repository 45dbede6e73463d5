"""The iterations of Zhao et al.'s multi-view clustering, with the one consensus update that is a descent.

As printed, the consensus is updated view after view without the weights, which may raise the objective; here the parts
of all views are summed with their weights (methods.md 8.1), as in the authors' own code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import published
from .agreement import residual_weights
from .consensus import Consensus
from .graphs import GraphOperator
from .solve import Callback


def pretrain(
    views: Sequence[np.ndarray], sizes: Sequence[int], rng: np.random.RandomState, max_iter: int
) -> tuple[list[list[np.ndarray]], list[list[np.ndarray]], np.ndarray]:
    """Codes and weights of every view by itself, and the top codes of the view they fit best."""

    def layer(Y: np.ndarray, k: int):
        return published.layer(Y, rng.uniform(size=(len(Y), k)), None, max_iter=max_iter)

    stacks = [published.greedy(X, sizes, layer) for X in views]
    codes, weights = ([list(stack[i]) for stack in stacks] for i in (0, 1))
    left = [
        np.linalg.norm(X - H[-1] @ _basis(Z)) / (np.linalg.norm(X) or 1.0)
        for X, H, Z in zip(views, codes, weights, strict=True)
    ]
    return codes, weights, codes[int(np.argmin(left))][-1]


def algorithm(
    views: Sequence[np.ndarray],
    codes: Sequence[list[np.ndarray]],
    weights: Sequence[list[np.ndarray]],
    H: np.ndarray,
    graphs: Sequence[GraphOperator | None],
    *,
    gamma: float,
    beta: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Consensus:
    """Algorithm 1. Codes (but the last of a view, which all share) and weights are changed in place.

    The history holds half of ``sum_v a_v^gamma R_v``, with the a_v the sweep was made with; for gamma below 1 it may
    rise from sweep to sweep, for the a_v are then the worst there are.
    """
    found = Consensus(H.copy(), np.full(len(views), 1 / len(views)))
    for sweep in range(max_iter):
        powers = found.weights**gamma
        for X, stack, Z in zip(views, codes, weights, strict=True):
            _sweep_view(X, stack, Z, found.H)
        bases = [_basis(Z) for Z in weights]
        found.H = _step(views, bases, graphs, powers, beta, found.H)
        residuals = _residuals(views, bases, graphs, beta, found.H)
        found.history.append(float(powers @ residuals) / 2)
        found.weights = residual_weights(residuals, gamma)
        found.n_iter = sweep + 1
        if callback is not None and callback(sweep + 1, found.history[-1], 0.0):
            break
    return found


def _basis(Z: Sequence[np.ndarray]) -> np.ndarray:
    basis = Z[0]
    for above in Z[1:]:
        basis = above @ basis
    return basis


def _sweep_view(X: np.ndarray, codes: list[np.ndarray], Z: list[np.ndarray], H: np.ndarray) -> None:
    """Weights of one view by pseudo-inverses, hidden codes by one multiplicative step each."""
    basis = None
    for i in range(len(Z)):
        implied = H
        for above in reversed(Z[i + 1 :]):
            implied = implied @ above
        Z[i] = np.linalg.pinv(implied) @ X
        if basis is not None:
            Z[i] = Z[i] @ np.linalg.pinv(basis)
        basis = Z[i] if basis is None else Z[i] @ basis
        if i < len(Z) - 1:
            codes[i] = published.step(X, codes[i], basis, None, 0.5)


def _step(views, bases, graphs, powers: np.ndarray, beta: float, H: np.ndarray) -> np.ndarray:
    """The consensus, by the parts of all views with their weights."""
    up, down = np.zeros_like(H), np.zeros_like(H)
    for X, basis, graph, power in zip(views, bases, graphs, powers, strict=True):
        B, G = X @ basis.T, basis @ basis.T
        up += power * (np.maximum(B, 0) + H @ np.maximum(-G, 0))
        down += power * (np.maximum(-B, 0) + H @ np.maximum(G, 0))
        if graph is not None:
            up += power * beta * graph.dot(H)
            down += power * beta * graph.degree[:, None] * H
    return H * np.sqrt(up / np.maximum(down, 1e-10))


def _residuals(views, bases, graphs, beta: float, H: np.ndarray) -> np.ndarray:
    fits = [float(((X - H @ basis) ** 2).sum()) for X, basis in zip(views, bases, strict=True)]
    return np.array([fit + (beta * g.quad(H) if g is not None else 0.0) for fit, g in zip(fits, graphs, strict=True)])

"""The iterations of Zhao et al.'s multi-view clustering, with the one consensus update that is a descent.

As printed, the consensus is updated view after view without the weights, which may raise the objective; here the parts
of all views are summed with their weights (methods.md 8.1), as in the authors' own code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base.factorizer import Layer
from .._engine.data.derived import Stacked
from .._utils.callbacks import Hook
from ..deep import published
from ..deep.stacks import compose
from ..graphs import GraphOperator
from .consensus import Consensus
from .weights import residual_weights


def run(
    views: Stacked,
    sizes: Sequence[int],
    graphs: Sequence[GraphOperator | None],
    rng: np.random.RandomState,
    *,
    gamma: float,
    beta: float,
    max_iter: int,
    tol: float,
    callback: Hook | None = None,
) -> tuple[Consensus, list[list[Layer]]]:
    """Pre-training and Algorithm 1; the consensus and the layers of each view."""
    arrays = np.split(views.rows(slice(0, views.shape[0])).astype(np.float64), views.edges[1:-1], axis=1)
    codes, weights, H = pretrain(arrays, sizes, rng, max_iter)
    found = algorithm(arrays, codes, weights, H, graphs, gamma=gamma, beta=beta, max_iter=max_iter, callback=callback)
    found.converged = published.settled(found.history, tol)
    found.H = (found.H * views.scale).astype(views.dtype)
    found.powers, stacks = found.weights**gamma, []
    for hidden, Z in zip(codes, weights, strict=True):
        all_codes = [*((h * views.scale).astype(views.dtype) for h in hidden[:-1]), found.H]
        Z = [z.astype(views.dtype) for z in Z]
        stacks.append([Layer(*parts) for parts in zip(Z, compose(Z), all_codes, strict=True)])
    found.Z = np.vstack([layers[-1].components.T for layers in stacks])
    return found, stacks


def pretrain(
    views: Sequence[np.ndarray], sizes: Sequence[int], rng: np.random.RandomState, max_iter: int
) -> tuple[list[list[np.ndarray]], list[list[np.ndarray]], np.ndarray]:
    """Codes and weights of every view by itself, and the top codes of the view they fit best."""
    stacks = [published.greedy(X, sizes, [None] * len(sizes), rng, max_iter=max_iter) for X in views]
    codes, weights = ([list(stack[i]) for stack in stacks] for i in (0, 1))
    left = [
        np.linalg.norm(X - H[-1] @ compose(Z)[-1]) / (np.linalg.norm(X) or 1.0)
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
    callback: Hook | None = None,
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
        bases = [compose(Z)[-1] for Z in weights]
        found.H = _step(views, bases, graphs, powers, beta, found.H)
        residuals = _residuals(views, bases, graphs, beta, found.H)
        found.history.append(float(powers @ residuals) / 2)
        found.weights = residual_weights(residuals, gamma)
        found.n_iter = sweep + 1
        if callback is not None and callback(sweep + 1, found.history[-1]):
            break
    return found


def _sweep_view(X: np.ndarray, codes: list[np.ndarray], Z: list[np.ndarray], H: np.ndarray) -> None:
    """Weights of one view by pseudo-inverses, hidden codes by one multiplicative step each."""
    basis = None
    for i in range(len(Z)):
        basis = published.refit(X, H, Z, i, basis)
        if i < len(Z) - 1:
            codes[i] = published.step(X, codes[i], basis, None)


def _step(views, bases, graphs, powers: np.ndarray, beta: float, H: np.ndarray) -> np.ndarray:
    """The consensus, by the parts of all views with their weights."""
    up, down = np.zeros_like(H), np.zeros_like(H)
    for X, basis, graph, power in zip(views, bases, graphs, powers, strict=True):
        more, less = published.parts(X, H, basis, graph and (beta, graph))
        up += power * more
        down += power * less
    return H * np.sqrt(up / np.maximum(down, 1e-10))


def _residuals(views, bases, graphs, beta: float, H: np.ndarray) -> np.ndarray:
    fits = [float(((X - H @ basis) ** 2).sum()) for X, basis in zip(views, bases, strict=True)]
    return np.array([fit + (beta * g.quad(H) if g is not None else 0.0) for fit, g in zip(fits, graphs, strict=True)])

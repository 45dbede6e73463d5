"""The iterations of Zhao et al.'s multi-view clustering, with the one consensus update that is a descent.

As printed, the consensus is updated view after view without the weights, which may increase the objective; here the
numerators and denominators of all views are summed with their weights (docs/methods.md 8.1), as in the authors' code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base.coding import Layer
from .._engine.data.derived import Stacked
from .._engine.monitor import Monitor, Solution
from ..deep import published
from ..deep.composition import compose
from ..graphs import GraphOperator
from .weights import residual_weights


def run(
    views: Stacked,
    sizes: Sequence[int],
    graphs: Sequence[GraphOperator | None],
    rng: np.random.RandomState,
    *,
    gamma: float,
    beta: float,
    monitor: Monitor,
) -> tuple[Solution, list[list[Layer]]]:
    """Pre-train and run Algorithm 1; returns the consensus and the layers of each view."""
    arrays = np.split(views.rows(slice(0, views.shape[0])).astype(np.float64), views.edges[1:-1], axis=1)
    codes, weights, H = pretrain(arrays, sizes, rng, monitor.max_iter)
    H, shares = algorithm(arrays, codes, weights, H, graphs, monitor, gamma=gamma, beta=beta)
    H, layers = (H * views.scale).astype(views.dtype), []
    for hidden, Z in zip(codes, weights, strict=True):
        all_codes = [*((h * views.scale).astype(views.dtype) for h in hidden[:-1]), H]
        own = [z.astype(views.dtype) for z in Z]
        layers.append([Layer(*parts) for parts in zip(own, compose(own), all_codes, strict=True)])
    components = np.vstack([of_view[-1].components.T for of_view in layers])
    return Solution.reached({"H": H, "Z": components, "weights": shares, "powers": shares**gamma}, monitor), layers


def pretrain(
    views: Sequence[np.ndarray], sizes: Sequence[int], rng: np.random.RandomState, max_iter: int
) -> tuple[list[list[np.ndarray]], list[list[np.ndarray]], np.ndarray]:
    """Return codes and weights of every view alone, and the top codes of the view with the smallest residual."""
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
    monitor: Monitor,
    *,
    gamma: float,
    beta: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Run Algorithm 1; codes (but the last of a view, which all share) and weights are changed in place.

    The monitor records half of ``sum_v a_v^gamma R_v``, with the a_v of the sweep; for gamma below 1 it may increase
    from sweep to sweep, for the a_v then maximise it.

    Returns
    -------
    H, a : ndarray of shape (n_samples, k), (n_views,)
        The consensus and the weights of the views.
    """
    a = np.full(len(views), 1 / len(views))
    for _ in range(monitor.max_iter):
        powers = a**gamma
        for X, hidden, Z in zip(views, codes, weights, strict=True):
            _sweep_view(X, hidden, Z, H)
        bases = [compose(Z)[-1] for Z in weights]
        H = _step(views, bases, graphs, powers, beta, H)
        residuals = _residuals(views, bases, graphs, beta, H)
        monitor.step(float(powers @ residuals) / 2)
        a = residual_weights(residuals, gamma)
        if monitor.stopped:
            break
    monitor.converged = published.has_converged(monitor.history, monitor.tol)
    return H, a


def _sweep_view(X: np.ndarray, codes: list[np.ndarray], Z: list[np.ndarray], H: np.ndarray) -> None:
    """Update the weights of one view by pseudo-inverses, hidden codes by one multiplicative step each."""
    basis = None
    for i in range(len(Z)):
        basis = published.refit(X, H, Z, i, basis)
        if i < len(Z) - 1:
            codes[i] = published.step(X, codes[i], basis, None)


def _step(views, bases, graphs, powers: np.ndarray, beta: float, H: np.ndarray) -> np.ndarray:
    """Update the consensus by the numerators and denominators of all views with their weights."""
    minus, plus = np.zeros_like(H), np.zeros_like(H)
    for X, basis, graph, power in zip(views, bases, graphs, powers, strict=True):
        numerator, denominator = published.split_gradient(X, H, basis, graph and (beta, graph))
        minus += power * numerator
        plus += power * denominator
    return H * np.sqrt(minus / np.maximum(plus, 1e-10))


def _residuals(views, bases, graphs, beta: float, H: np.ndarray) -> np.ndarray:
    fits = [float(((X - H @ basis) ** 2).sum()) for X, basis in zip(views, bases, strict=True)]
    return np.array([fit + (beta * g.quad(H) if g is not None else 0.0) for fit, g in zip(fits, graphs, strict=True)])

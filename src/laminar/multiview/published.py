"""Algorithm 1 of Zhao et al., with the one consensus update that is a descent, or with eq. 7 as printed.

As printed, the consensus is updated view after view without the weights, and products are split into their positive and
negative parts instead of Gram matrices: either may increase the objective. By default the numerators and denominators
of all views are summed with their weights (docs/methods.md 8.1), as in the authors' code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._base.coding import Layer
from .._base.penalized import weight_in_unit_scale
from .._engine.data.matrix import Matrix
from .._engine.linalg.small import safe_divide
from .._engine.loops import recorded
from .._engine.monitor import Monitor, Solution
from ..deep import published
from ..deep.composition import compose
from ..deep.pretraining import published_layer_monitor
from ..graphs import GraphOperator
from .consensus import SharedCodes, reporting
from .layers import Pretraining
from .weights import residual_weights

Graphs = Sequence[GraphOperator | None]


@dataclass
class Stack:
    """One view and its layers; the last codes are those of pre-training, and all views share another array in place.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The view.
    codes, weights : lists of ndarray
        Layer by layer.
    histories : list of ndarray
        Half the squared error after every sweep of pre-training, layer by layer.
    """

    X: np.ndarray
    codes: list[np.ndarray]
    weights: list[np.ndarray]
    histories: list[np.ndarray]

    @classmethod
    def pretrained(
        cls, X: np.ndarray, sizes: Sequence[int], rng: np.random.RandomState, how: Pretraining, unit: float = 1.0
    ) -> Stack:
        """Factorise a view layer by layer from random codes; ``unit`` is that of the view."""
        monitors: list[Monitor] = []

        def monitor(i: int, below: np.ndarray) -> Monitor:
            monitors.append(published_layer_monitor(i, below, how.max_iter, how.hook, unit))
            return monitors[-1]

        def start(below: np.ndarray, k: int) -> np.ndarray:
            return rng.uniform(size=(len(below), k))

        codes, weights = published.greedy(X, sizes, [None] * len(sizes), start, monitor)
        return cls(X, codes, weights, [np.array(monitor.history) for monitor in monitors])

    @property
    def basis(self) -> np.ndarray:
        """The product of all weights."""
        return compose(self.weights)[-1]

    def residual(self, H: np.ndarray) -> float:
        """Return the squared error of top codes."""
        return float(((self.X - H @ self.basis) ** 2).sum())

    def sweep(self, H: np.ndarray) -> None:
        """Update the weights by pseudo-inverses (eq. 4) and the hidden codes by one step each (eq. 5)."""
        basis = None
        for i in range(len(self.weights)):
            basis = published.refit(self.X, H, self.weights, i, basis)
            if i < len(self.weights) - 1:
                self.codes[i] = published.step(self.X, self.codes[i], basis, None)


def run(
    shared: SharedCodes,
    sizes: Sequence[int],
    graphs: Graphs,
    rng: np.random.RandomState,
    *,
    gamma: float,
    alpha: float,
    printed: bool,
    pretraining: Pretraining,
    monitor: Monitor,
) -> tuple[Solution, list[list[Layer]], list[list[np.ndarray]]]:
    """Pre-train and run Algorithm 1; returns consensus, layers of each view, and histories of their pre-training.

    Codes depend on the inner products of the samples alone: views with more features than samples are replaced by
    their coordinates, and the weights of the first layer are brought back to the features in the end. They have the
    units of the views too: random codes have none.
    """
    views = shared.compact
    alpha = weight_in_unit_scale(alpha, views, 2, np.float64) if alpha else alpha
    arrays = np.split(views.rows(slice(0, views.shape[0])).astype(np.float64), views.edges[1:-1], axis=1)
    stacks = [Stack.pretrained(X, sizes, rng, pretraining, views.scale) for X in arrays]

    def finish(solution: Solution) -> tuple[Solution, list[list[Layer]]]:
        H, layers = solution.factors["H"].astype(views.dtype), []
        for stack, view, small in zip(stacks, shared.views.parts, views.parts, strict=True):
            first, *rest = stack.weights
            first = views.scale * (first if small is view else first @ _axes(view, small))
            own = [Z.astype(views.dtype) for Z in (first, *rest)]
            codes = [*(h.astype(views.dtype) for h in stack.codes[:-1]), H]
            layers.append([Layer(*parts) for parts in zip(own, compose(own), codes, strict=True)])
        a, components = solution.factors["weights"], np.vstack([of_view[-1].components.T for of_view in layers])
        return replace(solution, factors={"H": H, "Z": components, "weights": a, "powers": a**gamma}), layers

    monitor = reporting(monitor, finish)
    H, a = algorithm(stacks, best_start(stacks), graphs, monitor, gamma=gamma, alpha=alpha, printed=printed)
    unit = views.scale**2
    histories = [[history * unit if not i else history for i, history in enumerate(s.histories)] for s in stacks]
    return *finish(Solution.reached({"H": H, "weights": a}, monitor)), histories


def _axes(view: Matrix, small: Matrix) -> np.ndarray:
    """Return the orthonormal Q with ``view = small Q``; the columns of ``small`` are orthogonal."""
    C = small.rows(slice(0, small.shape[0])).astype(np.float64) * small.scale
    product = view.T.product(C.astype(view.dtype)).astype(np.float64) * view.scale
    return safe_divide(product, (C**2).sum(axis=0)).T


def best_start(stacks: Sequence[Stack]) -> np.ndarray:
    """Return the top codes of the view with the smallest relative residual."""
    left = [stack.residual(stack.codes[-1]) / (float((stack.X**2).sum()) or 1.0) for stack in stacks]
    return stacks[int(np.argmin(left))].codes[-1]


def algorithm(
    stacks: Sequence[Stack],
    H: np.ndarray,
    graphs: Graphs,
    monitor: Monitor,
    *,
    gamma: float,
    alpha: float,
    printed: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Run Algorithm 1; the hidden codes and the weights of the stacks are changed in place.

    The monitor records half of ``sum_v a_v^gamma R_v`` (eq. 3), with the a_v of the sweep; for gamma below 1 it may
    increase from sweep to sweep, for the a_v then maximise it.

    Returns
    -------
    H, a : ndarray of shape (n_samples, k), (n_views,)
        The consensus and the weights of the views.
    """
    a = np.full(len(stacks), 1 / len(stacks))
    with recorded(monitor):
        while monitor.n_iter < monitor.max_iter and not monitor.stopped:
            powers = a**gamma
            for stack, graph in zip(stacks, graphs, strict=True):
                stack.sweep(H)
                if printed:
                    H = _printed_step(stack, graph, alpha, H)
            if not printed:
                # Only ratios of the powers matter; the powers themselves are tiny for large gamma.
                H = _summed_step(stacks, graphs, (a / a.max()) ** gamma, alpha, H)
            residuals = np.array([s.residual(H) + _penalty(g, alpha, H) for s, g in zip(stacks, graphs, strict=True)])
            a = residual_weights(residuals, gamma)
            monitor.step(float(powers @ residuals) / 2, partial(dict, H=H, weights=a))
    monitor.converged = published.has_converged(monitor.history, monitor.tol)
    return H, a


def _summed_step(
    stacks: Sequence[Stack], graphs: Graphs, powers: np.ndarray, alpha: float, H: np.ndarray
) -> np.ndarray:
    """Update the consensus by the numerators and denominators of all views with their weights."""
    minus, plus = np.zeros_like(H), np.zeros_like(H)
    for stack, graph, power in zip(stacks, graphs, powers, strict=True):
        numerator, denominator = published.split_gradient(
            stack.X, H, stack.basis, None if graph is None else (alpha, graph)
        )
        minus += power * numerator
        plus += power * denominator
    return H * np.sqrt(minus / np.maximum(plus, 1e-10))


def _printed_step(stack: Stack, graph: GraphOperator | None, alpha: float, H: np.ndarray) -> np.ndarray:
    """Update the consensus by one view alone: eq. 7, which splits the product of Gram matrix and codes."""
    B, GH = stack.X @ stack.basis.T, H @ (stack.basis @ stack.basis.T)
    minus, plus = np.maximum(B, 0) + np.maximum(-GH, 0), np.maximum(-B, 0) + np.maximum(GH, 0)
    if graph is not None:
        minus += alpha * graph.dot(H)
        plus += alpha * graph.degree[:, None] * H
    return H * np.sqrt(minus / np.maximum(plus, 1e-10))


def _penalty(graph: GraphOperator | None, alpha: float, H: np.ndarray) -> float:
    return 0.0 if graph is None else alpha * graph.quad(H)

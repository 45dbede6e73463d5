"""The iterations of Trigeorgis et al. to the letter, errata that change the result included (methods.md 5.1, 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .._utils.callbacks import Hook
from ..graphs import GraphOperator

Graphs = Sequence[tuple[float, GraphOperator] | None]


def algorithm(
    X: np.ndarray,
    codes: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    graphs: Graphs,
    *,
    max_iter: int,
    callback: Hook | None = None,
) -> tuple[list[np.ndarray], list[np.ndarray], list[float]]:
    """Algorithm 1 (Deep Semi-NMF), or with graphs on the codes Algorithm 2 (Deep WSF).

    Every sweep goes through the layers: the weights by pseudo-inverses from what the top codes imply, which leaves a
    hidden layer the rank of the top one; then the codes by one multiplicative step on their own fit to X. Hidden codes
    enter nothing but themselves.

    Returns
    -------
    codes, weights : lists of ndarray
        After the last sweep.
    history : list of float
        ``1/2 ||X - H_m Z_m ... Z_1||^2`` plus half the penalty of the top codes, after each sweep.
    """
    H, Z = [h.copy() for h in codes], [z.copy() for z in weights]
    history: list[float] = []
    for sweep in range(max_iter):
        basis = None
        for i in range(len(Z)):
            basis = refit(X, H[-1], Z, i, basis)
            H[i] = step(X, H[i], basis, graphs[i])
        history.append(objective(X, H[-1], basis, graphs[-1]))
        if callback is not None and callback(sweep + 1, history[-1]):
            break
    return H, Z, history


def settled(history: Sequence[float], tol: float) -> bool:
    """Whether the last two sweeps hardly changed the objective: published sweeps are counted, and never stop for it."""
    last = history[-3:]
    return tol > 0 and len(last) == 3 and all(abs(a - b) <= tol * abs(b) for a, b in pairwise(last))


def refit(X: np.ndarray, top: np.ndarray, weights: list[np.ndarray], i: int, below: np.ndarray | None) -> np.ndarray:
    """Set the weights of layer i by pseudo-inverses; returns the basis of the layer, given that of the one below."""
    implied = top
    for above in reversed(weights[i + 1 :]):
        implied = implied @ above
    Z = np.linalg.pinv(implied) @ X
    weights[i] = Z if below is None else Z @ np.linalg.pinv(below)
    return weights[i] if below is None else weights[i] @ below


def layer(
    X: np.ndarray, H: np.ndarray, graph: tuple[float, GraphOperator] | None, *, max_iter: int
) -> tuple[np.ndarray, np.ndarray]:
    """Semi-NMF (or WSF) of one layer: the published pre-training."""
    for _ in range(max_iter):
        Z = np.linalg.pinv(H) @ X
        H = step(X, H, Z, graph)
    return H, np.linalg.pinv(H) @ X


def step(X: np.ndarray, H: np.ndarray, basis: np.ndarray, graph) -> np.ndarray:
    """One multiplicative step of the codes on a basis."""
    up, down = parts(X, H, basis, graph)
    return H * np.sqrt(up / np.maximum(down, 1e-10))


def parts(X: np.ndarray, H: np.ndarray, basis: np.ndarray, graph) -> tuple[np.ndarray, np.ndarray]:
    """What raises and what lowers the codes."""
    B, G = X @ basis.T, basis @ basis.T
    up = np.maximum(B, 0) + H @ np.maximum(-G, 0)
    down = np.maximum(-B, 0) + H @ np.maximum(G, 0)
    if graph is not None:
        weight, operator = graph
        up += weight * operator.dot(H)
        down += weight * operator.degree[:, None] * H
    return up, down


def objective(X: np.ndarray, H: np.ndarray, basis: np.ndarray, graph) -> float:
    """Half the squared error and half the penalty."""
    value = float(((X - H @ basis) ** 2).sum()) / 2
    return value if graph is None else value + graph[0] / 2 * graph[1].quad(H)


def greedy(
    X: np.ndarray, sizes: Sequence[int], graphs: Graphs, rng: np.random.RandomState, *, max_iter: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Pre-training from random codes: each layer on the codes of the one below as they come."""
    codes, weights = [], []
    for k, graph in zip(sizes, graphs, strict=True):
        below = codes[-1] if codes else X
        H, Z = layer(below, rng.uniform(size=(len(X), k)), graph, max_iter=max_iter)
        codes.append(H)
        weights.append(Z)
    return codes, weights

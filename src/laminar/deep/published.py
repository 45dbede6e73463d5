"""The iterations of Trigeorgis et al. as printed, errata that change the result included (docs/methods.md 5.1, 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.linalg import svd

from .._engine.loops import recorded
from .._engine.monitor import Monitor
from ..graphs import GraphOperator

Graph = tuple[float, GraphOperator] | None
Start = Callable[[np.ndarray, int], np.ndarray]
"""Data of a layer and its size -> positive codes to start from."""


def pinv(A: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse; singular values up to ``max(shape) eps`` of the largest are rounding errors.

    So cuts MATLAB, in which the authors wrote. The products that are inverted here have the rank of the top layer:
    with a smaller cutoff the rounding errors of their other singular values are inverted.
    """
    try:
        U, s, Vt = svd(A, full_matrices=False, check_finite=False)
    except np.linalg.LinAlgError:  # on such matrices LAPACK's gesdd may not converge
        U, s, Vt = svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    keep = s > max(A.shape) * np.finfo(A.dtype).eps * s[0] if len(s) else s > 0
    return (Vt[keep].T / s[keep]) @ U[:, keep].T


def algorithm(
    X: np.ndarray,
    codes: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    graphs: Sequence[Graph],
    monitor: Monitor,
    eta: float = 0.5,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Run Algorithm 1 (Deep Semi-NMF), or with graphs on the codes Algorithm 2 (Deep WSF), of Trigeorgis et al.

    Every sweep goes through the layers: the weights by pseudo-inverses from the product of the top codes and the
    weights above, which leaves a hidden layer the rank of the top one; then the codes by one multiplicative step on
    their own fit to X. Hidden codes occur in no other update.

    The monitor records ``1/2 ||X - H_m Z_m ... Z_1||^2`` plus half the penalty of the top codes after each sweep. All
    of its ``max_iter`` sweeps are made; converged is whether the last two hardly changed the objective.

    Returns
    -------
    codes, weights : lists of ndarray
        After the last sweep.
    """
    H, Z = [h.copy() for h in codes], [z.copy() for z in weights]
    with recorded(monitor, {"codes": H, "weights": Z}) as loop:
        if loop.stored is not None:
            H, Z = loop.stored["codes"], loop.stored["weights"]
        while monitor.n_iter < monitor.max_iter and not monitor.stopped:
            basis = refit(X, H[-1], Z, 0, None)
            H[0] = step(X, H[0], basis, graphs[0], eta)
            for i in range(1, len(Z)):
                basis = refit(X, H[-1], Z, i, basis)
                H[i] = step(X, H[i], basis, graphs[i], eta)
            monitor.step(objective(X, H[-1], basis, graphs[-1]), lambda: {"codes": H, "weights": Z})
            loop.keep(lambda: {"codes": H, "weights": Z})
        loop.complete({"codes": H, "weights": Z})
    monitor.converged = has_converged(monitor.history, monitor.tol)
    return H, Z


def has_converged(history: Sequence[float], tol: float) -> bool:
    """Whether the last two sweeps changed the objective by at most ``tol`` of it each."""
    last = history[-3:]
    return tol > 0 and len(last) == 3 and all(abs(a - b) <= tol * abs(b) for a, b in pairwise(last))


def refit(X: np.ndarray, top: np.ndarray, weights: list[np.ndarray], i: int, below: np.ndarray | None) -> np.ndarray:
    """Set the weights of layer i by pseudo-inverses; returns the basis of the layer, given that of the one below."""
    implied = top
    for above in reversed(weights[i + 1 :]):
        implied = implied @ above
    Z = pinv(implied) @ X
    weights[i] = Z if below is None else Z @ pinv(below)
    return weights[i] if below is None else weights[i] @ below


def layer(
    X: np.ndarray, H: np.ndarray, graph: Graph, monitor: Monitor, eta: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Semi-NMF (or WSF) of one layer: the published pre-training. The monitor records its objective."""
    with recorded(monitor, {"H": H}) as loop:
        H = H if loop.stored is None else loop.stored["H"]
        while monitor.n_iter < monitor.max_iter and not monitor.stopped:
            Z = pinv(H) @ X
            H = step(X, H, Z, graph, eta)
            monitor.step(objective(X, H, Z, graph), partial(dict, codes=[H], weights=[Z]))
            loop.keep(partial(dict, H=H))
        loop.complete({"H": H})
    return H, pinv(H) @ X


def step(X: np.ndarray, H: np.ndarray, basis: np.ndarray, graph: Graph, eta: float = 0.5) -> np.ndarray:
    """One multiplicative step of the codes on a basis, with exponent eta."""
    minus, plus = split_gradient(X, H, basis, graph)
    return H * (minus / np.maximum(plus, 1e-10)) ** eta


def split_gradient(X: np.ndarray, H: np.ndarray, basis: np.ndarray, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return numerator and denominator of the multiplicative update, eq. 5 with the graph."""
    B, G = X @ basis.T, basis @ basis.T
    minus = np.maximum(B, 0) + H @ np.maximum(-G, 0)
    plus = np.maximum(-B, 0) + H @ np.maximum(G, 0)
    if graph is not None:
        weight, operator = graph
        minus += weight * operator.dot(H)
        plus += weight * operator.degree[:, None] * H
    return minus, plus


def objective(X: np.ndarray, H: np.ndarray, basis: np.ndarray, graph: Graph) -> float:
    """Half the squared error and half the penalty."""
    value = float(((X - H @ basis) ** 2).sum()) / 2
    return value if graph is None else value + graph[0] / 2 * graph[1].quad(H)


def greedy(
    X: np.ndarray,
    sizes: Sequence[int],
    graphs: Sequence[Graph],
    start: Start,
    monitor: Callable[[int, np.ndarray], Monitor],
    eta: float = 0.5,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Pre-train: each layer factorises the codes of the one below."""
    codes: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    for i, (k, graph) in enumerate(zip(sizes, graphs, strict=True)):
        below = codes[-1] if codes else X
        H, Z = layer(below, start(below, k), graph, monitor(i, below), eta)
        codes.append(H)
        weights.append(Z)
    return codes, weights

"""Smoothing of codes over a graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .._engine.linalg.small import safe_divide, unit_rows
from . import Graph, GraphOperator


def smooth(graph: GraphOperator, C: np.ndarray, strength: float) -> np.ndarray:
    """Solve ``((1 + strength) I - strength N) S = C`` with ``N = D^-1/2 W D^-1/2``.

    S minimises ``||S - C||^2 + strength <S, (I - N) S>``. Samples without edges keep their codes. By conjugate
    gradients on all columns at once: about twenty products with the graph, and no n x n array.

    Parameters
    ----------
    graph : GraphOperator
        Over the rows of C.
    C : ndarray of shape (n_samples, n_columns)
        Codes.
    strength : float
        0 leaves C as it is.

    Returns
    -------
    S : ndarray of shape (n_samples, n_columns)
        The smoothed columns.

    Examples
    --------
    >>> from laminar.graphs import Chain
    >>> C = np.array([[0.0], [1.0], [0.0]])
    >>> smooth(Chain().build(C), C, 1.0).ravel().round(3)
    array([0.236, 0.667, 0.236])
    """
    degree = graph.degree
    root = safe_divide(1, np.sqrt(degree))[:, None]
    strengths = np.where(degree > 0, strength, 0.0)[:, None]

    def system(S: np.ndarray) -> np.ndarray:
        return (1 + strengths) * S - strengths * root * graph.dot(root * S)

    return _conjugate_gradients(system, C)


def _conjugate_gradients(
    system: Callable[[np.ndarray], np.ndarray], B: np.ndarray, *, squared_tol: float = 1e-16, max_iter: int = 200
) -> np.ndarray:
    """Solve ``system(X) = B``, symmetric positive definite, column by column.

    A column is done when its squared residual is at most ``squared_tol`` of that of B, 1e-8 in norm. As
    `scipy.sparse.linalg.cg`, for all columns at once.
    """
    X, R = np.zeros_like(B), B.copy()
    P, squares = R.copy(), np.einsum("ij,ij->j", R, R)
    threshold = squared_tol * squares
    for _ in range(max_iter):
        if (squares <= threshold).all():
            break
        A = system(P)
        step = safe_divide(squares, np.einsum("ij,ij->j", P, A))
        X += step * P
        R -= step * A
        before, squares = squares, np.einsum("ij,ij->j", R, R)
        P = R + safe_divide(squares, before) * P
    return X


def smoothed_codes(C: np.ndarray, graph: Graph, strength: float, groups: ArrayLike | None = None) -> np.ndarray:
    """Smooth the unit rows of codes over a graph built on them, and return their principal scores with unit rows.

    A rotation of C changes nothing but the signs of columns.

    Parameters
    ----------
    C : ndarray of shape (n_samples, k)
        Whitened codes: orthonormal columns.
    graph : Graph
        Built on the directions of C.
    strength : float
        Strength of the smoothing.
    groups : array-like of shape (n_samples,), optional
        Sequence of each sample, for graphs in time.

    Returns
    -------
    Y : ndarray of shape (n_samples, k)
        Principal scores of the smoothed directions, with unit rows.
    """
    C = unit_rows(C)
    S = smooth(graph.build(C, None, groups), C, strength)
    Q = np.linalg.eigh(S.T @ S)[1]
    return unit_rows(S @ Q[:, ::-1])

"""Codes that agree with their neighbours in a graph, and a non-negative basis for them."""

from __future__ import annotations

import numpy as np

from .._engine.linalg.small import unit_rows
from . import GraphOperator


def smooth(graph: GraphOperator, C: np.ndarray, strength: float) -> np.ndarray:
    """Solve ``((1 + strength) I - strength N) S = C``, N being the graph's weights normalised by its degrees.

    S stays close to C and, the more so the larger the strength, to the mean of its neighbours. Conjugate gradients on
    all columns at once: some twenty products with the graph, and nothing n x n.

    Parameters
    ----------
    graph : GraphOperator
        Over the rows of C.
    C : ndarray of shape (n_samples, n_columns)
        What to smooth.
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
    # A sample without neighbours keeps its own code.
    root = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)[:, None]
    strengths = np.where(degree > 0, strength, 0.0)[:, None]

    def system(S: np.ndarray) -> np.ndarray:
        return (1 + strengths) * S - strengths * root * graph.dot(root * S)

    return _conjugate_gradients(system, C)


def _conjugate_gradients(system, B: np.ndarray) -> np.ndarray:
    """Solve a symmetric positive definite system for every column of B, to 1e-8."""
    X, R = np.zeros_like(B), B.copy()
    P, squares = R.copy(), np.einsum("ij,ij->j", R, R)
    enough = 1e-16 * squares
    for _ in range(200):
        if (squares <= enough).all():
            break
        A = system(P)
        step = ratio(squares, np.einsum("ij,ij->j", P, A))
        X += step * P
        R -= step * A
        before, squares = squares, np.einsum("ij,ij->j", R, R)
        P = R + ratio(squares, before) * P
    return X


def ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a / b``, zero where b is not above zero."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def smoothed_codes(C: np.ndarray, graph, strength: float) -> np.ndarray:
    """Points on a sphere whose directions are the smooth part of codes C of any basis.

    Parameters
    ----------
    C : ndarray of shape (n_samples, k)
        Whitened codes: orthonormal columns.
    graph : Graph
        Built on the directions of C.
    strength : float
        Of the smoothing.

    Returns
    -------
    Y : ndarray of shape (n_samples, k)
        Principal scores of the smoothed directions, with unit rows.
    """
    C = unit_rows(C)
    S = smooth(graph.build(C), C, strength)
    Q = np.linalg.eigh(S.T @ S)[1]
    return unit_rows(S @ Q[:, ::-1])

"""Graphs of shared neighbours by rank, and their sum over views.

    a_ij = 1 / (rank of j among the neighbours of i),   W = (A + A^T) / 2,   b_i = unit row i of A + I
    S_ij = w_ij (b_i . b_j + 0.02)

An edge counts more where the two samples have the same neighbours (R. A. Jarvis and E. A. Patrick, IEEE Transactions on
Computers C-22, 1973); the constant keeps those that have none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from ..graphs.neighbours import nearest
from ..graphs.rank import rank_weights
from ..multiview.weights import correlation_weights


def shared_neighbour_graph(points: np.ndarray, n_neighbors: int, *, floor: float = 0.02) -> sp.csr_array:
    """Return the edge weights S of the graph of shared neighbours.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_dimensions)
        Where the samples lie.
    n_neighbors : int
        Neighbours of each sample, or all others where there are fewer.
    floor : float, default=0.02
        Factor of an edge between samples that share no neighbour; no measurement on record.

    Returns
    -------
    S : sparse array of shape (n_samples, n_samples)
        Symmetric, with a zero diagonal.

    Examples
    --------
    >>> shared_neighbour_graph(np.array([[0.0], [1.0], [3.0]]), 1).toarray().round(2)
    array([[0.  , 1.02, 0.  ],
           [1.02, 0.  , 0.26],
           [0.  , 0.26, 0.  ]])
    """
    n_samples = len(points)
    if n_samples < 2:
        return sp.csr_array((n_samples, n_samples))
    A = rank_weights(nearest(points, min(n_neighbors, n_samples - 1))[1], n_samples)
    W = sp.csr_array((A + A.T) / 2)
    B = sp.csr_array(normalize(A + sp.eye_array(n_samples)))
    return sp.csr_array(W.multiply(sp.csr_array(B @ B.T)) + floor * W)


def sum_of_graphs(
    graphs: Sequence[sp.csr_array], observed: np.ndarray, weights: np.ndarray | None = None
) -> tuple[sp.csr_array, np.ndarray]:
    """Add up the graphs of views, each divided by the sum of its edges and weighted by its agreement with the others.

    Parameters
    ----------
    graphs : sequence of sparse array of shape (n_samples_v, n_samples_v)
        Of each view, over the samples that have it.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    weights : ndarray of shape (n_views,) or None, default=None
        Weights of the views. None: the sum of the correlations with the other graphs; equal for two views, of which
        neither is known to be the better one.

    Returns
    -------
    S : sparse array of shape (n_samples, n_samples)
    weights : ndarray of shape (n_views,)
        With sum one.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> S, weights = sum_of_graphs([W, 2 * W], np.array([[True, True], [True, True], [True, False]])[:2])
    >>> S.toarray(), weights
    (array([[0. , 0.5],
           [0.5, 0. ]]), array([0.5, 0.5]))
    """
    n_samples, n_views = observed.shape
    placed = [_placed(S, np.flatnonzero(has), n_samples) for S, has in zip(graphs, observed.T, strict=True)]
    if weights is None:
        weights = correlation_weights(dict(enumerate(placed)), observed) if n_views > 2 else np.zeros(n_views)
        weights = weights / weights.sum() if weights.any() else np.full(n_views, 1 / n_views)
    total = sum(weight / (S.sum() or 1.0) * S for weight, S in zip(weights, placed, strict=True))
    return sp.csr_array(total), weights


def _placed(S: sp.csr_array, at: np.ndarray, n_samples: int) -> sp.csr_array:
    """Return a graph of some samples as one of all."""
    S = S.tocoo()
    return sp.csr_array((S.data, (at[S.coords[0]], at[S.coords[1]])), shape=(n_samples, n_samples))

"""Graphs of views, and the graph over which shared codes are smooth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from .._engine.data.derived import coordinates
from .._engine.data.matrix import Matrix, dense
from .._engine.linalg.small import unit_rows
from .._utils.labels import read_labels
from ..graphs import KNN, Graph, Labels, Rank
from ..graphs.operators import GraphOperator, SparseOperator, SumOperator


def named_graph(graph: str | Graph, n_clusters: int | None, observed: np.ndarray) -> Graph:
    """A graph as it is, "rank" for so many clusters, or "knn": five neighbours, where every view has so many samples.

    Examples
    --------
    >>> named_graph("knn", None, np.array([[True, True], [True, True], [False, True]])).n_neighbors
    1
    """
    if not isinstance(graph, str):
        return graph
    fewest = int(observed.sum(axis=0).min())
    return Rank(n_clusters=n_clusters) if graph == "rank" else KNN(max(1, min(5, fewest - 1)))


def view_graphs(views: Sequence[Matrix], observed: np.ndarray, graph: Graph) -> list[SparseOperator]:
    """The graph of all samples of each view; those that lack it have no edge.

    Examples
    --------
    >>> from laminar._engine.data.wrap import wrap
    >>> view = wrap(np.array([[1.0, 0.0], [5.0, 0.1], [0.0, 0.0], [0.0, 2.0]]))
    >>> view_graphs([view], np.array([[True], [True], [False], [True]]), Rank(1))[0].degree
    array([1. , 1.5, 0. , 0.5])
    """
    rows = np.arange(len(observed))
    return [SparseOperator(edges(view, rows, has, graph)) for view, has in zip(views, observed.T, strict=True)]


def edges(view: Matrix, rows: np.ndarray, observed: np.ndarray, graph: Graph) -> sp.csr_array:
    """Edges between these samples in one view; those that lack it have none."""
    n, at = len(rows), np.flatnonzero(observed)
    if len(at) < 2:
        return sp.csr_array((n, n))
    points = dense(view.rows(rows[at]))
    if points.shape[1] > len(at):
        points = coordinates(points.astype(np.float64) @ points.T)
    W = graph.build(unit_rows(points)).tocsr()
    place = sp.csr_array((np.ones(len(at)), at, np.arange(len(at) + 1)), (len(at), n))
    return sp.csr_array(place.T @ W @ place)


def codes_graph(
    views: Sequence[Matrix], observed: np.ndarray, graph: Graph, weights: np.ndarray, *, beta: float, y, alpha: float
) -> SumOperator | None:
    """Return the graph over which codes are to be smooth: those of the views, and samples of one class linked.

    Parameters
    ----------
    views, observed, graph
        As for `view_graphs`.
    weights : ndarray of shape (n_views,)
        Weight of each view.
    beta, alpha : float
        Weights of the graphs and of the labels.
    y : array-like of shape (n_samples,) or (n_samples, n_attributes), or None
        Labels, some of them.

    Returns
    -------
    operator : SumOperator or None
        None where no samples are linked.

    Examples
    --------
    >>> from laminar._engine.data.wrap import wrap
    >>> one, has = wrap(np.eye(3)), np.ones((3, 1), bool)
    >>> codes_graph([one], has, Rank(1), np.ones(1), beta=0.0, y=[0, 0, -1], alpha=2.0).degree
    array([1., 1., 0.])
    """
    terms: list[tuple[float, GraphOperator]] = []
    if beta > 0:
        graphs = view_graphs(views, observed, graph)
        terms += [(beta * float(weight), one) for weight, one in zip(weights, graphs, strict=True)]
    if y is not None and alpha > 0:
        by_class = Labels(normalize="class")
        terms += [(alpha, by_class.link(None, attribute)) for attribute in read_labels(y, len(observed))]
    operator = SumOperator(terms)
    return operator if np.any(operator.row_curvature) else None

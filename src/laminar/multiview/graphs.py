"""Graphs of views, and of samples of one class, over which shared codes are smooth."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import cast

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from .._engine.data.derived import Normalized, coordinates
from .._engine.data.matrix import Matrix, dense
from .._engine.linalg.small import unit_rows
from .._utils.labels import read_labels
from ..graphs import KNN, Graph, GraphOperator, Labels, Rank, as_graph
from ..graphs.operators import SumOperator


def named_graph(graph: str | Graph, n_clusters: int | None, observed: np.ndarray) -> Graph:
    """Return a graph as it is, "rank" for so many clusters, or "knn": five neighbours, or as many as every view has.

    Examples
    --------
    >>> named_graph("knn", None, np.array([[True, True], [True, True], [False, True]])).n_neighbors
    1
    """
    if not isinstance(graph, str):
        return graph
    fewest = int(observed.sum(axis=0).min())
    return Rank(n_clusters=n_clusters) if graph == "rank" else KNN(max(1, min(5, fewest - 1)))


def graphs_of_views(graph, names: Sequence[Hashable], n_neighbors: int, n_samples: int) -> list[Graph] | None:
    """Return the graph of every view, by one name or graph for all, or one a view; None where there is none.

    Examples
    --------
    >>> graphs_of_views({"a": "chain", "b": "knn"}, ["a", "b"], 5, n_samples=4)
    [Chain(), KNN(n_neighbors=3, weight='binary', symmetrize='union', bandwidth=None)]
    """
    if graph is None or n_samples < 2:  # one sample has no neighbours
        return None
    if isinstance(graph, Mapping) and not sp.issparse(graph):
        if set(graph) != set(names):
            raise ValueError(f"graph has the keys {list(graph)}, but the views are {list(names)}: give one a view.")
        graph = [graph[name] for name in names]
    if not isinstance(graph, list):
        graph = [graph] * len(names)
    if len(graph) != len(names):
        raise ValueError(f"graph must be one for all views or a list of {len(names)}, one a view; got {len(graph)}.")
    nearest = KNN(min(n_neighbors, n_samples - 1))
    found = [nearest if isinstance(one, str) and one == "knn" else as_graph(one) for one in graph]
    if None in found:
        raise ValueError("graph=None is for all views: give every view a graph, or none.")
    return cast(list[Graph], found)


def view_graph(view: Matrix, array, graph: Graph) -> GraphOperator:
    """Return a graph of the samples of one view, of which ``array`` has the features before they were normalised.

    Examples
    --------
    >>> from laminar._engine.data.wrap import wrap
    >>> X = np.array([[0.0], [1.0], [1.1]])
    >>> view_graph(wrap(X), X, KNN(1)).degree
    array([1., 2., 1.])
    """
    if view.workers is not None:
        return graph.build(array).on(view.workers)
    if sp.issparse(array):  # an array of all entries would be larger than the data
        return graph.build(normalize(array) if isinstance(view, Normalized) else array)
    return graph.build(dense(view.rows(slice(0, view.shape[0]))))


def edges(view: Matrix, rows: np.ndarray, observed: np.ndarray, graph: Graph) -> sp.csr_array:
    """Edges between these samples in one view; those that lack it have none."""
    n, at = len(rows), np.flatnonzero(observed)
    if len(at) < 2:
        return sp.csr_array((n, n))
    points = view.take(rows[at])
    if points.shape[1] > len(at):
        points = coordinates(points.astype(np.float64) @ points.T)
    W = graph.build(unit_rows(points)).tocsr()
    place = sp.csr_array((np.ones(len(at)), at, np.arange(len(at) + 1)), (len(at), n))
    return sp.csr_array(place.T @ W @ place)


def classes_graph(y, alpha: float, n_samples: int) -> SumOperator | None:
    """Return the graph that links samples of one class, with weights that sum over attributes.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_attributes), or None
        Labels, some of them.
    alpha : float
        Weight of the links.
    n_samples : int
        Number of samples.

    Returns
    -------
    operator : SumOperator or None
        None where no samples are linked.

    Examples
    --------
    >>> classes_graph([0, 0, -1], 2.0, 3).degree
    array([1., 1., 0.])
    """
    if y is None or alpha == 0:
        return None
    by_class = Labels(normalize="class")
    operator = SumOperator([(alpha, by_class.link(None, attribute)) for attribute in read_labels(y, n_samples)])
    return operator if np.any(operator.row_curvature) else None

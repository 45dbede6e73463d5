"""Graphs over the samples, kept as linear operators: no n x n dense matrix is ever formed.

A *specification* of the edges consists of plain parameters::

    KNN(5) + 0.5 * Chain()

Its ``build(X, y, groups)`` returns a :class:`GraphOperator` over these samples: the symmetric, non-negative edge
weights ``W`` (with a zero diagonal, but for ``Labels(self_loops=True)``), the degrees ``d = W 1`` and the Laplacian
``L = diag(d) - W``.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .eigenmaps import laplacian_eigenmaps
from .labelled import LabelledKNN, Labels, with_labels
from .neighbours import KNN
from .operators import GraphOperator
from .rank import Rank
from .specs import Chain, Graph, Precomputed, Sum

__all__ = [
    "KNN",
    "Chain",
    "Graph",
    "GraphOperator",
    "LabelledKNN",
    "Labels",
    "Precomputed",
    "Rank",
    "Sum",
    "as_graph",
    "laplacian_eigenmaps",
    "with_labels",
]

_NAMED = {"knn": KNN, "labels": Labels, "chain": Chain, "rank": Rank}


def as_graph(graph: str | Graph | sp.sparray | sp.spmatrix | np.ndarray | None) -> Graph | None:
    """Read the ``graph`` parameter of a model as a specification.

    Parameters
    ----------
    graph : {"knn", "labels", "chain", "rank"}, Graph, sparse matrix, ndarray or None
        A name stands for that graph with its default parameters, a matrix for :class:`Precomputed`.

    Returns
    -------
    Graph or None
        The specification; None for None.

    Examples
    --------
    >>> as_graph("chain")
    Chain()
    """
    if graph is None or isinstance(graph, Graph):
        return graph
    if sp.issparse(graph) or isinstance(graph, np.ndarray):
        return Precomputed(graph)
    if isinstance(graph, str) and graph in _NAMED:
        return _NAMED[graph]()
    raise ValueError(
        "graph must be 'knn', 'labels', 'chain', 'rank', a sparse matrix, None, or made from laminar.graphs as in "
        f"KNN(5) + 0.5 * Chain(); got {graph!r}."
    )

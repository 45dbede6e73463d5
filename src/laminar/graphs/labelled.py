"""Graphs of labels, of which some may be unknown."""

# ruff: noqa: D102 -- every build is the one of Graph

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances

from .._engine.data.matrix import dense
from .._utils.labels import Attribute, attribute_names, one_column, read_labels
from .._utils.typing import Data
from .._utils.validation import check_choice, check_positive, count_samples
from .neighbours import KNN, Points, as_rows, check_bandwidth, in_range
from .operators import (
    BlockOperator,
    ClassOperator,
    Gram,
    GraphOperator,
    SelfLoops,
    SparseOperator,
    SumOperator,
    row_squares,
)
from .specs import Graph, Sum


@dataclass(frozen=True)
class Labels(Graph):
    """Graph that links the samples of one class; samples of unknown class have no edges.

    Parameters
    ----------
    weight : {"binary", "rbf", "dot"}
        1; ``exp(-distance^2 / (2 bandwidth^2))``; or the inner product of the samples, or 0 where it is negative, so
        that L is positive semidefinite (Trigeorgis et al., IEEE TPAMI 39, 2017, eq. 16, 17 and 18).
    normalize : {None, "class"}
        "class" divides the weights by the size of the class, so that large and small classes have equal weight;
        ``1/2 sum_ij w_ij ||h_i - h_j||^2`` is then the within-class scatter, for binary weights.
    bandwidth : float, optional
        Of the rbf weights, sigma of eq. 17, and theirs alone. By default the median distance over pairs of one class.
    attribute : int or str, optional
        Column of y, by position or name; by default all, as the sum of their graphs.
    self_loops : bool
        Whether a sample of known class is linked to itself, as eq. 16 to 18 are printed. ``L = D - W`` is the same;
        multiplicative updates, which have D and W apart, are slower. The authors' code has no such links.

    Examples
    --------
    >>> X = np.zeros((4, 1))
    >>> Labels().build(X, y=["a", "b", "a", None]).tocsr().toarray()
    array([[0., 0., 1., 0.],
           [0., 0., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 0.]])
    """

    weight: Literal["binary", "rbf", "dot"] = "binary"
    normalize: Literal["class"] | None = None
    bandwidth: float | None = None
    attribute: int | str | None = None
    self_loops: bool = False

    uses_labels = True

    def __post_init__(self):
        check_choice("weight", self.weight, ("binary", "rbf", "dot"))
        check_choice("normalize", self.normalize, (None, "class"))
        check_bandwidth(self.bandwidth, self.weight, "rbf")

    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        if y is None:
            raise ValueError("a graph of labels needs y; pass y to fit, with -1 where the class is unknown.")
        graphs = [self.link(X, a) for a in _attributes(y, count_samples(X), self.attribute)]
        return graphs[0] if len(graphs) == 1 else SumOperator([(1.0, graph) for graph in graphs])

    def link(self, X: Data, attribute: Attribute) -> GraphOperator:
        """Link the samples of each class of one attribute."""
        graph = self._pairs(X, attribute)
        return SelfLoops(graph, self._loops(X, attribute)) if self.self_loops else graph

    def _loops(self, X: Data, attribute: Attribute) -> np.ndarray:
        """Return the weight of every sample with itself."""
        weights = 1 / attribute.class_sizes if self.normalize else np.ones(len(attribute.classes))
        loops = attribute.one_hot() @ weights
        return loops * row_squares(as_rows(X)) if self.weight == "dot" else loops

    def _pairs(self, X: Data, attribute: Attribute) -> GraphOperator:
        """Link different samples of each class."""
        if self.weight == "binary":
            return ClassOperator(attribute, self.normalize)
        X = as_rows(X)
        classes = [np.flatnonzero(attribute.codes == code) for code in range(len(attribute.classes))]
        classes = [rows for rows in classes if len(rows) > 1]
        blocks = self._rbf_blocks(X, classes) if self.weight == "rbf" else self._dot_blocks(X, classes)
        return BlockOperator(X.shape[0], list(zip(classes, blocks, strict=True)))

    def _rbf_blocks(self, X: Points, classes: list[np.ndarray]) -> list[np.ndarray]:
        X, unit = in_range(X)
        squares = [euclidean_distances(X[rows], squared=True) for rows in classes]
        bandwidth = self.bandwidth / unit if self.bandwidth else _median_distance(squares)
        blocks = [np.exp(-square / (2 * bandwidth**2)) for square in squares]
        for block in blocks:
            np.fill_diagonal(block, 0)
        return [block / len(block) if self.normalize else block for block in blocks]

    def _dot_blocks(self, X: Points, classes: list[np.ndarray]) -> list[Any]:
        parts = [X[rows] / (len(rows) ** 0.5 if self.normalize else 1) for rows in classes]
        # Of non-negative samples nothing is clipped, and the products need not be formed.
        return [Gram(part) if part.min() >= 0 else _clipped_products(part) for part in parts]


@dataclass(frozen=True)
class LabelledKNN(KNN):
    """Graph of labels where both are known, of nearest neighbours elsewhere (semi-supervised GNMF).

    Samples of one known class are all linked, samples of different known classes never, and all other
    pairs as by :class:`KNN`. Without y every label is unknown.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of each sample, itself not counted.
    weight : {"binary", "heat", "cosine"}
        Weight of a link between neighbours, see :class:`KNN`.
    symmetrize : {"union", "mutual"}
        Link two samples when one is a neighbour of the other, or when each is the other's.
    bandwidth : float, optional
        Of the heat weights. By default the mean distance over all pairs, of 3000 samples at most.
    label_weight : float
        Weight between two samples of one known class.
    attribute : int or str, optional
        Column of y, by position or name; needed when y has several.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [10.0]])
    >>> LabelledKNN(1).build(X, y=["a", "b", None, "a"]).tocsr().toarray()
    array([[0., 0., 0., 1.],
           [0., 0., 1., 0.],
           [0., 1., 0., 1.],
           [1., 0., 1., 0.]])
    """

    label_weight: float = 1.0
    attribute: int | str | None = None

    uses_labels = True

    def __post_init__(self):
        super().__post_init__()
        check_positive("label_weight", self.label_weight)

    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        neighbours = super().build(X)
        attributes = () if y is None else _attributes(y, len(neighbours.degree), self.attribute)
        if not attributes:
            return neighbours
        if len(attributes) > 1:
            raise ValueError(
                f"y has {len(attributes)} attributes, {attribute_names(attributes)}, and a graph of labels and "
                f"neighbours takes one: {one_column(attributes)}, or graph=laminar.graphs.LabelledKNN(attribute=0)."
            )
        (attribute,) = attributes
        edges = neighbours.tocsr().tocoo()
        edges.data[attribute.known[edges.row] & attribute.known[edges.col]] = 0
        by_label = ClassOperator(attribute, normalize=None)
        return SumOperator([(1.0, SparseOperator(edges.tocsr())), (self.label_weight, by_label)])


def with_labels(graph: Graph, y: ArrayLike | None, n_samples: int) -> Graph:
    """Return the graph that uses the labels y: semi-supervised, in the place of one of neighbours alone.

    Parameters
    ----------
    graph : Graph
        Any graph. One that uses labels is returned as it is; in any other, or in a sum of others, :class:`KNN` becomes
        :class:`LabelledKNN` with the same weights.
    y : array-like of shape (n_samples,) or (n_samples, n_attributes), or None
        Partial labels; without a known one the graph is returned as it is.
    n_samples : int
        Number of samples.

    Returns
    -------
    Graph
        The graph; an error is raised where the labels would have no effect.

    Examples
    --------
    >>> with_labels(KNN(5, weight="heat"), ["a", None, "b"], 3).weight
    'heat'
    """
    if y is None or graph.uses_labels or not any(a.known.any() for a in read_labels(y, n_samples)):
        return graph
    if isinstance(graph, Sum):
        labelled: Graph = Sum(tuple((weight, _labelled(part)) for weight, part in graph.terms))
    else:
        labelled = _labelled(graph)
    if not labelled.uses_labels:
        kinds = " + ".join(type(part).__name__ for _, part in graph._terms)
        raise ValueError(
            f"the labels y have no effect: the graph, {kinds}, does not use them. Add one that does, as in "
            "laminar.graphs.Labels() + laminar.graphs.Chain(), or leave y out."
        )
    return labelled


def _labelled(graph: Graph) -> Graph:
    return LabelledKNN(**vars(graph)) if type(graph) is KNN else graph


def _clipped_products(A: Points) -> np.ndarray:
    """``max(A A^T, 0)`` without its diagonal."""
    products = np.maximum(dense(A @ A.T), 0)
    np.fill_diagonal(products, 0)
    return products


def _attributes(y: ArrayLike, n_samples: int, which: int | str | None) -> tuple[Attribute, ...]:
    attributes = read_labels(y, n_samples)
    if which is None:
        return attributes
    chosen = tuple(a for i, a in enumerate(attributes) if which in (i, a.name))
    if len(chosen) != 1:
        names = attribute_names(attributes)
        raise ValueError(f"attribute={which!r} must name one column of y; its columns are {names}.")
    return chosen


def _median_distance(squares: list[np.ndarray]) -> float:
    pairs = [np.sqrt(square[np.triu_indices(len(square), 1)]) for square in squares]
    return float(np.median(np.concatenate(pairs or [[1.0]]))) or 1.0

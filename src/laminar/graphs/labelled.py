"""Graphs of labels, of which some may be unknown."""

# ruff: noqa: D102 -- every build is the one of Graph

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances

from .._utils.labels import Attribute, attribute_names, read_labels
from .._utils.typing import Data
from .._utils.validation import check_choice, check_positive, count_samples
from .neighbours import KNN, Points, as_rows, in_range
from .operators import BlockOperator, ClassOperator, Gram, GraphOperator, SparseOperator, SumOperator
from .specs import Graph


@dataclass(frozen=True)
class Labels(Graph):
    """Graph that links the samples of one class; samples of unknown class have no edges.

    Parameters
    ----------
    weight : {"binary", "rbf", "dot"}
        1; ``exp(-distance^2 / (2 bandwidth^2))``; or the inner product of the samples, which must be >= 0.
    normalize : {None, "class"}
        "class" divides the weights by the size of the class, so that large and small classes have equal weight;
        ``1/2 sum_ij w_ij ||h_i - h_j||^2`` is then the within-class scatter, for binary weights.
    bandwidth : float, optional
        Of the rbf weights. By default the median distance over pairs of one class.
    attribute : int or str, optional
        Column of y, by position or name; by default all, as the sum of their graphs.

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

    def __post_init__(self):
        check_choice("weight", self.weight, ("binary", "rbf", "dot"))
        check_choice("normalize", self.normalize, (None, "class"))
        check_positive("bandwidth", self.bandwidth)

    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        if y is None:
            raise ValueError("a graph of labels needs y; pass y to fit, with -1 where the class is unknown.")
        graphs = [self.link(X, a) for a in _attributes(y, count_samples(X), self.attribute)]
        return graphs[0] if len(graphs) == 1 else SumOperator([(1.0, graph) for graph in graphs])

    def link(self, X: Data, attribute: Attribute) -> GraphOperator:
        """Link the samples of each class of one attribute."""
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

    def _dot_blocks(self, X: Points, classes: list[np.ndarray]) -> list[Gram]:
        if X.min() < 0:
            raise ValueError(
                f"Labels(weight='dot') needs X >= 0, but its minimum is {X.min():.3g}: weights could be "
                "negative. Use weight='rbf' or 'binary', or shift or clip X."
            )
        return [Gram(X[rows] / (len(rows) ** 0.5 if self.normalize else 1)) for rows in classes]


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
                f"y has {len(attributes)} attributes and LabelledKNN reads one; choose it with attribute=."
            )
        (attribute,) = attributes
        edges = neighbours.tocsr().tocoo()
        edges.data[attribute.known[edges.row] & attribute.known[edges.col]] = 0
        by_label = ClassOperator(attribute, normalize=None)
        return SumOperator([(1.0, SparseOperator(edges.tocsr())), (self.label_weight, by_label)])


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

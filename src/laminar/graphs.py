"""Graphs over the samples, kept as linear operators: no n x n dense matrix is ever formed.

A *specification* says which samples to link and is made of plain parameters::

    KNN(5) + 0.5 * Chain()

Its ``build(X, y, groups)`` gives a :class:`GraphOperator` for these samples: the symmetric, non-negative edge
weights ``W`` with a zero diagonal, the degrees ``d = W 1`` and the Laplacian ``L = diag(d) - W``.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize as unit_rows
from sklearn.utils import check_array, gen_batches

from laminar.labels import Attribute, read_labels

__all__ = [
    "KNN",
    "Chain",
    "Graph",
    "GraphOperator",
    "LabelledKNN",
    "Labels",
    "Precomputed",
    "Sum",
    "as_graph",
]


# ---------------------------------------------------------------------------------------------- operators


class GraphOperator(ABC):
    """The weights, degrees and Laplacian of a graph, applied to a factor with a row (or an entry) per sample.

    A float32 argument gives a float32 result; any other gives float64.

    Attributes
    ----------
    degree : ndarray of shape (n_samples,)
        Sum of the edge weights of each sample; self-loops do not count. Always float64.

    Examples
    --------
    >>> H = np.array([[1.0], [2.0], [4.0]])
    >>> chain = Chain().build(H)
    >>> chain.dot(H).ravel(), chain.degree
    (array([2., 5., 2.]), array([1., 2., 1.]))
    >>> chain.laplacian(H).ravel(), chain.quad(H)
    (array([-1., -1.,  2.]), 5.0)
    """

    degree: np.ndarray

    @abstractmethod
    def dot(self, H: np.ndarray) -> np.ndarray:
        """``W H``."""

    @abstractmethod
    def tocsr(self) -> sp.csr_array:
        """``W`` as a sparse matrix; a label graph then takes the square of each class's size."""

    def laplacian(self, H: np.ndarray) -> np.ndarray:
        """``L H``."""
        H = _as_float(H)
        return _scale_rows(self.degree, H) - self.dot(H)

    def quad_columns(self, H: np.ndarray) -> np.ndarray:
        """``h^T L h`` for every column h of H, at least 0."""
        H = _as_float(H)
        # L is positive semi-definite: what falls below zero is rounding, and would make a negative ridge.
        return np.maximum(np.einsum("i...,i...->...", H, self.laplacian(H)), 0)

    def quad(self, H: np.ndarray) -> float:
        """``Tr(H^T L H)``, half the weighted sum of squared distances over ordered pairs of samples."""
        return float(self.quad_columns(H).sum())

    def norm_bound(self) -> float:
        """Upper bound of the spectral norm of L."""
        return 2 * float(self.degree.max(initial=0))


class _SparseOperator(GraphOperator):
    """Any sparse W; its diagonal is dropped: self-loops cancel in L and only slow multiplicative rules."""

    def __init__(self, W: sp.csr_array):
        W = sp.csr_array(W - sp.diags_array(W.diagonal()))
        W.eliminate_zeros()
        self.W = W
        self.degree = W.sum(axis=1, dtype=np.float64)

    def dot(self, H):
        H = _as_float(H)
        return self.W.astype(H.dtype, copy=False) @ H

    def tocsr(self):
        return self.W


class _ClassOperator(GraphOperator):
    """Weight 1 (or one over the class size) between samples of one class, by class sums: O(nk)."""

    def __init__(self, attribute: Attribute, normalize: str | None):
        sizes = attribute.class_sizes
        self.codes, self.members = attribute.codes, attribute.one_hot()
        self.class_weights = 1.0 / sizes if normalize == "class" else np.ones(len(sizes))
        self.self_loops = self.members @ self.class_weights
        self.degree = self.members @ (self.class_weights * (sizes - 1))
        # The eigenvalues of a class's Laplacian are 0 and its total weight; a class of one has no edge.
        self.largest = float((self.class_weights * sizes)[sizes > 1].max(initial=0))

    def dot(self, H):
        H = _as_float(H)
        # Code -1, unknown, finds the row of zeros at the end.
        sums = np.zeros((len(self.class_weights) + 1, *H.shape[1:]), H.dtype)
        # The product runs in float64 even for float32: over a large class rounding would spoil L 1 = 0.
        sums[:-1] = _scale_rows(self.class_weights, self.members.T @ H)
        return sums[self.codes] - _scale_rows(self.self_loops, H)

    def norm_bound(self):
        return self.largest

    def tocsr(self):
        weighted = self.members.copy()
        weighted.data = self.class_weights[weighted.indices]
        return _SparseOperator(self.members @ weighted.T).W


class _BlockOperator(GraphOperator):
    """One dense or factored block of weights for each class; samples outside the blocks have no edge."""

    def __init__(self, n_samples: int, blocks: list[tuple[np.ndarray, Any]]):
        self.n_samples = n_samples
        self.blocks = blocks
        self.degree = self.dot(np.ones(n_samples))

    def dot(self, H):
        H = _as_float(H)
        out = np.zeros_like(H)
        for rows, block in self.blocks:
            out[rows] = block.astype(H.dtype, copy=False) @ H[rows]
        return out

    def tocsr(self):
        W = sp.lil_array((self.n_samples, self.n_samples))
        for rows, block in self.blocks:
            W[np.ix_(rows, rows)] = block @ np.eye(len(rows))
        return _SparseOperator(W.tocsr()).W  # the factored blocks leave rounding on the diagonal


class _Gram:
    """``A A^T`` without its diagonal, as a product: the n_c x n_c matrix is not formed."""

    def __init__(self, A: np.ndarray | sp.csr_array):
        self.A = A
        self.diagonal = _row_squares(A)

    def astype(self, dtype, copy):
        return self if self.A.dtype == dtype else _Gram(self.A.astype(dtype, copy=copy))

    def __matmul__(self, H):
        return self.A @ (self.A.T @ H) - _scale_rows(self.diagonal, H)


class _ChainOperator(GraphOperator):
    """Each sample is linked to the next one of its sequence; products are shifted differences."""

    def __init__(self, n_samples: int, sequence: np.ndarray):
        contiguous = np.count_nonzero(np.diff(sequence)) == sequence.max(initial=0)
        # A slice instead of an index array keeps the usual case free of copies.
        self.order = slice(None) if contiguous else np.argsort(sequence, kind="stable")
        self.n_samples = n_samples
        self.linked = np.diff(sequence[self.order]) == 0
        self.longest = np.bincount(sequence).max(initial=1)
        self.degree = self.dot(np.ones(n_samples))

    def dot(self, H):
        H = _as_float(H)
        ordered, out = H[self.order], np.zeros_like(H)
        out[:-1] = _scale_rows(self.linked, ordered[1:])
        out[1:] += _scale_rows(self.linked, ordered[:-1])
        return self._restore(out)

    def laplacian(self, H):
        steps = self._steps(H)
        out = np.zeros((self.n_samples, *steps.shape[1:]), steps.dtype)
        out[:-1] = -steps
        out[1:] += steps
        return self._restore(out)

    def quad_columns(self, H):
        steps = self._steps(H)
        return np.einsum("i...,i...->...", steps, steps)

    def norm_bound(self):
        # The largest eigenvalue of a path of m samples.
        return float(4 * np.sin(np.pi * (self.longest - 1) / (2 * self.longest)) ** 2)

    def tocsr(self):
        place = np.arange(self.n_samples)[self.order]
        before, after = place[:-1][self.linked], place[1:][self.linked]
        W = sp.coo_array((np.ones(len(before)), (before, after)), shape=(self.n_samples, self.n_samples))
        return sp.csr_array(W + W.T)

    def _steps(self, H):
        return _scale_rows(self.linked, np.diff(_as_float(H)[self.order], axis=0))

    def _restore(self, ordered):
        if isinstance(self.order, slice):
            return ordered
        out = np.empty_like(ordered)
        out[self.order] = ordered
        return out


class _SumOperator(GraphOperator):
    """A weighted sum of graphs."""

    def __init__(self, terms: list[tuple[float, GraphOperator]]):
        self.terms = terms
        self.degree = sum(weight * part.degree for weight, part in terms)

    def dot(self, H):
        return sum(weight * part.dot(H) for weight, part in self.terms)

    def laplacian(self, H):
        return sum(weight * part.laplacian(H) for weight, part in self.terms)

    def quad_columns(self, H):
        return sum(weight * part.quad_columns(H) for weight, part in self.terms)

    def norm_bound(self):
        return sum(weight * part.norm_bound() for weight, part in self.terms)

    def tocsr(self):
        return sp.csr_array(sum(weight * part.tocsr() for weight, part in self.terms))


# ------------------------------------------------------------------------------------------ specifications


class Graph(ABC):
    """Which samples to link. Graphs add up, and multiply by a non-negative number.

    Examples
    --------
    >>> KNN(5) + 0.5 * Chain()
    KNN(n_neighbors=5, weight='binary', symmetrize='union', bandwidth=None) + 0.5 * Chain()
    """

    __array_ufunc__ = None  # products with numpy's numbers and arrays are for __rmul__ to judge

    @abstractmethod
    def build(self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        """Link the samples of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), optional
            Partial labels, as :func:`laminar.labels.read_labels` takes them.
        groups : array-like of shape (n_samples,), optional
            The sequence each sample belongs to.

        Returns
        -------
        GraphOperator
        """

    def __add__(self, other: "Graph") -> "Sum":
        return Sum(_terms(self) + _terms(other)) if isinstance(other, Graph) else NotImplemented

    def __radd__(self, other: Literal[0]) -> "Graph":
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum() starts from 0

    def __mul__(self, factor: float) -> "Sum":
        if not isinstance(factor, Real):
            return NotImplemented
        return Sum(tuple((float(factor) * weight, graph) for weight, graph in _terms(self)))

    __rmul__ = __mul__


@dataclass(frozen=True, repr=False)
class Sum(Graph):
    """A weighted sum of graphs, as ``KNN() + 0.5 * Chain()`` makes it.

    Parameters
    ----------
    terms : tuple of (float, Graph)
        Weights and graphs.

    Examples
    --------
    >>> X = np.arange(3.0)[:, None]
    >>> (Chain() + 2 * Chain()).build(X).degree
    array([3., 6., 3.])
    """

    terms: tuple[tuple[float, Graph], ...]

    def __post_init__(self):
        for weight, _ in self.terms:
            if not 0 <= weight < np.inf:
                raise ValueError(f"a graph can be multiplied by a finite number >= 0 only; got {weight:g}.")

    def build(self, X, y=None, groups=None):
        """Link the samples of X; see :meth:`Graph.build`."""
        return _SumOperator([(weight, graph.build(X, y, groups)) for weight, graph in self.terms])

    def __repr__(self):
        return " + ".join(repr(graph) if w == 1 else f"{w:g} * {graph!r}" for w, graph in self.terms)


@dataclass(frozen=True)
class KNN(Graph):
    """Link each sample to its nearest neighbours, in Euclidean distance; of equally near ones the first win.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of each sample, itself not counted.
    weight : {"binary", "heat", "cosine"}
        1; ``exp(-distance^2 / (2 bandwidth^2))``; or the cosine where it is positive, with the neighbours
        nearest in angle (a zero sample is then linked to none).
    symmetrize : {"union", "mutual"}
        Link two samples when one is a neighbour of the other, or when each is the other's.
    bandwidth : float, optional
        Of the heat weights. By default the mean distance over all pairs, of 3000 samples at most.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [10.0]])
    >>> KNN(1).build(X).tocsr().toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [0., 0., 1., 0.]])
    """

    n_neighbors: int = 5
    weight: Literal["binary", "heat", "cosine"] = "binary"
    symmetrize: Literal["union", "mutual"] = "union"
    bandwidth: float | None = None

    def __post_init__(self):
        _check_choice("weight", self.weight, ("binary", "heat", "cosine"))
        _check_choice("symmetrize", self.symmetrize, ("union", "mutual"))
        _check_positive("bandwidth", self.bandwidth)

    def build(self, X, y=None, groups=None):
        """Link the samples of X; see :meth:`Graph.build`."""
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        n_samples = X.shape[0]
        if not 1 <= self.n_neighbors < n_samples:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be at least 1 and below the number of samples, "
                f"{n_samples}; lower n_neighbors or give more samples."
            )
        points = unit_rows(X) if self.weight == "cosine" else X
        squares, neighbours = _nearest(points, self.n_neighbors)
        starts = np.arange(0, neighbours.size + 1, self.n_neighbors)
        edges = self._weights(X, squares, neighbours).ravel()
        W = sp.csr_array((edges, neighbours.ravel(), starts), shape=(n_samples, n_samples))
        return _SparseOperator(W.maximum(W.T) if self.symmetrize == "union" else W.minimum(W.T))

    def _weights(self, X, squares, neighbours):
        if self.weight == "binary":
            return np.ones_like(squares)
        if self.weight == "heat":
            bandwidth = self.bandwidth or _mean_distance(X)
            return np.exp(-squares / (2 * bandwidth**2))
        blank = _row_squares(X) == 0  # no angle, although the formula would give one
        cosine = np.maximum(1 - squares / 2, 0)  # of unit rows
        return np.where(blank[:, None] | blank[neighbours], 0, cosine)


@dataclass(frozen=True)
class LabelledKNN(KNN):
    """Nearest neighbours where a label is missing, labels where both are known (semi-supervised GNMF).

    Samples of one known class are all linked, samples of different known classes never, and all other
    pairs as by :class:`KNN`.

    Parameters
    ----------
    n_neighbors, weight, symmetrize, bandwidth
        As for :class:`KNN`.
    label_weight : float
        Weight between two samples of one known class.
    attribute : int or str, optional
        Which column of y to read, by position or name; needed when y has several.

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
        _check_positive("label_weight", self.label_weight)

    def build(self, X, y=None, groups=None):
        """Link the samples of X; see :meth:`Graph.build`. Without y every label is unknown."""
        W = super().build(X).tocsr()
        attributes = _attributes(y, W.shape[0], self.attribute) if y is not None else ()
        if len(attributes) > 1:
            raise ValueError(
                f"y has {len(attributes)} attributes and LabelledKNN reads one; choose it with attribute=."
            )
        if not attributes:
            return _SparseOperator(W)
        edges, known = W.tocoo(), attributes[0].known
        edges.data[known[edges.row] & known[edges.col]] = 0
        by_label = _ClassOperator(attributes[0], normalize=None)
        return _SumOperator([(1.0, _SparseOperator(edges.tocsr())), (self.label_weight, by_label)])


@dataclass(frozen=True)
class Labels(Graph):
    """Link the samples of one class; a sample of unknown class is linked to none.

    Parameters
    ----------
    weight : {"binary", "rbf", "dot"}
        1; ``exp(-distance^2 / (2 bandwidth^2))``; or the inner product of the samples, which must be >= 0.
    normalize : {None, "class"}
        "class" divides the weights by the size of the class, so that large classes weigh no more than small
        ones; binary weights then measure the within-class scatter.
    bandwidth : float, optional
        Of the rbf weights. By default the median distance over pairs of one class.
    attribute : int or str, optional
        Which column of y to read, by position or name; by default all, as the sum of their graphs.

    Examples
    --------
    >>> X = np.zeros((5, 1))
    >>> Labels().build(X, y=["a", "b", "a", None, None]).tocsr().toarray()
    array([[0., 0., 1., 0., 0.],
           [0., 0., 0., 0., 0.],
           [1., 0., 0., 0., 0.],
           [0., 0., 0., 0., 0.],
           [0., 0., 0., 0., 0.]])
    """

    weight: Literal["binary", "rbf", "dot"] = "binary"
    normalize: Literal["class"] | None = None
    bandwidth: float | None = None
    attribute: int | str | None = None

    def __post_init__(self):
        _check_choice("weight", self.weight, ("binary", "rbf", "dot"))
        _check_choice("normalize", self.normalize, (None, "class"))
        _check_positive("bandwidth", self.bandwidth)

    def build(self, X, y=None, groups=None):
        """Link the samples of X; see :meth:`Graph.build`."""
        if y is None:
            raise ValueError("a graph of labels needs y; pass y to fit, with -1 where the class is unknown.")
        n_samples = _n_samples(X)
        parts = [self._link(X, a) for a in _attributes(y, n_samples, self.attribute)]
        return parts[0] if len(parts) == 1 else _SumOperator([(1.0, part) for part in parts])

    def _link(self, X, attribute):
        if self.weight == "binary":
            return _ClassOperator(attribute, self.normalize)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        classes = [np.flatnonzero(attribute.codes == code) for code in range(len(attribute.classes))]
        classes = [rows for rows in classes if len(rows) > 1]
        make = self._rbf_blocks if self.weight == "rbf" else self._dot_blocks
        return _BlockOperator(X.shape[0], list(zip(classes, make(X, classes), strict=True)))

    def _rbf_blocks(self, X, classes):
        squares = [euclidean_distances(X[rows], squared=True) for rows in classes]
        bandwidth = self.bandwidth or _median_distance(squares)
        blocks = [np.exp(-square / (2 * bandwidth**2)) for square in squares]
        for block in blocks:
            np.fill_diagonal(block, 0)
        return [block / len(block) if self.normalize else block for block in blocks]

    def _dot_blocks(self, X, classes):
        if X.min() < 0:
            raise ValueError(
                f"Labels(weight='dot') needs X >= 0, but its minimum is {X.min():.3g}: weights could be "
                "negative. Use weight='rbf' or 'binary', or shift or clip X."
            )
        return [_Gram(X[rows] / (len(rows) ** 0.5 if self.normalize else 1)) for rows in classes]


@dataclass(frozen=True)
class Chain(Graph):
    """Link each sample to the next in time.

    Rows are in order of time. ``groups`` names the sequence of each sample, and no edge crosses from one to
    another; the samples of a sequence need not stand together, they follow each other as they appear.

    Examples
    --------
    >>> chain = Chain().build(np.zeros((5, 1)), groups=["a", "a", "a", "b", "b"])
    >>> chain.degree
    array([1., 2., 1., 1., 1.])
    """

    def build(self, X, y=None, groups=None):
        """Link the samples of X; see :meth:`Graph.build`. Without groups all are one sequence."""
        n_samples = _n_samples(X)
        return _ChainOperator(n_samples, _sequences(groups, n_samples))


@dataclass(frozen=True, eq=False)
class Precomputed(Graph):
    """A graph given by its edge weights.

    Parameters
    ----------
    W : {sparse matrix, array-like} of shape (n_samples, n_samples)
        Symmetric and non-negative; the diagonal is ignored.

    Examples
    --------
    >>> Precomputed(sp.csr_array([[0.0, 2.0], [2.0, 0.0]])).build(np.zeros((2, 1))).degree
    array([2., 2.])
    """

    W: Any

    def build(self, X, y=None, groups=None):
        """Link the samples of X; see :meth:`Graph.build`."""
        W, n_samples = self.W if sp.issparse(self.W) else np.asarray(self.W), _n_samples(X)
        if W.shape != (n_samples, n_samples):
            raise ValueError(
                f"a precomputed graph over {n_samples} samples must have shape {(n_samples, n_samples)}; got "
                f"{W.shape}. Build it from the same samples, one row and one column each."
            )
        W = sp.csr_array(W, dtype=np.float32 if W.dtype == np.float32 else np.float64)
        if not np.isfinite(W.data).all() or (W.data < 0).any():
            raise ValueError(
                "a precomputed graph must have finite weights >= 0. If this is a Laplacian give its weights "
                "instead; otherwise clip them with W.maximum(0)."
            )
        if abs(W - W.T).max() > 1e-5 * W.max():
            raise ValueError(
                "a precomputed graph must be symmetric; W.maximum(W.T) keeps the edges of either direction."
            )
        return _SparseOperator(W)


_NAMED = {"knn": KNN, "labels": Labels, "chain": Chain}


def as_graph(graph: "str | Graph | sp.sparray | sp.spmatrix | np.ndarray | None") -> Graph | None:
    """Turn the ``graph`` parameter of a model into a specification.

    Parameters
    ----------
    graph : {"knn", "labels", "chain"}, Graph, sparse matrix, ndarray or None
        A name stands for that graph with its default parameters, a matrix for :class:`Precomputed`.

    Returns
    -------
    Graph or None

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
        "graph must be 'knn', 'labels', 'chain', a sparse matrix, None, or made from laminar.graphs as in "
        f"KNN(5) + 0.5 * Chain(); got {graph!r}."
    )


# ------------------------------------------------------------------------------------------------- helpers


def _as_float(H: np.ndarray) -> np.ndarray:
    H = np.asarray(H)
    return H if H.dtype == np.float32 else H.astype(np.float64, copy=False)


def _scale_rows(weights: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Multiply row i of H (or entry i) by weight i, in H's precision."""
    return (H.T * weights.astype(H.dtype, copy=False)).T


def _terms(graph: Graph) -> tuple[tuple[float, Graph], ...]:
    return graph.terms if isinstance(graph, Sum) else ((1.0, graph),)


def _row_squares(X: np.ndarray | sp.csr_array) -> np.ndarray:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _n_samples(X: ArrayLike) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _check_choice(name: str, value: Any, choices: tuple) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and not 0 < value < np.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {value!r}.")


def _attributes(y: ArrayLike, n_samples: int, which: int | str | None) -> tuple[Attribute, ...]:
    attributes = read_labels(y, n_samples)
    if which is None:
        return attributes
    chosen = [a for i, a in enumerate(attributes) if which in (i, a.name)]
    if len(chosen) != 1:
        names = [i if a.name is None else a.name for i, a in enumerate(attributes)]
        raise ValueError(f"attribute={which!r} must name one column of y; its columns are {names}.")
    return tuple(chosen)


def _sequences(groups: ArrayLike | None, n_samples: int) -> np.ndarray:
    if groups is None:
        return np.zeros(n_samples, dtype=int)
    shape = np.shape(groups)
    if shape != (n_samples,):
        raise ValueError(f"groups must name the sequence of each of the {n_samples} samples; got shape {shape}.")
    (attribute,) = read_labels(groups, n_samples)
    if not attribute.known.all():
        raise ValueError(
            f"groups is unknown (-1, NaN or None) for {np.sum(~attribute.known)} samples; give each a "
            "sequence, one of its own if it has no neighbours in time."
        )
    return attribute.codes


def _mean_distance(X: np.ndarray | sp.csr_array, max_samples: int = 3000) -> float:
    n_samples = X.shape[0]
    if n_samples > max_samples:
        X = X[np.sort(np.random.default_rng(0).choice(n_samples, max_samples, replace=False))]
    n_pairs = X.shape[0] * (X.shape[0] - 1)
    mean = float(euclidean_distances(X).sum(dtype=np.float64)) / n_pairs
    return mean or 1.0  # when all samples are equal any width will do


def _median_distance(squares: list[np.ndarray]) -> float:
    pairs = [np.sqrt(square[np.triu_indices(len(square), 1)]) for square in squares]
    return float(np.median(np.concatenate(pairs or [[1.0]]))) or 1.0


def _nearest(X: np.ndarray | sp.csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances and positions of each sample's k nearest others; of equally near, the first."""
    n_samples = X.shape[0]
    search = NearestNeighbors().fit(X)
    squares, neighbours = np.empty((n_samples, k)), np.empty((n_samples, k), dtype=np.intp)
    pending, width = np.arange(n_samples), min(2 * k + 2, n_samples)
    while len(pending):
        tied = []
        for part in gen_batches(len(pending), max(1, 2**22 // width)):
            rows = pending[part]
            candidates = search.kneighbors(X[rows], width, return_distance=False)
            squares[rows], neighbours[rows], unsure = _nearest_among(X, rows, candidates, k)
            tied.append(rows[unsure])
        pending = np.concatenate(tied) if width < n_samples else pending[:0]
        width = min(4 * width, n_samples)
    return squares, neighbours


def _nearest_among(X, rows, candidates, k):
    """The k nearest candidates of each row, and whether equally near ones may have been left out."""
    squares = _squared_distances(X, rows, candidates)
    squares[candidates == rows[:, None]] = np.inf  # the sample itself, wherever it was found
    order = np.lexsort((candidates, squares), axis=1)
    squares, candidates = np.take_along_axis(squares, order, 1), np.take_along_axis(candidates, order, 1)
    farther = (squares > squares[:, k - 1 : k]) & np.isfinite(squares)
    return squares[:, :k], candidates[:, :k], ~farther.any(axis=1)


def _squared_distances(X, rows, others):
    """Squared distances of each row to its others, by differences: matrix products break ties by rounding."""
    n_samples, width = X.shape[0], others.shape[1]
    per_sample = X.nnz // n_samples + 1 if sp.issparse(X) else X.shape[1]
    out = np.empty(others.shape)
    for part in gen_batches(len(rows), max(1, 2**22 // (width * per_sample))):
        difference = X[np.repeat(rows[part], width)] - X[others[part].ravel()]
        out[part] = _row_squares(difference).reshape(-1, width)
    return out

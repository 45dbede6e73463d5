"""Graphs over the samples as linear operators: products with the weights and the Laplacian, nothing dense n x n."""

# ruff: noqa: D102 -- the methods are documented once, on GraphOperator

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._engine.data.matrix import Rows
from .._engine.linalg import by_place, kernels
from .._engine.terms.penalties import LaplacianRows
from .._utils import tall, threads
from .._utils.labels import Attribute
from .._utils.place import Place, PlacedArray
from .._utils.workers.pool import Workers


class GraphOperator(ABC):
    """The weights, degrees and Laplacian of a graph, applied to a factor with a row (or an entry) per sample.

    A float32 argument gives a float32 result; any other gives float64.

    Attributes
    ----------
    degree : ndarray of shape (n_samples,)
        Sum of the edge weights of each sample, ``W 1``. Always float64.

    Examples
    --------
    >>> from laminar.graphs import Chain
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

    def take(self, rows: np.ndarray) -> GraphOperator:
        """The graph of these samples: the edges between them."""
        return SparseOperator(self.tocsr()[rows][:, rows])

    def laplacian(self, H: np.ndarray) -> np.ndarray:
        """``L H``."""
        H = _as_float(H)
        if isinstance(H, PlacedArray):
            plus, minus, _ = self.rows(H)
            return tall.fill(tall.empty_like(H), lambda b: plus(b) - minus(b))
        return _scale_rows(self.degree, H) - self.dot(H)

    def quad_columns(self, H: np.ndarray) -> np.ndarray:
        """``h^T L h`` for every column h of H, at least 0."""
        H = _as_float(H)
        # Where codes are smooth this is a small difference of large numbers: single precision is not enough.
        double = H.astype(np.float64, copy=False)
        double = double if H.ndim == 2 else double.reshape(len(H), -1)
        plus, minus, _ = self.rows(double)
        total = threads.total(lambda b: np.einsum("ij,ij->j", double[b], plus(b) - minus(b)), tall.cut(H, 1024))
        # L is positive semi-definite: a value below zero is rounding, and would be a negative ridge.
        return np.maximum(total, 0).reshape(H.shape[1:]).astype(H.dtype)

    def quad(self, H: np.ndarray) -> float:
        """``Tr(H^T L H)``, half the weighted sum of squared distances over ordered pairs of samples."""
        return float(self.quad_columns(H).sum())

    def rows(self, H: np.ndarray) -> LaplacianRows:
        """``L H = D H - W H`` and ``row_curvature H - L H``, as functions of a slice of rows."""
        H = _as_float(H)
        neighbours = self.dot(H)
        return self._rows(H, lambda b: neighbours[b].copy())

    def _rows(self, H: np.ndarray, neighbours: Rows) -> LaplacianRows:
        """The same from ``W H``, a new array at every call; ``2 D H - L H = D H + W H``."""
        degree = self.degree.astype(H.dtype, copy=False)

        def remainder(b):
            out = neighbours(b)
            out += _scale_rows(degree[b], H[b])
            return out

        return LaplacianRows(lambda b: _scale_rows(degree[b], H[b]), neighbours, remainder)

    @property
    def row_curvature(self) -> np.ndarray:
        """R of shape (n_samples,) with ``L <= diag(r)``, by Gershgorin's theorem twice the degrees."""
        return 2 * self.degree

    def on(self, workers: Place | None) -> GraphOperator:
        """Return the graph with what it has of every sample in the place that has the samples; None is here."""
        return self if workers is None else self._on(workers)

    def _on(self, workers: Place) -> GraphOperator:
        raise _elsewhere(self, workers)


class SparseOperator(GraphOperator):
    """Any sparse W; its diagonal is dropped: self-loops cancel in L and only slow multiplicative rules."""

    def __init__(self, W: sp.csr_array):
        W = sp.csr_array(W - sp.diags_array(W.diagonal()))
        W.eliminate_zeros()
        self.W = W
        self.degree = W.sum(axis=1, dtype=np.float64)

    def dot(self, H):
        H = _as_float(H)
        return self.W.astype(H.dtype, copy=False) @ H

    def rows(self, H):
        H = np.ascontiguousarray(_as_float(H))
        weights = self.W.data.astype(H.dtype, copy=False)

        def neighbours(b):
            out = np.empty_like(H[b])
            kernels.sparse_times(self.W.indptr, self.W.indices, weights, H, out, b.start, H.dtype.type(1))
            return out

        return self._rows(H, neighbours)

    def tocsr(self):
        return self.W

    def _on(self, workers):
        if not isinstance(workers, Workers):
            raise _elsewhere(self, workers)
        return BlockwiseOperator(self.tocsr(), workers)


class ClassOperator(GraphOperator):
    """Weight 1 (or one over the class size) between samples of one class, by class sums: O(nk)."""

    def __init__(self, attribute: Attribute, normalize: str | None):
        sizes = attribute.class_sizes
        self.codes, self.members = attribute.codes, attribute.one_hot()
        self.class_weights = 1.0 / sizes if normalize == "class" else np.ones(len(sizes))
        self.linked = np.where(sizes > 1, self.class_weights, 0)  # a class of one costs nothing, to the last digit
        self.totals = self.members @ (self.linked * sizes)
        self.self_loops = self.members @ self.class_weights
        self.degree = self.members @ (self.class_weights * (sizes - 1))

    def _sums(self, H):
        """Sums of the classes, in float64 even for float32: over a large class rounding would spoil L 1 = 0."""
        flat = H if H.ndim == 2 else H.reshape(len(H), -1)
        sums = class_sums(self.codes, flat, len(self.class_weights))
        return sums.reshape(-1, *H.shape[1:])

    def _weighted(self, H):
        return _scale_rows(np.append(self.class_weights, 0), self._sums(H)).astype(H.dtype)

    def dot(self, H):
        H = _as_float(H)
        return self._weighted(H)[self.codes] - _scale_rows(self.self_loops, H)

    def rows(self, H):
        H = _as_float(H)
        sums = _scale_rows(np.append(self.linked, 0), self._sums(H)).astype(H.dtype)
        codes, degree, loops = self.codes, self.degree, self.self_loops.astype(H.dtype, copy=False)
        return LaplacianRows(
            lambda b: _scale_rows(degree[b], H[b]),
            lambda b: by_place.class_rest(codes[b], sums, loops[b], H[b]),
            # The row curvature counts a sample in its class, so that the remainder is the sum over the class.
            lambda b: tall.rows_of(sums, codes[b]),
        )

    def quad_columns(self, H):
        H = _as_float(H)
        sums, totals = self._sums(H)[:-1], self.totals
        squares = threads.total(lambda b: totals[b] @ np.square(H[b], dtype=np.float64), tall.cut(H, 1024))
        within = squares - self.linked @ np.square(sums, dtype=np.float64)
        return np.maximum(within, 0).astype(H.dtype)

    @property
    def row_curvature(self):
        # Where all are linked to all L is the class size times the distance from the mean: half of the usual bound.
        return (self.degree + self.self_loops) * (self.degree > 0)

    def _on(self, workers):
        there = copy(self)
        for name in ("codes", "totals", "self_loops", "degree"):
            setattr(there, name, workers.put(getattr(self, name), (), getattr(self, name).dtype))
        del there.members
        return there

    def take(self, rows):
        members = self.members[rows]
        return SparseOperator(members @ sp.diags_array(self.class_weights) @ members.T)

    def tocsr(self):
        return self.take(np.arange(len(self.codes))).W


class BlockOperator(GraphOperator):
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
        return SparseOperator(W.tocsr()).W  # the factored blocks leave rounding on the diagonal


class Gram:
    """``A A^T`` without its diagonal, as a product: the n_c x n_c matrix is not formed."""

    def __init__(self, A: np.ndarray | sp.csr_array):
        self.A = A
        self.diagonal = row_squares(A)

    def astype(self, dtype, copy):
        return self if self.A.dtype == dtype else Gram(self.A.astype(dtype, copy=copy))

    def __matmul__(self, H):
        return self.A @ (self.A.T @ H) - _scale_rows(self.diagonal, H)


class SelfLoops(GraphOperator):
    """A graph with ``W_ii`` on its diagonal: L is the same, ``L H = D H - W H`` is split with larger D and W."""

    def __init__(self, graph: GraphOperator, loops: np.ndarray):
        self.graph, self.loops = graph, loops
        self.degree = graph.degree + loops

    def dot(self, H):
        H = _as_float(H)
        return self.graph.dot(H) + _scale_rows(self.loops, H)

    def rows(self, H):
        H = _as_float(H)
        (plus, minus, remainder), loops = self.graph.rows(H), self.loops
        return LaplacianRows(
            lambda b: plus(b) + _scale_rows(loops[b], H[b]),
            lambda b: minus(b) + _scale_rows(loops[b], H[b]),
            remainder,
        )

    def laplacian(self, H):
        return self.graph.laplacian(H)

    def _on(self, workers):
        there = copy(self)
        there.graph, there.loops = self.graph.on(workers), workers.put(self.loops, (), np.float64)
        there.degree = workers.put(self.degree, (), np.float64)
        return there

    @property
    def row_curvature(self):
        return self.graph.row_curvature

    def quad_columns(self, H):
        return self.graph.quad_columns(H)

    def tocsr(self):
        return sp.csr_array(self.graph.tocsr() + sp.diags_array(self.loops))


class ChainOperator(SparseOperator):
    """Each sample is linked to the next one of its sequence."""

    def __init__(self, n_samples: int, sequence: np.ndarray):
        self.order = np.argsort(sequence, kind="stable")
        self.linked = np.diff(sequence[self.order]) == 0
        before, after = self.order[:-1][self.linked], self.order[1:][self.linked]
        W = sp.coo_array((np.ones(len(before)), (before, after)), shape=(n_samples, n_samples))
        super().__init__(sp.csr_array(W + W.T))

    def quad_columns(self, H):
        H = _as_float(H)

        def block(b):
            steps = np.diff(H[self.order[b.start : b.stop + 1]], axis=0)
            return np.einsum("i...,i...,i->...", steps, steps, self.linked[b], dtype=np.float64)

        parts = threads.each(block, threads.blocks(len(self.linked), 1024))
        return sum(parts, np.zeros(H.shape[1:])).astype(H.dtype)


class SumOperator(GraphOperator):
    """A weighted sum of graphs."""

    def __init__(self, terms: list[tuple[float, GraphOperator]]):
        self.terms = terms
        self.degree = sum(weight * part.degree for weight, part in terms)

    def dot(self, H):
        return sum(weight * part.dot(H) for weight, part in self.terms)

    def rows(self, H):
        terms = [(weight, part.rows(H)) for weight, part in self.terms]
        return LaplacianRows(*(lambda b, i=i: sum(weight * part[i](b) for weight, part in terms) for i in range(3)))

    def laplacian(self, H):
        return sum(weight * part.laplacian(H) for weight, part in self.terms)

    @property
    def row_curvature(self):
        return sum(weight * part.row_curvature for weight, part in self.terms)

    def quad_columns(self, H):
        return sum(weight * part.quad_columns(H) for weight, part in self.terms)

    def take(self, rows):
        return SumOperator([(weight, part.take(rows)) for weight, part in self.terms])

    def _on(self, workers):
        return SumOperator([(weight, part.on(workers)) for weight, part in self.terms])

    def tocsr(self):
        return sp.csr_array(sum(weight * part.tocsr() for weight, part in self.terms))


class BlockwiseOperator(GraphOperator):
    """A sparse W over samples on workers, few edges of which link samples of different blocks.

    Every block has its rows of W; the codes of samples in other blocks that these need, for a chain one before and one
    after the block, are collected and sent along with each product.

    Parameters
    ----------
    W : sparse array of shape (n_samples, n_samples)
        Weights.
    workers : Workers
        That have the samples.
    max_border : float, default=0.1
        Largest number of samples that are needed by another block, as a part of all.
    """

    def __init__(self, W: sp.csr_array, workers: Workers, *, max_border: float = 0.1):
        W = sp.csr_array(W)
        outside = [_columns_outside(W, b) for b in workers.slices]
        self.border = np.unique(np.concatenate(outside))
        if len(self.border) > max(max_border * W.shape[0], 2 * workers.n_blocks):
            raise TypeError(
                f"the graph links {len(self.border)} of {W.shape[0]} samples to samples in other blocks, as one of "
                "neighbours does, and their codes would travel in every iteration. Use labels or a chain; a graph "
                "whose edges are inside of blocks, laminar.graphs.Precomputed; or fit in memory, X.compute()."
            )
        parts = [_Rows.of(W, b, rows, self.border) for b, rows in zip(workers.slices, outside, strict=True)]
        self.parts = workers.put_each(parts)
        self.degree = workers.put(W.sum(axis=1, dtype=np.float64), (), np.float64)

    def dot(self, H):
        H = _as_float(H)
        parts, border = self.parts, H.take(self.border)
        return tall.fill_blocks(tall.empty_like(H), lambda b: parts[b].times(H[b], border))

    def tocsr(self):
        raise TypeError("the weights of a graph over samples on workers are there.")


@dataclass(frozen=True)
class _Rows:
    """The rows of W of a block, with columns for its own samples and then for those it needs of the border."""

    W: sp.csr_array
    needed: np.ndarray

    @classmethod
    def of(cls, W: sp.csr_array, b: slice, outside: np.ndarray, border: np.ndarray) -> _Rows:
        own = sp.hstack([W[b][:, b], W[b][:, outside]], format="csr")
        return cls(sp.csr_array(own), np.searchsorted(border, outside))

    def times(self, H: np.ndarray, border: np.ndarray) -> np.ndarray:
        return self.W.astype(H.dtype, copy=False) @ np.concatenate([H, border[self.needed]])


def _columns_outside(W: sp.csr_array, b: slice) -> np.ndarray:
    columns = np.unique(W[b].indices)
    return columns[(columns < b.start) | (columns >= b.stop)]


def class_sums(codes: np.ndarray, H: np.ndarray, n_classes: int) -> np.ndarray:
    """Sum the rows of H (n, k) of each class, in float64; the last row, for the code -1, unknown, is zero."""

    def block(b: slice) -> np.ndarray:
        sums = np.zeros((n_classes + 1, H.shape[1]))
        part = by_place.class_sums(codes[b], tall.contiguous(H[b], H.dtype))
        sums[: len(part) - 1] = part[:-1]
        return sums

    return threads.total(block, tall.cut(H, max(16384, len(H) // 4)))


def _elsewhere(graph: GraphOperator, place: Place) -> TypeError:
    name = type(graph).__name__
    if isinstance(place, Workers):
        return TypeError(
            f"{name} compares samples that are on different workers: use binary label graphs or chains there, or fit "
            "in memory, X.compute()."
        )
    return TypeError(f"{name} has no products on a device: use binary label graphs there, or X in memory, X.cpu().")


def _as_float(H: np.ndarray) -> np.ndarray:
    H = H if isinstance(H, PlacedArray) else np.asarray(H)
    return H if H.dtype == np.float32 else H.astype(np.float64, copy=False)


def _scale_rows(weights: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Multiply row i of H (or entry i) by weight i, in H's precision."""
    weights = weights.astype(H.dtype, copy=False)
    return H * (weights if H.ndim == 1 else weights[(slice(None), *(None,) * (H.ndim - 1))])


def row_squares(X: np.ndarray | sp.csr_array) -> np.ndarray:
    """Squared length of each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)

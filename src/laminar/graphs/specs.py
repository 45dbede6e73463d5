"""Specifications of graphs by plain parameters; ``build`` makes an operator over given samples."""

# ruff: noqa: D102 -- every build is the one of Graph

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .._utils.labels import read_labels
from .._utils.typing import Data
from .._utils.validation import count_samples
from .operators import ChainOperator, GraphOperator, SparseOperator, SumOperator


class Graph(ABC):
    """Specification of a graph. Graphs can be added, and multiplied by a non-negative number.

    Examples
    --------
    >>> from laminar.graphs import KNN, Chain
    >>> KNN(5) + 0.5 * Chain()
    KNN(n_neighbors=5, weight='binary', symmetrize='union', bandwidth=None) + 0.5 * Chain()
    """

    __array_ufunc__ = None  # numpy's numbers and arrays leave products to __rmul__

    uses_labels: bool = False
    """Whether the edges depend on y."""

    @abstractmethod
    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        """Link the samples of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), optional
            Partial labels; -1, NaN and None are unknown.
        groups : array-like of shape (n_samples,), optional
            The sequence each sample belongs to.

        Returns
        -------
        GraphOperator
            The graph of these samples.
        """

    @property
    def _terms(self) -> tuple[tuple[float, Graph], ...]:
        return ((1.0, self),)

    def __add__(self, other: Graph) -> Sum:
        return Sum(self._terms + other._terms) if isinstance(other, Graph) else NotImplemented

    def __radd__(self, other: Literal[0]) -> Graph:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum() starts from 0

    def __mul__(self, factor: float) -> Sum:
        if not isinstance(factor, Real):
            return NotImplemented
        return Sum(tuple((float(factor) * weight, graph) for weight, graph in self._terms))

    __rmul__ = __mul__


@dataclass(frozen=True, repr=False)
class Sum(Graph):
    """Weighted sum of graphs, the result of ``KNN() + 0.5 * Chain()``.

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

    @property
    def uses_labels(self) -> bool:  # type: ignore[override]
        """Whether the edges of a term depend on y."""
        return any(graph.uses_labels for _, graph in self.terms)

    @property
    def _terms(self) -> tuple[tuple[float, Graph], ...]:
        return self.terms

    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        return SumOperator([(weight, graph.build(X, y, groups)) for weight, graph in self.terms])

    def __repr__(self):
        return " + ".join(repr(graph) if w == 1 else f"{w:g} * {graph!r}" for w, graph in self.terms)


@dataclass(frozen=True)
class Chain(Graph):
    """Graph that links each sample to the next in time.

    Rows are in order of time. ``groups`` holds the sequence of each sample, and no edge links two sequences; the
    samples of a sequence need not be contiguous. Without groups all are one sequence.

    Examples
    --------
    >>> chain = Chain().build(np.zeros((5, 1)), groups=["a", "a", "a", "b", "b"])
    >>> chain.degree
    array([1., 2., 1., 1., 1.])
    """

    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        n_samples = count_samples(X)
        return ChainOperator(n_samples, _sequences(groups, n_samples))


@dataclass(frozen=True, eq=False)
class Precomputed(Graph):
    """Graph given by its edge weights.

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

    def build(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> GraphOperator:
        W, n_samples = self.W if sp.issparse(self.W) else np.asarray(self.W), count_samples(X)
        if W.shape != (n_samples, n_samples):
            raise ValueError(
                f"a precomputed graph over {n_samples} samples must have shape {(n_samples, n_samples)}; got "
                f"{W.shape}. Build it from the same samples, one row and one column each."
            )
        # A copy, since scipy sorts the entries of a matrix in place to find their largest.
        W = sp.csr_array(W, dtype=np.float32 if W.dtype == np.float32 else np.float64, copy=True)
        if not np.isfinite(W.data).all() or (W.data < 0).any():
            raise ValueError(
                "a precomputed graph must have finite weights >= 0. If this is a Laplacian give its weights "
                "instead; otherwise clip them with W.maximum(0)."
            )
        if abs(W - W.T).max() > 1e-5 * W.max():
            raise ValueError(
                "a precomputed graph must be symmetric; W.maximum(W.T) keeps the edges of either direction."
            )
        return SparseOperator(W)


def _sequences(groups: ArrayLike | None, n_samples: int) -> np.ndarray:
    if groups is None:
        return np.zeros(n_samples, dtype=int)
    if np.shape(groups) != (n_samples,):
        raise ValueError(
            f"groups must name the sequence of each of the {n_samples} samples; got shape {np.shape(groups)}."
        )
    (attribute,) = read_labels(groups, n_samples)
    if not attribute.known.all():
        raise ValueError(
            f"groups is unknown (-1, NaN or None) for {np.sum(~attribute.known)} samples; give each a "
            "sequence, one of its own if it has no neighbours in time."
        )
    return attribute.codes

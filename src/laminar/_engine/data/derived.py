"""Matrices derived from other matrices: a normalised view, several views side by side, a projection.

A function of one matrix is so one of several views. The views are not copied: normalising multiplies each row by a
factor and subtracts a matrix of rank one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from copy import copy
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from ..._utils import tall, threads
from ..linalg.blocked import cross
from ..linalg.small import column_signs, safe_divide
from .matrix import CACHED, Matrix, Rows, collect, dense
from .wrap import wrap


class Derived(Matrix):
    """A matrix whose rows are computed when they are needed."""

    nonnegative = False
    scale = 1.0
    has_gram = True

    @property
    def total(self) -> float:
        """Sum of the entries."""
        return float(self.product(np.ones((self.shape[1], 1), self.dtype)).sum(dtype=np.float64))

    def _cached(self) -> threads.Items:
        return self.cut(max(64, CACHED // max(1, self.shape[1])))

    def gram(self) -> np.ndarray:
        """Return ``X^T X``, summed in double precision; for data with few columns."""

        def block(b: slice) -> np.ndarray:
            part = self.rows(b).astype(np.float64)
            return part.T @ part

        return threads.total_of_shares(block, self._cached())

    def distance(self, F: np.ndarray, M: np.ndarray) -> float:
        """Return ``||X - F M^T||^2`` by its residual, for fits so close that Grams cancel."""

        def block(b: slice) -> float:
            gap = self.rows(b).astype(np.float64) - F[b].astype(np.float64) @ M.T
            return float(np.einsum("ij,ij->", gap, gap))

        return threads.total(block, self._cached())


class Normalized(Derived):
    """A view with its rows at unit length, then centred, then scaled to a mean square of one a row.

    A row that was not observed is zero, the mean, and does not enter any sum.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        The view.
    observed : ndarray of bool of shape (n_samples,)
        Samples that have it.
    mean, size : ndarray of shape (n_features,), float
        Subtracted from rows of unit length, and their factor after that; None computes both from X.

    Examples
    --------
    >>> view = Normalized(np.array([[3.0, 4.0], [8.0, 6.0], [9.0, 9.0]]), np.array([True, True, False]))
    >>> view.rows(slice(0, 3)).round(6)
    array([[-0.707107,  0.707107],
           [ 0.707107, -0.707107],
           [ 0.      ,  0.      ]])
    """

    flipped = False

    def __init__(self, X, observed: np.ndarray, mean: np.ndarray | None = None, size: float | None = None):
        self.base = wrap(X)
        self.holders, self.by_blocks = self.base.holders, self.base.by_blocks
        self.observed = tall.placed(observed, X)
        self.base_shape, self.dtype, self.stored = self.base.shape, self.base.dtype, self.base.stored
        unit = collect(self._inverse_lengths, self._cached(), self.base_shape[:1], np.float64)
        if mean is None:
            # No numpy numbers: one of these would make double precision of single.
            n_observed, n_nonzero = int(self.observed.sum()), int((unit > 0).sum())
            mean = self.base.T.product(unit[:, None].astype(self.dtype))[:, 0] / max(1, n_observed)
            size = self._size(n_nonzero, n_observed, mean)
        self.mean, self.size = mean, 1.0 if size is None else size
        self._unit = (self.size * unit).astype(self.dtype)
        self._shift = (self.size * self.observed).astype(self.dtype)

    def _inverse_lengths(self, b: slice) -> np.ndarray:
        """Return one over the length of rows; zero where they were not observed, or have no direction left.

        They have none where they are that small against the largest entry.
        """
        part: Any = self.base.rows(b)
        if sp.issparse(part):
            length = np.sqrt(np.asarray(part.multiply(part).sum(axis=1, dtype=np.float64)).ravel())
        else:
            length = np.sqrt(np.einsum("ij,ij->i", part, part, dtype=np.float64))
        nonzero = self.observed[b] & (length > np.finfo(self.dtype).tiny ** 0.5)
        return safe_divide(1, np.where(nonzero, length, 0))

    def _size(self, n_nonzero: int, n_observed: int, mean: np.ndarray) -> float:
        """Return the factor that makes the mean square one; 0 where all samples are equal up to rounding."""
        spread = n_nonzero / max(1, n_observed) - float(np.vdot(mean, mean.astype(np.float64)))
        return spread**-0.5 if spread > 1e3 * float(np.finfo(self.dtype).eps) else 0.0

    @cached_property
    def sqnorm(self) -> float:
        """Squared Frobenius norm."""
        return threads.total(lambda b: float((self.rows(b).astype(np.float64) ** 2).sum()), self._cached())

    def rows(self, b: slice | np.ndarray) -> np.ndarray:
        """Return rows b as an array, so few at a time."""
        part = dense((self.base.T if self.flipped else self.base).rows(b))
        if self.flipped:
            return part * self._unit - self.mean[b, None] * self._shift
        return part * self._unit[b, None] - self._shift[b, None] * self.mean

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        if self.flipped:
            product, total = self.base.T.times(self._unit[:, None] * R), cross(self._shift[:, None], R)[0]
            return lambda b: product(b) - self.mean[b, None] * total
        product, shift = self.base.times(R), self.mean @ R
        return lambda b: self._unit[b, None] * product(b) - self._shift[b, None] * shift


class Shifted(Derived):
    """X minus one row, ``X - 1 c^T``, which is not formed: X may be sparse.

    Parameters
    ----------
    data : Matrix
        X (n, p).
    shift : ndarray of shape (p,)
        c, in the unit scale of X.

    Examples
    --------
    >>> Shifted(wrap(np.array([[1.0, 2.0], [4.0, 4.0]])), np.array([0.5, 0.0])).rows(slice(0, 2))
    array([[-0.25,  0.5 ],
           [ 0.5 ,  1.  ]])
    """

    flipped = False

    def __init__(self, data: Matrix, shift: np.ndarray):
        self.base, self.shift, self.holders = data, shift.astype(data.dtype), data.holders
        self.by_blocks = data.by_blocks
        self.base_shape, self.dtype, self.stored, self.scale = data.shape, data.dtype, data.stored, data.scale

    def every(self, step: int, first: int = 0) -> Shifted:
        """Return every step-th row, minus the same."""
        return Shifted(self.base.every(step, first), self.shift)

    @cached_property
    def sqnorm(self) -> float:
        """Squared Frobenius norm."""
        return threads.total(lambda b: float(np.square(self.rows(b), dtype=np.float64).sum()), self._cached())

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b as an array, so few at a time."""
        if self.flipped:
            return dense(self.base.T.rows(b)) - self.shift[b, None]
        return dense(self.base.rows(b)) - self.shift

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        if self.flipped:
            product, total = self.base.T.times(R), R.sum(0)
            return lambda b: product(b) - self.shift[b, None] * total
        product, shift = self.base.times(R), self.shift @ R
        return lambda b: product(b) - shift


class Stacked(Derived):
    """Several matrices side by side, each times the root of its weight.

    A squared fit of it is the weighted sum of the squared fits of its parts. Rows of its transpose are cut so that
    no slice has features of two parts.

    Parameters
    ----------
    parts : sequence of Matrix
        With the same number of rows and the same floating type.
    weights : array-like of shape (n_parts,)
        Not negative.

    Examples
    --------
    >>> stacked = Stacked([wrap(np.eye(2)), wrap(np.ones((2, 1)))], [1.0, 4.0])
    >>> stacked.product(np.array([[1.0], [2.0], [10.0]]))
    array([[21.],
           [22.]])
    """

    flipped = False

    def __init__(self, parts: Sequence[Matrix], weights):
        self.parts, self.dtype, self.holders = list(parts), parts[0].dtype, parts[0].holders
        self.by_blocks = any(part.by_blocks for part in parts)
        self.edges = np.cumsum([0, *(part.shape[1] for part in parts)])
        self.base_shape = parts[0].shape[0], int(self.edges[-1])
        self.stored = sum(part.stored for part in parts)
        # The common scale does not depend on the weights, so that fits under different weights can be compared.
        self.scale = max(part.scale for part in parts)
        roots = np.sqrt(weights) * [part.scale / self.scale for part in parts]
        self.roots = [self.dtype.type(root) for root in roots]

    def weighted(self, weights) -> Stacked:
        """Return the same parts with other weights."""
        return Stacked(self.parts, weights)

    @property
    def slices(self) -> list[slice]:
        """The columns of each part."""
        return [slice(int(a), int(b)) for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)]

    @cached_property
    def sqnorm(self) -> float:
        """Squared Frobenius norm."""
        return float(sum(float(root) ** 2 * part.sqnorm for root, part in zip(self.roots, self.parts, strict=True)))

    @cached_property
    def total(self) -> float:
        """Sum of the entries."""
        return float(sum(float(root) * part.total for root, part in zip(self.roots, self.parts, strict=True)))

    def cut(self, size: int) -> threads.Items:
        """Return the rows in slices of about this size; those of the transpose have features of one part."""
        if not self.flipped:
            return super().cut(size)
        inside = [(s.start, threads.tiles(s.stop - s.start, size)) for s in self.slices]
        return [slice(at + b.start, at + b.stop) for at, blocks in inside for b in blocks]

    def _part(self, b: slice) -> tuple[int, slice]:
        """Return the part that a slice of the transpose's rows belongs to, and the slice of that part."""
        v = bisect_right(self.edges, b.start) - 1
        return v, slice(b.start - int(self.edges[v]), b.stop - int(self.edges[v]))

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b as an array, so few at a time."""
        if self.flipped:
            v, inside = self._part(b)
            return self.roots[v] * dense(self.parts[v].T.rows(inside))
        return np.hstack([root * dense(part.rows(b)) for root, part in zip(self.roots, self.parts, strict=True)])

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        if self.flipped:
            products = [part.T.times(R) for part in self.parts]

            def rows(b: slice) -> np.ndarray:
                v, inside = self._part(b)
                return self.roots[v] * products[v](inside)

            return rows
        products = [part.times(root * R[s]) for part, root, s in zip(self.parts, self.roots, self.slices, strict=True)]
        return lambda b: reduce(add, (product(b) for product in products))


class Projected(Derived):
    """X on its leading right singular vectors V, as ``X V V^T``, with the norm of X itself.

    For components in the span of V a squared fit of it is that of X, at the price of r columns instead of p.

    Parameters
    ----------
    data : Matrix
        X (n, p).
    triplets : tuple of ndarray
        U (n, r), s (r,) and V (p, r), as of `truncated_svd`.

    Examples
    --------
    >>> from laminar._engine.data.svd import truncated_svd
    >>> data = wrap(np.array([[2.0, 0.0], [0.0, 1.0], [2.0, 0.0]]))
    >>> projected = Projected(data, truncated_svd(data, 1, np.random.RandomState(0)))
    >>> projected.product(np.eye(2)).round(6) + 0.0, projected.sqnorm == data.sqnorm
    (array([[1., 0.],
           [0., 0.],
           [1., 0.]]), True)
    """

    flipped = False
    sqnorm = 0.0  # that of X

    def __init__(self, data: Matrix, triplets: tuple[np.ndarray, np.ndarray, np.ndarray]):
        U, s, V = triplets
        self.base_shape, self.dtype, self.scale, self.sqnorm = data.shape, data.dtype, data.scale, data.sqnorm
        self.holders, self.by_blocks = data.holders, data.holders is not None
        scores = tall.empty((len(U), len(s)), self.dtype, self.holders)
        self.scores = np.multiply(U, s, out=scores, dtype=self.dtype, casting="same_kind")
        self.basis = np.ascontiguousarray(V, dtype=self.dtype)
        self.stored, self.triplets = self.scores.size, triplets

    def every(self, step: int, first: int = 0) -> Projected:
        """Return every step-th row as a matrix; its norm is taken to be the same share of that of X."""
        part = copy(self)
        part._transpose = part._origin = part.triplets = None
        part.scores = tall.contiguous(self.scores[first::step], self.dtype)
        part.holders = tall.workers_of(part.scores)
        part.by_blocks = part.holders is not None
        part.base_shape, part.stored = (len(part.scores), self.base_shape[1]), part.scores.size
        part.sqnorm = self.sqnorm * len(part.scores) / len(self.scores)
        return part

    def rows(self, b: slice) -> np.ndarray:
        """Return rows b as an array, so few at a time."""
        return self.basis[b] @ self.scores.T if self.flipped else self.scores[b] @ self.basis.T

    def times(self, R: np.ndarray) -> Rows:
        """Return ``X @ R`` by rows."""
        left, right = (self.basis, self.scores) if self.flipped else (self.scores, self.basis)
        product = cross(right, R)
        return lambda b: left[b] @ product


def isometric(part: Matrix, *, max_samples: int = 1500) -> Matrix:
    """Return a matrix with the inner products of the rows of this one and no more columns than rows.

    It has more features than samples and at most ``max_samples`` of them; any other matrix is returned as it is.

    Examples
    --------
    >>> wide = Normalized(np.random.default_rng(0).random((4, 9)), np.ones(4, dtype=bool))
    >>> isometric(wide).shape, np.allclose(isometric(wide).T.gram(), wide.T.gram() / isometric(wide).scale ** 2)
    ((4, 3), True)
    """
    n, p = part.shape
    if p <= n or n > max_samples or not part.has_gram or part.workers is not None:
        return part
    return wrap((coordinates(part.T.gram()) * part.scale).astype(part.dtype))


def coordinates(K: np.ndarray) -> np.ndarray:
    """Return points with these inner products, in decreasing order of their spread.

    Examples
    --------
    >>> coordinates(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[2.],
           [0.]])
    """
    w, Q = eigh(K, check_finite=False)
    keep = w > max(1e-12 * w[-1], 0.0)
    if not keep.any():
        return np.zeros((len(K), 1))
    E = (Q[:, keep] * np.sqrt(w[keep]))[:, ::-1]
    return E * column_signs(E)

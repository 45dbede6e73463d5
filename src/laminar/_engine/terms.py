"""A smooth cost as one factor sees it while the others rest.

Every factor is held with its free index as rows: H as (n, k), and Z *transposed*, as (p, k). The fit of X ~ H Z is
then the same function of either, on X or on its transpose, and each row is a small problem of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._utils import threads
from .data.matrix import Matrix, Rows, collect
from .linalg import elementwise as passes

_ROUNDING = 8  # times the precision of the data: what a sum over all of them may be off by
_CLOSE = 1e3  # roundings: below so many a value is taken by its residual


@dataclass(frozen=True)
class Pull:
    """A penalty that ties rows to each other, as seen from where F stands.

    Its gradient there is ``columns * (up - down)``; nowhere does it rise above the tangent by more than
    ``1/2 stiffness_i columns_a (move_ia)^2``. With that bound in its place every row is a problem of its own again.

    Attributes
    ----------
    up, down : callable or None
        Non-negative, as functions of a slice of rows; None is zero.
    lean : callable or None
        ``stiffness * F - (up - down)``, of rows too, which an operator often knows by itself: a new array every time.
        None without a stiffness.
    stiffness : ndarray of shape (n,) or None
        Of the rows; None for a linear penalty.
    columns : ndarray of shape (k,)
        What the penalty weighs each component by.
    """

    up: Rows
    down: Rows | None
    lean: Rows | None
    stiffness: np.ndarray | None
    columns: np.ndarray

    def grad(self, b: slice) -> np.ndarray:
        """Gradient of the penalty on rows b."""
        return (self.up(b) if self.down is None else self.up(b) - self.down(b)) * self.columns

    def ridge(self, b: slice) -> np.ndarray | float:
        """Curvature of the bound on rows b."""
        return 0.0 if self.stiffness is None else self.stiffness[b, None] * self.columns


@dataclass(frozen=True)
class Quad:
    """``1/2 <F G, F> - <B, F> + constant / 2``: a squared fit, or anything quadratic, seen from one factor.

    Attributes
    ----------
    linear : callable
        B as a function of a slice of rows, so that it need not exist as a whole.
    gram : ndarray of shape (k, k)
        G, the curvature every row shares.
    blocks : list of slice
        The rows, cut for the threads and the cache.
    constant : float
        Squared norm of what is fitted: the value at F = 0 is half of it.
    effort : float
        What one row of B costs, in multiplications per component; tells how many sweeps over F a new B is worth.
    floor : float
        What the value cannot be less than, but for rounding.
    direct : callable or None
        F -> the same by the residual, for fits so close that the Grams cancel.
    pull, extra : callable or None
        A penalty (see `penalties`): F -> `Pull`, and F -> its value.
    here : Pull or None
        The pull where F stands; `at` sets it.
    """

    linear: Rows
    gram: np.ndarray
    blocks: list[slice]
    constant: float
    effort: float
    floor: float = 0.0
    direct: Callable[[np.ndarray], float] | None = None
    pull: Callable[[np.ndarray], Pull] | None = None
    extra: Callable[[np.ndarray], float] | None = None
    here: Pull | None = None

    @classmethod
    def fit(cls, data: Matrix, other: np.ndarray) -> Quad:
        """``1/2 ||X - F other^T||^2``."""
        gram = gram_of(other)
        k = other.shape[1]
        return cls(data.times(other), gram, data.blocks(k), data.sqnorm, data.entries_per_row)

    @property
    def _space(self) -> tuple[tuple[int, int], np.dtype]:
        """Shape and type of F, and of B."""
        return (self.blocks[-1].stop, len(self.gram)), self.gram.dtype

    def materialized(self) -> Quad:
        """The same term with B held as one array: for a small factor that is looked at more than once."""
        B = collect(self.linear, self.blocks, *self._space)
        return replace(self, linear=B.__getitem__)

    def remembered(self) -> Quad:
        """The same, each block made by whoever asks for it first: one round of the threads less, if all ask for these
        blocks, as updates of rows do.
        """
        B, known = np.empty(*self._space), set()

        def rows(b: slice) -> np.ndarray:
            if (b.start, b.stop) not in known:
                B[b] = self.linear(b)
                known.add((b.start, b.stop))
            return B[b]

        return replace(self, linear=rows)

    def at(self, F: np.ndarray) -> Quad:
        """The same term where F stands; gradients and updates are taken there."""
        return self if self.pull is None else replace(self, here=self.pull(F))

    def system(self, b: slice) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """B and the ridge ``(rows, columns)`` of the separate problems of rows b."""
        B, pull = self.linear(b), self.here
        if pull is None:
            return B, None, None
        if pull.stiffness is None:
            return B - pull.grad(b), None, None
        # B + ridge * f - grad, with few arrays in between: a sweep is hardly longer than this.
        lean = pull.lean(b)
        lean *= pull.columns
        lean += B
        return lean, pull.stiffness[b], pull.columns

    def value(self, F: np.ndarray) -> float:
        """Return the cost at F, summed in double precision: it is a small difference of large numbers."""
        G = self.gram.astype(np.float64)

        def block(b: slice) -> float:
            f, B = F[b].astype(np.float64), self.linear(b)
            return float(np.vdot(f @ G, f) / 2 - np.vdot(B.astype(np.float64, copy=False), f))

        value = max(sum(threads.each(block, self.blocks)) + self.constant / 2, self.floor)  # NaN stays NaN
        if self.direct is not None and value <= _CLOSE * self._rounding:
            value = self.direct(F)
        return value if self.extra is None else value + self.extra(F)

    def noise(self, value: float) -> float:
        """Differences of values about as large as this one that are rounding."""
        if self.direct is None or value > _CLOSE * self._rounding:
            return self._rounding
        # Entries of the fit are off by a part of themselves each, in no direction: the residual hardly grows by that.
        relative = self._rounding / self.constant if self.constant else 0.0
        return relative * float(np.sqrt(max(value, 0.0) * self.constant)) + relative**2 * self.constant

    @property
    def _rounding(self) -> float:
        return _ROUNDING * float(np.finfo(self.gram.dtype).eps) * self.constant

    def grad(self, b: slice, f: np.ndarray) -> np.ndarray:
        """Gradient on rows b, where F is f."""
        grad = f @ self.gram - self.linear(b)
        return grad if self.here is None else grad + self.here.grad(b)

    def split(self, b: slice, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient as a difference of two non-negative parts (methods.md 1.2: the *Gram* is split)."""
        both = f @ np.hstack([np.maximum(self.gram, 0), np.maximum(-self.gram, 0)])
        return _with_pull(self.here, b, *passes.by_sign(both, self.linear(b)))

    def residual(self, F: np.ndarray, constraint) -> float:
        """Length of the steps coordinate descent would still take, relative to the data: 0 at a KKT point."""
        term = self.at(F)
        diagonal = np.diag(self.gram).astype(np.float64)

        def block(b: slice) -> float:
            d = diagonal + (0.0 if term.here is None else term.here.ridge(b))
            scale = np.divide(1, d, out=np.zeros_like(d), where=d > np.finfo(np.float64).tiny)
            step = constraint.step(F[b], term.grad(b, F[b]) * scale)
            return float(np.vdot(step * step, np.broadcast_to(d, step.shape)))

        return float(np.sqrt(sum(threads.each(block, self.blocks)) / (self.constant or 1.0)))


@dataclass(frozen=True)
class KL:
    """Kullback-Leibler divergence of X from ``F other^T``, evaluated only where X is not zero.

    Attributes
    ----------
    data : Matrix
        X, or its transpose.
    other : ndarray of shape (p, k)
        The factor that rests.
    pull, extra, here
        As for `Quad`.
    """

    data: Matrix
    other: np.ndarray
    pull: Callable[[np.ndarray], Pull] | None = None
    extra: Callable[[np.ndarray], float] | None = None
    here: Pull | None = None

    @property
    def blocks(self) -> list[slice]:
        """The rows, cut for the threads and the cache."""
        return self.data.blocks(self.other.shape[1])

    @cached_property
    def total(self) -> np.ndarray:
        """What a unit of each component costs: its sum."""
        return self.other.sum(0, dtype=np.float64).astype(self.other.dtype)

    @cached_property
    def ratio(self) -> Callable[[slice, np.ndarray], np.ndarray]:
        """``(X / (F other^T)) other`` on rows b, where F is f."""
        return self.data.ratio_times(self.other)

    def at(self, F: np.ndarray) -> KL:
        """The same term where F stands; gradients and updates are taken there."""
        return self if self.pull is None else replace(self, here=self.pull(F))

    def value(self, F: np.ndarray) -> float:
        """Return the divergence."""
        value = self.data.divergence(F, self.other)
        return value if self.extra is None else value + self.extra(F)

    def noise(self, value: float) -> float:
        """Differences of values that are rounding."""
        return _ROUNDING * float(np.finfo(self.data.dtype).eps) * abs(self.data.total)

    def grad(self, b: slice, f: np.ndarray) -> np.ndarray:
        """Gradient on rows b, where F is f."""
        plus, minus = self.split(b, f)
        return plus - minus

    def split(self, b: slice, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient as a difference of two non-negative parts; without a pull the first is one row for all."""
        return _with_pull(self.here, b, self.total, self.ratio(b, f))

    def residual(self, F: np.ndarray, constraint) -> float:
        """Mass the multiplicative rule would still move, relative to the mass of the data."""
        term, typical = self.at(F), F.mean(0)
        growth = constraint.growth(F, term)

        def block(b: slice) -> float:
            plus, minus = term.split(b, F[b])
            relative = 1 - minus / np.maximum(plus * growth, np.finfo(F.dtype).tiny)
            return float(np.abs(constraint.step(F[b], np.maximum(F[b], typical) * relative) * plus).sum())

        return sum(threads.each(block, self.blocks)) / (self.data.total or 1.0)


def _with_pull(pull: Pull | None, b: slice, plus: np.ndarray, minus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add the two parts of a penalty to those of a fit, in their place where they are arrays of their own."""
    if pull is None:
        return plus, minus
    plus = _plus_columns(plus, pull.up(b), pull.columns)
    return plus, minus if pull.down is None else _plus_columns(minus, pull.down(b), pull.columns)


def _plus_columns(part: np.ndarray, more: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """``part + more * columns``, in the place of part where it is as large as the sum."""
    if part.shape != more.shape:
        return part + more * columns
    passes.add_columns(part, more, columns)
    return part


def gram_of(F: np.ndarray) -> np.ndarray:
    """``F^T F``, by blocks of rows."""
    return sum(threads.each(lambda b: F[b].T @ F[b], threads.blocks(len(F), 4096)))

"""The layers of each view under shared codes: pre-training, the layers of a fit, and their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._base.coding import Layer
from .._engine.constraints import NonNegative
from .._engine.data.derived import Normalized, Stacked
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.linalg.small import isometry
from .._engine.regression import best_codes
from .._engine.semi_nmf import semi_nmf
from .._utils import tall, threads
from .._utils.callbacks import Hook
from ..deep.composition import compose, keep_close, pretrain, regress
from ..deep.pretraining import layer_monitor, layer_sizes


@dataclass(frozen=True)
class View:
    """One view of a fitted model.

    Attributes
    ----------
    weight : float
        What its squared errors are multiplied by.
    layers : list of Layer
        From the input up; the last has the codes all views share.
    mean, size : ndarray of shape (n_features,), float
        A sample of unit length less the mean, times the size, is what was factorised.
    length : float
        What reconstructions of samples of unit length are multiplied by, to be in the units of the view.
    """

    weight: float
    layers: list[Layer]
    mean: np.ndarray
    size: float
    length: float = 1.0


@dataclass(frozen=True)
class Pretraining:
    """How the layers of views are pre-trained.

    Attributes
    ----------
    max_iter : int
        Iterations of each layer.
    hook : Hook
        Called after each of them.
    chosen : bool
        Whether layers are pre-trained at all; if not they begin with random codes.
    """

    max_iter: int
    hook: Hook
    chosen: bool = True


@dataclass
class Hidden:
    """The hidden layers of one view, in its unit scale.

    Attributes
    ----------
    view : Matrix
        The view, with all its features.
    codes, weights : lists of ndarray
        Layer by layer; no layer at all for a model of one.
    histories : list of ndarray
        The objective after every sweep of pre-training, layer by layer.
    """

    view: Matrix
    codes: list[np.ndarray] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    histories: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def pretrained(
        cls, view: Matrix, small: Matrix, sizes: Sequence[int], rng: np.random.RandomState, how: Pretraining
    ) -> Hidden:
        """Factorise a view layer by layer; ``small`` has its inner products, and no more features than samples."""
        found = cls(view)

        def fit(below: Matrix, i: int) -> np.ndarray:
            # More codes than the rank fit without error from the start.
            sweeps = how.max_iter if sizes[i] <= min(below.shape) else 0
            scale = small.scale if i else 1.0
            monitor = layer_monitor(i, below, sweeps, 1e-3, how.hook, scale)
            solution = semi_nmf(below, sizes[i], rng, init="lp" if how.chosen else "random", monitor=monitor)
            found.histories.append(np.array(solution.history) * (below.scale * scale) ** 2)
            return solution.factors["H"]

        found.codes, found.weights = pretrain(small, len(sizes), fit)
        if found.codes and small is not view:
            found.weights[0] = regress(found.codes[0], view)
        return found

    def top(self, small: Matrix) -> Matrix:
        """Return what the shared layer factorises: the last codes in the distances of the view, or the view."""
        if not self.codes:
            return small
        return wrap(self.codes[-1] @ isometry(compose(self.weights)[-1]).astype(self.view.dtype))

    def under(self, H: np.ndarray, basis: np.ndarray) -> list[Layer]:
        """Return the layers that lead from a view to shared codes H on this basis, with as little change as possible.

        Hidden codes are the best ones on the bases that result.
        """
        if not self.codes:
            return [Layer(basis, basis, H)]
        scale = H.dtype.type(self.view.scale)
        weights = keep_close([*self.weights, regress(H / scale, self.codes[-1])], basis)
        bases = compose(weights)
        codes = [best_codes(self.view, np.ascontiguousarray(B.T), NonNegative()) * scale for B in bases[:-1]]
        return [Layer(*layer) for layer in zip(weights, bases, [*codes, H], strict=True)]


def view_layer_sizes(layers, views: Stacked, n_clusters: int | None) -> tuple[int, ...]:
    """Return the sizes of the layers, from the input up; None means (100, 50), or as many as the views allow.

    Examples
    --------
    >>> views = Stacked([wrap(np.ones((60, 30))), wrap(np.ones((60, 12)))], [1.0, 1.0])
    >>> view_layer_sizes(None, views, 4), view_layer_sizes(5, views, None)
    ((30, 15), (5,))
    """
    if layers is None:
        first = max(1, min(100, views.shape[0], int(np.diff(views.edges).max())))
        return first, min(first, max(1, min(50, first // 2), n_clusters or 1))
    sizes = layer_sizes(layers, *views.shape)
    if min(sizes) < sizes[-1]:
        raise ValueError(f"no layer may be smaller than the last, which all views share; got {layers!r}.")
    return sizes


def common_length(view: Normalized, H: np.ndarray, components: np.ndarray) -> float:
    """Return the length s that, given to all reconstructions of samples of unit length, fits a view best.

    ``min_s sum_i ||x_i - s r_i||^2`` over the samples that have the view, r_i = mean + h_i Z: s = <X, R> / ||R||^2.
    With it R has no further error along itself; samples of equal length have s near that length.

    Parameters
    ----------
    view : Normalized
        The view, with the mean that was subtracted.
    H, components : ndarray of shape (n_samples, k), (k, n_features)
        Codes, and components of samples of unit length.

    Examples
    --------
    >>> view = Normalized(np.array([[3.0, 0.0], [0.0, 5.0]]), np.ones(2, dtype=bool), np.zeros(2), 1.0)
    >>> common_length(view, np.eye(2), np.eye(2))
    4.0
    """
    basis, observed = np.vstack([view.mean, components]).astype(np.float64), view.observed

    def with_ones(b: slice) -> np.ndarray:
        return np.column_stack([np.ones(b.stop - b.start), H[b]])

    def square_of(b: slice) -> np.ndarray:
        rows = with_ones(b)[observed[b]]
        return rows.T @ rows

    # Rows that were not observed are zero in the base, so that only ||R||^2 must leave them out.
    extended = tall.fill(tall.empty((len(H), 1 + H.shape[1]), view.dtype, tall.workers_of(H)), with_ones)
    sums = view.base.T.product(extended).astype(np.float64)
    square = float(np.vdot(threads.total(square_of, tall.cut(H, tall.ROWS)), basis @ basis.T))
    inner = float(np.vdot(sums.T, basis))
    return view.base.scale * max(inner, 0.0) / square if square > 0 else 0.0


def in_units(layers: Sequence[Layer], size: float) -> list[Layer]:
    """Divide the layers of a view by the size it was multiplied by; 0 where all samples were alike."""
    back = 1 / size if size else 0.0

    def divided(A: np.ndarray) -> np.ndarray:
        return A * A.dtype.type(back)

    first, *rest = layers
    first = replace(first, weights=divided(first.weights), components=divided(first.components))
    return [first, *(replace(layer, components=divided(layer.components)) for layer in rest)]

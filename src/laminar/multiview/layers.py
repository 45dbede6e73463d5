"""The layers of each view under shared codes, in its own units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base.coding import Layer
from .._engine.data.matrix import Matrix
from .._engine.starts import STARTS
from ..deep.composition import compose, keep_close, pretrain, regress


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
    """

    weight: float
    layers: list[Layer]
    mean: np.ndarray
    size: float


def view_layers(
    part: Matrix, basis: np.ndarray, sizes: Sequence[int], H: np.ndarray, rng: np.random.RandomState
) -> list[Layer]:
    """Return the layers of one view, hidden ones as close to its own factorisation as the top one allows."""
    if not sizes:
        return [Layer(basis, basis, H)]
    scale = H.dtype.type(part.scale)

    def fit(below: Matrix, k: int) -> np.ndarray:
        return STARTS["svd"](below, k, rng)[0].astype(H.dtype)

    codes, weights = pretrain(part, sizes, fit)
    weights = keep_close([*weights, regress(H / scale, codes[-1])], basis)
    codes = [*(h * scale for h in codes), H]
    return [Layer(*layer) for layer in zip(weights, compose(weights), codes, strict=True)]


def in_units(layers: Sequence[Layer], size: float) -> list[Layer]:
    """Divide the layers of a view by the size it was multiplied by; 0 where all samples were alike."""
    back = 1 / size if size else 0.0

    def divided(A: np.ndarray) -> np.ndarray:
        return A * A.dtype.type(back)

    first, *rest = layers
    first = Layer(divided(first.weights), divided(first.components), first.representation)
    return [first, *(Layer(layer.weights, divided(layer.components), layer.representation) for layer in rest)]

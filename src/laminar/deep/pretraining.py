"""Sizes of layers, and the record of their pre-training: its history, and a layer as a callback sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._base.coding import Layer
from .._engine.data.matrix import Matrix
from .._engine.linalg.small import safe_divide
from .._engine.monitor import Monitor, Snapshot
from .._utils.callbacks import Hook


def layer_sizes(layers, n_samples: int, n_features: int) -> tuple[int, ...]:
    """Return the sizes of the layers, from the input up.

    None is two layers, of a half and a quarter of the smaller of both numbers, at most 625 and 40: the sizes of
    Trigeorgis et al. where the data are large enough.

    Examples
    --------
    >>> layer_sizes(None, 2856, 1024), layer_sizes(None, 150, 4), layer_sizes(7, 150, 4)
    ((512, 40), (2, 2), (7,))
    """
    if layers is None:
        most = min(n_samples, n_features)
        return min(most, 625, max(2, most // 2)), min(most, 40, max(2, most // 4))
    sizes = np.atleast_1d(layers)
    if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(f"layers must be one or more whole numbers above 0, as (100, 20); got {layers!r}.")
    return tuple(int(k) for k in sizes)


@dataclass(frozen=True)
class PretrainedLayer:
    """One layer in pre-training, with the attributes of a fitted model.

    Attributes
    ----------
    layers_ : list of Layer
        This layer: ``representation`` are its codes, ``weights`` and ``components`` its weights.
    components_ : ndarray of shape (k_i, k_{i-1})
        Its weights, with rows of unit norm.
    reconstruction_err_ : float
        ``||H_{i-1} - H_i Z_i||``.
    """

    layers_: list[Layer]
    components_: np.ndarray
    reconstruction_err_: float

    @classmethod
    def of(
        cls, H: np.ndarray, Z: np.ndarray, unit: float, sqdistance: Callable[[np.ndarray, np.ndarray], float]
    ) -> PretrainedLayer:
        """Return the layer with these codes and weights, and the squared error of their product.

        ``unit`` is what codes and errors are multiplied by to have the units of the data.
        """
        lengths = np.linalg.norm(Z, axis=1)
        Z, H = safe_divide(Z, lengths[:, None]), (H * lengths).astype(H.dtype)
        return cls([Layer(Z, Z, H * unit)], Z, unit * float(np.sqrt(sqdistance(H, Z))))


def layer_monitor(i: int, below: Matrix, max_iter: int, tol: float, hook: Hook, scale: float = 1.0) -> Monitor:
    """Return the monitor of the pre-training of layer i on these data; ``scale`` is the unit they have besides."""

    def report(iteration: int, value: float, snapshot: Snapshot) -> bool:
        def fitted() -> PretrainedLayer:
            H, Z = snapshot()["H"], np.ascontiguousarray(snapshot()["Z"].T)
            return PretrainedLayer.of(
                H, Z, below.scale * scale, lambda H, Z: below.distance(H, np.ascontiguousarray(Z.T))
            )

        return hook(iteration, value * below.unit(2) * scale**2, fitted, layer=i)

    return Monitor(max_iter, tol, report)


def published_layer_monitor(i: int, below: np.ndarray, max_iter: int, hook: Hook, unit: float) -> Monitor:
    """Return the monitor of the published pre-training of layer i; ``unit`` is the unit of the data of the first."""
    unit = unit if i == 0 else 1.0

    def report(iteration: int, value: float, snapshot: Snapshot) -> bool:
        def fitted() -> PretrainedLayer:
            (H,), (Z,) = snapshot()["codes"], snapshot()["weights"]
            return PretrainedLayer.of(H, Z, unit, lambda H, Z: float(((below - H @ Z) ** 2).sum()))

        return hook(iteration, value * unit**2, fitted, layer=i)

    return Monitor(max_iter, 0.0, report)

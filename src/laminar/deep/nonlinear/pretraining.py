"""Greedy pre-training of a stack, layer by layer: ``g^-1(H_{i-1}) ~ H_i Z_i``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._engine.data.matrix import Matrix
from ..._engine.monitor import Monitor
from ..._engine.problem import Addend
from ..._engine.semi_nmf import exact_codes, in_units, semi_nmf
from ..._utils import threads
from ..._utils.typing import Data, Seed
from .activations import Activation, as_activation
from .gradients import as_data
from .stack import Stack


def pretrain(
    X: Data,
    layers: Sequence[int],
    activation: str | Activation,
    *,
    init: str = "random",
    max_iter: int = 30,
    random_state: Seed = None,
    penalties: Callable[[int, Matrix], Sequence[Addend]] | None = None,
    monitor: Callable[[int, Matrix], Monitor] | None = None,
) -> tuple[Stack, np.ndarray]:
    """Initialise a stack greedily: Semi-NMF of X, then of the inverse activation of each layer's codes.

    The codes of every unit are divided by their largest entry, so that they lie in the range of every activation, and
    its weights multiplied by it.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.
    layers : sequence of int
        Size of each layer, from the input up.
    activation : {"identity", "stanh", "square", "relu", "softplus", "sigmoid"} or Activation
        Activation between the layers.
    init : {"random", "kmeans", "svd", "lp"}, default="random"
        Start of each Semi-NMF. "svd" has the lowest error in the first layer but a higher one after training than
        "random": the second layer is smaller, and cannot represent codes that are spread over all units of the first.
    max_iter : int, default=30
        Sweeps of each Semi-NMF.
    random_state : int, RandomState instance or None, default=None
        Seed.
    penalties, monitor : callable or None, default=None
        Penalties on the codes and the monitor of a layer, as functions of its position and its data.

    Returns
    -------
    stack : Stack
        The weights.
    H : ndarray of shape (n_samples, layers[-1])
        Codes of the top layer.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.deep.nonlinear import pretrain
    >>> stack, H = pretrain(np.random.default_rng(0).uniform(size=(50, 8)), (5, 3), "square", random_state=0)
    >>> [Z.shape for Z in stack.weights], H.shape, H.max(0)
    ([(5, 8), (3, 5)], (50, 3), array([1., 1., 1.]))
    """
    rng = check_random_state(random_state)
    inverse = as_activation(activation).inverse
    weights: list[np.ndarray] = []
    codes: Any = X
    with threads.own_threads():
        for i, k in enumerate(layers):
            data = as_data(inverse(codes) if weights else codes)
            record = Monitor(max_iter, 1e-5) if monitor is None else monitor(i, data)
            found = semi_nmf(data, k, rng, init=init, penalties=penalties(i, data) if penalties else (), monitor=record)
            H, Z = in_units(data, found) if penalties and penalties(i, data) else exact_codes(data, found)
            largest = H.max(0)
            largest[largest <= 0] = 1  # a zero component
            codes = H / largest
            weights.append(Z * largest[:, None])
    return Stack(weights, activation), codes

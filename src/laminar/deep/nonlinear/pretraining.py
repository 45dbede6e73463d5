"""Greedy pre-training of a stack, layer by layer: ``g^-1(H_{i-1}) ~ H_i Z_i``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._engine.semi_nmf import exact_codes, semi_nmf
from ..._utils import threads
from ..._utils.typing import Data, Seed
from .activations import activation_named
from .gradients import as_data
from .stack import Stack


def pretrain(
    X: Data,
    layers: Sequence[int],
    activation: str,
    *,
    init: str = "random",
    max_iter: int = 30,
    random_state: Seed = None,
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
    activation : {"identity", "stanh", "square", "relu", "softplus", "sigmoid"}
        Activation between the layers.
    init : {"random", "kmeans", "svd", "lp"}, default="random"
        Start of each Semi-NMF. "svd" has the lowest error in the first layer but a higher one after training than
        "random": the second layer is smaller, and cannot represent codes that are spread over all units of the first.
    max_iter : int, default=30
        Sweeps of each Semi-NMF.
    random_state : int, RandomState instance or None, default=None
        Seed.

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
    inverse = activation_named(activation).inverse
    weights: list[np.ndarray] = []
    codes: Any = X
    with threads.own_threads():
        for k in layers:
            data = as_data(inverse(codes) if weights else codes)
            H, Z = exact_codes(data, semi_nmf(data, k, rng, init=init, max_iter=max_iter, tol=1e-5))
            largest = H.max(0)
            largest[largest <= 0] = 1  # a zero component
            codes = H / largest
            weights.append(Z * largest[:, None])
    return Stack(weights, activation), codes

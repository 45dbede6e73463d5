"""`Stack`: the weights of all layers, and their forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..._utils import threads
from .activations import Activation, as_activation

ROWS = 256  # rows of a block of samples: its residual stays in cache, and products are still fast


@dataclass
class Stack:
    """Weights ``Z_1 .. Z_m`` with an activation g between layers: ``H_{i-1} = g(H_i Z_i)`` and ``X ~ H_1 Z_1``.

    Parameters
    ----------
    weights : sequence of ndarray
        ``Z_i`` of shape (k_i, k_{i-1}), from the input up; k_0 is the number of features.
    activation : {"identity", "stanh", "square", "relu", "softplus", "sigmoid"} or Activation
        The function g, or its name.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.deep.nonlinear import Stack
    >>> stack = Stack([np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.array([[1.0, -1.0]])], "relu")
    >>> stack.sizes, stack.reconstruct(np.array([[2.0]]))
    ((2, 1), array([[2., 0., 2.]]))
    """

    weights: Sequence[np.ndarray]
    activation: str | Activation

    def __post_init__(self):
        as_activation(self.activation)
        self.weights = [np.asarray(Z) for Z in self.weights]
        if not self.weights or any(Z.ndim != 2 for Z in self.weights):
            raise ValueError("weights must be one matrix or more, one a layer.")
        for i, (below, above) in enumerate(pairwise(self.weights), start=2):
            if above.shape[1] != len(below):
                raise ValueError(
                    f"weights of layer {i} must have as many columns as layer {i - 1} has units, {len(below)}; "
                    f"got shape {above.shape}."
                )

    @property
    def g(self) -> Activation:
        """Activation; a named one is stored by its name."""
        return as_activation(self.activation)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of units of each layer, from the input up."""
        return tuple(len(Z) for Z in self.weights)

    def below(self, layer: int) -> Stack:
        """Return the layers up to the given one, counted from the input, or from the top if negative."""
        m = len(self.weights)
        if not -m <= layer < m:
            raise ValueError(f"layer must be one of {-m} .. {m - 1}, for the stack has {m} layers; got {layer}.")
        return Stack(self.weights[: layer % m + 1], self.activation)

    def forward(self, H: np.ndarray) -> list[np.ndarray]:
        """Return the codes ``H_1 .. H_m`` of all layers, given those of the top."""
        return run(self, self.check(H))[0]

    def reconstruct(self, H: np.ndarray, layer: int = -1) -> np.ndarray:
        """Return the reconstruction of samples from codes of a layer."""
        stack = self.below(layer)
        return stack.forward(H)[0] @ self.weights[0]

    def components(self, H: np.ndarray, layer: int = -1) -> np.ndarray:
        """Return the component of each unit of a layer, in the input space.

        That is the change of the reconstruction when the unit alone goes from zero to the root mean square of its
        codes H. Without an activation these are the rows of ``Z_l ... Z_1`` times these root mean squares.
        """
        size = np.sqrt(np.mean(np.square(H, dtype=np.float64), axis=0)).astype(H.dtype)
        alone = self.reconstruct(np.vstack([np.zeros_like(size), np.diag(size)]), layer)
        return alone[1:] - alone[0]

    def check(self, H: np.ndarray) -> np.ndarray:
        """Validate the shape of codes of the top layer."""
        H = np.asarray(H)
        if H.ndim != 2 or H.shape[1] != len(self.weights[-1]):
            raise ValueError(f"codes must have shape (n_samples, {len(self.weights[-1])}), got {H.shape}.")
        return H


def run_rows(stack: Stack, H: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Compute `run` of a few rows, in the calling thread."""
    codes, slopes = [H], list[np.ndarray]()
    for Z in reversed(stack.weights[1:]):
        A = codes[0] @ Z
        codes.insert(0, stack.g.value(A))
        slopes.insert(0, stack.g.slope(A))
    return codes, slopes


def run(stack: Stack, H: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Compute the codes ``H_1 .. H_m`` of all layers, and the derivatives of g at ``H_2 Z_2 .. H_m Z_m``."""
    codes = [np.empty((len(H), k), H.dtype) for k in stack.sizes[:-1]]
    slopes = [np.empty_like(F) for F in codes]

    def work(b: slice) -> None:
        found = run_rows(stack, H[b])
        for i in range(len(codes)):
            codes[i][b], slopes[i][b] = found[0][i], found[1][i]

    if codes:
        threads.each(work, threads.blocks(len(H), ROWS))
    return [*codes, H], slopes

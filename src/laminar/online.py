"""Learning a linear stack from batches: each is coded exactly, and the basis follows running sums of what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .data import Matrix
from .stacks import compose, least_change

Code = Callable[[Matrix, np.ndarray], np.ndarray]  # a batch and a basis -> its codes, in unit scale
_FORGET = 1.5  # old batches were coded on an old basis: at batch t their sums are multiplied by (1 - 1/t)^this


@dataclass
class Online:
    """A stack that learns from batches as they come; its memory does not grow with their number.

    Attributes
    ----------
    weights : list of ndarray
        From the input up.
    unit : float
        What the basis is multiplied by to be in the units of X.
    n_batches : float
        Number of batches seen.
    gram, product : ndarray
        Discounted sums of ``H^T H`` and ``H^T X``.
    """

    weights: list[np.ndarray]
    unit: float
    n_batches: float = 0
    gram: np.ndarray = field(init=False)
    product: np.ndarray = field(init=False)

    def __post_init__(self):
        basis = compose(self.weights)[-1]
        self.gram, self.product = np.zeros((len(basis),) * 2), np.zeros(basis.shape)

    def remember(self, H: np.ndarray, n_batches: float) -> None:
        """Begin as if codes H, for which the weights are the best, had been seen in so many batches."""
        H = H.astype(np.float64) / self.unit
        self.gram = H.T @ H
        self.product, self.n_batches = self.gram @ compose(self.weights)[-1], n_batches

    def learn(self, batch: Matrix, code: Code) -> tuple[np.ndarray, float]:
        """Code a batch, then move the basis; returns the codes and half their squared error, both over ``unit``."""
        basis, scale = compose(self.weights)[-1], batch.scale / self.unit
        H = code(batch, basis).astype(np.float64) * scale
        product = batch.T.product(H.astype(batch.dtype)).T.astype(np.float64) * scale
        gram = H.T @ H
        fit = float(np.vdot(gram, basis.astype(np.float64) @ basis.T) / 2 - np.vdot(product, basis))
        self.n_batches += 1
        keep = (1 - 1 / self.n_batches) ** _FORGET
        self.gram, self.product = keep * self.gram + gram, keep * self.product + product
        self.weights = least_change(self.weights, self.gram, self.product)
        return H, max(fit + batch.sqnorm * scale**2 / 2, 0.0)

"""Learning a linear stack from batches: each is coded exactly, and the basis follows running sums of what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .data import Matrix
from .stacks import compose, keep_close
from .updates import gram_solver

Code = Callable[[Matrix, np.ndarray], np.ndarray]  # a batch and a basis -> its codes, in unit scale
_FORGET = 1.5  # old batches were coded on an old basis: at batch t their sums are multiplied by (1 - 1/t)^this


@dataclass
class Online:
    """A stack that learns from batches as they come; its memory does not grow with their number.

    Attributes
    ----------
    weights : list of ndarray
        From the input up, in the units of X.
    n_batches : int
        Number of batches seen.
    gram, product : ndarray
        Discounted sums of ``H^T H`` and ``H^T X``.
    """

    weights: list[np.ndarray]
    n_batches: int = 0
    gram: np.ndarray = field(init=False)
    product: np.ndarray = field(init=False)

    def __post_init__(self):
        basis = compose(self.weights)[-1]
        self.gram, self.product = np.zeros((len(basis),) * 2), np.zeros(basis.shape)

    def learn(self, batch: Matrix, code: Code) -> tuple[np.ndarray, float]:
        """Code a batch, then move the basis; returns the codes and half their squared error, in the units of X."""
        basis = compose(self.weights)[-1]
        H = code(batch, basis).astype(np.float64) * batch.scale
        product = batch.T.product(H.astype(batch.dtype)).T.astype(np.float64) * batch.scale
        gram = H.T @ H
        fit = float(np.vdot(gram, basis.astype(np.float64) @ basis.T) / 2 - np.vdot(product, basis))
        self.n_batches += 1
        keep = (1 - 1 / self.n_batches) ** _FORGET
        self.gram, self.product = keep * self.gram + gram, keep * self.product + product
        # Where the codes of all batches say nothing the basis stays what it was.
        solve, _ = gram_solver(self.gram)
        moved = basis + solve(self.product - self.gram @ basis)
        self.weights = keep_close(self.weights, moved.astype(basis.dtype))
        return H, max(fit + batch.sqnorm * batch.scale**2 / 2, 0.0)

"""The ridge that makes Semi-NMF well-posed (docs/methods.md 4.5)."""

from __future__ import annotations

import numpy as np

from .data.matrix import Matrix
from .data.svd import truncated_svd
from .linalg.blocked import column_dots
from .starts import nonnegative_basis, positive_combination

STRENGTH = 0.01  # of the ridge, in parts of what the SVD of rank k - 1 leaves: the error stays within .1 % of that
MAX_ENERGY = 100.0  # of the codes of the closed form, in parts of ||X||^2: non-negative data tried have up to 68


def semi_nmf_ridge(data: Matrix, k: int, random_state: np.random.RandomState) -> float:
    """Return rho, the weight of the ridge of Semi-NMF with k components.

    Zero for non-negative X and for one component, and where the closed form of Gillis and Kumar attains the error of
    the SVD of rank k with codes of bounded energy. Otherwise .01 of the share of ``||X||^2`` that the SVD of rank k - 1
    leaves, at least 1e-6, or 30 k eps in single precision.
    """
    if k == 1 or data.nonnegative or not data.sqnorm:
        return 0.0
    # The start and the iterations need more triplets: found once, and kept by the matrix.
    triplets = truncated_svd(data, n_scores(k), random_state)
    if closed_form_energy(data, k, triplets) <= MAX_ENERGY:
        return 0.0
    return _weight(data, triplets[1][: k - 1], k)


def offset_ridge(data: Matrix, k: int, random_state: np.random.RandomState) -> float:
    """Return the weight for centred X and components with a free offset: .01 of what the SVD of rank k leaves."""
    if not data.sqnorm:
        return 0.0
    return _weight(data, truncated_svd(data, n_scores(k), random_state)[1][:k], k)


def _weight(data: Matrix, s: np.ndarray, k: int) -> float:
    """Return the weight by what these singular values leave of ``||X||^2``; at least what rounding does not hide."""
    left = max(data.sqnorm - float((s**2).sum()), 0.0) / data.sqnorm
    return max(STRENGTH * left, 1e-6, 30 * k * float(np.finfo(data.dtype).eps))


def n_scores(k: int) -> int:
    """Number of singular vectors that hold the components of a fit with k of them."""
    return 2 * k + 10


def closed_form_energy(data: Matrix, k: int, triplets: tuple) -> float:
    """Return ``sum_a ||h_a||^2 ||z_a||^2 / ||X||^2`` of the closed form, infinite where there is none."""
    if positive_combination(triplets[0][:, :k]) is None:
        return np.inf
    H, Z = nonnegative_basis(data, k, triplets, np.random.RandomState(0))
    return energy(H, Z) / data.sqnorm


def energy(H: np.ndarray, Z: np.ndarray) -> float:
    """Return ``sum_a ||h_a||^2 ||z_a||^2`` of factors of shapes (n, k) and (p, k)."""
    return float(column_dots(H, H, np.float64) @ column_dots(Z, Z, np.float64))

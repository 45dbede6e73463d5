"""Number of components of `SlowFeatureNMF`, from slow feature analysis of the frames."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import svd

from .._engine.data.matrix import Matrix
from .._engine.data.svd import truncated_svd
from .._utils import tall
from ..graphs.slow_directions import choose_n_pcs, numerical_rank, steps_of


def choose_n_components(data: Matrix, chain: sp.csr_array, rng: np.random.RandomState, *, max_pcs: int = 256) -> int:
    """Return one more than the number of principal components whose slowest feature is slow on held-out frames.

    One more, as non-negative codes have no mean subtracted. Components below the noise are not considered.
    """
    U, of_data, _ = truncated_svd(data, max_pcs + 1, rng)
    scores = tall.to_host(U) * of_data
    U, s, _ = svd(scores - scores.mean(axis=0), full_matrices=False)
    if s[0] <= 8 * np.finfo(data.dtype).eps * of_data[0]:
        return 1  # frames that do not change, but for rounding
    r = min(numerical_rank(s), _n_above_noise(s, data.shape))
    return 1 + choose_n_pcs(U[:, :r] * s[:r], steps_of(chain), chain, 1)


def _n_above_noise(s: np.ndarray, shape: tuple[int, int]) -> int:
    """Count singular values above white noise of unknown variance, at least one; all where only the leading are known.

    Gavish and Donoho, The optimal hard threshold for singular values is 4/sqrt(3), IEEE Transactions on Information
    Theory 60, 2014, section 3.2, with their polynomial for omega.
    """
    if len(s) < min(shape):
        return len(s)
    ratio = min(shape) / max(shape)
    omega = 0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43
    return max(1, int(np.count_nonzero(s > omega * np.median(s))))

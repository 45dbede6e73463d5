"""Number of episodes in a signal by minimum description length, for `detect_phases`.

A signal of n frames with m episodes, each neutral - onset - apex - offset - neutral, is described by 4 m boundaries, by
its levels (one, or two if there is an episode) and by the innovations that are left, of sum of squares S_m. With the
usual code lengths, ``log n`` over 2 for a real number and the logarithm of the number of choices for a choice, it takes

    n/2 log(S_m / n) + log binomial(n - 1, 4 m) + (1 + [m > 0])/2 log n + [m > 0] log n_signals

nats, but for a constant; the last term is the choice of one of several signals. Nothing here is tuned. Rissanen,
Modeling by shortest data description, Automatica 14, 1978; for boundaries in autoregressive series Davis, Lee and
Rodriguez-Yam, Structural break estimation for nonstationary time series models, JASA 101, 2006.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import median_filter
from scipy.special import gammaln

from ._trapezoid import CYCLE, Shape, block_means, fit_constant, local_fit, unexplained


def episode_phases(n_episodes: int) -> tuple[str, ...]:
    """Return the phases of so many episodes, from neutral to neutral."""
    return (*(CYCLE * n_episodes), CYCLE[0])


def count_episodes(
    y: np.ndarray,
    shape: Shape,
    autocorrelation: float | str,
    *,
    width: int,
    n_signals: int,
    max_episodes: int = 10,
) -> tuple[int, float]:
    """Find the number of episodes in y; return it and the part of the variance that their local fit leaves.

    The phases of ``shape`` are ignored. Only local fits are compared. The number is sought up to ``max_episodes``, and
    not until one more saves nothing: two of three equal episodes may explain no more than none.
    """
    y = _without_outliers(y, width)
    y, min_length = block_means(y - y.mean(), shape.min_length)
    if not np.ptp(y):
        return 0, 1.0
    y /= np.abs(y).max()
    most = min(max_episodes, (len(y) // min_length - 1) // 4)
    floor = 1e-12 * (y @ y)  # of the sum of squares: rounding errors are no description
    lengths, costs = [_description_length(fit_constant(y, autocorrelation), len(y), 0, floor, n_signals)], [1.0]
    for m in range(1, most + 1):
        phases = episode_phases(m)
        fit = local_fit(y, replace(shape, phases=phases, min_length=min_length), autocorrelation)
        lengths.append(_description_length(fit.cost, len(y), m, floor, n_signals))
        costs.append(unexplained(y, fit.cuts, phases))
    best = int(np.argmin(lengths))
    return best, costs[best]


def _description_length(cost: float, n: int, m: int, floor: float, n_signals: int) -> float:
    """Return the nats of a description with m episodes that leaves innovations with the sum of squares ``cost``."""
    boundaries = gammaln(n) - gammaln(4 * m + 1) - gammaln(n - 4 * m)
    levels = (1 + (m > 0)) / 2 * np.log(n)
    return float(n / 2 * np.log(max(cost, floor) / n) + boundaries + levels + (m > 0) * np.log(n_signals))


def _without_outliers(y: np.ndarray, width: int) -> np.ndarray:
    """Replace frames by the median of their neighbours where they differ by 3 standard deviations of a step.

    A median filter of all frames would make noise autocorrelated, and noise is what the episodes are compared with.
    """
    medians = median_filter(y, width, mode="nearest")
    scale = 1.4826 * np.median(np.abs(np.diff(y)))  # of the median of |x| to the standard deviation, if normal
    return np.where(np.abs(y - medians) > 3 * scale, medians, y)

"""Fit of a trapezoid to a signal by dynamic programming, for `detect_phases`.

The model is a trapezoid plus noise of order one, ``e_t = rho e_{t-1} + w_t``: neutral frames have one level and apex
frames another, onset is linear from the first to the second, offset linear back. Three steps alternate until the cuts
do not change: cuts by dynamic programming (the global minimum for given levels and rho), levels by least squares, rho
by the autocorrelation of the residual.

A ramp ends with the frame in which it reaches its level. Annotators count that frame to the plateau, so `read_cuts`
moves those boundaries by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numba import njit

CYCLE = ("neutral", "onset", "apex", "offset")  # order of the phases (docs/methods.md 7.3)


def fit_cuts(
    y: np.ndarray, phases: Sequence[str], min_length: int, direction: str, autocorrelation: float | str
) -> np.ndarray:
    """Fit a trapezoid to y; return the first frame of every phase, and the number of frames."""
    y = y - y.mean()
    y /= np.abs(y).max()
    rho = 0.0 if autocorrelation == "auto" else autocorrelation
    levels = _start(y, phases, min_length, direction, rho)
    for _ in range(10):
        cuts, levels, _ = _alternate(y, levels, rho, phases, min_length)
        residual = y - _design(cuts, phases) @ levels
        before, power = rho, residual @ residual
        rho = float(np.clip(residual[1:] @ residual[:-1] / power, 0, 0.99)) if power else 0.0
        if autocorrelation != "auto" or abs(rho - before) < 0.01:
            break
    return cuts


def _start(
    y: np.ndarray, phases: Sequence[str], min_length: int, direction: str, rho: float, *, max_coarse: int = 512
) -> np.ndarray:
    """Return the levels of the best of several starts; for a long signal, on at most ``max_coarse`` block means."""
    factor = -(-len(y) // max_coarse)
    coarse = y[: len(y) // factor * factor].reshape(-1, factor).mean(axis=1)
    pairs = [np.quantile(coarse, [q, 1 - q]) for q in (0, 0.05, 0.2)]
    pairs = [pair for pair in pairs if pair[0] < pair[1]]
    starts = [pair for pair in pairs if direction != "down"] + [pair[::-1] for pair in pairs if direction != "up"]
    fits = [_alternate(coarse, start, rho, phases, max(1, min_length // factor)) for start in starts]
    return min(fits, key=lambda fit: fit[2])[1]


def _alternate(
    y: np.ndarray, levels: np.ndarray, rho: float, phases: Sequence[str], min_length: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Alternate dynamic programming and least squares from given levels; return cuts, levels and cost."""
    cuts, cost = None, np.inf
    for _ in range(50):
        new = _best_cuts(y, levels, rho, phases, min_length)
        design = _innovations(_design(new, phases), rho)
        target = _innovations(y, rho)
        best = np.linalg.lstsq(design, target, rcond=None)[0]
        if np.array_equal(new, cuts) or (best[1] - best[0]) * (levels[1] - levels[0]) <= 0:
            return new, levels, cost
        cuts, levels, cost = new, best, float(((target - design @ best) ** 2).sum())
    return cuts, levels, cost


def _best_cuts(y: np.ndarray, levels: np.ndarray, rho: float, phases: Sequence[str], min_length: int) -> np.ndarray:
    """Minimise over all cuts for given levels; best[t] is the least cost of the first t frames in the phases so far."""
    height = (y - levels[0]) / (levels[1] - levels[0])
    above, below = (
        _innovations(height, rho),
        _innovations(1 - height, rho),
    )  # relative to the level at the start of a phase
    best = np.full(len(y) + 1, np.inf)
    best[0] = 0
    origins = []
    for i, name in enumerate(phases):
        start = above if name in ("neutral", "onset") else below
        if name in ("onset", "offset"):
            best, origin = _ramp(best, start, rho, min_length + (i < len(phases) - 1))
        else:
            best, origin = _plateau(best, start, min_length - (i > 0))
        origins.append(origin)
    cuts = [len(y)]
    for origin in reversed(origins):
        cuts.append(origin[cuts[-1]])
    return np.array(cuts[::-1])


def _plateau(best: np.ndarray, w: np.ndarray, shortest: int) -> tuple[np.ndarray, np.ndarray]:
    """Append a phase of constant level, with innovations w of the signal relative to it."""
    total = _cumulative(w**2)
    before = (best - total)[: len(best) - shortest]
    lowest = np.minimum.accumulate(before)
    cost, origin = np.full(len(best), np.inf), np.zeros(len(best), dtype=np.int64)
    cost[shortest:] = lowest + total[shortest:]
    origin[shortest:] = np.maximum.accumulate(np.where(before == lowest, np.arange(len(before)), 0))
    return cost, origin


def _ramp(best: np.ndarray, w: np.ndarray, rho: float, shortest: int) -> tuple[np.ndarray, np.ndarray]:
    """Append a linear phase from its level to one unit above, with innovations w of the signal relative to the level.

    Frame i of m (counted from 1) has height i / m, hence the innovation ``(rho + (1 - rho) i) / m``.
    """
    total, sums = _cumulative(w**2), _cumulative(w)
    m = np.arange(len(best), dtype=np.float64)
    moments = (1 - rho) * _cumulative(m[1:] * w)
    offset = rho - (1 - rho) * m
    shares = 1 / np.maximum(m, 1)
    squares = _cumulative((rho + (1 - rho) * m[1:]) ** 2) * shares**2
    cost, origin = _best_starts(
        best - total, 2 * offset, -2 * (offset * sums + moments), sums, 2 * moments, squares, shares, shortest
    )
    return cost + total, origin


@njit(nogil=True, cache=True)
def _best_starts(before, slope, constant, sums, moments, squares, shares, shortest):
    """Find the best start of a ramp for every end, over all pairs.

        cost[t] = min_{s <= t - shortest}  before[s] + squares[m]
                                           - shares[m] (slope[s] sums[t] + moments[t] + constant[s])

    with m = t - s; all arrays are (n,). Returns cost, infinite for t < shortest, and the minimising s.
    """
    n = len(before)
    cost, origin = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    for end in range(shortest, n):
        lowest, where = np.inf, 0
        for start in range(end - shortest + 1):
            m = end - start
            overlap = slope[start] * sums[end] + moments[end] + constant[start]
            value = before[start] + squares[m] - shares[m] * overlap
            if value < lowest:
                lowest, where = value, start
        cost[end], origin[end] = lowest, where
    return cost, origin


def _cumulative(x: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(x)])


def _innovations(x: np.ndarray, rho: float) -> np.ndarray:
    """Return ``x_t - rho x_{t-1}``, with ``x_0`` before the first frame."""
    return x - rho * np.concatenate([x[:1], x[:-1]])


def _design(cuts: np.ndarray, phases: Sequence[str]) -> np.ndarray:
    """Return the design matrix (n_frames, 2): weights of the neutral and the apex level in every frame."""
    height = np.empty(cuts[-1])
    for name, (start, end) in zip(phases, pairwise(cuts), strict=True):
        rise = np.arange(1, end - start + 1) / max(1, end - start)
        height[start:end] = {"neutral": 0, "onset": rise, "apex": 1, "offset": 1 - rise}[name]
    return np.column_stack([1 - height, height])


def unexplained(y: np.ndarray, cuts: np.ndarray, phases: Sequence[str]) -> float:
    """Return the part of the variance of y that is unexplained by the trapezoid with these cuts."""
    design = _design(cuts, phases)
    y = (y - y.mean()) / np.ptp(y)
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(min(1.0, residual @ residual / (y @ y)))


def read_cuts(cuts: np.ndarray, phases: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the phase of every frame and the boundaries, in the convention of annotators."""
    plateau = np.array([name in ("neutral", "apex") for name in phases[1:]])
    boundaries = cuts[1:-1] - plateau
    codes = [CYCLE.index(name) for name in phases]
    return np.repeat(codes, np.diff([0, *boundaries, cuts[-1]])), boundaries

"""The trapezoid behind `detect_phases`: where it bends, found by dynamic programming.

The signal is taken for a trapezoid plus noise. Neutral frames lie at one level and apex frames at another, onset leads
from the first to the second in a straight line and offset back, and what is left over is correlated from frame to
frame: real signals creep and drift. Three steps take turns until nothing changes. Given levels and correlation, dynamic
programming finds the best cuts of all; given cuts, least squares gives the levels; given both, the residual has a
correlation.

Cuts divide the frames among the phases as the trapezoid sees them: a ramp ends with the frame in which it reaches its
level. People count that frame to the plateau, so `read_cuts` moves those boundaries by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numba import njit

CYCLE = ("neutral", "onset", "apex", "offset")
_COARSE = 512  # frames among which a long signal's levels are sought first


def fit_cuts(y: np.ndarray, phases: Sequence[str], min_length: int, direction: str, autocorrelation) -> np.ndarray:
    """Cuts of the best trapezoid."""
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


def _start(y: np.ndarray, phases, min_length: int, direction: str, rho: float) -> np.ndarray:
    """Levels to start from: the best of several, of a long signal those of a coarser one."""
    factor = -(-len(y) // _COARSE)
    coarse = y[: len(y) // factor * factor].reshape(-1, factor).mean(axis=1)
    pairs = [np.quantile(coarse, [q, 1 - q]) for q in (0, 0.05, 0.2)]
    pairs = [pair for pair in pairs if pair[0] < pair[1]]
    starts = [pair for pair in pairs if direction != "down"] + [pair[::-1] for pair in pairs if direction != "up"]
    tries = [_alternate(coarse, start, rho, phases, max(1, min_length // factor)) for start in starts]
    return min(tries, key=lambda fit: fit[2])[1]


def _alternate(y: np.ndarray, levels: np.ndarray, rho: float, phases, min_length: int):
    """Cuts, levels and cost, from levels by turns of dynamic programming and least squares."""
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


def _best_cuts(y: np.ndarray, levels: np.ndarray, rho: float, phases, min_length: int) -> np.ndarray:
    """Globally best cuts for given levels: best[t] is the cost of the first t frames in the phases so far."""
    height = (y - levels[0]) / (levels[1] - levels[0])
    above, below = _innovations(height, rho), _innovations(1 - height, rho)  # from where a phase begins
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
    """Append a phase that stays at its level, from which w are the innovations."""
    total = _cumulated(w**2)
    before = (best - total)[: len(best) - shortest]
    lowest = np.minimum.accumulate(before)
    cost, origin = np.full(len(best), np.inf), np.zeros(len(best), dtype=np.int64)
    cost[shortest:] = lowest + total[shortest:]
    origin[shortest:] = np.maximum.accumulate(np.where(before == lowest, np.arange(len(before)), 0))
    return cost, origin


def _ramp(best: np.ndarray, w: np.ndarray, rho: float, shortest: int) -> tuple[np.ndarray, np.ndarray]:
    """Append a phase that goes from its level, from which w are the innovations, to one unit above it.

    Frame i of m (counted from 1) has height i / m, hence the innovation ``(rho + (1 - rho) i) / m``.
    """
    total, sums = _cumulated(w**2), _cumulated(w)
    m = np.arange(len(best), dtype=np.float64)
    moments = (1 - rho) * _cumulated(m[1:] * w)
    offset = rho - (1 - rho) * m
    shares = 1 / np.maximum(m, 1)
    squares = _cumulated((rho + (1 - rho) * m[1:]) ** 2) * shares**2
    cost, origin = _search(
        best - total, 2 * offset, -2 * (offset * sums + moments), sums, 2 * moments, squares, shares, shortest
    )
    return cost + total, origin


@njit(nogil=True, cache=True)
def _search(before, slope, constant, sums, moments, squares, shares, shortest):
    """For every end the best start of a ramp: all pairs, with nothing but products and sums inside."""
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


def _cumulated(x: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(x)])


def _innovations(x: np.ndarray, rho: float) -> np.ndarray:
    """What is new in each frame; before the first, the signal is taken to have stood still."""
    return x - rho * np.concatenate([x[:1], x[:-1]])


def _design(cuts: np.ndarray, phases: Sequence[str]) -> np.ndarray:
    """Shares (n_frames, 2) of the neutral and of the apex level in every frame."""
    height = np.empty(cuts[-1])
    for name, (start, end) in zip(phases, pairwise(cuts), strict=True):
        rise = np.arange(1, end - start + 1) / max(1, end - start)
        height[start:end] = {"neutral": 0, "onset": rise, "apex": 1, "offset": 1 - rise}[name]
    return np.column_stack([1 - height, height])


def unexplained(y: np.ndarray, cuts: np.ndarray, phases: Sequence[str]) -> float:
    """Share of the variance of y that the best levels for these cuts leave."""
    design = _design(cuts, phases)
    y = (y - y.mean()) / np.ptp(y)
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(min(1.0, residual @ residual / (y @ y)))


def read_cuts(cuts: np.ndarray, phases: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and boundaries as people mark them."""
    plateau = np.array([name in ("neutral", "apex") for name in phases[1:]])
    boundaries = cuts[1:-1] - plateau
    codes = [CYCLE.index(name) for name in phases]
    return np.repeat(codes, np.diff([0, *boundaries, cuts[-1]])), boundaries

"""Least-squares fit of a trapezoid to a signal, for `detect_phases`.

The model is a trapezoid plus noise of order one, ``e_t = rho e_{t-1} + w_t``: neutral frames have one level and apex
frames another, onset is linear from the first to the second, offset linear back. For given rho the sum of the squared
innovations w_t is minimised over the cuts and the two levels together; rho is the autocorrelation of the residual,
re-estimated until it does not change.

For given levels the best cuts come from a dynamic program (`_best_cuts`). The minimum over the levels is found by
branch and bound (`_global_fit`): it is the global one, to within 1e-9 of the sum of squares of the signal.

A ramp ends with the frame in which it reaches its level. Annotators count that frame to the plateau, so `read_cuts`
moves those boundaries by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numba import njit

CYCLE = ("neutral", "onset", "apex", "offset")  # order of the phases (docs/methods.md 7.3)


@dataclass(frozen=True)
class Shape:
    """Phases of a trapezoid, in the order of time.

    Attributes
    ----------
    phases : sequence of str
        Names of the phases.
    min_length : int
        Minimal number of frames of a phase, as annotators count.
    direction : {"auto", "up", "down"}
        Whether the apex lies above the neutral level or below it.
    """

    phases: Sequence[str]
    min_length: int = 1
    direction: str = "auto"

    @property
    def kinds(self) -> np.ndarray:
        """Positions of the phases in the cycle; those of ramps are odd."""
        return np.array([CYCLE.index(name) for name in self.phases])

    @property
    def shortest(self) -> np.ndarray:
        """Minimal number of frames between cuts: a ramp holds a frame of the plateau after it."""
        ramp, last = self.kinds % 2 == 1, len(self.phases) - 1
        position = np.arange(len(self.phases))
        return np.where(ramp, self.min_length + (position < last), self.min_length - (position > 0))

    @property
    def signs(self) -> tuple[int, ...]:
        """Signs that the apex may have relative to the neutral level."""
        return {"auto": (1, -1), "up": (1,), "down": (-1,)}[self.direction]


@dataclass(frozen=True)
class Trapezoid:
    """A fitted trapezoid: first frame of every phase and the number of frames, the two levels, the sum of squares."""

    cuts: np.ndarray
    levels: np.ndarray
    cost: float


def fit_cuts(y: np.ndarray, shape: Shape, autocorrelation: float | str, *, max_exact: int = 512) -> np.ndarray:
    """Fit a trapezoid to y; return the first frame of every phase, and the number of frames.

    Up to ``max_exact`` frames the fit is the global minimum for its rho. A longer signal is reduced to at most as many
    block means; the fit to its frames is the local minimum next to the global one of these.
    """
    y = y - y.mean()
    y /= np.abs(y).max()
    estimated = autocorrelation == "auto"
    rho = 0.0 if autocorrelation == "auto" else float(autocorrelation)
    if len(y) > max_exact:
        means, min_length = block_means(y, shape.min_length, max_exact=max_exact)
        rough = replace(shape, min_length=min_length)
        levels = _global_fit(means, rough, rho, _best_start(means, rough, rho)).levels
        found = _alternate(y, levels, rho, shape)
        return (_estimate_rho(y, found, rho, shape)[0] if estimated else found).cuts
    found = _best_start(y, shape, rho)
    for _ in range(10):
        local, rho = _estimate_rho(y, found, rho, shape) if estimated else (found, rho)
        found = _global_fit(y, shape, rho, local)
        if not estimated or found is local:
            break
    return found.cuts


def local_fit(y: np.ndarray, shape: Shape, autocorrelation: float | str) -> Trapezoid:
    """Return a local minimum, for the autocorrelation of its residual if that is "auto"."""
    rho = 0.0 if autocorrelation == "auto" else float(autocorrelation)
    start = _best_start(y, shape, rho)
    return _estimate_rho(y, start, rho, shape)[0] if autocorrelation == "auto" else start


def fit_constant(y: np.ndarray, autocorrelation: float | str) -> float:
    """Return the least sum of squared innovations of y about a constant."""
    residual = y - y.mean()
    rho = _autocorrelation(residual) if autocorrelation == "auto" else float(autocorrelation)
    return len(y) * float(_innovations(residual, rho).var())


def block_means(y: np.ndarray, min_length: int, *, max_exact: int = 512) -> tuple[np.ndarray, int]:
    """Reduce a signal of more than ``max_exact`` frames to at most as many means of blocks, and a length with it."""
    factor = -(-len(y) // max_exact)
    return y[: len(y) // factor * factor].reshape(-1, factor).mean(axis=1), max(1, min_length // factor)


def _autocorrelation(residual: np.ndarray) -> float:
    power = residual @ residual
    return float(np.clip(residual[1:] @ residual[:-1] / power, 0, 0.99)) if power else 0.0


def _estimate_rho(y: np.ndarray, found: Trapezoid, rho: float, shape: Shape) -> tuple[Trapezoid, float]:
    """Alternate local fits and the autocorrelation of their residual; return the fit and the rho it belongs to."""
    for _ in range(10):
        residual = y - _design(found.cuts, shape.phases) @ found.levels
        before, rho = rho, _autocorrelation(residual)
        found = _alternate(y, found.levels, rho, shape)
        if abs(rho - before) < 0.01:
            break
    return found, rho


# ---- the global minimum ----------------------------------------------------------------------------------------------


def _global_fit(y: np.ndarray, shape: Shape, rho: float, best: Trapezoid, *, tol: float = 1e-9) -> Trapezoid:
    """Minimise over cuts and levels, to within ``tol`` of the sum of squares about the mean, by branch and bound.

    Returns ``best``, a local minimum, if nothing is lower.

    With u the innovations of y about their mean and psi those of the height of the trapezoid, which is 0 at the neutral
    level and 1 at the apex, the cost is ``sum_t (u_t - b psi_t + g)^2``, b being the difference of the levels. Its
    minimum over the heights is bounded from below on a box of (b, g) with centre c and corners c + e: for every height
    the cost at c + e is at least its linear part,

        cost(c) + e^T gradient(c)  =  cost(c + e) - sum_t (e_b psi_t - e_g)^2

    and the minimum of that over the heights, a dynamic program, is concave in e, hence least at a corner. Of what is
    left out, the part in e_g alone, ``n e_g^2``, is the same for all heights and is put back. The gap is of second
    order in the size of the box, so that boxes around a minimum do not multiply as they are halved.
    """
    u = _innovations(y, rho)
    mean, n, kappa = u.mean(), len(y), 1 - rho
    total = float(((u - mean) ** 2).sum())
    # Heights 0 and 1, or 1/2 and 1 where a ramp is the first phase, occur: ||h - mean||^2 >= 1/8. The innovations of a
    # series are at least kappa^(3/2) of it.
    most_b = np.sqrt(8 * total / kappa**3)
    least_m, most_m = -rho / n, kappa + rho / n  # bounds of the mean of psi, which is g / b at the minimum
    norm_psi = kappa * np.sqrt(n) + rho * np.sqrt(np.count_nonzero(shape.kinds % 2))  # upper bound of ||psi||
    half = np.array([most_b, most_b * (most_m - least_m)]) / 2
    centre = np.array([most_b / 2, most_b * (most_m + least_m) / 2])
    boxes = np.array([[sign, *centre] for sign in shape.signs])

    def levels(b: np.ndarray, g: np.ndarray) -> np.ndarray:
        neutral = (mean - g) / kappa
        return np.stack([neutral, neutral + b], axis=-1)

    while len(boxes):
        sign, b, g = boxes.T
        corners = np.array([half * (i, j) for i in (-1, 1) for j in (-1, 1)])
        errors = np.stack([-corners[:, 1] / kappa, corners[:, 0] - corners[:, 1] / kappa], axis=-1)
        reach = half[0] * norm_psi + half[1] * np.sqrt(n)
        at, bounds = _bounds(
            u,
            shape.kinds,
            shape.shortest,
            rho,
            levels(sign * b, sign * g),
            errors,
            half[1],
            reach,
            best.cost - tol * total,
        )
        first = int(at.argmin())
        if at[first] < best.cost and b[first] > 0:
            found = _alternate(y, levels(sign * b, sign * g)[first], rho, shape)
            best = min(best, found, key=lambda fit: fit.cost)
        boxes = boxes[bounds < best.cost - tol * total]
        # Halve the side along which the linear part errs more.
        side = int(half[1] * np.sqrt(n) > half[0] * norm_psi)
        half[side] /= 2
        step = np.zeros(3)
        step[1 + side] = half[side]
        boxes = np.concatenate([boxes - step, boxes + step])
        reachable = boxes[:, 1] + half[0]  # the largest b
        inside = (boxes[:, 2] + half[1] >= least_m * reachable) & (boxes[:, 2] - half[1] <= most_m * reachable)
        boxes = boxes[inside]
    return best


@njit(nogil=True, cache=True)
def _bounds(u, kinds, shortest, rho, levels, errors, half_g, reach, threshold):
    """Return the minimum at the centre of each box, and a lower bound of the minimum in it.

    The root of the cost changes within a box by at most ``reach``. The bound by the corners, ``errors`` away from the
    centre, is computed only where that one is below the threshold. Along an edge from one g to the other it is the
    minimum of ``n e^2`` plus the line between the two corners.
    """
    m, n, none = len(levels), len(u), np.zeros(2)
    at, bound = np.empty(m), np.empty(m)
    for i in range(m):
        at[i] = _dynamic_program(u, kinds, shortest, rho, levels[i], none)[0]
        bound[i] = max(0.0, np.sqrt(max(at[i], 0.0)) - reach) ** 2
        if bound[i] >= threshold:
            continue
        lowest = np.inf
        for j in (0, 2):  # the two edges along g
            left = _dynamic_program(u, kinds, shortest, rho, levels[i] + errors[j], errors[j])[0]
            right = _dynamic_program(u, kinds, shortest, rho, levels[i] + errors[j + 1], errors[j + 1])[0]
            slope = (right - left) / (2 * half_g)
            e = min(half_g, max(-half_g, -slope / (2 * n)))
            lowest = min(lowest, (left + right) / 2 + slope * e + n * e * e)
            if lowest < threshold:
                break
        bound[i] = max(bound[i], lowest)
    return at, bound


# ---- local minima ----------------------------------------------------------------------------------------------------


def _best_start(y: np.ndarray, shape: Shape, rho: float) -> Trapezoid:
    """Return the lowest of the local minima from quantiles of the signal as levels."""
    pairs = [np.quantile(y, [q, 1 - q]) for q in (0, 0.05, 0.2)]
    pairs = [pair for pair in pairs if pair[0] < pair[1]]
    fits = [_alternate(y, pair[::sign], rho, shape) for sign in shape.signs for pair in pairs]
    return min(fits, key=lambda fit: fit.cost)


def _alternate(y: np.ndarray, levels: np.ndarray, rho: float, shape: Shape) -> Trapezoid:
    """Alternate best cuts and least-squares levels from given levels, as long as the apex stays on its side."""
    target = _innovations(y, rho)
    cuts, cost = None, np.inf
    for _ in range(50):
        new = _best_cuts(y, levels, rho, shape)
        design = _innovations(_design(new, shape.phases), rho)
        best = np.linalg.lstsq(design, target, rcond=None)[0]
        if np.array_equal(new, cuts) or (best[1] - best[0]) * (levels[1] - levels[0]) <= 0:
            return Trapezoid(new, levels, cost if cuts is not None else float(((target - design @ levels) ** 2).sum()))
        cuts, levels, cost = new, best, float(((target - design @ best) ** 2).sum())
    return Trapezoid(cuts, levels, cost)


def _best_cuts(y: np.ndarray, levels: np.ndarray, rho: float, shape: Shape) -> np.ndarray:
    """Minimise over all cuts for given levels."""
    _, origins = _dynamic_program(
        _innovations(y, rho), shape.kinds, shape.shortest, rho, np.ascontiguousarray(levels), np.zeros(2)
    )
    cuts = [len(y)]
    for origin in origins[::-1]:
        cuts.append(origin[cuts[-1]])
    return np.array(cuts[::-1])


@njit(nogil=True, cache=True)
def _dynamic_program(u, kinds, shortest, rho, levels, errors):
    """Minimise ``sum_t (u_t - v_t . levels)^2 - (v_t . errors)^2`` over the cuts, v the innovations of the design.

    best[t] is the least cost of the first t frames in the phases so far. Frame i of the m of a ramp (counted from 1)
    has height i / m above the level S it leaves, in units of the difference D of the levels, and the innovation
    ``kappa S + D r_i / m`` with ``r_i = rho + kappa i``; in the first frame of all it is ``kappa (S + D / m)``. The
    sums over a ramp are differences of cumulative sums. Returns the least cost, and the start of each phase for every
    end.
    """
    n, kappa = len(u), 1.0 - rho
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    origins = np.zeros((len(kinds), n + 1), dtype=np.int64)
    total, sums, moments = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    steepness, extra = np.zeros(n + 1), np.zeros(n + 1)  # of a ramp, by its length
    for phase in range(len(kinds)):
        leaves = 0 if kinds[phase] < 2 else 1  # neutral, onset; apex, offset
        level, error, least = levels[leaves], errors[leaves], shortest[phase]
        for t in range(n):
            w = u[t] - kappa * level
            total[t + 1] = total[t] + w * w - (kappa * error) ** 2
            sums[t + 1] = sums[t] + w
            moments[t + 1] = moments[t] + kappa * (t + 1) * w
        cost = np.full(n + 1, np.inf)
        if kinds[phase] % 2 == 0:
            lowest, where = np.inf, 0
            for end in range(least, n + 1):
                start = end - least
                if best[start] - total[start] <= lowest:
                    lowest, where = best[start] - total[start], start
                cost[end], origins[phase, end] = lowest + total[end], where
        else:
            _ramp_lengths(
                steepness, extra, levels[1 - leaves] - level, error, errors[1 - leaves] - error, rho, phase == 0
            )
            for start in range(n + 1 - least):
                if best[start] == np.inf:
                    continue
                a = rho - kappa * start
                c = -a * sums[start] - moments[start]
                if phase == 0:
                    c -= rho * (u[0] - kappa * level)
                _append_ramps(
                    cost[start + least :],
                    origins[phase, start + least :],
                    start,
                    best[start] - total[start],
                    extra[least : n + 1 - start],
                    steepness[least : n + 1 - start],
                    a,
                    sums[start + least :],
                    moments[start + least :],
                    c,
                )
            cost += total
        best = cost
    return best[n], origins


@njit(nogil=True, cache=True)
def _ramp_lengths(steepness, extra, difference, error, slack, rho, first):
    """Set the parts of the cost of a ramp that depend on its length m alone: ``2 D / m`` and what is not of u."""
    kappa, r_sum, r_squares = 1.0 - rho, 0.0, 0.0
    for m in range(1, len(extra)):
        r = kappa if first and m == 1 else rho + kappa * m
        r_sum += r
        r_squares += r * r
        steepness[m] = 2 * difference / m
        extra[m] = (difference**2 - slack**2) * r_squares / (m * m) - 2 * kappa * error * slack * r_sum / m


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "contract"})
def _append_ramps(cost, origin, start, before, extra, steepness, a, sums, moments, c):
    """Lower the cost at every end by the ramps from one start; ``a sums + moments + c`` is ``sum_i r_i w_i``."""
    for i in range(len(cost)):
        value = before + extra[i] - steepness[i] * (a * sums[i] + moments[i] + c)
        if value < cost[i]:
            cost[i] = value
            origin[i] = start


def _innovations(x: np.ndarray, rho: float) -> np.ndarray:
    """Return ``x_t - rho x_{t-1}``, with ``x_0`` before the first frame."""
    return x - rho * np.concatenate([x[:1], x[:-1]])


# ---- results of a fit ------------------------------------------------------------------------------------------------


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

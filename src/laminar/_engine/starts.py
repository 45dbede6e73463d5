"""Starts of a factorisation, ``(data, k, random_state) -> H (n, k), Z (p, k)``, deterministic given the seed.

Z is transposed, as everywhere in the engine (see `terms`); components beyond the rank of X start at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.optimize import linprog
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from .._utils import tall, threads
from .._utils.progress import stage
from .constraints import Constraint, Free
from .data.matrix import Matrix
from .data.svd import truncated_svd
from .linalg.blocked import cross
from .linalg.small import safe_divide
from .monitor import Monitor
from .problem import Factors, Problem
from .regression import best_factor
from .solve import solve
from .updates import Update

Start = tuple[np.ndarray, np.ndarray]


def random(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Draw both factors uniformly from (0, 1), scaled so that the product has the size of X."""
    n, p = data.shape
    # Mixed signs have a mean near zero: their root mean square stands in for it.
    size = data.total / (n * p) if data.total > 0 else np.sqrt(data.sqnorm / (n * p))
    scale = np.sqrt(max(size, 1e-300) / k)
    H = tall.drawn((n, k), np.float64, lambda b: rng.uniform(size=(b.stop - b.start, k)) * scale, data.workers)
    return H, rng.uniform(size=(p, k)) * scale


def kmeans(data: Matrix, k: int, rng: np.random.RandomState, *, max_samples: int = 50_000) -> Start:
    """Return memberships of k-means plus 0.2, and components by least squares (Ding, Li and Jordan).

    k-means is fitted to every m-th sample where there are more than ``max_samples``.
    """
    n = data.shape[0]
    U, s, _ = truncated_svd(data, 2 * k, rng)
    few = tall.take(U, np.arange(0, n, -(-n // max_samples))) * s
    with threadpool_limits(1, user_api="openmp"):  # sums of several threads have no fixed order
        centres = KMeans(min(k, n), n_init=1, random_state=rng).fit(few).cluster_centers_
    squares, places = np.einsum("ij,ij->i", centres, centres) / 2, np.arange(k)

    def memberships(b: slice) -> np.ndarray:
        nearest = (squares - (U[b] * s) @ centres.T).argmin(1)
        return 0.2 + (places == nearest[:, None])

    H = tall.fill(tall.empty((n, k), np.float64, data.workers), memberships)
    return H, best_components(data, H)


def nndsvd(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return the non-negative parts of the singular vectors; exact zeros stay, so not for multiplicative rules."""
    U, s, V = truncated_svd(data, k, rng)
    of_U = np.sqrt(threads.total(lambda b: _squares_by_sign(U[b]), tall.cut(U, 4096)))
    of_V = np.sqrt(_squares_by_sign(V))
    sign, columns = (of_U * of_V).argmax(0), np.arange(len(s))  # 0 is positive, 1 negative
    lengths = of_U[sign, columns], of_V[sign, columns]
    size, turned = np.sqrt(s * lengths[0] * lengths[1]), np.where(sign == 0, 1.0, -1.0)

    def part(F: np.ndarray, length: np.ndarray) -> np.ndarray:
        padded = tall.zeros((len(F), k), np.float64, tall.workers_of(F))
        padded[:, : len(s)] = safe_divide(size * np.maximum(turned * F, 0), np.where(size > 0, length, 0))
        return padded

    H = tall.fill(tall.empty((data.shape[0], k), np.float64, data.workers), lambda b: part(U[b], lengths[0]))
    return _with_zero_components_filled(H, part(V, lengths[1]), rng)


def _squares_by_sign(F: np.ndarray) -> np.ndarray:
    """Return the sums of the squares of the positive and of the negative entries of each column."""
    return np.stack([np.square(np.maximum(e * F, 0)).sum(0) for e in (1, -1)])


def nndsvda(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return `nndsvd` with its zeros raised to the mean of X."""
    mean = max(data.total / np.prod(data.shape), 1e-300)
    H, Z = nndsvd(data, k, rng)
    return tall.fill(H, lambda b: np.where(H[b] > 0, H[b], mean)), np.where(Z > 0, Z, mean)


def nndsvdar(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return `nndsvd` with its zeros raised to small random values."""
    mean = max(data.total / np.prod(data.shape), 1e-300)

    def filled(F: np.ndarray) -> np.ndarray:
        small = _uniform(F, F.shape[1], rng, 1e-3)
        return tall.fill(F, lambda b: np.where(F[b] > 0, F[b], small[b] * mean / 100))

    H, Z = nndsvd(data, k, rng)
    return filled(H), filled(Z)


def svd(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return factors of the best rank k - 1 approximation of X (Gillis and Kumar, Algorithm 2)."""
    if k == 1:
        u = truncated_svd(data, 1, rng)[0]
        H = np.maximum(u if (u > 0).sum() >= (u < 0).sum() else -u, 0)
        return H, best_components(data, H)
    U, s, V = truncated_svd(data, k - 1, rng)
    sign, r = np.where(U.min(0) < (-U).min(0), -1.0, 1.0), len(s)
    A, Z = V * (s * sign), np.zeros((data.shape[1], k))
    Z[:, :r], Z[:, r] = A, -A.sum(1)

    def rows(b: slice) -> np.ndarray:
        u = U[b] * sign
        padded = tall.zeros((len(u), k), np.float64, tall.workers_of(u))
        padded[:, :r] = u
        padded[:, : r + 1] -= np.minimum(0, u.min(1, keepdims=True))
        return padded

    H = tall.fill(tall.empty((data.shape[0], k), np.float64, data.workers), rows)
    return _with_zero_components_filled(H, Z, rng)


def lp(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return the optimum of Semi-NMF where a positive vector lies in the span (Gillis and Kumar, Algorithm 3).

    That is so for every non-negative X. A linear program finds the vector; for most data the first singular vector
    already is one and no program is needed.
    """
    return nonnegative_basis(data, k, truncated_svd(data, k, rng), rng)


def nonnegative_basis(data: Matrix, k: int, triplets: tuple, rng: np.random.RandomState) -> Start:
    """Return non-negative codes that span k left singular vectors of X >= 0, and their components."""
    V, s, right = (part if part.shape[-1] == k else part[..., :k] for part in triplets)
    eps = float(np.finfo(V.dtype).eps)
    rank = int((s > max(1e-12, 30 * eps) * s[0]).sum()) if s[0] > 0 else 0
    if not rank:
        H = _uniform(V, k, rng)
        return H, best_components(data, H)
    V = V if rank == V.shape[1] else V[:, :rank]
    x = _nearly_positive_combination(V)
    alpha, y = np.maximum(0, _largest_ratio(V, x)), cross(V, x[:, None])[:, 0]
    if abs(1 + alpha @ y) < 0.5:
        # Where one sample decides every alpha H loses a rank; any larger alpha is as good.
        a = np.abs(y).argmax()
        alpha[a] += 1 / abs(y[a])
    H = tall.fill(tall.empty_like(V), lambda b: np.maximum(0, V[b] + x[b, None] * alpha))
    if rank < k:
        # The mean is that of all k columns, the last of which are zero so far.
        rest = _uniform(V, k - rank, rng) * (H.mean() * rank / k)
        H = tall.fill(tall.empty((len(V), k), V.dtype, data.workers), lambda b: np.hstack([H[b], rest[b]]))
        return H, best_components(data, H)
    gap = max(threads.each(lambda b: float(np.abs(V[b] @ y - x[b]).max()), tall.cut(V, tall.ROWS)))
    if gap > max(1e-9, 100 * eps) * float(x.max()):
        return H, best_components(data, H)
    # H = V (1 + y alpha^T): its inverse is known, where least squares would square a condition of thousands.
    A = right * s
    return H, A - np.outer(A @ alpha / (1 + alpha @ y), y)


def _row_sizes(V: np.ndarray) -> np.ndarray:
    """Return the largest magnitude of each row."""
    return tall.fill(tall.empty((len(V),), V.dtype, tall.workers_of(V)), lambda b: np.abs(V[b]).max(1))


def _largest_ratio(V: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the largest of ``-V / x`` in each column, over the rows with x > 0."""

    def largest(b: slice) -> np.ndarray:
        rows = x[b] > 0
        return (-V[b][rows] / x[b][rows, None]).max(0, initial=-np.inf)

    return np.max(threads.each(largest, tall.cut(V, tall.ROWS)), axis=0)


def positive_combination(V: np.ndarray) -> np.ndarray | None:
    """Return a vector ``V y > 0``, zero where V is (zero samples), or None where there is none.

    For most non-negative data the first singular vector is one, and for centred data, whose columns V sum to zero,
    there is none. Otherwise a linear program finds y or proves that there is none.
    """
    size, slices = _row_sizes(V), tall.cut(V, tall.ROWS)
    least = 1e-12 * float(size.max())

    def combined(y: np.ndarray) -> np.ndarray:
        return tall.fill(tall.empty_like(size), lambda b: np.where(size[b] > least, V[b] @ y, 0))

    if all(threads.each(lambda b: ((V[b][:, 0] > 1e-6 * size[b]) | (size[b] <= least)).all(), slices)):
        return combined(np.eye(V.shape[1], dtype=V.dtype)[0])
    sums = threads.total(lambda b: np.stack([V[b].sum(0), np.abs(V[b]).sum(0)]), slices)
    if np.abs(sums[0]).max() <= 1e-9 * sums[1].max():
        return None
    some = _Constraints(V, size, least)
    y = some.cutting_planes(_feasible, np.zeros(V.shape[1]))
    if y is None:
        return None
    # Any positive combination may consist of rounding errors, multiplied by millions.
    low, high = some.extremes(y)
    wide = some.cutting_planes(_widest, y) if high > 1e3 * low else None
    return combined(y if wide is None or some.extremes(wide)[0] <= 1e-6 else wide)


class _Constraints:
    """The rows of V, each divided by its size, as constraints of a linear program, of which few are active.

    Parameters
    ----------
    V : ndarray of shape (n, k)
        The rows.
    size : ndarray of shape (n,)
        The largest magnitude of each.
    least : float
        Rows of this size or less are zero, and no constraints.
    """

    def __init__(self, V: np.ndarray, size: np.ndarray, least: float):
        self.V, self.size, self.least, self.most = V, size, least, 20 * V.shape[1]
        self.chosen = np.unique(np.linspace(0, len(V) - 1, min(len(V), self.most)).astype(int))

    def cutting_planes(self, solve: Callable, y: np.ndarray) -> np.ndarray | None:
        """Return the solution for all rows by that for some; rows that it gets wrong are added until there are none.

        ``solve(W, y)``, from a first y, returns the solution for rows W and the smallest ``W y`` that it allows.
        """
        while True:
            size = tall.take(self.size, self.chosen)
            rows = size > self.least
            found = solve(tall.take(self.V, self.chosen)[rows] / size[rows, None], y)
            if found is None:
                return None
            wrong = np.setdiff1d(self._below(*found), self.chosen)
            if not len(wrong):
                return found[0]
            self.chosen = np.union1d(self.chosen, wrong[: self.most])

    def _below(self, y: np.ndarray, level: float) -> np.ndarray:
        """Return the first rows of each slice for which the product with y is below a level."""
        V, size, least, most = self.V, self.size, self.least, self.most

        def below(b: slice) -> np.ndarray:
            wrong = (V[b] @ y < level * size[b]) & (size[b] > least)
            return b.start + np.flatnonzero(wrong)[:most]

        return np.concatenate(threads.each(below, tall.cut(V, tall.ROWS)))

    def extremes(self, y: np.ndarray) -> tuple[float, float]:
        """Return the smallest and the largest product of a row with y."""
        V, size, least = self.V, self.size, self.least

        def extremes(b: slice) -> tuple[float, float]:
            rows = size[b] > least
            x = (V[b][rows] @ y) / size[b][rows]
            return float(x.min(initial=np.inf)), float(x.max(initial=-np.inf))

        found = threads.each(extremes, tall.cut(V, tall.ROWS))
        return min(low for low, _ in found), max(high for _, high in found)


def _nearly_positive_combination(V: np.ndarray) -> np.ndarray:
    """Return a vector ``(V + e) y >= 1`` for the smallest e >= 0 found, zero where V is (zero samples)."""
    x = positive_combination(V)
    if x is not None:
        return x
    if tall.workers_of(V) is not None:
        raise ValueError(
            'init="lp": X has no positive vector among its singular vectors; on workers or a device use "kmeans".'
        )
    size = _row_sizes(V)
    nonzero = size > 1e-12 * size.max()
    W, x = V[nonzero], np.zeros(len(V), V.dtype)
    low, high, best = 0.0, float(np.abs(W).max()), None
    while high - low > 1e-3 * np.abs(W).max() or best is None:
        e = (low + high) / 2 if best is not None else high
        found = _feasible(W + e)
        if found is None:
            low, high = (e, high) if best is not None else (e, 2 * e)
        else:
            best, high = (W + e) @ found[0], e
    x[nonzero] = best
    return x


def _feasible(W: np.ndarray, y: np.ndarray | None = None) -> tuple[np.ndarray, float] | None:
    """Return y with ``W y >= 1``, of which half is enough for others, or None."""
    n, k = W.shape
    result = linprog(np.zeros(k), A_ub=-W, b_ub=-np.ones(n), bounds=(None, None), method="highs")
    return (result.x, 0.5) if result.status == 0 else None


def _widest(W: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the y, none of its entries beyond 1, whose smallest ``W y`` is largest, and that number."""
    n, k = W.shape
    cost, A = np.r_[np.zeros(k), -1], np.c_[-W, np.ones(n)]
    result = linprog(cost, A_ub=A, b_ub=np.zeros(n), bounds=[(-1, 1)] * k + [(None, None)], method="highs")
    return (result.x[:k], result.x[k] - 1e-6) if result.status == 0 else None


def corner(data: Matrix, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the k leading scores of centred X from the corner of their bounding box, for a fit with an offset.

    Each axis is turned to its longer tail, so that most codes are small.
    """
    U, s, _ = truncated_svd(data, k, rng)
    Y = U * s
    Y *= np.where(-Y.min(0) > Y.max(0), -1.0, 1.0)
    H, missing = Y - Y.min(0), k - Y.shape[1]
    if not missing:
        return H
    rest = _uniform(H, missing, rng) * (H.mean() * Y.shape[1] / k or 1.0)
    return tall.fill(tall.empty((len(H), k), H.dtype, data.workers), lambda b: np.hstack([H[b], rest[b]]))


def best_components(
    data: Matrix, H: np.ndarray, constraint: Constraint | None = None, *, ridge: float = 0.0
) -> np.ndarray:
    """Return the least-squares components of given codes, under the constraint on them (None: of any sign)."""
    return best_factor(data.T, tall.contiguous(H, data.dtype), constraint or Free(), ridge=ridge)


def named_start(name: str, data: Matrix, k: int, rng: np.random.RandomState, constraint: Constraint) -> Factors:
    """Return the start of that name, for components under the constraint."""
    stage(f'initial factors, init="{name}"')
    H, Z = STARTS[name](data, k, rng)
    if constraint.signed == (name in NONNEGATIVE_STARTS):
        # Signed: with components of one sign and data of the other all codes would go to zero, and stay there.
        Z = best_components(data, H, constraint)
    return {"H": tall.copy(H, data.dtype), "Z": np.array(Z, data.dtype, order="C")}


def without_zeros(F: np.ndarray, floor: float = 1e-3) -> np.ndarray:
    """Raise the entries of a non-negative factor to this part of its mean: a multiplicative update keeps a zero."""
    if F.min(initial=0) < 0:
        return F
    least = F.dtype.type(floor * F.mean())
    return tall.fill(tall.empty_like(F), lambda b: np.maximum(F[b], least))


def learned_on_subsample(
    problem: Callable[[Matrix], Problem],
    data: Matrix,
    factors: Factors,
    updates: Mapping[str, Update],
    *,
    samples_per_component: int = 20,
    min_samples: int = 1024,
    min_step: int = 8,
    monitor: Monitor | None = None,
) -> Factors:
    """Replace the components of tall data by those that a few sweeps over every m-th sample give.

    Parameters
    ----------
    problem : callable
        The problem as a function of the data: a factorisation with factors H and Z.
    data, factors, updates
        All samples, where to start, and the update of each factor.
    samples_per_component, min_samples : int, default=20, 1024
        Samples of the subsample: for each component, and at least.
    min_step : int, default=8
        Smallest m; below it the start is returned as it is.
    monitor : Monitor or None
        Number of sweeps; None means five.
    """
    n, k = factors["H"].shape
    step = n // max(samples_per_component * k, min_samples)
    if step < min_step:
        return factors
    few = {"H": factors["H"][::step].copy(), "Z": factors["Z"]}
    found = solve(problem(data.every(step)), few, updates, monitor=monitor or Monitor(5, 1e-2), extrapolate=True)
    return {**factors, "Z": found.factors["Z"]}


def _uniform(F: np.ndarray, k: int, rng: np.random.RandomState, low: float = 0.0) -> np.ndarray:
    """Return k columns of uniform random numbers beside F, drawn in the order of the rows."""
    return tall.drawn((len(F), k), F.dtype, lambda b: rng.uniform(low, 1, (b.stop - b.start, k)), tall.workers_of(F))


def _with_zero_components_filled(H: np.ndarray, Z: np.ndarray, rng: np.random.RandomState) -> Start:
    """Give components beyond the rank of X random codes and components of zero: the product does not change."""
    zero = ~(H.any(0) & Z.any(0))
    if not zero.any():
        return H, Z
    size, random_codes = H.mean() or 1.0, _uniform(H, int(zero.sum()), rng)
    Z[:, zero] = 0

    def rows(b: slice) -> np.ndarray:
        filled = H[b].copy()
        filled[:, zero] = random_codes[b] * size
        return filled

    return tall.fill(H, rows), Z


STARTS: dict[str, Callable[[Matrix, int, np.random.RandomState], Start]] = {
    "random": random,
    "kmeans": kmeans,
    "nndsvd": nndsvd,
    "nndsvda": nndsvda,
    "nndsvdar": nndsvdar,
    "svd": svd,
    "lp": lp,
}
NONNEGATIVE_STARTS = {"random", "nndsvd", "nndsvda", "nndsvdar"}

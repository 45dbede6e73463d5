"""Starts of a factorisation, ``(data, k, random_state) -> H (n, k), Z (p, k)``, deterministic given the seed.

Z is transposed, as everywhere in the engine (see `terms`); components beyond the rank of X start at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.optimize import linprog
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from .._utils import tall
from .._utils.progress import stage
from .constraints import Constraint, Free
from .data.matrix import Matrix
from .data.svd import truncated_svd
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
    H = tall.fill(tall.empty((n, k), np.float64), lambda b: rng.uniform(size=(b.stop - b.start, k)) * scale)
    return H, rng.uniform(size=(p, k)) * scale


def kmeans(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return memberships of k-means plus 0.2, and components by least squares (Ding, Li and Jordan)."""
    n = data.shape[0]
    U, s, _ = truncated_svd(data, 2 * k, rng)
    with threadpool_limits(1, user_api="openmp"):  # sums of several threads have no fixed order
        labels = KMeans(min(k, n), n_init=1, random_state=rng).fit(U * s).labels_
    H = np.full((n, k), 0.2)
    H[np.arange(n), labels] += 1
    return H, best_components(data, H)


def nndsvd(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return the non-negative parts of the singular vectors; exact zeros stay, so not for multiplicative rules."""
    U, s, V = truncated_svd(data, k, rng)
    H, Z = tall.zeros((data.shape[0], k), np.float64), np.zeros((data.shape[1], k))
    for a in range(len(s)):
        sides = [(np.maximum(e * U[:, a], 0), np.maximum(e * V[:, a], 0)) for e in (1, -1)]
        u, v = max(sides, key=lambda side: np.linalg.norm(side[0]) * np.linalg.norm(side[1]))
        norms = np.linalg.norm(u), np.linalg.norm(v)
        if norms[0] * norms[1] > 0:
            size = np.sqrt(s[a] * norms[0] * norms[1])
            H[:, a], Z[:, a] = size * u / norms[0], size * v / norms[1]
    _fill_zero_components(H, Z, rng)
    return H, Z


def nndsvda(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return `nndsvd` with its zeros raised to the mean of X."""
    mean = max(data.total / np.prod(data.shape), 1e-300)
    H, Z = nndsvd(data, k, rng)
    return tall.fill(H, lambda b: np.where(H[b] > 0, H[b], mean)), np.where(Z > 0, Z, mean)


def nndsvdar(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return `nndsvd` with its zeros raised to small random values."""
    mean = max(data.total / np.prod(data.shape), 1e-300)

    def filled(F: np.ndarray) -> np.ndarray:
        return tall.fill(F, lambda b: np.where(F[b] > 0, F[b], rng.uniform(1e-3, 1, F[b].shape) * mean / 100))

    H, Z = nndsvd(data, k, rng)
    return filled(H), filled(Z)


def svd(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return factors of the best rank k - 1 approximation of X (Gillis and Kumar, Algorithm 2)."""
    if k == 1:
        u = truncated_svd(data, 1, rng)[0]
        H = np.maximum(u if (u > 0).sum() >= (u < 0).sum() else -u, 0)
        return H, best_components(data, H)
    U, s, V = truncated_svd(data, k - 1, rng)
    sign = np.where(U.min(0) < (-U).min(0), -1.0, 1.0)
    U, A = U * sign, V * (s * sign)
    H, Z = np.zeros((data.shape[0], k)), np.zeros((data.shape[1], k))
    r = len(s)
    H[:, :r], Z[:, :r] = U, A
    Z[:, r] = -A.sum(1)
    H[:, : r + 1] -= np.minimum(0, U.min(1, keepdims=True))
    _fill_zero_components(H, Z, rng)
    return H, Z


def lp(data: Matrix, k: int, rng: np.random.RandomState) -> Start:
    """Return the optimum of Semi-NMF where a positive vector lies in the span (Gillis and Kumar, Algorithm 3).

    That is so for every non-negative X. A linear program finds the vector; for most data the first singular vector
    already is one and no program is needed.
    """
    return nonnegative_basis(data, k, truncated_svd(data, k, rng), rng)


def nonnegative_basis(data: Matrix, k: int, triplets: tuple, rng: np.random.RandomState) -> Start:
    """Return non-negative codes that span k left singular vectors of X >= 0, and their components."""
    V, s, right = (part[..., :k] for part in triplets)
    eps = float(np.finfo(V.dtype).eps)
    rank = int((s > max(1e-12, 30 * eps) * s[0]).sum()) if s[0] > 0 else 0
    H = tall.zeros((data.shape[0], k), V.dtype)
    if rank:
        V = V[:, :rank]
        x = _nearly_positive_combination(V)
        alpha = np.maximum(0, _largest_ratio(V, x))
        y = V.T @ x
        if abs(1 + alpha @ y) < 0.5:
            # Where one sample decides every alpha H loses a rank; any larger alpha is as good.
            a = np.abs(y).argmax()
            alpha[a] += 1 / abs(y[a])
        tall.fill(H[:, :rank], lambda b: np.maximum(0, V[b] + x[b, None] * alpha))
        if rank == k and np.allclose(V @ y, x, rtol=0, atol=max(1e-9, 100 * eps) * x.max()):
            # H = V (1 + y alpha^T): its inverse is known, where least squares would square a condition of thousands.
            A = right * s
            return H, A - np.outer(A @ alpha / (1 + alpha @ y), y)
    if rank < k:
        H[:, rank:] = rng.uniform(size=(len(H), k - rank)) * (H.mean() if rank else 1.0)
    return H, best_components(data, H)


def _row_sizes(V: np.ndarray) -> np.ndarray:
    """Return the largest magnitude of each row."""
    return tall.fill(np.empty(len(V), V.dtype), lambda b: np.abs(V[b]).max(1))


def _largest_ratio(V: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the largest of ``-V / x`` in each column, over the rows with x > 0."""
    largest = np.full(V.shape[1], -np.inf, V.dtype)
    for b in tall.blocks(len(V)):
        rows = x[b] > 0
        np.maximum(largest, (-V[b][rows] / x[b][rows, None]).max(0, initial=-np.inf), out=largest)
    return largest


def positive_combination(V: np.ndarray) -> np.ndarray | None:
    """Return a vector ``V y > 0``, zero where V is (zero samples), or None where there is none.

    For most non-negative data the first singular vector is one, and for centred data, whose columns V sum to zero,
    there is none. Otherwise a linear program over some of the samples finds y or proves that there is none; samples
    that its y gets wrong are added.
    """
    size = _row_sizes(V)
    nonzero = size > 1e-12 * size.max()
    x = np.zeros(len(V), V.dtype)
    if (V[nonzero, 0] / size[nonzero] > 1e-6).all():
        x[nonzero] = V[nonzero, 0]
        return x
    if np.abs(V.sum(0)).max() <= 1e-9 * np.abs(V).sum(0).max():
        return None
    W = V[nonzero] / size[nonzero, None]
    chosen = np.unique(np.linspace(0, len(W) - 1, min(len(W), 20 * W.shape[1])).astype(int))
    while (y := _feasible(W[chosen])) is not None:
        wrong = np.flatnonzero(W @ y < 0.5)  # those chosen have 1 at least
        if not len(wrong):
            x[nonzero] = V[nonzero] @ _widest(W, y)
            return x
        chosen = np.union1d(chosen, wrong[: 20 * W.shape[1]])
    return None


def _nearly_positive_combination(V: np.ndarray) -> np.ndarray:
    """Return a vector ``(V + e) y >= 1`` for the smallest e >= 0 found, zero where V is (zero samples)."""
    x = positive_combination(V)
    if x is not None:
        return x
    size = _row_sizes(V)
    nonzero = size > 1e-12 * size.max()
    W, x = V[nonzero], np.zeros(len(V), V.dtype)
    low, high, best = 0.0, float(np.abs(W).max()), None
    while high - low > 1e-3 * np.abs(W).max() or best is None:
        e = (low + high) / 2 if best is not None else high
        y = _feasible(W + e)
        if y is None:
            low, high = (e, high) if best is not None else (e, 2 * e)
        else:
            best, high = (W + e) @ y, e
    x[nonzero] = best
    return x


def _feasible(W: np.ndarray) -> np.ndarray | None:
    """Return y with ``W y >= 1``, or None."""
    n, k = W.shape
    result = linprog(np.zeros(k), A_ub=-W, b_ub=-np.ones(n), bounds=(None, None), method="highs")
    return result.x if result.status == 0 else None


def _widest(W: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return y, or where ``W y`` differs too much the y whose smallest entry is largest, none of its own beyond 1.

    Any positive combination may consist of rounding errors, multiplied by millions.
    """
    x, (n, k) = W @ y, W.shape
    if x.max() <= 1e3 * x.min():
        return y
    cost, A = np.r_[np.zeros(k), -1], np.c_[-W, np.ones(n)]
    result = linprog(cost, A_ub=A, b_ub=np.zeros(n), bounds=[(-1, 1)] * k + [(None, None)], method="highs")
    return result.x[:k] if result.status == 0 and (W @ result.x[:k]).min() > 1e-6 else y


def corner(data: Matrix, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the k leading scores of centred X from the corner of their bounding box, for a fit with an offset.

    Each axis is turned to its longer tail, so that most codes are small.
    """
    U, s, _ = truncated_svd(data, k, rng)
    Y = U * s
    Y *= np.where(-Y.min(0) > Y.max(0), -1.0, 1.0)
    H = np.zeros((len(Y), k))
    H[:, : Y.shape[1]] = Y - Y.min(0)
    H[:, Y.shape[1] :] = rng.uniform(size=(len(Y), k - Y.shape[1])) * (H.mean() or 1.0)
    return H


def best_components(
    data: Matrix, H: np.ndarray, constraint: Constraint | None = None, *, ridge: float = 0.0
) -> np.ndarray:
    """Return the least-squares components of given codes, under the constraint on them (None: of any sign)."""
    return best_factor(data.T, np.ascontiguousarray(H, dtype=data.dtype), constraint or Free(), ridge=ridge)


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
    return tall.fill(tall.empty(F.shape, F.dtype), lambda b: np.maximum(F[b], least))


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


def _fill_zero_components(H: np.ndarray, Z: np.ndarray, rng: np.random.RandomState) -> None:
    """Give components beyond the rank of X random codes and components of zero: the product does not change."""
    zero = ~(H.any(0) & Z.any(0))
    H[:, zero], Z[:, zero] = rng.uniform(size=(len(H), zero.sum())) * (H.mean() or 1.0), 0


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

"""Updates of one factor: pure functions ``(F, objective, constraint) -> F``. None increases the objective."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._utils import tall, threads
from .contracts import Constraint, Update
from .linalg import by_place, kernels
from .linalg.small import gram_solver
from .nnls import nnls_solver
from .objective import Objective
from .terms.majoriser import Block, Groups, Majoriser, by_group

__all__ = [
    "Update",
    "accelerated_gradient",
    "entrywise",
    "exact",
    "hals",
    "hals_or_exact",
    "least_squares",
    "multiplicative",
    "thorough_hals",
]

BlockUpdate = Callable[[Block, np.ndarray], None]
"""``(b, f)``: change f, a copy of rows b of a factor, in place."""


def hals(
    F: np.ndarray,
    objective: Objective,
    constraint: Constraint,
    *,
    min_sweeps: int = 1,
    max_sweeps: int = 20,
    max_renewals: int = 4,
    inner_tol: float = 0.15,
) -> np.ndarray:
    """Coordinate descent: ``f_a <- max(0, f_a - (F g_a - b_a + c_a r * f_a) / (G_aa + c_a r))``, a = 1 .. k.

    As many sweeps as cost half the pass over X that made B. Where the majoriser is not the objective itself, as with a
    penalty over a graph, it is renewed after every sweep (docs/methods.md 1.4).

    Parameters
    ----------
    F, objective, constraint
        As of every update.
    min_sweeps, max_sweeps : int, default=1, 20
        Fewest and most sweeps within one update; fewer where ``inner_tol`` is met.
    max_renewals : int, default=4
        Most majorisers within one update.
    inner_tol : float, default=0.15
        A tile of rows is done when a sweep moves it by less than this part of its first sweep.
    """
    sweeps = int(np.clip(1 + objective.fit.row_cost / (2 * F.shape[1]), min_sweeps, max_sweeps))
    if objective.exact:
        return _descend(F, objective, sweeps, inner_tol)
    objective = objective.cached()
    for _ in range(min(sweeps, max_renewals)):
        F = _descend(F, objective, 1, inner_tol)
    return F


def _descend(F: np.ndarray, objective: Objective, sweeps: int, inner_tol: float) -> np.ndarray:
    majoriser = objective.majoriser(F)

    def update(G: np.ndarray) -> BlockUpdate:
        G = kernels.padded(G)
        return lambda b, f: by_place.hals(f, majoriser.linear(b), G, sweeps, inner_tol, *majoriser.ridge(b))

    return _by_rows(F, majoriser.G, objective.groups, update)


def exact(F: np.ndarray, objective: Objective, constraint: Constraint) -> np.ndarray:
    """Non-negative least squares to the last digit (`nnls_solver`); the majoriser has no row curvature."""
    majoriser = objective.majoriser(F)

    def update(G: np.ndarray) -> BlockUpdate:
        solver = tall.in_memory(nnls_solver(G))
        return lambda b, f: solver(f, majoriser.linear(b))

    return _by_rows(F, majoriser.G, objective.groups, update)


def thorough_hals(F: np.ndarray, objective: Objective, constraint: Constraint) -> np.ndarray:
    """`hals` of 20 sweeps: on components of any sign with a ridge they save more iterations than they cost."""
    return hals(F, objective, constraint, min_sweeps=20, inner_tol=0.1)


def hals_or_exact(
    F: np.ndarray,
    objective: Objective,
    constraint: Constraint,
    *,
    max_components: int = 128,
    condition: float = 1e4,
) -> np.ndarray:
    """`hals`, or `exact` where components nearly depend on each other: there coordinate descent hardly moves.

    Components of any sign come to that easily, non-negative ones seldom. In single precision exact codes on such
    components would be rounding.

    Parameters
    ----------
    F, objective, constraint
        As of every update.
    max_components : int, default=128
        Components up to which `exact`, cubic in their number, is worth it within a fit.
    condition : float, default=1e4
        Condition number of the Gram matrix from which coordinate descent hardly moves (docs/benchmarks.md).
    """
    worthwhile = objective.exact and F.shape[1] <= max_components and F.dtype == np.float64
    if worthwhile and _condition(objective.majoriser(F).gram) > condition:
        return exact(F, objective, constraint)
    return hals(F, objective, constraint)


def _condition(G: np.ndarray) -> float:
    """Condition number of the Gram matrix of components of unit length, the largest of several; zero ones excepted."""
    if G.ndim == 3:
        return max(_condition(group) for group in G)
    length = np.sqrt(np.diag(G).astype(np.float64))
    nonzero = length > 0
    G = G[np.ix_(nonzero, nonzero)] / length[nonzero] / length[nonzero][:, None]
    w = np.linalg.eigvalsh(G) if nonzero.any() else np.ones(1)
    return float(w[-1] / max(w[0], 1e-300))


def multiplicative(F: np.ndarray, objective: Objective, constraint: Constraint, *, eta: float = 1.0) -> np.ndarray:
    """``F * (minus / plus)^eta`` with the gradient split into ``plus - minus``.

    Lee and Seung's update for eta = 1, Ding, Li and Jordan's for eta = 1/2 (Trigeorgis et al., eq. 5). Monotone for all
    0 < eta <= 1 (docs/methods.md 1.2), except for a divergence with a quadratic penalty: see `entrywise`.
    """
    split = objective.split_gradient(F)

    def update(b: Block, f: np.ndarray) -> None:
        plus, minus = split(b)
        by_place.multiply(f, np.atleast_2d(plus), minus, f.dtype.type(eta))

    return constraint.normalise(_by_rows(F, None, objective.groups, lambda _: update))


def entrywise(F: np.ndarray, objective: Objective, constraint: Constraint) -> np.ndarray:
    """The minimiser of a majoriser without a Gram matrix: ``r_i c_a f^2 - b f - f0 ratio = 0`` for each entry.

    The update of a divergence with a quadratic penalty (docs/methods.md 4.8); without one it is Lee and Seung's.
    """
    majoriser = objective.majoriser(F)
    r, weights, ratio = majoriser.row_curvature, majoriser.column_weights, majoriser.ratio
    if r is None or ratio is None:
        return multiplicative(F, objective, constraint)

    def update(b: Block, f: np.ndarray) -> None:
        c, linear, u = f * ratio(b), -majoriser.linear(b), r[b, None] * weights
        tiny = np.finfo(f.dtype).tiny
        root = np.sqrt(linear * linear + 4 * u * c)
        # Of the two forms of the positive root each cancels where the other does not.
        small, large = 2 * c / np.maximum(linear + root, tiny), (root - linear) / np.maximum(2 * u, tiny)
        f[:] = np.where(linear > 0, small, large)

    return constraint.normalise(_by_rows(F, None, objective.groups, lambda _: update))


def accelerated_gradient(F: np.ndarray, objective: Objective, constraint: Constraint) -> np.ndarray:
    """Nesterov's optimal gradient (NeNMF), restarted where it ascends; each block of rows on its own."""
    majoriser = objective.majoriser(F)

    def update(G: np.ndarray) -> BlockUpdate:
        largest = float(np.linalg.eigvalsh(G.astype(np.float64))[-1]) * (1 + 1e-6)
        if largest <= 0:
            return lambda b, f: None

        def block(b: Block, f: np.ndarray) -> None:
            rows, columns = majoriser.ridge(b)
            # With a ridge of its own for every entry steps differ in length, and distances are measured accordingly.
            ridge = f.dtype.type(0) if rows is None else rows[:, None] * columns
            f[:] = _nesterov(f, majoriser.linear(b), G, ridge, f.dtype.type(largest) + ridge, constraint)

        return block

    return _by_rows(F, majoriser.G, objective.groups, update)


def _nesterov(h: np.ndarray, B: np.ndarray, G: np.ndarray, ridge, lipschitz, constraint: Constraint) -> np.ndarray:
    """At most 1000 steps, until the projected gradient is 1e-3 of the first one."""
    y, a, first = h, 1.0, None
    for step in range(1000):
        new = constraint.project(y - (y @ G + ridge * y - B) / lipschitz)
        moved = float(np.linalg.norm((new - y) * lipschitz))  # the projected gradient at y
        first = moved if first is None else first
        if np.vdot((y - new) * lipschitz, new - h) > 0:
            a = 1.0
        a_next = (1 + np.sqrt(1 + 4 * a * a)) / 2
        y, h, a = new + h.dtype.type((a - 1) / a_next) * (new - h), new, a_next
        if step + 1 >= 10 and moved <= 1e-3 * first:
            break
    return h


def least_squares(F: np.ndarray, objective: Objective, constraint: Constraint) -> np.ndarray:
    """``B G^-1``; where G is singular the minimiser nearest to F, which is never worse than F.

    A row curvature is replaced by its largest value in the group, so that the rows share one matrix again.
    """
    majoriser = objective.majoriser(F)
    if majoriser.row_curvature is not None:
        majoriser = _one_curvature(majoriser, majoriser.row_curvature, F, objective.groups)

    def update(G: np.ndarray) -> BlockUpdate:
        solve, singular = gram_solver(G)

        @tall.in_memory
        def change(f: np.ndarray, B: np.ndarray) -> None:
            f[:] = f + solve((B - f @ G).T).T if singular else solve(B.T).T

        return lambda b, f: change(f, majoriser.linear(b))

    return _by_rows(F, majoriser.G, objective.groups, update)


def _one_curvature(majoriser: Majoriser, r: np.ndarray, F: np.ndarray, groups: Groups) -> Majoriser:
    """Return a larger majoriser that touches at the same F, with a Gram matrix per group and no row curvature r."""
    c, largest = majoriser.column_weights, tall.empty_like(r)
    grams = []
    for G, blocks in by_group(majoriser.gram, groups):
        bound = max(threads.each(lambda b: float(r[b].max(initial=0)), blocks))
        grams.append(G + np.diag(F.dtype.type(bound) * c))
        threads.each(partial(_set_rows, largest, bound), blocks)
    return Majoriser(lambda b: majoriser.linear(b) + (largest[b] - r[b])[:, None] * c * F[b], np.stack(grams))


def _set_rows(F: np.ndarray, value: float, b: Block) -> None:
    F[b] = value


def _by_rows(F: np.ndarray, G: np.ndarray | None, groups: Groups, update: Callable[[Any], BlockUpdate]) -> np.ndarray:
    """Copy F block by block and let ``update(G)``, of the group's Gram matrix, change each copy, on all threads."""
    new = tall.empty_like(F)
    for gram, blocks in by_group(G, groups):
        change = update(gram)

        def work(b: Block, change: BlockUpdate = change) -> None:
            f = F[b].copy()
            change(b, f)
            new[b] = f

        threads.each(work, blocks)
    return new

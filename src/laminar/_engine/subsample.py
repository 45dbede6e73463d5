"""Tall problems first on few of their samples: most of the way to good components at a fraction of a sweep's price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .data.matrix import Matrix
from .problem import Problem
from .solve import solve
from .updates import Update

_PER_COMPONENT, _AT_LEAST = 20, 1024  # samples that components are learned from, or
_WORTH = 8  # that part of the samples, if that is fewer
_FEWEST = 8, 256  # samples of a component and in all, or it is not worth it
_SWEEPS = 3, 5  # as many as a third of a sweep of all would pay for, within these
_CODING = 4  # updates of the codes that components are judged by


def thinned(data: Matrix, H: np.ndarray) -> tuple[Matrix, np.ndarray]:
    """As few of the samples and their codes as components can be learned from; all of them where that is not tall."""
    step = _step(H)
    return (data, H) if step == 1 else (data.every(step), H[::step])


def head_start(
    problem: Problem, factors: dict[str, np.ndarray], updates: Mapping[str, Update], *, patience: int = 0
) -> dict[str, np.ndarray]:
    """The factors with components learned on every m-th sample, where that serves the samples in between.

    Components that are good already, as those of a fitted model, are better than any of few samples: they stay.
    """
    plain = problem.chain.loss == "frobenius" and problem.penalty is None
    step = _step(factors["H"])
    if not plain or step == 1:
        return factors
    few, Z = _every(problem, step, 0), factors["Z"]
    start = {"H": factors["H"][::step].copy(), "Z": Z}
    sweeps = int(np.clip(step // 3, *_SWEEPS))
    learned = solve(few, start, updates, max_iter=sweeps, tol=1e-2, extrapolate=True, patience=patience).best["Z"]
    between = _every(problem, 4 * step, step // 2)
    codes = factors["H"][step // 2 :: 4 * step]

    def error(Z: np.ndarray) -> float:
        # Codes that were made for other components need more than one update to show what these are worth.
        term, H = between.term("H", {"H": codes, "Z": Z}), codes
        for _ in range(_CODING):
            H = updates["H"](H, term, problem.constraints["H"])
        return term.value(H)

    return {**factors, "Z": learned} if error(learned) < error(Z) else factors


def _step(H: np.ndarray) -> int:
    """How many samples there are for each that is needed; 1 where too few would be left."""
    n, k = H.shape
    few = min(n // _WORTH, max(_PER_COMPONENT * k, _AT_LEAST))
    return n // few if few >= max(_FEWEST[0] * k, _FEWEST[1]) else 1


def _every(problem: Problem, step: int, first: int) -> Problem:
    """The same problem on every step-th sample."""
    return replace(problem, chain=replace(problem.chain, data=problem.chain.data.every(step, first)))

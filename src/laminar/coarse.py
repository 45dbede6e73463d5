"""Tall problems first on few of their samples: most of the way to good components at a fraction of a sweep's price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .data import Matrix
from .problem import Problem
from .solve import solve
from .updates import Update

_PER_COMPONENT, _AT_LEAST = 20, 1024  # samples that components are learned from
_WORTH = 8  # times as many samples there must be
_SWEEPS = 5
_CODING = 4  # updates of the codes that components are judged by


def thinned(data: Matrix, H: np.ndarray) -> tuple[Matrix, np.ndarray]:
    """As few of the samples and their codes as components can be learned from; all of them where that is not tall."""
    step = _step(H)
    return (data, H) if step < _WORTH else (data.every(step), H[::step])


def head_start(
    problem: Problem, factors: dict[str, np.ndarray], updates: Mapping[str, Update], *, patience: int = 0
) -> dict[str, np.ndarray]:
    """The factors with components learned on every m-th sample, where that serves the samples in between.

    Components that are good already, as those of a fitted model, are better than any of few samples: they stay.
    """
    plain = problem.chain.loss == "frobenius" and problem.penalty is None
    step = _step(factors["H"])
    if not plain or step < _WORTH:
        return factors
    few, Z = _every(problem, step, 0), factors["Z"]
    start = {"H": factors["H"][::step].copy(), "Z": Z}
    learned = solve(few, start, updates, max_iter=_SWEEPS, tol=1e-2, extrapolate=True, patience=patience).best["Z"]
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
    """How many samples there are for each that is needed."""
    n, k = H.shape
    return n // max(_PER_COMPONENT * k, _AT_LEAST)


def _every(problem: Problem, step: int, first: int) -> Problem:
    """The same problem on every step-th sample."""
    return replace(problem, chain=replace(problem.chain, data=problem.chain.data.every(step, first)))

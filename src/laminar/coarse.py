"""Tall problems first on few of their samples: most of the way to good components at a fraction of a sweep's price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .problem import Chain, Problem
from .solve import solve
from .updates import Update

_PER_COMPONENT, _AT_LEAST = 16, 1024  # samples that components are learned from
_WORTH = 8  # times as many samples there must be
_SWEEPS = 5


def head_start(
    problem: Problem, factors: dict[str, np.ndarray], updates: Mapping[str, Update]
) -> dict[str, np.ndarray]:
    """The factors with components learned on every m-th sample, where that serves the samples in between.

    Components that are good already, as those of a fitted model, are better than any of few samples: they stay.
    """
    chain = problem.chain
    plain = type(chain) is Chain and chain.loss == "frobenius" and problem.penalty is None
    n, k = factors["H"].shape
    step = n // max(_PER_COMPONENT * k, _AT_LEAST)
    if not plain or step < _WORTH:
        return factors
    few, Z = _every(problem, step, 0), factors["Z"]
    learned = solve(
        few, {"H": factors["H"][::step].copy(), "Z": Z}, updates, max_iter=_SWEEPS, tol=1e-2, extrapolate=True
    ).best["Z"]
    between, H = _every(problem, step, step // 2), factors["H"][step // 2 :: step]

    def error(Z: np.ndarray) -> float:
        term = between.term("H", {"H": H, "Z": Z})
        return term.value(updates["H"](H, term, problem.constraints["H"]))

    return {**factors, "Z": learned} if error(learned) < error(Z) else factors


def _every(problem: Problem, step: int, first: int) -> Problem:
    """The same problem on every step-th sample."""
    return replace(problem, chain=replace(problem.chain, data=problem.chain.data.every(step, first)))

"""A start for tall data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .problem import Problem
from .solve import solve
from .updates import Update

SAMPLES_PER_COMPONENT, MIN_SAMPLES, MIN_STEP = 20, 1024, 8


def learned_on_subsample(
    problem: Problem, factors: dict[str, np.ndarray], updates: Mapping[str, Update]
) -> dict[str, np.ndarray]:
    """Replace the components of tall data by those that five sweeps over every m-th sample give."""
    n, k = factors["H"].shape
    step = n // max(SAMPLES_PER_COMPONENT * k, MIN_SAMPLES)
    if step < MIN_STEP:
        return factors
    few = replace(problem, chain=replace(problem.chain, data=problem.chain.data.every(step)))
    start = {"H": factors["H"][::step].copy(), "Z": factors["Z"]}
    return {**factors, "Z": solve(few, start, updates, max_iter=5, tol=1e-2, extrapolate=True).best["Z"]}

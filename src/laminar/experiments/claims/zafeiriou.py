"""Claims of Zafeiriou et al.: descent and slowness."""

from __future__ import annotations

import numpy as np

from laminar.datasets import make_expression_video
from laminar.recipes import zafeiriou
from laminar.temporal import slowness

from .measures import Claim, traced

PAPER = "Zafeiriou et al."


def sfnmf_rise(small: bool, seed: int) -> dict[str, float]:
    """Return the largest relative rise of the objective of SFNMF in an iteration, of weights from 0.1 to 100."""
    X = make_expression_video(size=16, random_state=seed).X
    rises = []
    for weight in (1.0,) if small else (0.1, 1.0, 10.0, 100.0):
        model = zafeiriou.sfnmf(10, weight, max_iter=50 if small else 300, tol=0, random_state=seed)
        objective = np.array(traced(model, X).objective)
        rises.append(float((np.diff(objective) / np.abs(objective[:-1])).max()))
    return {"value": max(0.0, *rises)}


def sfnmf_slowness(small: bool, seed: int) -> dict[str, float]:
    """Return the delta value of the slowest feature of SFNMF, by that of NMF."""
    X = make_expression_video(size=16, random_state=seed).X
    k, limits = (5, {"max_iter": 100}) if small else (20, {"max_iter": 1000})
    fits = (zafeiriou.sfnmf(k, 1.0, random_state=seed, **limits), zafeiriou.nmf(k, random_state=seed, **limits))
    found = []
    for model in fits:
        fitted = model.fit(X)
        found.append(np.nanmin(slowness(fitted.layers_[0].representation, components=fitted.components_)))
    return {"value": float(found[0] / found[1])}


CLAIMS = (
    Claim(
        PAPER,
        "the multiplicative rules minimise the objective",
        sfnmf_rise,
        "is the largest relative rise",
        1e-9,
        1e-4,
        at_most=True,
    ),
    Claim(
        PAPER,
        "features of SFNMF vary more slowly than those of NMF",
        sfnmf_slowness,
        "times the delta value of NMF",
        0.8,
        1,
        at_most=True,
    ),
)

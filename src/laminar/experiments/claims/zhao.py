"""Claims of Zhao et al.: weights of views, sizes of layers, neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminar.datasets import make_lowrank
from laminar.metrics import normalized_mutual_information
from laminar.recipes import zhao

from ..data import views
from .measures import Claim, order, traced

PAPER = "Zhao et al."
SEVERAL = "yale_mv_small"


def _weights(small: bool, seed: int, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the views as published, and their shares of the squared error."""
    data, y, _ = views(SEVERAL, small)
    layers = (20, 10) if small else (50, 25)
    limits = {"pretraining_max_iter": 20, "max_iter": 20} if small else {}
    model = zhao.dmf_mvc(len(np.unique(y)), layers, gamma=gamma, random_state=seed, **limits).fit(data)
    H, parts = model.layers_[-1].representation, np.cumsum(model.view_sizes_)[:-1]
    errors = []
    for view, Z in zip(data, np.split(model.components_, parts, axis=1), strict=True):
        unit = view / np.linalg.norm(view, axis=1, keepdims=True)
        errors.append(float(((unit - H @ Z) ** 2).sum()))
    return model.weights_, np.array(errors) / sum(errors)


def weights_of_large_gamma(small: bool, seed: int) -> dict[str, float]:
    """Return the largest weight less the smallest, for gamma 100."""
    return {"value": float(np.ptp(_weights(small, seed, 100.0)[0]))}


def weights_near_one(small: bool, seed: int) -> dict[str, float]:
    """Return the weight of the view of least error, for gamma 1.01."""
    weights, errors = _weights(small, seed, 1.01)
    return {"value": float(weights[errors.argmin()])}


def weights_of_half(small: bool, seed: int) -> dict[str, float]:
    """Return the weight of the view of least error, by that of the view of largest error, for gamma 0.5."""
    weights, errors = _weights(small, seed, 0.5)
    return {"value": float(weights[errors.argmin()] / weights[errors.argmax()])}


def _nmi(small: bool, seed: int, layers: tuple[int, int], **settings: Any) -> float:
    data, y, _ = views(SEVERAL, small)
    limits = {"pretraining_max_iter": 20, "max_iter": 20} if small else {}
    model = zhao.dmf_mvc(len(np.unique(y)), layers, random_state=seed, **limits, **settings)
    return float(normalized_mutual_information(y, model.fit_predict(data)))


def last_layer(small: bool, seed: int) -> dict[str, float]:
    """Return how much NMI changes with the last layer, by how much with the first."""
    small_sizes, first, both = ((20, 10), (40, 10), (40, 20)) if small else ((50, 25), (100, 25), (100, 50))
    seeds = (seed,) if small else range(3 * seed, 3 * seed + 3)
    few, one, other = (float(np.mean([_nmi(small, s, at) for s in seeds])) for at in (small_sizes, first, both))
    return {"value": float(abs(other - one) / max(abs(one - few), 1e-3))}


def five_neighbours(small: bool, seed: int) -> dict[str, float]:
    """Return the NMI of five neighbours less the best of 3, 7, 10 and 15."""
    layers = (20, 10) if small else (50, 25)
    others = (3, 10) if small else (3, 7, 10, 15)
    best = max(_nmi(small, seed, layers, n_neighbors=n) for n in others)
    return {"value": _nmi(small, seed, layers, n_neighbors=5) - best}


def hundred_of_dmf(small: bool, seed: int) -> dict[str, float]:
    """Return by how many per cent the objective of DMF-MVC after 100 iterations differs from that after 500."""
    data, y, _ = views(SEVERAL, small)
    few, many = (10, 50) if small else (100, 500)
    layers = (20, 10) if small else (50, 25)
    model = zhao.dmf_mvc(len(np.unique(y)), layers, max_iter=many, tol=0, random_state=seed)
    if small:
        model.set_params(pretraining_max_iter=20)
    objective = np.array(traced(model, data).objective)
    return {"value": 100 * float(abs(objective[min(few, len(objective)) - 1] / objective[-1] - 1))}


def order_of_dmf(small: bool, seed: int) -> dict[str, float]:
    """Return the order of an iteration of fine-tuning of DMF-MVC in the number of samples n."""
    n = 150 if small else 1000

    def data(size: int) -> tuple:
        found = make_lowrank(n * size, 300, 10, random_state=seed)
        return ([found.X[:, :150], found.X[:, 150:]],)

    return order(
        lambda s: zhao.dmf_mvc(10, (30, 10), max_iter=6, pretraining_max_iter=2, tol=0, random_state=seed), data, small
    )


CLAIMS = (
    Claim(
        PAPER,
        "gamma towards infinity gives equal weights",
        weights_of_large_gamma,
        "between the weights, gamma = 100",
        0.02,
        0.1,
        at_most=True,
    ),
    Claim(
        PAPER,
        "gamma near 1 gives all weight to the view of least error",
        weights_near_one,
        "is its weight, gamma = 1.01",
        0.95,
        0.5,
    ),
    Claim(
        PAPER,
        "weights by eq. 15 minimise eq. 3, with gamma = 0.5 as used",
        weights_of_half,
        "is the weight of the best view over that of the worst",
        1,
        0.9,
    ),
    Claim(
        PAPER,
        "the last layer matters more than the others",
        last_layer,
        "times the change of NMI with the first layer",
        1.5,
        1,
    ),
    Claim(
        PAPER,
        "five neighbours usually achieve good results",
        five_neighbours,
        "is the NMI of 5 less the best of 3, 7, 10, 15",
        -0.02,
        -0.05,
    ),
    Claim(
        PAPER,
        "the objective converges after around 100 iterations",
        hundred_of_dmf,
        "% from the objective after 500",
        1,
        5,
        at_most=True,
    ),
    Claim(
        PAPER,
        "a step of fine-tuning is O(d n^2), quadratic in n",
        order_of_dmf,
        "is the measured order in n",
        1.75,
        1.4,
        seeds=1,
    ),
)

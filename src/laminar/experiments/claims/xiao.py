"""Claims of Xiao et al.: one label a class, stability, speed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from laminar import NMF, ClassDrivenNMF, ConstrainedNMF
from laminar.datasets import make_lowrank, partial_labels
from laminar.recipes import xiao

from ..data import images
from ..xiao.parameters import GRID, scores_at_weight
from .measures import REPEATS, Claim, order, reached, seconds_an_iteration, traced

PAPER = "Xiao et al."
FACES, YALE = "orl", "yale"


def one_label_difference(small: bool, seed: int, model: Any) -> float:
    """Return the relative difference of H Z from that of NMF, with one label a class and the same start."""
    data = images(YALE, small)
    y, X = data.attributes["identity"], data.X
    k, rng = len(np.unique(y)), np.random.default_rng(seed)
    given = partial_labels(y, 0.0, 1, random_state=seed)
    start = (rng.uniform(0.1, 1, (len(X), k)), rng.uniform(0.1, 1, (k, X.shape[1])))
    settings = {"rule": "published", "init": start, "max_iter": 100, "tol": 0}
    plain = NMF(k, **settings).fit(X)
    other = clone(model).set_params(n_components=k, **settings).fit(X, given)
    products = [fitted.layers_[0].representation @ fitted.components_ for fitted in (plain, other)]
    return float(np.linalg.norm(products[1] - products[0]) / np.linalg.norm(products[0]))


def cnmf_of_one_label(small: bool, seed: int) -> dict[str, float]:
    """Compare CNMF with NMF."""
    return {"value": one_label_difference(small, seed, ConstrainedNMF(2))}


def cdnmf_of_one_label(small: bool, seed: int) -> dict[str, float]:
    """Compare cdNMF_F with NMF."""
    return {"value": one_label_difference(small, seed, ClassDrivenNMF(2, alpha=1.0))}


def cdnmf_range(small: bool, seed: int, model: Any) -> dict[str, float]:
    """Return the range of accuracies over weights from 0.01 to 100, means of draws of five classes of Yale."""
    draws, n_classes = (1, 2) if small else (5, 5)
    model = model(n_classes, max_iter=50 if small else 200)
    means = [
        np.mean(
            [
                scores_at_weight(YALE, small, model, weight, n_classes, draws * seed + i, 10)["accuracy"]
                for i in range(draws)
            ]
        )
        for weight in GRID
    ]
    return {"value": float(np.ptp(means))}


def cdnmf_f_range(small: bool, seed: int) -> dict[str, float]:
    """Return the range of accuracies of cdNMF_F."""
    return cdnmf_range(small, seed, xiao.cdnmf_f)


def cdnmf_kl_range(small: bool, seed: int) -> dict[str, float]:
    """Return the range of accuracies of cdNMF_KL."""
    return cdnmf_range(small, seed, xiao.cdnmf_kl)


def cdnmf_step(small: bool, seed: int) -> dict[str, float]:
    """Time an iteration of cdNMF_F, by one of NMF."""
    data = images(FACES, small)
    given = partial_labels(data.attributes["identity"], 0.1, random_state=seed)
    k, limits = len(np.unique(given[given >= 0])), {"max_iter": 20, "random_state": seed}
    fits = [(xiao.nmf(k, **limits), (data.X,)), (xiao.cdnmf_f(k, **limits), (data.X, given))]
    plain, driven = seconds_an_iteration(fits, 2 if small else REPEATS)
    return {"value": driven / plain}


def cdnmf_iterations(small: bool, seed: int) -> dict[str, float]:
    """Count iterations of cdNMF_F to within 1 % of its last objective, by those of NMF."""
    data = images(YALE, small)
    given = partial_labels(data.attributes["identity"], 0.1, random_state=seed)
    k, limits = len(np.unique(given[given >= 0])), {"max_iter": 100 if small else 1000, "random_state": seed}
    plain, driven = traced(xiao.nmf(k, **limits), data.X), traced(xiao.cdnmf_f(k, **limits), data.X, given)
    return {"value": reached(driven, driven)[0] / reached(plain, plain)[0]}


def similar_codes(small: bool, seed: int) -> dict[str, float]:
    """Return the share of the variance of codes inside classes, of cdNMF_KL by that of NMF, of images without label."""
    data = images(YALE, small)
    y = data.attributes["identity"]
    given = partial_labels(y, 0.1, 2, random_state=seed)
    k, shares = len(np.unique(y)), []
    for fitted in (
        xiao.nmf(k, random_state=seed).fit(data.X),
        xiao.cdnmf_kl(k, random_state=seed).fit(data.X, given),
    ):
        H, hidden = fitted.layers_[0].representation[given < 0], y[given < 0]
        H = H / H.std(axis=0)
        inside = sum(((H[hidden == a] - H[hidden == a].mean(axis=0)) ** 2).sum() for a in np.unique(hidden))
        shares.append(inside / ((H - H.mean(axis=0)) ** 2).sum())
    return {"value": float(shares[1] / shares[0])}


def order_of_cnmf_kl(small: bool, seed: int) -> dict[str, float]:
    """Return the order of an iteration of CNMF_KL in the number of samples n."""
    n = 200 if small else 4000

    def data(size: int) -> tuple:
        found = make_lowrank(n * size, 100, 10, random_state=seed)
        return found.X, partial_labels(found.H.argmax(axis=1), 0.1, random_state=seed)

    return order(lambda s: xiao.cnmf_kl(10, max_iter=6, random_state=seed), data, small)


CLAIMS = (
    Claim(
        PAPER,
        "with one label a class CNMF is NMF",
        cnmf_of_one_label,
        "is the relative difference of H Z",
        1e-8,
        1e-3,
        at_most=True,
    ),
    Claim(
        PAPER,
        "with one label a class cdNMF is not NMF",
        cdnmf_of_one_label,
        "is the relative difference of H Z",
        1e-6,
        1e-8,
    ),
    Claim(
        PAPER,
        "cdNMF_F is stable in lambda from 0.01 to 100",
        cdnmf_f_range,
        "points of accuracy between weights",
        5,
        10,
        at_most=True,
    ),
    Claim(
        PAPER,
        "cdNMF_KL is stable in gamma from 0.01 to 100",
        cdnmf_kl_range,
        "points of accuracy between weights",
        5,
        10,
        at_most=True,
    ),
    Claim(
        PAPER,
        "a step of cdNMF_F costs as much as one of NMF",
        cdnmf_step,
        "times the seconds of NMF",
        1.2,
        1.5,
        at_most=True,
        seeds=1,
    ),
    Claim(
        PAPER,
        "cdNMF_F converges as fast as NMF",
        cdnmf_iterations,
        "times the iterations of NMF",
        1.2,
        1.5,
        at_most=True,
    ),
    Claim(
        PAPER,
        "samples of one class get similar codes",
        similar_codes,
        "times the share of variance inside classes of NMF",
        0.9,
        1,
        at_most=True,
    ),
    Claim(
        PAPER,
        "CNMF_KL costs O(n (m + n)), quadratic in n",
        order_of_cnmf_kl,
        "is the measured order in n",
        1.75,
        1.4,
        seeds=1,
    ),
)

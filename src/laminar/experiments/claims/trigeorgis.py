"""Claims of Trigeorgis et al.: starts, pre-training, non-linearity, batches, orders."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone

from laminar import DeepSemiNMF, SemiNMF
from laminar.datasets import make_lowrank
from laminar.recipes import trigeorgis

from ..data import Images, images
from .measures import REPEATS, Claim, order, reached, traced

PAPER = "Trigeorgis et al."
FACES = "orl"


def _faces(small: bool) -> Images:
    return images(FACES, small)


def _sizes(small: bool) -> tuple[int, int]:
    """Return the sizes of two layers, both below the number of samples."""
    return (40, 10) if small else (200, 40)


def pretraining_time(small: bool, seed: int) -> dict[str, float]:
    """Time Algorithm 1 with pre-training, 100 iterations a layer, and without, to within 1 % of what both reach."""
    X, (first, k) = _faces(small).unit, _sizes(small)
    limits = {"max_iter": 50 if small else 500, "pretraining_max_iter": 20 if small else 100}
    model = trigeorgis.deep_semi_nmf(k, first, random_state=seed, **limits)
    begun = traced(model, X)
    fresh = traced(clone(model).set_params(pretraining=None, pretraining_max_iter=None, init="random"), X)
    one, other = reached(begun, fresh)
    return {"value": fresh.seconds[other - 1] / begun.seconds[one - 1]}


def start_iterations(small: bool, seed: int, init: str) -> dict[str, float]:
    """Count iterations of Semi-NMF from a start, by those from the SVD."""
    X, k = _faces(small).unit, _sizes(small)[1]
    model = trigeorgis.semi_nmf(k, max_iter=50 if small else 500, random_state=seed)
    one, other = reached(traced(model, X), traced(clone(model).set_params(init=init), X))
    return {"value": other / one}


def svd_against_kmeans(small: bool, seed: int) -> dict[str, float]:
    """Count iterations of Semi-NMF from k-means, by those from the SVD."""
    return start_iterations(small, seed, "kmeans")


def svd_against_random(small: bool, seed: int) -> dict[str, float]:
    """Count iterations of Semi-NMF from random codes, by those from the SVD."""
    return start_iterations(small, seed, "random")


def nndsvd_against_random(small: bool, seed: int) -> dict[str, float]:
    """Count iterations of NMF from random factors, by those from NNDSVD."""
    X, k = _faces(small).unit, _sizes(small)[1]
    model = trigeorgis.nmf_mul(k, max_iter=50 if small else 500, random_state=seed)
    one, other = reached(traced(model, X), traced(clone(model).set_params(init="random"), X))
    return {"value": other / one}


def kmeans_start_time(small: bool, seed: int) -> dict[str, float]:
    """Time the first iteration of Semi-NMF of 150 components from k-means, by that from the SVD."""
    X, k = _faces(small).unit, 30 if small else 150
    taken: dict[str, list[float]] = {"kmeans": [], "svd": []}
    for _ in range(1 if small else REPEATS):
        for init, found in taken.items():
            begin = time.perf_counter()
            SemiNMF(k, rule="published", init=init, max_iter=1, tol=0, random_state=seed).fit(X)
            found.append(time.perf_counter() - begin)
    return {"value": float(np.median(taken["kmeans"]) / np.median(taken["svd"]))}


def hundred_iterations(model: Any, X: np.ndarray, small: bool) -> dict[str, float]:
    """Return by how many per cent the error after 100 iterations is above that after 1000."""
    few, many = (10, 100) if small else (100, 1000)
    objective = np.array(traced(clone(model).set_params(max_iter=many, tol=0), X).objective)
    return {"value": 100 * float(np.sqrt(objective[min(few, len(objective)) - 1] / objective[-1]) - 1)}


def hundred_of_semi_nmf(small: bool, seed: int) -> dict[str, float]:
    """Compare errors of Semi-NMF after 100 and 1000 iterations."""
    return hundred_iterations(trigeorgis.semi_nmf(_sizes(small)[1], random_state=seed), _faces(small).unit, small)


def hundred_of_nmf(small: bool, seed: int) -> dict[str, float]:
    """Compare errors of NMF after 100 and 1000 iterations."""
    return hundred_iterations(trigeorgis.nmf_mul(_sizes(small)[1], random_state=seed), _faces(small).unit, small)


def _error(model: Any, X: np.ndarray) -> float:
    return float(model.fit(X).reconstruction_err_)


def nonlinear_error(small: bool, seed: int) -> dict[str, float]:
    """Return the error of Deep Semi-NMF with stanh, by that of the linear model."""
    X, (first, k) = _faces(small).unit, _sizes(small)
    limits = {"max_iter": 30 if small else 300, "random_state": seed}
    linear = DeepSemiNMF((first, k), **limits)
    return {"value": _error(clone(linear).set_params(activation="stanh"), X) / _error(linear, X)}


def batch_error(small: bool, seed: int) -> dict[str, float]:
    """Return the error of Deep Semi-NMF with stanh by Adam in batches of 32, by that of all samples at once."""
    X, (first, k) = _faces(small).unit, _sizes(small)
    model = DeepSemiNMF((first, k), activation="stanh", max_iter=20 if small else 200, random_state=seed)
    return {"value": _error(clone(model).set_params(solver="adam", batch_size=32), X) / _error(model, X)}


def linear_batch_error(small: bool, seed: int) -> dict[str, float]:
    """Return the error of linear Deep Semi-NMF in batches of 32, by that of all samples at once."""
    X, (first, k) = _faces(small).unit, _sizes(small)
    model = DeepSemiNMF((first, k), max_iter=20 if small else 200, random_state=seed)
    return {"value": _error(clone(model).set_params(batch_size=32), X) / _error(model, X)}


def transfer_iterations(small: bool, seed: int) -> dict[str, float]:
    """Count iterations of Deep Semi-NMF of people, by those from layers of labelled other people."""
    data = _faces(small)
    people = data.attributes["identity"]
    others = people < np.median(people)
    X, auxiliary = data.unit[~others], data.unit[others]
    first, k = (20, 8) if small else (100, 40)
    model = trigeorgis.deep_semi_nmf(k, first, max_iter=50 if small else 500, random_state=seed)
    limits = {"max_iter": 50 if small else 300, "pretraining_max_iter": 20 if small else 100}
    source = trigeorgis.deep_wsf((first, k), attribute_layers=[1], alphas=0.01, random_state=seed, **limits)
    source.fit(auxiliary, people[others])
    begun = traced(clone(model).set_params(pretraining_max_iter=None, init="auto"), X, init=source)
    own = traced(model, X)
    one, other = reached(begun, own)
    return {"value": other / one}


def _semi(k: int, seed: int = 0) -> SemiNMF:
    return SemiNMF(k, rule="published", init="random", max_iter=6, tol=0, random_state=seed)


def order_in_samples(small: bool, seed: int) -> dict[str, float]:
    """Return the order of an iteration of Semi-NMF in the number of samples n."""
    n = 200 if small else 8000
    return order(lambda s: _semi(20, seed), lambda s: (make_lowrank(n * s, 100, 20, random_state=seed).X,), small)


def order_in_features(small: bool, seed: int) -> dict[str, float]:
    """Return the order of an iteration of Semi-NMF in the number of features p."""
    p = 100 if small else 2000
    return order(lambda s: _semi(20, seed), lambda s: (make_lowrank(500, p * s, 20, random_state=seed).X,), small)


def order_in_components(small: bool, seed: int) -> dict[str, float]:
    """Return the order of an iteration of Semi-NMF in the number of components k."""
    X = make_lowrank(400 if small else 4000, 400, 20, random_state=seed).X
    return order(lambda s: _semi(20 * s, seed), lambda s: (X,), small)


CLAIMS = (
    Claim(PAPER, "pre-training greatly improves the training time", pretraining_time, "times as long without it", 2, 1),
    Claim(
        PAPER,
        "Semi-NMF converges a lot sooner from the SVD than from k-means",
        svd_against_kmeans,
        "times the iterations from k-means",
        2,
        1,
    ),
    Claim(
        PAPER, "the same, than from random codes", svd_against_random, "times the iterations from random codes", 2, 1
    ),
    Claim(
        PAPER,
        "k-means is a heavy start for k > 100",
        kmeans_start_time,
        "times as long as the SVD, k = 150",
        2,
        1,
        seeds=1,
    ),
    Claim(PAPER, "NNDSVD speeds up NMF", nndsvd_against_random, "times the iterations from random factors", 2, 1),
    Claim(
        PAPER,
        "usually about 100 iterations are enough: Semi-NMF",
        hundred_of_semi_nmf,
        "% above the error after 1000",
        1,
        5,
        at_most=True,
    ),
    Claim(PAPER, "the same: NMF", hundred_of_nmf, "% above the error after 1000", 1, 5, at_most=True),
    Claim(
        PAPER,
        "a non-linearity gives a better reconstruction",
        nonlinear_error,
        "times the error of the linear model",
        0.98,
        1.02,
        at_most=True,
    ),
    Claim(
        PAPER,
        "batches of 32 samples work well: linear",
        linear_batch_error,
        "times the error of all samples at once",
        1.05,
        1.2,
        at_most=True,
    ),
    Claim(
        PAPER,
        "the same: with stanh, by Adam",
        batch_error,
        "times the error of all samples at once",
        1.05,
        1.2,
        at_most=True,
    ),
    Claim(
        PAPER,
        "supervised pre-training on other people speeds up learning",
        transfer_iterations,
        "times the iterations of fine-tuning without it",
        1.5,
        1,
    ),
    Claim(
        PAPER,
        "time is quadratic in the number of samples n",
        order_in_samples,
        "is the measured order in n",
        1.75,
        1.4,
        seeds=1,
    ),
    Claim(
        PAPER,
        "time is quadratic in the number of features p (k p^2)",
        order_in_features,
        "is the measured order in p",
        1.75,
        1.4,
        seeds=1,
    ),
    Claim(
        PAPER,
        "time is at most quadratic in the number of components k",
        order_in_components,
        "is the measured order in k",
        2,
        2.2,
        at_most=True,
        seeds=1,
    ),
)

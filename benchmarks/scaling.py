"""Cost against the number of samples, in time and in memory."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from laminar import NMF, SemiNMF

from . import sets
from .harness import Row, seconds

P, K, SWEEPS = 256, 32, 10


def _fit(model, X, n: int):
    rng = np.random.default_rng(0)
    return _fit_from(model, X, (rng.random((n, K)), rng.random((K, P))))


def _fit_from(model, X, start):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model(K, init=start, max_iter=SWEEPS, tol=0).fit(X)


def _peak(model, X) -> int:
    """Most bytes a fit allocates beyond X, the caller's start and the factors it returns."""
    rng = np.random.default_rng(0)
    start = rng.random((len(X), K)), rng.random((K, P))
    tracemalloc.start()
    fitted = _fit_from(model, X, start)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - fitted.layers_[0].representation.nbytes - fitted.components_.nbytes


def rows_scaling() -> Iterator[Row]:
    X = sets.tall(320_000, P, K)
    for model in (SemiNMF, NMF):
        ratios, note = [], ""
        for _ in range(5):
            small, _ = seconds(lambda: [_fit(model, X[:10_000], 10_000) for _ in range(8)])
            large, _ = seconds(lambda: _fit(model, X, 320_000))
            ratios.append((large / 320_000) / (small / 80_000))
            note = f"{1e6 * large / 320_000 / SWEEPS:.2f} us a sample and sweep"
        work = f"{model.__name__} time a sample, n = 320 000 against 10 000"
        yield Row(work, "itself", float(np.median(ratios)), 1.3, note, at_most=True)
    for model in (SemiNMF, NMF):
        # By the difference of two sizes: what the threads work in does not grow with the data.
        large, small = _peak(model, X), _peak(model, X[: len(X) // 2])
        copies = (large - small) / (len(X) // 2 * K * X.itemsize)
        work = f"{model.__name__} peak memory beyond X and the factors, per sample"
        yield Row(work, "k floats", copies, 2.0, f"{large / 1e6:.0f} MB at n = {len(X)}", at_most=True)

"""The coordinate descent kernel against a matrix product of the same number of operations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from laminar._engine.linalg import kernels
from laminar._utils import threads

from .harness import Row, rate

SWEEPS = 4


def _setting(n: int, k: int):
    rng = np.random.default_rng(0)
    Z = rng.random((k, 2 * k))
    G = Z @ Z.T
    H = rng.random((n, k))
    return H, rng.random((n, k)) @ G, G


def _hals(H: np.ndarray, B: np.ndarray, G: np.ndarray) -> None:
    rows, G = threads.blocks(len(H), max(256, 32768 // H.shape[1])), kernels.padded(G)
    threads.each(lambda b: kernels.hals(H[b], B[b], G, SWEEPS, 0.0), rows)


def rows_kernels() -> Iterator[Row]:
    for n, k, target in ((50000, 64, 0.45), (2856, 625, 0.60)):
        H, B, G = _setting(n, k)
        out = np.empty_like(H)
        flops = 2.0 * n * k * k * SWEEPS
        share, double = [], []
        for _ in range(5):
            with threadpool_limits(1):
                product = rate(lambda: [np.matmul(H, G, out=out) for _ in range(SWEEPS)], 5)
                one = rate(lambda: _hals(H, B, G), 5)
            with threads.own_threads() as width:
                two = rate(lambda: _hals(H, B, G), 5)
            share.append(product / one)
            double.append(one / two)
        note = f"{flops / one / 1e9:.0f} GFLOP/s, dgemm {flops / product / 1e9:.0f}"
        work = f"HALS kernel ({n}, {k}), {SWEEPS} sweeps, one thread"
        yield Row(work, "dgemm, same flops", float(np.median(share)), target, note)
        yield Row(f"the same, {width} threads", "one thread", float(np.median(double)), 1.7)

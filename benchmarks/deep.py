"""Layers: against the published algorithm, by depth, and from a stream."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from laminar import DeepSemiNMF, SemiNMF

from . import opponents, sets
from .harness import Row, median_ratio, seconds, spread
from .models import reach

LAYERS = (625, 40)
DEPTHS = [(625, 40), (625, 200, 40), (625, 400, 200, 100, 40)]


def published(X: np.ndarray, layers: Sequence[int], pretraining: Sequence[int], fine_tuning: int, seed: int = 0):
    """Algorithm 1 of Trigeorgis et al. as printed: pseudo-inverses of everything, and the residual for the error.

    Returns the error ``||X - H_m Z_m ... Z_1||`` after the last sweep, a real one.
    """
    rng, below, H, Z = np.random.default_rng(seed), X, [], []
    for k, n_iter in zip(layers, pretraining, strict=True):
        codes, weights, _ = opponents.published_naive(below, rng.random((len(X), k)), n_iter)
        H.append(codes)
        Z.append(weights)
        below = codes
    for _ in range(fine_tuning):
        basis = None
        for i in range(len(Z)):
            Z[i] = np.linalg.pinv(reduce(np.matmul, Z[:i:-1], H[-1])) @ X
            if basis is not None:
                Z[i] = Z[i] @ np.linalg.pinv(basis)
            basis = Z[i] if basis is None else Z[i] @ basis
            (bp, bm), (gp, gm) = (opponents._parts(A) for A in (X @ basis.T, basis @ basis.T))
            H[i] = H[i] * np.sqrt((bp + H[i] @ gm) / (bm + H[i] @ gp + 1e-10))
        error = np.linalg.norm(X - H[-1] @ basis)
    return float(error)


def race(
    X: np.ndarray, layers: Sequence[int], pretraining: Sequence[int], fine_tuning: int, work: str, targets: dict
) -> Iterator[Row]:
    """Theirs once, in double precision, for it takes minutes; then ours to the same error, in turns."""
    theirs, error = seconds(lambda: published(X, layers, pretraining, fine_tuning))
    pairs: dict[str, list] = {name: [] for name in targets}
    for seed in range(5):
        for name, data in zip(targets, (X, X.astype(np.float32)), strict=True):
            model = DeepSemiNMF(layers, random_state=seed)
            pairs[name].append((theirs, reach(model, data, error**2 / 2)))
    for name, target in targets.items():
        note = f"{spread(pairs[name])}; theirs once {theirs:.0f} s, error {error:.6g}"
        yield Row(f"DeepSemiNMF {work}", f"published, {name}", median_ratio(pairs[name]), target, note)


def sweep(model, X: np.ndarray) -> float:
    """Median seconds of a sweep of fine-tuning."""
    times: list[float] = []
    model.set_params(
        callback=lambda state: times.append(time.perf_counter()) if state.stage == "fit" else None, tol=0, max_iter=40
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds(lambda: model.fit(X))
    return float(np.median(np.diff(times)))


def by_depth(X: np.ndarray, depths: Sequence[Sequence[int]], work: str) -> Iterator[Row]:
    """A sweep of all layers against one of Semi-NMF of the size of the top."""
    ratios: dict[Sequence[int], list[float]] = {layers: [] for layers in depths}
    own = []
    for _ in range(3):
        for layers in depths:
            own.append(sweep(SemiNMF(layers[-1]), X))
            ratios[layers].append(sweep(DeepSemiNMF(layers), X) / own[-1])
    for layers, found in ratios.items():
        note = f"{min(found):.3g} .. {max(found):.3g} of {len(found)}; SemiNMF {1e3 * np.median(own):.3g} ms"
        name = f"sweep of {'-'.join(map(str, layers))}, {work}"
        yield Row(name, f"sweep of SemiNMF {layers[-1]}", float(np.median(found)), 1.3, note, at_most=True)


def _peak() -> float:
    """Most megabytes this process has held. Not ``ru_maxrss``: a child begins with that of its parent."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def stream(n: int, p: int, layers: Sequence[int], batch: int) -> tuple[float, float, float]:
    """Learn n samples that are made a batch at a time; megabytes beyond one batch, of all the process, and seconds."""
    rng = np.random.default_rng(0)
    parts = rng.gamma(1.0, size=(layers[-1], p)).astype(np.float32)

    def draw() -> np.ndarray:
        X = rng.standard_normal((batch, p), dtype=np.float32)
        X *= 0.1
        X += rng.standard_gamma(0.5, (batch, layers[-1]), dtype=np.float32) @ parts
        return X

    model = DeepSemiNMF(layers, random_state=0)
    X, before, began = draw(), _peak(), time.perf_counter()  # one batch is there already
    for _ in range(n // batch):
        del X
        X = draw()
        model.partial_fit(X)
    return _peak() - before, _peak(), time.perf_counter() - began


def streamed(n: int, p: int, layers: Sequence[int], batch: int, limit: float) -> Row:
    """In a process of its own, whose peak is that of the stream."""
    work = f"partial_fit of {n} x {p} float32 through {'-'.join(map(str, layers))}, megabytes beyond one batch"
    if not Path("/proc/self/status").exists():
        return Row(work, "a limit", float("nan"), note="needs Linux")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        beyond, whole, took = pool.submit(stream, n, p, layers, batch).result()
    note = f"batches of {batch}, {batch * p * 4 / 1e6:.0f} MB each; whole process {whole:.0f} MB; {took:.0f} s"
    return Row(work, "a limit", beyond, limit, note, at_most=True)


def rows_deep() -> Iterator[Row]:
    X, _, label = sets.faces("pie_pose27")
    work = f"{label} {X.shape[0]} x {X.shape[1]}"
    whole = [seconds(lambda: DeepSemiNMF(LAYERS, random_state=seed).fit(X))[0] for seed in range(3)]
    note = f"{min(whole):.3g} .. {max(whole):.3g} of {len(whole)}"
    yield Row(
        f"DeepSemiNMF() {work}, seconds of a default fit", "a limit", float(np.median(whole)), 5, note, at_most=True
    )
    yield from by_depth(X, DEPTHS, work)
    yield streamed(1_000_000, 256, (64, 8), 10_000, 500)
    targets = {"naive": 200, "naive, float32": 400}
    yield from race(X, LAYERS, (60, 100), 100, f"625-40, {work}, 60 + 100 + 100 it.", targets)

"""Time to an equal objective, from the same start."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from laminar import NMF, SemiNMF

from . import opponents, sets
from .harness import Race, Row, median_ratio, seconds, spread


def until(model, target: float):
    """Make a model stop as soon as its objective is at most ``target`` (already beaten: after one sweep)."""
    return model.set_params(callback=lambda state: _fitting(state) and state.objective <= target, tol=0, max_iter=2000)


def _fitting(state) -> bool:
    return state.stage == "fit"


def reach(model, X, target: float) -> Race:
    """Time from the call of ``fit`` to the sweep that reaches ``target``, and to the end of the call.

    The first includes validation and all set-up; after it come only exact codes and attributes.
    """
    arrived = float("inf")

    def watch(state) -> bool:
        nonlocal arrived
        if _fitting(state) and state.objective <= target * (1 + 1e-6):
            arrived = min(arrived, time.perf_counter())
        return _fitting(state) and state.objective <= target

    model.set_params(callback=watch, tol=0, max_iter=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole, _ = seconds(lambda: model.fit(X))
    return Race(arrived - (time.perf_counter() - whole), whole)


def squared(X, H, Z) -> float:
    """``1/2 ||X - H Z||^2`` in double precision."""
    H, Z = H.astype(np.float64), Z.astype(np.float64)
    norm = X.multiply(X).sum() if sp.issparse(X) else np.einsum("ij,ij->", X, X, dtype=np.float64)
    return float(norm - 2 * np.vdot(H.T @ X, Z) + np.vdot(H.T @ H, Z @ Z.T)) / 2


def divergence(X, H, Z) -> float:
    """Generalised Kullback-Leibler divergence."""
    if sp.issparse(X):
        X = X.tocoo()
        x, y = X.data, np.einsum("ij,ij->i", H[X.row], Z.T[X.col])
        return float((x * np.log(x / y) - x).sum() + H.sum(0) @ Z.sum(1))
    X, Y = X.astype(np.float64), H.astype(np.float64) @ Z
    return float((X * np.log(np.where(X > 0, X, 1) / np.where(X > 0, Y, 1)) - X + Y).sum())


def start(X, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The usual random start, scaled to the data."""
    rng = np.random.default_rng(seed)
    scale = np.sqrt(X.mean() / k)
    return tuple((rng.random(shape) * scale).astype(X.dtype) for shape in ((X.shape[0], k), (k, X.shape[1])))


def semi(X: np.ndarray, k: int, n_iter: int, work: str, targets: dict, repeats: int = 5) -> list[Row]:
    """Published Semi-NMF in double precision, naive and by Grams, against ours in both precisions."""
    pairs: dict[str, list] = {name: [] for name in ("naive", "Grams", "naive, float32", "naive, both float32")}
    single = X.astype(np.float32)
    for seed in range(repeats):
        H = np.random.default_rng(seed).random((len(X), k))
        naive, (*_, error) = seconds(lambda: opponents.published_naive(X, H, n_iter))
        ours = reach(SemiNMF(k, init=(H, None)), X, error**2 / 2)
        ours32 = reach(SemiNMF(k, init=(H, None)), single, error**2 / 2)
        pairs["naive"].append((naive, ours))
        pairs["naive, float32"].append((naive, ours32))
        if "Grams" in targets:
            grams, _ = seconds(lambda: opponents.published_grams(X, H, n_iter))
            pairs["Grams"].append((grams, ours))
        if "naive, both float32" in targets:
            naive32, _ = seconds(lambda: opponents.published_naive(single, H.astype(np.float32), n_iter))
            pairs["naive, both float32"].append((naive32, ours32))
    return [
        Row(f"SemiNMF {work}", f"published, {name}", median_ratio(pairs[name]), target, spread(pairs[name]))
        for name, target in targets.items()
    ]


def nmf(
    X, k: int, n_iter: int, work: str, target: float | None, *, solver: str = "cd", loss: str = "frobenius", starts=6
):
    """scikit-learn's NMF against ours, same precision."""
    pairs = []
    measure = divergence if loss == "kl" else squared
    for seed in range(starts):
        H, Z = start(X, k, seed)
        theirs, found = seconds(lambda: opponents.sklearn_nmf(X, H, Z, n_iter, solver, loss))
        goal = measure(X, *found)
        ours = reach(NMF(k, loss=loss, init=(H, Z)), X, goal)
        pairs.append((theirs, ours))
    return Row(
        f"{'KL-' if loss == 'kl' else ''}NMF {work}",
        f"scikit-learn {solver}",
        median_ratio(pairs),
        target,
        spread(pairs),
    )


def others(X: np.ndarray, k: int, work: str) -> list[Row]:
    """The other libraries, where the ``bench`` extra brought them."""
    rows = []
    for name, n_iter, module in [("torchnmf", 100, "torchnmf"), ("nn_fac", 50, "nn_fac"), ("gensim", 5, "gensim")]:
        if not opponents.installed(module):
            rows.append(Row(f"NMF {work}", name, float("nan"), note='not installed: pip install "laminar-nmf[bench]"'))
            continue
        pairs = []
        for seed in range(5):
            H, Z = start(X, k, seed)
            theirs, found = seconds(lambda: getattr(opponents, name)(X, H, Z, n_iter))
            ours = reach(NMF(k, init=(H, Z)), X, squared(X, *map(np.asarray, found)))
            pairs.append((theirs, ours))
        rows.append(Row(f"NMF {work}", f"{name}, {n_iter} iterations", median_ratio(pairs), None, spread(pairs)))
    return rows


def sizes(X: np.ndarray, work: str) -> Row:
    """The slowest of six sizes, in seconds, and the errors reached."""
    times, errors = [], []
    for k in range(20, 80, 10):
        runs = [seconds(lambda k=k: SemiNMF(k).fit(X)) for _ in range(3)]
        times.append(float(np.median([took for took, _ in runs])))
        errors.append(runs[0][1].reconstruction_err_)
    note = "errors " + ", ".join(f"{e:.4f}" for e in errors) + "; " + ", ".join(f"{t:.2f}" for t in times) + " s"
    return Row(f"SemiNMF {work}, k = 20 .. 70, seconds of the slowest", "a limit", max(times), 1, note, at_most=True)


def rows_semi() -> Iterator[Row]:
    pie, _, label = sets.faces("pie_pose27")
    yield sizes(pie, f"{label} {pie.shape[0]} x {pie.shape[1]}")
    required = {"naive": 150, "naive, float32": 300, "Grams": 70, "naive, both float32": None}
    yield from semi(pie, 40, 1000, f"{label} {pie.shape[0]} x {pie.shape[1]}, k=40, 1000 it.", required)
    X = sets.tall(20000, 784, 64)
    yield from semi(X, 64, 100, "20000 x 784, k=64, 100 it.", {"naive": None})


def rows_nmf() -> Iterator[Row]:
    for name in ("pie_pose27", "orl"):
        X, _, label = sets.faces(name)
        yield nmf(X, 40, 200, f"{label}, k=40, 200 it.", 4)
        yield nmf(X.astype(np.float32), 40, 200, f"{label}, k=40, 200 it., float32", 6)
    pie, _, label = sets.faces("pie_pose27")
    yield nmf(pie, 40, 100, f"{label}, k=40, 100 it.", None, solver="mu")
    yield nmf(sets.counts(20000, 5000, 0.01), 30, 60, "sparse 20000 x 5000, 1 %, k=30, 60 it.", 2.5, starts=5)
    X = sets.tall(20000, 784, 64)
    yield nmf(X, 64, 50, "20000 x 784, k=64, 50 it.", 2.5, starts=5)
    yield nmf(X.astype(np.float32), 64, 50, "20000 x 784, k=64, 50 it., float32", 2.5, starts=5)
    yield from others(pie, 40, f"{label}, k=40")


def rows_kl() -> Iterator[Row]:
    sparse, (dense, _, label) = sets.counts(20000, 5000, 0.01), sets.faces("pie_pose27")
    mu = {"solver": "mu", "loss": "kl", "starts": 5}
    for kind, suffix in ((np.float64, ""), (np.float32, ", float32")):
        yield nmf(sparse.astype(kind), 30, 60, f"sparse 20000 x 5000, k=30, 60 it.{suffix}", 7, **mu)
        yield nmf(dense.astype(kind), 40, 100, f"{label}, k=40, 100 it.{suffix}", 1.7, **mu)

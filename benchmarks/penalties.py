"""What a penalty on the codes costs: time of a sweep against the plain model, and labels against their edges."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from laminar import GNMF, NMF, WSF, ClassDrivenNMF, ConstrainedNMF, DiscriminantNMF, SemiNMF, SlowFeatureNMF
from laminar.graphs import KNN, Labels

from . import opponents, sets
from .harness import Row, rate, seconds

N, P, K, CLASSES = 2856, 1024, 40, 68
SWEEPS, REPEATS = 12, 5


def fitted(model, X, y, start):
    """Fit for a fixed number of sweeps; returns the seconds of one, set-up not counted."""
    marks = []
    model.set_params(init=start, tol=0, callback=lambda state: marks.append((state.iteration, state.seconds)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    # A sweep that is taken back is not announced, but it was one.
    (first, began), (last, ended) = marks[0], marks[-1]
    return (ended - began) / (last - first)


def against(plain, model, X, y, start, sweeps: int = SWEEPS, repeats: int = REPEATS) -> tuple[float, str]:
    """Median of the time of a sweep over that of the plain model's, taken by turns, and a note."""
    # A graph that is given refuses labels.
    graphs = [getattr(one, "graph", "labels") for one in (plain, model)]
    labels = [y if isinstance(graph, str) and graph == "labels" else None for graph in graphs]
    for one, told in zip((plain, model), labels, strict=True):
        fitted(one.set_params(max_iter=3), X, told, start)  # compile
        one.set_params(max_iter=sweeps)
    pairs = []
    for _ in range(repeats):
        _, base = seconds(lambda: fitted(plain, X, labels[0], start))
        _, ours = seconds(lambda: fitted(model, X, labels[1], start))
        pairs.append((ours / base, ours))
    ratios = [ratio for ratio, _ in pairs]
    ours = np.median([ours for _, ours in pairs])
    return float(np.median(ratios)), f"{min(ratios):.2f} .. {max(ratios):.2f} of {repeats}, {1e3 * ours:.3g} ms a sweep"


def sweeps() -> Iterator[Row]:
    """Every model with a penalty, next to the same without."""
    X, y = sets.tall(N, P, K), np.arange(N) % CLASSES
    rng = np.random.default_rng(0)
    H, Z = rng.random((N, K)), rng.random((K, P))
    build, near = seconds(lambda: KNN(5).build(X).tocsr())
    models = [
        (NMF(K), GNMF(K, graph=near), "GNMF, 5 neighbours", f"; its graph takes {build:.2g} s"),
        (NMF(K), GNMF(K, graph="chain"), "GNMF, chain", ""),
        (NMF(K), SlowFeatureNMF(K), "SlowFeatureNMF", ""),
        (NMF(K), DiscriminantNMF(K), "DiscriminantNMF", ""),
        (NMF(K), ConstrainedNMF(K), "ConstrainedNMF", ""),
        (NMF(K), ClassDrivenNMF(CLASSES), "ClassDrivenNMF", f", k = {CLASSES}"),
        (SemiNMF(K), WSF(K), "WSF", ""),
    ]
    for plain, model, name, more in models:
        start = (H, Z)
        if isinstance(model, ClassDrivenNMF):  # a component for each class at least
            start = rng.random((N, CLASSES)), rng.random((CLASSES, P))
            plain = NMF(CLASSES)
        for kind, suffix in ((np.float64, ""), (np.float32, ", float32")):
            ratio, note = against(plain, model, X.astype(kind), y, start)
            work = f"sweep of {name} {N} x {P}, k={K}{suffix}"
            yield Row(work, type(plain).__name__, ratio, 1.5, note + more, at_most=True)


def tall_labels() -> Iterator[Row]:
    """A graph of labels over many samples: its share of a sweep, and what it keeps."""
    n, p, k = 50_000, 512, 40
    X, y = sets.tall(n, p, k), np.random.default_rng(1).integers(0, 100, n)
    H = np.random.default_rng(0).random((n, k))
    graph = Labels().build(X, y)
    plain = SemiNMF(k, max_iter=4)
    shares = []
    for _ in range(REPEATS):
        _, sweep = seconds(lambda: fitted(plain, X, y, (H, None)))
        shares.append(rate(lambda: graph.laplacian(H), 5) / sweep)
    yield Row(
        f"graph of labels, n = {n}, once",
        f"sweep of SemiNMF, p={p}, k={k}",
        float(np.median(shares)),
        0.1,
        f"{min(shares):.3f} .. {max(shares):.3f} of {REPEATS}",
        at_most=True,
    )
    ratio, note = against(plain, WSF(k), X, y, (H, None), sweeps=4, repeats=3)
    yield Row(f"whole sweep of WSF, n = {n}", "SemiNMF, which looks at no neighbours", ratio, None, note)
    large, small = (peak(WSF(k, max_iter=4), X[:m], y[:m], H[:m]) for m in (n, n // 2))
    copies = (large - small) / (n // 2 * k * X.itemsize)
    yield Row(
        "WSF peak memory beyond X, per sample", "k floats", copies, None, f"{large / 1e6:.0f} MB, the codes included"
    )


def peak(model, X, y, H) -> int:
    """Most bytes a fit allocates beyond what it is given."""
    tracemalloc.start()
    fitted(model, X, y, (H, None))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def labels_against_edges() -> Iterator[Row]:
    """The published rule with the class sums and with every edge; what edges cost grows with the size of a class."""
    n, p, k = 50_000, 64, 20
    X = np.random.default_rng(0).normal(size=(n, p))
    H = np.random.default_rng(1).random((n, k))
    for classes, target in ((500, None), (100, None), (CLASSES, 20)):
        y = np.random.default_rng(2).permutation(np.arange(n) % classes)
        edges = Labels().build(X, y).tocsr()
        labels, listed = WSF(k, rule="published"), WSF(k, rule="published", graph=edges)
        work, many = f"sweep of WSF n = {n}, p={p}, k={k}, {classes} classes", f"{edges.nnz / 1e6:.0f} million edges"
        pairs = []
        for _ in range(3):
            theirs, _ = seconds(lambda edges=edges: opponents.published_wsf(X, H, edges, 1.0, 2))
            pairs.append((theirs / 2, fitted(WSF(k, rule="published", max_iter=SWEEPS), X, y, (H, None))))
        note = f"ours {1e3 * np.median([ours for _, ours in pairs]):.3g} ms"
        ratio = float(np.median([theirs / ours for theirs, ours in pairs]))
        yield Row(work, f"published, {many} in a scipy matrix", ratio, target, note)
        ratio, note = against(labels, listed, X, y, (H, None), sweeps=5, repeats=3)
        yield Row(work, f"ours, {many}, two threads", ratio, None, note + " of the edges")


def rows_penalties() -> Iterator[Row]:
    yield from sweeps()
    yield from tall_labels()
    yield from labels_against_edges()

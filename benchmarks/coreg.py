"""Co-regularised spectral clustering against mvlearn's: ``python -m benchmarks.coreg``.

Both do the same work: the same affinity, weight, numbers of sweeps and of k-means starts; whole calls take turns.
More BLAS threads make mvlearn slower; set OPENBLAS_NUM_THREADS=1 for the harder race. mvlearn is optional.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_info

from laminar.baselines import CoRegularizedSpectral
from laminar.datasets import available, load, make_views
from laminar.metrics import normalized_mutual_information

from .harness import Row, seconds, show

SWEEPS, STARTS, CLUSTERS, NEIGHBOURS = 9, 10, 10, 10


def sets(n: int = 1000) -> Iterator[tuple[str, list[np.ndarray], np.ndarray]]:
    """Name, three views and classes: synthetic, and a part of the digits where they are kept."""
    data = make_views(n, CLUSTERS, noise=2.0, random_state=0)
    yield "synthetic", data.views, data.y
    if "uci_digits_mv" in available():
        data = load("uci_digits_mv", dtype=np.float64)
        part = np.random.default_rng(0).permutation(len(data.views[0]))[:n]
        yield "digits", [data.views[v][part] for v in (0, 2, 4)], data[data.attributes[0]][part]


def race(views, affinity: str, repeats: int) -> tuple[list[tuple[float, float]], list[np.ndarray]]:
    """Seconds of mvlearn and ours, pair by pair, and the last labels of both."""
    from mvlearn.cluster import MultiviewCoRegSpectralClustering

    theirs = MultiviewCoRegSpectralClustering(
        CLUSTERS,
        v_lambda=0.025,
        affinity={"gaussian": "rbf", "knn": "nearest_neighbors"}[affinity],
        n_neighbors=NEIGHBOURS,
        max_iter=SWEEPS + 1,  # its first iteration is the start
        n_init=STARTS,
        random_state=0,
    )
    ours = CoRegularizedSpectral(
        CLUSTERS,
        affinity=affinity,
        n_neighbors=NEIGHBOURS,
        max_iter=SWEEPS,
        tol=0,
        n_init=STARTS,
        random_state=0,
    )
    ours.fit([view[:100] for view in views])
    times = [(seconds(lambda: theirs.fit(views))[0], seconds(lambda: ours.fit(views))[0]) for _ in range(repeats)]
    return times, [theirs.labels_, ours.labels_]


def rows_coreg() -> Iterator[Row]:
    if importlib.util.find_spec("mvlearn") is None:
        note = "not installed: pip install --no-deps mvlearn seaborn graphviz"
        yield Row("CoRegularizedSpectral, 3 views, n=1000", "mvlearn", float("nan"), note=note)
        return
    threads = max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
    for name, views, y in sets():
        for affinity in ("gaussian", "knn"):
            times, labels = race(views, affinity, repeats=5)
            ratios = [theirs / ours for theirs, ours in times]
            theirs, ours = np.median(times, axis=0)
            nmi = [normalized_mutual_information(y, found, "arithmetic") for found in labels]
            yield Row(
                f"CoRegularizedSpectral, {name}, 3 views, n={len(y)}, {affinity}, {threads} BLAS thread(s)",
                "mvlearn",
                float(np.median(ratios)),
                5,
                f"{min(ratios):.3g} .. {max(ratios):.3g} of {len(ratios)}, ours {ours:.3g} s, theirs {theirs:.3g} s; "
                f"NMI ours {nmi[1]:.3f}, theirs {nmi[0]:.3f}",
            )


if __name__ == "__main__":
    show(list(rows_coreg()))

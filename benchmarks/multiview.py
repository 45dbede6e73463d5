"""How well rivals find the classes of several views: ``python -m benchmarks.multiview --sets yale_mv --methods co-``.

NMI (arithmetic) and accuracy, mean and standard deviation over seeds of k-means. Every method has one setting for all
sets. An embedding that does not depend on the seed is computed once a set.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from laminar import MultiViewDeepNMF
from laminar.baselines import (
    CoRegularizedSpectral,
    CoTrainedSpectral,
    DiMSC,
    MinDisagreement,
    NgJordanWeiss,
    SmoothRepresentation,
    concat_features,
    concat_pca,
)
from laminar.baselines.base import cluster_rows
from laminar.datasets import available, load
from laminar.metrics import clustering_accuracy, normalized_mutual_information
from laminar.readout import unit_rows

SETS = ["yale_mv", "orl_mv", "orl_mv4", "nottinghill_mv", "uci_digits_mv"]
SEEDS = range(10)


def unit(views):
    return [unit_rows(view) for view in views]


def centred(views):
    return [unit_rows(view - view.mean(axis=0)) for view in unit(views)]


class Embedded:
    """A method that embeds a set once and clusters the embedding with every seed."""

    def __init__(self, clusterer: Callable, prepare: Callable = unit):
        self.clusterer, self.prepare, self.views = clusterer, prepare, None

    def __call__(self, views, n_clusters, seed):
        if self.views is not views:
            self.embedding = self.clusterer(n_clusters).fit(self.prepare(views)).embedding_
            self.views = views
        return cluster_rows(self.embedding, n_clusters, seed)


def spectral(affinity):
    return lambda c: NgJordanWeiss(c, affinity=affinity, random_state=0)


# Name and ``method(views, n_clusters, seed) -> labels``. Nearest-neighbour graphs have 5 neighbours.
METHODS: list[tuple[str, Callable]] = [
    ("concatenation, Gaussian", Embedded(spectral("gaussian"), concat_features)),
    ("concatenation, kNN", Embedded(spectral("knn"), concat_features)),
    ("concatenation, PCA, kNN", Embedded(spectral("knn"), concat_pca)),
    ("Co-Reg, Gaussian", Embedded(lambda c: CoRegularizedSpectral(c, random_state=0))),
    ("Co-Reg, kNN", Embedded(lambda c: CoRegularizedSpectral(c, affinity="knn", random_state=0))),
    ("Co-Reg, rank graph", Embedded(lambda c: CoRegularizedSpectral(c, affinity="rank", random_state=0), centred)),
    (
        "Co-Reg centroid, kNN",
        Embedded(lambda c: CoRegularizedSpectral(c, variant="centroid", affinity="knn", random_state=0)),
    ),
    ("Co-Train, kNN", Embedded(lambda c: CoTrainedSpectral(c, affinity="knn", random_state=0))),
    ("Min-Disagreement, kNN", Embedded(lambda c: MinDisagreement(c, affinity="knn", random_state=0))),
    ("NaMSC", Embedded(lambda c: SmoothRepresentation(c, random_state=0))),
    ("DiMSC", Embedded(lambda c: DiMSC(c, random_state=0))),
    ("MultiViewDeepNMF", lambda views, c, seed: MultiViewDeepNMF(n_clusters=c, random_state=seed).fit_predict(views)),
]
# These see one view at a time, and the view with the best NMI counts: they look at the classes to choose it.
ORACLES: list[tuple[str, Callable]] = [
    ("best view (oracle), Gaussian", Embedded(spectral("gaussian"))),
    ("best view (oracle), kNN", Embedded(spectral("knn"))),
    ("best view (oracle), rank graph", Embedded(spectral("rank"), centred)),
]


def scores(method: Callable, views: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    """NMI and accuracy, one row a seed."""
    found = [method(views, len(np.unique(y)), seed) for seed in SEEDS]
    return np.array([(normalized_mutual_information(y, c, "arithmetic"), clustering_accuracy(y, c)) for c in found])


def best_view(method: Callable, views: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    """The scores of the view that is best by them."""
    return max((scores(method, [view], y) for view in views), key=lambda rows: rows[:, 0].mean())


def rows(names: list[str], wanted: Callable[[str], bool]):
    """Yield name of the method, name of the set, scores."""
    for name in names:
        data = load(name, dtype=np.float64)
        y = data[data.attributes[0]]
        for judge, methods in ((best_view, ORACLES), (scores, METHODS)):
            for method, work in methods:
                if wanted(method):
                    began = time.perf_counter()
                    result = judge(work, data.views, y)
                    nmi, accuracy = result.mean(axis=0)
                    spent = time.perf_counter() - began
                    print(
                        f"{name} | {method} | {nmi:.3f} / {accuracy:.3f} | {spent:.1f} s", file=sys.stderr, flush=True
                    )
                    yield method, name, result


def show(found: dict[str, dict[str, np.ndarray]], names: list[str]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table("method", *names, "mean NMI", title=f"NMI / accuracy, mean ± deviation over {len(SEEDS)} seeds")
    for method, results in found.items():
        cells = []
        for name in names:
            mean, deviation = results[name].mean(axis=0), results[name].std(axis=0)
            cells.append(" / ".join(f"{m:.3f} ± {d:.3f}" for m, d in zip(mean, deviation, strict=True)))
        table.add_row(method, *cells, f"{np.mean([results[name][:, 0].mean() for name in names]):.3f}")
    Console(width=40 + 33 * len(names)).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, help="names of data sets")
    parser.add_argument("--methods", nargs="+", default=[""], help="parts of the names of methods")
    given = parser.parse_args()
    names = [name for name in given.sets if name in available()]
    for name in sorted(set(given.sets) - set(names)):
        print(f"{name} is left out: the folder LAMINAR_DATA names does not hold it", file=sys.stderr)
    found: dict[str, dict[str, np.ndarray]] = {}
    for method, name, result in rows(names, lambda m: any(part.lower() in m.lower() for part in given.methods)):
        found.setdefault(method, {})[name] = result
    show(found, names)


if __name__ == "__main__":
    main()

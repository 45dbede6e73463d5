"""How well rivals find the classes of several views: ``python -m benchmarks.multiview --sets yale_mv --methods co-``.

NMI (arithmetic) and accuracy, mean and standard deviation over seeds of k-means, then all six scores; ``--csv`` writes
these to a file, ``--seeds 3`` takes fewer. Every method has one setting for all sets. An embedding that does not depend
on the seed is computed once a set.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from laminar import ClusterEnsemble, MultiNMF, MultiViewDeepNMF, MultiViewSemiNMF
from laminar._base.spectral import kmeans
from laminar._engine.linalg.small import unit_rows
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
from laminar.datasets import available, load
from laminar.metrics import clustering_report

SETS = ["yale_mv", "orl_mv", "orl_mv4", "nottinghill_mv", "uci_digits_mv"]
SCORES = ["NMI", "ACC", "ARI", "F", "precision", "recall"]


def unit(views):
    return [unit_rows(view) for view in views]


def centred(views):
    return [unit_rows(view - view.mean(axis=0)) for view in unit(views)]


def nonnegative(views):
    """Unit samples, a view with negative entries shifted by its smallest."""
    return unit([view - min(view.min(), 0) for view in views])


def multi_nmf(views, n_clusters, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # thirty rounds are the published setting
        return MultiNMF(n_clusters=n_clusters, random_state=seed).fit_predict(nonnegative(views))


def deep(**parameters):
    def method(views, n_clusters, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 150 iterations and gamma = 0.5 are the published settings
            return MultiViewDeepNMF(n_clusters=n_clusters, random_state=seed, **parameters).fit_predict(views)

    return method


class Embedded:
    """A method that embeds a set once and clusters the embedding with every seed."""

    def __init__(self, clusterer: Callable, prepare: Callable = unit):
        self.clusterer, self.prepare, self.views = clusterer, prepare, None

    def __call__(self, views, n_clusters, seed):
        if self.views is not views:
            self.embedding = self.clusterer(n_clusters).fit(self.prepare(views)).embedding_
            self.views = views
        return kmeans(self.embedding, n_clusters, seed).labels_


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
    ("MultiNMF", multi_nmf),
    ("MultiViewDeepNMF", deep()),
    ("MultiViewDeepNMF, published", deep(rule="published")),
    ("MultiViewSemiNMF", lambda views, c, seed: MultiViewSemiNMF(n_clusters=c, random_state=seed).fit_predict(views)),
    ("ClusterEnsemble", lambda views, c, seed: ClusterEnsemble(c, random_state=seed).fit_predict(views)),
]
# Other settings, for those who name them: ``--methods "alpha 0"``.
VARIANTS: list[tuple[str, Callable]] = [
    (f"MultiViewDeepNMF, alpha {alpha:g}", deep(alpha=alpha)) for alpha in (0.0, 0.001, 0.01, 0.1, 1.0)
]
# These see one view at a time, and the view with the best NMI counts: they look at the classes to choose it.
ORACLES: list[tuple[str, Callable]] = [
    ("best view (oracle), Gaussian", Embedded(spectral("gaussian"))),
    ("best view (oracle), kNN", Embedded(spectral("knn"))),
    ("best view (oracle), rank graph", Embedded(spectral("rank"), centred)),
]


def scores(method: Callable, views: list[np.ndarray], y: np.ndarray, seeds: int) -> np.ndarray:
    """The six scores, one row a seed."""
    found = [clustering_report(y, method(views, len(np.unique(y)), seed)) for seed in range(seeds)]
    return np.array([[report[name] for name in SCORES] for report in found])


def best_view(method: Callable, views: list[np.ndarray], y: np.ndarray, seeds: int) -> np.ndarray:
    """The scores of the view that is best by them."""
    return max((scores(method, [view], y, seeds) for view in views), key=lambda rows: rows[:, 0].mean())


def rows(names: list[str], wanted: Callable[[str], bool], seeds: int):
    """Yield name of the method, name of the set, scores."""
    for name in names:
        data = load(name, dtype=np.float64)
        y = data[data.attributes[0]]
        for judge, methods in ((best_view, ORACLES), (scores, METHODS), (scores, VARIANTS)):
            for method, work in methods:
                if wanted(method):
                    began = time.perf_counter()
                    result = judge(work, data.views, y, seeds)
                    nmi, accuracy = result.mean(axis=0)[:2]
                    spent = time.perf_counter() - began
                    print(
                        f"{name} | {method} | {nmi:.3f} / {accuracy:.3f} | {spent:.1f} s", file=sys.stderr, flush=True
                    )
                    yield method, name, result


def is_wanted(method: str, parts: list[str]) -> bool:
    """Whether one of the parts is in its name; all methods have the empty one, variants must be named."""
    variant = "alpha" in method
    return any(part.lower() in method.lower() and (not variant or "alpha" in part) for part in parts)


def cell(result: np.ndarray, scores: list[str]) -> str:
    """Mean and deviation of some scores."""
    columns = result[:, [SCORES.index(name) for name in scores]]
    return " / ".join(f"{m:.3f} ± {d:.3f}" for m, d in zip(columns.mean(axis=0), columns.std(axis=0), strict=True))


def show(found: dict[str, dict[str, np.ndarray]], names: list[str]) -> None:
    """Print NMI and accuracy of all sets side by side, then all scores set by set."""
    from rich.console import Console
    from rich.table import Table

    over = f"mean ± deviation over {len(next(iter(found.values()))[names[0]])} seeds"
    table = Table("method", *names, "mean NMI", title=f"NMI / accuracy, {over}")
    for method, results in found.items():
        mean = np.mean([results[name][:, 0].mean() for name in names])
        table.add_row(method, *(cell(results[name], ["NMI", "ACC"]) for name in names), f"{mean:.3f}")
    Console(width=40 + 33 * len(names)).print(table)
    full = Table("set", "method", *SCORES, title=f"all scores, {over}")
    for name in names:
        for method, results in found.items():
            full.add_row(name, method, *(cell(results[name], [score]) for score in SCORES))
        full.add_section()
    Console(width=160).print(full)


def write(found: dict[str, dict[str, np.ndarray]], path: str) -> None:
    """Write all scores, one line a set, method and seed."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["set", "method", "seed", *SCORES])
        for method, results in found.items():
            for name, result in results.items():
                writer.writerows([name, method, seed, *row] for seed, row in enumerate(result.tolist()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, help="names of data sets")
    parser.add_argument("--methods", nargs="+", default=[""], help="parts of the names of methods")
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds")
    parser.add_argument("--csv", help="a file to write all scores to, seed by seed")
    given = parser.parse_args()
    names = [name for name in given.sets if name in available()]
    for name in sorted(set(given.sets) - set(names)):
        print(f"{name} is left out: the folder LAMINAR_DATA names does not hold it", file=sys.stderr)
    found: dict[str, dict[str, np.ndarray]] = {}
    for method, name, result in rows(names, lambda method: is_wanted(method, given.methods), given.seeds):
        found.setdefault(method, {})[name] = result
    show(found, names)
    if given.csv:
        write(found, given.csv)


if __name__ == "__main__":
    main()

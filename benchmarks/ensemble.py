"""Clusters of several views, complete and with holes: ``python -m benchmarks.ensemble views holes``.

NMI (arithmetic) and accuracy, mean and standard deviation over seeds; of views with holes, over draws of 30 % of each
view's rows (`benchmarks.missing_views`). Every method has one setting for all sets. `benchmarks.ensemble_rules` has
other ways to choose among the members of `ClusterEnsemble`, and the leave-one-set-out figure; `benchmarks.clustering`
has one view.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from laminar import ClusterEnsemble, MultiViewSemiNMF
from laminar._engine.linalg.small import unit_rows
from laminar.baselines import (
    NEMO,
    CoRegularizedSpectral,
    NgJordanWeiss,
    SimilarityNetworkFusion,
    WhitenedSpectral,
    concat_features,
)
from laminar.datasets import available, load

from .clustering import kmeans, scores
from .missing_views import observed
from .multiview import Embedded, centred, spectral

VIEWS = [
    "yale_mv",
    "yale_mv_small",
    "orl_mv",
    "orl_mv4",
    "nottinghill_mv",
    "3sources_mv",
    "webkb_mv",
    "prokaryotic_mv",
    "uci_digits_mv",
]


def quiet(make: Callable) -> Callable:
    """A method of one array from an estimator, its warnings left out: settings are not tuned to a set."""

    def method(X, c, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(c, seed).fit_predict(X)

    return method


# Of complete views: ``method(views, c, seed) -> labels``.
OF_VIEWS: dict[str, Callable] = {
    "concatenation, k-means": lambda views, c, seed: kmeans(concat_features(views), c, seed),
    "concatenation, 5-NN spectral": Embedded(spectral("knn"), concat_features),
    "concatenation, WhitenedSpectral": Embedded(
        lambda c: WhitenedSpectral(c, form="raw", random_state=0), concat_features
    ),
    "Co-Reg, rank graph": Embedded(lambda c: CoRegularizedSpectral(c, affinity="rank", random_state=0), centred),
    "SNF": Embedded(lambda c: SimilarityNetworkFusion(c, random_state=0)),
    "NEMO": Embedded(lambda c: NEMO(c, random_state=0)),
    "MultiViewSemiNMF": quiet(lambda c, seed: MultiViewSemiNMF(n_clusters=c, random_state=seed)),
    "ClusterEnsemble": quiet(lambda c, seed: ClusterEnsemble(c, random_state=seed)),
    "ClusterEnsemble, largest membership": lambda views, c, seed: (
        ClusterEnsemble(c, random_state=seed).fit_transform(views).argmax(axis=1)
    ),
}


def with_holes(views, mask):
    return [np.where(has[:, None], view, np.nan) for view, has in zip(views, mask.T, strict=True)]


def mean_filled(views, mask):
    filled = [np.where(has[:, None], v, v[has].mean(axis=0)) for v, has in zip(views, mask.T, strict=True)]
    return concat_features(filled)


# Of views with holes: ``method(views, mask, c, seed) -> labels``.
OF_HOLES: dict[str, Callable] = {
    "means in the holes, k-means": lambda views, mask, c, seed: kmeans(mean_filled(views, mask), c, seed),
    "means in the holes, 5-NN spectral": lambda views, mask, c, seed: NgJordanWeiss(
        c, affinity="knn", random_state=seed
    ).fit_predict(mean_filled(views, mask)),
    "NEMO": lambda views, mask, c, seed: NEMO(c, random_state=seed).fit_predict(
        with_holes([unit_rows(view) for view in views], mask)
    ),
    "MultiViewSemiNMF": lambda views, mask, c, seed: quiet(
        lambda c, seed: MultiViewSemiNMF(n_clusters=c, random_state=seed)
    )(with_holes(views, mask), c, seed),
    "ClusterEnsemble": lambda views, mask, c, seed: ClusterEnsemble(c, random_state=seed).fit_predict(
        with_holes(views, mask)
    ),
    "ClusterEnsemble, largest membership": lambda views, mask, c, seed: (
        ClusterEnsemble(c, random_state=seed).fit_transform(with_holes(views, mask)).argmax(axis=1)
    ),
}


def views_of(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    data = load(name, dtype=np.float64)
    return data.views, data[data.attributes[0]]


def rows_of(table: str, seeds: int, part: str) -> Iterator[tuple[str, str, list[tuple[float, float]]]]:
    """Yield method, set and scores by seed; of views with holes, by draw."""
    for name in [name for name in VIEWS if name in available()]:
        X, y = views_of(name)
        c = len(np.unique(y))
        masks = [observed(len(y), len(X), seed) for seed in range(seeds)] if table == "holes" else []
        for method, work in {"views": OF_VIEWS, "holes": OF_HOLES}[table].items():
            if part.lower() not in method.lower():
                continue
            if masks:
                found = [scores(y, work(X, mask, c, seed)) for seed, mask in enumerate(masks)]
            else:
                found = [scores(y, work(X, c, seed)) for seed in range(seeds)]
            nmi, accuracy = np.mean(found, axis=0)
            print(f"{table} | {name} | {method} | {nmi:.3f} / {accuracy:.3f}", file=sys.stderr, flush=True)
            yield method, name, found


def show(table: str, found: dict[str, dict[str, list]], seeds: int) -> None:
    """Print a table of Markdown: NMI/accuracy, then the deviation of NMI, and the means of all sets."""
    names = list(next(iter(found.values())))
    over = "draws of 30 % missing views" if table == "holes" else "seeds"
    print(f"\n{table}: NMI/accuracy (deviation of NMI), {seeds} {over}\n")
    print(f"| | {' | '.join(names)} | mean |")
    print("|---" * (len(names) + 2) + "|")
    for method, results in found.items():
        means = {name: np.mean(results[name], axis=0) for name in names}
        cells = [f"{nmi:.3f}/{a:.3f} ({np.std(results[name], axis=0)[0]:.3f})" for name, (nmi, a) in means.items()]
        nmi, accuracy = np.mean(list(means.values()), axis=0)
        print(f"| {method} | {' | '.join(cells)} | {nmi:.3f}/{accuracy:.3f} |".replace("0.", "."))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["views", "holes"], help="which tables")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds, and of draws of holes")
    parser.add_argument("--method", default="", help="a part of the names of methods")
    parser.add_argument("--json", type=Path, help="a file to write all scores to, by table, method and set")
    given = parser.parse_args()
    everything = {}
    for table in given.tables:
        found: dict[str, dict[str, list]] = {}
        for method, name, result in rows_of(table, given.seeds, given.method):
            found.setdefault(method, {})[name] = result
        show(table, found, given.seeds)
        everything[table] = found
    if given.json:
        given.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()

"""Clusters of one view, fourteen sets: ``python -m benchmarks.clustering --cells cells.json``.

NMI (arithmetic) and accuracy, mean of three seeds and deviation of NMI; every method has one setting for all sets.
Codes of a model are fitted once for each seed and clustered in every read-out: k-means of whitened codes, and the rank
graph at several exponents t. Factorisations have k = max(30, 2c) components for c classes, `DeepSemiNMF` layers 2k
and k; rows with "k = c" have c.

The last lines are leave-one-set-out figures: the mean over sets of the NMI of the row that is best on the other sets,
with the row that is chosen, for all rows and for the read-outs of each model. Cells that ``--cells`` has are not
computed again, so that a run can be interrupted. ``--new`` has the clusters of new samples.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.neighbors import KNeighborsClassifier

from laminar import NMF, ClusterEnsemble, DeepSemiNMF, SemiNMF, SmoothedSemiNMF
from laminar._base.graph_clusters import nearest_mean
from laminar._engine.linalg.small import unit_rows
from laminar.baselines import NgJordanWeiss, WhitenedSpectral
from laminar.datasets import available, load
from laminar.metrics import clustering_accuracy, normalized_mutual_information

BUNDLED = {"digits": load_digits, "wine": load_wine, "breast_cancer": load_breast_cancer}
PIXELS = 4  # the view of the UCI digits that is one of the sets
SETS = [  # small ones first
    "wine",
    "glioma",
    "breast_cancer",
    "yale",
    "orl",
    "umist_sequences",
    "cmu_faces",
    "digits",
    "coil20",
    "uci_digits_mv",
    "nottinghill",
    "pie_5pose_10id",
    "tdt2_small",
    "pie_pose27",
]


def kmeans(X, c, seed):
    return KMeans(c, n_init=10, random_state=seed).fit_predict(X)


# ``method(X, c, seed) -> labels``
METHODS: dict[str, Callable] = {
    "k-means": kmeans,
    "k-means, unit rows": lambda X, c, seed: kmeans(unit_rows(X), c, seed),
    "5-NN spectral": lambda X, c, seed: NgJordanWeiss(c, affinity="knn", random_state=seed).fit_predict(X),
    "WhitenedSpectral, raw": lambda X, c, seed: WhitenedSpectral(c, form="raw", random_state=seed).fit_predict(X),
    "WhitenedSpectral, standard": lambda X, c, seed: WhitenedSpectral(
        c, form="standard", random_state=seed
    ).fit_predict(X),
    "WhitenedSpectral": lambda X, c, seed: WhitenedSpectral(c, random_state=seed).fit_predict(X),
    "ClusterEnsemble": lambda X, c, seed: ClusterEnsemble(c, random_state=seed).fit_predict(X),
}

# ``model(k, c, seed)``, fitted once for all read-outs
MODELS: dict[str, Callable] = {
    "NMF, k = c": lambda k, c, seed: NMF(c, random_state=seed),
    "SemiNMF, k = c": lambda k, c, seed: SemiNMF(c, random_state=seed),
    "NMF": lambda k, c, seed: NMF(k, random_state=seed),
    "SemiNMF": lambda k, c, seed: SemiNMF(k, random_state=seed),
    "DeepSemiNMF": lambda k, c, seed: DeepSemiNMF((2 * k, k), random_state=seed),
    "SmoothedSemiNMF": lambda k, c, seed: SmoothedSemiNMF(k, n_clusters=c, random_state=seed),
}
READOUTS = {"whitened, k-means": "whitened", "t = 0": 0.0, "t = .5": 0.5, "t = .75": 0.75, "t = 1": 1.0}
OWN = {"SmoothedSemiNMF": {"directions, k-means": "directions"}}


def one_view(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and their first attribute; scikit-learn's sets need no folder."""
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)
    data = load(name, dtype=np.float64)
    return (data.views[PIXELS] if name == "uci_digits_mv" else data.X), data[data.attributes[0]]


def scores(y: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    return normalized_mutual_information(y, labels, "arithmetic"), clustering_accuracy(y, labels)


def readouts_of(model: str) -> dict:
    return {f"{model}: {title}": form for title, form in {**READOUTS, **OWN.get(model, {})}.items()}


def labels_of(row: str, X: np.ndarray, c: int, seed: int, missing: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the clusters of one method, or of those read-outs of one model that are missing, by row."""
    if row in METHODS:
        return {row: METHODS[row](X, c, seed)}
    model = MODELS[row](min(max(30, 2 * c), *X.shape), c, seed).fit(X)
    forms = readouts_of(row)
    return {title: model.cluster(n_clusters=c, readout=forms[title]) for title in missing}


def compute(cells: dict[str, tuple[float, float]], names: list[str], seeds: int, part: str, file: Path | None) -> None:
    """Add the scores that are missing to the cells, by row, set and seed."""
    groups = {row: [row] for row in METHODS} | {model: list(readouts_of(model)) for model in MODELS}
    for seed in range(seeds):
        for name in names:
            X, y = one_view(name)
            for group, titles in groups.items():
                missing = [title for title in titles if f"{title} | {name} | {seed}" not in cells and part in title]
                if not missing:
                    continue
                for title, labels in labels_of(group, X, len(np.unique(y)), seed, missing).items():
                    cells[f"{title} | {name} | {seed}"] = scores(y, labels)
                if file:
                    file.with_suffix(".part").write_text(json.dumps(cells, indent=0))
                    file.with_suffix(".part").replace(file)


def show(cells: Mapping[str, tuple[float, float]], names: list[str], seeds: int) -> dict[str, dict[str, float]]:
    """Print the table in Markdown and return the mean NMI by row and set, of rows that are complete."""
    rows = [*METHODS, *(title for model in MODELS for title in readouts_of(model))]
    found: dict[str, dict[str, float]] = {}
    print(f"| | {' | '.join(names)} | mean |\n{'|---' * (len(names) + 2)}|")
    for row in rows:
        keys = {name: [f"{row} | {name} | {seed}" for seed in range(seeds)] for name in names}
        if any(key not in cells for of_set in keys.values() for key in of_set):
            continue
        means = {name: np.mean([cells[key] for key in of_set], axis=0) for name, of_set in keys.items()}
        spread = {name: np.std([cells[key][0] for key in of_set]) for name, of_set in keys.items()}
        found[row] = {name: float(nmi) for name, (nmi, _) in means.items()}
        parts = [f"{nmi:.3f}/{accuracy:.3f} ({spread[name]:.3f})" for name, (nmi, accuracy) in means.items()]
        nmi, accuracy = np.mean(list(means.values()), axis=0)
        print(f"| {row} | {' | '.join(parts)} | {nmi:.3f}/{accuracy:.3f} |".replace("0.", "."))
    return found


def leave_one_out(found: Mapping[str, Mapping[str, float]], names: list[str]) -> tuple[float, Counter]:
    """Return the mean over sets of the row that is best on the other sets, and how often each row is chosen."""
    left, chosen = [], Counter()
    for name in names:
        best = max(found, key=lambda row: np.mean([found[row][other] for other in names if other != name]))
        left.append(found[best][name])
        chosen[best] += 1
    return float(np.mean(left)), chosen


def show_new(names: list[str]) -> None:
    """Print the NMI of 30 % new samples, whose clusters are those of the others, by how they join these; one seed."""
    ways = ("nearest sample", "nearest of ten means", "nearest mean")
    print("| | training | " + " | ".join(ways) + " |\n" + "|---" * (2 + len(ways)) + "|")
    for few in (False, True):
        found = []
        for name in names:
            X, y = one_view(name)
            c, order = len(np.unique(y)), np.random.RandomState(0).permutation(len(y))
            training, new = np.split(order, [int(0.7 * len(y))])
            k = c if few else min(max(30, 2 * c), len(training), X.shape[1])
            model = SemiNMF(k, random_state=0).fit(X[training])
            labels = model.cluster(n_clusters=c)
            E, F = (model.clusters_.features(H, c) for H in (model.layers_[0].representation, model.transform(X[new])))
            joined = [
                KNeighborsClassifier(1).fit(E, labels).predict(F),
                nearest_mean(E, labels, 0).predict(F),
                nearest_mean(E, labels, 0, n_means=1).predict(F),
            ]
            found.append([scores(y[training], labels)[0], *(scores(y[new], each)[0] for each in joined)])
        cells = [f"{value:.3f}" for value in np.mean(found, axis=0)]
        print(f"| SemiNMF{', k = c' if few else ''} | {' | '.join(cells)} |".replace("0.", "."))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="which sets; all by default")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--rows", default="", help="a part of the names of the rows to compute")
    parser.add_argument("--cells", type=Path, help="a file of scores: those it has are not computed again")
    parser.add_argument("--new", action="store_true", help="clusters of new samples in place of the table")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits that have not converged: settings are not tuned to a set
    names = [name for name in given.sets or SETS if name in BUNDLED or name in available()]
    if given.new:
        return show_new(names)
    cells = json.loads(given.cells.read_text()) if given.cells and given.cells.exists() else {}
    compute(cells, names, given.seeds, given.rows, given.cells)
    found = show(cells, names, given.seeds)
    groups = {
        "all rows": list(found),
        "all but ClusterEnsemble": [row for row in found if row != "ClusterEnsemble"],
        **{f"read-outs of {model}": [row for row in readouts_of(model) if row in found] for model in MODELS},
    }
    print("\nLeave one set out:")
    for title, rows in groups.items():
        if rows and len(names) > 1:
            value, chosen = leave_one_out({row: found[row] for row in rows}, names)
            print(f"{title}: {value:.3f}; chosen {dict(chosen)}")


if __name__ == "__main__":
    main()

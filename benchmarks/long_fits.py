"""CPU seconds of long steps: k-means of many samples, neighbours, AttributeLayers, ClusterEnsemble, MultiNMF.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python -m benchmarks.long_fits [ensemble ...]

Each is measured with its limit on the number of samples and without it, one after the other. A call on a small part
comes first, so that compilation, which is given by itself for the approximate search, is not counted.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from laminar import AttributeLayers, ClusterEnsemble, MultiNMF
from laminar._base.clusters import Clusters, Readout
from laminar.attributes import layers
from laminar.attributes.filter_bank import FilterBank
from laminar.datasets import make_attributes, partial_labels
from laminar.graphs.neighbours import nearest

NO_LIMIT = 10**9


def cpu_seconds(work: Callable):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def clusters(n: int = 200_000, k: int = 10) -> Iterator[str]:
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    E = rng.normal(size=(k, 10))[y] + 0.6 * rng.normal(size=(n, 10))
    for limit in (50_000, NO_LIMIT):
        model = Clusters(E, 0, Readout(), max_samples=limit)
        seconds, labels = cpu_seconds(lambda: model.predict(E, k))
        nmi, inertia = normalized_mutual_info_score(y, labels), -model._fit(k).score(E)
        yield f"k-means, {n} x 10, at most {limit}: {seconds:.1f} s, NMI {nmi:.4f}, inertia {inertia:.6g}"


def neighbours(n: int = 100_000, k: int = 10) -> Iterator[str]:
    rng = np.random.default_rng(0)
    seconds, _ = cpu_seconds(lambda: nearest(rng.normal(size=(1000, 20)), k, max_exact=0))
    yield f"neighbours, first approximate search of the process: {seconds:.1f} s"
    for p in (50, 100):
        X = rng.normal(size=(n, 15)) @ rng.normal(size=(15, p)) + 0.2 * rng.normal(size=(n, p))
        found = {}
        for limit in (75_000, NO_LIMIT):
            seconds, (_, found[limit]) = cpu_seconds(lambda: nearest(X, k, max_exact=limit))
            yield f"neighbours, {n} x {p}, {k} each, exact up to {limit}: {seconds:.1f} s"
        recall = np.mean([np.isin(a, b).mean() for a, b in zip(found[75_000], found[NO_LIMIT], strict=True)])
        yield f"neighbours, {n} x {p}: recall {recall:.3f}"


def attributes() -> Iterator[str]:
    original = layers.FilterBank
    for n, p, limit in ((20_000, 50, 10_000), (20_000, 256, 10_000), (50_000, 50, 10_000), (50_000, 50, NO_LIMIT)):
        data = make_attributes(n, levels=(3, 4, 5), scales=(1.0, 1.0, 1.0), n_features=p, random_state=0)
        y = partial_labels(data.y, 0.1, random_state=0)
        AttributeLayers(random_state=0).fit(data.X[:500], y[:500])
        layers.FilterBank = lambda *given, limit=limit: FilterBank(*given, max_nodes=limit)
        seconds, _ = cpu_seconds(lambda: AttributeLayers(random_state=0).fit(data.X, y))
        layers.FilterBank = original
        yield f"AttributeLayers, {n} x {p}, 10 % labels, at most {limit} nodes: {seconds:.1f} s"


def ensemble(n: int = 100_000, c: int = 10) -> Iterator[str]:
    rng = np.random.default_rng(0)
    y = rng.integers(c, size=n)
    curve = rng.normal(size=n)[:, None]  # clusters are long in a direction of their own
    data = [rng.normal(size=(c, 50))[y] + curve * rng.normal(size=(c, 50))[y] + rng.normal(size=(n, 50)) for _ in "ab"]
    for views in (data[:1], data):
        ClusterEnsemble(c, random_state=0).fit([X[:500] for X in views])
        seconds, model = cpu_seconds(lambda: ClusterEnsemble(c, random_state=0).fit(views))
        nmi = normalized_mutual_info_score(y, model.labels_)
        yield f"ClusterEnsemble, {n} x 50, {len(views)} view(s), {c} clusters: {seconds:.1f} s, NMI {nmi:.3f}"


def views(n: int = 1600, k: int = 100) -> Iterator[str]:
    rng = np.random.default_rng(0)
    data = [rng.random((n, 20)) @ rng.random((20, 64)) + 0.1 * rng.random((n, 64)) for _ in range(3)]
    MultiNMF(5, random_state=0, max_iter=2).fit([X[:50] for X in data])
    seconds, model = cpu_seconds(lambda: MultiNMF(k, n_clusters=10, random_state=0).fit(data))
    yield f"MultiNMF, {n} x 3 x 64, {k} components: {seconds:.1f} s, objective {model.objective_history_[-1]:.4g}"


def main() -> None:
    warnings.simplefilter("ignore")
    sections = {section.__name__: section for section in (clusters, neighbours, attributes, ensemble, views)}
    for name in sys.argv[1:] or sections:
        for line in sections[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main()

"""Whose features show when an expression begins and ends? ``python -m benchmarks.temporal`` prints the table.

Each cell is the mean distance of the four found boundaries from the true ones, in frames, and the share of frames in
the right phase; of the synthetic sets, means over seeds that served for no choice of a default. The phases are found by
`detect_phases` in the first feature, in the slowest, or in whichever fits phases best; none of the three looks at the
truth. Of the factorisations, the features are the codes of the fit. The real video was marked by eye, to about one
frame. A second table has the smallest delta value of the codes that `fit_transform` returns, a third the mouth alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from laminar import NMF, SlowFeatureNMF
from laminar.datasets import available, load, make_temporal
from laminar.temporal import boundary_errors, detect_phases, frame_accuracy, slowest_feature, slowness
from laminar.temporal.sfa import SlowFeatureAnalysis

SEEDS = range(100, 110)

# Name and what fits it; a method with a number of components is listed once for each.
METHODS: list[tuple[str, Callable]] = [
    ("PCA, 10", lambda X: PCA(10).fit(X)),
    ("PCA, 50", lambda X: PCA(50).fit(X)),
    ("SlowFeatureAnalysis", lambda X: SlowFeatureAnalysis().fit(X)),
    ("SlowFeatureAnalysis, auto", lambda X: SlowFeatureAnalysis(n_pcs="auto").fit(X)),
    ("SlowFeatureAnalysis, 10 PCs", lambda X: SlowFeatureAnalysis(n_pcs=10).fit(X)),
    ("SlowFeatureAnalysis, 50 PCs", lambda X: SlowFeatureAnalysis(n_pcs=50).fit(X)),
    ("NMF, 10", lambda X: NMF(10, max_iter=3000).fit(X)),
    ("NMF, 50", lambda X: NMF(50, max_iter=3000).fit(X)),
    ("SlowFeatureNMF, 10", lambda X: SlowFeatureNMF(10, max_iter=3000).fit(X)),
    ("SlowFeatureNMF, 50", lambda X: SlowFeatureNMF(50, max_iter=3000).fit(X)),
]
READINGS: dict[str, Callable] = {
    "first": lambda H: H[:, 0],
    "slowest": lambda H: slowest_feature(H)[1],
    "best fit": lambda H: H,
}


def features(model, X: np.ndarray) -> np.ndarray:
    """The codes of the fit where a model keeps them, without components that are silent throughout."""
    H = model.layers_[-1].representation if hasattr(model, "layers_") else model.transform(X)
    return H[:, np.ptp(H, axis=0) > 0]


def drifting(seed: int):
    """A sequence with a part that changes more slowly than the expression, as a turning head does."""
    film = make_temporal(70, noise=0.3, random_state=seed)
    rng = np.random.default_rng(seed)
    film.X = film.X + np.outer(np.linspace(0, 1.5, 70), rng.gamma(1.0, size=film.X.shape[1]))
    return film


def sets() -> Iterator[tuple[str, list]]:
    """Name and sequences of each column of the table."""
    yield "clean", [make_temporal(random_state=seed) for seed in SEEDS]
    yield "noisy", [make_temporal(n_features=500, noise=2.0, random_state=seed) for seed in SEEDS]
    yield "drifting", [drifting(seed) for seed in SEEDS]
    if "smile_video" in available():
        yield "smile_video", [load("smile_video", dtype=np.float64)]


def scores(films: list, fit: Callable) -> dict[str, tuple[float, float]]:
    """Mean distance of boundaries and frame-wise accuracy, for each reading."""
    cells: dict[str, list] = {reading: [] for reading in READINGS}
    for film in films:
        H = features(fit(film.X), film.X)
        for reading, read in READINGS.items():
            found = detect_phases(read(H))
            # A feature that hardly ever moves shows no phase at all: half the film off.
            missed = len(found.boundaries) == 0
            distance = len(film.X) / 2 if missed else np.abs(boundary_errors(found, film.phase)).mean()
            cells[reading].append((distance, frame_accuracy(found, film.phase)))
    return {reading: tuple(np.mean(cell, axis=0)) for reading, cell in cells.items()}


def mouths(film) -> Iterator[np.ndarray]:
    """The mouth of the smile by itself: brighter and darker than in the first frames, for 54 ways to cut it out."""
    images = film.X.reshape(len(film.X), 48, 40)
    for up, left, margin, first in product((-2, 0, 2), (-2, 0, 2), (0, 2), (3, 5, 7)):
        rows = slice(26 + up - margin, 46 + up + (margin if up < 2 else 0))
        X = images[:, rows, 8 + left - margin : 32 + left + margin].reshape(len(images), -1)
        change = X - X[:first].mean(0)
        yield np.hstack([np.maximum(change, 0), np.maximum(-change, 0)])


def mouth_table(film) -> None:
    """How often all four boundaries of the smile are within two frames where only the mouth is looked at."""
    print("\nthe mouth of smile_video, two components: share of 54 cuts with all boundaries within two frames")
    models = {"PCA": PCA(2), "NMF": NMF(2, max_iter=1000)}
    models |= {f"SlowFeatureNMF, alpha={a}": SlowFeatureNMF(2, alpha=a, max_iter=1000) for a in (0.05, 0.1, 0.5, 1)}
    for name, model in models.items():
        worst = [
            np.abs(boundary_errors(detect_phases(features(model.fit(X), X)), film.phase)).max() for X in mouths(film)
        ]
        print(f"{name:<28} {np.mean(np.array(worst) <= 2):.2f}, median of the worst {np.median(worst):.0f}", flush=True)


def slowness_table() -> None:
    """Print the smallest delta value of the codes of five noisy films: of the fit, and of each frame by itself."""
    print("\nsmallest delta value, five components, mean of five films: fit_transform, and transform of single frames")
    models = {"NMF": NMF(5)} | {f"SlowFeatureNMF, alpha={a}": SlowFeatureNMF(5, alpha=a) for a in (0.1, 1, 5)}
    films = [make_temporal(noise=0.5, random_state=seed).X for seed in range(5)]
    nmf = [slowness(NMF(5).fit_transform(X)).min() for X in films]
    for name, model in models.items():
        alone = {"groups": np.arange(len(films[0]))} if "Slow" in name else {}
        found = [(slowness(model.fit_transform(X)).min(), slowness(model.transform(X, **alone)).min()) for X in films]
        slower = np.sum(np.array(found) < np.array(nmf)[:, None] * (1 - 1e-9), axis=0)
        means = np.mean(found, axis=0)
        print(f"{name:<28} {means[0]:.3f} {means[1]:.3f}; below NMF in {slower[0]} and {slower[1]} of 5", flush=True)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    columns = dict(sets())
    print(f"{'features':<28} {'which':<9}" + "".join(f"{name:>16}" for name in columns))
    for name, fit in METHODS:
        table = [scores(films, fit) for films in columns.values()]
        for reading in READINGS:
            line = "".join(f"{distance:>9.2f} {accuracy:>6.2f}" for distance, accuracy in (c[reading] for c in table))
            print(f"{name:<28} {reading:<9}{line}", flush=True)
    slowness_table()
    if "smile_video" in columns:
        mouth_table(columns["smile_video"][0])


if __name__ == "__main__":
    main()

"""Whose features show when an expression begins and ends, and a head turns? ``python -m benchmarks.temporal``.

The first table has F-measures of the boundaries, within two frames, their mean and standard deviation over sequences.
The number of episodes is unknown to `detect_phases`, which is given the slowest feature, or the ten slowest, of which
it takes the one that episodes explain best; neither looks at the truth. Of the factorisations, the features are the
codes of the fit. "none" has no episode and "two" has two; "faces" are rendered videos of four action units, in
"turning" the head turns five times as far; "smile" is one real video, marked by eye to about one frame. Seeds served
for no choice of a default of the models.

``pose``: umist_sequences, fitted to half of the people, and scored on the others: the rank correlation of a feature
with the order of the frames, in which the head turns, the sign being that of the people of the fit. The feature is the
slowest of these, or the one that goes most with the order of their frames. ``frey``: frey_video has no marks. Fitted to
the first half, the delta value of the slowest feature in the second; slowness on new frames, and no truth.
``slowness``: the smallest delta value of the codes that `fit_transform` returns. ``mouth``: the mouth of the smile.

    python -m benchmarks.temporal [boundaries] [choice] [pose] [frey] [slowness] [mouth]        all but choice
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from inspect import signature
from itertools import product

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from laminar import NMF, SlowFeatureAnalysis, SlowFeatureNMF
from laminar.datasets import available, load, make_expression_video, make_temporal
from laminar.temporal import boundary_errors, boundary_f1, detect_phases, slowness

SEEDS = range(300, 304)
CHOICE_SEEDS = range(200, 204)  # of the defaults of SlowFeatureNMF
UNITS = ("mouth stretch", "eyes closed", "brows raised", "lip corners raised")

METHODS: dict[str, Callable] = {
    "PCA, 50": lambda: PCA(50, svd_solver="full"),
    "SlowFeatureAnalysis, all": lambda: SlowFeatureAnalysis(n_pcs=None),
    "SlowFeatureAnalysis, 50 PCs": lambda: SlowFeatureAnalysis(n_pcs=50),
    "SlowFeatureAnalysis": lambda: SlowFeatureAnalysis(),
    "NMF, 10": lambda: NMF(10),
    "SlowFeatureNMF, 10": lambda: SlowFeatureNMF(10),
    "SlowFeatureNMF": lambda: SlowFeatureNMF(),
}
GRID = {f"{k}, alpha={alpha}": (k, alpha) for k, alpha in product((None, 10), (0.02, 0.1, 0.5))}


def with_groups(method: Callable, X: np.ndarray, groups) -> np.ndarray:
    """Call a method of a model with the sequences, if it takes any."""
    return method(X, groups=groups) if "groups" in signature(method).parameters else method(X)


def features(model, X: np.ndarray) -> np.ndarray:
    """The codes of the fit where a model keeps them, without components that are silent throughout."""
    model.fit(X)
    H = model.layers_[-1].representation if hasattr(model, "layers_") else model.transform(X)
    return H[:, np.ptp(H, axis=0) > 0]


def drifting(seed: int):
    """A sequence with a part that changes more slowly than the expression, as a turning head does."""
    film = make_temporal(70, noise=0.3, random_state=seed)
    rng = np.random.default_rng(seed)
    film.X = film.X + np.outer(np.linspace(0, 1.5, 70), rng.gamma(1.0, size=film.X.shape[1]))
    return film


def still(seed: int):
    """A sequence without an episode: fast parts and noise."""
    film = make_temporal(noise=0.5, random_state=seed)
    film.X = film.X[film.phase == 0]
    film.phase = np.zeros(len(film.X), dtype=int)
    return film


def sets(seeds: range) -> dict[str, list]:
    """Name and sequences of each column of the table."""
    faces = [(unit, seed) for unit in UNITS for seed in seeds[:2]]
    columns = {
        "clean": [make_temporal(random_state=seed) for seed in seeds],
        "noisy": [make_temporal(n_features=500, noise=2.0, random_state=seed) for seed in seeds],
        "drifting": [drifting(seed) for seed in seeds],
        "two": [make_temporal(60, 2, noise=0.5, random_state=seed) for seed in seeds],
        "none": [still(seed) for seed in seeds],
        "faces": [make_expression_video(unit, random_state=seed) for unit, seed in faces],
        "turning": [make_expression_video(unit, drift=5.0, random_state=seed) for unit, seed in faces],
    }
    return columns | ({"smile": [load("smile_video", dtype=np.float64)]} if "smile_video" in available() else {})


def f_measures(make: Callable, films: list) -> np.ndarray:
    """F-measure of each sequence, by the slowest feature and by the best of the ten slowest."""
    rows = []
    for film in films:
        model = make()
        if isinstance(model, PCA):
            model.set_params(n_components=min(50, len(film.X) - 1))
        H = features(model, np.asarray(film.X, dtype=np.float64))
        slowest = H[:, np.argsort(slowness(H), kind="stable")[:10]]
        rows.append([boundary_f1(detect_phases(read), film.phase) for read in (slowest[:, 0], slowest)])
    return np.array(rows)


def boundaries_table() -> None:
    columns = sets(SEEDS)
    print("\nF-measure of the boundaries within two frames, mean and standard deviation over sequences")
    print(f"{'features':<28} {'which':<8}" + "".join(f"{name:>11}" for name in columns))
    for name, make in METHODS.items():
        table = [f_measures(make, films) for films in columns.values()]
        for i, reading in enumerate(("slowest", "best")):
            line = "".join(
                f"{cell[:, i].mean():>6.2f} ({cell[:, i].std():.1f}".replace("0.", ".") + ")" for cell in table
            )
            print(f"{name:<28} {reading:<8}{line}", flush=True)


def choice_table() -> None:
    """Settings of SlowFeatureNMF, each kind of sequence scored by the setting that is best on the other kinds."""
    columns = sets(CHOICE_SEEDS)
    scores = []
    print("\nF-measure, mean of the slowest and the best feature, of settings of SlowFeatureNMF")
    print(f"{'setting':<28}" + "".join(f"{name:>9}" for name in columns))
    for name, (k, alpha) in GRID.items():
        make = lambda k=k, alpha=alpha: SlowFeatureNMF(k, alpha=alpha)  # noqa: E731
        scores.append([f_measures(make, films).mean() for films in columns.values()])
        print(f"{name:<28}" + "".join(f"{score:>9.2f}" for score in scores[-1]), flush=True)
    table = np.array(scores)
    for j, kind in enumerate(columns):
        best = int(np.delete(table, j, axis=1).mean(axis=1).argmax())
        print(f"without {kind:<9} {list(GRID)[best]:<28} {table[best, j]:.2f} on it", flush=True)


def pose_table() -> None:
    bunch = load("umist_sequences", dtype=np.float64)
    people = np.unique(bunch.identity)
    print("\nrank correlation with the order of frames of ten new people, mean and standard deviation over five halves")
    for name, make in METHODS.items():
        rows = []
        for seed in range(5):
            train = np.isin(bunch.identity, np.random.default_rng(seed).permutation(people)[:10])
            rows.append(pose_scores(make(), bunch, train))
        mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)
        print(f"{name:<28} slowest {mean[0]:.2f} ({spread[0]:.2f}), best {mean[1]:.2f} ({spread[1]:.2f})", flush=True)


def pose_scores(model, bunch, train: np.ndarray) -> tuple[float, float]:
    X, groups = bunch.X[train], bunch.identity[train]
    with_groups(model.fit, X, groups)
    H = with_groups(model.transform, X, groups)
    deltas = slowness(H, groups)
    own, new = (
        correlations(with_groups(model.transform, bunch.X[rows], bunch.identity[rows]), bunch.identity[rows])
        for rows in (train, ~train)
    )
    return tuple(float(np.sign(own[i]) * new[i]) for i in (deltas.argmin(), np.abs(own).argmax()))


def correlations(H: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Rank correlation of each feature with the order of frames, mean over the sequences; 0 of a constant one."""
    found = [
        [spearmanr(h, np.arange(len(h))).statistic if np.ptp(h) else 0.0 for h in H[groups == name].T]
        for name in np.unique(groups)
    ]
    return np.mean(found, axis=0)


def frey_table() -> None:
    X = load("frey_video", dtype=np.float64).X
    half = len(X) // 2
    print("\nfrey_video: delta value of the slowest feature of the first half, there and in the second half")
    for name, make in METHODS.items():
        model = make().fit(X[:half])
        deltas = slowness(model.transform(X[:half]))
        new = slowness(model.transform(X[half:]))[deltas.argmin()]
        print(f"{name:<28} {deltas.min():.4f} {new:.4f}", flush=True)


def mouths(film) -> Iterator[np.ndarray]:
    """The mouth of the smile by itself: brighter and darker than in the first frames, for 54 ways to cut it out."""
    images = film.X.reshape(len(film.X), 48, 40)
    for up, left, margin, first in product((-2, 0, 2), (-2, 0, 2), (0, 2), (3, 5, 7)):
        rows = slice(26 + up - margin, 46 + up + (margin if up < 2 else 0))
        X = images[:, rows, 8 + left - margin : 32 + left + margin].reshape(len(images), -1)
        change = X - X[:first].mean(0)
        yield np.hstack([np.maximum(change, 0), np.maximum(-change, 0)])


def mouth_table() -> None:
    """How often all four boundaries of the smile are within two frames where only the mouth is looked at."""
    film = load("smile_video", dtype=np.float64)
    print(
        "\nthe mouth of smile_video, two components, one episode: share of 54 cuts with all boundaries within 2 frames"
    )
    models = {"PCA": PCA(2), "NMF": NMF(2, max_iter=1000)}
    models |= {f"SlowFeatureNMF, alpha={a}": SlowFeatureNMF(2, alpha=a, max_iter=1000) for a in (0.05, 0.1, 0.5, 1)}
    for name, model in models.items():
        found = (detect_phases(features(model, X), n_episodes=1) for X in mouths(film))
        worst = [np.abs(boundary_errors(phases, film.phase)).max() for phases in found]
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


PARTS: dict[str, tuple[Callable, str | None]] = {  # what prints it, and the data set it needs
    "boundaries": (boundaries_table, None),
    "pose": (pose_table, "umist_sequences"),
    "frey": (frey_table, "frey_video"),
    "slowness": (slowness_table, None),
    "mouth": (mouth_table, "smile_video"),
    "choice": (choice_table, None),
}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in sys.argv[1:] or [part for part in PARTS if part != "choice"]:
        show, needs = PARTS[name]
        if needs is None or needs in available():
            show()
        else:
            print(f"\n{name}: LAMINAR_DATA has no {needs}")


if __name__ == "__main__":
    main()

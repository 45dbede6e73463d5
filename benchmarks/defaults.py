"""What do the defaults of ``tol`` cost and give?

    export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1
    python -m benchmarks.defaults [--part sklearn tol] [--tol 1e-5] [--only NMF]

Part "sklearn": a whole ``NMF(k).fit(X)`` against that of scikit-learn, nothing else set but the seed. Part "tol": time,
objective and clusters of every estimator with a ``tol``, relative to ``tol=1e-5``, and the value that is chosen for it,
one set left out at a time. Times are CPU seconds of one thread. Needs the data sets of LAMINAR_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import sklearn.decomposition
from sklearn.preprocessing import StandardScaler

import laminar as lm
from laminar.datasets import available, load, partial_labels
from laminar.metrics import normalized_mutual_information

from .harness import Row

IMAGES = ("yale", "orl", "cmu_faces", "pie_pose27", "pie_5pose_10id", "coil20", "frey_video")
TOLS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
HIGHER, WORSE = 0.005, 0.01  # what a chosen tol may cost: objective (median), NMI (mean, beyond two standard errors)


def seconds(model, *arguments, **named) -> float:
    """Fit a model; CPU time."""
    began = time.process_time()
    model.fit(*arguments, **named)
    return time.process_time() - began


def default_against_default(tol: float | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield set and k with medians of three seeds, the two in turns: seconds, ratio, errors, their gap, iterations."""
    changed = {} if tol is None else {"tol": tol}
    lm.NMF(5).fit(np.random.default_rng(0).random((50, 20)))  # compiles
    for name in (name for name in IMAGES if name in available()):
        X = load(name, dtype=np.float64).X
        size = np.linalg.norm(X)
        for k in (10, 40):
            runs = []
            for seed in range(3):
                theirs, ours = sklearn.decomposition.NMF(k, random_state=seed), lm.NMF(k, random_state=seed, **changed)
                times = seconds(theirs, X), seconds(ours, X)
                errors = [theirs.reconstruction_err_ / size, ours.reconstruction_err_ / size]
                runs.append((*times, times[0] / times[1], *errors, errors[1] / errors[0] - 1, ours.n_iter_))
            yield f"{name}, {k}", np.median(runs, axis=0)


def against_sklearn(tol: float | None) -> None:
    """Print default against default."""
    print("| set, k | scikit-learn s | ours s | ratio | error of scikit-learn | ours | difference | iterations |")
    print("|---" * 8 + "|")
    ratios, gaps = [], []
    for name, (t0, t1, ratio, e0, e1, gap, n_iter) in default_against_default(tol):
        ratios.append(ratio)
        gaps.append(gap)
        row = f"| {name} | {t0:.2f} | {t1:.2f} | {ratio:.1f} | {e0:.4f} | {e1:.4f} | {gap:+.1%} | {n_iter:.0f} |"
        print(row, flush=True)
    print(f"\nratio: median {np.median(ratios):.1f}, {min(ratios):.1f} to {max(ratios):.1f}; error higher in ", end="")
    print(f"{sum(gap > 0 for gap in gaps)} of {len(gaps)}, by {max(gaps):.2%} at most")


def rows_defaults() -> Iterator[Row]:
    """Whole default fits, CPU seconds, of all image sets that are there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(default_against_default())
    if found:
        table, work, against = np.array([row for _, row in found]), "NMF(k).fit, defaults", "scikit-learn, defaults"
        yield Row(work, f"{against}, median of {len(found)}", float(np.median(table[:, 2])), 2.5)
        yield Row(work, f"{against}, slowest", float(table[:, 2].min()), 1.0)
        yield Row(work, f"{against}, largest error ratio", float(1 + table[:, 5].max()), 1.0, at_most=True)


@dataclass
class Case:
    """One set: data, classes to be found (None: there are none), labels given to the fit, further arguments of fit."""

    X: object
    y: np.ndarray | None
    n_classes: int
    known: np.ndarray | None = None
    groups: np.ndarray | None = None

    def arguments(self) -> tuple[tuple, dict]:
        given = () if self.known is None else (self.known,)
        return (self.X, *given), {} if self.groups is None else {"groups": self.groups}

    def nmi(self, model) -> float:
        if self.y is None:
            return np.nan
        found = model.cluster(n_clusters=self.n_classes)
        rest = slice(None) if self.known is None else self.known < 0
        return normalized_mutual_information(self.y[rest], found[rest])


def faces(*, labels: bool = False, standardised: bool = False) -> Iterator[tuple[str, Case]]:
    """People; three tenths of the labels where they are asked for."""
    for name in ("yale", "orl", "cmu_faces", "umist_sequences"):
        bunch = load(name, dtype=np.float64)
        y = np.asarray(bunch.identity, dtype=int)
        X = StandardScaler().fit_transform(bunch.X) if standardised else bunch.X
        yield name, Case(X, y, len(np.unique(y)), partial_labels(y, 0.3, random_state=0) if labels else None)


def videos() -> Iterator[tuple[str, Case]]:
    bunch = load("umist_sequences", dtype=np.float64)
    y = np.asarray(bunch.identity, dtype=int)
    yield "umist_sequences", Case(bunch.X, y, 20, groups=y)
    bunch = load("smile_video", dtype=np.float64)
    yield "smile_video", Case(bunch.X, np.asarray(bunch.phase, dtype=int), 4)
    yield "frey_video", Case(load("frey_video", dtype=np.float64).X[:800], None, 20)


def views() -> Iterator[tuple[str, Case]]:
    for name in ("yale_mv_small", "orl_mv4", "3sources_mv"):
        bunch = load(name, dtype=np.float64)
        yield name, Case(bunch.views, np.asarray(bunch.y, dtype=int), len(np.unique(bunch.y)))


Make = Callable[[int], object]
Sets = Callable[[], Iterator[tuple[str, Case]]]


def labelled() -> Iterator[tuple[str, Case]]:
    return faces(labels=True)


def standardised() -> Iterator[tuple[str, Case]]:
    return faces(standardised=True)


def two_of_people() -> Iterator[tuple[str, Case]]:
    """Those on which slow models take a few seconds."""
    return ((name, case) for name, case in faces() if name in ("yale", "umist_sequences"))


MODELS: dict[str, tuple[Make, Sets]] = {
    "NMF": (lambda c: lm.NMF(c), faces),
    "NMF, kl": (lambda c: lm.NMF(c, loss="kl"), faces),
    "SemiNMF": (lambda c: lm.SemiNMF(c), faces),
    "SemiNMF, standardised": (lambda c: lm.SemiNMF(c), standardised),
    "GNMF": (lambda c: lm.GNMF(c), faces),
    "WSF": (lambda c: lm.WSF(c), labelled),
    "ClassDrivenNMF": (lambda c: lm.ClassDrivenNMF(), labelled),
    "SlowFeatureNMF": (lambda c: lm.SlowFeatureNMF(c), videos),
    "DeepSemiNMF": (lambda c: lm.DeepSemiNMF((3 * c, c)), faces),
    "DeepSemiNMF, standardised": (lambda c: lm.DeepSemiNMF((3 * c, c)), standardised),
    "DeepSemiNMF, coupled": (lambda c: lm.DeepSemiNMF((3 * c, c), objective="coupled"), two_of_people),
    "DeepSemiNMF, relu": (lambda c: lm.DeepSemiNMF((3 * c, c), activation="relu"), two_of_people),
    "DeepWSF": (lambda c: lm.DeepWSF((3 * c, c)), labelled),
    "SmoothedSemiNMF": (lambda c: lm.SmoothedSemiNMF(c, n_clusters=c), faces),
    "ConstrainedNMF": (lambda c: lm.ConstrainedNMF(c), labelled),
    "ConceptFactorization": (lambda c: lm.ConceptFactorization(c), faces),
    "DiscriminantNMF": (lambda c: lm.DiscriminantNMF(c), labelled),
    "MultiLayerNMF": (lambda c: lm.MultiLayerNMF((3 * c, c)), faces),
    "MultiNMF": (lambda c: lm.MultiNMF(c, n_clusters=c), views),
    "MultiViewDeepNMF": (lambda c: lm.MultiViewDeepNMF((3 * c, c), n_clusters=c), views),
    "MultiViewSemiNMF": (lambda c: lm.MultiViewSemiNMF(n_clusters=c), views),
}


def objective(model) -> float:
    """Return the final objective; the layers of `MultiLayerNMF` have one each, whose sum is that of no one problem."""
    return model.reconstruction_err_**2 if isinstance(model, lm.MultiLayerNMF) else model.objective_history_[-1]


def measured(make: Make, sets: Sets) -> dict[str, np.ndarray]:
    """Return seconds, iterations, final objective and NMI by set, a row for each tol."""
    found = {}
    for name, case in sets():
        (arguments, named), rows = case.arguments(), []
        for tol in (TOLS[0], *TOLS):  # the first once more: it compiles
            model = make(case.n_classes).set_params(tol=tol, random_state=0)
            took = seconds(model, *arguments, **named)
            rows.append((took, model.n_iter_, objective(model), case.nmi(model)))
        found[name] = np.array(rows[1:])
    return found


def against_last(tables: list[np.ndarray], i: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return time (geometric mean), objectives and NMI of a tol relative to the last."""
    seconds_ratio = np.exp(np.mean([np.log(table[i, 0] / table[-1, 0]) for table in tables]))
    gaps = np.array([table[i, 2] / table[-1, 2] - 1 for table in tables])
    gains = np.array([table[i, 3] - table[-1, 3] for table in tables])
    return seconds_ratio, gaps, gains[~np.isnan(gains)]


def deviation(values: np.ndarray) -> float:
    return values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0


def chosen(tables: list[np.ndarray]) -> float:
    """Return the largest tol that costs at most `HIGHER` of the objective and `WORSE` of the NMI against the last."""
    for i, tol in enumerate(TOLS):
        _, gaps, gains = against_last(tables, i)
        if np.median(gaps) <= HIGHER and (not len(gains) or gains.mean() + 2 * deviation(gains) >= -WORSE):
            return tol
    return TOLS[-1]


def cells(tables: list[np.ndarray]) -> list[str]:
    found = []
    for i in range(len(TOLS) - 1):
        ratio, gaps, gains = against_last(tables, i)
        found.append(f"{ratio:.2f}, {np.median(gaps):+.1%} ({gaps.max():+.1%}), {gains.mean():+.3f}")
    return found


def by_tol(only: str) -> None:
    """Print the table of all estimators, and the choice of one value for all."""
    print("| estimator | seconds (iterations), NMI of 1e-5 | " + " | ".join(f"{tol:g}" for tol in TOLS[:-1]), end="")
    print(" | chosen | one set left out |\n" + "|---" * (len(TOLS) + 3) + "|")
    found = {}
    for name in (name for name in MODELS if only in name):
        found[name] = measured(*MODELS[name])
        tables = list(found[name].values())
        without = {chosen(tables[:i] + tables[i + 1 :]) for i in range(len(tables))}
        took, n_iter, _, _ = max(tables, key=lambda table: table[-1, 0])[-1]
        first = f"{took:.2f} ({n_iter:.0f}), {np.nanmean([table[-1, 3] for table in tables]):.3f}"
        last = [f"{chosen(tables):g}", ", ".join(f"{tol:g}" for tol in sorted(without))]
        print(f"| {name} | " + " | ".join([first, *cells(tables), *last]) + " |", flush=True)
    everything = [table for tables in found.values() for table in tables.values()]
    print("| all | | " + " | ".join(cells(everything)) + f" | {chosen(everything):g} | |\n")
    for left_out in dict.fromkeys(name for tables in found.values() for name in tables):
        rest = [t for tables in found.values() for name, t in tables.items() if name != left_out]
        print(f"without {left_out}: {chosen(rest):g}; ", end="")
    for i, tol in enumerate(TOLS[:-1]):
        gains = against_last(everything, i)[2]
        print(f"\nNMI of {tol:g}: {gains.mean():+.4f} +- {deviation(gains):.4f}, {len(gains)} fits", end="")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="*", choices=["sklearn", "tol"], default=["sklearn", "tol"])
    parser.add_argument("--tol", type=float, help="of part sklearn, instead of the default")
    parser.add_argument("--only", default="", help="a part of the names of estimators")
    arguments = parser.parse_args()
    if any(os.environ.get(f"{library}_NUM_THREADS") != "1" for library in ("OPENBLAS", "OMP", "NUMBA")):
        parser.error(
            "CPU times are of one thread: set OPENBLAS_NUM_THREADS, OMP_NUM_THREADS and NUMBA_NUM_THREADS to 1."
        )
    warnings.simplefilter("ignore")
    if "sklearn" in arguments.part:
        against_sklearn(arguments.tol)
    if "tol" in arguments.part:
        by_tol(arguments.only)


if __name__ == "__main__":
    main()

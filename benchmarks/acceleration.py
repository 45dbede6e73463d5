"""Worth of the accelerations on whole fits: extrapolation and its constants, exact codes, the subsample.

    python -m benchmarks.acceleration extrapolation [--seeds 5]
    python -m benchmarks.acceleration codes
    python -m benchmarks.acceleration subsample

"extrapolation": every variant of `laminar._engine.solve.Extrapolation` from random starts; CPU time, final objective
and clustering accuracy (k-means of whitened codes), relative to the rule of the library. "codes": Semi-NMF of centred
data with five sweeps of coordinate descent before exact codes, relative to none. "subsample": NMF of tall data with
components learned on a subsample first, relative to without. The first two need LAMINAR_DATA.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from unittest import mock

import numpy as np

import laminar as lm
from laminar import datasets
from laminar._base.rules import Rule
from laminar._engine import solve, updates
from laminar._engine.solve import Extrapolation
from laminar.metrics import clustering_accuracy


@dataclass
class Constant(Extrapolation):
    """No extrapolation, or one whose bound never grows."""

    def grow(self) -> None:
        """Keep beta."""


@dataclass
class Late(Extrapolation):
    """Extrapolation that starts after five sweeps."""

    beta: float = 0.0
    sweeps: int = 0

    def grow(self) -> None:
        """Count sweeps, then grow."""
        self.sweeps += 1
        if self.sweeps == 4:
            self.beta = 0.5
        elif self.sweeps > 4:
            super().grow()


@dataclass
class Slower(Extrapolation):
    """The divisor of Ang and Gillis' code."""

    def shrink(self) -> None:
        """Divide by 1.5."""
        self.bound, self.beta = self.beta, self.beta / 1.5


VARIANTS = {
    "beta 0.5 (the library)": Extrapolation,
    "none": lambda: Constant(0.0),
    "beta 0.3": lambda: Extrapolation(0.3),
    "beta 0.4": lambda: Extrapolation(0.4),
    "divisor 1.5": Slower,
    "after five sweeps": Late,
}


def cases(seed: int) -> dict:
    """Named fits: model, X, labels of the clusters or None, labels given to the model or None."""
    found = {}
    for name, label in {"orl": "identity", "yale": "identity", "cmu_faces": "pose", "coil20": None}.items():
        data = datasets.load(name)
        X = data.X.astype(np.float64)[:: 1 if len(data.X) < 800 else 2]
        y = None if label is None or label not in data else np.asarray(data[label])[:: 1 if len(data.X) < 800 else 2]
        given = None if y is None else np.where(np.arange(len(y)) % 3 == 0, y, -1)
        k = 20
        start = {"init": "random", "random_state": seed}
        found[f"NMF {name}"] = (lm.NMF(k, **start), X, y, None)
        found[f"SemiNMF centred {name}"] = (lm.SemiNMF(k, **start), X - X.mean(0), y, None)
        if given is not None:
            found[f"WSF centred {name}"] = (lm.WSF(k, **start), X - X.mean(0), None, given)
    return found


def extrapolation(seeds: int) -> None:
    """Print the table of variants."""
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in VARIANTS}
    for seed in range(seeds):
        for model, X, y, given in cases(seed).values():
            for name, variant in VARIANTS.items():
                with mock.patch.object(solve, "Extrapolation", variant), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    began = time.process_time()
                    model.fit(X) if given is None else model.fit(X, given)
                    seconds = time.process_time() - began
                accuracy = np.nan
                if y is not None:
                    accuracy = clustering_accuracy(y, model.cluster(X, len(np.unique(y)), readout="whitened"))
                results[name].append((seconds, float(model.objective_history_[-1]), accuracy))
    base = np.array(results[next(iter(VARIANTS))])
    print("| variant | time | objective: median, lowest, highest | accuracy |\n|---|---|---|---|")
    for name, rows in results.items():
        found = np.array(rows)
        gaps = found[:, 1] / base[:, 1] - 1
        differences = (found[:, 2] - base[:, 2])[np.isfinite(base[:, 2])]
        ratio = np.exp(np.mean(np.log(found[:, 0] / base[:, 0])))
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        objective = f"{np.median(gaps):+.1e}, {gaps.min():+.1e}, {gaps.max():+.1e}"
        print(f"| {name} | {ratio:.2f} | {objective} | {differences.mean():+.4f} ± {error:.4f} |", flush=True)


def timed(model, X) -> tuple[float, int, float]:
    """Return CPU seconds, iterations and the final objective of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(X)
    return time.process_time() - began, model.n_iter_, float(model.objective_history_[-1])


def compare(name: str, before: tuple, after: tuple, ratios: list) -> None:
    """Print one pair of fits, and keep its ratios."""
    (t0, n0, f0), (t1, n1, f1) = before, after
    ratios.append((t1 / t0, f1 / f0 - 1))
    print(f"| {name} | {n0} | {n1} | {t1 / t0:.2f} | {f1 / f0 - 1:+.1e} |", flush=True)


def summary(ratios: list) -> None:
    """Print means and extremes."""
    time_ratio, gap = np.array(ratios).T
    lower, higher = (gap < -1e-6).sum(), (gap > 1e-6).sum()
    print(
        f"time {np.exp(np.log(time_ratio).mean()):.2f}; objective lower in {lower}, higher in {higher} of {len(gap)}, "
    )
    print(f"median {np.median(gap):+.1e}, from {gap.min():+.1e} to {gap.max():+.1e}")


def descent_first(n: int):
    """Return an update that is coordinate descent in its first n calls."""
    calls = iter(range(n))
    return lambda F, objective, constraint: (updates.hals_or_exact if next(calls, None) is None else updates.hals)(
        F, objective, constraint
    )


def tall(n: int, p: int, rank: int, seed: int) -> np.ndarray:
    """Return a product of gamma factors with gamma noise."""
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(n, rank)) @ rng.gamma(0.5, size=(rank, p)) + rng.gamma(1.0, size=(n, p))


def codes() -> None:
    """Print Semi-NMF with and without coordinate descent before exact codes."""
    ratios: list = []
    print("| Semi-NMF, centred | iterations, none | five | time | objective |\n|---|---|---|---|---|")
    for name in ("orl", "yale", "umist_sequences", "coil20", "cmu_faces", "glioma", "tall"):
        X = tall(12000, 120, 15, 1) if name == "tall" else datasets.load(name).X.astype(np.float64)[:1500]
        X = X - X.mean(0)
        for k in (10, 30):
            for init in ("lp", "random"):
                found = []
                for n in (0, 5):
                    rule = Rule(init="lp", solvers={"auto": descent_first(n)})
                    with mock.patch.object(lm.SemiNMF, "_fast", rule):
                        found.append(timed(lm.SemiNMF(k, init=init, random_state=0), X))
                compare(f"{name}, k={k}, {init}", *found, ratios)
    summary(ratios)


def subsample() -> None:
    """Print NMF of tall data with and without the subsample."""
    ratios: list = []
    print("| NMF | iterations, without | with | time | objective |\n|---|---|---|---|---|")
    for n, p, k in ((9000, 400, 20), (12000, 400, 20), (20000, 200, 20), (20000, 200, 40), (40000, 100, 20)):
        for init in ("nndsvda", "random"):
            X, found = tall(n, p, k, 0), []
            for on in (False, True):
                with mock.patch.object(lm.NMF, "_fast", Rule(subsample=on)):
                    found.append(timed(lm.NMF(k, init=init, random_state=0), X))
            compare(f"{n} x {p}, k={k}, {init}", *found, ratios)
    summary(ratios)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["extrapolation", "codes", "subsample"])
    parser.add_argument("--seeds", type=int, default=5, help="of the table of extrapolation")
    arguments = parser.parse_args()
    if arguments.table == "extrapolation":
        extrapolation(arguments.seeds)
    else:
        {"codes": codes, "subsample": subsample}[arguments.table]()


if __name__ == "__main__":
    main()

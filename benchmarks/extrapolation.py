"""Whether the constants of extrapolation matter: whole fits from random starts, several seeds.

    python -m benchmarks.extrapolation [--seeds 5]

Every fit is made with each variant of `laminar._engine.solve.Extrapolation`; printed are CPU time, final objective
and clustering accuracy (k-means of whitened codes), relative to the rule of the library: geometric mean of time, median
and extremes of the objective, mean and standard error of the difference in accuracy. Needs LAMINAR_DATA.
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
from laminar._engine import solve
from laminar.metrics import clustering_accuracy


@dataclass
class Constant(solve.Extrapolation):
    """No extrapolation, or one whose bound never grows."""

    def grow(self) -> None:
        """Keep beta."""


@dataclass
class Late(solve.Extrapolation):
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
class Slower(solve.Extrapolation):
    """The divisor of Ang and Gillis' code."""

    def shrink(self) -> None:
        """Divide by 1.5."""
        self.bound, self.beta = self.beta, self.beta / 1.5


VARIANTS = {
    "beta 0.5 (the library)": solve.Extrapolation,
    "none": lambda: Constant(0.0),
    "beta 0.3": lambda: solve.Extrapolation(0.3),
    "beta 0.4": lambda: solve.Extrapolation(0.4),
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
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
                    accuracy = clustering_accuracy(y, model.cluster(X, len(np.unique(y))))
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


if __name__ == "__main__":
    main()

"""Whole default fits of two versions, interleaved: time, iterations and final objective.

    git worktree add ../before COMMIT
    python -m benchmarks.whole_fits ../before/src src [--repeat 3] [--only NMF]

Each version runs in a process of its own, on one thread, the versions in turns. Every fit is made on several inputs
that differ by rounding (1e-12), since rounding decides in which of many stationary points an iteration ends; medians of
CPU time, of its ratio and of the objective are printed. Needs the data sets of LAMINAR_DATA; "tall" is synthetic.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np


def cases(repeat: int) -> dict:
    """Names of fits, each with a function that returns a fitted model."""
    import laminar as lm
    from laminar import datasets

    def data(name: str, centred: bool = False):
        if name == "tall":
            rng = np.random.default_rng(0)
            X = rng.gamma(0.5, size=(20000, 20)) @ rng.gamma(0.5, size=(20, 200)) + rng.gamma(1.0, size=(20000, 200))
        else:
            X = datasets.load(name).X.astype(np.float64)
        # Rounding decides which of many stationary points an iteration ends in: a row is taken over several inputs.
        X = X * (1 + 1e-12 * np.random.default_rng(repeat).standard_normal(X.shape))
        return X - X.mean(0) if centred else X

    def labels(name: str):
        if name == "tall":
            return np.where(np.arange(20000) % 10 == 0, np.arange(20000) // 2000, -1)
        y = np.asarray(datasets.load(name).identity, dtype=int).copy()
        y[np.arange(len(y)) % 3 != 0] = -1
        return y

    def fit(model, name: str, centred: bool = False, y: bool = False):
        return lambda: (model, (data(name, centred), *([labels(name)] if y else [])))

    def views(model, name: str):
        return lambda: (model, (datasets.load(name).views,))

    seed = {"random_state": 0}
    found = {}
    for name, ks in {"pie_pose27": (20, 40), "orl": (40,), "tall": (20,)}.items():
        for k in ks:
            found[f"NMF {name} {k}"] = fit(lm.NMF(k, **seed), name)
            found[f"NMF random {name} {k}"] = fit(lm.NMF(k, init="random", **seed), name)
            found[f"SemiNMF centred {name} {k}"] = fit(lm.SemiNMF(k, **seed), name, centred=True)
            found[f"GNMF {name} {k}"] = fit(lm.GNMF(k, **seed), name)
            found[f"WSF {name} {k}"] = fit(lm.WSF(k, **seed), name, y=True)
            found[f"WSF centred {name} {k}"] = fit(lm.WSF(k, **seed), name, centred=True, y=True)
    found["NMF kl orl 20"] = fit(lm.NMF(20, loss="kl", **seed), "orl")
    found["GNMF kl orl 20"] = fit(lm.GNMF(20, loss="kl", **seed), "orl")
    found["ClassDrivenNMF orl"] = fit(lm.ClassDrivenNMF(**seed), "orl", y=True)
    found["ConstrainedNMF orl 40"] = fit(lm.ConstrainedNMF(40, **seed), "orl", y=True)
    found["ConceptFactorization orl 20"] = fit(lm.ConceptFactorization(20, **seed), "orl")
    found["MultiLayerNMF orl 80-40"] = fit(lm.MultiLayerNMF((80, 40), **seed), "orl")
    found["DeepSemiNMF pie 200-40"] = fit(lm.DeepSemiNMF((200, 40), **seed), "pie_pose27")
    found["DeepSemiNMF plain centred orl 80-40"] = fit(lm.DeepSemiNMF((80, 40), **seed), "orl", True)
    coupled = lm.DeepSemiNMF((80, 40, 20), objective="coupled", **seed)
    found["DeepSemiNMF coupled orl 80-40-20"] = fit(coupled, "orl")
    relu = lm.DeepSemiNMF((80, 40), activation="relu", max_iter=60, tol=0, **seed)
    found["DeepSemiNMF relu orl 80-40"] = fit(relu, "orl")
    found["DeepWSF orl 80-40"] = fit(lm.DeepWSF((80, 40), max_iter=60, tol=0, **seed), "orl", y=True)
    found["DeepWSF coupled orl 80-40"] = fit(lm.DeepWSF((80, 40), objective="coupled", **seed), "orl", y=True)
    found["MultiViewSemiNMF yale_mv"] = views(lm.MultiViewSemiNMF(n_clusters=15, **seed), "yale_mv")
    found["MultiViewDeepNMF orl_mv"] = views(lm.MultiViewDeepNMF((80, 40), n_clusters=40, **seed), "orl_mv")
    found["MultiNMF 3sources_mv"] = views(lm.MultiNMF(6, n_clusters=6, max_iter=10, **seed), "3sources_mv")
    found["AttributeLayers orl"] = fit(lm.AttributeLayers(**seed), "orl", y=True)
    found["SlowFeatureAnalysis frey"] = fit(lm.SlowFeatureAnalysis(n_pcs="auto", **seed), "frey_video")
    return found


def serve() -> None:
    """Fit line by line: the number of the input and a name in; seconds, iterations and objective out."""
    print(json.dumps(list(cases(0))), flush=True)
    for line in sys.stdin:
        repeat, name = json.loads(line)
        model, arguments = cases(repeat)[name]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.process_time()
            model.fit(*arguments)
            seconds = time.process_time() - began
        history = getattr(model, "objective_history_", [np.nan])
        print(json.dumps([seconds, int(getattr(model, "n_iter_", 0)), float(history[-1])]), flush=True)


class Version:
    """One version of the library, in a process of its own."""

    def __init__(self, source: str):
        environment = os.environ | {"PYTHONPATH": os.path.abspath(source), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, os.path.abspath(__file__), "--serve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd="/")
        self.names = json.loads(self.process.stdout.readline())

    def fit(self, name: str, repeat: int) -> tuple[float, int, float]:
        """Return CPU seconds, iterations and the final objective."""
        self.process.stdin.write(json.dumps([repeat, name]) + "\n")
        self.process.stdin.flush()
        return tuple(json.loads(self.process.stdout.readline()))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", help="two folders that hold the package laminar")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    before, after = (Version(source) for source in arguments.sources)
    print("| fit | before s (iterations) | after s (iterations) | time | objective after / before - 1 |")
    print("|---|---|---|---|---|")
    ratios, gaps = [], []
    for name in before.names:
        if arguments.only not in name:
            continue
        if not ratios:
            before.fit(name, 0), after.fit(name, 0)  # compiles
        runs = np.array([(before.fit(name, i), after.fit(name, i)) for i in range(arguments.repeat)])
        (t0, n0, _), (t1, n1, _) = np.median(runs, axis=0)
        ratios.append(float(np.exp(np.median(np.log(runs[:, 1, 0] / runs[:, 0, 0])))))
        values = runs[:, :, 2]
        gaps.append(float(np.nan_to_num(np.median(values[:, 1]) / np.median(values[:, 0]) - 1)))
        print(
            f"| {name} | {t0:.2f} ({n0:.0f}) | {t1:.2f} ({n1:.0f}) | {ratios[-1]:.2f} | {gaps[-1]:+.1e} |", flush=True
        )
    mean = np.exp(np.mean(np.log(ratios)))
    print(f"\ngeometric mean of time {mean:.3f}; objective: median {np.median(gaps):+.1e}, highest {max(gaps):+.1e}")


if __name__ == "__main__":
    main()

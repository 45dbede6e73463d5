"""Labelling with `laminar studio`: ``python -m benchmarks.studio labels`` (``seconds``, ``answers``) print the tables.

``labels``: a user labels the first proposal again and again, the model is refitted after every five labels. Scored are
the guesses of samples without a label, beside those after as many labels of random samples; and the estimates of that
accuracy, by samples drawn at random (as the page shows) and by all labels, both withheld in five folds.

``seconds``: the steps of a refit on 3000 rendered faces of 32 x 32 pixels.

``answers``: how long the page waits for a label to be on the disk, and for the state, while these are refitted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas

from laminar import Dataset
from laminar.datasets import available, load, make_faces
from laminar.studio.estimate import estimate
from laminar.studio.fits import Fitter, moved_map, plane
from laminar.studio.labels import LabelFile
from laminar.studio.proposals import open_draws, propose
from laminar.studio.session import Session

COUNTS = (20, 40, 80)  # labels at which it is scored
SETS = ("faces", "orl")


def samples(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if name == "faces":
        faces = make_faces(20, 5, 6, size=32, random_state=seed)
        return faces.X, np.array([f"person {i}" for i in faces.identity], dtype=object)
    found = load(name)
    return found.X, np.array([f"person {i}" for i in found.identity], dtype=object)


def frame(truth: np.ndarray, known: np.ndarray) -> pandas.DataFrame | None:
    values = np.where(known, truth, None)
    return pandas.DataFrame({"y": values}) if len(set(truth[known])) > 1 else None


def accuracy(fitter: Fitter, truth: np.ndarray, known: np.ndarray) -> float:
    guesses = fitter.fit(frame(truth, known))[1]["y"]
    guessed = np.array(guesses.classes, dtype=object)[guesses.best]
    return float((guessed[~known] == truth[~known]).mean())


def labelled(name: str, seed: int) -> list[tuple]:
    X, truth = samples(name, seed)
    fitter, known, since = Fitter(X, seed), np.zeros(len(X), bool), 0
    drawn: list[int] = []
    model, guesses = fitter.fit(None)
    order, rows = np.random.default_rng(seed + 100).permutation(len(X)), []
    for n in range(1, max(COUNTS) + 1):
        layer = "y" if guesses else "rest"
        P = guesses["y"].probabilities if guesses else None
        first = propose(known, open_draws(known, seed), since, model.training_codes(layer), P)[0]
        known[first.row] = True
        since = 0 if first.reason == "random" else since + 1
        drawn += [first.row] * (first.reason == "random")
        if n % 5 == 0:
            model, guesses = fitter.fit(frame(truth, known))
        if n in COUNTS:
            at_random = np.isin(np.arange(len(X)), order[:n])
            values = np.where(known, truth, None)
            found = [
                estimate(fitter.scores, values, which, lambda r, v=values: fitter.predict_without(v, r))
                for which in (np.array(drawn), np.flatnonzero(known))
            ]
            rows.append((n, accuracy(fitter, truth, known), accuracy(fitter, truth, at_random), *found))
    return rows


def labels(n_seeds: int) -> None:
    print("set    labels  proposals  random labels  estimate, drawn  (mean interval)  inside  estimate, all labels")
    for name in SETS:
        if name != "faces" and name not in available():
            continue
        runs = [labelled(name, seed) for seed in range(n_seeds)]
        for found in zip(*runs, strict=True):
            n, mean = found[0][0], lambda values: float(np.mean(list(values)))
            inside = sum(row[3].low <= row[1] <= row[3].high for row in found)
            print(
                f"{name:6} {n:6}  {mean(r[1] for r in found):9.2f}  {mean(r[2] for r in found):13.2f}  "
                f"{mean(r[3].accuracy for r in found):15.2f}  "
                f"({mean(r[3].low for r in found):.2f} to {mean(r[3].high for r in found):.2f})  "
                f"{inside:4}/{len(found)}  {mean(r[4].accuracy for r in found):20.2f}",
                flush=True,
            )


def seconds() -> None:
    faces = make_faces(100, 5, 6, size=32, random_state=0)
    truth = np.array([f"person {i}" for i in faces.identity], dtype=object)
    fitter, order = Fitter(faces.X), np.random.default_rng(0).permutation(len(truth))
    positions = None
    for n in (0, 200, 210, 220):
        known = np.isin(np.arange(len(truth)), order[:n])
        start = time.perf_counter()
        model, _ = fitter.fit(frame(truth, known))
        fitted = time.perf_counter()
        codes = model.training_codes("y" if n else "rest")
        positions = moved_map(codes, plane(codes), is_first=True) if positions is None else moved_map(codes, positions)
        print(f"{n:4} labels: model {fitted - start:5.1f} s, map {time.perf_counter() - fitted:5.1f} s", flush=True)


def answers(n_labels: int = 100) -> None:
    faces = make_faces(100, 5, 6, size=32, random_state=0)
    data = Dataset(faces.X, np.arange(len(faces.X)).astype(str))
    order, waits = np.random.default_rng(0).permutation(len(faces.X)), []
    with tempfile.TemporaryDirectory() as folder:
        session = Session(data, LabelFile(Path(folder) / "labels.csv", data))
        session.start()
        session.background.wait(session.labels.version, 600)
        for i in order[:n_labels]:
            start = time.perf_counter()
            session.give(session.labels.version, "identity", f"person {faces.identity[i]}", [str(i)])
            saved = time.perf_counter()
            session.state("identity", -1, -1)
            waits.append((saved - start, time.perf_counter() - saved))
            time.sleep(0.3)
        session.close()
    for name, found in zip(("label on the disk", "state of the page"), np.array(waits).T, strict=True):
        print(f"{name}: median {1000 * np.median(found):.0f} ms, longest {1000 * found.max():.0f} ms of {n_labels}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["seconds"]:
        seconds()
    elif sys.argv[1:2] == ["answers"]:
        answers()
    else:
        labels(int(sys.argv[2]) if len(sys.argv) > 2 else 3)

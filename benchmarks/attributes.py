"""Classes, new samples and clusters from a few labels: ``python -m benchmarks.attributes [classes] [--draws 10]``.

Protocol, the same for every method and attribute of a set, over paired draws (seeds 0, 1, ...):

1. 30 % of the samples, drawn at random, are new samples; the others are training samples. Sets of more than 1500
   samples are a sample of 1500 of them.
2. In each attribute 5, 10 or 30 % of the training samples of every class, one at least, are labelled
   (`partial_labels`). No method ever has another label.
3. *unlabelled*: accuracy on the training samples without a label, which were in the fit. *new*: on the new samples.
   *clusters*: clustering accuracy of k-means, as many clusters as classes, of the features of all training samples.

A row of a set is the mean over its attributes and the three shares; the last rows are means over sets, so that sets
with many attributes do not count more. ``settings`` compares choices of the model, and what choosing on the other sets
costs the set left out; ``unlabelled`` is about classes without any label, ``codes`` about the non-negative codes. The
bands and the kinds of steps of the model were found on these sets, with their labels in view.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from laminar import AttributeLayers
from laminar._base.spectral import kmeans
from laminar.baselines import LabelSpreading, PooledLDA
from laminar.datasets import available, load, make_faces, partial_labels
from laminar.metrics import clustering_accuracy, normalized_mutual_information

SETS = {
    "make_faces": ("identity", "pose", "light"),
    "pie_5pose_10id": ("identity", "pose", "illumination"),
    "cmu_faces": ("identity", "pose", "eyes"),
    "yale": ("identity", "condition"),
    "dsprites_style": ("shape", "scale", "pos_x"),  # orientation is at chance for all, pos_y is pos_x again
    "orl": ("identity",),
    "coil20": ("identity", "angle"),  # in eight sectors
    "umist_sequences": ("identity",),
}
SHARES = (0.05, 0.1, 0.3)


class Draw(NamedTuple):
    """Training samples with true and partial labels, new samples with true ones."""

    X: np.ndarray
    truth: np.ndarray
    Y: np.ndarray
    new: np.ndarray
    new_truth: np.ndarray


Scores = np.ndarray  # (n_attributes, 3): unlabelled, new, clusters; NaN where a method has none
Method = Callable[[Draw], Scores]


def samples(name: str, max_samples: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels; of the PIE images those of the full cross of identity, pose and light."""
    bunch = make_faces(20, 5, 6, random_state=0) if name == "make_faces" else load(name, dtype=np.float64)
    columns = [np.asarray(bunch[a], dtype=int) for a in SETS[name]]
    if name == "coil20":
        columns[1] = columns[1] // 9
    chosen = np.flatnonzero(bunch.get("crossed_mask", np.ones(len(bunch.X))))
    if len(chosen) > max_samples:
        chosen = chosen[np.sort(np.random.RandomState(0).permutation(len(chosen))[:max_samples])]
    return np.asarray(bunch.X, dtype=np.float64)[chosen], np.column_stack(columns)[chosen]


def draw(X: np.ndarray, Y: np.ndarray, share: float, seed: int) -> Draw:
    order, n_new = np.random.RandomState(seed).permutation(len(X)), round(0.3 * len(X))
    new, train = np.sort(order[:n_new]), np.sort(order[n_new:])
    return Draw(X[train], Y[train], partial_labels(Y[train], share, random_state=seed), X[new], Y[new])


def cluster_accuracy(E: np.ndarray, truth: np.ndarray) -> float:
    return clustering_accuracy(truth, kmeans(E, len(np.unique(truth)), 0, n_init=10).labels_)


def layered(make: Callable[[], object], around: Callable[[], AbstractContextManager] = nullcontext) -> Method:
    """A model with a layer for each attribute."""

    def scores(draw: Draw) -> Scores:
        with around():
            model = make().fit(draw.X, draw.Y)
        rows = []
        for j, truth in enumerate(draw.truth.T):
            unknown = draw.Y[:, j] < 0
            rows.append(
                (
                    np.mean(model.labels_[j][unknown] == truth[unknown]),
                    np.mean(model.predict(draw.new, j) == draw.new_truth[:, j]),
                    cluster_accuracy(model.training_codes(j), truth),
                )
            )
        return np.array(rows)

    return scores


def classifier(make: Callable[[], object]) -> Method:
    """A classifier of the labelled samples; features are standardised by all training samples, if at all."""

    def scores(draw: Draw) -> Scores:
        rows = []
        for y, truth, new_truth in zip(draw.Y.T, draw.truth.T, draw.new_truth.T, strict=True):
            known = y >= 0
            model = make().fit(draw.X[known], y[known])
            found = [np.mean(model.predict(draw.X[~known]) == truth[~known]), model.score(draw.new, new_truth), np.nan]
            rows.append(found)
        return np.array(rows)

    return scores


def standardised(make: Callable[[], object]) -> Method:
    inner = classifier(make)

    def scores(draw: Draw) -> Scores:
        scaler = StandardScaler().fit(draw.X)
        return inner(draw._replace(X=scaler.transform(draw.X), new=scaler.transform(draw.new)))

    return scores


OURS, POOLED = "AttributeLayers", "pooled LDA"
LINEAR = "linear SVM, standardised"
METHODS: dict[str, Method] = {
    OURS: layered(lambda: AttributeLayers(random_state=0)),
    POOLED: layered(lambda: PooledLDA(random_state=0)),
    "label spreading": layered(lambda: LabelSpreading(random_state=0)),
    LINEAR: standardised(lambda: LinearSVC(random_state=0)),
    "logistic, standardised": standardised(lambda: LogisticRegression(max_iter=200)),
    "linear SVM, pixels": classifier(lambda: LinearSVC(random_state=0)),
}


def without_lda() -> AbstractContextManager:
    """Weights of bands and the start are judged by ridge classifiers alone."""
    stack = ExitStack()
    for module in ("weighting", "discriminants"):
        stack.enter_context(patch(f"laminar.attributes.{module}.lda_hits", lambda *_: 0))
    return stack


SETTINGS: dict[str, Method] = {
    OURS: METHODS[OURS],
    "without LDA": layered(lambda: AttributeLayers(random_state=0), without_lda),
    "share=0": layered(lambda: AttributeLayers(random_state=0, share=0)),
    "share=0.5": layered(lambda: AttributeLayers(random_state=0, share=0.5)),
    "max_iter=1": layered(lambda: AttributeLayers(random_state=0, max_iter=1)),
    "max_iter=3": layered(lambda: AttributeLayers(random_state=0, max_iter=3)),
}


class Cells:
    """Scores of a method on a draw, added to a file as they are measured, so that an interrupted run goes on.

    The file is of one state of the code: with another it is to be deleted.
    """

    def __init__(self, path: Path | None):
        self.path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.found = {tuple(key): scores for key, scores in map(json.loads, lines)}

    def scores(self, key: tuple, measure: Callable[[], Scores]) -> Scores:
        """Return the scores of a cell, measured if they are not in the file."""
        if key not in self.found:
            self.found[key] = measure().tolist()
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([key, self.found[key]]) + "\n")
        return np.array(self.found[key])


def measured(methods: dict[str, Method], options: argparse.Namespace) -> dict[str, dict[str, np.ndarray]]:
    """Scores in % by method and set, of shape (n_shares, n_draws, n_attributes, 3)."""
    methods = {title: method for title, method in methods.items() if title == OURS or options.methods in title}
    found: dict[str, dict[str, np.ndarray]] = {title: {} for title in methods}
    record, n_draws = Cells(options.cells), options.draws
    for name in options.sets:
        X, Y = samples(name)
        print(f"\n{name}, {len(X)} samples: unlabelled / new / clusters, mean and s.d. of {n_draws} draws", flush=True)
        for title, method in methods.items():

            def cell(share: float, seed: int, name=name, X=X, Y=Y, title=title, method=method) -> Scores:
                return record.scores((title, name, share, seed), lambda: method(draw(X, Y, share, seed)))

            found[title][name] = 100 * np.array([[cell(share, seed) for seed in range(n_draws)] for share in SHARES])
            by_draw = found[title][name].mean((0, 2))
            cells = " / ".join(f"{m:5.1f} +- {s:3.1f}" for m, s in zip(by_draw.mean(0), by_draw.std(0), strict=True))
            print(f"{title:28s}{cells}", flush=True)
    return found


def means(found: dict[str, np.ndarray], share: int | slice = slice(None)) -> np.ndarray:
    """Means over draws, attributes and shares, then over sets."""
    return np.mean([scores[share].reshape(-1, 3).mean(0) for scores in found.values()], axis=0)


def print_means(found: dict[str, dict[str, np.ndarray]]) -> None:
    print("\nMeans over sets: unlabelled / new / clusters")
    print(f"{'':28s}{'all':>20s}" + "".join(f"{share:20.0%}" for share in SHARES))
    for title, sets in found.items():
        columns = [means(sets), *(means(sets, slice(i, i + 1)) for i in range(len(SHARES)))]
        print(f"{title:28s}" + "".join(f"{' / '.join(f'{m:.1f}' for m in c):>20s}" for c in columns), flush=True)


def print_differences(found: dict[str, dict[str, np.ndarray]]) -> None:
    """Where a rival is ahead: by set, and by attribute and share."""
    print(f"\n{OURS} less the rival, by set: unlabelled / new / clusters")
    for rival in (title for title in found if title != OURS):
        for name in found[OURS]:
            ours, theirs = (found[title][name].mean((0, 1, 2)) for title in (OURS, rival))
            if np.nanmin(ours - theirs) < 0:
                print(f"{name:20s}{rival:28s}" + " / ".join(f"{d:+.1f}" for d in ours - theirs))
    print("\nCells where a rival is ahead by more than a point on unlabelled or new samples")
    for name, scores in found[OURS].items():
        for a, attribute in enumerate(SETS[name]):
            for i, share in enumerate(SHARES):
                ours = scores[i, :, a].mean(0)
                for rival in (title for title in found if title != OURS):
                    gap = ours - found[rival][name][i, :, a].mean(0)
                    if np.nanmin(gap[:2]) < -1:
                        gaps = " / ".join(f"{d:+.1f}" for d in gap)
                        print(f"{name} {attribute} {share:.0%}: {rival} {gaps}", flush=True)


def classes(options: argparse.Namespace) -> None:
    found = measured(METHODS, options)
    print_means(found)
    print_differences(found)


def settings(options: argparse.Namespace) -> None:
    """Choose the setting with the best mean of unlabelled and new samples on all other sets."""
    found = measured(SETTINGS, options)
    print_means(found)
    if len(options.sets) < 2:
        return
    left_out = []
    for name in options.sets:
        others = {title: {other: s for other, s in sets.items() if other != name} for title, sets in found.items()}
        chosen = max(others, key=lambda title: means(others[title])[:2].mean())
        left_out.append(found[chosen][name].mean((0, 1, 2)))
        print(f"without {name}: {chosen}")
    cells = " / ".join(f"{m:.1f}" for m in np.mean(left_out, axis=0))
    print(f"Chosen on the other sets, scored on the set left out: {cells}")


def unlabelled(options: argparse.Namespace) -> None:
    """Half of the people have no label, and 30 % of the samples of the others do: NMI of clusters of all samples."""
    forms = {f"share={s:g}": (s, "isometric") for s in (0.3, 0.5, 1.0)}
    forms |= {"discriminants": (0.3, "discriminants"), "bands": (0.3, "bands")}
    print(f"NMI of people without / with labels, mean of {options.draws} draws")
    print(f"{'':20s}" + "".join(f"{title:>16s}" for title in (*forms, "PCA")))
    totals = []
    for name in (name for name in options.sets if SETS[name][0] == "identity"):
        X, y = samples(name)[0], samples(name)[1][:, 0]
        rows = []
        for seed in range(options.draws):
            people = np.random.RandomState(seed).permutation(np.unique(y))
            has_labels = np.isin(y, people[: len(people) // 2])
            given = partial_labels(np.where(has_labels, y, -1), 0.3, random_state=seed)
            features = {}
            for title, (share, readout) in forms.items():
                model = AttributeLayers(share=share, readout=readout, random_state=0).fit(X, given)
                features[title] = model.training_codes()
            features["PCA"] = PCA(50, random_state=0).fit_transform(X)
            found = [kmeans(E, len(people), 0, n_init=10).labels_ for E in features.values()]
            parts = (~has_labels, has_labels)
            rows.append([[normalized_mutual_information(y[part], c[part]) for part in parts] for c in found])
        totals.append(np.mean(rows, axis=0))
        print(f"{name:20s}" + "".join(f"{f'{a:.3f} / {b:.3f}':>16s}" for a, b in totals[-1]), flush=True)
    print(f"{'mean':20s}" + "".join(f"{f'{a:.3f} / {b:.3f}':>16s}" for a, b in np.mean(totals, axis=0)))


def codes(options: argparse.Namespace) -> None:
    """What codes H of the discriminants keep of their energy, their zeros, and classifiers of both."""
    print(f"share of energy, zeros, SVM on H, on the discriminants, predict: 10 % labels, {options.draws} draws")
    totals = []
    for name in options.sets:
        X, Y = samples(name)
        rows = []
        for cell in (draw(X, Y, 0.1, seed) for seed in range(options.draws)):
            model = AttributeLayers(share=0, sweeps=0, random_state=0).fit(cell.X, cell.Y)
            for j in range(cell.Y.shape[1]):
                found, layer, known = model._maps[j], model.layers_[j], cell.Y[:, j] >= 0
                T = found.features(model._bank.extend(cell.X, found.maps))
                kept = 1 - np.square(T - found.code(T) @ layer.weights).sum() / np.square(T).sum()
                H = layer.representation / model._bank.length
                svm = make_pipeline(StandardScaler(), LinearSVC(random_state=0, max_iter=5000))
                scores = [
                    svm.fit(E[known], cell.Y[known, j]).score(E[~known], cell.truth[~known, j])
                    for E in (H, model.training_codes(j))
                ]
                own = np.mean(model.labels_[j][~known] == cell.truth[~known, j])
                rows.append([kept, np.mean(H == 0), *scores, own])
        totals.append(np.mean(rows, axis=0))
        print(f"{name:20s}" + "".join(f"{m:8.3f}" for m in totals[-1]), flush=True)
    print(f"{'mean':20s}" + "".join(f"{m:8.3f}" for m in np.mean(totals, axis=0)))


COMMANDS = {"classes": classes, "settings": settings, "unlabelled": unlabelled, "codes": codes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", default="classes", choices=COMMANDS)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--methods", default="", help="of classes and settings, only those with this in their name")
    parser.add_argument("--cells", type=Path, help="of classes and settings, a file of what is measured, to go on from")
    options = parser.parse_args()
    options.sets = [name for name in options.sets if name == "make_faces" or name in available()]
    COMMANDS[options.command](options)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # few labels: solvers of rivals that do not converge
    main()

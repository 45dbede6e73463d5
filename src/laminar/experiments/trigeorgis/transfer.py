"""Fig. 7: pre-training on labelled faces, clusters of others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from laminar import DeepSemiNMF, DeepWSF
from laminar.baselines import WhitenedSpectral
from laminar.metrics import area_under_components, clustering_accuracy, normalized_mutual_information
from laminar.recipes import trigeorgis as published

from ..cells import Cell
from ..data import faces_with_expressions, images
from ..item import item
from ..result import Result, mean_and_spread, paired, table_of_rows

if TYPE_CHECKING:
    from ..run import Run

TARGET = "pie_pose27"
PRINTED = {"own": 36.54, "pre-trained on XM2VTS": 38.10}  # areas under the curves of accuracy
WEIGHTS = {"auxiliary, lambda 0": 0.0, "auxiliary, lambda 0.01": 0.01}
STARTS = ("own", *WEIGHTS)
SOURCE_STEPS = 50  # of Algorithm 2 at most: with 625 codes an iteration takes a third of a second
SCORES = ("accuracy, raw", "NMI, raw", "accuracy, read-out", "NMI, read-out")


def transfer(
    small: bool, activation: str | None, rule: str, layers: tuple[int, int], steps: int, seed: int, n_init: int
) -> dict[str, float]:
    """Fit Deep Semi-NMF to the target from its own pre-training, and from the weights of Deep WSF on other faces.

    Deep WSF is fitted to two thirds of the other people, with their identities on the top layer, and scored on the
    remaining third: the validation.
    """
    X, y = images(TARGET, small).unit, _people(TARGET, small)
    faces, people = faces_with_expressions(small).unit, faces_with_expressions(small).attributes["identity"]
    train = np.isin(people, training_people(people, seed))
    scores: dict[str, float] = {}
    courses: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for start in STARTS:
        begin = time.perf_counter()
        source = None
        if start in WEIGHTS:
            source = labelled(faces[train], people[train], WEIGHTS[start], activation, rule, layers, steps, seed)
            codes, truth = source.transform(faces[~train], readout="raw"), people[~train]
            means = KMeans(len(np.unique(truth)), n_init=n_init, random_state=seed)
            scores[f"{start}: validation"] = clustering_accuracy(truth, means.fit_predict(codes))
        prepared = time.perf_counter()
        model = fine_tuned(X, source, activation, rule, layers, steps, seed)
        done = time.perf_counter()
        courses[start] = model.history_iterations_, np.sqrt(2 * model.objective_history_)
        for readout, form in (("raw", "raw"), ("read-out", 0.75)):
            found = model.cluster(n_clusters=len(np.unique(y)), readout=form, n_init=n_init)
            scores[f"{start}: accuracy, {readout}"] = clustering_accuracy(y, found)
            scores[f"{start}: NMI, {readout}"] = normalized_mutual_information(y, found)
        scores[f"{start}: error"] = model.reconstruction_err_ / np.sqrt(len(X))
        scores[f"{start}: seconds before"] = prepared - begin
        scores[f"{start}: seconds"] = done - prepared
    for start, needed in iterations_to_equal_error(courses).items():
        scores[f"{start}: iterations"] = needed
    return scores


def _people(name: str, small: bool) -> np.ndarray:
    return images(name, small).attributes["identity"]


def training_people(people: np.ndarray, seed: int) -> np.ndarray:
    """Return two thirds of the people, at random."""
    distinct = np.unique(people)
    return np.random.default_rng(seed).permutation(distinct)[: round(2 * len(distinct) / 3)]


def labelled(
    X: np.ndarray,
    y: np.ndarray,
    weight: float,
    activation: str | None,
    rule: str,
    layers: tuple[int, int],
    steps: int,
    seed: int,
) -> Any:
    """Return Deep WSF of X, labels on the top layer."""
    settings: dict[str, Any] = {"alphas": weight, "random_state": seed}
    if activation is not None:
        settings |= {"activation": activation, "max_iter": steps}
    if rule == "laminar":
        return DeepWSF(layers, **settings).fit(X, y)
    limits = {"max_iter": min(steps, SOURCE_STEPS), "pretraining_max_iter": steps}
    return published.deep_wsf(layers, attribute_layers=None, **{**settings, **limits}).fit(X, y)


def fine_tuned(
    X: np.ndarray, source: Any, activation: str | None, rule: str, layers: tuple[int, int], steps: int, seed: int
) -> Any:
    """Return Deep Semi-NMF of X, from its own pre-training or from the weights of another model.

    Of the published rule without activation it is the top layer: fine-tuning by Algorithm 1 is the published rule of
    Semi-NMF from the codes of the start, iteration by iteration, if no hidden layer is smaller (docs/methods.md 5.1).
    """
    first, k = layers
    if rule == "published" and activation is None:
        if source is None:
            limits = {"max_iter": 0, "pretraining_max_iter": steps}
            codes = published.deep_semi_nmf(k, first, random_state=seed, **limits).fit(X).layers_[-1].representation
        else:
            codes = source.transform(X, readout="raw")
        return published.semi_nmf(k, init=(codes, None), max_iter=steps, random_state=seed).fit(X)
    settings: dict[str, Any] = {"random_state": seed}
    if activation is not None:
        settings |= {"activation": activation, "max_iter": steps}
    if rule == "published":
        alone = {"pretraining_max_iter": steps} if source is None else {"pretraining_max_iter": None, "init": "auto"}
        return published.deep_semi_nmf(k, first, **{**settings, **alone}).fit(X, init=source)
    return DeepSemiNMF(layers, **settings).fit(X, init=source)


def iterations_to_equal_error(courses: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """Return the iterations that each start needs to the error that all of them reach."""
    level = max(errors.min() for _, errors in courses.values()) * (1 + 1e-6)
    return {start: float(iterations[np.argmax(errors <= level)]) for start, (iterations, errors) in courses.items()}


def baseline(small: bool, seed: int, n_init: int) -> dict[str, float]:
    """Score the clusters of whitened scores of the target."""
    data, y = images(TARGET, small), _people(TARGET, small)
    found = WhitenedSpectral(len(np.unique(y)), n_init=n_init, random_state=seed).fit_predict(data.unit)
    return {"accuracy": clustering_accuracy(y, found), "NMI": normalized_mutual_information(y, found)}


@item(
    "trigeorgis-fig7",
    "Deep Semi-NMF from weights of Deep WSF, learned on other faces with names, clusters CMU PIE better than from its "
    "own pre-training, and learns faster.",
)
def figure7(run: Run) -> Result:
    """Fig. 7: supervised pre-training on other faces, clusters of the identities of the target."""
    data, n_init = images(TARGET, run.quick), 10
    sizes, first, narrow, steps, few = ((10, 20), 30, 30, 10, 5) if run.quick else ((20, 40, 70), 625, 200, 100, 30)
    cells = []
    for activation, at, hidden, limit in ((None, sizes, first, steps), ("stanh", sizes[1:2], narrow, few)):
        for rule in ("published", "laminar"):
            for k in at:
                for seed in run.seeds(2):
                    names = {"model": activation or "linear", "rule": rule, "components": k, "seed": seed}
                    arguments = (run.quick, activation, rule, (hidden, k), limit, seed, n_init)
                    cells.append(Cell(names, transfer, arguments))
    wide = run.cells("trigeorgis-fig7", cells)
    found = _long(wide)
    others = [Cell({"seed": seed}, baseline, (run.quick, seed, n_init)) for seed in run.seeds(2)]
    plain = run.cells("trigeorgis-fig7: baseline", others)
    chosen = _chosen(found)
    title = f"Trigeorgis et al., Fig. 7: supervised pre-training on rendered faces, {data.title}"
    tables = [
        ("Clusters of the identities, by number of components", _clusters(found, plain, chosen, sizes)),
        ("Fine-tuning", _speed(found, chosen)),
    ]
    n_people = len(np.unique(_people(TARGET, run.quick)))
    return Result(
        title,
        found,
        tables,
        _verdict(found, plain, chosen),
        [
            *_sentences(found, chosen),
            "XM2VTS is licensed: rendered faces are the auxiliary set. Two thirds of its people train Deep WSF, "
            "identities on the top layer; lambda is chosen by the clusters of the others. Other poses of CMU PIE would "
            f"show the target's own people{'.' if data.title.startswith(TARGET) else ', as a rendered target may.'}",
            f"Layers {first}-k, at most {steps} iterations a stage as published, {min(steps, SOURCE_STEPS)} of "
            f"Algorithm 2; stanh {narrow}-{sizes[1]}, {few} iterations. k-means with {n_init} starts, {n_people} "
            "clusters. Algorithm 1 runs as the Semi-NMF that it is (docs/methods.md 5.1).",
            f"Printed areas (XM2VTS, 20 to 70 components): {PRINTED['own']:.2f} from its own pre-training, "
            f"{PRINTED['pre-trained on XM2VTS']:.2f} from XM2VTS.",
        ],
        lambda: _curves(found, plain, chosen, sizes, title),
    )


def _long(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each start of each cell."""
    rows = []
    for cell in cells.to_dict("records"):
        names = {name: cell[name] for name in ("model", "rule", "components", "seed")}
        for start in STARTS:
            parts = {name.partition(": ")[2]: cell[name] for name in cell if name.startswith(f"{start}: ")}
            rows.append({**names, "start": start, **parts})
    return pd.DataFrame(rows)


def _chosen(found: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return, of each model and rule, the weight with the best clusters of the validation people."""
    means = found[found["start"] != "own"].groupby(["model", "rule", "start"], sort=False)["validation"].mean()
    return {key: part.droplevel([0, 1]).idxmax() for key, part in means.groupby(level=[0, 1], sort=False)}


def _clusters(found: pd.DataFrame, plain: pd.DataFrame, chosen: dict, sizes: tuple[int, ...]) -> pd.DataFrame:
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for (model, rule, start), part in found.groupby(["model", "rule", "start"], sort=False):
        row: dict[str, str] = {}
        for score in SCORES[::2]:
            for k in sizes:
                row[f"{score}, {k}"] = mean_and_spread(part[part["components"] == k][score])
            means = part.groupby("components")[score].mean()
            area = 50 * area_under_components(sizes, means.to_numpy()) / np.ptp(sizes) if len(means) > 1 else None
            row[f"area, {score.partition(', ')[2]}"] = "-" if area is None else f"{area:.2f}"
        for score in SCORES[1::2]:
            row[score] = mean_and_spread(part.groupby("seed")[score].mean())
        rows[model, rule, _named(start, chosen[model, rule])] = row
    columns = list(next(iter(rows.values())))
    scores = dict.fromkeys(columns, "-")
    scores |= {name: mean_and_spread(plain["accuracy"]) for name in columns if name.startswith("accuracy")}
    scores |= {name: mean_and_spread(plain["NMI"]) for name in columns if name.startswith("NMI")}
    scores |= {name: f"{50 * plain['accuracy'].mean():.2f}" for name in columns if name.startswith("area")}
    rows["whitened scores, rank graph", "baseline", "-"] = scores
    return table_of_rows(rows, ["model", "rule", "start"])


def _speed(found: pd.DataFrame, chosen: dict) -> pd.DataFrame:
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for (model, rule, start), part in found.groupby(["model", "rule", "start"], sort=False):
        rows[model, rule, _named(start, chosen[model, rule])] = {
            "iterations to equal error": mean_and_spread(part["iterations"], 1),
            "error per image": mean_and_spread(part["error"], 4),
            "validation accuracy": mean_and_spread(part["validation"].dropna()),
            "seconds on auxiliary set": mean_and_spread(part["seconds before"], 1),
            "seconds": mean_and_spread(part["seconds"], 1),
        }
    return table_of_rows(rows, ["model", "rule", "start"])


def _named(start: str, best: str) -> str:
    return f"{start} (chosen)" if start == best else start


def _compared(found: pd.DataFrame, chosen: dict, model: str, rule: str) -> pd.DataFrame:
    """Return the rows of the own start and of the chosen one, which is called "auxiliary"."""
    part = found[(found["model"] == model) & (found["rule"] == rule)]
    part = part[part["start"].isin(["own", chosen[model, rule]])]
    return part.assign(start=part["start"].where(part["start"] == "own", "auxiliary"))


def _verdict(found: pd.DataFrame, plain: pd.DataFrame, chosen: dict) -> str:
    means = _compared(found, chosen, "linear", "published").groupby("start").mean(numeric_only=True)
    own, other = means.loc["own"], means.loc["auxiliary"]
    return (
        f"as published the accuracy is {other['accuracy, raw']:.2f} from the auxiliary weights and "
        f"{own['accuracy, raw']:.2f} from its own pre-training (raw codes; Laminar's read-out "
        f"{other['accuracy, read-out']:.2f} and {own['accuracy, read-out']:.2f}), after {other['iterations']:.0f} and "
        f"{own['iterations']:.0f} iterations to an equal error; the baseline has {plain['accuracy'].mean():.2f}."
    )


def _sentences(found: pd.DataFrame, chosen: dict) -> list[str]:
    parts = []
    for model, rule in chosen:
        part = _compared(found, chosen, model, rule)
        scores = (f"accuracy, {'raw' if rule == 'published' else 'read-out'}", "iterations")
        differences = [paired(part, score, "start", "auxiliary", "own", ["components", "seed"]) for score in scores]
        parts.append(f"{model}, {rule}: {'; '.join(differences)}.")
    without, with_labels = WEIGHTS
    labels = [
        paired(found[found["model"] == "linear"], score, "start", with_labels, without, ["rule", "components", "seed"])
        for score in ("accuracy, raw", "accuracy, read-out")
    ]
    return [*parts, f"What the labels of the auxiliary set add, linear: {'; '.join(labels)}."]


def _curves(found: pd.DataFrame, plain: pd.DataFrame, chosen: dict, sizes: tuple[int, ...], title: str) -> Any:
    from laminar.plots import score_curves

    curves = {}
    for rule, score in (
        ("published", "accuracy, raw"),
        ("laminar", "accuracy, raw"),
        ("laminar", "accuracy, read-out"),
    ):
        part = _compared(found, chosen, "linear", rule)
        for start, rows in part.groupby("start", sort=False):
            name = f"{rule}, {score.partition(', ')[2]}, {start}"
            curves[name] = rows.pivot(index="components", columns="seed", values=score).to_numpy()
    curves["whitened scores"] = np.tile(plain["accuracy"].to_numpy(), (len(sizes), 1))
    return score_curves(sizes, curves, title=title.partition(": ")[0])

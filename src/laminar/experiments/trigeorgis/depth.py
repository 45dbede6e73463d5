"""Number of layers against accuracy (arXiv:1509.03248, Fig. 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import kruskal, spearmanr
from sklearn.base import clone

from laminar import DeepSemiNMF
from laminar.metrics import clustering_accuracy
from laminar.recipes import trigeorgis as published

from ..cells import Cell
from ..data import Images, images
from ..item import item
from ..result import Result, mean_and_spread, table_of_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..run import Run

TOP = 40  # components of the last layer
MEAN = 400  # of the exponential distribution of the sizes of the others
DEPTHS = (2, 3, 4)
N_INIT = 10
ITERATIONS = 30  # as published, of each layer and of fine-tuning
READOUTS = {"raw": "k-means of raw codes", "auto": "Laminar's read-out"}


def sizes_of(seed: int, largest: int, top: int = TOP, mean: float = MEAN) -> tuple[int, ...]:
    """Draw the sizes of the layers of a configuration: decreasing, from the last layer's to the largest.

    Parameters
    ----------
    seed : int
        Number of the configuration; depths take turns.
    largest : int
        Largest size; what is drawn above it or below ``top`` is set to it.
    top : int, default=40
        Size of the last layer.
    mean : float, default=400
        Mean of the exponential distribution.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> sizes_of(2, 600)
    (205, 87, 51, 40)
    """
    hidden = np.random.default_rng(seed).exponential(mean, DEPTHS[seed % len(DEPTHS)] - 1)
    return (*sorted((int(np.clip(size, top, largest)) for size in hidden), reverse=True), top)


def some_people(name: str, small: bool) -> Images:
    """Return the images of every second person."""
    data = images(name, small)
    keep = data.attributes["identity"] % 2 == 0
    kept = {attribute: labels[keep] for attribute, labels in data.attributes.items()}
    return Images(data.X[keep], kept, f"{data.title}, every second person")


def accuracy_of(name: str, small: bool, model: Any, seed: int, n_init: int) -> dict[str, float]:
    """Fit a model; return its error, and the accuracy of the clusters of its last layer by two read-outs."""
    data = some_people(name, small)
    y = data.attributes["identity"]
    fit = clone(model).set_params(random_state=seed).fit(data.unit)
    scores = {"error": fit.reconstruction_err_}
    for readout in READOUTS:
        found = fit.cluster(readout=readout, n_clusters=len(np.unique(y)), n_init=n_init)
        scores[readout] = clustering_accuracy(y, found)
    return scores


@item("trigeorgis-depth", "Deep Semi-NMF with more layers, of two to four, clusters the identities of CMU PIE better.")
def depth(run: Run) -> Result:
    """Accuracy of 200 random configurations of two, three and four layers."""
    name = "pie_pose27"
    data = some_people(name, run.quick)
    # In small the images are few: smaller layers.
    top, mean, largest = (10, 30, 60) if run.quick else (TOP, MEAN, min(data.X.shape) - 1)
    n_iter = 10 if run.quick else ITERATIONS
    counts = {"laminar": 12, "published": 6} if run.quick else {"laminar": 200, "published": 9}
    cells = []
    for rule, count in counts.items():
        for seed in range(count):
            layers = sizes_of(seed, largest, top, mean)
            model = DeepSemiNMF(layers)
            if rule == "published":
                limits = {"max_iter": n_iter, "pretraining_max_iter": n_iter}
                model = published.deep_semi_nmf(layers[-1], layers[:-1], init="random", **limits)
            names = {"rule": rule, "layers": len(layers), "sizes": "-".join(map(str, layers)), "seed": seed}
            cells.append(Cell(names, accuracy_of, (name, run.quick, model, seed, N_INIT)))
    found = run.cells("trigeorgis-depth", cells)
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for rule, part in found.groupby("rule", sort=False):
        for score, label in {**READOUTS, "error": "error"}.items():
            by_depth = part.groupby("layers")[score]
            texts = {f"{layers} layers": mean_and_spread(by_depth.get_group(layers)) for layers in DEPTHS}
            rows[str(rule), label] = {**texts, "seconds": f"{part['seconds'].sum():.0f}"}
    table = table_of_rows(rows, ["rule", "accuracy by"])
    sentences = [
        f"{rule}, {label}: {effect(found[found['rule'] == rule], readout)}."
        for rule in counts
        for readout, label in READOUTS.items()
    ]
    sentences.append(
        f"{counts['laminar']} configurations by Laminar's default, {counts['published']} of them as published from a "
        f"random start with {n_iter} iterations of each layer and of fine-tuning. Layers end with {top} components, "
        f"the others are exponential with mean {mean}, sorted, and cut to {top} to {largest}. "
        f"k-means has {N_INIT} starts. In linear layers fine-tuning is Semi-NMF from the start that pre-training made "
        "(docs/methods.md 5.1): depth changes that start, and how many iterations there are in all, nothing else."
    )
    title = f"Trigeorgis et al. (arXiv), Fig. 6: accuracy by number of layers, {data.title}"
    caption = f"Accuracy, and ``||X - H Z||``, of {len(data.X)} images: mean and spread over the configurations"
    return Result(title, found, [(caption, table)], verdict_of(found), sentences, lambda: draw(found, data.title))


def effect(part: pd.DataFrame, score: str) -> str:
    """State how accuracy changes with the number of layers, with two tests.

    Parameters
    ----------
    part : DataFrame
        A row a configuration, with its number of layers.
    score : str
        Column of the accuracy.

    Returns
    -------
    str

    Examples
    --------
    >>> effect(pd.DataFrame({"layers": [2, 2, 3, 3], "raw": [0.1, 0.2, 0.5, 0.6]}), "raw")
    '3 - 2 layers: +0.400, Kruskal-Wallis p = 0.12, rank correlation +0.89'
    """
    groups = {layers: values.to_numpy() for layers, values in part.groupby("layers")[score]}
    least, most = min(groups), max(groups)
    gain = f"{most} - {least} layers: {groups[most].mean() - groups[least].mean():+.3f}"
    if np.ptp(part[score]) == 0:
        return f"{gain}, all are equal"
    correlation = spearmanr(part["layers"], part[score]).statistic
    return f"{gain}, Kruskal-Wallis p = {kruskal(*groups.values()).pvalue:.2g}, rank correlation {correlation:+.2f}"


def verdict_of(found: pd.DataFrame) -> str:
    """State whether more layers help, as published on raw codes and with Laminar's default."""
    parts = []
    for rule, readout in (("published", "raw"), ("laminar", "auto")):
        part = found[found["rule"] == rule]
        by_depth = part.groupby("layers")[readout].mean()
        groups = [values.to_numpy() for _, values in part.groupby("layers")[readout]]
        clear = np.ptp(part[readout]) > 0 and kruskal(*groups).pvalue < 0.01
        rises = by_depth.iloc[-1] > by_depth.iloc[0]
        word = f"more layers are {'better' if rises else 'worse'}" if clear else "no clear difference"
        accuracies = ", ".join(f"{value:.2f}" for value in by_depth)
        parts.append(f"{rule} ({READOUTS[readout]}): {word}, accuracy {accuracies} with 2, 3, 4 layers")
    return "; ".join(parts) + "."


def draw(found: pd.DataFrame, title: str) -> Figure:
    """Draw box plots by number of layers: as published on raw codes, and Laminar's default."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (rule, readout) in zip(panels, (("published", "raw"), ("laminar", "auto")), strict=True):
        part = found[found["rule"] == rule]
        values = [part.loc[part["layers"] == layers, readout].to_numpy() for layers in DEPTHS]
        axes.boxplot(values, positions=range(len(DEPTHS)), widths=0.5, showfliers=False)
        for place, scores in enumerate(values):
            sideways = place + 0.18 * np.linspace(-1, 1, len(scores) + 2)[1:-1]
            axes.plot(sideways, scores, "o", ms=3, mew=0, color="C0", alpha=0.5)
        axes.set_xticks(range(len(DEPTHS)), [str(layers) for layers in DEPTHS])
        axes.set(xlabel="number of layers", title=f"{rule}: {READOUTS[readout]}", ylim=(0, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.4)
    panels[0].set_ylabel("clustering accuracy")
    figure.suptitle(title, fontsize=11)
    return figure

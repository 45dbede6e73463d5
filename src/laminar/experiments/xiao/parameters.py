"""Fig. 4: the weights of the penalty, and a choice of them without hidden labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from laminar import ClassDrivenNMF, select_penalty
from laminar.datasets import partial_labels
from laminar.recipes import xiao as published

from ..cells import Cell
from ..data import images
from ..item import item
from ..result import Result, mean_and_spread, table_of_rows
from .tables import N_INIT, SHARE, Method, chosen_classes, scores_of_draw

if TYPE_CHECKING:
    from ..run import Run

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
OF_PAPER = {"cdNMF_F": 1.0, "cdNMF_KL": 10.0}  # on Yale
LEAST = 2  # labels a class, a tenth rounded up: of a single one none can be held out
CLASSES = 10
NO_PENALTY = 0.0


def scores_at_weight(
    name: str, small: bool, model: Any, weight: float, n_classes: int, seed: int, n_init: int
) -> dict[str, float]:
    """Score k-means of the codes of a fit with this weight of the penalty."""
    data = images(name, small)
    method = Method(clone(model).set_params(alpha=weight), True, "raw", LEAST)
    return scores_of_draw(data.X, data.attributes["identity"], method, n_classes, seed, n_init)


def chosen_weight(
    name: str, small: bool, model: Any, grid: tuple[float, ...], n_classes: int, seed: int, repeats: int
) -> dict[str, float]:
    """Choose the weight by `select_penalty`, which sees the labels that are given and no other."""
    data = images(name, small)
    rows, y = chosen_classes(data.attributes["identity"], n_classes, seed)
    given = partial_labels(y, SHARE, LEAST, random_state=seed)
    model = clone(model).set_params(random_state=seed, readout="raw")
    found = select_penalty(
        model, data.X[rows], given, grid=grid, score="classes", n_repeats=repeats, random_state=seed, verbose=0
    )
    return {"weight": float(found.best_)}


@item("xiao-fig4", "cdNMF is stable: accuracy and NMI on Yale change little with lambda and gamma from 0.01 to 100.")
def figure4(run: Run) -> Result:
    """Fig. 4: accuracy and NMI by weight of the penalty, 10 classes of Yale."""
    name, n_classes = "yale", 2 if run.quick else CLASSES
    grid = GRID[::2] if run.quick else GRID
    repeats = 2 if run.quick else 5
    models = {
        ("cdNMF_F", "published"): published.cdnmf_f(n_classes),
        ("cdNMF_KL", "published"): published.cdnmf_kl(n_classes),
        ("cdNMF_F", "laminar"): ClassDrivenNMF(n_classes),
        ("cdNMF_KL", "laminar"): ClassDrivenNMF(n_classes, loss="kl"),
    }
    seeds, cells, choices = run.seeds(10), [], []
    for (method, rule), model in models.items():
        if run.quick:
            model.set_params(max_iter=50)
        for seed in seeds:
            names = {"method": method, "rule": rule, "seed": seed}
            for weight in (NO_PENALTY, *grid):
                arguments = (name, run.quick, model, weight, n_classes, seed, N_INIT)
                cells.append(Cell({**names, "weight": weight}, scores_at_weight, arguments))
            choices.append(Cell(names, chosen_weight, (name, run.quick, model, grid, n_classes, seed, repeats)))
    found = run.cells("xiao-fig4", cells)
    chosen = run.cells("xiao-fig4: choice of the weight", choices)
    means, rows = {}, {}
    for (method, rule), part in found.groupby(["method", "rule"], sort=False):
        own = chosen[(chosen["method"] == method) & (chosen["rule"] == rule)]
        at_choice = own.merge(part, on=["method", "rule", "seed", "weight"])["accuracy"]
        by_weight = part.groupby("weight")["accuracy"].mean()
        means[method, rule] = by_weight
        rows[method, rule] = {
            **{f"{w:g}": mean_and_spread(part[part["weight"] == w]["accuracy"]) for w in (NO_PENALTY, *grid)},
            "at the choice of each draw": mean_and_spread(at_choice),
            "chosen": ", ".join(f"{w:g} ({n})" for w, n in own["weight"].value_counts(sort=False).sort_index().items()),
        }
    table = table_of_rows(rows, ["method", "rule"])
    ranges = {key: float(np.ptp(by_weight[list(grid)])) for key, by_weight in means.items()}
    gains = {key: float(by_weight[list(grid)].max() - by_weight[NO_PENALTY]) for key, by_weight in means.items()}
    largest = max(value for key, value in ranges.items() if key[1] == "published")
    verdict = (
        f"as published accuracy moves by {ranges['cdNMF_F', 'published']:.1f} (lambda) and "
        f"{ranges['cdNMF_KL', 'published']:.1f} points (gamma) over four powers of ten, with Laminar's defaults by "
        f"{ranges['cdNMF_F', 'laminar']:.1f} and {ranges['cdNMF_KL', 'laminar']:.1f}: "
        f"{'stable' if largest < 5 else 'not stable'}, as 5 points are the limit here."
    )
    gained = ", ".join(f"{gain:+.1f} {method}, {rule}" for (method, rule), gain in gains.items())
    sentences = [
        f"The best weight against none, by hindsight: {gained}; where this is little, so is what could be unstable.",
        "`select_penalty` hides one of the two labels of each class and predicts it: no label of another image is "
        "seen. With one label a class, a tenth rounded down, nothing can be held out and nothing chosen.",
    ]

    def draw() -> Any:
        return _drawn(found, chosen, grid)

    shown = images(name, run.quick).title
    title = f"Xiao et al., Fig. 4: weight of the penalty, {n_classes} classes, {shown}"
    caption = f"Accuracy in % by weight, {len(seeds)} draws, {LEAST} labels a class, k-means of S with {N_INIT} starts"
    return Result(title, found, [(caption, table)], verdict, sentences, draw)


def _drawn(found: pd.DataFrame, chosen: pd.DataFrame, grid: tuple[float, ...]) -> Any:
    """Draw accuracy and NMI by weight; triangles have the weights chosen, larger where chosen in more draws."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.9), layout="constrained")
    places = figure.subplots(1, 2, sharey=True)
    for axes, (method, symbol) in zip(places, (("cdNMF_F", "lambda"), ("cdNMF_KL", "gamma")), strict=True):
        for rule, colour in (("published", "#0072b2"), ("laminar", "#d55e00")):
            part = found[(found["method"] == method) & (found["rule"] == rule) & (found["weight"] > 0)]
            for score, style in (("accuracy", "-"), ("nmi", "--")):
                means = part.groupby("weight")[score].mean()
                shown = "NMI" if score == "nmi" else score
                axes.plot(means.index, means, style, marker="o", ms=4, color=colour, label=f"{shown}, {rule}")
            own = chosen[(chosen["method"] == method) & (chosen["rule"] == rule)]["weight"].value_counts()
            place = 0.03 if rule == "published" else 0.08
            axes.scatter(
                own.index, np.full(len(own), place), s=25 * own, marker="^", color=colour, alpha=0.7, lw=0,
                transform=axes.get_xaxis_transform(), label=f"chosen, {rule}",
            )  # fmt: skip
        axes.axvline(OF_PAPER[method], color="#bbbbbb", lw=1, zorder=0, label="weight of the paper")
        axes.set(xscale="log", xlabel=f"{symbol} of {method}", xticks=list(grid))
        axes.spines[["top", "right"]].set_visible(False)
    places[0].set_ylabel("%")
    low, high = places[0].get_ylim()
    places[0].set_ylim(low - 0.15 * (high - low), high)
    places[1].legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02), markerscale=0.6)
    return figure

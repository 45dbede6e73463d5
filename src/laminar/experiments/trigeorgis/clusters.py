"""Figs. 4 to 6: clusters by number of components."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from laminar.metrics import area_under_components

from ..data import images
from ..item import item
from ..result import Result, mean_and_spread, paired
from .models import N_INIT, SEEDS, Setting, fits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..run import Run

AREAS = {  # of accuracy, CMU PIE pixels, of 50
    "Semi-NMF": 27.68,
    "NMF (MUL)": 25.75,
    "Multi-layer NMF": 28.15,
    "GNMF": 29.18,
    "NeNMF": 29.14,
    "Deep Semi-NMF": 36.54,
    "Deep Semi-NMF tanh": 36.68,
    "Deep Semi-NMF square": 38.50,
}
RAW, OURS = "raw", "auto"  # read-outs of `cluster`
LABEL = {RAW: "k-means of raw codes", OURS: "Laminar's read-out"}


def scores_of(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each model, size, read-out and seed of k-means, with accuracy and NMI.

    Parameters
    ----------
    found : DataFrame
        A row a fit, as `models.fits` returns.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> found = pd.DataFrame([{"method": "NMF", "rule": "laminar", "components": 20, "accuracy, raw, seed 1": 0.5}])
    >>> scores_of(found).to_dict("records")
    [{'method': 'NMF', 'rule': 'laminar', 'components': 20, 'readout': 'raw', 'seed': 1, 'accuracy': 0.5}]
    """
    names = ["method", "rule", "components"]
    columns = [column for column in found.columns if re.fullmatch(r"\w+, \w+, seed \d+", column)]
    long = found[names + columns].melt(names, columns).dropna(subset="value")
    parts = long["variable"].str.extract(r"(?P<score>\w+), (?P<readout>\w+), seed (?P<seed>\d+)")
    long = long.assign(score=parts["score"], readout=parts["readout"], seed=parts["seed"].astype(int))
    keys = [*names, "readout", "seed"]
    wide = long.pivot_table(index=keys, columns="score", values="value", sort=False).reset_index()
    return wide.rename_axis(columns=None)


def areas_of(scores: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return the area under the curve of each model, read-out and seed, of 50; of a baseline, its score times 50.

    Parameters
    ----------
    scores : DataFrame
        As `scores_of` returns.
    score : str
        Accuracy or nmi.

    Returns
    -------
    DataFrame
        A row a model, rule and read-out, a column a seed.

    Examples
    --------
    >>> scores = pd.DataFrame({"components": [20, 40], "seed": [0, 0], "accuracy": [0.5, 0.7]})
    >>> float(areas_of(scores.assign(method="NMF", rule="laminar", readout="auto"), "accuracy").iloc[0, 0])
    30.0
    """

    def area(values: pd.Series) -> float:
        x = values.index.get_level_values("components")
        if len(x) == 1:
            return 50 * float(values.iloc[0])
        return area_under_components(x, values.to_numpy()) * 50 / (max(x) - min(x))

    keys = ["method", "rule", "readout", "seed"]
    return scores.set_index([*keys, "components"])[score].groupby(keys, sort=False).apply(area).unstack("seed")


@item(
    "trigeorgis-fig4",
    "Clusters of Deep Semi-NMF agree with the identities more than those of Semi-NMF and of all variants of NMF.",
)
def figure4(run: Run) -> Result:
    """Figs. 4 and 5 on CMU PIE: clusters by number of components, all eight curves."""
    setting = Setting("pie_pose27").of(run)
    data = images(setting.name, run.quick)
    found = fits(run, "trigeorgis-fig4", setting)
    scores = scores_of(found)
    printed = AREAS if data.title == setting.name else {}
    table = table_of(found, scores, printed)
    title = f"Trigeorgis et al., Figs. 4 and 5: clusters, {data.title}"
    sentences = [*compared(scores), *start_of(scores), how(setting)]
    caption = "Areas under the curves, of 50: mean and spread over the seeds of k-means"
    return Result(
        title, found, [(caption, table)], verdict_of(scores), sentences, lambda: draw(scores, setting, data.title)
    )


def table_of(found: pd.DataFrame, scores: pd.DataFrame, printed: dict[str, float]) -> pd.DataFrame:
    """Return the table of areas of all models, as text."""
    areas = {score: areas_of(scores, score) for score in ("accuracy", "nmi")}
    seconds = found.groupby(["method", "rule"])["seconds"].sum()
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for method, rule, readout in areas["accuracy"].index:
        row = rows.setdefault((method, rule), {"printed": ""})
        if rule == "published" and method in printed:
            row["printed"] = f"{printed[method]:.2f}"
        for score, name in (("accuracy", "accuracy"), ("nmi", "NMI")):
            row[f"{name}, {LABEL[readout]}"] = mean_and_spread(areas[score].loc[(method, rule, readout)])
    for place, row in rows.items():
        row["seconds"] = f"{seconds[place]:.0f}"
    columns = ["printed", *(f"{name}, {LABEL[r]}" for r in (RAW, OURS) for name in ("accuracy", "NMI")), "seconds"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).fillna("")
    table.index = pd.MultiIndex.from_tuples(rows, names=["model", "rule"])
    return table if printed else table.drop(columns="printed")


def verdict_of(scores: pd.DataFrame, what: str = "") -> str:
    """Say whether the claim holds as published, and what is first."""
    areas = areas_of(scores, "accuracy").mean(axis=1)
    raw = areas.xs(("published", RAW), level=("rule", "readout"))
    others = raw[[name for name in raw.index if not name.startswith("Deep")]]
    holds = "holds" if raw["Deep Semi-NMF"] > others.max() else "does not hold"
    ours = areas.xs(("published", OURS), level=("rule", "readout"))
    baseline = areas.xs("baseline", level="rule").max()
    return (
        f"{what}as published Deep Semi-NMF has {raw['Deep Semi-NMF']:.1f} of 50 and the best single-layer or NMF model "
        f"({others.idxmax()}) {others.max():.1f}: {holds}. With Laminar's read-out of the same codes the eight have "
        f"{ours.min():.1f} to {ours.max():.1f}, spectral clusters of whitened scores, without a model, {baseline:.1f}."
    )


def compared(scores: pd.DataFrame) -> list[str]:
    """Compare Deep Semi-NMF and Semi-NMF on the same sizes and seeds, by both read-outs."""
    over = ["components", "seed"]
    told = []
    for rule, readout in (("published", RAW), ("published", OURS), ("laminar", OURS)):
        part = scores[(scores["rule"] == rule) & (scores["readout"] == readout)]
        said = paired(part, "accuracy", "method", "Deep Semi-NMF", "Semi-NMF", over)
        told.append(f"{rule}, {LABEL[readout]}: {said}.")
    return told


def start_of(scores: pd.DataFrame) -> list[str]:
    """Say what the start of the published rules changes."""
    areas = areas_of(scores, "accuracy").mean(axis=1).xs(RAW, level="readout")
    parts = [
        f"{method} {areas[method, 'published']:.1f} and {areas[method, 'published, random start']:.1f}"
        for method in ("Semi-NMF", "Deep Semi-NMF")
        if (method, "published, random start") in areas.index
    ]
    return [f"From singular values, as printed, and from a random start: {', '.join(parts)} of 50."] if parts else []


def how(setting: Setting) -> str:
    """Say how many starts, seeds and iterations there were."""
    return (
        f"All have k-means with {N_INIT} starts and {SEEDS} seeds, and one fit. Areas over {setting.sizes[0]} to "
        f"{setting.sizes[-1]} components ({len(setting.sizes)} sizes) are rescaled to 50. Iterations as published: at "
        f"most {setting.plain} of one layer, {setting.layered} of each of two layers and of fine-tuning, "
        f"{setting.curved} of fine-tuning with tanh and square."
    )


def draw(scores: pd.DataFrame, setting: Setting, title: str) -> Figure:
    """Draw accuracy against components: the published curves, Laminar's, and the baseline."""
    from laminar.plots import score_curves

    def curve(part: pd.DataFrame) -> Any:
        return part.pivot_table(index="components", columns="seed", values="accuracy").to_numpy()

    curves = {}
    for method, part in scores[(scores["rule"] == "published") & (scores["readout"] == RAW)].groupby(
        "method", sort=False
    ):
        curves[f"{method}, published"] = curve(part)
    for method, rule in (("Deep Semi-NMF", "laminar"), ("SmoothedSemiNMF", "recommended")):
        curves[f"{method}, {rule}"] = curve(scores[(scores["method"] == method) & (scores["rule"] == rule)])
    return score_curves(setting.sizes, curves, title=title)

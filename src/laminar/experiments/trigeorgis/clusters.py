"""Figs. 4 to 6: clusters by number of components."""

from __future__ import annotations

import re
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

from laminar.metrics import area_under_components

from ..item import item
from ..result import Result, mean_and_spread, paired, table_of_rows
from ..run import Skipped
from .models import N_INIT, SEEDS, Setting, fits, samples

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
ERROR_AT_40 = 6.50  # of Deep Semi-NMF with 40 components, Table 1
SLOW = (("NeNMF", "laminar"), ("Multi-layer NMF", "laminar"), ("Deep Semi-NMF", "published, random start"))
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
    data = samples(setting.name, run.quick)
    found = fits(run, "trigeorgis-fig4", setting)
    scores = scores_of(found)
    printed = AREAS if data.title == setting.name else {}
    table = table_of(found, scores, printed)
    title = f"Trigeorgis et al., Figs. 4 and 5: clusters, {data.title}"
    sentences = [*compared(scores), *start_of(scores, setting.middle), how(setting)]
    if printed:
        sentences.insert(-1, unfinished(found, 40, ERROR_AT_40))
    caption = "Areas under the curves, of 50: mean and spread over the seeds of k-means"
    return Result(
        title,
        found,
        [(caption, table)],
        verdict_of(scores, setting),
        sentences,
        lambda: draw(scores, setting, data.title),
    )


FIRST = 300  # components of the first layer of stand-ins: 625 by the number of samples, half of those of CMU PIE
STAND_INS = ("pie_5pose_10id", "coil20", "nottinghill")


@item(
    "trigeorgis-fig6",
    "On XM2VTS and CASIA WebFace too, clusters of Deep Semi-NMF agree with the identities more than those of others.",
)
def figure6(run: Run) -> Result:
    """Figs. 4 and 6 on stand-ins for the licensed sets: five poses of ten people, objects, faces of a film."""
    found, rows, parts, held, absent = [], [], {}, [], []
    for name in STAND_INS:
        try:
            setting = Setting(name, sizes=(20, 40, 70), first=FIRST, plain=200, layered=50, curved=6).of(run)
        except Skipped as reason:
            absent.append(str(reason))
            continue
        title = samples(name, run.quick).title
        of_set = fits(run, f"trigeorgis-fig6: {name}", setting, without=SLOW)
        scores = scores_of(of_set)
        found.append(of_set.assign(data=title))
        rows.append(table_of(of_set, scores, {}).assign(data=title).set_index("data", append=True))
        parts[title] = (scores, setting)
        held.append(verdict_of(scores, setting, f"{title}: "))
    table = pd.concat(rows).reorder_levels(["data", "model", "rule"])
    sentences = [f"{title}: {compared(scores)[0]}" for title, (scores, _) in parts.items()]
    sentences += [
        how(setting) + " Laminar's NMF with the solver of NeNMF and its Multi-layer NMF are left out here: they are "
        "slow, and in trigeorgis-fig4.",
        *absent,
    ]
    names = ", ".join(parts)
    return Result(
        f"Trigeorgis et al., Fig. 6 in form: {names} in place of XM2VTS and CASIA WebFace",
        pd.concat(found, ignore_index=True),
        [("Areas under the curves, of 50: mean and spread over the seeds of k-means", table)],
        " ".join(held),
        sentences,
        lambda: draw_all(parts),
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
    table = table_of_rows(rows, ["model", "rule"]).reindex(columns=columns)
    return table if printed else table.drop(columns="printed")


def verdict_of(scores: pd.DataFrame, setting: Setting, what: str = "") -> str:
    """State whether the claim holds as published, and what is first."""
    areas = areas_of(scores, "accuracy").mean(axis=1)
    raw: pd.Series = areas.xs(("published", RAW), level=("rule", "readout"))
    others = raw[[name for name in raw.index if not name.startswith("Deep")]]
    holds = "holds" if raw["Deep Semi-NMF"] > others.max() else "does not hold"
    ours = areas.xs(("published", OURS), level=("rule", "readout"))
    baseline = areas["partly whitened scores, rank graph"].iloc[0]
    return (
        f"{what}as published, with at most {setting.layered} iterations a layer, Deep Semi-NMF has "
        f"{raw['Deep Semi-NMF']:.1f} of 50 and the best other ({others.idxmax()}) "
        f"{others.max():.1f}: {holds}. With Laminar's read-out of the same codes they have "
        f"{ours.min():.1f} to {ours.max():.1f}; spectral clusters of partly whitened scores, without a model, have "
        f"{baseline:.1f}."
    )


def compared(scores: pd.DataFrame) -> list[str]:
    """Compare Deep Semi-NMF and Semi-NMF on the same sizes and seeds, by both read-outs."""
    over = ["components", "seed"]
    parts = []
    for rule, readout in (("published", RAW), ("published", OURS), ("laminar", OURS)):
        part = scores[(scores["rule"] == rule) & (scores["readout"] == readout)]
        difference = paired(part, "accuracy", "method", "Deep Semi-NMF", "Semi-NMF", over)
        parts.append(f"{rule}, {LABEL[readout]}: {difference}.")
    return parts


def start_of(scores: pd.DataFrame, k: int) -> list[str]:
    """State what the start of the published rules changes, with k components."""
    raw = scores[(scores["components"] == k) & (scores["readout"] == RAW)]
    means = raw.groupby(["method", "rule"])["accuracy"].mean()
    parts = [
        f"{method} {means[method, 'published']:.2f} and {means[method, 'published, random start']:.2f}"
        for method in ("Semi-NMF", "Deep Semi-NMF")
        if (method, "published, random start") in means.index
    ]
    caption = f"Accuracy of raw codes with {k} components from singular values, as printed, and from a random start"
    return [f"{caption}: {', '.join(parts)}."] if parts else []


def unfinished(found: pd.DataFrame, k: int, printed: float) -> str:
    """State that layers as published are not converged where their error is above the printed one."""
    place = (found["method"] == "Deep Semi-NMF") & (found["rule"] == "published") & (found["components"] == k)
    error = float(found.loc[place, "error"].iloc[0])
    if error <= 1.05 * printed:
        return f"Deep Semi-NMF as published has an error of {error:.2f} at {k} components, printed {printed:.2f}."
    return (
        f"Deep Semi-NMF as published has an error of {error:.2f} at {k} components, printed {printed:.2f}: it is not "
        "converged here as it was in the paper, and that its accuracy is lower may be due to this."
    )


def how(setting: Setting) -> str:
    """State how many starts, seeds and iterations there were."""
    return (
        f"All have k-means with {N_INIT} starts and {SEEDS} seeds, and one fit. Areas over {setting.sizes[0]} to "
        f"{setting.sizes[-1]} components ({len(setting.sizes)} sizes) are rescaled to 50. Layered models have "
        f"{setting.first} components in their first layer. Iterations as published: at "
        f"most {setting.plain} of one layer, {setting.layered} of each of two layers and of fine-tuning, "
        f"{setting.curved} of fine-tuning with tanh and square."
    )


def draw(scores: pd.DataFrame, setting: Setting, title: str) -> Figure:
    """Draw accuracy against components: the published curves, Laminar's default and what it recommends."""
    from laminar.plots import score_curves

    return score_curves(setting.sizes, curves_of(scores), title=title)


def draw_all(parts: dict[str, tuple[pd.DataFrame, Setting]]) -> Figure:
    """Draw the curves of several sets side by side, each with its areas in a legend below it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(parts), 6.4), layout="constrained")
    for place, (title, (scores, setting)) in enumerate(parts.items()):
        axes = figure.add_subplot(1, len(parts), place + 1)
        for i, (name, values) in enumerate(curves_of(scores).items()):
            mean = values.mean(axis=1)
            area = area_under_components(setting.sizes, mean)
            axes.plot(setting.sizes, mean, "o-" if i < 8 else "s--", ms=4, color=f"C{i}", label=f"{name} ({area:.1f})")
        axes.set_title(fill(title, 40), fontsize=11)
        axes.set(xlabel="number of components", ylabel="clustering accuracy", ylim=(0, 1.02))
        axes.grid(axis="y", alpha=0.4)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), fontsize=8, frameon=False)
    return figure


def curves_of(scores: pd.DataFrame) -> dict[str, Any]:
    """Return accuracies by size and seed of the published models on raw codes, and of two of Laminar's."""

    def curve(part: pd.DataFrame) -> Any:
        return part.pivot_table(index="components", columns="seed", values="accuracy").to_numpy()

    raw = scores[(scores["rule"] == "published") & (scores["readout"] == RAW)]
    curves = {f"{method}, published": curve(part) for method, part in raw.groupby("method", sort=False)}
    for method, rule in (("Deep Semi-NMF", "laminar"), ("SmoothedSemiNMF", "recommended")):
        curves[f"{method}, {rule}"] = curve(scores[(scores["method"] == method) & (scores["rule"] == rule)])
    return curves

"""Figures of scores: curves of several methods, bars of layers, box plots of depths, sensitivity to a penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from laminar.metrics import area_under_components

from .drawing import COLOURS, INK, MARKERS, Sheet, label_width, legend_beside, plain, put_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from laminar.evaluation.penalty import PenaltySelection


def score_curves(
    x: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    xlabel: str = "number of components",
    ylabel: str = "clustering accuracy",
    area: bool = True,
    log: bool = False,
    title: str | None = None,
) -> Figure:
    """Draw the scores of several methods as functions of a number, such as that of components.

    Parameters
    ----------
    x : array-like of shape (n_points,)
        Numbers, increasing.
    scores : mapping from str to array-like of shape (n_points,) or (n_points, n_repeats)
        Scores of each method at each of them; of several repeats the mean and the standard deviation are shown.
    xlabel : str, default="number of components"
        What ``x`` is.
    ylabel : str, default="clustering accuracy"
        What the scores are.
    area : bool, default=True
        Whether to write the area under each mean curve in the legend, by the trapezoid rule over ``x``
        (`laminar.metrics.area_under_components`); the scores must then lie in [0, 1].
    log : bool, default=False
        Whether the horizontal axis is logarithmic, for values of a parameter.
    title : str or None, default=None
        Title.

    Returns
    -------
    Figure
        With one axes: a line and a band of one standard deviation a method.

    Examples
    --------
    >>> from laminar.plots import score_curves
    >>> figure = score_curves([20, 30, 40], {"NMF": [0.5, 0.6, 0.6], "SemiNMF": [[0.6, 0.8], [0.7, 0.8], [0.8, 0.9]]})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['NMF (11.50)', 'SemiNMF (15.25)']
    """
    places = np.asarray(x, dtype=float)
    repeats = {name: _repeats(name, values, len(places)) for name, values in scores.items()}
    names = {name: name for name in repeats}
    if area:
        areas = {name: area_under_components(places, values.mean(axis=1)) for name, values in repeats.items()}
        names = {name: f"{name} ({value:.2f})" for name, value in areas.items()}
    beside = label_width(names.values()) + 0.6
    sheet = Sheet(5.6 + beside, 3.9)
    axes = sheet.axes(0.75, 0.55, 4.7, 2.95 if title else 3.2)
    for i, (name, values) in enumerate(repeats.items()):
        _curve(axes, places, values, i, names[name])
    if log:
        axes.set_xscale("log")
    plain(axes, xlabel, ylabel, lines=True)
    legend_beside(axes)
    put_title(axes, title)
    return sheet.figure


def objective_and_score(
    iterations: ArrayLike,
    objective: ArrayLike,
    scores: ArrayLike | Mapping[str, ArrayLike],
    *,
    ylabel: str = "NMI",
    title: str | None = None,
) -> Figure:
    """Draw the objective and scores of the same iterations on two vertical axes.

    Parameters
    ----------
    iterations : array-like of shape (n_points,)
        Iterations, increasing.
    objective : array-like of shape (n_points,)
        The objective after each of them; it has the axis at the left.
    scores : array-like of shape (n_points,), or mapping from str to one
        A score, or several by name; they have the axis at the right.
    ylabel : str, default="NMI"
        What the scores are.
    title : str or None, default=None
        Title.

    Returns
    -------
    Figure
        With two axes, the objective first.

    Examples
    --------
    >>> from laminar.plots import objective_and_score
    >>> figure = objective_and_score([1, 2, 5, 10], [9.0, 4.0, 3.0, 2.9], [0.2, 0.4, 0.5, 0.5])
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['objective', 'NMI']
    """
    steps = np.asarray(iterations, dtype=float)
    curves = scores if isinstance(scores, Mapping) else {ylabel: scores}
    sheet = Sheet(6.2, 3.9)
    left = sheet.axes(0.85, 0.55, 4.6, 2.7 if title else 2.95)
    lines = [_curve(left, steps, _repeats("objective", objective, len(steps)), 1, "objective")]
    left.lines[-1].set_linestyle("--")
    plain(left, "iteration", "objective", lines=True)
    right = left.twinx()
    for i, (name, values) in enumerate(curves.items()):
        place = i if i == 0 else i + 1  # the second colour is that of the objective
        lines.append(_curve(right, steps, _repeats(name, values, len(steps)), place, name))
    plain(right, "", ylabel).spines["right"].set_visible(True)
    # Above the axes: curves of both may be anywhere inside.
    left.legend(handles=lines, frameon=False, ncols=len(lines), loc="lower right", bbox_to_anchor=(1, 1))
    put_title(left, title)
    return sheet.figure


def layer_bars(table: DataFrame, title: str | None = None) -> Figure:
    """Draw the agreement of layers with attributes as bars, one group a layer.

    Parameters
    ----------
    table : DataFrame
        Result of :func:`laminar.layer_attribute_table`: rows of chance, X and layers, columns (attribute,
        metric).
    title : str or None, default=None
        Title, before the name of each metric.

    Returns
    -------
    Figure
        With one axes a metric.

    See Also
    --------
    layer_attribute_figure : The same table as heat maps.

    Examples
    --------
    >>> from laminar import DeepSemiNMF, layer_attribute_table
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import layer_bars
    >>> faces = make_faces(4, 3, 3, size=12, random_state=0)
    >>> model = DeepSemiNMF(layers=(12, 6), random_state=0).fit(faces.X)
    >>> table = layer_attribute_table(model, faces.X, {"identity": faces.identity, "pose": faces.pose})
    >>> [len(axes.patches) for axes in layer_bars(table).axes]
    [8, 8, 8]
    """
    metrics = list(dict.fromkeys(table.columns.get_level_values(1)))
    attributes = [str(name) for name in dict.fromkeys(table.columns.get_level_values(0))]
    width = max(2.6, len(table) * max(label_width(table.index), 0.28 * len(attributes) + 0.2))
    gap = 0.5
    sheet = Sheet(0.6 + (width + gap) * len(metrics) + label_width(attributes) + 0.1, 3.3)
    for m, metric in enumerate(metrics):
        axes = sheet.axes(0.5 + m * (width + gap), 0.4, width, 2.5)
        part = table.xs(metric, axis=1, level=1)
        step = 0.8 / len(attributes)
        for i, name in enumerate(attributes):
            places = np.arange(len(part)) + (i - (len(attributes) - 1) / 2) * step
            axes.bar(places, part.iloc[:, i], 0.92 * step, color=COLOURS[i % len(COLOURS)], label=name)
        axes.set_xticks(range(len(part)), [str(name) for name in part.index])
        axes.tick_params(axis="x", length=0)
        plain(axes, "", "", lines=True)
        axes.set_axisbelow(True)
        axes.set_ylim(min(0, float(part.min(axis=None))), 1)
        put_title(axes, f"{title}: {metric}" if title else metric)
    legend_beside(sheet.figure.axes[-1])
    return sheet.figure


def spread_by_depth(
    scores_by_depth: Mapping[int, ArrayLike], *, ylabel: str = "clustering accuracy", title: str | None = None
) -> Figure:
    """Draw box plots of the scores of many configurations by their number of layers.

    Parameters
    ----------
    scores_by_depth : mapping from int to array-like of shape (n_configurations,)
        Scores of the configurations of each depth.
    ylabel : str, default="clustering accuracy"
        What the scores are.
    title : str or None, default=None
        Title.

    Returns
    -------
    Figure
        With one axes: the box holds the middle half of the scores, the line is their median, the whiskers end at the
        last score within 1.5 heights of the box; the scores themselves are dots.

    Examples
    --------
    >>> from laminar.plots import spread_by_depth
    >>> figure = spread_by_depth({2: [0.5, 0.6, 0.7], 3: [0.6, 0.65, 0.7]})
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['2', '3']
    """
    depths = sorted(scores_by_depth)
    values = [np.asarray(scores_by_depth[depth], dtype=float) for depth in depths]
    for depth, scores in zip(depths, values, strict=True):
        if scores.ndim != 1 or not scores.size:
            raise ValueError(f"the scores of depth {depth} must be one or more numbers; got shape {scores.shape}.")
    sheet = Sheet(max(4.0, 1.0 + 0.9 * len(depths)), 3.6)
    axes = sheet.axes(0.75, 0.55, sheet.width - 0.9, 2.65 if title else 2.9)
    line = {"color": COLOURS[0], "linewidth": 1.4}
    axes.boxplot(
        values, positions=range(len(depths)), widths=0.5, showfliers=False, boxprops=line, whiskerprops=line,
        capprops=line, medianprops={"color": COLOURS[1], "linewidth": 2},
    )  # fmt: skip
    for place, scores in enumerate(values):
        # Evenly spread sideways in order of the configurations, so that equal scores do not hide each other.
        sideways = place + 0.18 * np.linspace(-1, 1, len(scores) + 2)[1:-1]
        axes.plot(sideways, scores, "o", ms=3, mew=0, color="#888888", alpha=0.6, zorder=1)
    plain(axes, "number of layers", ylabel, lines=True)
    axes.set_xticks(range(len(depths)), [str(depth) for depth in depths])
    put_title(axes, title)
    return sheet.figure


def sensitivity(result: PenaltySelection, title: str | None = None) -> Figure:
    """Draw the scores of all values of a penalty that `select_penalty` compared.

    Parameters
    ----------
    result : PenaltySelection
        Result of :func:`laminar.select_penalty`.
    title : str or None, default=None
        Title; None names the parameter and its best value.

    Returns
    -------
    Figure
        With one axes: a curve an attribute, with standard errors; of several attributes also their mean, dashed. The
        values are evenly spaced, and the best is marked by a vertical line.

    Examples
    --------
    >>> from laminar import WSF, select_penalty
    >>> from laminar.datasets import make_attributes
    >>> from laminar.plots import sensitivity
    >>> data = make_attributes(60, levels=(3,), scales=(1.0,), random_state=0)
    >>> found = select_penalty(WSF(3, random_state=0), data.X, data.y, grid=(0, 1), n_repeats=2, verbose=0)
    >>> [label.get_text() for label in sensitivity(found).axes[0].get_xticklabels()]
    ['0', '1']
    """
    table = result.table_
    attributes = list(dict.fromkeys(table.index.get_level_values(0)))
    grid = list(dict.fromkeys(table.index.get_level_values(1)))
    several = len(attributes) > 1
    sheet = Sheet(5.8 + (label_width(attributes) + 0.4 if several else 0), 3.7)
    axes = sheet.axes(0.75, 0.55, 4.8, 2.75)
    axes.axvline(grid.index(result.best_), color="#bbbbbb", linewidth=6, alpha=0.5, zorder=0)
    for i, name in enumerate(attributes):
        rows = table.loc[name]
        is_mean = several and i == len(attributes) - 1
        axes.errorbar(
            range(len(grid)),
            rows["score"],
            rows["standard_error"],
            color=INK if is_mean else COLOURS[i % len(COLOURS)],
            linestyle="--" if is_mean else "-",
            marker=MARKERS[i % len(MARKERS)],
            markersize=5,
            capsize=3,
            label=str(name),
        )
    axes.set_xticks(range(len(grid)), [f"{value:g}" for value in grid])
    names = {"clusters": "clustering accuracy", "nmi": "NMI", "probe": "accuracy, linear classifier"}
    plain(axes, result.param, names.get(result.score, "accuracy of predict"), lines=True)
    if several:
        legend_beside(axes)
    put_title(axes, title or f"Hidden labels: {result.param}={result.best_:g}")
    return sheet.figure


def _repeats(name: str, values: ArrayLike, n_points: int) -> np.ndarray:
    """Return the values of a curve as (n_points, n_repeats)."""
    array = np.asarray(values, dtype=float)
    if array.ndim not in (1, 2) or len(array) != n_points or not array.size:
        raise ValueError(
            f"{name!r} must have a value, or a row of repeats, for each of the {n_points} points; got shape "
            f"{array.shape}."
        )
    return array.reshape(n_points, -1)


def _curve(axes: Axes, x: np.ndarray, repeats: np.ndarray, place: int, label: str):
    """Draw the mean of repeats as a line and their standard deviation as a band; return the line."""
    mean, colour = repeats.mean(axis=1), COLOURS[place % len(COLOURS)]
    style = "-" if place < len(COLOURS) else "--"
    many = len(x) > 30  # markers would cover the line
    (line,) = axes.plot(
        x, mean, style, color=colour, marker="" if many else MARKERS[place % len(MARKERS)], ms=5, lw=1.8, label=label
    )
    if repeats.shape[1] > 1:
        spread = repeats.std(axis=1, ddof=1)
        axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    return line

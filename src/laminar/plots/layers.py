"""Figures of layers: components, agreement with attributes, samples in two dimensions, choice of sizes."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from laminar._utils.labels import read_attribute
from laminar._utils.typing import Data
from laminar.evaluation.layers import layer_features, layer_names

from .drawing import (
    INK,
    WIDTH,
    Sheet,
    draw_images,
    draw_points,
    draw_table,
    label_width,
    legend_beside,
    plain,
    put_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from laminar.evaluation.selection import LayerSelection


def layer_components(
    model: BaseEstimator, image_shape: tuple[int, int], n_images: int = 24, title: str | None = None
) -> "Figure":
    """Draw the components of every layer as images.

    Parameters
    ----------
    model : fitted model with ``layers_``
        Of one layer or of several.
    image_shape : tuple of int
        Height and width.
    n_images : int, default=24
        Most components of a layer, twelve a line.
    title : str or None, default=None
        Name of the model.

    Returns
    -------
    Figure
        With one axes a layer, from the input up. Mixed signs are shown in colour.

    Examples
    --------
    >>> from laminar import DeepSemiNMF
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import layer_components
    >>> faces = make_faces(4, 3, 3, size=12, random_state=0)
    >>> model = DeepSemiNMF(layers=(12, 6), random_state=0).fit(faces.X)
    >>> [axes.get_title(loc="left") for axes in layer_components(model, faces.image_shape).axes]
    ['layer 0 (12)', 'layer 1 (6)']
    """
    check_is_fitted(model, "layers_")
    side, heading = (WIDTH - 0.2) / 12, 0.4
    sets = [layer.components[:n_images] for layer in model.layers_]
    heights = [side * image_shape[0] / image_shape[1] * -(-len(images) // 12) for images in sets]
    sheet = Sheet(WIDTH, sum(heights) + heading * len(sets) + 0.1)
    bottom, name = sheet.height, f"{title}, " if title else ""
    for layer, images, height in zip(layer_names(model), sets, heights, strict=True):
        bottom -= heading + height
        columns = min(12, len(images))
        axes = sheet.axes(0.1, bottom, side * columns, height)
        signed = bool(images.min() < 0)
        draw_images(axes, images, image_shape, columns, name + layer, signed=signed, scale="each")
    return sheet.figure


def class_components(
    model: BaseEstimator, image_shape: tuple[int, int] | None = None, title: str | None = None
) -> "Figure":
    """Draw components that belong to classes, W = [W_1 ... W_c] of class-driven NMF, class by class.

    Parameters
    ----------
    model : fitted model with ``components_``, ``classes_`` and ``component_classes_``
        As :class:`laminar.ClassDrivenNMF`.
    image_shape : tuple of int or None, default=None
        Height and width of a component as an image. None draws a component as bars, one a feature.
    title : str or None, default=None
        Name of the model.

    Returns
    -------
    Figure
        With one axes a class, named by it, from the first down, then one for components of no class. Classes without a
        name are numbered.

    Examples
    --------
    >>> from laminar import ClassDrivenNMF
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import class_components
    >>> faces = make_faces(4, 3, 3, size=12, random_state=0)
    >>> model = ClassDrivenNMF(components_per_class=3, random_state=0).fit(faces.X, faces.pose)
    >>> [axes.get_title(loc="left") for axes in class_components(model, faces.image_shape).axes]
    ['class 0', 'class 1', 'class 2']
    """
    check_is_fitted(model, "component_classes_")
    owners, names = np.asarray(model.component_classes_), [str(name) for name in model.classes_]
    groups = [*np.unique(owners[owners >= 0]), *([-1] if (owners < 0).any() else [])]
    sets = [np.asarray(model.components_)[owners == owner] for owner in groups]
    most, heading, page = max(len(images) for images in sets), 0.4, WIDTH - 0.2
    side = page / max(most, 6)
    height = 0.8 if image_shape is None else side * image_shape[0] / image_shape[1]
    sheet = Sheet(WIDTH, (height + heading) * len(sets) + 0.1)
    bottom, prefix = sheet.height, f"{title}, " if title else ""
    for owner, images in zip(groups, sets, strict=True):
        bottom -= heading + height
        axes = sheet.axes(0.1, bottom, side * len(images), height)
        name = prefix + _class_name(int(owner), names)
        if image_shape is None:
            _draw_bars(axes, images, name)
        else:
            draw_images(axes, images, image_shape, len(images), name, signed=bool(images.min() < 0), scale="each")
    return sheet.figure


def _class_name(owner: int, names: list[str]) -> str:
    if owner < 0:
        return "no class"
    return f"class {names[owner]}" if owner < len(names) else f"class without a name, {owner - len(names) + 1}"


def _draw_bars(axes: "Axes", components: np.ndarray, title: str) -> None:
    """Draw components side by side, one bar a feature, each divided by its largest magnitude."""
    largest = np.abs(components).max(axis=1, keepdims=True)
    bars = components / np.where(largest > 0, largest, 1)
    n_features = bars.shape[1]
    gap = max(1, n_features // 10)
    for a, values in enumerate(bars):
        axes.bar(a * (n_features + gap) + np.arange(n_features), values, width=1.0, color=INK)
    axes.set_axis_off()
    put_title(axes, title)


def layer_attribute_figure(table: "DataFrame", title: str | None = None) -> "Figure":
    """Draw the agreement of layers with attributes, one heat map a metric.

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

    Examples
    --------
    >>> from laminar import DeepSemiNMF, layer_attribute_table
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import layer_attribute_figure
    >>> faces = make_faces(4, 3, 3, size=12, random_state=0)
    >>> model = DeepSemiNMF(layers=(12, 6), random_state=0).fit(faces.X)
    >>> table = layer_attribute_table(model, faces.X, {"identity": faces.identity, "pose": faces.pose})
    >>> [axes.get_title(loc="left") for axes in layer_attribute_figure(table).axes]
    ['accuracy', 'nmi', 'probe']
    """
    metrics = list(dict.fromkeys(table.columns.get_level_values(1)))
    parts = [table.xs(metric, axis=1, level=1) for metric in metrics]
    left, width, gap = label_width(table.index), 1.1 * parts[0].shape[1], 0.3
    sheet = Sheet(left + (width + gap) * len(parts) - 0.15, 0.36 * len(table) + 0.75)
    for i, (metric, part) in enumerate(zip(metrics, parts, strict=True)):
        axes = sheet.axes(left + i * (width + gap), 0.35, width, 0.36 * len(table))
        draw_table(axes, part, f"{title}: {metric}" if title else metric, row_labels=i == 0)
    return sheet.figure


def layer_scatter(
    model: BaseEstimator,
    labels: ArrayLike | None = None,
    layer: int = -1,
    X: Data | None = None,
    title: str | None = None,
) -> "Figure":
    """Draw samples in the first two principal components of the features of one layer.

    The features are those that are clustered (`layer_features`).

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.
    labels : array-like of shape (n_samples,) or None, default=None
        An attribute to colour the samples by; unknown ones (-1, NaN, None) are grey.
    layer : int, default=-1
        Position of the layer; the last is the top.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
        Samples; None means the training samples.
    title : str or None, default=None
        Title; None names the layer.

    Returns
    -------
    Figure
        With one axes; up to twelve classes are named in a legend.

    Examples
    --------
    >>> from laminar import SemiNMF
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import layer_scatter
    >>> faces = make_faces(4, 3, 3, size=12, random_state=0)
    >>> model = SemiNMF(n_components=6, random_state=0).fit(faces.X)
    >>> figure = layer_scatter(model, faces.pose)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['0', '1', '2']
    """
    check_is_fitted(model, "layers_")
    # Two columns at least: features of one dimension are drawn as a line.
    plane = PCA(2).fit(_two_columns(layer_features(model, layer)))
    points = plane.transform(_two_columns(layer_features(model, layer, X)))
    attribute = read_attribute(labels, len(points))
    sheet = Sheet(6.0, 4.6)
    axes = plain(sheet.axes(0.7, 0.55, 3.7, 3.7), "first direction", "second direction")
    draw_points(axes, points, attribute)
    if 0 < len(attribute.classes) <= 12:
        legend_beside(axes, handletextpad=0)
    put_title(axes, title or layer_names(model)[layer])
    return sheet.figure


def _two_columns(E: np.ndarray) -> np.ndarray:
    return np.pad(E, ((0, 0), (0, max(0, 2 - E.shape[1]))))


def selection_figure(result: "LayerSelection") -> "Figure":
    """Draw the scores of all candidates of `select_layers`.

    Parameters
    ----------
    result : LayerSelection
        Result of :func:`laminar.select_layers`.

    Returns
    -------
    Figure
        With one axes: the score of each candidate's top layer with its standard error, those of hidden layers as
        smaller dots, the choice marked.

    Examples
    --------
    >>> from laminar import select_layers
    >>> from laminar.datasets import make_lowrank
    >>> from laminar.plots import selection_figure
    >>> X = make_lowrank(40, 20, n_components=3, noise=0.2, random_state=0).X
    >>> figure = selection_figure(select_layers(X, [2, 3, (6, 3)], verbose=0))
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['2', '3', '6-3']
    """
    table, names = result.table_, list(dict.fromkeys(result.table_.index.get_level_values(0)))
    sheet = Sheet(max(4.0, 1.1 + 0.7 * len(names)), 3.6)
    axes = sheet.axes(0.9, 0.55, sheet.width - 1.1, 2.65)
    colours = {"best": "#c44e52", "other": "#2f6fab", "hidden": "#9db8d2"}
    for place, name in enumerate(names):
        rows = table.loc[name]
        axes.plot([place] * (len(rows) - 1), rows["score"][:-1], "o", ms=4, color=colours["hidden"], zorder=1)
        which = "best" if name == "-".join(map(str, result.best_)) else "other"
        top = rows.iloc[-1]
        axes.errorbar(place, top["score"], top["standard_error"], fmt="o", ms=7, capsize=3, color=colours[which])
    names_of_scores = {"entries": "share predicted", "stability": "adjusted Rand index"}
    plain(axes, "layers", names_of_scores[result.method], lines=True)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    kind = {"entries": "Held-out entries", "stability": "Stability between halves"}[result.method]
    put_title(axes, f"{kind}: {'-'.join(map(str, result.best_))}")
    return sheet.figure

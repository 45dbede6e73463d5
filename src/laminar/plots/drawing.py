"""Elements of figures: pages with axes placed in inches, mosaics of images, heat maps of scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import zoom

from laminar._utils.extras import require
from laminar._utils.labels import Attribute

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

WIDTH = 9.0  # of a page in inches; 900 pixels at 100 dots an inch
INK = "#222222"  # colour of text
# Distinguishable with colour-blindness: M. Okabe and K. Ito, Color universal design, 2008.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = "osD^vPX"


class Sheet:
    """White page on which axes are placed in inches, so that sizes do not depend on what else is on it."""

    def __init__(self, width: float, height: float):
        require("matplotlib.figure", "plots", "laminar.plots")
        from .notebook import NotebookFigure

        self.width, self.height = width, height
        self.figure = NotebookFigure(figsize=(width, height), dpi=100, facecolor="white")

    def axes(self, left: float, bottom: float, width: float, height: float) -> Axes:
        """Add axes."""
        return self.figure.add_axes((left / self.width, bottom / self.height, width / self.width, height / self.height))


def draw_images(
    axes: Axes,
    images: ArrayLike,
    image_shape: tuple[int, int],
    n_columns: int,
    title: str | None = None,
    signed: bool = False,
    scale: str = "shared",
    white: float | None = None,
) -> None:
    """Draw flattened images side by side, in grey or coloured by sign; ``white`` replaces the largest value of all."""
    if scale not in ("shared", "each"):
        raise ValueError(f'scale must be "shared" or "each", got {scale!r}')
    images = np.asarray(images, dtype=float).reshape(-1, *image_shape)
    largest = np.abs(images).max(axis=(1, 2) if scale == "each" else None, keepdims=True) if white is None else white
    images = _enlarge(images / np.where(largest > 0, largest, 1))
    axes.imshow(
        _mosaic(images, n_columns),
        cmap="RdBu_r" if signed else "gray",
        vmin=-1 if signed else 0,
        vmax=1,
        interpolation="nearest",
        aspect="auto",
    )
    axes.set_axis_off()
    put_title(axes, title)


def _enlarge(images: np.ndarray, width: int = 96) -> np.ndarray:
    """Enlarge small images by cubic interpolation to about ``width`` pixels."""
    times = width // images.shape[2]
    if times < 2:
        return images
    # grid_mode keeps the edges of the pixels in place; cubic interpolation may overshoot, hence the limits.
    large = zoom(images, (1, times, times), order=3, mode="nearest", grid_mode=True)
    return np.clip(large, images.min(), images.max())


def _mosaic(images: np.ndarray, n_columns: int) -> np.ndarray:
    """Join images to one array; borders and empty places are NaN, which is not drawn."""
    n, height, width = images.shape
    border = max(1, round(width / 24))
    n_rows = -(-n // n_columns)
    tiles = np.full((n_rows * n_columns, height + border, width + border), np.nan)
    tiles[:n, :height, :width] = images
    tiles = tiles.reshape(n_rows, n_columns, height + border, width + border).swapaxes(1, 2)
    return tiles.reshape(n_rows * (height + border), -1)[:-border, :-border]


def draw_table(axes: Axes, table: DataFrame, title: str | None = None, row_labels: bool = True) -> None:
    """Draw a heat map of values within [0, 1], each written in its cell; NaN is a dash."""
    values = table.to_numpy(dtype=float)
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        text = "1.0" if value >= 0.995 else "-" if np.isnan(value) else f"{value:.2f}".replace("0.", ".", 1)
        colour = "white" if value > 0.6 else INK
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=10)
    axes.set_xticks(range(table.shape[1]), [str(name) for name in table.columns], fontsize=10, color=INK)
    axes.set_yticks(range(table.shape[0]), [str(name) for name in table.index], fontsize=10, color=INK)
    axes.tick_params(length=0, labelleft=row_labels)
    axes.spines[:].set_visible(False)
    # White lines between the cells.
    axes.set_xticks(np.arange(1, table.shape[1]) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, table.shape[0]) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0)
    put_title(axes, title)


def label_width(names: Iterable) -> float:
    """Estimate the width of the longest name in inches."""
    return 0.2 + 0.078 * max(len(str(name)) for name in names)


def class_colours(n_classes: int) -> list:
    """Return a colour for each class; above the number of distinguishable ones, along a scale."""
    if n_classes <= len(COLOURS):
        return list(COLOURS[:n_classes])
    scale = require("matplotlib", "plots", "laminar.plots").colormaps["turbo"]
    return [scale((i + 0.5) / n_classes) for i in range(n_classes)]


def draw_points(axes: Axes, points: np.ndarray, attribute: Attribute, shapes: Attribute | None = None) -> None:
    """Draw points (n, 2), coloured by an attribute and with the markers of another; the unknown are grey dots."""
    unknown = ~attribute.known
    axes.scatter(points[unknown, 0], points[unknown, 1], s=12, color="#bbbbbb", linewidths=0)
    colours = class_colours(len(attribute.classes))
    kinds: list[tuple[object, np.ndarray]] = [(None, np.ones(len(points), dtype=bool))]
    if shapes is not None:
        kinds = [(name, shapes.codes == i) for i, name in enumerate(shapes.classes)]
        kinds += [("unknown", ~shapes.known)] * bool((~shapes.known).any())
    for i, name in enumerate(attribute.classes):
        for j, (kind, of_kind) in enumerate(kinds):
            x, y = points[(attribute.codes == i) & of_kind].T
            label = str(name) if kind is None else f"{name}, {kind}"
            axes.scatter(x, y, s=16, color=colours[i], marker=MARKERS[j % len(MARKERS)], label=label, lw=0)


def legend_beside(axes: Axes, **settings: object) -> None:
    """Put a legend to the right of the axes, its top at theirs."""
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0, **settings)


def plain(axes: Axes, x: str, y: str, *, lines: bool = False) -> Axes:
    """Label the axes of curves or points, and hide the top and right spines; ``lines`` draws a horizontal grid."""
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    if lines:
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    return axes


def put_title(axes: Axes, title: str | None, pad: float = 6) -> None:
    """Write a title at the left, unless it is None."""
    if title:
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=pad)

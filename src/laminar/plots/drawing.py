"""Elements of figures: pages with axes placed in inches, mosaics of images, heat maps of scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import zoom

from laminar._utils.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

WIDTH = 9.0  # of a page in inches; 900 pixels at 100 dots an inch
INK = "#222222"  # colour of text


class Sheet:
    """White page on which axes are placed in inches, so that sizes do not depend on what else is on it."""

    def __init__(self, width: float, height: float):
        figure = require("matplotlib.figure", "plots", "laminar.plots")
        self.width, self.height = width, height
        self.figure = figure.Figure(figsize=(width, height), dpi=100, facecolor="white")

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
) -> None:
    """Draw flattened images side by side, in grey or coloured by sign."""
    if scale not in ("shared", "each"):
        raise ValueError(f'scale must be "shared" or "each", got {scale!r}')
    images = np.asarray(images, dtype=float).reshape(-1, *image_shape)
    largest = np.abs(images).max(axis=(1, 2) if scale == "each" else None, keepdims=True)
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
    """Draw a heat map of values within [0, 1], each written in its cell."""
    values = table.to_numpy(dtype=float)
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        text = f"{value:.2f}".replace("0.", ".", 1) if value < 0.995 else "1.0"
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


def plain(axes: Axes, x: str, y: str) -> Axes:
    """Label the axes of curves or points, and hide the top and right spines."""
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def put_title(axes: Axes, title: str | None) -> None:
    """Write a title at the left, unless it is None."""
    if title:
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=6)

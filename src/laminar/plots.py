"""Figures: images and components, tables of scores, convergence.

Every function returns a ``matplotlib.figure.Figure`` made without pyplot, so no window opens and no global
state changes; ``figure.savefig("name.png")`` writes it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import zoom

from laminar._extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 9.0  # inches; 900 pixels at the usual 100 dots an inch
_INK = "#222222"
_GREY, _SIGNED, _SCORES = "gray", "RdBu_r", "Blues"


def images_grid(
    images: np.ndarray,
    image_shape: tuple[int, int],
    n_columns: int = 8,
    title: str | None = None,
    signed: bool = False,
    scale: str = "shared",
) -> "Figure":
    """Show flattened images, or components, side by side.

    Parameters
    ----------
    images : array-like of shape (n_images, n_pixels)
        One flattened image a row.
    image_shape : tuple of int
        Height and width.
    n_columns : int, default=8
        Images a line.
    title : str or None, default=None
        Title.
    signed : bool, default=False
        Colour values by sign, white being zero, instead of by brightness.
    scale : {"shared", "each"}, default="shared"
        Whether the largest value is that of all images or each image's own (components have no common unit).

    Returns
    -------
    Figure
        With one axes that holds all images.

    Examples
    --------
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import images_grid
    >>> faces = make_faces(4, 1, 2, size=16, random_state=0)
    >>> figure = images_grid(faces.X, faces.image_shape, n_columns=4, title="Faces")
    >>> len(figure.axes)
    1
    """
    n_columns = min(n_columns, len(images))
    side = _WIDTH / max(n_columns, 6)
    n_rows = -(-len(images) // n_columns)
    size = (side * n_columns, side * n_rows * image_shape[0] / image_shape[1])
    sheet = _Sheet(size[0] + 0.2, size[1] + (0.45 if title else 0.2))
    _draw_images(sheet.axes(0.1, 0.1, *size), images, image_shape, n_columns, title=title, signed=signed, scale=scale)
    return sheet.figure


def score_table_figure(table, title: str | None = None) -> "Figure":
    """Show a table of scores within [0, 1] as a heat map with the values written in.

    Parameters
    ----------
    table : DataFrame
        One row a method, one column an attribute.
    title : str or None, default=None
        Title.

    Returns
    -------
    Figure
        With one axes.

    Examples
    --------
    >>> import pandas as pd
    >>> from laminar.plots import score_table_figure
    >>> table = pd.DataFrame({"identity": [0.4, 0.7], "pose": [0.9, 0.8]}, index=["NMF", "SemiNMF"])
    >>> [text.get_text() for text in score_table_figure(table).axes[0].texts]
    ['.40', '.90', '.70', '.80']
    """
    n_rows, n_columns = table.shape
    left = _label_width(table.index)
    sheet = _Sheet(left + 1.1 * n_columns + 0.15, 0.36 * n_rows + (0.75 if title else 0.45))
    _draw_table(sheet.axes(left, 0.35, 1.1 * n_columns, 0.36 * n_rows), table, title)
    return sheet.figure


def convergence(history: Sequence[float] | Mapping[str, Sequence[float]], title: str | None = None) -> "Figure":
    """Draw the objective against the iterations.

    Parameters
    ----------
    history : sequence of float, or mapping from str to sequence of float
        The objective after every iteration, of one model or of several by name.
    title : str or None, default=None
        Title.

    Returns
    -------
    Figure
        With one axes; the vertical axis is logarithmic where the values are positive and span a decade.

    Examples
    --------
    >>> from laminar.plots import convergence
    >>> figure = convergence({"NMF": [9.0, 4.0, 3.0], "SemiNMF": [8.0, 3.0, 2.5]})
    >>> len(figure.axes[0].lines)
    2
    """
    curves = history if isinstance(history, Mapping) else {"objective": history}
    sheet = _Sheet(6.0, 3.6)
    axes = sheet.axes(0.9, 0.55, 4.9, 2.65 if title else 2.9)
    for name, values in curves.items():
        axes.plot(np.arange(1, len(values) + 1), values, label=name, linewidth=1.8)
    low, high = axes.dataLim.intervaly
    if 0 < 10 * low < high:
        axes.set_yscale("log")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("iteration", color=_INK)
    axes.set_ylabel("objective", color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    if len(curves) > 1:
        axes.legend(frameon=False)
    _title(axes, title)
    return sheet.figure


def demo_figure(
    faces: np.ndarray,
    components: Mapping[str, np.ndarray],
    tables: Mapping[str, object],
    image_shape: tuple[int, int],
    title: str | None = None,
) -> "Figure":
    """Put examples, the components that models found in them and tables of scores on one page.

    Parameters
    ----------
    faces : array-like of shape (n_images, n_pixels)
        Examples, shown twelve a line.
    components : mapping from str to array-like of shape (n_components, n_pixels)
        Components by title, side by side, at most 24 each. Mixed signs are shown in colour.
    tables : mapping from str to DataFrame
        Scores within [0, 1] by title, side by side; their rows must be the same.
    image_shape : tuple of int
        Height and width of faces and components.
    title : str or None, default=None
        Title of the examples.

    Returns
    -------
    Figure
        With one axes for the examples, one a set of components and one a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import demo_figure
    >>> faces = make_faces(3, 2, 2, size=16, random_state=0)
    >>> scores = pd.DataFrame({"pose": [0.9]}, index=["NMF"])
    >>> figure = demo_figure(faces.X, {"Parts": faces.X[:4]}, {"Accuracy": scores}, faces.image_shape)
    >>> len(figure.axes)
    3
    """
    aspect, gap, heading = image_shape[0] / image_shape[1], 0.3, 0.34
    page = _WIDTH - 0.2
    shown = {name: np.asarray(values)[:24] for name, values in components.items()}
    half = (page - gap * (len(shown) - 1)) / len(shown)
    heights = [  # of the three bands, from top to bottom
        page / 12 * aspect * -(-len(faces) // 12),
        half / 8 * aspect * 3,
        0.34 * len(next(iter(tables.values()))),
    ]
    sheet = _Sheet(_WIDTH, sum(heights) + 3 * heading + 2 * 0.16 + 0.40)
    bottom = sheet.height - heading - heights[0]
    _draw_images(sheet.axes(0.1, bottom, page, heights[0]), faces, image_shape, 12, title)
    bottom -= 0.16 + heading + heights[1]
    for i, (name, values) in enumerate(shown.items()):
        axes = sheet.axes(0.1 + i * (half + gap), bottom, half, heights[1])
        _draw_images(axes, values, image_shape, 8, name, signed=bool(values.min() < 0), scale="each")
    bottom -= 0.16 + heading + heights[2]
    left = _label_width(next(iter(tables.values())).index)
    width = (page - left - gap * (len(tables) - 1)) / len(tables)
    for i, (name, table) in enumerate(tables.items()):
        axes = sheet.axes(0.1 + left + i * (width + gap), bottom, width, heights[2])
        _draw_table(axes, table, name, row_labels=i == 0)
    return sheet.figure


class _Sheet:
    """A white page on which axes are placed in inches, so that sizes stay the same whatever else is on it."""

    def __init__(self, width, height):
        figure = require("matplotlib.figure", "plots", __name__)
        self.width, self.height = width, height
        self.figure = figure.Figure(figsize=(width, height), dpi=100, facecolor="white")

    def axes(self, left, bottom, width, height):
        return self.figure.add_axes((left / self.width, bottom / self.height, width / self.width, height / self.height))


def _draw_images(axes, images, image_shape, n_columns, title=None, signed=False, scale="shared"):
    if scale not in ("shared", "each"):
        raise ValueError(f'scale must be "shared" or "each", got {scale!r}')
    images = np.asarray(images, dtype=float).reshape(-1, *image_shape)
    largest = np.abs(images).max(axis=(1, 2) if scale == "each" else None, keepdims=True)
    images = _enlarge(images / np.where(largest > 0, largest, 1))
    axes.imshow(
        _mosaic(images, n_columns),
        cmap=_SIGNED if signed else _GREY,
        vmin=-1 if signed else 0,
        vmax=1,
        interpolation="nearest",
        aspect="auto",
    )
    axes.set_axis_off()
    _title(axes, title)


def _enlarge(images, wanted=96):
    """Small images enlarged smoothly, as an image viewer would, to about `wanted` pixels across."""
    times = wanted // images.shape[2]
    if times < 2:
        return images
    # grid_mode keeps the edges of the pixels in place; cubic interpolation may overshoot, hence the limits.
    large = zoom(images, (1, times, times), order=3, mode="nearest", grid_mode=True)
    return np.clip(large, images.min(), images.max())


def _mosaic(images, n_columns):
    """One array holding all images; what lies between and after them is NaN, which is not drawn."""
    n, height, width = images.shape
    border = max(1, round(width / 24))
    n_rows = -(-n // n_columns)
    tiles = np.full((n_rows * n_columns, height + border, width + border), np.nan)
    tiles[:n, :height, :width] = images
    tiles = tiles.reshape(n_rows, n_columns, height + border, width + border).swapaxes(1, 2)
    return tiles.reshape(n_rows * (height + border), -1)[:-border, :-border]


def _draw_table(axes, table, title=None, row_labels=True):
    values = table.to_numpy(dtype=float)
    axes.imshow(values, cmap=_SCORES, vmin=0, vmax=1.15, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        text = f"{value:.2f}".replace("0.", ".", 1) if value < 0.995 else "1.0"
        colour = "white" if value > 0.6 else _INK
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=10)
    axes.set_xticks(range(table.shape[1]), [str(name) for name in table.columns], fontsize=10, color=_INK)
    axes.set_yticks(range(table.shape[0]), [str(name) for name in table.index], fontsize=10, color=_INK)
    axes.tick_params(length=0, labelleft=row_labels)
    axes.spines[:].set_visible(False)
    # White lines between the cells: the table reads as tiles.
    axes.set_xticks(np.arange(1, table.shape[1]) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, table.shape[0]) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0)
    _title(axes, title)


def _label_width(names):
    return 0.2 + 0.078 * max(len(str(name)) for name in names)


def _title(axes, title):
    if title:
        axes.set_title(title, loc="left", fontsize=11, color=_INK, pad=6)

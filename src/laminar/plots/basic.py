"""Figures of images, scores and objectives."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .drawing import WIDTH, Sheet, draw_images, draw_table, label_width, plain, put_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def images_grid(
    images: np.ndarray,
    image_shape: tuple[int, int],
    n_columns: int = 8,
    title: str | None = None,
    signed: bool = False,
    scale: str = "shared",
) -> "Figure":
    """Draw flattened images, or components, side by side.

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
        Whether to colour values by sign, white being zero, instead of by brightness.
    scale : {"shared", "each"}, default="shared"
        Whether images are scaled by the largest value of all or each by its own (components have no common unit).

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
    side = WIDTH / max(n_columns, 6)
    n_rows = -(-len(images) // n_columns)
    size = (side * n_columns, side * n_rows * image_shape[0] / image_shape[1])
    sheet = Sheet(size[0] + 0.2, size[1] + (0.45 if title else 0.2))
    draw_images(sheet.axes(0.1, 0.1, *size), images, image_shape, n_columns, title=title, signed=signed, scale=scale)
    return sheet.figure


def score_table_figure(table: "DataFrame", title: str | None = None) -> "Figure":
    """Draw a table of scores within [0, 1] as a heat map with the values written in.

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
    left = label_width(table.index)
    sheet = Sheet(left + 1.1 * n_columns + 0.15, 0.36 * n_rows + (0.75 if title else 0.45))
    draw_table(sheet.axes(left, 0.35, 1.1 * n_columns, 0.36 * n_rows), table, title)
    return sheet.figure


def convergence(history: object, title: str | None = None) -> "Figure":
    """Draw the objective as a function of the iteration.

    Parameters
    ----------
    history : fitted model, sequence of float, or mapping from str to one of these
        The objective after every iteration (``objective_history_``), of one model or of several by name. That of a
        model is drawn at the iterations it belongs to, ``history_iterations_``.
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
    sheet = Sheet(6.0, 3.6)
    axes = sheet.axes(0.9, 0.55, 4.9, 2.65 if title else 2.9)
    for name, values in curves.items():
        iterations = getattr(values, "history_iterations_", None)
        values = getattr(values, "objective_history_", values)
        iterations = np.arange(1, len(values) + 1) if iterations is None else iterations
        axes.plot(iterations, values, label=name, linewidth=1.8)
    low, high = axes.dataLim.intervaly
    if 0 < 10 * low < high:
        axes.set_yscale("log")
    plain(axes, "iteration", "objective", lines=True)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if len(curves) > 1:
        axes.legend(frameon=False)
    put_title(axes, title)
    return sheet.figure


def demo_figure(
    faces: np.ndarray,
    components: Mapping[str, np.ndarray],
    tables: Mapping[str, object],
    image_shape: tuple[int, int],
    title: str | None = None,
) -> "Figure":
    """Draw examples, components of models and tables of scores on one page.

    Parameters
    ----------
    faces : array-like of shape (n_images, n_pixels)
        Examples, twelve a line.
    components : mapping from str to array-like of shape (n_components, n_pixels)
        Components by title, side by side in three lines: 24 each of two models, 12 each of four. Mixed signs are
        shown in colour.
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
    page = WIDTH - 0.2
    columns = max(1, 16 // len(components))
    shown = {name: np.asarray(values)[: 3 * columns] for name, values in components.items()}
    part = (page - gap * (len(shown) - 1)) / len(shown)
    heights = [  # of the three bands, from top to bottom
        page / 12 * aspect * -(-len(faces) // 12),
        part / columns * aspect * 3,
        0.34 * len(next(iter(tables.values()))),
    ]
    sheet = Sheet(WIDTH, sum(heights) + 3 * heading + 2 * 0.16 + 0.40)
    bottom = sheet.height - heading - heights[0]
    draw_images(sheet.axes(0.1, bottom, page, heights[0]), faces, image_shape, 12, title)
    bottom -= 0.16 + heading + heights[1]
    for i, (name, values) in enumerate(shown.items()):
        axes = sheet.axes(0.1 + i * (part + gap), bottom, part, heights[1])
        draw_images(axes, values, image_shape, columns, name, signed=bool(values.min() < 0), scale="each")
    bottom -= 0.16 + heading + heights[2]
    left = label_width(next(iter(tables.values())).index)
    width = (page - left - gap * (len(tables) - 1)) / len(tables)
    for i, (name, table) in enumerate(tables.items()):
        axes = sheet.axes(0.1 + left + i * (width + gap), bottom, width, heights[2])
        draw_table(axes, table, name, row_labels=i == 0)
    return sheet.figure

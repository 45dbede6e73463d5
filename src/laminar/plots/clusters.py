"""Figures of samples: clusters of images, codes and eigenmaps in two dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from laminar._utils.labels import Attribute, read_attribute, read_labels
from laminar._utils.typing import Data
from laminar._utils.validation import count_samples
from laminar.graphs import KNN, laplacian_eigenmaps

from .drawing import INK, WIDTH, Sheet, draw_images, draw_points, label_width, legend_beside, plain, put_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIDE = 2.7  # of one square scatter plot, in inches


def cluster_montage(
    images: ArrayLike,
    labels: ArrayLike,
    image_shape: tuple[int, int],
    n_per_cluster: int = 12,
    title: str | None = None,
) -> Figure:
    """Draw images of every cluster, one line a cluster.

    Parameters
    ----------
    images : array-like of shape (n_images, n_pixels)
        One flattened image a row.
    labels : array-like of shape (n_images,)
        Cluster of each image; images without one (-1, NaN, None) are left out.
    image_shape : tuple of int
        Height and width.
    n_per_cluster : int, default=12
        Most images of a cluster, the first ones.
    title : str or None, default=None
        Title.

    Returns
    -------
    Figure
        With one axes a cluster, from the top down, and its name and size at the left.

    Examples
    --------
    >>> from laminar import SemiNMF
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import cluster_montage
    >>> faces = make_faces(4, 1, 5, size=16, random_state=0)
    >>> found = SemiNMF(4, random_state=0).fit_predict(faces.X)
    >>> len(cluster_montage(faces.X, found, faces.image_shape, n_per_cluster=5).axes)
    4
    """
    rows = np.asarray(images, dtype=float)
    clusters = read_attribute(labels, len(rows))
    if not len(clusters.classes) or n_per_cluster < 1:
        raise ValueError("there is no image to draw: labels must have a cluster, and n_per_cluster be 1 or more.")
    names = [f"{name} ({size})" for name, size in zip(clusters.classes, clusters.class_sizes, strict=True)]
    shown = [np.flatnonzero(clusters.codes == i)[:n_per_cluster] for i in range(len(names))]
    left, most = label_width(names), max(map(len, shown))
    side = min(0.72, (WIDTH - left - 0.1) / most)
    height, heading = side * image_shape[0] / image_shape[1], 0.4 if title else 0.1
    sheet = Sheet(left + side * most + 0.1, (height + 0.08) * len(names) + heading)
    largest = float(np.abs(rows).max())  # one scale for all clusters
    for i, (name, members) in enumerate(zip(names, shown, strict=True)):
        bottom = sheet.height - heading - (i + 1) * (height + 0.08) + 0.08
        axes = sheet.axes(left, bottom, side * len(members), height)
        draw_images(axes, rows[members], image_shape, len(members), title if i == 0 else None, white=largest)
        axes.text(-0.1 / (side * len(members)), 0.5, name, ha="right", va="center", color=INK, transform=axes.transAxes)
    return sheet.figure


def codes_2d(
    H: ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike], y: ArrayLike | None = None, title: str | None = None
) -> Figure:
    """Draw codes of two dimensions as they are: neither whitened nor projected.

    Parameters
    ----------
    H : array-like of shape (n_samples, 2), sequence of these, or mapping from str to these
        Codes of one layer, or of several layers, side by side.
    y : array-like of shape (n_samples,) or (n_samples, 2), or None, default=None
        An attribute to colour the samples by; a second one is shown by markers. Unknown (-1, NaN, None) are grey.
    title : str or None, default=None
        Title, before the name of each layer.

    Returns
    -------
    Figure
        With one axes a layer.

    See Also
    --------
    layer_scatter : The features that are clustered, of any dimension, in their principal plane.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.datasets import make_xor
    >>> from laminar.plots import codes_2d
    >>> data = make_xor(random_state=0)
    >>> figure = codes_2d({"input": data.X, "parts": np.maximum(data.X, 0)}, np.c_[data.identity, data.pose])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['input', 'parts']
    """
    layers = _layers(H)
    for name, codes in layers.items():
        if codes.ndim != 2 or codes.shape[1] != 2 or len(codes) != len(next(iter(layers.values()))):
            raise ValueError(
                f"codes of {name or 'H'} must have shape (n_samples, 2), the same samples in all layers; got "
                f"{codes.shape}. Choose two columns, as H[:, [0, 1]], or use layer_scatter."
            )
    n_samples = len(next(iter(layers.values())))
    attributes = (read_attribute(None, n_samples),) if y is None else read_labels(y, n_samples)
    if len(attributes) > 2:
        raise ValueError(f"y has {len(attributes)} attributes; one is shown by colour and one by markers: give two.")
    heads = {name: ": ".join(part for part in (title, name) if part) for name in layers}
    return _scatters(
        {heads[name]: codes for name, codes in layers.items()}, attributes, "first component", "second component"
    )


def eigenmaps(
    X: Data, n_neighbors: Sequence[int] = (3, 5, 10), y: ArrayLike | None = None, title: str | None = None
) -> Figure:
    """Draw the Laplacian eigenmaps of graphs of several numbers of neighbours, to choose one by eye.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    n_neighbors : sequence of int, default=(3, 5, 10)
        Numbers of neighbours of `laminar.graphs.KNN`, with binary weights.
    y : array-like of shape (n_samples,) or None, default=None
        An attribute to colour the samples by; unknown ones (-1, NaN, None) are grey. The maps do not depend on it.
    title : str or None, default=None
        Title, before the number of neighbours.

    Returns
    -------
    Figure
        With one axes a number of neighbours; the title also has the number of connected components, if there are more
        than one: the first dimensions then distinguish only those.

    See Also
    --------
    laminar.graphs.laplacian_eigenmaps : The coordinates.

    Examples
    --------
    >>> from laminar.datasets import make_faces
    >>> from laminar.plots import eigenmaps
    >>> faces = make_faces(3, 5, 4, size=12, random_state=0)
    >>> [axes.get_title(loc="left") for axes in eigenmaps(faces.X, (4, 8), faces.pose).axes]
    ['4 neighbours, 5 components', '8 neighbours, 2 components']
    """
    maps = {}
    for k in n_neighbors:
        W = KNN(k).build(X).tocsr()
        parts = connected_components(W, directed=False)[0]
        name = f"{k} neighbours" + (f", {parts} components" if parts > 1 else "")
        maps[f"{title}: {name}" if title else name] = laplacian_eigenmaps(W, X, 2)
    if not maps:
        raise ValueError("n_neighbors is empty: give at least one number of neighbours, as (3, 5, 10).")
    figure = _scatters(maps, (read_attribute(y, count_samples(X)),), "first eigenmap", "second eigenmap")
    for axes in figure.axes:
        axes.set(xticks=[], yticks=[])  # their unit has no meaning
    return figure


def _layers(H) -> dict[str, np.ndarray]:
    """Return codes by name: "layer 0", "layer 1", ... for a sequence, no name for one array."""
    if isinstance(H, Mapping):
        return {str(name): np.asarray(codes) for name, codes in H.items()}
    if isinstance(H, list | tuple) and len(H) and np.ndim(H[0]) == 2:
        return {f"layer {i}": np.asarray(codes) for i, codes in enumerate(H)}
    return {"": np.asarray(H)}


def _scatters(panels: Mapping[str, np.ndarray], attributes: tuple[Attribute, ...], xlabel: str, ylabel: str) -> Figure:
    """Draw one scatter plot a panel, side by side, with one legend for up to twelve classes."""
    names = [str(name) for name in attributes[0].classes]
    if len(attributes) == 2:
        names = [f"{name}, {kind}" for name in names for kind in attributes[1].classes]
    has_legend = 0 < len(names) <= 12
    width, gap = _SIDE, 0.75
    sheet = Sheet(len(panels) * (width + gap) + (label_width(names) + 0.2 if has_legend else 0.1), width + 1.0)
    for i, (name, points) in enumerate(panels.items()):
        axes = plain(sheet.axes(0.7 + i * (width + gap), 0.55, width, width), xlabel, ylabel if i == 0 else "")
        draw_points(axes, points, *attributes)
        axes.locator_params(nbins=4)
        put_title(axes, name)
    if has_legend:
        legend_beside(sheet.figure.axes[-1], handletextpad=0)
    return sheet.figure

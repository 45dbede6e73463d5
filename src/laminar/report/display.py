"""How samples and components are drawn: as images, bars of columns, lines over positions, or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .arrays import signed, smallest
from .methods import side_by_side
from .subject import Subject
from .variance import Affine

MAX_SIDE = 64  # pixels of a picture
MAX_BYTES = 4_000_000  # of the samples of a page, and of the components
MAX_COLUMNS = 64  # of a table that is shown whole; of more the largest are
MAX_TEXT = 600  # characters of a text
N_TOP = 12  # words or columns of a component, and of a sample


@dataclass(frozen=True, eq=False)
class Display:
    """How the features of the samples are drawn, in the units of the page.

    A value x of feature j is at ``(x * factor[j] + shift[j])`` between 0 and 1, after features were averaged by
    ``shrink``.

    Attributes
    ----------
    kind : {"image", "bars", "line", "words"}
        What is drawn.
    columns : slice
        The features that are drawn, of all views side by side.
    names : list of str
        Their names.
    shape : tuple of int
        Height, width and number of channels, for images.
    step : int
        Pixels a side that are averaged into one.
    factor, shift : ndarray of shape (n_features,)
        Places of values on the page.
    scale, mean : ndarray of shape (n_features,)
        What the features were divided by, and what was subtracted before; 1 and 0 if nothing was.
    """

    kind: str
    columns: slice
    names: list[str]
    shape: tuple[int, int, int] = (0, 0, 0)
    step: int = 1
    factor: Any = 1.0
    shift: Any = 0.0
    scale: Any = 1.0
    mean: Any = 0.0

    def shrink(self, rows: np.ndarray) -> np.ndarray:
        """Return rows with blocks of ``step`` x ``step`` pixels averaged; rows of other kinds as they are."""
        if self.kind != "image" or self.step == 1:
            return rows
        height, width, channels = self.shape
        images = rows.reshape(len(rows), height, width, channels)
        padding = [(0, 0), (0, -height % self.step), (0, -width % self.step), (0, 0)]
        images = np.pad(images, padding, mode="edge")
        blocks = images.reshape(
            len(rows), images.shape[1] // self.step, self.step, images.shape[2] // self.step, self.step, channels
        )
        return blocks.mean(axis=(2, 4)).reshape(len(rows), -1)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of a picture."""
        return -(-self.shape[0] // self.step), -(-self.shape[1] // self.step)

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return samples in the units of the page."""
        return self.shrink(X * self.scale + self.mean) * self.factor + self.shift

    def offset(self, found: Affine) -> np.ndarray:
        """Return what a reconstruction without codes is, in the units of the page."""
        return self.values(found.offset[None, self.columns])[0].astype(np.float32)

    def components(self, found: Affine) -> np.ndarray:
        """Return components in the units of the page."""
        return self.shrink(found.components[:, self.columns] * self.scale) * self.factor


def display_of(subject: Subject) -> Display:
    """Choose how samples are drawn.

    Parameters
    ----------
    subject : Subject
        The model and its samples.

    Returns
    -------
    Display
        Of several views that of the first with images, or else words: features with the largest weights.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.report.subject import read_subject
    >>> X = np.random.default_rng(0).random((8, 6))
    >>> model = NMF(2, random_state=0).fit(X)
    >>> display_of(read_subject(model, X)).kind, display_of(read_subject(model, X, image_shape=(2, 3))).kind
    ('bars', 'image')
    """
    data, views = subject.data, subject.views or {}
    if views and isinstance(data.image_shape, tuple):
        return _image(subject, slice(None), data.image_shape, data.scaling)
    if subject.has_views:
        widths = [X.shape[1] for X in views.values()]
        starts = np.concatenate([[0], np.cumsum(widths)])
        for i, name in enumerate(views):
            shape = data.image_shape.get(name) if isinstance(data.image_shape, dict) else None
            if shape is not None and np.isfinite(views[name]).all():
                scaling = data.scaling.get(name) if isinstance(data.scaling, dict) else None
                return _image(subject, slice(int(starts[i]), int(starts[i + 1])), shape, scaling)
        return Display("words", slice(None), _names(subject))
    names = _names(subject)
    if subject.views is None or sp.issparse(subject.X) or _is_text(subject):
        return Display("words", slice(None), names)
    X = np.asarray(subject.X)
    scale, mean = _scaling(data.scaling)
    raw = X * scale + mean
    if _is_line(raw, data.feature_names):
        lowest = float(raw.min())
        width = float(raw.max()) - lowest or 1.0
        return Display("line", slice(None), names, factor=1 / width, shift=-lowest / width, scale=scale, mean=mean)
    if X.shape[1] > MAX_COLUMNS:
        return Display("words", slice(None), names)
    low, high = raw.min(axis=0), raw.max(axis=0)
    span = np.where(high > low, high - low, 1)
    return Display("bars", slice(None), names, factor=1 / span, shift=-low / span, scale=scale, mean=mean)


def _scaling(scaling: Any) -> tuple[Any, Any]:
    return (1.0, 0.0) if scaling is None else (scaling.scale, scaling.mean)


def _image(subject: Subject, columns: slice, image_shape: Sequence[int], scaling: Any) -> Display:
    height, width = int(image_shape[0]), int(image_shape[1])
    channels = int(image_shape[2]) if len(image_shape) > 2 else 1
    step, n = max(1, -(-max(height, width) // MAX_SIDE)), len(subject.shown)
    n_components = sum(len(subject.layer(place).components) for place in subject.places)
    while max(n, n_components) * -(-height // step) * -(-width // step) * channels > MAX_BYTES:
        step += 1
    scale, mean = _scaling(scaling)
    X = np.asarray(side_by_side(subject)[:, columns]) * scale + mean
    low, high = float(X.min()), float(X.max())
    if low >= 0:  # grey values as they are, not stretched
        low, high = 0.0, 1.0 if high <= 1 else 255.0 if 128 < high <= 255 else high
    span = high - low or 1.0
    return Display("image", columns, [], (height, width, channels), step, 1 / span, -low / span, scale=scale, mean=mean)


def _names(subject: Subject) -> list[str]:
    """Return the names of the features of all views side by side."""
    given, found = subject.data.feature_names, []
    if subject.views is None:
        own = getattr(subject.model, "feature_names_in_", None)
        n = subject.model.layers_[0].components.shape[1]
        names = own if given is None else given
        return [f"feature {j + 1}" for j in range(n)] if names is None else [str(name) for name in names]
    for name, X in subject.views.items():
        names = given.get(name) if isinstance(given, dict) else given
        if names is None:
            names = [f"feature {j + 1}" for j in range(X.shape[1])]
        found += [f"{name}: {feature}" if subject.has_views else str(feature) for feature in names]
    return found


def _is_text(subject: Subject) -> bool:
    return type(subject.data.reader).__name__ == "TextReader"


def _is_line(X: np.ndarray, names: Any) -> bool:
    """Whether features are positions: their names are rising numbers, or neighbours are nearly equal."""
    if X.shape[1] < 24:
        return False
    if names is not None:
        try:
            numbers = np.array([float(str(name)) for name in names])
        except ValueError:
            return False
        return bool((np.diff(numbers) > 0).all() or (np.diff(numbers) < 0).all())
    centred = X - X.mean(axis=0)
    return bool(np.square(np.diff(centred, axis=1)).mean() < 0.2 * np.square(centred).mean())


def sample_values(subject: Subject, display: Display) -> dict[str, Any]:
    """Return what the page holds of the samples themselves.

    Parameters
    ----------
    subject : Subject
        The model and its samples.
    display : Display
        How they are drawn.

    Returns
    -------
    dict
        ``values`` for images, bars and lines, ``top`` words or columns with weights for words, ``texts`` where
        they were given; empty without data.
    """
    rows = subject.shown
    texts = {} if subject.texts is None else {"texts": [_beginning(str(subject.texts[i])) for i in rows]}
    if subject.views is None:
        return texts
    X = side_by_side(subject)[rows]
    if display.kind == "words":
        return {"top": top(X), **texts}
    values = np.clip(display.values(np.asarray(X[:, display.columns], dtype=np.float64)), 0, 1)
    is_fine = display.kind != "image" and values.size <= MAX_BYTES // 4
    stored = np.rint(values * (65535 if is_fine else 255)).astype(np.uint16 if is_fine else np.uint8)
    return {"values": stored}


def _beginning(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} …"


def top(X: Any, n_top: int = N_TOP) -> dict[str, np.ndarray]:
    """Return the largest entries of each row.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n, p)
        Rows.
    n_top : int, default=12
        Number of entries.

    Returns
    -------
    dict
        ``features``, positions, and ``weights``, in units of a byte of the largest magnitude of the row; of fewer
        entries than ``n_top`` the last weights are zero.

    Examples
    --------
    >>> found = top(np.array([[0.0, -3.0, 1.0]]), 2)
    >>> found["features"].tolist(), found["weights"].tolist(), found["largest"].tolist()
    ([1, 2], [-127, 42], [3.0])
    """
    n, p = X.shape
    k = min(n_top, p)
    features, weights = np.zeros((n, k), dtype=np.int64), np.zeros((n, k))
    for i in range(n):
        row = X[[i]].toarray()[0] if sp.issparse(X) else np.nan_to_num(X[i])
        best = np.argpartition(-np.abs(row), k - 1)[:k]
        features[i] = best[np.argsort(-np.abs(row[best]), kind="stable")]
        weights[i] = row[features[i]]
    rounded, largest = signed(weights)
    return {"features": smallest(features.ravel(), p), "weights": rounded.ravel(), "largest": largest, "n_top": k}


def component_values(display: Display, found: Affine | None, components: np.ndarray) -> dict[str, Any]:
    """Return what the page holds of the components of a layer.

    Parameters
    ----------
    display : Display
        How they are drawn.
    found : Affine or None
        How the layer reconstructs samples; None where it does not.
    components : ndarray of shape (n_components, n_features)
        The components, in any units.

    Returns
    -------
    dict
        ``components`` with ``largest`` and ``offset`` for images, bars and lines; ``top`` for words, and beside bars.
    """
    if display.kind == "words" or found is None:
        return {"top": top(components)}
    rounded, largest = signed(display.components(found))
    record: dict[str, Any] = {"components": rounded, "largest": largest, "offset": display.offset(found)}
    if display.kind == "bars":
        record["top"] = top(found.components[:, display.columns])
    return record

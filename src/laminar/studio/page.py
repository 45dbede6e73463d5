"""The page of the studio: its samples and scripts, in one document."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar.report.display import top
from laminar.report.document import SHARED_SCRIPTS, SHARED_STYLES, document, read_page

if TYPE_CHECKING:
    from pathlib import Path

    from laminar.io.dataset import Dataset

SCRIPTS = (
    "connection.js",
    "state.js",
    "map.js",
    "selection.js",
    "proposals.js",
    "changes.js",
    "groups.js",
    "writing.js",
    "keys.js",
    "studio.js",
)
MAX_SIDE = 64  # pixels of a picture
MAX_BYTES = 16_000_000  # of all pictures
MAX_COLUMNS = 24  # of a table whose values are shown; of more the largest are


def page(data: Dataset, name: str, labels: Path, command: str) -> str:
    """Return the page.

    Parameters
    ----------
    data : Dataset
        The samples.
    name : str
        Name of the data.
    labels : Path
        The CSV of labels.
    command : str
        What starts the studio again.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> from pathlib import Path
    >>> from laminar import Dataset
    >>> data = Dataset(np.eye(2), np.array(["anna", "ben"]))
    >>> "connect-src 'self'" in page(data, "two", Path("two-labels.csv"), "laminar studio two")
    True
    """
    samples = {
        "ids": [str(name) for name in data.ids],
        "noun": _noun(data),
        "pictures": pictures(data),
        "features": features(data),
        "name": name,
        "csv": labels.name,
        "path": str(labels),
        "command": command,
    }
    return document(
        _own("studio.html"),
        [*(read_page(style) for style in SHARED_STYLES), _own("studio.css")],
        [*(read_page(script) for script in SHARED_SCRIPTS), *(_own(script) for script in SCRIPTS)],
        {"samples": samples},
        title=f"{name} · laminar studio",
        connect="'self'",
    )


def _own(name: str) -> str:
    return (files("laminar.studio") / "page" / name).read_text(encoding="utf-8")


def _noun(data: Dataset) -> tuple[str, str]:
    if isinstance(data.image_shape, tuple):
        return ("image", "images") if data.groups is None else ("frame", "frames")
    return "sample", "samples"


def features(data: Dataset) -> dict[str, Any] | None:
    """Return what is shown of a sample that is no image: its values, or its features with the largest ones.

    Parameters
    ----------
    data : Dataset
        The samples.

    Returns
    -------
    dict or None
        ``names`` with ``values``, all of each sample in turn, or ``largest``, positions; None for images.

    Examples
    --------
    >>> from laminar import Dataset
    >>> data = Dataset(np.array([[14.2, 1.7]]), np.array(["a"]), feature_names=np.array(["alcohol", "ash"]))
    >>> features(data)["values"].tolist() == [np.float32(14.2), np.float32(1.7)]
    True
    """
    if isinstance(data.image_shape, tuple):
        return None
    X: Any = data.X
    names = data.feature_names if isinstance(data.feature_names, np.ndarray) else np.arange(1, X.shape[1] + 1)
    if isinstance(X, np.ndarray) and X.shape[1] <= MAX_COLUMNS:
        raw = X if data.scaling is None else X * data.scaling.scale + data.scaling.mean  # type: ignore[union-attr]
        return {"names": [str(name) for name in names], "values": raw.astype(np.float32).ravel()}
    found = top(X)
    positions, place = np.unique(found["features"], return_inverse=True)
    shown = np.where(found["weights"] != 0, place.ravel(), len(positions))  # of fewer entries the rest is no feature
    return {
        "names": [*(str(names[j]) for j in positions), ""],
        "largest": shown.astype(np.uint32),
        "n_largest": found["n_top"],
    }


def pictures(data: Dataset, max_side: int = MAX_SIDE, max_bytes: int = MAX_BYTES) -> dict[str, Any] | None:
    """Return the samples as small images, or None where they are no images.

    Parameters
    ----------
    data : Dataset
        The samples.
    max_side : int, default=64
        Largest height and width.
    max_bytes : int, default=16_000_000
        Bytes of all pictures; larger images are reduced further.

    Returns
    -------
    dict or None
        ``pixels``, an array of bytes, with ``n``, ``width``, ``height`` and ``channels``.

    Examples
    --------
    >>> from laminar import Dataset
    >>> data = Dataset(np.array([[0.0, 0.5, 1.0, 1.0]]), np.array(["a"]), image_shape=(2, 2))
    >>> pictures(data)["pixels"].tolist(), pictures(data, max_side=1)["pixels"].tolist()
    ([0, 128, 255, 255], [159])
    """
    if not isinstance(data.image_shape, tuple):
        return None
    height, width, *rest = data.image_shape
    channels = rest[0] if rest else 1
    X: Any = data.X
    if data.scaling is not None:
        X = X * data.scaling.scale + data.scaling.mean  # type: ignore[union-attr]
    low, high = min(float(X.min()), 0.0), max(float(X.max()), 1.0)
    step = max(1, -(-max(height, width) // max_side))
    while len(X) * (height // step) * (width // step) * channels > max_bytes and step < min(height, width):
        step += 1
    rows, columns = height // step, width // step
    pixels = np.empty((len(X), rows, columns, channels), dtype=np.uint8)
    for i in range(len(X)):
        image = np.asarray(X[i], dtype=np.float64).reshape(height, width, channels)[: rows * step, : columns * step]
        means = image.reshape(rows, step, columns, step, channels).mean(axis=(1, 3))
        pixels[i] = np.rint((means - low) / (high - low) * 255)
    return {"pixels": pixels.ravel(), "n": len(X), "width": columns, "height": rows, "channels": channels}

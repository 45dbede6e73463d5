"""Data of the items: the papers' own where they are on disk, open stand-ins named as such where not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from laminar.datasets import available, load, make_faces, make_views

from .run import Skipped

# Rendered faces of about the same shape where a set is absent: people, poses, lights.
STAND_INS = {"pie_pose27": (68, 6, 7), "orl": (40, 5, 2), "yale": (15, 11, 1), "pie_5pose_10id": (10, 5, 21)}
SMALL = 100  # samples of a run in small, at least


@dataclass(frozen=True, eq=False)
class Images:
    """Images with attributes.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_pixels)
        Images, grey values from 0 to 1.
    attributes : dict
        Labels of each attribute.
    title : str
        What they are, stand-ins named as such.
    """

    X: np.ndarray
    attributes: dict[str, np.ndarray]
    title: str

    @property
    def unit(self) -> np.ndarray:
        """Images of unit Euclidean norm."""
        return normalize(self.X)


@lru_cache(maxsize=4)
def images(name: str, small: bool = False, *, stand_in: bool = True) -> Images:
    """Load images, or render faces where they are not on disk.

    Parameters
    ----------
    name : str
        Data set, as `laminar.datasets.load` has it.
    small : bool, default=False
        Whether a run in small takes some of them only: whole classes of the first attribute.
    stand_in : bool, default=True
        Whether rendered faces may take their place.

    Returns
    -------
    Images

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, LAMINAR_DATA=""):
    ...     found = images.__wrapped__("yale")
    >>> found.title, found.X.shape
    ('rendered faces in place of yale, which is not on disk', (165, 1024))
    """
    if name in available():
        bunch: Any = load(name, dtype=np.float64)
        attributes = {attribute: np.asarray(bunch[attribute]) for attribute in bunch.attributes}
        found = Images(bunch.X, attributes, name)
    elif stand_in and name in STAND_INS:
        bunch = make_faces(*STAND_INS[name], size=32, random_state=0)
        attributes = {attribute: np.asarray(bunch[attribute]) for attribute in ("identity", "pose", "light")}
        title = f"rendered faces in place of {name}, which is not on disk"
        found = Images(bunch.X.astype(np.float64), attributes, title)
    else:
        raise Skipped(f"{name} is not in the folder that LAMINAR_DATA names: put {name}.npz there (docs/datasets.md).")
    return _some(found) if small and len(found.X) > SMALL else found


def _some(found: Images) -> Images:
    first = next(iter(found.attributes.values()))
    counts = np.cumsum(np.bincount(first))
    keep = first <= int(np.searchsorted(counts, SMALL))
    kept = {name: labels[keep] for name, labels in found.attributes.items()}
    return Images(found.X[keep], kept, f"{found.title} ({int(keep.sum())} of {len(found.X)} images)")


@lru_cache(maxsize=4)
def faces_with_expressions(small: bool = False) -> Images:
    """Render faces whose identity, pose, expression and light are known, as in CMU Multi-PIE.

    Examples
    --------
    >>> found = faces_with_expressions(small=True)
    >>> found.X.shape, list(found.attributes)
    ((96, 1024), ['identity', 'pose', 'expression', 'light'])
    """
    n_identities, n_poses, n_expressions, n_lights = (8, 3, 2, 2) if small else (30, 5, 4, 3)
    bunch = make_faces(n_identities, n_poses, n_lights, random_state=0, n_expressions=n_expressions)
    attributes = {name: np.asarray(bunch[name]) for name in ("identity", "pose", "expression", "light")}
    return Images(bunch.X.astype(np.float64), attributes, "rendered faces with expressions")


@lru_cache(maxsize=4)
def views(name: str, small: bool = False) -> tuple[list[np.ndarray], np.ndarray, str]:
    """Load several views and their classes, or synthetic views where they are not on disk.

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, LAMINAR_DATA=""):
    ...     found, y, title = views.__wrapped__("yale_mv")
    >>> [view.shape for view in found], title
    ([(150, 30), (150, 40), (150, 50)], 'synthetic views in place of yale_mv, which is not on disk')
    """
    if name in available():
        bunch: Any = load(name, dtype=np.float64)
        y = np.asarray(bunch[bunch.attributes[0]])
        kept = y < max(2, np.unique(y).size // 3) if small else np.ones(len(y), dtype=bool)
        title = f"{name} ({kept.sum()} of {len(y)} samples)" if small else name
        return [np.asarray(view)[kept] for view in bunch.views], y[kept], title
    bunch = make_views(60 if small else 150, random_state=0)
    return bunch.views, bunch.y, f"synthetic views in place of {name}, which is not on disk"

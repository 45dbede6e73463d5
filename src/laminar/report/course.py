"""Sequences: the slowest feature of a layer over the frames, its phases, and phases that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA

from laminar.temporal.phases import detect_phases
from laminar.temporal.slowness import slowest_feature, slowness

from .subject import Attribute, Subject

MAX_SEQUENCES, MAX_FRAMES = 12, 2000
MIN_FRAMES = 8


def course(subject: Subject) -> dict[str, Any] | None:
    """Return the slowest feature of the top layer, in every sequence.

    Parameters
    ----------
    subject : Subject
        A model and sequences of samples.

    Returns
    -------
    dict or None
        ``name`` of the layer, ``component``, ``delta``, its mean squared change a frame over its variance, and
        ``baseline``, that of the slowest of as many principal components of X; ``sequences``, a list with ``name``,
        ``samples``, positions on the page, ``signal``, ``starts`` and ``phases`` that were found, ``cost``, the share
        of the variance that they leave, and ``true``, the class of each frame of the attribute "phase", if there is
        one. None where the samples are no sequences.

    Examples
    --------
    >>> from laminar import SlowFeatureNMF
    >>> from laminar.datasets import make_temporal
    >>> from laminar.report.subject import read_subject
    >>> film = make_temporal(random_state=0)
    >>> model = SlowFeatureNMF(3, random_state=0).fit(film.X)
    >>> found = course(read_subject(model, film.X, groups=["film"] * len(film.X)))
    >>> len(found["sequences"]), len(found["sequences"][0]["signal"]) == len(film.X)
    (1, True)
    """
    groups = subject.data.groups
    if groups is None and subject.data.frame_rate is None and type(subject.model).__name__ != "SlowFeatureNMF":
        return None
    place = subject.places[-1]
    H = np.asarray(subject.codes(place), dtype=np.float64)
    try:
        index, signal = slowest_feature(H, groups=groups)
        delta = float(slowness(H, groups)[index])
    except ValueError:  # no sequence has two frames, or nothing changes
        return None
    names = np.zeros(subject.n_samples, dtype=int) if groups is None else groups
    position = np.full(subject.n_samples, -1)
    position[subject.shown] = np.arange(len(subject.shown))
    true = next((attribute for attribute in subject.attributes if attribute.name.lower() in ("phase", "phases")), None)
    sequences = []
    for name in list(dict.fromkeys(names.tolist()))[:MAX_SEQUENCES]:
        rows = np.flatnonzero(names == name)[:MAX_FRAMES]
        if len(rows) >= MIN_FRAMES:
            sequences.append(_sequence(str(name) if groups is not None else "", rows, signal, position, true))
    if not sequences:
        return None
    return {
        "layer": place.name,
        "component": int(index),
        "delta": delta,
        "baseline": _baseline(subject, H.shape[1]),
        "classes": [] if true is None else true.classes,
        "sequences": sequences,
    }


def _sequence(
    name: str, rows: np.ndarray, signal: np.ndarray, position: np.ndarray, true: Attribute | None
) -> dict[str, Any]:
    found = detect_phases(signal[rows])
    starts = [0, *(int(b) for b in found.boundaries)]
    return {
        "name": name,
        "samples": position[rows].astype(np.int16),
        "signal": signal[rows].astype(np.float32),
        "starts": starts,
        "phases": [found.names[int(found.labels[start])] for start in starts if start < len(rows)],
        "cost": float(found.cost),
        "true": None if true is None else true.codes[rows].astype(np.int16),
    }


def _baseline(subject: Subject, k: int) -> float | None:
    """Return the smallest delta of as many principal components of X."""
    X = subject.X
    if X is None or subject.has_views or sp.issparse(X):
        return None
    k = min(k, min(X.shape) - 1)
    if k < 1:
        return None
    scores = PCA(
        k, svd_solver="full" if min(X.shape) < 2000 else "randomized", random_state=subject.seed
    ).fit_transform(X)
    deltas = slowness(scores, subject.data.groups)
    return float(np.min(deltas)) if np.isfinite(deltas).any() else None

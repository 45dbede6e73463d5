"""Comparison of found phases with true ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .phases import Phases, frames_by_sequence


def boundary_errors(
    found: Phases | Mapping[Hashable, Phases], true: ArrayLike | Mapping[Hashable, Any], groups: ArrayLike | None = None
) -> np.ndarray:
    """Return the error of each boundary in frames, positive if it was found too late.

    Parameters
    ----------
    found : Phases or dict of Phases
        Result of `detect_phases`.
    true : array-like, or dict of these for a dict of Phases
        Phase of every frame (numbers or names), or the boundaries: first frame of every phase but the first.
    groups : array-like of shape (n_frames,), default=None
        Sequence of each frame where ``true`` holds the phase of every frame of several sequences in one array.

    Returns
    -------
    errors : ndarray of int, of shape (n_boundaries,) or (n_sequences, n_boundaries)
        One for each boundary; their mean magnitude is the usual score.

    Examples
    --------
    >>> from laminar.temporal import boundary_errors, detect_phases
    >>> found = detect_phases([0, 0, 0, 1, 2, 3, 3, 3, 3, 1.5, 0, 0])
    >>> boundary_errors(found, [3, 4, 9, 10])
    array([0, 1, 0, 0])
    >>> boundary_errors(found, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 0, 0])
    array([ 0, -1,  0,  0])
    >>> boundary_errors({"a": found, "b": found}, {"a": [3, 4, 9, 10], "b": [3, 5, 8, 10]})
    array([[0, 1, 0, 0],
           [0, 0, 1, 0]])
    """
    if isinstance(found, Mapping):
        return np.array([boundary_errors(*pair) for pair in _pairs(found, true, groups)])
    boundaries = _boundaries(_single(true, groups), len(found.labels))
    if len(boundaries) != len(found.boundaries):
        raise ValueError(
            f"{len(found.boundaries)} boundaries were found and {len(boundaries)} are true: they cannot be paired. "
            "Use boundary_f1, or call detect_phases with the n_episodes or phases the sequence has, and with groups= "
            f"if there are several sequences; true holds its boundaries or {len(found.labels)} labels."
        )
    return found.boundaries - boundaries


def boundary_f1(
    found: Phases | Mapping[Hashable, Phases],
    true: ArrayLike | Mapping[Hashable, Any],
    groups: ArrayLike | None = None,
    *,
    tolerance: int = 2,
) -> float:
    """Return the F-measure of the boundaries, which need not be as many as are true.

    The harmonic mean of precision and recall, ``2 m / (n_found + n_true)``, with m the largest number of pairs of a
    found and a true boundary, each in one pair at most, that are ``tolerance`` frames apart or less.

    Parameters
    ----------
    found : Phases or dict of Phases
        Result of `detect_phases`.
    true : array-like, or dict of these for a dict of Phases
        Phase of every frame (numbers or names), or the boundaries: first frame of every phase but the first; none of a
        sequence without episodes.
    groups : array-like of shape (n_frames,), default=None
        Sequence of each frame where ``true`` holds the phase of every frame of several sequences in one array.
    tolerance : int, default=2
        Largest distance of a pair in frames.

    Returns
    -------
    f1 : float
        Within [0, 1]; of several sequences, of all their boundaries together; 1 if there are none and none were found.

    Examples
    --------
    >>> from laminar.temporal import boundary_f1, detect_phases
    >>> found = detect_phases([0, 0, 0, 1, 2, 3, 3, 3, 3, 1.5, 0, 0])
    >>> boundary_f1(found, [3, 4, 9, 10]), boundary_f1(found, [3, 4, 9, 10], tolerance=0)
    (1.0, 0.75)
    """
    pairs = _pairs(found, true, groups) if isinstance(found, Mapping) else [(found, _single(true, groups))]
    matched, total = 0, 0
    for phases, marks in pairs:
        boundaries = _boundaries(np.asarray(marks), len(phases.labels))
        total += len(phases.boundaries) + len(boundaries)
        matched += _n_matches(phases.boundaries, boundaries, tolerance)
    return 2 * matched / total if total else 1.0


def frame_accuracy(
    found: Phases | Mapping[Hashable, Phases], true: ArrayLike | Mapping[Hashable, Any], groups: ArrayLike | None = None
) -> float:
    """Return the share of frames with the correct phase.

    Parameters
    ----------
    found : Phases or dict of Phases
        Result of `detect_phases`.
    true : array-like, or dict of these for a dict of Phases
        Phase of every frame, as a name or as a position in ``found.names``; or the boundaries, as for
        `boundary_errors`.
    groups : array-like of shape (n_frames,), default=None
        Sequence of each frame where ``true`` holds the phase of every frame of several sequences in one array.

    Returns
    -------
    accuracy : float
        Within [0, 1]; of several sequences, of all their frames together.

    Examples
    --------
    >>> from laminar.temporal import detect_phases, frame_accuracy
    >>> found = detect_phases([0, 0, 0, 1, 2, 3, 3, 3, 1.5, 0])
    >>> frame_accuracy(found, ["neutral"] * 3 + ["onset"] * 3 + ["apex"] * 2 + ["offset", "neutral"])
    0.9
    """
    if isinstance(found, Mapping):
        sizes = [len(phases.labels) for phases in found.values()]
        return float(np.average([frame_accuracy(*pair) for pair in _pairs(found, true, groups)], weights=sizes))
    labels = _single(true, groups)
    if len(labels) != len(found.labels):
        boundary_errors(found, labels)  # raises if boundaries cannot be paired
        order = found.labels[[0, *found.boundaries]]
        labels = np.repeat(order, np.diff([0, *labels, len(found.labels)]))
    own = np.array(found.names)[found.labels] if labels.dtype.kind in "UO" else found.labels
    return float(np.mean(own == labels))


def _boundaries(true: np.ndarray, n_frames: int) -> np.ndarray:
    """Return the first frames of all phases but the first, from these or from the phase of every frame."""
    return np.flatnonzero(true[1:] != true[:-1]) + 1 if len(true) == n_frames else true


def _n_matches(found: np.ndarray, true: np.ndarray, tolerance: int) -> int:
    """Return the largest number of pairs, each boundary in one at most, that are ``tolerance`` apart or less.

    In order of time the first true boundary within reach is the best one to take, as it is out of reach the soonest.
    """
    matches, waiting = 0, list(np.sort(true))
    for boundary in np.sort(found):
        while waiting and waiting[0] < boundary - tolerance:
            waiting.pop(0)
        if waiting and waiting[0] <= boundary + tolerance:
            waiting.pop(0)
            matches += 1
    return matches


def _pairs(found: Mapping[Hashable, Phases], true, groups: ArrayLike | None) -> list[tuple[Phases, Any]]:
    """Return the found and the true phases of each sequence."""
    if groups is not None and not isinstance(true, Mapping):
        labels = np.asarray(true)
        true = {name: labels[rows] for name, rows in frames_by_sequence(groups, len(labels)).items()}
    if not isinstance(true, Mapping) or set(true) != set(found):
        got = f"keys {list(true)}" if isinstance(true, Mapping) else "one array without groups="
        raise ValueError(
            f"found holds the sequences {list(found)}: give true as a dict with these keys, or the phase of every "
            f"frame and groups=; got {got}."
        )
    return [(phases, true[name]) for name, phases in found.items()]


def _single(true, groups: ArrayLike | None) -> np.ndarray:
    """Return the true phases of the only sequence."""
    if groups is not None or isinstance(true, Mapping):
        raise ValueError("found holds one sequence, true or groups several: call detect_phases with groups= as well.")
    return np.asarray(true)

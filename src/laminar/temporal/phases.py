"""Detection of the phases of a signal: neutral, onset, apex, offset, neutral."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import median_filter
from sklearn.utils import check_array

from ._trapezoid import CYCLE, Shape, fit_cuts, read_cuts, unexplained


@dataclass(frozen=True, eq=False)
class Phases:
    """Phases of the signal of one sequence.

    Attributes
    ----------
    labels : ndarray of shape (n_frames,)
        Phase of each frame, as a position in ``names``.
    boundaries : ndarray
        First frame of every phase but the first, counted from the first frame of the sequence.
    cost : float
        Share of the signal's variance, within [0, 1], that the phases leave unexplained.
    names : tuple of str
        Names of the phases.
    feature : int
        Column that was used, if several signals were given.

    Examples
    --------
    >>> Phases(np.array([0, 1, 2]), np.array([1, 2]), 0.0).names
    ('neutral', 'onset', 'apex', 'offset')
    """

    labels: np.ndarray
    boundaries: np.ndarray
    cost: float
    names: tuple[str, ...] = CYCLE
    feature: int = 0


@overload
def detect_phases(
    signal: ArrayLike,
    phases: Sequence[str] = ...,
    *,
    groups: None = None,
    direction: str = ...,
    min_length: int = ...,
    smooth: int = ...,
    autocorrelation: float | str = ...,
) -> Phases: ...


@overload
def detect_phases(
    signal: ArrayLike,
    phases: Sequence[str] = ...,
    *,
    groups: ArrayLike,
    direction: str = ...,
    min_length: int = ...,
    smooth: int = ...,
    autocorrelation: float | str = ...,
) -> dict[Hashable, Phases]: ...


def detect_phases(
    signal: ArrayLike,
    phases: Sequence[str] = ("neutral", "onset", "apex", "offset", "neutral"),
    *,
    groups: ArrayLike | None = None,
    direction: str = "auto",
    min_length: int = 1,
    smooth: int = 3,
    autocorrelation: float | str = "auto",
) -> Phases | dict[Hashable, Phases]:
    """Divide a signal into phases, by the least-squares fit of a trapezoid to each sequence.

    Neutral frames have one level and apex frames another, onset and offset are linear between them. Boundaries and
    levels together are the global minimum of the squared error, up to 512 frames of a sequence. For a longer one they
    are a local minimum: the one next to the global minimum for at most 512 block means.

    Parameters
    ----------
    signal : array-like of shape (n_frames,) or (n_frames, n_signals)
        A slow feature of one or several sequences, in order of time. Of several features, the one with the lowest cost,
        on average over the sequences, is used: the slowest feature of a video may be a drift.
    phases : sequence of str
        Phases in order; each follows its predecessor in the cycle neutral, onset, apex, offset, neutral, ...
    groups : array-like of shape (n_frames,), default=None
        Sequence of each frame, as for `SlowFeatureNMF`. None means one sequence.
    direction : {"auto", "up", "down"}, default="auto"
        Whether the apex lies above the neutral level or below it; "auto" takes the better fit of each sequence, for
        features of arbitrary sign.
    min_length : int, default=1
        Minimal number of frames of a phase.
    smooth : int, default=3
        Width of a median filter that removes single frames such as blinks; 1 is no filter.
    autocorrelation : "auto" or float within [0, 1), default="auto"
        Correlation of the residuals of successive frames; "auto" estimates it. At 0 the fit is to levels, near 1 to
        changes.

    Returns
    -------
    Phases or dict
        The phases; of a constant signal a single neutral one. With ``groups`` a dict from the name of each sequence to
        its phases, in the order of first frames.

    See Also
    --------
    boundary_errors, frame_accuracy : Comparison with true phases.
    slowest_feature : A signal from a fitted model.

    Notes
    -----
    **Algorithm.** With residuals of autocorrelation rho the cost is ``sum_t (e_t - rho e_{t-1})^2``. For given levels a
    dynamic program over the boundaries minimises it; over the two levels it is minimised by branch and bound, with
    lower bounds from the same program, to within 1e-9 of the sum of squares of the signal. "auto" alternates local fits
    with the autocorrelation of their residuals until this changes by less than 0.01; the result is the global minimum
    for the rho of the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.temporal import detect_phases
    >>> signal = np.array([0, 0, 0, 1, 2, 3, 3, 3, 3, 1.5, 0, 0])
    >>> found = detect_phases(-signal)
    >>> found.boundaries
    array([ 3,  5,  9, 10])
    >>> [found.names[label] for label in found.labels[[0, 4, 6, 9, 11]]]
    ['neutral', 'onset', 'apex', 'offset', 'neutral']
    >>> two = detect_phases(np.r_[signal, signal[::-1]], groups=["a"] * 12 + ["b"] * 12)
    >>> two["b"].boundaries
    array([2, 3, 7, 9])
    """
    signals = _check_signal(signal)
    sequences = _sequences(groups, len(signals))
    for rows in sequences.values():
        _check_phases(phases, min_length, len(rows))
    _check_options(direction, smooth, autocorrelation)
    shape = Shape(phases, min_length, direction)
    found = {
        name: [_fit_phases(signals[rows, j], shape, smooth, autocorrelation, j) for j in range(signals.shape[1])]
        for name, rows in sequences.items()
    }
    # A feature that is constant in a sequence explains less of it than any other.
    costs = np.array([[fit.cost if len(fit.boundaries) else 1 + 1e-9 for fit in fits] for fits in found.values()])
    feature = int(costs.mean(axis=0).argmin())
    best = {name: fits[feature] for name, fits in found.items()}
    return best if groups is not None else best[None]


def _fit_phases(y: np.ndarray, shape: Shape, smooth: int, autocorrelation: float | str, feature: int) -> Phases:
    """Fit the phases of one feature in one sequence."""
    if np.ptp(y) > 1e-9 * np.abs(y).max():
        y = median_filter(y, smooth, mode="nearest")
        if np.ptp(y):
            cuts = fit_cuts(y, shape, autocorrelation)
            cost = unexplained(y, cuts, shape.phases)
            return Phases(*read_cuts(cuts, shape.phases), cost, feature=feature)
    return Phases(np.zeros(len(y), dtype=int), np.zeros(0, dtype=int), 0.0, feature=feature)


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
    boundaries = _single(true, groups)
    if len(boundaries) == len(found.labels):
        boundaries = np.flatnonzero(boundaries[1:] != boundaries[:-1]) + 1
    if len(boundaries) != len(found.boundaries):
        raise ValueError(
            f"{len(found.boundaries)} boundaries were found and {len(boundaries)} are true: they cannot be paired. "
            "Call detect_phases with the phases the sequence has, and with groups= if there are several sequences; "
            f"true holds its boundaries or {len(found.labels)} labels."
        )
    return found.boundaries - boundaries


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


def _pairs(found: Mapping[Hashable, Phases], true, groups: ArrayLike | None) -> list[tuple[Phases, Any]]:
    """Return the found and the true phases of each sequence."""
    if groups is not None and not isinstance(true, Mapping):
        labels = np.asarray(true)
        true = {name: labels[rows] for name, rows in _sequences(groups, len(labels)).items()}
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


def _sequences(groups: ArrayLike | None, n_frames: int) -> dict[Hashable, np.ndarray]:
    """Return the frames of each sequence, in order of first frames; that of no groups is called None."""
    if groups is None:
        return {None: np.arange(n_frames)}
    if np.shape(groups) != (n_frames,):
        raise ValueError(
            f"groups must name the sequence of each of the {n_frames} frames; got shape {np.shape(groups)}."
        )
    sequences: dict[Hashable, list[int]] = {}
    for row, name in enumerate(np.asarray(groups).tolist()):
        sequences.setdefault(name, []).append(row)
    return {name: np.array(rows) for name, rows in sequences.items()}


def _check_signal(signal: ArrayLike) -> np.ndarray:
    signal = np.asarray(signal)
    signals = signal[:, None] if signal.ndim == 1 else signal
    return check_array(signals, dtype=np.float64, input_name="signal")


def _check_phases(phases: Sequence[str], min_length: int, n_frames: int) -> None:
    follows = dict(zip(CYCLE, CYCLE[1:] + CYCLE[:1], strict=True))
    if len(phases) < 2 or any(follows.get(a) != b for a, b in pairwise(phases)):
        raise ValueError(
            f"phases must be two or more that follow each other in the cycle {', '.join(CYCLE)}; got {tuple(phases)}."
        )
    if min_length < 1 or len(phases) * min_length > n_frames:
        raise ValueError(
            f"{len(phases)} phases of at least min_length={min_length} frames do not fit into {n_frames} frames; "
            "min_length must be 1 or more, and the phases fewer or shorter."
        )


def _check_options(direction: str, smooth: int, autocorrelation: float | str) -> None:
    if direction not in ("auto", "up", "down"):
        raise ValueError(f'direction must be "auto", "up" or "down"; got {direction!r}.')
    if smooth < 1 or smooth % 2 == 0:
        raise ValueError(f"smooth must be an odd number of frames, 1 or more; got {smooth!r}.")
    if autocorrelation != "auto" and not 0 <= autocorrelation < 1:
        raise ValueError(f'autocorrelation must be "auto" or lie within [0, 1); got {autocorrelation!r}.')

"""Detection of the phases of a signal: neutral, onset, apex, offset, neutral."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import median_filter
from sklearn.utils import check_array

from ._trapezoid import CYCLE, fit_cuts, read_cuts, unexplained


@dataclass(frozen=True, eq=False)
class Phases:
    """Phases of a signal.

    Attributes
    ----------
    labels : ndarray of shape (n_frames,)
        Phase of each frame, as a position in ``names``.
    boundaries : ndarray
        First frame of every phase but the first.
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


def detect_phases(
    signal: ArrayLike,
    phases: Sequence[str] = ("neutral", "onset", "apex", "offset", "neutral"),
    *,
    direction: str = "auto",
    min_length: int = 1,
    smooth: int = 3,
    autocorrelation: float | str = "auto",
) -> Phases:
    """Divide a signal into phases, by the least-squares fit of a trapezoid.

    Parameters
    ----------
    signal : array-like of shape (n_frames,) or (n_frames, n_signals)
        A slow feature of one sequence. Of several, the one with the lowest cost is used: the slowest feature of a
        video may be a drift.
    phases : sequence of str
        Phases in order; each follows its predecessor in the cycle neutral, onset, apex, offset, neutral, ...
    direction : {"auto", "up", "down"}, default="auto"
        Whether the apex lies above the neutral level or below it; "auto" takes the better fit, for features of
        arbitrary sign.
    min_length : int, default=1
        Minimal number of frames of a phase.
    smooth : int, default=3
        Width of a median filter that removes single frames such as blinks; 1 is no filter.
    autocorrelation : "auto" or float within [0, 1), default="auto"
        Correlation of the residuals of successive frames; "auto" estimates it. At 0 the fit is to levels, near 1 to
        changes.

    Returns
    -------
    Phases
        The phases; of a constant signal a single neutral one.

    See Also
    --------
    boundary_errors, frame_accuracy : Comparison with true phases.
    slowest_feature : A signal from a fitted model.

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
    """
    signals = _check_signal(signal)
    _check_phases(phases, min_length, len(signals))
    _check_options(direction, smooth, autocorrelation)
    found = Phases(np.zeros(len(signals), dtype=int), np.zeros(0, dtype=int), np.inf)
    for index in np.flatnonzero(np.ptp(signals, axis=0) > 1e-9 * np.abs(signals).max(axis=0)):
        y = median_filter(signals[:, index], smooth, mode="nearest")
        if np.ptp(y):
            cuts = fit_cuts(y, phases, min_length, direction, autocorrelation)
            cost = unexplained(y, cuts, phases)
            if cost < found.cost:
                found = Phases(*read_cuts(cuts, phases), cost, feature=int(index))
    return found if found.cost < np.inf else Phases(found.labels, found.boundaries, 0.0)


def boundary_errors(found: Phases, true: ArrayLike) -> np.ndarray:
    """Return the error of each boundary in frames, positive if it was found too late.

    Parameters
    ----------
    found : Phases
        Result of `detect_phases`.
    true : array-like
        Phase of every frame (numbers or names), or the boundaries: first frame of every phase but the first.

    Returns
    -------
    errors : ndarray of int
        One for each boundary; their mean magnitude is the usual score.

    Examples
    --------
    >>> from laminar.temporal import boundary_errors, detect_phases
    >>> found = detect_phases([0, 0, 0, 1, 2, 3, 3, 3, 3, 1.5, 0, 0])
    >>> boundary_errors(found, [3, 4, 9, 10])
    array([0, 1, 0, 0])
    >>> boundary_errors(found, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 0, 0])
    array([ 0, -1,  0,  0])
    """
    true = np.asarray(true)
    if len(true) == len(found.labels):
        true = np.flatnonzero(true[1:] != true[:-1]) + 1
    if len(true) != len(found.boundaries):
        raise ValueError(
            f"{len(found.boundaries)} boundaries were found and {len(true)} are true: they cannot be paired. Call "
            f"detect_phases with the phases the sequence has; true holds its boundaries or {len(found.labels)} labels."
        )
    return found.boundaries - true


def frame_accuracy(found: Phases, true: ArrayLike) -> float:
    """Return the share of frames with the correct phase.

    Parameters
    ----------
    found : Phases
        Result of `detect_phases`.
    true : array-like
        Phase of every frame, as a name or as a position in ``found.names``; or the boundaries, as for
        `boundary_errors`.

    Returns
    -------
    accuracy : float
        Within [0, 1].

    Examples
    --------
    >>> from laminar.temporal import detect_phases, frame_accuracy
    >>> found = detect_phases([0, 0, 0, 1, 2, 3, 3, 3, 1.5, 0])
    >>> frame_accuracy(found, ["neutral"] * 3 + ["onset"] * 3 + ["apex"] * 2 + ["offset", "neutral"])
    0.9
    """
    true = np.asarray(true)
    if len(true) != len(found.labels):
        boundary_errors(found, true)  # raises if boundaries cannot be paired
        order = found.labels[[0, *found.boundaries]]
        true = np.repeat(order, np.diff([0, *true, len(found.labels)]))
    labels = np.array(found.names)[found.labels] if true.dtype.kind in "UO" else found.labels
    return float(np.mean(labels == true))


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

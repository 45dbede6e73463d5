"""Detection of the phases of a signal: neutral, onset, apex, offset, neutral."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import median_filter
from sklearn.utils import check_array

from ._episodes import count_episodes, episode_phases
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

    @property
    def episodes(self) -> np.ndarray:
        """Boundaries of each complete episode: first frames of onset, apex, offset and neutral, (n_episodes, 4)."""
        order = self.labels[[0, *self.boundaries]]
        # The cycle begins with neutral, so an episode is complete with the fourth boundary from its onset.
        onsets = [i for i in range(len(self.boundaries) - 3) if self.names[order[i + 1]] == "onset"]
        return np.array([self.boundaries[i : i + 4] for i in onsets], dtype=int).reshape(-1, 4)


@overload
def detect_phases(
    signal: ArrayLike,
    phases: Sequence[str] | None = ...,
    *,
    n_episodes: int | str = ...,
    groups: None = None,
    direction: str = ...,
    min_length: int = ...,
    smooth: int = ...,
    autocorrelation: float | str = ...,
) -> Phases: ...


@overload
def detect_phases(
    signal: ArrayLike,
    phases: Sequence[str] | None = ...,
    *,
    n_episodes: int | str = ...,
    groups: ArrayLike,
    direction: str = ...,
    min_length: int = ...,
    smooth: int = ...,
    autocorrelation: float | str = ...,
) -> dict[Hashable, Phases]: ...


def detect_phases(
    signal: ArrayLike,
    phases: Sequence[str] | None = None,
    *,
    n_episodes: int | str = "auto",
    groups: ArrayLike | None = None,
    direction: str = "auto",
    min_length: int = 1,
    smooth: int = 3,
    autocorrelation: float | str = "auto",
) -> Phases | dict[Hashable, Phases]:
    """Find the episodes of a signal and their phases, by the least-squares fit of trapezoids to each sequence.

    An episode is neutral - onset - apex - offset - neutral. Neutral frames have one level and apex frames another,
    onset and offset are linear between them. The number of episodes of a sequence is the one with the shortest
    description. Boundaries and levels together are the global minimum of the squared error, up to 512 frames of a
    sequence. For a longer one they are a local minimum: the one next to the global minimum for at most 512 block means.

    Parameters
    ----------
    signal : array-like of shape (n_frames,) or (n_frames, n_signals)
        A slow feature of one or several sequences, in order of time. Of several features, the one with the lowest cost,
        on average over the sequences, is used: the slowest feature of a video may be a drift.
    phases : sequence of str or None, default=None
        Phases in order, in every sequence, where they are known; each follows its predecessor in the cycle neutral,
        onset, apex, offset, neutral, ... None means the phases of ``n_episodes``.
    n_episodes : int or "auto", default="auto"
        Number of episodes in every sequence; "auto" finds it, from none to ten, for each sequence by itself.
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
        The phases; of a constant signal, and of one without episodes, a single neutral one. With ``groups`` a dict from
        the name of each sequence to its phases, in the order of first frames.

    See Also
    --------
    boundary_errors, boundary_f1, frame_accuracy : Comparison with true phases.
    slowest_feature : A signal from a fitted model.

    Notes
    -----
    **Algorithm.** With residuals of autocorrelation rho the cost is ``sum_t (e_t - rho e_{t-1})^2``. For given levels a
    dynamic program over the boundaries minimises it; over the two levels it is minimised by branch and bound, with
    lower bounds from the same program, to within 1e-9 of the sum of squares of the signal. "auto" alternates local fits
    with the autocorrelation of their residuals until this changes by less than 0.01; the result is the global minimum
    for the rho of the last one.

    **Number of episodes.** With S_m the least cost of m episodes in n frames, a local minimum, m minimises the length
    of a description (docs/methods.md 7.3)::

        n/2 log(S_m / n) + log binomial(n - 1, 4 m) + (1 + [m > 0])/2 log n + [m > 0] log n_signals                 (1)

    that is innovations, boundaries, levels, and which of the signals has the episodes. Frames that differ from the
    median of ``smooth`` frames by three standard deviations of a step are replaced by it; other noise stays, as it is
    what episodes are compared with. In some random walks (1) finds an episode, as noise of strong autocorrelation can
    have that form. All episodes of a sequence have the same two levels.

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
    >>> detect_phases(np.tile(signal, 2)).episodes
    array([[ 3,  5,  9, 10],
           [15, 17, 21, 22]])
    >>> two = detect_phases(np.r_[signal, signal[::-1]], groups=["a"] * 12 + ["b"] * 12)
    >>> two["b"].boundaries
    array([2, 3, 7, 9])
    """
    signals = _check_signal(signal)
    sequences = frames_by_sequence(groups, len(signals))
    _check_options(direction, smooth, autocorrelation)
    if phases is None and n_episodes == "auto":
        _check_min_length(min_length)
        shape = Shape((), min_length, direction)
        found = _fit_episodes(signals, sequences, shape, smooth, autocorrelation)
        return found if groups is not None else found[None]
    phases = _known_phases(phases, n_episodes)
    for rows in sequences.values():
        _check_phases(phases, min_length, len(rows))
    shape = Shape(phases, min_length, direction)
    fits = {
        name: [_fit_phases(signals[rows, j], shape, smooth, autocorrelation, j) for j in range(signals.shape[1])]
        for name, rows in sequences.items()
    }
    # A feature that is constant in a sequence explains less of it than any other.
    costs = np.array([[fit.cost if len(fit.boundaries) else 1 + 1e-9 for fit in row] for row in fits.values()])
    feature = int(costs.mean(axis=0).argmin())
    found = {name: row[feature] for name, row in fits.items()}
    return found if groups is not None else found[None]


def _fit_episodes(
    signals: np.ndarray, sequences: Mapping, shape: Shape, smooth: int, autocorrelation: float | str
) -> dict[Hashable, Phases]:
    """Find the number of episodes of each sequence in each feature, choose the feature, and fit its episodes."""
    n_signals = signals.shape[1]
    options = {"width": smooth, "n_signals": n_signals}
    counts = np.array(
        [
            [count_episodes(signals[rows, j], shape, autocorrelation, **options) for j in range(n_signals)]
            for rows in sequences.values()
        ]
    )
    feature = int(counts[:, :, 1].mean(axis=0).argmin())
    return {
        name: _fit_phases(
            signals[rows, feature], replace(shape, phases=episode_phases(int(m))), smooth, autocorrelation, feature
        )
        for (name, rows), m in zip(sequences.items(), counts[:, feature, 0], strict=True)
    }


def _fit_phases(y: np.ndarray, shape: Shape, smooth: int, autocorrelation: float | str, feature: int) -> Phases:
    """Fit the phases of one feature in one sequence."""
    neutral = np.zeros(len(y), dtype=int), np.zeros(0, dtype=int)
    if np.ptp(y) <= 1e-9 * np.abs(y).max():
        return Phases(*neutral, 0.0, feature=feature)
    if len(shape.phases) == 1:
        return Phases(*neutral, 1.0, feature=feature)
    y = median_filter(y, smooth, mode="nearest")
    if not np.ptp(y):
        return Phases(*neutral, 0.0, feature=feature)
    cuts = fit_cuts(y, shape, autocorrelation)
    return Phases(*read_cuts(cuts, shape.phases), unexplained(y, cuts, shape.phases), feature=feature)


def frames_by_sequence(groups: ArrayLike | None, n_frames: int) -> dict[Hashable, np.ndarray]:
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


def _known_phases(phases: Sequence[str] | None, n_episodes: int | str) -> Sequence[str]:
    """Return the phases that the caller gave, in one of the two ways."""
    if phases is not None and n_episodes != "auto":
        raise ValueError(f"n_episodes={n_episodes!r} and phases={tuple(phases)} say the same: give one of them.")
    if phases is not None:
        return phases
    if not isinstance(n_episodes, Integral) or n_episodes < 1:
        raise ValueError(f'n_episodes must be "auto" or an integer, 1 or more; got {n_episodes!r}.')
    return episode_phases(int(n_episodes))


def _check_min_length(min_length: int) -> None:
    if min_length < 1:
        raise ValueError(f"min_length must be 1 or more; got {min_length!r}.")


def _check_phases(phases: Sequence[str], min_length: int, n_frames: int) -> None:
    follows = dict(zip(CYCLE, CYCLE[1:] + CYCLE[:1], strict=True))
    if len(phases) < 2 or any(follows.get(a) != b for a, b in pairwise(phases)):
        raise ValueError(
            f"phases must be two or more that follow each other in the cycle {', '.join(CYCLE)}; got {tuple(phases)}."
        )
    _check_min_length(min_length)
    if len(phases) * min_length > n_frames:
        raise ValueError(
            f"{len(phases)} phases of at least min_length={min_length} frames do not fit into {n_frames} frames; "
            "the phases must be fewer or shorter."
        )


def _check_options(direction: str, smooth: int, autocorrelation: float | str) -> None:
    if direction not in ("auto", "up", "down"):
        raise ValueError(f'direction must be "auto", "up" or "down"; got {direction!r}.')
    if smooth < 1 or smooth % 2 == 0:
        raise ValueError(f"smooth must be an odd number of frames, 1 or more; got {smooth!r}.")
    if autocorrelation != "auto" and not 0 <= autocorrelation < 1:
        raise ValueError(f'autocorrelation must be "auto" or lie within [0, 1); got {autocorrelation!r}.')

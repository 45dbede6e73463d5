"""Figures of signals in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from laminar._utils.labels import read_attribute
from laminar.temporal import Phases

from .drawing import COLOURS, INK, Sheet, plain, put_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHORT = {"neutral": "N", "onset": "ON", "apex": "AP", "offset": "OF"}


def phases(
    signal: ArrayLike,
    found: Phases | Sequence[Phases] | Mapping,
    true: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a signal with the phases that were found in it and the true ones.

    Parameters
    ----------
    signal : array-like of shape (n_frames,)
        Signal of one sequence, or of several one after the other.
    found : Phases, sequence of Phases, or mapping from group to Phases
        Result of :func:`laminar.temporal.detect_phases`; of several sequences one each, in order of their first frames
        or by the name of the group.
    true : array-like of shape (n_frames,), (n_boundaries,) or (n_sequences, n_boundaries), or None, default=None
        True phase of every frame (numbers or names), or the boundaries: first frame of every phase but the first,
        counted from the start of the sequence.
    groups : array-like of shape (n_frames,) or None, default=None
        The sequence each frame belongs to; None is one sequence.
    title : str or None, default=None
        Title, before the name of each sequence.

    Returns
    -------
    Figure
        With one axes a sequence: the signal, a dashed line and letters (N, ON, AP, OF) for the phases found, and
        triangles at the lower edge for the true boundaries.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.plots import phases
    >>> from laminar.temporal import detect_phases
    >>> signal = np.array([0, 0, 0, 1, 2, 3, 3, 3, 3, 1.5, 0, 0])
    >>> figure = phases(signal, detect_phases(signal), true=[3, 4, 9, 10])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['N', 'ON', 'AP', 'OF', 'N']
    """
    values = np.asarray(signal, dtype=float)
    if values.ndim != 1:
        raise ValueError(f"signal must have one value a frame, shape (n_frames,); got {values.shape}. Choose a column.")
    sequences = _sequences(groups, len(values))
    results = _results(found, sequences)
    marks = _boundaries(true, sequences, len(values))
    height, gap = 1.7, 0.85
    top = 0.1 if true is None else 0.35  # room for the legend
    sheet = Sheet(6.6, len(sequences) * (height + gap) + top)
    for i, (name, frames) in enumerate(sequences.items()):
        axes = sheet.axes(0.75, sheet.height - top - (i + 1) * (height + gap) + 0.45, 5.7, height)
        heads = [str(part) for part in (title, name) if part is not None]
        _draw(axes, values[frames], results[i], marks[i])
        last = i == len(sequences) - 1
        plain(axes, "frame" if last else "", "signal")
        put_title(axes, ": ".join(heads) or None, pad=18)  # above the letters
    if true is not None:
        sheet.figure.axes[0].legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1.12), ncols=3, fontsize=9)
    return sheet.figure


def _sequences(groups: ArrayLike | None, n_frames: int) -> dict:
    """Return the frames of each sequence, in order of their first frames."""
    if groups is None:
        return {None: np.arange(n_frames)}
    attribute = read_attribute(groups, n_frames)
    if not attribute.known.all():
        raise ValueError("groups must name the sequence of every frame; some are unknown (-1, NaN or None).")
    order = attribute.codes[np.sort(np.unique(attribute.codes, return_index=True)[1])]
    return {attribute.classes[code]: np.flatnonzero(attribute.codes == code) for code in order}


def _results(found, sequences: Mapping) -> list[Phases]:
    """Return the phases of each sequence; raise a ValueError if they do not fit it."""
    if isinstance(found, Mapping):
        missing = [name for name in sequences if name not in found]
        if missing:
            raise ValueError(f"found has no phases of group {missing[0]!r}: give one of every group.")
        results = [found[name] for name in sequences]
    else:
        results = [found] if isinstance(found, Phases) else list(found)
    lengths, frames = [len(result.labels) for result in results], [len(rows) for rows in sequences.values()]
    if lengths != frames:
        raise ValueError(
            f"found has phases of {lengths} frames and the signal has sequences of {frames}: call detect_phases on "
            "each sequence, and give groups if there are several."
        )
    return results


def _boundaries(true: ArrayLike | None, sequences: Mapping, n_frames: int) -> list[np.ndarray]:
    """Return the true boundaries of each sequence; none if they are not given."""
    if true is None:
        return [np.zeros(0, dtype=int)] * len(sequences)
    given = np.asarray(true)
    if given.shape == (n_frames,):
        return [np.flatnonzero(given[rows][1:] != given[rows][:-1]) + 1 for rows in sequences.values()]
    rows = np.atleast_2d(given)
    if len(rows) != len(sequences) or given.ndim > 2:
        raise ValueError(
            f"true must hold the phase of each of the {n_frames} frames, or the boundaries of each of the "
            f"{len(sequences)} sequences; got shape {given.shape}."
        )
    return list(rows)


def _draw(axes: Axes, signal: np.ndarray, found: Phases, true: np.ndarray) -> None:
    axes.plot(signal, color=COLOURS[0], linewidth=1.8, label="signal")
    axes.margins(x=0.01, y=0.12)
    # A boundary is the first frame of a phase: the line is between it and the frame before.
    for i, boundary in enumerate(found.boundaries):
        axes.axvline(boundary - 0.5, color="#777777", ls="--", lw=1.1, label="found" if i == 0 else None)
    edges = [0, *found.boundaries, len(signal)]
    for start, stop in pairwise(edges):
        name = found.names[found.labels[start]]
        axes.text(
            (start + stop - 1) / 2, 1.02, _SHORT.get(name, name), ha="center", color=INK, fontsize=9,
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
    if len(true):
        axes.plot(
            true - 0.5, np.full(len(true), 0.03), "^", ms=8, color=COLOURS[1], label="true", clip_on=False,
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip

"""Frames of video files into one array, with OpenCV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from laminar._utils.extras import require
from laminar._utils.progress import Report, progress
from laminar.io._folders import counted, first_few
from laminar.io._pixels import channels_differ, choose_size

VIDEO_ENDINGS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv")
PROBES = 8  # frames of a video that are examined for colour, spread over its length
GREY_TOLERANCE = 8  # levels of 255 that channels of a grey frame may differ by; up to 6 measured with MPEG-4
SHORTFALL = 0.95  # part of the declared frames: a video that ends before it is reported


@dataclass(frozen=True, eq=False)
class Frames:
    """Rows of pixels, with file and number of each, and frame rate of each video."""

    X: np.ndarray
    files: list[str]
    numbers: list[int]
    rates: list[float | None]
    image_shape: tuple[int, ...]
    notes: list[str]


@dataclass(frozen=True)
class _Video:
    """Properties of a video file; the number of frames is an estimate, 0 if the file declares none."""

    file: str
    height: int
    width: int
    n_frames: int
    rate: float | None
    has_colour: bool


def read_videos(
    root: Path,
    files: Sequence[str],
    size: tuple[int, int] | None,
    colour: bool | None,
    every: int,
    skip_bad: bool,
    verbose: int,
) -> Frames:
    """Read one of ``every`` frames of each video, scaled while it is read.

    Raises
    ------
    ValueError
        When videos cannot be opened or have no frame, unless ``skip_bad``, or none can.
    """
    found = [_inspect(root / file, file, colour is None) for file in files]
    notes = _check_readable(root, files, found, skip_bad)
    videos = [video for video in found if video is not None]
    is_colour = any(video.has_colour for video in videos) if colour is None else colour
    if colour is None:
        notes.append(_colour_note(is_colour))
    sizes = [(video.height, video.width) for video in videos]
    (height, width), size_notes = choose_size(sizes, size, "video")
    n_expected = sum(-(-video.n_frames // every) for video in videos)
    rows = _Rows((height, width, 3) if is_colour else (height, width), n_expected)
    shown: Any = progress("Frames", n_expected, unit="frames") if verbose else nullcontext(lambda done: None)
    with shown as report:
        numbers = [_append_frames(rows, root / video.file, every, report) for video in videos]
    notes += [note for video, kept in zip(videos, numbers, strict=True) for note in _shortfall(video, kept, every)]
    return Frames(
        rows.finish(),
        [video.file for video, kept in zip(videos, numbers, strict=True) for _ in kept],
        [number for kept in numbers for number in kept],
        [video.rate for video in videos],
        rows.shape,
        notes + size_notes,
    )


def _inspect(path: Path, file: str, examine_colour: bool) -> _Video | None:
    """Return the properties of a video, None if it cannot be opened or has no frame."""
    cv2 = _opencv()
    with _capture(path) as capture:
        has_frame, frame = capture.read()
        if not has_frame:
            return None
        n_frames = max(0, int(capture.get(cv2.CAP_PROP_FRAME_COUNT)))
        rate = float(capture.get(cv2.CAP_PROP_FPS))
        has_colour = examine_colour and (_differ(frame) or any(map(_differ, _probes(capture, n_frames))))
        known_rate = rate if np.isfinite(rate) and rate > 0 else None
        return _Video(file, frame.shape[0], frame.shape[1], n_frames, known_rate, has_colour)


def _probes(capture: Any, n_frames: int) -> Iterator[np.ndarray]:
    """Yield frames that are spread over a video."""
    cv2 = _opencv()
    for number in np.unique(np.linspace(0, max(0, n_frames - 1), PROBES).astype(int)).tolist():
        capture.set(cv2.CAP_PROP_POS_FRAMES, number)
        has_frame, frame = capture.read()
        if has_frame:
            yield frame


def _differ(frame: np.ndarray) -> bool:
    return frame.ndim == 3 and channels_differ(frame, GREY_TOLERANCE)


def _colour_note(is_colour: bool) -> str:
    if is_colour:
        return "Videos are in colour, three values a pixel: colour=False (--grey) reads them as grey."
    return f"Videos are read as grey: {PROBES} frames of each have no colour (colour=True reads three values a pixel)."


def _check_readable(root: Path, files: Sequence[str], found: Sequence[_Video | None], skip_bad: bool) -> list[str]:
    bad = [file for file, video in zip(files, found, strict=True) if video is None]
    if not bad:
        return []
    which = f"{len(bad)} of {counted(len(files), 'video')}"
    if skip_bad and len(bad) < len(files):
        return [f"{which} cannot be opened or without frames, left out: {first_few(bad)}."]
    text = f"{which} in {root} cannot be opened or without a frame: {first_few(bad)}."
    if len(bad) < len(files):
        text += " Remove or convert them, or leave them out with skip_bad=True, on the command line --skip-bad."
    raise ValueError(text)


def _shortfall(video: _Video, kept: list[int], every: int) -> list[str]:
    n_read = kept[-1] + 1 if kept else 0
    if n_read + every > SHORTFALL * video.n_frames:
        return []
    return [f"{video.file} ends after about {n_read} of {video.n_frames} frames: the rest cannot be read."]


def _append_frames(rows: _Rows, path: Path, every: int, report: Report) -> list[int]:
    """Append one of ``every`` frames of a video and return their numbers."""
    numbers: list[int] = []
    number = 0
    with _capture(path) as capture:
        while capture.grab():
            if number % every == 0:
                has_frame, frame = capture.retrieve()
                if not has_frame:
                    break
                rows.append(frame)
                numbers.append(number)
                report(rows.n)
            number += 1
    return numbers


class _Rows:
    """Array of frames that grows: the number of frames that a file declares may be wrong."""

    def __init__(self, shape: tuple[int, ...], n_expected: int):
        self.shape, self.n = shape, 0
        self.X = np.empty((n_expected, int(np.prod(shape))), np.float32)

    def append(self, frame: np.ndarray) -> None:
        if self.n == len(self.X):
            self._resize(max(64, self.n + self.n // 2))
        np.divide(_scaled(frame, self.shape), np.float32(255), out=self.X[self.n].reshape(self.shape))
        self.n += 1

    def finish(self) -> np.ndarray:
        self._resize(self.n)
        return self.X

    def _resize(self, n: int) -> None:
        # In place, without a second copy; no other reference to X exists outside `append`.
        self.X.resize((n, self.X.shape[1]), refcheck=False)


def _scaled(frame: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a frame, bytes in the order blue, green, red, in another size, as grey or as red, green, blue."""
    cv2 = _opencv()
    if frame.ndim == 2:
        frame = cv2.cvtColor(frame, cv2.COLOR_GRAY2BGR)
    frame = cv2.cvtColor(frame, cv2.COLOR_BGR2RGB if len(shape) == 3 else cv2.COLOR_BGR2GRAY)
    (height, width), (old_height, old_width) = shape[:2], frame.shape[:2]
    # Means over areas where it shrinks, which is antialiased; interpolation where it grows.
    smaller = (min(width, old_width), min(height, old_height))
    if smaller != (old_width, old_height):
        frame = cv2.resize(frame, smaller, interpolation=cv2.INTER_AREA)
    if smaller != (width, height):
        frame = cv2.resize(frame, (width, height), interpolation=cv2.INTER_LINEAR)
    return frame


@contextmanager
def _capture(path: Path) -> Iterator[Any]:
    capture = _opencv().VideoCapture(str(path))
    try:
        yield capture
    finally:
        capture.release()


def _opencv() -> Any:
    return require("cv2", "video", "reading videos")

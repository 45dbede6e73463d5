"""Videos and folders of frames as sequences of rows."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from laminar.io._folders import (
    counted,
    existing,
    first_few,
    ids_of,
    list_files,
    natural_key,
    nothing_found,
    printable,
    with_endings,
)
from laminar.io._image_files import IMAGE_ENDINGS, Pixels, read_images
from laminar.io._pixels import check_size
from laminar.io._video_files import VIDEO_ENDINGS, read_videos
from laminar.io.dataset import Dataset


@dataclass(frozen=True)
class VideoReader:
    """Reader of videos and of folders of frames: a row is the pixels of a frame, float32 in [0, 1], in order of time.

    A folder of videos has a sequence a file. A folder of images, in natural order of their names, is one sequence; if
    they lie in subfolders, each of these is one.

    Parameters
    ----------
    size : int, tuple of int or None, default=None
        Height and width that frames are resized to, a number for squares. None is the size of all videos, the median
        height and width if they differ, reduced to at most 128 x 128 pixels.
    colour : bool or None, default=None
        Whether rows have three values a pixel. None is True if there is colour in any of eight frames of a video, or in
        any image of a folder of frames.
    every : int, default=1
        Keep the first of so many frames.

    See Also
    --------
    ImageReader : Reader of images that are no sequence.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(12):
    ...         Image.new("L", (4, 3), 20 * i).save(f"{folder}/walk{i}.png")
    ...     data = VideoReader(every=5).read(folder)
    >>> data.X.shape, data.sources.tolist(), len(set(data.groups))
    ((3, 12), ['walk0.png', 'walk5.png', 'walk10.png'], 1)
    """

    size: int | tuple[int, int] | None = None
    colour: bool | None = None
    every: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_size(self.size))
        if isinstance(self.every, bool) or not isinstance(self.every, int | np.integer) or self.every < 1:
            raise ValueError(f"every={self.every!r}: give a whole number of frames, 1 for all of them.")

    def read(
        self, path: str | os.PathLike, *, skip_bad: bool = False, n_jobs: int | None = None, verbose: int = 0
    ) -> Dataset:
        """Read a video, a folder of videos, or frames in a folder or in its subfolders.

        Parameters
        ----------
        path : path
            The file, or the folder.
        skip_bad : bool, default=False
            Whether videos and frames that cannot be read are left out, instead of an error.
        n_jobs : int or None, default=None
            Number of threads that read frames of folders; videos are decoded by those of OpenCV. None is one a
            processor.
        verbose : int, default=0
            Whether progress is shown.

        Returns
        -------
        Dataset
            A sample a frame, named by its video and its number, such as "walk/000012", or by its folder and file;
            ``groups`` has the video or the folder. Its ``reader`` has the size and colour that were chosen.
        """
        path = existing(path)
        if not path.is_dir():
            if path.suffix.lower() in IMAGE_ENDINGS and path.suffix.lower() != ".gif":
                return self._read_frames(path.parent, [path.name], [], skip_bad, n_jobs, verbose)
            return self._read_videos(path.parent, [path.name], [], skip_bad, verbose)
        files = list_files(path)
        videos, others = with_endings(files, VIDEO_ENDINGS)
        if videos:
            return self._read_videos(path, videos, _ignored(others), skip_bad, verbose)
        frames, others = with_endings(files, IMAGE_ENDINGS)
        if not frames:
            raise nothing_found(path, files, "videos or frames", VIDEO_ENDINGS + IMAGE_ENDINGS)
        return self._read_frames(path, frames, _ignored(others), skip_bad, n_jobs, verbose)

    def _read_videos(self, root: Path, files: list[str], notes: list[str], skip_bad: bool, verbose: int) -> Dataset:
        frames = read_videos(root, files, check_size(self.size), self.colour, self.every, skip_bad, verbose)
        names = dict(zip(files, ids_of(files), strict=True))
        groups = [names[file] for file in frames.files]
        ids = [f"{group}/{number:06d}" for group, number in zip(groups, frames.numbers, strict=True)]
        rates = [rate for rate in frames.rates if rate]
        if len(set(rates)) > 1:
            notes.append(f"The videos have different frame rates ({first_few(rates)}): the first is kept.")
        rate = rates[0] / self.every if rates else None
        return self._dataset(
            Pixels(frames.X, frames.files, frames.image_shape, notes + frames.notes), ids, groups, rate
        )

    def _read_frames(
        self, root: Path, files: list[str], notes: list[str], skip_bad: bool, n_jobs: int | None, verbose: int
    ) -> Dataset:
        sequences: dict[str, list[str]] = {}
        for file in files:
            sequences.setdefault(file.rpartition("/")[0], []).append(file)
        kept = [file for name in sorted(sequences, key=natural_key) for file in sequences[name][:: self.every]]
        pixels = read_images(root, kept, check_size(self.size), self.colour, skip_bad, n_jobs, verbose)
        whole = root.resolve().name  # of frames in no subfolder
        groups = [printable(file).rpartition("/")[0] or whole for file in pixels.files]
        names = [name.rpartition("/")[2] for name in ids_of(pixels.files)]
        ids = [f"{group}/{name}" for group, name in zip(groups, names, strict=True)]
        notes.append(f"{counted(len(sequences), 'sequence')} of frames in order of their names.")
        return self._dataset(replace(pixels, notes=notes + pixels.notes), ids, groups, None)

    def _dataset(self, pixels: Pixels, ids: list[str], groups: list[str], frame_rate: float | None) -> Dataset:
        height, width = pixels.image_shape[:2]
        kept = [f"1 of every {self.every} frames kept (every={self.every})."] if self.every > 1 else []
        return Dataset(
            pixels.X,
            np.array(ids),
            groups=np.array(groups),
            image_shape=pixels.image_shape,
            sources=np.array([printable(file) for file in pixels.files]),
            frame_rate=frame_rate,
            reader=replace(self, size=(height, width), colour=len(pixels.image_shape) == 3),
            notes=(*pixels.notes, *kept),
        )


def _ignored(files: list[str]) -> list[str]:
    return [f"{counted(len(files), 'other file')} ignored: {first_few(files)}."] if files else []

"""Images in a folder, or one image, as rows of pixels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from laminar.io._folders import (
    compile_pattern,
    counted,
    existing,
    first_few,
    folder_labels,
    ids_of,
    pattern_labels,
    printable,
)
from laminar.io._image_files import IMAGE_ENDINGS, find_images, read_images
from laminar.io._pixels import check_size
from laminar.io.dataset import Dataset
from laminar.io.labels import label_frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class ImageReader:
    """Reader of a folder of images, or of one image: a row is the pixels of an image, float32 in [0, 1].

    PNG, JPEG, PGM, PPM, TIFF, BMP, GIF and WebP files of the folder and its subfolders are read, in natural order of
    their paths. Transparent pixels become white, photographs are turned upright, and of a file with several pages the
    first is read. Values of 8 bits are divided by 255, of 16 bits by 65535; floats are kept. Colour images of 16 bits
    are read with 8.

    Parameters
    ----------
    size : int, tuple of int or None, default=None
        Height and width that images are resized to, a number for squares. None is the size of all images, the median
        height and width if they differ, reduced to at most 128 x 128 pixels.
    colour : bool or None, default=None
        Whether rows have three values a pixel. None is True if any image has colour.
    labels_from : {"folders"} or None, default=None
        "folders": the subfolder of an image is its label of the attribute "folder"; of deeper trees "folder1",
        "folder2" and so on.
    name_pattern : str or None, default=None
        Attributes in the names of the files, such as "{identity}_{pose}"; ``{_}`` is left out and ``{pose:2}`` has two
        characters. A pattern with "/" is compared with the path in the folder, others with the name of the file.
    labels_optional : bool, default=False
        Whether images without such labels are read as well; the reader of a `Dataset` has it, for new images.

    See Also
    --------
    VideoReader : Reader of videos and of folders of frames.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, name in enumerate(["anna_1", "anna_2", "ben_1"]):
    ...         Image.new("L", (4, 3), 51 * i).save(f"{folder}/{name}.png")
    ...     data = ImageReader(name_pattern="{identity}_{pose}").read(folder)
    >>> data.X.shape, data.image_shape, data.X[:, 0].round(1).tolist()
    ((3, 12), (3, 4), [0.0, 0.2..., 0.4...])
    >>> data.labels.loc["ben_1"].to_dict()
    {'identity': 'ben', 'pose': 1}
    """

    size: int | tuple[int, int] | None = None
    colour: bool | None = None
    labels_from: str | None = None
    name_pattern: str | None = None
    labels_optional: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_size(self.size))
        if self.labels_from not in (None, "folders"):
            raise ValueError(f'labels_from={self.labels_from!r}: use "folders" or None.')
        if self.name_pattern is not None:
            compile_pattern(_without_image_ending(self.name_pattern))

    def read(
        self,
        path: str | os.PathLike,
        *,
        files: Sequence[str] | None = None,
        skip_bad: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Dataset:
        """Read a folder of images, or one image.

        Parameters
        ----------
        path : path
            The folder, or the file.
        files : sequence of str or None, default=None
            Images of the folder, relative to it, under any ending; rows are in this order. None is all images.
        skip_bad : bool, default=False
            Whether images that cannot be read are left out, instead of an error.
        n_jobs : int or None, default=None
            Number of threads. None is one a processor.
        verbose : int, default=0
            Whether progress is shown.

        Returns
        -------
        Dataset
            A sample an image, named by its path without ending. Its ``reader`` has the size and colour that were
            chosen.
        """
        path = existing(path)
        root, found, ignored = find_images(path) if files is None else (path, list(files), [])
        pixels = read_images(root, found, check_size(self.size), self.colour, skip_bad, n_jobs, verbose)
        ids = np.array(ids_of(pixels.files))
        labels, label_notes = self._labels(pixels.files, ids, path)
        height, width = pixels.image_shape[:2]
        return Dataset(
            pixels.X,
            ids,
            labels=labels,
            image_shape=pixels.image_shape,
            sources=np.array([printable(file) for file in pixels.files]),
            reader=replace(self, size=(height, width), colour=len(pixels.image_shape) == 3, labels_optional=True),
            notes=(*ignored, *pixels.notes, *label_notes),
        )

    def _labels(self, files: list[str], ids: np.ndarray, path: Path) -> tuple[DataFrame | None, list[str]]:
        columns: dict[str, list[str | None]] = {}
        notes: list[str] = []
        if self.labels_from:
            columns |= folder_labels(files)
            notes += self._check_folders(columns, path)
        if self.name_pattern is not None:
            attributes, unmatched = pattern_labels(files, _without_image_ending(self.name_pattern))
            if both := sorted(columns.keys() & attributes):
                raise ValueError(f"name_pattern={self.name_pattern!r}: {both[0]} is already a label from the folders.")
            columns |= {} if len(unmatched) == len(files) else attributes
            notes += self._check_pattern(unmatched, files)
        return (label_frame(columns, ids) if columns else None), notes

    def _check_folders(self, columns: dict[str, list[str | None]], path: Path) -> list[str]:
        if not columns:
            text = f"{path} has no subfolders, so that labels_from='folders' gives no labels"
            if self.labels_optional:
                return [f"{text}."]
            raise ValueError(f"{text}: put the images of each class in a folder of its own, or use name_pattern.")
        n_outside = next(iter(columns.values())).count(None)
        return [f"{counted(n_outside, 'image')} in no subfolder without a label."] if n_outside else []

    def _check_pattern(self, unmatched: list[str], files: list[str]) -> list[str]:
        if len(unmatched) == len(files) and not self.labels_optional:
            raise ValueError(
                f"name_pattern={self.name_pattern!r} matches no file, such as {first_few(files)}; "
                '"{identity}_{pose}" matches anna_1.png.'
            )
        which = f"{len(unmatched)} of {counted(len(files), 'file name')}"
        text = f"{which} not of the form {self.name_pattern}, their labels are unknown: {first_few(unmatched)}."
        return [text] if unmatched else []


def _without_image_ending(pattern: str) -> str:
    return next((pattern[: -len(end)] for end in IMAGE_ENDINGS if pattern.lower().endswith(end)), pattern)

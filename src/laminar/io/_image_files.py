"""Image files into one array: found in a folder, headers first, then pixels, by threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from laminar._utils.extras import require
from laminar._utils.progress import progress
from laminar.io._folders import counted, first_few, list_files, nothing_found, with_endings
from laminar.io._pixels import Header, choose_size, decode, has_colour, read_header

IMAGE_ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp")
BATCH = 64  # files that are examined for colour at a time; the first with colour ends the search

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Pixels:
    """Rows of pixels with the files they are from."""

    X: np.ndarray
    files: list[str]
    image_shape: tuple[int, ...]
    notes: list[str]


def find_images(path: Path) -> tuple[Path, list[str], list[str]]:
    """Return the folder of the images, the images in natural order, and notes on other files."""
    if not path.is_dir():
        return path.parent, [path.name], []
    files, others = with_endings(found := list_files(path), IMAGE_ENDINGS)
    if not files:
        raise nothing_found(path, found, "images", IMAGE_ENDINGS)
    text = f"{counted(len(others), 'file')} other than images ignored: {first_few(others)}."
    return path, files, [text] if others else []


def read_images(
    root: Path,
    files: Sequence[str],
    size: tuple[int, int] | None,
    colour: bool | None,
    skip_bad: bool,
    n_jobs: int | None,
    verbose: int,
) -> Pixels:
    """Read images into one array: first all headers, which decide on size and colour, then the pixels.

    Raises
    ------
    ValueError
        When images cannot be read, unless ``skip_bad``, or none can.
    """
    require("PIL.Image", "images", "reading images")
    with _without_warnings():
        paths = [root / file for file in files]
        headers = run_threads(partial(_attempt, read_header), paths, n_jobs, "Headers", verbose)
        notes = _check_readable(root, files, headers, skip_bad)
        files, paths, headers = _keep(headers, files, paths, headers)
        colour, colour_notes = _choose_colour(paths, headers, colour, n_jobs)
        (height, width), size_notes = choose_size([(header.height, header.width) for header in headers], size)
        shape = (height, width, 3) if colour else (height, width)
        X = np.empty((len(files), int(np.prod(shape))), np.float32)
        jobs = [(path, row.reshape(shape)) for path, row in zip(paths, X, strict=True)]
        outcomes = run_threads(lambda job: _attempt(decode, *job), jobs, n_jobs, "Images", verbose)
        notes += _check_readable(root, files, outcomes, skip_bad)
        good, files, headers = _keep(outcomes, range(len(files)), files, headers)
    notes += size_notes + colour_notes + _value_notes(headers)
    return Pixels(_compact(X, good), files, shape, notes)


def run_threads(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None, name: str, verbose: int
) -> list[Result]:
    """Return the results of a function that releases the lock of the interpreter, such as the decoding of an image."""
    from joblib import cpu_count, effective_n_jobs

    n_threads = cpu_count() if n_jobs is None else effective_n_jobs(n_jobs)
    shown: Any = progress(name, len(items), unit="images") if verbose else nullcontext(lambda done: None)
    pool = ThreadPoolExecutor(max(1, min(n_threads, len(items))))
    results = []
    try:
        with shown as report:
            for done, result in enumerate(pool.map(function, items), start=1):
                results.append(result)
                report(done)
    finally:
        pool.shutdown(cancel_futures=True)  # after an interrupt, without what is still in the queue
    return results


def _attempt(function: Callable, *arguments: Any) -> Any:
    """Return the result of a function, or the error of a file that cannot be read."""
    try:
        return function(*arguments)
    except MemoryError:
        raise
    except Exception as error:  # damaged files raise errors of many kinds
        return error


def _check_readable(root: Path, files: Sequence[str], outcomes: Sequence[Any], skip_bad: bool) -> list[str]:
    bad = [
        f"{file} ({_reason(error, root / file)})"
        for file, error in zip(files, outcomes, strict=True)
        if isinstance(error, Exception)
    ]
    if not bad:
        return []
    if skip_bad and len(bad) < len(files):
        return [f"{len(bad)} of {counted(len(files), 'image')} cannot be read and left out: {first_few(bad)}."]
    text = f"{len(bad)} of {counted(len(files), 'image')} in {root} cannot be read: {first_few(bad)}."
    if len(bad) < len(files):
        text += " Remove or replace them, or leave them out with skip_bad=True, on the command line --skip-bad."
    raise ValueError(text)


def _reason(error: Exception, path: Path) -> str:
    if path.is_file() and not path.stat().st_size:
        return "empty file"
    if type(error).__name__ == "UnidentifiedImageError":
        return "not a valid image"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _keep(outcomes: Sequence[Any], *lists: Sequence[Any]) -> list[list]:
    is_good = [not isinstance(outcome, Exception) for outcome in outcomes]
    return [[item for item, good in zip(items, is_good, strict=True) if good] for items in lists]


def _choose_colour(
    paths: Sequence[Path], headers: Sequence[Header], colour: bool | None, n_jobs: int | None
) -> tuple[bool, list[str]]:
    candidates = [path for path, header in zip(paths, headers, strict=True) if header.may_have_colour]
    n_grey = len(paths) - len(candidates)
    if colour is None:
        # One alone at first: most often it has colour, and the others need not be decoded twice.
        batches = [candidates[:1], *(candidates[i : i + BATCH] for i in range(1, len(candidates), BATCH))]
        colour = any(any(run_threads(has_colour, batch, n_jobs, "Colour", 0)) for batch in batches)
        if not colour and candidates:
            return colour, [f"{counted(len(candidates), 'image')} stored in colour, all of them grey: read as grey."]
        chosen = (
            ["Images are in colour, three values a pixel: colour=False (--grey) reads them as grey."] if colour else []
        )
    else:
        chosen = []
        if candidates and not colour:
            return colour, [f"{counted(len(candidates), 'image')} stored in colour read as grey."]
    if colour and n_grey:
        chosen.append(f"{counted(n_grey, 'grey image')} given three equal channels.")
    return colour, chosen


def _value_notes(headers: Sequence[Header]) -> list[str]:
    sentences = {
        "has_alpha": "with transparency: transparent pixels are white.",
        "has_pages": "with several pages: the first of each is read.",
        "is_deep": "of more than 8 bits divided by the largest value of their format, such as 65535.",
        "is_unscaled": "of floats or 32 bits: their values are kept as they are, not brought to [0, 1].",
    }
    counts = {field: sum(getattr(header, field) for header in headers) for field in sentences}
    return [f"{counted(counts[field], 'image')} {text}" for field, text in sentences.items() if counts[field]]


def _compact(X: np.ndarray, rows: Sequence[int]) -> np.ndarray:
    """Return some rows, in ascending order, moved up in place: X is not copied."""
    for new, old in enumerate(rows):
        if new != old:
            X[new] = X[old]
    return X[: len(rows)]


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Leave out Pillow's warnings of large images and of damaged metadata."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        yield

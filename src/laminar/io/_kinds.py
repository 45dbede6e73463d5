"""Kinds of files: what a path holds, and which reader reads it."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

READERS = {  # kind: module and class
    "images": ("images", "ImageReader"),
    "video": ("video", "VideoReader"),
    "frames": ("video", "VideoReader"),
    "texts": ("texts", "TextReader"),
    "table": ("tables", "TableReader"),
    "arrays": ("arrays", "ArrayReader"),
    "anndata": ("omics", "AnnDataReader"),
}
_IN_FOLDERS = ("images", "video", "texts")  # kinds of which a folder holds many files, one or several samples each
_ZARR_FILES = (".zgroup", ".zarray", "zarr.json")


@cache
def endings() -> dict[str, tuple[str, ...]]:
    """Return the endings of files by kind."""
    from laminar.io._image_files import IMAGE_ENDINGS
    from laminar.io._video_files import VIDEO_ENDINGS

    return {
        "images": IMAGE_ENDINGS,
        "video": VIDEO_ENDINGS,
        "texts": (".txt",),
        "table": (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx"),
        "arrays": (".npy", ".npz", ".mat", ".h5", ".hdf5", ".zarr", ".zip"),
        "anndata": (".h5ad",),
    }


def reader_class(kind: str) -> type:
    """Import the reader of a kind."""
    if kind not in READERS:
        nearest = difflib.get_close_matches(str(kind), READERS, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"kind={kind!r} is not one of {', '.join(READERS)}.{hint}")
    module, name = READERS[kind]
    return getattr(import_module(f"laminar.io.{module}"), name)


def kind_of(path: Path) -> str:
    """Return the kind of a file by its ending, of a folder by the files in it."""
    if not path.is_dir():
        return _kind_of_file(path)
    if path.suffix.lower() == ".zarr" or any((path / name).exists() for name in _ZARR_FILES):
        return "arrays"
    return _kind_of_folder(path)


def check_exists(path: Path) -> None:
    """Raise FileNotFoundError with the nearest name in the folder if there is no such file or folder."""
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path} does not exist, nor does its folder {folder}.")
    nearest = difflib.get_close_matches(path.name, os.listdir(folder), n=1, cutoff=0.5)
    hint = f" Did you mean {folder / nearest[0]}?" if nearest else ""
    raise FileNotFoundError(f"{path} does not exist.{hint}")


def _kind_of_file(path: Path) -> str:
    kind = _by_ending(path.name)
    if kind is None:
        ending = f"files that end in {path.suffix}" if path.suffix else "files without an ending"
        raise ValueError(f"{path}: {ending} are not read. {_supported()}")
    if path.suffix.lower() == ".txt":
        raise ValueError(
            f"{path} may be one text or a table: give kind='texts' or kind='table' (--kind texts, --kind table). "
            "Of many texts give the folder."
        )
    return kind


def _kind_of_folder(path: Path) -> str:
    held = Counter("".join(Path(name).suffixes[-1:]).lower() or name for name in _visible_files(path))
    kinds: Counter[str] = Counter()
    for ending, number in held.items():
        kinds[_by_ending(ending) or "other"] += number
    found = {kind: kinds[kind] for kind in _IN_FOLDERS if kinds[kind]}
    if not found:
        raise ValueError(_no_samples(path, held))
    best = max(found, key=lambda kind: found[kind])
    if 2 * found[best] <= sum(found.values()):
        parts = " and ".join(f"{number} {kind}" for kind, number in found.items())
        choices = " or ".join(f"kind={kind!r}" for kind in found)
        raise ValueError(f"{path} holds {parts}: choose by {choices} (--kind).")
    return best


def _no_samples(path: Path, held: Counter[str]) -> str:
    if not held:
        return f"{path} is an empty folder. {_supported()}"
    shown = ", ".join(f"{number} {ending}" for ending, number in held.most_common(5))
    single = [ending for ending in held if _by_ending(ending) is not None]
    hint = f" Of {single[0]} files give one, or a list of them, a view each." if single else f" {_supported()}"
    return f"{path} holds no images, videos or texts, but {shown}.{hint}"


def _by_ending(name: str) -> str | None:
    name = name.lower()
    return next((kind for kind, known in endings().items() if name.endswith(known)), None)


def _visible_files(path: Path) -> Iterator[str]:
    """Yield the names of the files of a folder and its subfolders; a folder of zarr counts as one file."""
    for _, subfolders, names in os.walk(path):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        yield from (name for name in names if not name.startswith("."))
        yield from (name for name in subfolders if name.endswith(".zarr"))
        subfolders[:] = [name for name in subfolders if not name.endswith(".zarr")]


def _supported() -> str:
    return "Supported are " + "; ".join(f"{kind} ({' '.join(known)})" for kind, known in endings().items()) + "."

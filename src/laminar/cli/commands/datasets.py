"""`laminar datasets`: data sets to try the command on, written as the files people have."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..options import Debug, Force, Json, Quiet, Seed
from ..terminal import Terminal, session, table

if TYPE_CHECKING:
    from pandas import DataFrame
    from sklearn.utils import Bunch

FEW = 0.1  # share of the labels in few.csv


def datasets(
    name: Annotated[str | None, typer.Argument(help="Data set to write; without it all are listed.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write to.  [default: the name of the set]")
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Download the set, if it has an open source.")] = False,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """List data sets, or write one as files: images, tables, frames, with all labels and with a few.

    Besides those built in, the sets of the papers and all .npz files, in the folder that the environment variable
    LAMINAR_DATA names. Of a set that is absent, the error is where its owner gives it out and where to put it.

    \b
    Examples:
      laminar datasets
      laminar datasets --json
      laminar datasets faces -o demo
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        if name is None:
            _list(terminal)
            return
        write = _writer(name, download)
        folder = output or Path(name)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not force:
            raise FileExistsError(f"{folder} exists and is not empty: give another folder with -o, or --force.")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".laminar-", dir=folder) as partial:
            files = write(Path(partial), seed)
            for file in files:
                _move(Path(partial) / file, folder / file)
        terminal.inform(f"Wrote {', '.join(files)} to {folder}.")
        _next(folder, files, terminal)
        terminal.finish({"folder": folder, "files": files})


def _move(source: Path, target: Path) -> None:
    """Move a complete file or folder to its place; a folder that is there is replaced."""
    if target.is_dir():
        shutil.rmtree(target)
    source.replace(target)


def _list(terminal: Terminal) -> None:
    """Print all sets: where they are, and what is in them."""
    rows = {name: {"what": what, "where": "built in"} for name, (what, _) in BUILT_IN.items()} | _known()
    columns = ["where", "samples", "attributes", "what"]
    cells = [[name, *(row.get(column, "") for column in columns)] for name, row in rows.items()]
    texts = [[", ".join(cell) if isinstance(cell, list) else str(cell) for cell in row] for row in cells]
    terminal.show(table("", ["name", *columns], texts, text=[0, 1, 3, 4]))
    terminal.show("Samples of sets that are no .npz file are those of the papers.")
    terminal.show("Write one with: laminar datasets NAME -o FOLDER")
    terminal.finish({"datasets": rows})


def _known() -> dict[str, dict[str, Any]]:
    """Return the sets of the papers, present or absent, and all other .npz files."""
    from laminar.datasets import available, find, records
    from laminar.datasets.layouts import summary

    known = records()
    places = {name: find(name) for name in [*known, *available()]}
    used = {places[name] for name in known}
    rows: dict[str, dict[str, Any]] = {}
    for name, place in places.items():
        if name not in known and place in used:  # the file of a set that is listed under its own name
            continue
        record = known.get(name)
        found: dict[str, Any] = {}
        if place is not None and place.suffix == ".npz":
            found |= summary(place)
        if record is not None:
            absent = "absent, --download" if record.open_source else "absent"
            samples: dict[str, Any] = {"samples": record.n_samples} if record.n_samples else {}
            found = samples | {"attributes": list(record.attributes), "what": record.title} | found
        rows[name] = {"where": absent if place is None else place.name} | found
    return rows


def _writer(name: str, download: bool) -> Callable[[Path, int], list[str]]:
    from difflib import get_close_matches
    from functools import partial

    from laminar.datasets import available, load, records

    if name in BUILT_IN:
        return BUILT_IN[name][1]
    known = [*available(), *records()]
    if name in known:
        return partial(_write_stored, load(name, download=download))
    near = get_close_matches(name, [*BUILT_IN, *known], n=1)
    raise ValueError(
        f"{name}: no such data set.{f' Did you mean {near[0]}?' if near else ''} laminar datasets lists all."
    )


def _next(folder: Path, files: list[str], terminal: Terminal) -> None:
    """Print the command that fits a model to what was written."""
    labels = f" --labels {folder / 'few.csv'}" if "few.csv" in files else ""
    terminal.inform(f"Next: laminar fit {folder / files[0]}{labels}")


# ---- the sets --------------------------------------------------------------------------------------------------------


def _write_faces(folder: Path, seed: int) -> list[str]:
    from laminar.datasets import make_faces

    faces = make_faces(20, 5, 6, size=32, random_state=seed)
    names = {
        "identity": [f"person{i + 1:02d}" for i in faces.identity],
        "pose": [faces.names["pose"][i].replace(" ", "") for i in faces.pose],
        "light": [f"light{i + 1}" for i in faces.light],
    }
    ids = np.array(["_".join(parts) for parts in zip(*names.values(), strict=True)])
    new = np.random.default_rng(seed).random(len(ids)) < 0.2
    for name, rows in {"faces": ~new, "more_faces": new}.items():
        _write_images(folder / name, faces.X[rows], faces.image_shape, ids[rows])
    _write_labels(folder, _frame(ids, names), ~new, seed)
    return ["faces/", "more_faces/", "few.csv", "all.csv"]


def _write_wine(folder: Path, seed: int) -> list[str]:
    from sklearn.datasets import load_wine

    wine = load_wine(as_frame=True)
    ids = np.array([f"bottle{i:03d}" for i in range(len(wine.data))])
    cultivar = wine.target_names[wine.target].astype(object)
    frame = wine.data.set_axis(ids, axis=0)
    few = np.random.default_rng(seed).random(len(ids)) < FEW
    frame.assign(cultivar=np.where(few, cultivar, None)).to_csv(folder / "wine.csv", index_label="bottle")
    _frame(ids, {"cultivar": cultivar}).to_csv(folder / "all.csv", index_label="bottle")
    return ["wine.csv", "all.csv"]


def _write_video(folder: Path, seed: int) -> list[str]:
    from laminar.datasets import make_expression_video

    video = make_expression_video(random_state=seed)
    ids = np.array([f"{i:04d}" for i in range(len(video.X))])
    _write_images(folder / "frames", video.X, video.image_shape, ids)
    return ["frames/"]


def _write_views(folder: Path, seed: int) -> list[str]:
    import pandas

    from laminar.datasets import make_views

    data = make_views(random_state=seed)
    ids = np.array([f"sample{i:03d}" for i in range(len(data.views[0]))])
    rng, files = np.random.default_rng(seed), []
    for v, X in enumerate(data.views):
        rows = rng.permutation(len(ids))[: int(0.9 * len(ids))]  # in another order, and some are missing
        columns = [f"feature{j}" for j in range(X.shape[1])]
        pandas.DataFrame(X[rows], index=ids[rows], columns=columns).to_csv(folder / f"view{v}.csv", index_label="id")
        files.append(f"view{v}.csv")
    _frame(ids, {"class": data.y}).to_csv(folder / "all.csv", index_label="id")
    return [*files, "all.csv"]


def _write_stored(data: Bunch, folder: Path, seed: int) -> list[str]:
    """Write a set of LAMINAR_DATA or of an open source: images as PNG, views and others as tables."""
    import pandas

    views = {"": data.X} if "X" in data else {f"{v + 1}": X for v, X in enumerate(data.views)}
    ids = np.array([f"{data.name}{i:05d}" for i in range(len(next(iter(views.values()))))])
    files = []
    for view, X in views.items():
        shape = data.get(f"image_shape{view}")
        if shape is not None and np.prod(shape) == X.shape[1]:
            _write_images(folder / f"images{view}", X, shape, ids)
            files.append(f"images{view}/")
        else:
            columns = [f"x{j}" for j in range(X.shape[1])]
            pandas.DataFrame(X, index=ids, columns=columns).to_csv(folder / f"data{view}.csv", index_label="id")
            files.append(f"data{view}.csv")
    if data.attributes:
        named = {key: _named(data, key) for key in data.attributes}
        _write_labels(folder, _frame(ids, named), np.ones(len(ids), dtype=bool), seed)
        files += ["few.csv", "all.csv"]
    return files


def _named(data: Any, attribute: str) -> list:
    """Return labels by the names of their classes, where these are known; None for -1."""
    names = data.names.get(attribute)
    return [None if i < 0 else names[i] if names else int(i) for i in data[attribute].tolist()]


BUILT_IN: dict[str, tuple[str, Callable[[Path, int], list[str]]]] = {
    "faces": ("600 rendered faces: 20 people, 5 poses, 6 lights (PNG)", _write_faces),
    "wine": ("178 wines of 3 cultivars, 13 measurements (CSV)", _write_wine),
    "video": ("60 frames of a face whose mouth opens and closes (PNG)", _write_video),
    "views": ("views of the same samples, some missing (CSV)", _write_views),
}


# ---- files -----------------------------------------------------------------------------------------------------------


def _frame(ids: np.ndarray, columns: dict[str, Any]) -> DataFrame:
    import pandas

    return pandas.DataFrame(columns, index=ids)


def _write_images(folder: Path, X: np.ndarray, shape: tuple[int, ...], ids: np.ndarray) -> None:
    from laminar._utils.extras import require

    image = require("PIL.Image", "images", "laminar datasets")
    folder.mkdir(exist_ok=True)
    scaled = np.round(255 * np.clip(X / max(float(X.max()), 1.0), 0, 1)).astype(np.uint8)
    for row, name in zip(scaled, ids, strict=True):
        image.fromarray(row.reshape(shape)).save(folder / f"{name}.png")


def _write_labels(folder: Path, labels: DataFrame, training: np.ndarray, seed: int) -> None:
    """Write all labels, and a few of each attribute of the training samples."""
    few = np.random.default_rng(seed + 1).random(labels.shape) < FEW
    labels.to_csv(folder / "all.csv", index_label="id")
    labels.astype(object).where(few, None)[training & few.any(axis=1)].to_csv(folder / "few.csv", index_label="id")

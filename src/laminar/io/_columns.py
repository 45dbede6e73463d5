"""Columns of a table that name the samples or label them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from laminar.io._folders import first_few
from laminar.io._frames import ID_NAMES, UNNAMED, Table, cell_text, may_be_id
from laminar.io.labels import label_frame

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def find_ids(
    table: Table, path: Path, id_column: str | None, taken: Sequence[str] = ()
) -> tuple[str | None, np.ndarray]:
    """Return the column that names the samples, or None, and the names; ``taken`` columns have another use."""
    frame = table.frame
    if id_column is not None:
        check_columns(path, frame, [id_column], "id_column")
        column: str | None = id_column
    else:
        candidates = [name for name in frame.columns if may_be_id(name) and name not in taken]
        if UNNAMED in candidates and frame.columns[0] != UNNAMED:
            candidates.remove(UNNAMED)
        column = min(candidates, key=lambda name: (*ID_NAMES, UNNAMED).index(name.lower()), default=None)
    if column is None:
        table.notes.append(f"{path.name}: no column id, name or sample; samples are named by the number of their row.")
        return None, np.arange(len(frame)).astype(str)
    ids = texts_of(frame[column])
    _check_ids(path, column, ids)
    return column, ids


def _check_ids(path: Path, column: str, ids: np.ndarray) -> None:
    mend = f"Name another column by id_column= (--id-column), or leave this one out by drop=({column!r},) (--drop)."
    if np.any(ids == ""):
        rows = np.flatnonzero(ids == "") + 1
        raise ValueError(f"{path}: column {column!r} names the samples, but is empty in row {first_few(rows)}. {mend}")
    values, times = np.unique(ids, return_counts=True)
    if np.any(times > 1):
        repeated = first_few(values[times > 1])
        raise ValueError(
            f"{path}: column {column!r} names the samples, but has names more than once: {repeated}. {mend}"
        )


def check_columns(path: Path, frame: DataFrame, names: Sequence[str], option: str) -> None:
    """Raise ValueError if a column is missing, with the option that named it and the columns there are."""
    absent = [name for name in names if name not in frame.columns]
    if absent:
        nearest = difflib.get_close_matches(str(absent[0]), [str(name) for name in frame.columns], n=1)
        hint = (
            f" Did you mean {nearest[0]!r}?"
            if nearest
            else f" Its columns are {', '.join(map(str, list(frame.columns)[:10]))}."
        )
        raise ValueError(f"{path} has no column {first_few(map(repr, absent))} ({option}).{hint}")


def labels_of(frame: DataFrame, names: Sequence[str], ids: np.ndarray) -> DataFrame | None:
    """Return columns of labels by sample, None where unknown, as `laminar.io.labels.label_frame` does."""
    return label_frame({name: texts_of(frame[name]).tolist() for name in names}, ids) if names else None


def texts_of(cells: Series) -> np.ndarray:
    """Return a column as text, empty cells as ""."""
    return np.array([cell_text(cell) for cell in cells.astype(object)], dtype=str)


def names_of(option: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names that were given as one, several or none."""
    return () if option is None else (option,) if isinstance(option, str) else tuple(option)

"""Samples that names in another file belong to: equal ids, or equal but for folders and endings."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from laminar.io.dataset import Dataset

FILE_ENDING = re.compile(r"\.[A-Za-z]\w{1,4}$")  # ".png", ".mp4"; not the ".2" of "v1.2"


def find_samples(names: Sequence[str], data: Dataset) -> np.ndarray:
    """Return the row of the sample that each name belongs to, -1 for none or if it may be more than one.

    Examples
    --------
    >>> data = Dataset(np.eye(3), np.array(["a/1", "b/1", "b/2"]))
    >>> find_samples(["a/1", "b/1.png", "2", "1"], data)
    array([ 0,  1,  2, -1])
    """
    files = [data.ids] if data.sources is None else [data.ids, data.sources]
    exact = _lookup(files)
    by_base = _lookup([[_base(name) for name in some] for some in files])
    rows = np.array([exact.get(_key(name), -1) for name in names], dtype=int)
    taken = set(rows.tolist())
    loose: dict[int, set[str]] = defaultdict(set)
    for i in np.flatnonzero(rows < 0).tolist():
        row = _loose_match(_key(names[i]), exact, by_base)
        if row >= 0 and row not in taken:
            rows[i] = row
            loose[row].add(_key(names[i]))
    # Two different names that are one sample only without their folders or endings are different files.
    ambiguous = [row for row, found in loose.items() if len(found) > 1]
    return np.where(np.isin(rows, ambiguous), -1, rows)


def _loose_match(name: str, exact: dict[str, int], by_base: dict[str, int]) -> int:
    stem = FILE_ENDING.sub("", name)
    for form, lookup in ((stem, exact), (_base(name), by_base), (_base(stem), by_base)):
        if form in lookup:
            return lookup[form]
    return -1


def _lookup(names: Iterable[Iterable[str]]) -> dict[str, int]:
    """Return the row of each name; -1 for one that several samples have."""
    rows: dict[str, int] = {}
    for some in names:
        for row, name in enumerate(some):
            key = _key(name)
            rows[key] = row if rows.get(key, row) == row else -1
    return rows


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", str(name)).strip().replace("\\", "/").removeprefix("./")


def _base(name: str) -> str:
    return str(name).replace("\\", "/").rpartition("/")[2]

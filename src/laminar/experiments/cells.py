"""Cells: single results of an experiment, computed once and kept in files."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sklearn import config_context

import laminar


@dataclass(frozen=True, eq=False)
class Cell:
    """One result: scores of a method, on data, with a seed.

    Attributes
    ----------
    names : dict
        Which result it is: columns of the table of results, as ``{"method": "NMF", "k": 20, "seed": 0}``.
    work : callable
        Returns the scores, by name; a function of a module.
    arguments : tuple
        Of ``work``: estimators, numbers and names, whose ``repr`` has all their settings.
    """

    names: dict[str, Any]
    work: Callable[..., Mapping[str, float]]
    arguments: tuple[Any, ...] = ()

    @property
    def key(self) -> str:
        """Hash of the work, its arguments, its code and that of Laminar, and the data: another key, another result."""
        with config_context(print_changed_only=False):
            settings = repr(self.arguments)
        text = f"{work_version(self.work)}{settings}{code_version()}{_data_version(os.environ.get('LAMINAR_DATA'))}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def code_version() -> str:
    """Return a hash of the sources of Laminar that results may depend on.

    Examples
    --------
    >>> from laminar.experiments.cells import code_version
    >>> len(code_version())
    16
    """
    root = Path(laminar.__file__).parent
    # How results are shown does not change them; what a cell calls of the experiments is in `work_version`.
    apart = {"cli", "report", "studio", "plots", "experiments"}
    files = [path for path in sorted(root.rglob("*.py")) if path.relative_to(root).parts[0] not in apart]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def work_version(work: Callable) -> str:
    """Return a hash of a function of the experiments and of all functions and constants there that it uses.

    So that what an item states of its results, and how it draws them, can change without computing them again.

    Examples
    --------
    >>> from laminar.experiments.cells import computed, work_version
    >>> len(work_version(computed))
    16
    """
    sources: dict[str, str] = {}
    waiting = [work]
    while waiting:
        used = inspect.unwrap(waiting.pop())
        name = f"{used.__module__}.{used.__qualname__}"
        if name in sources:
            continue
        sources[name] = ""
        if not used.__module__.startswith(__package__):
            continue
        sources[name] = inspect.getsource(used)
        scope = vars(sys.modules[used.__module__])
        for word in sorted(set(re.findall(r"[A-Za-z_]\w*", sources[name]))):
            value = scope.get(word)
            if inspect.isclass(value) or (callable(value) and inspect.isfunction(inspect.unwrap(value))):
                waiting.append(value)
            elif isinstance(value, str | int | float | tuple | list | dict | set):
                sources[f"{used.__module__}.{word}"] = repr(value)
    return hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest()[:16]


@cache
def _data_version(folder: str | None) -> str:
    """Return a hash of names, sizes and times of the files of the data."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file()) if folder else []
    found = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def computed(cell: Cell) -> dict[str, float]:
    """Return the scores of a cell, and the seconds they took."""
    begin = time.perf_counter()
    arguments = deepcopy(cell.arguments)  # a model that is fitted or set there does not change the key of the cell
    scores = {name: float(value) for name, value in cell.work(*arguments).items()}
    return {**scores, "seconds": time.perf_counter() - begin}


class Kept:
    """Scores of cells in a folder, one file each, so that an interrupted run goes on where it was.

    Parameters
    ----------
    folder : Path
        Where the files are; made with the first of them.

    Examples
    --------
    >>> import math, tempfile
    >>> cell = Cell({"x": 4}, math.sqrt, (4,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Kept(Path(folder))
    ...     kept.keep(cell, {"root": 2.0})
    ...     kept.get(cell), kept.get(Cell({"x": 9}, math.sqrt, (9,)))
    ({'root': 2.0}, None)
    """

    def __init__(self, folder: Path):
        self.folder = folder

    def get(self, cell: Cell) -> dict[str, float] | None:
        """Return the scores of a cell, None if they are not known."""
        try:
            return json.loads(self._path(cell).read_text())["scores"]
        except (FileNotFoundError, ValueError, KeyError):  # a file that was cut off is computed again
            return None

    def keep(self, cell: Cell, scores: Mapping[str, float]) -> None:
        """Write the scores of a cell."""
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text(
            json.dumps({"cell": {name: str(value) for name, value in cell.names.items()}, "scores": scores})
        )
        partial.replace(path)

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"

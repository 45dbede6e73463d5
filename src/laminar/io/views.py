"""Several views of the same samples, matched by id."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from laminar.io._folders import counted, first_few, natural_key
from laminar.io.dataset import Dataset, Matrix

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class ViewsReader:
    """Reader of several views of the same samples, each with a reader of its own.

    Parameters
    ----------
    readers : dict
        Name of the view -> reader.

    See Also
    --------
    join_views : What it does with the views after reading them.

    Examples
    --------
    >>> class Ones:
    ...     def read(self, path):
    ...         return Dataset(np.ones((2, 3)), np.array(["anna", "ben"]), notes=(f"read {path}",))
    >>> data = ViewsReader({"face": Ones(), "voice": Ones()}).read(["faces", "voices"])
    >>> data.X["voice"].shape, data.notes
    ((2, 3), ('face: read faces', 'voice: read voices'))
    """

    readers: dict[str, Any]

    def read(
        self,
        paths: Mapping[str, str | os.PathLike] | Sequence[str | os.PathLike],
        *,
        skip_bad: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Dataset:
        """Read each view and match their rows by id.

        Parameters
        ----------
        paths : dict or sequence of paths
            Path of each view, by name, or in the order of the readers.
        skip_bad : bool, default=False
            Whether files that cannot be read are left out, instead of an error.
        n_jobs : int or None, default=None
            Number of threads. None is one a processor.
        verbose : int, default=0
            Whether progress is shown.

        Returns
        -------
        Dataset
            The views. Its ``reader`` holds that of each view.
        """
        given = {"skip_bad": skip_bad, "n_jobs": n_jobs, "verbose": verbose}
        options = {name: value for name, value in given.items() if value}  # a reader may have none of them
        by_view = self._paths(paths)
        data = {name: reader.read(by_view[name], **options) for name, reader in self.readers.items()}
        reader: Any = ViewsReader({name: view.reader for name, view in data.items()})  # reads several paths, not one
        return replace(join_views(data), reader=reader)

    def _paths(self, paths: Mapping | Sequence) -> dict[str, Any]:
        if isinstance(paths, str | os.PathLike):
            raise ValueError(f"{paths} is one path: give one for each view, {', '.join(self.readers)}.")
        if not isinstance(paths, Mapping):
            if len(paths) != len(self.readers):
                count = counted(len(paths), "path")
                raise ValueError(f"{count} for {len(self.readers)} views: give one for {', '.join(self.readers)}.")
            return dict(zip(self.readers, paths, strict=True))
        missing, unknown = self.readers.keys() - paths.keys(), paths.keys() - self.readers.keys()
        if missing or unknown:
            wrong = ", ".join([f"no path for {name}" for name in missing] + [f"unknown {name}" for name in unknown])
            raise ValueError(f"paths of views {', '.join(paths)}: {wrong}. The views are {', '.join(self.readers)}.")
        return dict(paths)


def join_views(datasets: Mapping[str, Dataset]) -> Dataset:
    """Join data sets as views of the same samples, matched by id.

    A sample that a view lacks is a row of NaN in it, of zeros if the view is sparse, and False in ``observed``.

    Parameters
    ----------
    datasets : dict of Dataset
        Data set of each view, by name.

    Returns
    -------
    Dataset
        The samples of all views, in the order in which they first occur.

    Raises
    ------
    ValueError
        When an id occurs twice in a view, a view shares no id with the others, or labels of two views differ.

    Examples
    --------
    >>> face = Dataset(np.ones((2, 1)), np.array(["anna", "ben"]))
    >>> voice = Dataset(np.zeros((2, 1)), np.array(["ben", "carl"]))
    >>> data = join_views({"face": face, "voice": voice})
    >>> data.ids.tolist(), data.X["face"].ravel().tolist(), data.observed.tolist()
    (['anna', 'ben', 'carl'], [1.0, 1.0, nan], [[True, False], [True, True], [False, True]])
    """
    _check_views(datasets)
    ids, order_notes = _order(datasets)
    position = {name: i for i, name in enumerate(ids)}
    rows = {name: np.array([position[str(i)] for i in data.ids], dtype=int) for name, data in datasets.items()}
    observed = np.zeros((len(ids), len(rows)), dtype=bool)
    for view, at in enumerate(rows.values()):
        observed[at, view] = True
    rates = [data.frame_rate for data in datasets.values() if data.frame_rate is not None]
    notes = [f"{name}: {note}" for name, data in datasets.items() for note in data.notes]
    notes += _missing_notes(observed, list(rows)) + order_notes
    if len(set(rates)) > 1:
        notes.append(f"The views have different frame rates ({first_few(rates)}): the first is kept.")
    return Dataset(
        {name: _spread(data.views()["X"], rows[name], len(ids)) for name, data in datasets.items()},
        np.array(ids),
        feature_names=_by_view(datasets, "feature_names"),
        labels=_merge_labels(datasets, ids, rows),
        groups=_merge_groups(datasets, ids, rows),
        image_shape=_by_view(datasets, "image_shape"),
        sources=_merge_sources(datasets, len(ids), rows),
        frame_rate=rates[0] if rates else None,
        observed=None if observed.all() else observed,
        notes=tuple(notes),
    )


def _check_views(datasets: Mapping[str, Dataset]) -> None:
    if not datasets:
        raise ValueError("join_views needs at least one view.")
    ids = {name: set(map(str, data.ids)) for name, data in datasets.items()}
    for name, data in datasets.items():
        if data.has_views:
            raise ValueError(f"view {name!r} itself has views, {first_few(data.views())}: give each of them as a view.")
        if len(ids[name]) < data.n_samples:
            repeated = [i for i, n in Counter(map(str, data.ids)).items() if n > 1]
            raise ValueError(f"view {name!r} has ids that occur more than once: {first_few(repeated)}. Rename them.")
        others = [ids[other] for other in ids if other != name]
        if others and not any(ids[name] & other for other in others):
            shown = "; ".join(f"{view}: {first_few(some.ids)}" for view, some in datasets.items())
            raise ValueError(
                f"view {name!r} has no id in common with the others ({shown}). Rows of views belong together by id: "
                "name the files, or fill the column of ids, in the same way in all of them."
            )


# Rows


def _order(datasets: Mapping[str, Dataset]) -> tuple[list[str], list[str]]:
    """Return the ids in order of first occurrence, those of sequences in order of time."""
    ids = list(dict.fromkeys(str(name) for data in datasets.values() for name in data.ids))
    n_first = next(iter(datasets.values())).n_samples
    if len(ids) == n_first or all(data.groups is None for data in datasets.values()):
        return ids, []
    # Frames that only a later view has would follow the last frame; where numbers in the ids are the order of time in
    # all views, they go to their place.
    place = {name: i for i, name in enumerate(sorted(ids, key=natural_key))}
    if all(np.all(np.diff([place[str(name)] for name in data.ids]) > 0) for data in datasets.values()):
        return sorted(ids, key=place.__getitem__), []
    return ids, [f"{counted(len(ids) - n_first, 'sample')} not in the first view at the end: not in order of time."]


def _spread(X: Matrix, rows: np.ndarray, n: int) -> Matrix:
    """Return X with its rows at their places among n; X itself if they are there already."""
    if len(rows) == n and np.array_equal(rows, np.arange(n)):
        return X
    if sp.issparse(X):
        source = np.full(n, X.shape[0])
        source[rows] = np.arange(X.shape[0])
        return sp.vstack([X, sp.csr_array((1, X.shape[1]), dtype=X.dtype)], format="csr")[source]
    dtype = X.dtype if len(rows) == n else np.result_type(X.dtype, np.float32)
    spread = np.empty((n, X.shape[1]), dtype)
    if len(rows) < n:
        spread[np.setdiff1d(np.arange(n), rows)] = np.nan
    spread[rows] = X
    return spread


def _missing_notes(observed: np.ndarray, names: list[str]) -> list[str]:
    n, alone = len(observed), observed.sum(axis=1) == 1
    notes = [
        f"{name}: lacks {n - int(has.sum())} of {counted(n, 'sample')}."
        for name, has in zip(names, observed.T, strict=True)
        if not has.all()
    ]
    if notes and len(names) > 2 and alone.any():
        notes.append(f"{counted(int(alone.sum()), 'sample')} in one view only.")
    return notes


# Descriptions


def _by_view(datasets: Mapping[str, Dataset], field: str) -> dict[str, Any] | None:
    found = {name: getattr(data, field) for name, data in datasets.items() if getattr(data, field) is not None}
    return found or None


def _merge(parts: Iterable[tuple[str, np.ndarray, Iterable[Any]]], ids: list[str], what: str) -> list:
    """Return one value a sample from (view, rows, values); two that differ are an error."""
    values: list = [None] * len(ids)
    conflicts = []
    for view, rows, found in parts:
        for row, value in zip(rows.tolist(), found, strict=True):
            if values[row] is None:
                values[row] = value
            elif value is not None and str(value) != str(values[row]):
                conflicts.append(f"{ids[row]} ({values[row]}, in {view} {value})")
    if conflicts:
        raise ValueError(f"the views disagree on {what} of {first_few(conflicts)}: correct one of them.")
    return values


def _merge_labels(datasets: Mapping[str, Dataset], ids: list[str], rows: dict[str, np.ndarray]) -> DataFrame | None:
    from laminar.io.labels import label_frame

    labelled = {name: data.labels for name, data in datasets.items() if data.labels is not None}
    names = dict.fromkeys(column for labels in labelled.values() for column in labels)
    columns = {
        column: _merge(
            [(view, rows[view], labels[column].tolist()) for view, labels in labelled.items() if column in labels],
            ids,
            f"the label {column!r}",
        )
        for column in names
    }
    return label_frame(columns, ids) if columns else None


def _merge_groups(datasets: Mapping[str, Dataset], ids: list[str], rows: dict[str, np.ndarray]) -> np.ndarray | None:
    parts = [(view, rows[view], data.groups) for view, data in datasets.items() if data.groups is not None]
    groups = _merge(parts, ids, "the sequence")
    # A sample without one is a sequence of its own.
    return (
        np.array([name if group is None else str(group) for group, name in zip(groups, ids, strict=True)])
        if parts
        else None
    )


def _merge_sources(datasets: Mapping[str, Dataset], n: int, rows: dict[str, np.ndarray]) -> np.ndarray | None:
    sources = np.full(n, "", dtype=object)
    for view, data in reversed(list(datasets.items())):
        if data.sources is not None:
            sources[rows[view]] = data.sources
    return sources.astype(str) if sources.any() else None

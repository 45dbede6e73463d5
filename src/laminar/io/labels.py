"""Labels from a file, matched to samples by id."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar.io._folders import counted, existing, first_few
from laminar.io._matching import find_samples
from laminar.io.dataset import Dataset

if TYPE_CHECKING:
    from pandas import DataFrame, Series

UNKNOWN = ("", "nan", "NaN", "NA", "?")  # cells without a label
ID_COLUMNS = ("id", "name", "sample", "file", "filename", "image")  # in lower case
LABEL_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
# "007" is a name. "2.0" is how pandas writes whole numbers of a column with empty cells.
WHOLE_NUMBER = re.compile(r"(0|-?[1-9]\d*)(\.0+)?")


def read_labels(path: str | os.PathLike, *, id_column: str | None = None) -> DataFrame:
    r"""Read labels from a CSV or TSV file: a row a sample, a column an attribute.

    The first line holds the names of the columns. Cells that are empty, ``?``, ``NA``, ``nan`` or ``NaN`` are unknown.

    Parameters
    ----------
    path : path
        The file; separated by commas, semicolons or tabs.
    id_column : str or None, default=None
        Column with the ids of the samples. None is a column called id, name, sample, file, filename or image (of
        several the first without repeated values), otherwise the first.

    Returns
    -------
    DataFrame of shape (n_rows, n_attributes)
        Labels as text, None where unknown, indexed by id; `match_labels` brings them to the samples.

    Raises
    ------
    ValueError
        When the file has no rows, no column of labels, or no ids.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "few.csv"
    ...     _ = path.write_text("file,identity,pose\n007.png,anna,1\n008.png,?,2")
    ...     labels = read_labels(path)
    >>> labels.loc["007.png"].to_dict(), labels.loc["008.png", "identity"]
    ({'identity': 'anna', 'pose': '1'}, None)
    """
    import pandas as pd

    path = existing(path)
    columns, rows = _read_cells(path)
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    name = _id_column(frame, id_column, path)
    unknown = frame.isin(UNKNOWN)
    without_id = unknown[name] & ~unknown.drop(columns=name).all(axis=1)
    if without_id.any():
        lines = first_few(np.flatnonzero(without_id) + 2)
        raise ValueError(f"{path} has labels without an id in column {name!r}, in row {lines}: fill in the ids.")
    frame = frame.mask(unknown, None)[~unknown[name]]
    if frame.empty:
        raise ValueError(f"{path} holds no rows below its header {first_few(columns)}.")
    frame = frame.set_index(name)
    frame.attrs["source"] = path.name
    return frame


def _read_cells(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a file of text, all cells without spaces around them."""
    if path.is_dir() or path.suffix.lower() not in LABEL_ENDINGS:
        raise ValueError(f"{path} is not a table of labels: save it as {' or '.join(LABEL_ENDINGS)}.")
    text = _decode(path.read_bytes())
    if not text.strip():
        raise ValueError(f"{path} is empty: its first line is the names of the columns, such as id,identity.")
    tab = path.suffix.lower() in (".tsv", ".tab")
    separator = "\t" if tab else max(",;\t", key=text.strip().partition("\n")[0].count)
    cells = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        columns, *rows = ([cell.strip() for cell in row] for row in cells if any(map(str.strip, row)))
    except csv.Error as error:
        raise ValueError(f"{path} is not a table of labels ({error}): a quote may lack its counterpart.") from None
    _check_cells(path, columns, rows)
    return columns, rows


def _decode(data: bytes) -> str:
    """Return the text of a file in one of the encodings that Excel writes, or in UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _check_cells(path: Path, columns: list[str], rows: list[list[str]]) -> None:
    if len(columns) < 2:
        raise ValueError(f"{path} has one column, {columns[0]!r}: labels need a column of ids and one an attribute.")
    if repeated := sorted({name for name in columns if columns.count(name) > 1}):
        raise ValueError(f"{path} has several columns called {first_few(map(repr, repeated))}: rename them.")
    wrong = [row for row in rows if len(row) != len(columns)]
    if wrong:
        raise ValueError(
            f"{path} has {len(columns)} columns, and {counted(len(wrong), 'row')} with another number of cells, such "
            f"as that of {wrong[0][0]!r} with {len(wrong[0])}: put cells that hold the separator in quotes."
        )


def _id_column(frame: DataFrame, id_column: str | None, source: object) -> str:
    columns = list(frame.columns)
    if id_column is not None:
        if id_column not in columns:
            raise ValueError(f"{source} has no column {id_column!r}: it has {', '.join(map(str, columns))}.")
        return id_column
    named = [column for column in columns if str(column).lower() in ID_COLUMNS]
    return next((column for column in named if frame[column].is_unique), (named or columns)[0])


def match_labels(data: Dataset, labels: DataFrame) -> Dataset:
    """Return the data with labels, matched to the samples by id.

    An id of the labels may have a file ending or folders that the sample's id lacks, or lack its folders, where that
    leaves one sample only. Columns of whole numbers become int, others stay text. Attributes with one label
    for all samples, or none, are left out.

    Parameters
    ----------
    data : Dataset
        The samples.
    labels : DataFrame of shape (n_rows, n_attributes)
        Labels indexed by id, as `read_labels` returns them; of a DataFrame with numbered rows, those of its column
        called id, name, sample, file, filename or image. Samples without a row have no label.

    Returns
    -------
    Dataset
        The same data with `labels`. Attributes that it had before stay, or are replaced by those of the same name.

    Raises
    ------
    ValueError
        When no id belongs to a sample, a sample has two different labels, or no attribute is left.

    Examples
    --------
    >>> from pandas import DataFrame
    >>> data = Dataset(np.eye(3), np.array(["anna_1", "anna_2", "ben_1"]))
    >>> labels = DataFrame({"identity": ["anna", "ben"]}, index=["anna_1.png", "ben_1.png"])
    >>> match_labels(data, labels).labels["identity"].tolist()
    ['anna', None, 'ben']
    """
    source = labels.attrs.get("source", "the labels")
    labels = _by_id(labels, source)
    rows, notes = _match_ids(data, [str(name) for name in labels.index], labels.index.name, source)
    is_matched = rows >= 0
    columns: dict[str, list] = {}
    for name in labels.columns:
        values = _column(labels[name][is_matched], rows[is_matched], data, str(name), source)
        note, is_useful = _judge(values, str(name), source)
        notes += note
        if is_useful:
            columns[str(name)] = values
    if not columns:
        raise ValueError(f"{source} has no attribute that distinguishes samples. " + " ".join(notes))
    return _with_labels(data, columns, notes + _repeated(rows[is_matched], data, source), source)


def _by_id(labels: DataFrame, source: str) -> DataFrame:
    import pandas as pd

    if isinstance(labels.index, pd.RangeIndex) and any(str(name).lower() in ID_COLUMNS for name in labels.columns):
        labels = labels.set_index(_id_column(labels, None, source))
    return labels


def _with_labels(data: Dataset, columns: dict[str, list], notes: list[str], source: str) -> Dataset:
    frame = label_frame(columns, data.ids)
    known = {name: int(frame[name].notna().sum()) for name in frame}
    n_labelled = int(frame.notna().any(axis=1).sum())
    counts = ", ".join(f"{name} {n}" for name, n in known.items())
    notes = [f"{source}: labels for {n_labelled} of {counted(data.n_samples, 'sample')} ({counts}).", *notes]
    if data.labels is not None:
        if replaced := [name for name in data.labels if name in columns]:
            notes.append(f"{source}: {first_few(replaced)} replaced, which had labels before.")
        frame = data.labels.drop(columns=replaced).join(frame)
    return replace(data, labels=frame, notes=(*data.notes, *notes))


def label_frame(columns: Mapping[str, Sequence[Any]], ids: Iterable[str]) -> DataFrame:
    """Return labels indexed by id: columns of int if all that are known are whole numbers, otherwise of str; or None.

    Examples
    --------
    >>> frame = label_frame({"pose": ["1.0", None], "room": ["007", "12"]}, ["a", "b"])
    >>> frame["pose"].tolist(), frame["room"].tolist()
    ([1, None], ['007', '12'])
    """
    import pandas as pd

    index = pd.Index(list(ids), dtype=object)
    return pd.DataFrame(
        {name: pd.Series(_classes(values), index=index, dtype=object) for name, values in columns.items()}
    )


def _classes(values: Sequence[Any]) -> list:
    import pandas as pd

    texts = [None if pd.isna(value) or value in UNKNOWN else _text(value) for value in values]
    is_whole = all(WHOLE_NUMBER.fullmatch(text) for text in texts if text is not None)
    return [int(text.partition(".")[0]) if is_whole and text is not None else text for text in texts]


def _text(value: object) -> str:
    """Return a label as text; 2.0, as whole numbers are in a column with missing ones, as "2"."""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)  # type: ignore[call-overload]


# Ids


def _match_ids(data: Dataset, names: list[str], header: object, source: str) -> tuple[np.ndarray, list[str]]:
    """Return the sample of each row of the labels, -1 for none, and notes."""
    rows = find_samples(names, data)
    unmatched = list(dict.fromkeys(name for name, row in zip(names, rows, strict=True) if row < 0))
    if len(unmatched) == len(set(names)):
        raise ValueError(
            f"no id of {source} ({first_few(unmatched)}) belongs to a sample ({first_few(data.ids)}): "
            "write the ids as the samples are named, in a column called id or in the first one."
        )
    is_name = header is None or str(header).lower() in ID_COLUMNS
    if not is_name and find_samples([str(header)], data)[0] >= 0:
        raise ValueError(f"{source} has no header: {header!r} in its first line is a sample. Add the column names.")
    n_ids = counted(len(set(names)), "id")
    text = f"{len(unmatched)} of {n_ids} in {source} belong to no sample: {first_few(unmatched)}."
    return rows, [text] if unmatched else []


# Columns


def _column(values: Series, rows: np.ndarray, data: Dataset, name: str, source: str) -> list:
    """Return the label of each sample in one attribute, None where it is unknown."""
    labels: list = [None] * data.n_samples
    conflicts: dict[str, str] = {}
    for row, value in zip(rows, _classes(list(values)), strict=True):
        if value is not None and labels[row] not in (None, value):
            conflicts.setdefault(str(data.ids[row]), f"{data.ids[row]} ({labels[row]}, {value})")
        labels[row] = labels[row] if value is None else value
    if conflicts:
        raise ValueError(
            f"{source} has different labels of {name!r} for the same sample, {first_few(conflicts.values())}: keep one."
        )
    return labels


def _judge(values: list, name: str, source: str) -> tuple[list[str], bool]:
    """Return a note on an attribute, and whether it distinguishes samples."""
    known = [value for value in values if value is not None]
    n_classes = len(set(known))
    if not known:
        return [f"{source}: {name} has no label for these samples and is left out."], False
    if n_classes == 1:
        return [f"{source}: {name} is {known[0]} for all samples, distinguishes none and is left out."], False
    if n_classes == len(known) > 2:
        return [f"{source}: {name} has a different label for each sample, as an id or a measurement has."], True
    return [], True


def _repeated(rows: np.ndarray, data: Dataset, source: str) -> list[str]:
    found, counts = np.unique(rows, return_counts=True)
    again = data.ids[found[counts > 1]]
    return (
        [f"{source}: {counted(len(again), 'sample')} more than once, alike: {first_few(again)}."] if len(again) else []
    )

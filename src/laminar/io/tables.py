"""Tables: samples in rows, features, labels and names in columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from laminar.io._columns import check_columns, find_ids, labels_of, names_of, texts_of
from laminar.io._features import Features, check_types, constant_columns, fill_missing, scale_ratio, to_features
from laminar.io._folders import counted, existing, first_few
from laminar.io._frames import Table, read_table
from laminar.io.dataset import Dataset

if TYPE_CHECKING:
    from pandas import DataFrame

MISSING = ("error", "drop", "mean")
SCALE_RATIO = 100  # of standard deviations, from which on scale="standard" is proposed
SCALE_PROPOSAL = 'scale="standard" (--scale standard) gives each column the same weight.'


@dataclass(frozen=True)
class TableReader:
    r"""Reader of tables: .csv, .tsv, .csv.gz, .parquet and .xlsx, with a line of column names.

    Numbers and booleans are features, in the order of the file. `read` returns a data set whose reader has ``columns``,
    ``categories``, ``means`` and ``dtype`` of these data, and so finds the same features, by name, in other files.

    Parameters
    ----------
    id_column : str or None, default=None
        Column that names the samples. None is one called id, name or sample, in upper or lower case, or one without a
        name; if there is none, samples are named by the number of their row, from 0.
    label_columns : str or sequence of str, default=()
        Columns of labels. Empty cells, NA, NaN and "?" are unknown; whole numbers are int, everything else is text.
        New files may lack them.
    group_column : str or None, default=None
        Column that names the sequence of each row.
    drop : str or sequence of str, default=()
        Columns that are left out.
    one_hot : bool, default=False
        Whether each column of text becomes columns of 0 and 1, one for each of its values: "colour=red".
    missing : {"error", "drop", "mean"}, default="error"
        Missing values of features: raise an error, leave the row out, or take the mean of the column.
    sheet : str, int or None, default=None
        Sheet of an .xlsx file, by name or number; None is the first.
    separator : str or None, default=None
        Between columns of text files; None is a tab for .tsv, and the most frequent of comma, semicolon, tab and bar in
        the first line of other files.
    decimal : str, default="."
        Decimal point of numbers in text files; "," for 3,14.
    columns : sequence of str or None, default=None
        Columns of features; None is all that have no other use.
    labels_optional : bool, default=False
        Whether files that lack columns of ``label_columns`` or ``drop`` are read as well; the reader of a `Dataset`
        has it.
    categories : dict of str to sequence of str, or None, default=None
        Values of each column of text, with ``one_hot``; found in the data if None.
    means : dict of str to float, or None, default=None
        Mean of each feature, with ``missing="mean"``; found in the data if None.
    dtype : {"float32", "float64"} or None, default=None
        Type of the data; None is float32 if all numbers of the file are, otherwise float64.

    See Also
    --------
    read : Read data of any kind.
    TextReader : Reader of a column of texts.

    Examples
    --------
    >>> import tempfile
    >>> from laminar.io import TableReader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("id,length,colour\na,1.5,red\nb,2.5,blue\n")
    ...     data = TableReader(one_hot=True).read(path)
    >>> data.X.tolist(), data.feature_names.tolist()
    ([[1.5, 0.0, 1.0], [2.5, 1.0, 0.0]], ['length', 'colour=blue', 'colour=red'])
    """

    id_column: str | None = None
    label_columns: str | Sequence[str] = ()
    group_column: str | None = None
    drop: str | Sequence[str] = ()
    one_hot: bool = False
    missing: str = "error"
    sheet: str | int | None = None
    separator: str | None = None
    decimal: str = "."
    columns: Sequence[str] | None = None
    labels_optional: bool = field(default=False, metadata={"from_data": True})
    categories: Mapping[str, Sequence[str]] | None = field(default=None, metadata={"from_data": True})
    means: Mapping[str, float] | None = field(default=None, metadata={"from_data": True})
    dtype: str | None = field(default=None, metadata={"from_data": True})

    def read(
        self, path: str | os.PathLike, *, skip_bad: bool = False, n_jobs: int | None = None, verbose: int = 0
    ) -> Dataset:
        """Read a table.

        Parameters
        ----------
        path : path
            The file.
        skip_bad : bool, default=False
            Not used, a table is one file.
        n_jobs : int or None, default=None
            Not used.
        verbose : int, default=0
            Not used.

        Returns
        -------
        Dataset
            The samples, with a reader for new files.
        """
        if self.missing not in MISSING:
            raise ValueError(f"missing={self.missing!r} is not one of {', '.join(map(repr, MISSING))}.")
        path = existing(path)
        labels, groups = names_of(self.label_columns), names_of(self.group_column)
        table = read_table(
            path, as_text=(*labels, *groups), separator=self.separator, decimal=self.decimal, sheet=self.sheet
        )
        check_columns(path, table.frame, groups, "group_column")
        labels = self._present(path, table.frame, labels, "label_columns")
        dropped = self._present(path, table.frame, names_of(self.drop), "drop")
        id_column, ids = find_ids(table, path, self.id_column, taken=(*labels, *groups, *dropped))
        columns = self._feature_columns(path, table, {id_column, *labels, *groups, *dropped})
        features = self._features(path, table, columns)
        data = Dataset(
            X=features.X,
            ids=ids,
            feature_names=np.array(features.names, dtype=str),
            labels=labels_of(table.frame, labels, ids),
            groups=texts_of(table.frame[groups[0]]) if groups else None,
            reader=self._with_findings(id_column, columns, features),
        )
        return self._without_missing(path, data, features, table.notes)

    @property
    def _reads_new_files(self) -> bool:
        return self.dtype is not None

    def _present(self, path: Path, frame: DataFrame, names: tuple[str, ...], option: str) -> tuple[str, ...]:
        """Return the columns of labels and those left out that the file has: new files may lack them."""
        if not self.labels_optional:
            check_columns(path, frame, names, option)
        return tuple(name for name in names if name in frame.columns)

    def _feature_columns(self, path: Path, table: Table, taken: set[str | None]) -> list[str]:
        rest = [name for name in table.frame.columns if name not in taken]
        if self.columns is None:
            if not rest:
                raise ValueError(f"{path} has no column of features beside those of names, labels and groups.")
            return rest
        columns = list(names_of(self.columns))
        present = set(rest)
        absent = [name for name in columns if name not in present]
        if absent:
            raise ValueError(
                f"{path} lacks {counted(len(absent), 'column')} of features: {first_few(absent)}. "
                f"It has {first_few(rest) or 'none'}."
            )
        if len(rest) > len(columns):
            used = set(columns)
            others = [name for name in rest if name not in used]
            table.notes.append(f"{path.name}: {counted(len(others), 'other column')} not used: {first_few(others)}.")
        return columns

    def _features(self, path: Path, table: Table, columns: list[str]) -> Features:
        text = check_types(path, table.frame[columns], self.one_hot, self.categories)
        features = to_features(table.frame[columns], text, self.categories, self.dtype)
        table.notes.extend(f"{path.name}: {note}" for note in features.notes)
        infinite = np.isinf(features.X).any(axis=0)
        if np.any(infinite):
            names = first_few(np.array(features.names)[infinite])
            raise ValueError(f"{path} has infinite values in {names}: correct them, or leave them out by drop=.")
        return features

    def _with_findings(self, id_column: str | None, columns: list[str], features: Features) -> TableReader:
        means = self.means
        if self.missing == "mean" and means is None:
            means = features.means()
        return replace(
            self,
            id_column=id_column,
            columns=tuple(columns),
            labels_optional=True,
            categories=features.categories,
            means=means,
            dtype=features.X.dtype.name,
        )

    def _without_missing(self, path: Path, data: Dataset, features: Features, notes: list[str]) -> Dataset:
        reader = data.reader
        assert isinstance(reader, TableReader)
        keep, note = fill_missing(path, features, data.ids, self.missing, reader.means or {})
        if not keep.all():
            data = data.take(keep)
        notes += [note] if note else []
        if not self._reads_new_files:
            notes += _training_notes(path, data)
        return replace(data, notes=tuple(notes))


def _training_notes(path: Path, data: Dataset) -> list[str]:
    """Return notes on columns that are constant or of very different scale."""
    X, names = data.views()["X"], data.feature_names
    notes: list[str] = []
    if len(X) == 1:
        return notes
    constant = constant_columns(X)
    if np.any(constant):
        columns = first_few(np.asarray(names)[constant])
        notes.append(f"{path.name}: {counted(int(constant.sum()), 'constant column')} kept: {columns}.")
    ratio = scale_ratio(X)
    if ratio >= SCALE_RATIO:
        notes.append(
            f"{path.name}: the standard deviations of columns differ by a factor of {ratio:.0f}; {SCALE_PROPOSAL}"
        )
    return notes

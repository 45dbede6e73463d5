"""Texts of a folder or of a column of a table, as tf-idf weights of their words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar._utils.progress import track
from laminar.io._columns import check_columns, find_ids, labels_of, names_of, texts_of
from laminar.io._folders import (
    counted,
    existing,
    first_few,
    folder_labels,
    ids_of,
    list_files,
    nothing_found,
    with_endings,
)
from laminar.io._frames import cell_text, read_table
from laminar.io._words import Counts, choose_words, count_words
from laminar.io.dataset import Dataset
from laminar.io.labels import label_frame

if TYPE_CHECKING:
    from pandas import DataFrame

TEXT_ENDINGS = (".txt",)


@dataclass(frozen=True, eq=False)
class TextReader:
    r"""Reader of texts: a folder of .txt files, one .txt file, or a column of a table.

    The weight of word j in text i is its number of occurrences c_ij times the inverse document frequency, and rows have
    length 1, as in scikit-learn's ``TfidfVectorizer``:

        idf_j = log((1 + n) / (1 + df_j)) + 1,     x_i = c_i * idf / ||c_i * idf||

    with df_j of the n texts that hold word j. Words are sequences of two or more letters or digits, in lower case. X is
    a sparse array in float32. `read` returns a data set whose reader has ``vocabulary`` and ``idf`` of these texts, and
    so finds the same features in others.

    Parameters
    ----------
    column : str or None, default=None
        Column of a table that holds the texts; None is the only one of text, or the one called text.
    id_column : str or None, default=None
        Column of a table that names the texts; None as for `TableReader`. Texts of a folder are named by their paths.
    label_columns : str or sequence of str, default=()
        Columns of a table that hold labels. New files may lack them.
    group_column : str or None, default=None
        Column of a table that names the sequence of each text.
    labels_from : {"folders"} or None, default=None
        "folders" takes the subfolder of each text as the attribute "folder"; of deeper trees "folder1", "folder2".
    max_features : int or None, default=20_000
        Number of words at most: those that occur most often.
    min_df : int, default=2
        Words in fewer texts are left out.
    max_df : float, default=0.5
        Words in more than this part of the texts are left out: words such as "the", in any language.
    stop_words : {"english"}, sequence of str or None, default=None
        Words that are left out, "english" for scikit-learn's list. None, since the language is not known.
    encoding : str or None, default=None
        Encoding of the files; None is UTF-8, or Latin-1 for files that are not.
    separator : str or None, default=None
        Between the columns of a table in a text file; None as for `TableReader`.
    sheet : str, int or None, default=None
        Sheet of an .xlsx file, by name or number; None is the first.
    labels_optional : bool, default=False
        Whether files without the labels are read as well; the reader of a `Dataset` has it.
    vocabulary : sequence of str or None, default=None
        The words; found in the data if None.
    idf : ndarray of shape (n_words,) or None, default=None
        Inverse document frequency of each word; found in the data if None.

    See Also
    --------
    read : Read data of any kind.
    TableReader : Reader of tables of numbers.

    Examples
    --------
    >>> import tempfile
    >>> from laminar.io import TextReader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "talks.csv"
    ...     _ = path.write_text("id,text\na,red wine\nb,red roses\nc,white roses\nd,no flower\n")
    ...     data = TextReader(min_df=2).read(path)
    >>> data.feature_names.tolist(), data.X.toarray()[1].round(2)
    (['red', 'roses'], array([0.71, 0.71], dtype=float32))
    """

    column: str | None = None
    id_column: str | None = None
    label_columns: str | Sequence[str] = ()
    group_column: str | None = None
    labels_from: str | None = None
    max_features: int | None = 20_000
    min_df: int = 2
    max_df: float = 0.5
    stop_words: str | Sequence[str] | None = None
    encoding: str | None = None
    separator: str | None = None
    sheet: str | int | None = None
    labels_optional: bool = field(default=False, metadata={"from_data": True})
    vocabulary: Sequence[str] | None = field(default=None, metadata={"from_data": True})
    idf: np.ndarray | None = field(default=None, metadata={"from_data": True})

    def read(
        self, path: str | os.PathLike, *, skip_bad: bool = False, n_jobs: int | None = None, verbose: int = 0
    ) -> Dataset:
        """Read texts.

        Parameters
        ----------
        path : path
            Folder of .txt files, also in subfolders; a .txt file; or a table.
        skip_bad : bool, default=False
            Leave out files that cannot be read instead of raising an error.
        n_jobs : int or None, default=None
            Not used.
        verbose : int, default=0
            Show progress on standard error if positive.

        Returns
        -------
        Dataset
            The texts, with a reader for new ones.
        """
        if self.labels_from not in (None, "folders"):
            raise ValueError(f"labels_from={self.labels_from!r} is not None or 'folders'.")
        path = existing(path)
        if path.is_dir() or path.suffix.lower() in TEXT_ENDINGS:
            return self._read_files(path, skip_bad, verbose)
        return self._read_column(path)

    # Files

    def _read_files(self, path: Path, skip_bad: bool, verbose: int) -> Dataset:
        folder, files, others = _files(path)
        texts = _Files(folder, files, self.encoding, verbose)
        counts = count_words(texts, self.vocabulary, self.stop_words)
        if texts.bad and (not skip_bad or len(texts.bad) == len(files)):
            raise ValueError(_unreadable(path, texts.bad))
        notes = [f"{counted(len(others), 'file')} of another kind not read: {first_few(others)}."] if others else []
        names = dict(zip(files, ids_of(files), strict=True))
        read = [file for file in files if file not in texts.bad]
        data = Dataset(
            X=None,
            ids=np.array([names[file] for file in read], dtype=str),
            sources=np.array(read, dtype=str),
            labels=self._folder_labels(path, read, [names[file] for file in read]),
            notes=(*notes, *texts.notes()),
        )
        return self._weighted(path, data, counts, reader=self)

    def _folder_labels(self, path: Path, files: list[str], ids: list[str]) -> DataFrame | None:
        if self.labels_from is None:
            return None
        labels = folder_labels(files)
        if not labels and not self.labels_optional:
            raise ValueError(f"{path} has no subfolders to take labels from (labels_from='folders').")
        return label_frame(labels, ids) if labels else None

    # A column of a table

    def _read_column(self, path: Path) -> Dataset:
        table = read_table(path, all_text=True, separator=self.separator, sheet=self.sheet)
        frame, labels, groups = table.frame, names_of(self.label_columns), names_of(self.group_column)
        if self.labels_optional:
            labels = tuple(name for name in labels if name in frame.columns)
        check_columns(path, frame, labels, "label_columns")
        check_columns(path, frame, groups, "group_column")
        taken = [name for name in (*labels, *groups, self.column) if name is not None]
        id_column, ids = find_ids(table, path, self.id_column, taken=taken)
        column = self._text_column(path, frame, {id_column, *labels, *groups})
        counts = count_words(map(cell_text, frame[column]), self.vocabulary, self.stop_words)
        data = Dataset(
            X=None,
            ids=ids,
            labels=labels_of(frame, labels, ids),
            groups=texts_of(frame[groups[0]]) if groups else None,
            notes=tuple(table.notes),
        )
        return self._weighted(path, data, counts, reader=replace(self, column=column, id_column=id_column))

    def _text_column(self, path: Path, frame: DataFrame, taken: set[str | None]) -> str:
        if self.column is not None:
            check_columns(path, frame, [self.column], "column")
            return self.column
        rest = [name for name in frame.columns if name not in taken]
        text = [name for name in rest if name.lower() == "text"] or [name for name in rest if _has_words(frame[name])]
        if len(text) != 1:
            found = f"{len(text)} columns of text: {first_few(text)}" if text else "no column of text"
            raise ValueError(f"{path} has {found}. Name the one to read by column= (--text-column).")
        return text[0]

    # Words and weights

    def _weighted(self, path: Path, data: Dataset, counts: Counts, reader: TextReader) -> Dataset:
        notes, idf = list(data.notes), self.idf
        if idf is None:
            counts, found = choose_words(path, counts, self.min_df, self.max_df, self.max_features)
            notes += found
            idf = counts.idf()
        elif len(idf) != len(counts.words):
            raise ValueError(f"idf has {len(idf)} values, but vocabulary has {len(counts.words)} words.")
        X = counts.tf_idf(idf)
        is_zero = np.diff(X.indptr) == 0
        if is_zero.any():
            named = first_few(data.ids[is_zero])
            notes.append(f"{counted(int(is_zero.sum()), 'text')} without any of the words: {named}; the rows are zero.")
        reader = replace(reader, labels_optional=True, vocabulary=counts.words, idf=np.asarray(idf))
        return replace(data, X=X, feature_names=np.array(counts.words, dtype=str), reader=reader, notes=tuple(notes))


class _Files:
    """Texts of files, read one by one; what cannot be read is left out and listed in ``bad``, by file."""

    def __init__(self, folder: Path, files: Sequence[str], encoding: str | None, verbose: int):
        self.folder, self.files, self.encoding, self.verbose = folder, files, encoding, verbose
        self.bad: dict[str, str] = {}
        self.latin: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for file in track(self.files, "Reading texts", unit="texts", verbose=self.verbose):
            try:
                text = self._text(file)
            except (OSError, ValueError, LookupError) as error:
                self.bad[file] = str(error)
                continue
            yield text

    def _text(self, file: str) -> str:
        content = (self.folder / file).read_bytes()
        if self.encoding is not None:
            return content.decode(self.encoding)
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return content.decode("utf-16")
        if b"\0" in content:
            raise ValueError("it is no text, it has bytes that are zero")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.latin.append(file)
            return content.decode("latin-1")

    def notes(self) -> list[str]:
        """Return notes on files that were left out or are not UTF-8."""
        bad = f"{counted(len(self.bad), 'file')} that cannot be read left out: {first_few(self.bad)}."
        latin = f"{counted(len(self.latin), 'text')} not in UTF-8, read as Latin-1: {first_few(self.latin)}."
        return [bad] * bool(self.bad) + [latin] * bool(self.latin)


def _files(path: Path) -> tuple[Path, list[str], list[str]]:
    """Return the folder, its texts and its other files."""
    if not path.is_dir():
        return path.parent, [path.name], []
    every = list_files(path)
    files, others = with_endings(every, TEXT_ENDINGS)
    if not files:
        raise nothing_found(path, every, "texts", TEXT_ENDINGS)
    return path, files, others


def _unreadable(path: Path, bad: dict[str, str]) -> str:
    examples = first_few(f"{file} ({reason})" for file, reason in bad.items())
    return (
        f"{path}: {counted(len(bad), 'file')} cannot be read: {examples}. "
        "Leave them out by skip_bad=True (--skip-bad), or name their encoding by encoding=."
    )


def _has_words(cells: Any) -> bool:
    """Return whether a column holds text: a quarter of its first cells have letters."""
    known = [cell for cell in map(cell_text, cells[:100]) if cell]
    return bool(known) and sum(any(letter.isalpha() for letter in cell) for cell in known) > len(known) / 4

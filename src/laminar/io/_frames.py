"""Tables of files as data frames: separators, encodings, sheets."""

from __future__ import annotations

import csv
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar._utils.extras import require
from laminar.io._folders import first_few

if TYPE_CHECKING:
    from pandas import DataFrame, Series

ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".xlsx")
ID_NAMES = ("id", "name", "sample")  # of a column that names the samples, in any case
UNNAMED = "unnamed"  # name of a column without header, as pandas and R write row names
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None", "#N/A", "?")  # in columns of features
_TYPED_SEPARATORS = {"\\t": "\t", "tab": "\t"}  # as a tab is written on a command line


@dataclass
class Table:
    """A data frame and what was decided while it was read."""

    frame: DataFrame
    notes: list[str] = field(default_factory=list)


def read_table(
    path: Path,
    *,
    as_text: Sequence[str] = (),
    separator: str | None = None,
    decimal: str = ".",
    sheet: str | int | None = None,
    all_text: bool = False,
) -> Table:
    """Read a file of any of `ENDINGS`.

    Columns of ``as_text`` and those that may name the samples are read as text, so that "007" stays "007", and have ""
    where a cell is empty; with ``all_text`` all are. In the others `MISSING` is NaN.
    """
    ending = path.suffix.lower()
    if not path.name.lower().endswith(ENDINGS):
        raise ValueError(f"{path} is not a table: tables end in {' '.join(ENDINGS)}.")
    if ending == ".parquet":
        table = _read_parquet(path)
    elif ending == ".xlsx":
        table = _read_excel(path, sheet, as_text, all_text)
    else:
        table = _read_text(path, separator, decimal, as_text, all_text)
    check_names(path, list(table.frame.columns))
    if not len(table.frame):
        raise ValueError(f"{path} has a header but no rows.")
    return table


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise ValueError if two columns have one name."""
    repeated = [name for name, number in Counter(names).items() if number > 1]
    if repeated:
        raise ValueError(f"{path} has several columns of one name: {first_few(repeated)}. Give each its own name.")


# Text: .csv, .tsv


def _read_text(path: Path, separator: str | None, decimal: str, as_text: Sequence[str], all_text: bool) -> Table:
    import pandas as pd

    notes: list[str] = []
    encoding = _encoding(path, notes)
    separator = _separator(path, encoding, notes) if separator is None else _TYPED_SEPARATORS.get(separator, separator)
    names = _column_names(path, encoding, separator, notes)
    text = {name for name in names if all_text or name in as_text or may_be_id(name)}
    options: Any = {
        "sep": separator,
        "decimal": decimal,
        "encoding": encoding,
        "names": names,
        "header": 0,  # the first line is replaced by the names
        "index_col": False,
        "dtype": {name: str for name in text},
        "keep_default_na": False,
        "na_values": {name: list(MISSING) for name in names if name not in text},
        "low_memory": False,
    }
    try:
        frame = pd.read_csv(path, **options)
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(f"{path} is not a regular table: {_reason(error)} Is {separator!r} the separator?") from error
    if UNNAMED in names and not _as_text(frame[UNNAMED]).str.len().any():  # commas at the ends of lines
        frame = frame.drop(columns=UNNAMED)
    return Table(frame, notes)


def _column_names(path: Path, encoding: str, separator: str, notes: list[str]) -> list[str]:
    """Return the names in the first line; one without a name, or for which the line is one too short, is `UNNAMED`."""
    header, *rows = _first_rows(path, encoding, separator)
    names = [name.strip() or UNNAMED for name in header]
    longest = max(map(len, rows), default=0)
    if header[0].startswith("#") and longest > len(names):
        raise ValueError(f"{path} begins with a comment: the first line of a table is the names of its columns.")
    if longest == len(names) + 1:
        at_end = all(len(row) <= len(names) or not row[-1] for row in rows)
        names = [*names, UNNAMED] if at_end else [UNNAMED, *names]  # R gives row names no header
    _check_no_numbers(path, [name for name in names if name != UNNAMED], notes)
    check_names(path, names)
    return names


def _first_rows(path: Path, encoding: str, separator: str, number: int = 20) -> list[list[str]]:
    """Return the first rows that have cells, fewer if a cell is longer than csv allows."""
    rows: list[list[str]] = []
    with _opened(path, encoding=encoding) as file, suppress(csv.Error):
        for row in islice(filter(None, csv.reader(file, delimiter=separator)), number):
            rows.append(row)  # one by one: those before an error stay
    if not rows:
        raise ValueError(f"{path}: the first line holds no names of columns.")
    return rows


def _check_no_numbers(path: Path, names: list[str], notes: list[str]) -> None:
    """Check that the first line is not a sample: names that are numbers are years or wavelengths, in order."""
    try:
        numbers = np.array(names, dtype=float)
    except ValueError:
        return
    if np.any(np.diff(numbers) <= 0):
        raise ValueError(
            f"{path}: the first line holds numbers ({first_few(names)}), not the names of columns. Add a line of names."
        )
    if numbers.tolist() != list(range(len(numbers))):  # as pandas writes columns without names
        notes.append(f"{path.name}: the names of the columns in the first line are numbers: {first_few(names)}.")


def _reason(error: Exception) -> str:
    text = str(error).strip().removeprefix("Error tokenizing data. C error: ")
    return text if text.endswith(".") else f"{text}."


def _encoding(path: Path, notes: list[str]) -> str:
    """Return UTF-8 (with or without mark), UTF-16 by its mark, or Latin-1 if the file is neither."""
    try:
        with _opened(path) as file:
            start = file.read(1 << 16)
        if not start.strip():
            raise ValueError(f"{path} is empty: a table begins with a line of column names.")
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
        if b"\0" in start:
            raise ValueError(f"{path} is not a table of text: it has bytes that are zero.")
        with _opened(path, encoding="utf-8") as file:
            while file.read(1 << 20):
                pass
    except UnicodeDecodeError:
        notes.append(f"{path.name} is not UTF-8: read as Latin-1.")
        return "latin-1"
    except (OSError, EOFError, zlib.error) as error:
        raise OSError(f"{path} cannot be read: {error}") from error
    return "utf-8-sig"


def _opened(path: Path, encoding: str | None = None) -> Any:
    import gzip

    mode = "rb" if encoding is None else "rt"
    if path.suffix.lower() == ".gz":
        return gzip.open(path, mode, encoding=encoding)
    return path.open(mode, encoding=encoding)


def _separator(path: Path, encoding: str, notes: list[str]) -> str:
    """Return a tab for .tsv, otherwise the most frequent one of the first line."""
    is_csv = ".csv" in path.name.lower()
    expected = "," if is_csv else "\t"
    if ".tsv" in path.name.lower():
        return expected
    with _opened(path, encoding=encoding) as file:
        header = next((line for line in file if line.strip()), "")
    found = max((expected, *",;\t|"), key=header.count)
    if found != expected and is_csv:
        notes.append(f"{path.name} is separated by {'tabs' if found == chr(9) else repr(found)}.")
    return found


# Parquet and Excel


def _read_parquet(path: Path) -> Table:
    import pandas as pd

    require("pyarrow", "tables", "reading .parquet files")
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except Exception as error:  # pyarrow has its own kinds of error
        raise ValueError(f"{path} is not a readable .parquet file: {error}") from error
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names=[name or UNNAMED for name in frame.index.names])
    frame.columns = [str(name) for name in frame.columns]
    return Table(frame)


def _read_excel(path: Path, sheet: str | int | None, as_text: Sequence[str], all_text: bool) -> Table:
    import pandas as pd

    require("openpyxl", "tables", "reading .xlsx files")
    try:
        book = pd.ExcelFile(path, engine="openpyxl")
    except Exception as error:  # of zipfile, of openpyxl
        raise ValueError(f"{path} is not a readable .xlsx file: {error}") from error
    with book:
        name, notes = _sheet(path, sheet, [str(each) for each in book.sheet_names])
        cells = pd.read_excel(book, name, header=None, dtype=object, keep_default_na=False)
    if cells.empty:
        raise ValueError(f"{path}: sheet {name!r} is empty.")
    names = [str(cell).strip() or UNNAMED for cell in cells.iloc[0]]
    check_names(path, names)
    frame = cells.iloc[1:].set_axis(names, axis=1).reset_index(drop=True)
    text = {each for each in names if all_text or each in as_text or may_be_id(each)}
    columns = {each: _as_text(frame[each]) if each in text else _typed(frame[each]) for each in names}
    return Table(pd.DataFrame(columns), notes)


def _sheet(path: Path, sheet: str | int | None, sheets: list[str]) -> tuple[str, list[str]]:
    if sheet not in sheets and str(sheet).isdigit() and int(str(sheet)) < len(sheets):
        return sheets[int(str(sheet))], []
    if sheet is None:
        note = f"{path.name} has the sheets {first_few(sheets)}: the first is read, others by sheet=."
        return sheets[0], [note] if len(sheets) > 1 else []
    if sheet not in sheets:
        raise ValueError(f"{path} has no sheet {sheet!r}: its sheets are {', '.join(sheets)}.")
    return str(sheet), []


def _typed(cells: Series) -> Series:
    """Give a column of cells the type that all of them have; empty cells and the like are NaN."""
    is_missing = cells.map(lambda cell: isinstance(cell, str) and cell.strip() in MISSING)
    return cells.mask(is_missing.astype(bool), np.nan).infer_objects()


def _as_text(cells: Series) -> Series:
    return cells.map(cell_text)


def cell_text(cell: object) -> str:
    """Return a cell as text, whole numbers without a point, empty cells as ""."""
    import pandas as pd

    if cell is None or (not isinstance(cell, str) and pd.isna(cell)):
        return ""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell).strip()


def may_be_id(name: str) -> bool:
    """Return whether a column of this name may hold the names of the samples."""
    return name.lower() in ID_NAMES or name == UNNAMED

"""Tables of files as data frames: separators, encodings, sheets."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    _check_names(path, list(table.frame.columns))
    if not len(table.frame):
        raise ValueError(f"{path} has a header but no rows.")
    return table


def _check_names(path: Path, names: list[str]) -> None:
    repeated = (
        list(dict.fromkeys(name for name in names if names.count(name) > 1)) if len(set(names)) < len(names) else []
    )
    if repeated:
        raise ValueError(f"{path} has several columns of one name: {first_few(repeated)}. Give each its own name.")


# Text: .csv, .tsv


def _read_text(path: Path, separator: str | None, decimal: str, as_text: Sequence[str], all_text: bool) -> Table:
    import pandas as pd

    notes: list[str] = []
    encoding = _encoding(path, notes)
    header, fields = _head(path, encoding)
    separator = _separator(path, header, notes) if separator is None else _TYPED_SEPARATORS.get(separator, separator)
    names = [name.strip() or UNNAMED for name in next(csv.reader([header], delimiter=separator))]
    _check_names(path, names)
    # A header one short: R's write.table gives row names no header.
    n_fields = max(len(next(csv.reader([line], delimiter=separator), [])) for line in fields) if fields else 0
    if n_fields == len(names) + 1:
        names = [UNNAMED, *names]
    text = [name for name in names if all_text or name in as_text or may_be_id(name)]
    try:
        frame = pd.read_csv(
            path,
            sep=separator,
            decimal=decimal,
            encoding=encoding,
            names=names,
            header=None,
            skiprows=1,
            index_col=False,
            dtype={name: str for name in text},
            keep_default_na=False,
            na_values={name: list(MISSING) for name in names if name not in text},
            low_memory=False,
            on_bad_lines="error",
        )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(f"{path} is not a regular table: {_reason(error)} Is {separator!r} the separator?") from error
    return Table(frame, notes)


def _reason(error: Exception) -> str:
    text = str(error).strip().removeprefix("Error tokenizing data. C error: ")
    return text if text.endswith(".") else f"{text}."


def _encoding(path: Path, notes: list[str]) -> str:
    """Return UTF-8 (with or without mark), UTF-16 by its mark, or Latin-1 if the file is neither."""
    try:
        with _opened(path) as file:
            if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                return "utf-16"
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


def _head(path: Path, encoding: str, lines: int = 20) -> tuple[str, list[str]]:
    """Return the first line, and some of those after it."""
    with _opened(path, encoding=encoding) as file:
        header = file.readline().rstrip("\r\n")
        rest = [line.rstrip("\r\n") for _, line in zip(range(lines), file, strict=False)]
    if not header.strip():
        raise ValueError(f"{path} is empty, or its first line is: a table begins with a line of column names.")
    return header, [line for line in rest if line]


def _separator(path: Path, header: str, notes: list[str]) -> str:
    if ".tsv" in path.suffixes[-2:]:
        return "\t"
    expected = "," if ".csv" in path.suffixes[-2:] else "\t"
    found = max((expected, ",", ";", "\t"), key=header.count)
    if not header.count(found):
        return expected
    if found != expected and ".csv" in path.suffixes[-2:]:
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
        cells = book.parse(name, header=None, dtype=object, keep_default_na=False)
    if cells.empty:
        raise ValueError(f"{path}: sheet {name!r} is empty.")
    names = [str(cell).strip() or UNNAMED for cell in cells.iloc[0]]
    _check_names(path, names)
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

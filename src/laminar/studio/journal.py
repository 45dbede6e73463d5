"""Append-only file of records, each on the disk before it counts."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from .errors import Refused

Record = dict[str, Any]


class Journal:
    """Records in the lines of a file, in JSON.

    A record that was being written when the process was killed is cut off when the file is opened again. While it is
    open no other process can open it.

    Parameters
    ----------
    path : Path
        The file; it is created where it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(Path(folder) / "labels.journal") as journal:
    ...         journal.append({"value": "anna"})
    ...     with Journal(Path(folder) / "labels.journal") as journal:
    ...         journal.records
    [{'value': 'anna'}]
    """

    def __init__(self, path: Path):
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(self._file, path)
            self.records = self._read()
        except BaseException:
            os.close(self._file)
            raise
        sync_folder(path)

    def append(self, record: Record) -> None:
        """Write a record; when this returns it is on the disk, and after an error the file is as it was."""
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        try:
            self._write(line)
        except BaseException:
            self._cut(self._size)
            raise
        self.records.append(record)
        self._sizes.append(self._size)
        self._size += len(line)

    def withdraw(self) -> None:
        """Remove the last record."""
        self._size = self._sizes.pop()
        self.records.pop()
        self._cut(self._size)

    def close(self) -> None:
        """Close the file, so that another process can open it."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1  # a number that the system may give to another file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: bytes) -> None:
        os.ftruncate(self._file, self._size)
        os.lseek(self._file, self._size, os.SEEK_SET)
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._file, rest) :]  # a disk that is almost full takes a part
        os.fsync(self._file)

    def _cut(self, size: int) -> None:
        os.ftruncate(self._file, size)  # needs no space on the disk
        os.fsync(self._file)

    def _read(self) -> list[Record]:
        with open(self._file, "rb", closefd=False) as file:
            lines = file.read().splitlines(keepends=True)
        records: list[Record] = []
        self._sizes: list[int] = []  # of the file before each record
        self._size = 0
        for number, line in enumerate(lines, start=1):
            record = _parsed(line)
            if record is None and number < len(lines):
                raise ValueError(
                    f"line {number} of {self.path} is damaged, and others follow it: move this file away to go on "
                    "with the labels of the CSV beside it, without undo."
                )
            if record is None:
                self._cut(self._size)
                break
            records.append(record)
            self._sizes.append(self._size)
            self._size += len(line)
        return records


def _parsed(line: bytes) -> Record | None:
    """Return a record, or None for a line that is not complete."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def sync_folder(path: Path) -> None:
    """Wait until the names in the folder of a file are on the disk: a new file can otherwise be lost as a whole."""
    if os.name == "nt":  # where folders cannot be opened
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _lock(file: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # on Windows: there the check for changes of the CSV remains
        return
    with suppress(OSError):  # of a file system without locks
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"{path} is open in another studio: use its page, or stop it first.") from None

"""Labels of the studio: a CSV that `laminar fit --labels` takes, and a journal of every change beside it.

A change is saved in this order: the new CSV is written under a temporary name; the record of the change is written to
the journal and is on the disk; the CSV is on the disk and is renamed. Killed before the second step, the change was
never reported as saved; after it, the CSV is written again from the journal when the studio is started. When a step
fails, as on a full disk, those before it are undone.
"""

from __future__ import annotations

import csv
import glob
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from laminar._utils.files import replacing
from laminar.io.labels import UNKNOWN, find_samples, label_frame, read_labels

from .errors import Refused, stale
from .history import Change, Columns, History
from .journal import Journal, Record, sync_folder
from .names import attribute_name, label_value

if TYPE_CHECKING:
    from pandas import DataFrame

    from laminar.io.dataset import Dataset

ENDING = ".journal"


class LabelFile:
    """The labels of a data set in a CSV, with a journal.

    Parameters
    ----------
    path : Path
        The CSV. One that exists is gone on with; rows of samples that the data lack stay in it.
    data : Dataset
        The samples. Their labels are the first ones where there is no CSV yet.

    Examples
    --------
    >>> import tempfile
    >>> from laminar import Dataset
    >>> data = Dataset(np.eye(2), np.array(["a", "b"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     labels = LabelFile(Path(folder) / "labels.csv", data)
    ...     labels.give(labels.version, "pose", "left", ["a"])
    ...     print(labels.path.read_text())
    ...     labels.close()
    id,pose
    a,left
    <BLANKLINE>
    """

    def __init__(self, path: Path, data: Dataset):
        self.path, self.data = path, data
        self.ids = [str(name) for name in data.ids]
        self._known = set(self.ids)
        self._cells = {name: _cell(name) for name in self.ids}
        _check_names(data, list(self._cells.values()))
        self.notes: list[str] = []
        self._journal = Journal(path.with_suffix(ENDING))
        try:
            self._history = self._replay()
            self._clean()
            self._open()
        except BaseException:
            self._journal.close()
            raise

    def close(self) -> None:
        """Close the journal, so that another process can open it."""
        self._journal.close()

    # ---- what there is -------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Number of changes so far: that of a page must be the same for a change."""
        return len(self._journal.records)

    @property
    def columns(self) -> Columns:
        """Value of every labelled sample, by attribute."""
        return self._history.columns

    @property
    def undoable(self) -> Change | None:
        """The last change, if it can be undone."""
        return self._history.done[-1] if self._history.done else None

    @property
    def redoable(self) -> Change | None:
        """The change that was undone last."""
        return self._history.undone[-1] if self._history.undone else None

    def drawn(self, attribute: str) -> set[str]:
        """Return the labelled samples that had been proposed at random."""
        return self._history.drawn(attribute)

    def since_draw(self, attribute: str) -> int:
        """Return the number of labels given since the last of a sample that had been proposed at random."""
        return self._history.since_draw(attribute)

    def values(self, attribute: str) -> list[str | None]:
        """Return the value of each sample of the data, None where it is unknown."""
        column = self.columns.get(attribute, {})
        return [column.get(name) for name in self.ids]

    def frame(self) -> DataFrame | None:
        """Return the labels as `laminar.read` returns those of the CSV: attributes with at least two values."""
        columns = {name: self.values(name) for name in self.columns}
        useful = {name: values for name, values in columns.items() if len({*values} - {None}) > 1}
        return label_frame(useful, self.ids) if useful else None

    # ---- changes -------------------------------------------------------------------------------------------------

    def give(
        self,
        version: int,
        attribute: str,
        value: str | None,
        samples: Sequence[str],
        drawn: Sequence[str] = (),
    ) -> None:
        """Give samples a value of an attribute, or remove theirs with None; when this returns it is on the disk.

        Parameters
        ----------
        version : int
            `version` of the labels that the change is made to.
        attribute : str
            An attribute, existing or new.
        value : str or None
            A value, existing or new.
        samples : sequence of str
            Names of samples.
        drawn : sequence of str, default=()
            Those of them that were proposed at random.
        """
        self._check_version(version)
        absent = [name for name in samples if name not in self._known]
        if absent:
            raise Refused(f"no sample is called {absent[0]!r} ({len(absent)} of {len(samples)} are unknown).")
        if not samples:
            raise Refused("no sample is selected.")
        if attribute not in self.columns:
            attribute = attribute_name(attribute)
        if value is not None and value not in self.columns.get(attribute, {}).values():
            value = label_value(value)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        names = list(dict.fromkeys(samples))
        self._save({"attribute": attribute, "value": value, "samples": names, "drawn": list(drawn), "time": time})

    def undo(self, version: int) -> None:
        """Undo the last change."""
        self._check_version(version)
        if self.undoable is None:
            raise Refused("there is nothing to undo.")
        self._save({"undo": True})

    def redo(self, version: int) -> None:
        """Make the change again that was undone last."""
        self._check_version(version)
        if self.redoable is None:
            raise Refused("there is nothing to redo.")
        self._save({"redo": True})

    def _check_version(self, version: int) -> None:
        if version != self.version:
            raise stale("The labels have changed since, in another tab or window. This page now shows them: try again.")
        if self._signature != _signature(self.path):
            try:
                self._take_file()
            except ValueError as error:
                raise stale(f"Not saved: {self.path.name} was changed by another program. {error}") from None
            raise stale(f"{self.path.name} was changed by another program. This page now has its labels: try again.")

    def _save(self, record: Record) -> None:
        history = self._history.copy()
        history.add(record)
        with ExitStack() as undo:
            with replacing(self.path) as partial:
                self._write(history.columns, partial)
                self._journal.append(record)
                undo.callback(self._journal.withdraw)
            undo.pop_all()
        self._history, self._signature = history, _signature(self.path)
        sync_folder(self.path)

    # ---- the file ------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Bring the CSV and the journal together."""
        records = self._journal.records
        if not records:
            first = _of_frame(self.data.labels)
            if self.path.exists():
                first = self._read()
                self._note_first()
            self._save({"columns": first})
            return
        self._note_first()
        if not self.path.exists():
            self._rewrite("was not there, and was written again from the journal beside it")
            return
        found = self.path.read_bytes()
        if found == self._text(self.columns):
            self._signature = _signature(self.path)
            return
        if found == self._text(History(records[:-1]).columns):  # killed before the file was renamed
            self._rewrite("lacked the last change, which the journal has")
            return
        self._take_file()
        self.notes.append(f"{self.path} was changed by another program: its labels are used.")

    def _replay(self) -> History:
        try:
            return History(self._journal.records)
        except (LookupError, TypeError, AttributeError):
            raise ValueError(
                f"{self._journal.path} is no journal of labels: move it away to go on with the labels of the CSV."
            ) from None

    def _clean(self) -> None:
        """Remove new CSVs that a killed process did not rename."""
        for left in self.path.parent.glob(f".{glob.escape(self.path.stem)}-????????{self.path.suffix}"):
            left.unlink()

    def _note_first(self) -> None:
        others = "" if self.data.labels is None else "; those that the data have of their own are not used"
        self.notes.append(f"Goes on with the labels in {self.path}{others}.")

    def _rewrite(self, why: str) -> None:
        with replacing(self.path) as partial:
            self._write(self.columns, partial)
        self._signature = _signature(self.path)
        self.notes.append(f"{self.path} {why}.")

    def _take_file(self) -> None:
        """Take the labels that the CSV has now."""
        if not self.path.exists():
            self._rewrite("was not there, and was written again")
            return
        self._save({"columns": self._read()})

    def _read(self) -> Columns:
        """Return the labels of the CSV by the names of the samples; ids that belong to none stay as they are."""
        if not self._has_rows():
            return {}
        frame = read_labels(self.path)
        rows = find_samples([str(name) for name in frame.index], self.data)
        names = [self.ids[row] if row >= 0 else str(name) for row, name in zip(rows, frame.index, strict=True)]
        columns: Columns = {}
        for attribute in frame.columns:
            column = columns.setdefault(attribute_name(str(attribute)), {})
            for name, value in zip(names, frame[attribute], strict=True):
                if value is None or value == "-1":
                    continue
                if column.setdefault(name, value) != value:
                    raise ValueError(
                        f"{self.path} has different labels of {attribute!r} for the same sample, {name} "
                        f"({column[name]}, {value}): keep one."
                    )
        return columns

    def _has_rows(self) -> bool:
        return len(self.path.read_bytes().strip().splitlines()) > 1

    def _write(self, columns: Columns, path: Path) -> None:
        path.write_bytes(self._text(columns))

    def _text(self, columns: Columns) -> bytes:
        """Return the CSV: labelled samples in the order of the data, then those that the data lack."""
        labelled = set().union(*columns.values()) if columns else set()
        names = [name for name in self.ids if name in labelled] + sorted(labelled - self._known)
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["id", *columns])
        writer.writerows(
            [self._cells.get(name, name), *(column.get(name, "") for column in columns.values())] for name in names
        )
        return text.getvalue().encode()


def _of_frame(labels: DataFrame | None) -> Columns:
    """Return the labels that the data have of their own."""
    if labels is None:
        return {}
    return {attribute_name(str(name)): dict(_known(labels[name])) for name in labels.columns}


def _known(column) -> Iterator[tuple[str, str]]:
    for name, value in column.items():
        if value is not None and value != -1:
            yield str(name), str(value)


def _cell(name: str) -> str:
    """Return a name as the CSV has it; "./" is no part of a name, and keeps "NA" from being an empty cell."""
    return f"./{name}" if name in UNKNOWN else name


def _check_names(data: Dataset, cells: list[str]) -> None:
    """Refuse samples whose names a CSV cannot distinguish: their labels would be lost when it is read."""
    rows = find_samples([cell.strip() for cell in cells], data)
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        raise ValueError("the name of a file is not in UTF-8, and a CSV cannot hold it: rename it.") from None
    wrong = np.flatnonzero(rows != np.arange(len(rows)))
    if len(wrong):
        raise ValueError(f"a CSV cannot distinguish the sample {cells[wrong[0]]!r} from another one: rename it.")


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when another program writes the file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

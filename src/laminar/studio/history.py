"""Labels as a sequence of changes that can be undone and redone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .journal import Record

Columns = dict[str, dict[str, str]]  # attribute -> sample -> value


@dataclass(frozen=True)
class Change:
    """One change of the labels of an attribute, as undo needs it.

    Parameters
    ----------
    attribute : str
        The attribute.
    before, after : dict
        Sample -> value, or None without one.
    drawn : frozenset of str
        Samples that had been proposed at random.
    time : str
        When, in UTC.
    """

    attribute: str
    before: dict[str, str | None]
    after: dict[str, str | None]
    drawn: frozenset[str]
    time: str

    def apply(self, columns: Columns, values: Mapping[str, str | None]) -> None:
        """Give the samples these values."""
        column = columns.setdefault(self.attribute, {})
        for sample, value in values.items():
            column.pop(sample, None)
            if value is not None:
                column[sample] = value
        if not column:
            del columns[self.attribute]


class History:
    """Labels after the records of a journal, with what can be undone and redone."""

    def __init__(self, records: Sequence[Record] = ()):
        self.columns: Columns = {}
        self.done: list[Change] = []
        self.undone: list[Change] = []
        for record in records:
            self.add(record)

    def copy(self) -> History:
        """Return labels that can change while these stay."""
        found = History()
        found.columns = {attribute: dict(column) for attribute, column in self.columns.items()}
        found.done, found.undone = list(self.done), list(self.undone)
        return found

    def add(self, record: Record) -> None:
        """Apply a record."""
        if "columns" in record:  # all labels, of a file: nothing before can be undone
            self.columns, self.done, self.undone = {a: dict(c) for a, c in record["columns"].items()}, [], []
        elif "undo" in record:
            change = self.done.pop()
            change.apply(self.columns, change.before)
            self.undone.append(change)
        elif "redo" in record:
            change = self.undone.pop()
            change.apply(self.columns, change.after)
            self.done.append(change)
        else:
            change = self._change(record)
            change.apply(self.columns, change.after)
            self.done.append(change)
            self.undone = []

    def _change(self, record: Record) -> Change:
        column = self.columns.get(record["attribute"], {})
        before = {sample: column.get(sample) for sample in record["samples"]}
        after = dict.fromkeys(record["samples"], record["value"])
        return Change(record["attribute"], before, after, frozenset(record["drawn"]), record["time"])

    def drawn(self, attribute: str) -> set[str]:
        """Return the samples whose label was given when they had been proposed at random."""
        column = self.columns.get(attribute, {})
        changes = (change for change in self.done if change.attribute == attribute)
        return {sample for change in changes for sample in change.drawn if sample in column}

    def since_draw(self, attribute: str) -> int:
        """Return the number of labels given since the last of a sample that had been proposed at random."""
        count = 0
        for change in reversed(self.done):
            if change.attribute == attribute:
                if change.drawn:
                    break
                count += len(change.after)
        return count

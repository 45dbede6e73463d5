"""The tables of docs/datasets.md, from the records of the sets: ``python -m benchmarks.dataset_table``."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.structure import ROOT
from laminar.datasets import Record, records

PAGE = ROOT / "docs" / "datasets.md"
BEGIN, END = "<!-- begin: python -m benchmarks.dataset_table -->\n", "<!-- end -->\n"
WHAT = ("name", "set", "what", "in the papers", "attributes", "owner, where it is given out", "licence")
WHERE = ("name", ".npz", "the one of our figures, against the papers", ".mat", "folder, with files as", "download")


def _what(record: Record) -> Sequence[str]:
    owner = f"{record.owner}: {record.page}"
    attributes = ", ".join(record.attributes)
    return (f"`{record.name}`", record.title, record.what, record.papers, attributes, owner, record.licence or "-")


def _where(record: Record) -> Sequence[str]:
    folder = f"`{(record.folders or (record.name,))[0]}`: {record.example}" if record.example else "-"
    matlab = ", ".join(f"`{file}`" for file in record.matlab_files) or "-"
    array = f"`{record.array_file or record.name}.npz`"
    return (f"`{record.name}`", array, record.difference, matlab, folder, record.open_source or "-")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)) + "\n"


def current() -> str:
    """Return the page with the tables of the present records."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    tables = [_table(WHAT, list(map(_what, records().values()))), _table(WHERE, list(map(_where, records().values())))]
    return before + BEGIN + "\n" + "\n".join(tables) + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(current())
    print(f"{PAGE.relative_to(ROOT)}: {len(records())} sets")

"""The page of all items: claim and verdict of each in one table, then every item with its tables and its figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .item import ITEMS, Item
from .result import Result, markdown_table
from .run import Skipped

HEADER = """# The papers, item by item

Every table, figure and claim of the papers that Laminar rests on, as computed by one command:

```
laminar reproduce                                     # lists the items
laminar reproduce xiao-table1                         # reproduction/xiao-table1.md, .csv and .png
laminar reproduce all --quick                         # all in small, in minutes
laminar reproduce all -o docs                         # this page, and its tables and figures in docs/reproduction/
```

For every method a table has, side by side, what is printed; the published rule as we run it (`laminar.recipes`:
"published"); Laminar's default of that name ("laminar"); what Laminar recommends; and a baseline, which was given the
same labels where labels were given. Runs have fixed seeds, methods the same number of starts of k-means, and paired
differences over the same draws a t-test and a sign test. Printed numbers stand in a table only if it was computed on
the paper's own data in whole. Errata of the papers are in [methods.md](methods.md). Seconds are of one thread on a
shared machine.

`--data` or the environment variable `LAMINAR_DATA` names the folder of the data. Where a set is absent an item runs
on a stand-in and says so, or is skipped with the reason. Every result is kept in `reproduction/cells/`, under a hash
of the code, the settings and the data: a run that was stopped goes on where it was. One process a core; `--jobs` sets
another number.
"""


def section(item: Item, result: Result, folder: Path, above: str = "") -> str:
    """Return an item as Markdown.

    Parameters
    ----------
    item : Item
        The item.
    result : Result
        What it found.
    folder : Path
        Where its figure is, if it was drawn.
    above : str, default=""
        The folder as the text names it, with a slash at its end.

    Returns
    -------
    str
        Heading, claim, verdict, sentences, figure and tables.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"NMF": ["1.0"]}, index=pd.Index(["error"], name="score"))
    >>> found = Result("Errors", table, [("Table 1", table)], "holds.", ["One seed."])
    >>> print(section(Item("lee-table1", "NMF has no error.", lambda run: found), found, Path()))
    ## lee-table1
    <BLANKLINE>
    Errors
    <BLANKLINE>
    **Claim.** NMF has no error.
    <BLANKLINE>
    **Found.** holds.
    <BLANKLINE>
    * One seed.
    <BLANKLINE>
    Table 1
    <BLANKLINE>
    | score | NMF |
    |---|---|
    | error | 1.0 |
    <BLANKLINE>
    """
    parts = [f"## {item.name}", result.title, f"**Claim.** {item.claim}", f"**Found.** {result.verdict}"]
    if result.sentences:
        parts.append("\n".join(f"* {sentence}" for sentence in result.sentences))
    if result.figure is not None and (folder / f"{item.name}.png").exists():
        parts.append(f"![{result.title}]({above}{item.name}.png)")
    for caption, table in result.tables:
        parts += [caption, markdown_table(table)]
    return "\n\n".join(parts) + "\n"


def page(results: Mapping[str, Result | Skipped], folder: Path, *, quick: bool) -> str:
    """Return the page of all items.

    Parameters
    ----------
    results : dict of str to Result or Skipped
        What was found, or why an item was skipped, by the name of the item.
    folder : Path
        Where the figures are: a folder beside the page.
    quick : bool
        Whether they were computed in small.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> print(  # doctest: +ELLIPSIS
    ...     page({"xiao-table3": Skipped("ORL is absent.")}, Path(), quick=True).partition("In small ")[2]
    ... )
    (`--quick`): few settings and seeds, parts of the data; no figure here is a finding.
    <BLANKLINE>
    | item | claim | found |
    |---|---|---|
    | xiao-table3 | On ORL, cdNMF_F has clusters ... | skipped: ORL is absent. |
    <BLANKLINE>
    """
    rows, sections = [], []
    for name, result in results.items():
        item = ITEMS[name]
        if isinstance(result, Skipped):
            rows.append(f"| {name} | {_cell(item.claim)} | skipped: {_cell(str(result))} |")
        else:
            rows.append(f"| [{name}](#{name}) | {_cell(item.claim)} | {_cell(result.verdict)} |")
            sections.append(section(item, result, folder, f"{folder.name}/"))
    table = "\n".join(["| item | claim | found |", "|---|---|---|", *rows])
    small = "In small (`--quick`): few settings and seeds, parts of the data; no figure here is a finding.\n\n"
    return "\n".join([HEADER, f"{small if quick else ''}{table}\n", *sections])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

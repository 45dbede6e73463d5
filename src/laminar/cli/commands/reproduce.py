"""`laminar reproduce`: the tables, figures and claims of the papers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options import Debug, Json, Quiet
from ..terminal import Terminal, is_interrupt, sentence, session, table

if TYPE_CHECKING:
    from laminar.experiments import Item, Result, Run, Skipped


def reproduce(
    item: Annotated[str | None, typer.Argument(help="Name of an item, or all.  [default: list the items]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="In small: few settings and seeds; minutes for all.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the papers' data.  [default: the environment variable LAMINAR_DATA]")
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where the folder reproduction/ is written, and reproduction.md of all."),
    ] = Path("."),
    jobs: Annotated[int, typer.Option(min=1, help="Processes, of one thread each.  [default: one a core]")] = (
        os.cpu_count() or 1
    ),
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute tables and figures of the papers: printed, as published, Laminar's defaults, and baselines.

    Results are kept as they come: a run that was stopped goes on where it was. Without the papers' data items run on
    stand-ins, named as such, or are skipped with the reason. `laminar reproduce all` computes all items in hours, or in
    minutes with --quick, and writes a page of all.

    \b
    Examples:
      laminar reproduce
      laminar reproduce xiao-fig5 --quick
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        if data is not None:
            if not data.is_dir():
                raise FileNotFoundError(f"{data} is no folder: --data takes the folder with the data sets.")
            os.environ["LAMINAR_DATA"] = str(data)
        from laminar.experiments import ITEMS, Run
        from laminar.experiments.page import page

        known = dict(sorted(ITEMS.items()))
        if item is None:
            terminal.show(table("Items", ["name", "claim"], [[name, known[name].claim] for name in known], text=(0, 1)))
            terminal.finish({"items": {name: known[name].claim for name in known}})
            return
        if item != "all" and item not in known:
            raise ValueError(f"there is no item {item!r}. Known: all, {', '.join(known)}.")
        folder = output / "reproduction"
        run = Run(folder / "cells", quick=quick, n_jobs=jobs, reports=_reports(terminal))
        failed: list[str] = []
        if item != "all":
            results = {item: _made(known[item], run, folder, terminal)}
        else:
            results, failed = _all_made(known, run, folder, terminal, debug=debug)
            _write_text(output / "reproduction.md", page(results, folder, quick=quick), terminal)
        terminal.finish({"items": {name: _facts(result) for name, result in results.items()}, "output": output})
        if failed:
            raise RuntimeError(f"{', '.join(failed)} failed, and the page is without them; all others are complete.")


def _all_made(
    items: dict[str, Item], run: Run, folder: Path, terminal: Terminal, *, debug: bool
) -> tuple[dict[str, Result | Skipped], list[str]]:
    """Compute all items; return what they found, and the names of those that failed: hours of others are not lost."""
    results: dict[str, Result | Skipped] = {}
    failed = []
    for place, (name, item) in enumerate(items.items(), start=1):
        terminal.inform(f"{name}, {place} of {len(items)}")
        try:
            results[name] = _made(item, run, folder, terminal)
        except Exception as error:
            if debug or is_interrupt(error):
                raise
            terminal.inform(f"{name}: failed. {sentence(error)}")
            failed.append(name)
    return results, failed


def _reports(terminal: Terminal) -> Any:
    from laminar._utils.progress import progress

    @contextmanager
    def reported(name: str, n: int) -> Iterator[Any]:
        if not terminal.verbose:
            yield lambda done: None
            return
        with progress(name, n, unit="results") as report:
            yield report

    return reported


def _made(item: Item, run: Run, folder: Path, terminal: Terminal) -> Result | Skipped:
    """Compute an item, show and write it; return what it found, or why it was skipped."""
    from laminar.experiments import Skipped

    try:
        result = item.make(run)
    except Skipped as reason:
        terminal.inform(f"{item.name}: skipped. {reason}")
        return reason
    _show(result, terminal)
    _write(item, result, folder, terminal)
    return result


def _facts(result: Result | Skipped) -> dict[str, str]:
    from laminar.experiments import Skipped

    if isinstance(result, Skipped):
        return {"skipped": str(result)}
    return {"title": result.title, "verdict": result.verdict}


def _show(result: Result, terminal: Terminal) -> None:
    terminal.show(result.title)
    for caption, found in result.tables:
        names = [str(name or "") for name in found.index.names]
        rows = [
            [*map(str, place if isinstance(place, tuple) else (place,)), *map(str, row)]
            for place, row in zip(found.index, found.to_numpy(), strict=True)
        ]
        terminal.show(table(caption, [*names, *map(str, found.columns)], rows, text=range(len(names))))
    for text in [result.verdict, *result.sentences]:
        terminal.show(text)


def _write(item: Item, result: Result, folder: Path, terminal: Terminal) -> None:
    """Write the cells, the figure and the text of an item."""
    from laminar.experiments.page import section

    folder.mkdir(parents=True, exist_ok=True)
    place = folder / item.name
    _write_text(place.with_suffix(".csv"), result.cells.to_csv(index=False), terminal)
    if result.figure is not None:
        try:
            result.figure().savefig(place.with_suffix(".png"), dpi=100)
            terminal.wrote(place.with_suffix(".png"))
        except ImportError as error:
            terminal.inform(f"No figure: {error}")
    _write_text(place.with_suffix(".md"), section(item, result, folder), terminal)


def _write_text(path: Path, text: str, terminal: Terminal) -> None:
    path.write_text(text, encoding="utf-8")
    terminal.wrote(path)

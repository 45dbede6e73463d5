"""`laminar reproduce`: the tables, figures and claims of the papers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options import Debug, Json, Quiet
from ..terminal import Terminal, session, table

if TYPE_CHECKING:
    from laminar.experiments import Item, Result, Run


def reproduce(
    item: Annotated[str | None, typer.Argument(help="Name of an item, or all.  [default: list the items]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="In small: few settings and seeds; minutes for all.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the papers' data.  [default: the environment variable LAMINAR_DATA]")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of tables, figures and of results computed already.")
    ] = Path("reproduction"),
    jobs: Annotated[int, typer.Option(min=1, help="Processes, of one thread each.  [default: one a core]")] = (
        os.cpu_count() or 1
    ),
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute tables and figures of the papers: printed, as published, Laminar's defaults, and baselines.

    Results are kept as they come: a run that was stopped goes on where it was. Without the papers' data items run on
    stand-ins, named as such, or are skipped with the reason.

    \b
    Examples:
      laminar reproduce
      laminar reproduce xiao-table1 --quick -o reproduction
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        if data is not None:
            if not data.is_dir():
                raise FileNotFoundError(f"{data} is no folder: --data takes the folder with the data sets.")
            os.environ["LAMINAR_DATA"] = str(data)
        from laminar.experiments import ITEMS, Run

        if item is None:
            terminal.show(
                table("Items", ["name", "claim"], [[name, found.claim] for name, found in ITEMS.items()], text=(0, 1))
            )
            terminal.finish({"items": {name: found.claim for name, found in ITEMS.items()}})
            return
        if item != "all" and item not in ITEMS:
            raise ValueError(f"there is no item {item!r}. Known: all, {', '.join(ITEMS)}.")
        chosen = list(ITEMS.values()) if item == "all" else [ITEMS[item]]
        run = Run(output / "cells", quick=quick, n_jobs=jobs, reports=_reports(terminal))
        facts = {found.name: _made(found, run, output, terminal) for found in chosen}
        terminal.finish({"items": facts, "output": output})


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


def _made(item: Item, run: Run, output: Path, terminal: Terminal) -> dict[str, Any]:
    """Compute an item, show and write it; return its facts for programs."""
    from laminar.experiments import Skipped

    try:
        result = item.make(run)
    except Skipped as reason:
        terminal.inform(f"{item.name}: skipped. {reason}")
        return {"skipped": str(reason)}
    _show(result, terminal)
    for path in _write(item.name, result, output, terminal):
        terminal.wrote(path)
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
    for sentence in [result.verdict, *result.sentences]:
        terminal.show(sentence)


def _write(name: str, result: Result, output: Path, terminal: Terminal) -> Iterator[Path]:
    output.mkdir(parents=True, exist_ok=True)
    texts = {".md": result.markdown(), ".csv": result.cells.to_csv(index=False)}
    for ending, text in texts.items():
        path = output / f"{name}{ending}"
        path.write_text(text, encoding="utf-8")
        yield path
    if result.figure is not None:
        try:
            figure = result.figure()
        except ImportError as error:
            terminal.inform(f"No figure: {error}")
            return
        path = output / f"{name}.png"
        figure.savefig(path, dpi=150)
        yield path

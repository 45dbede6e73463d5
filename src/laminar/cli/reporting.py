"""Reports written by a command, and opened where there is a display."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .terminal import Terminal

if TYPE_CHECKING:
    from laminar.io.dataset import Dataset

Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the report in a browser, where there is a display.")]


def write_report(model: Any, target: Path, data: Dataset, terminal: Terminal, **options: Any) -> dict[str, Any]:
    """Write the report of a fitted model.

    Parameters
    ----------
    model : estimator
        The model.
    target : Path
        The file.
    data : Dataset
        The samples of the fit; without X only what the model holds of them is shown.
    terminal : Terminal
        Where to report.
    **options : dict
        Of `laminar.report.report`.

    Returns
    -------
    dict
        Title, opening sentence, how samples were scored, and the file.
    """
    from laminar.report import report

    terminal.progress.stage("report")
    texts = _texts(data, options.get("run") or {})
    made = report(model, data, is_training=True, texts=texts, verbose=terminal.verbose, **options)
    terminal.progress.stage(f"writing {target}")
    made.save(target)
    terminal.wrote(target)
    terminal.show(f"{made.title}. {made.sentence}")
    return {"title": made.title, "sentence": made.sentence, "scored": made.record["scores"]["way"], "output": target}


def _texts(data: Dataset, run: Mapping[str, Any]) -> list[str] | None:
    """Return the texts of a folder that was read, None for other data and where the files have gone."""
    inputs = [Path(name) for name in run.get("inputs", ())]
    if type(data.reader).__name__ != "TextReader" or data.sources is None or len(inputs) != 1 or not inputs[0].is_dir():
        return None
    files = [inputs[0] / source for source in data.sources]
    if not all(file.is_file() for file in files):
        return None
    return [file.read_text(encoding="utf-8", errors="replace") for file in files]


def open_page(path: Path) -> None:
    """Open a page in a browser, if who runs the command has a display."""
    is_seen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if is_seen and sys.stdout.isatty():
        webbrowser.open(path.resolve().as_uri())

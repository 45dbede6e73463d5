"""The application: the commands of `laminar.cli.commands` under one name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import laminar

from .commands.cluster import cluster
from .commands.datasets import datasets
from .commands.demo import demo
from .commands.evaluate import evaluate
from .commands.fit import fit
from .commands.info import info
from .commands.models import models
from .commands.report import report
from .commands.reproduce import reproduce
from .commands.select import select
from .commands.studio import studio
from .commands.transform import transform
from .terminal import FAILURE, USAGE, fail

UsageError: Any = typer.BadParameter.__bases__[0]  # of click, which newer versions of typer bring along
COMMANDS = (fit, transform, cluster, evaluate, report, studio, select, models, datasets, info, demo, reproduce)


def main() -> None:
    """Run the command line; a call that is not understood is one sentence on standard error and exit code 2.

    Examples
    --------
    >>> import sys
    >>> from unittest import mock
    >>> from laminar.cli.app import main
    >>> with mock.patch.object(sys, "argv", ["laminar", "--version"]):
    ...     try:
    ...         main()
    ...     except SystemExit as end:
    ...         print("exit code", end.code)
    laminar ...
    exit code 0
    """
    try:
        raise SystemExit(build_app()(prog_name="laminar", standalone_mode=False) or 0)
    except UsageError as error:
        text = " ".join(str(error.format_message()).split())
        text = text if text.endswith((".", "?")) else f"{text}."
        command = error.ctx.command_path if error.ctx is not None else "laminar"
        fail(f"{text} {command} --help has examples.", USAGE)
    except (typer.Abort, KeyboardInterrupt):
        fail("stopped; nothing was written.", FAILURE)


def build_app() -> typer.Typer:
    """Build the typer application.

    Returns
    -------
    typer.Typer
        The application.

    Examples
    --------
    >>> from laminar.cli.app import build_app
    >>> build_app().info.name
    'laminar'
    """
    app = typer.Typer(name="laminar", no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(options)
    for command in COMMANDS:
        app.command()(command)
    return app


def _show_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"laminar {laminar.__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learn layered, non-negative representations of data: from files to a model, codes, clusters and a table.

    \b
    Examples:
      laminar datasets faces -o demo
      laminar fit faces/ --labels few.csv -o faces.laminar
      laminar transform faces.laminar more_faces/ -o codes.csv
      laminar cluster faces.laminar --attribute identity -o clusters.csv
      laminar evaluate faces.laminar --labels all.csv
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b

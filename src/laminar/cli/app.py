"""Command line interface."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import laminar
from laminar._utils.extras import require

if TYPE_CHECKING:
    from rich.table import Table
    from sklearn.utils import Bunch
    from typer import Typer


def main() -> None:
    """Run the command line; errors are one sentence on the standard error and exit code 1.

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
    with _errors_as_sentences():
        app = build_app()
    app()


def build_app() -> "Typer":
    """Build the typer application; a function, since typer is optional.

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
    typer = require("typer", "report", "the laminar command")
    app = typer.Typer(name="laminar", no_args_is_help=True, add_completion=False, rich_markup_mode=None)

    def show_version(is_given: bool) -> None:
        if is_given:
            typer.echo(f"laminar {laminar.__version__}")
            raise typer.Exit

    @app.callback()
    def options(
        version: Annotated[
            bool,
            typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit."),
        ] = False,
    ):
        """Learn layered, non-negative representations of data."""

    @app.command()
    def demo(
        output: Annotated[Path, typer.Option(help="File of the figure.")] = Path("laminar-demo.png"),
        size: Annotated[int, typer.Option(min=12, help="Pixels a side of the faces.")] = 32,
        seed: Annotated[
            int, typer.Option(min=0, help="Seed of the faces, of the choice of labels and of the methods.")
        ] = 0,
    ):
        """Fit NMF, SemiNMF, DeepSemiNMF, SmoothedSemiNMF and AttributeLayers to rendered faces and score each layer.

        Prints, for identity, pose and light, clustering accuracy and NMI, the cross-validated accuracy of a linear
        classifier of the codes, and that of one which is given 10 % of the labels, as AttributeLayers is; writes a
        figure. Less than a minute. Needs laminar-nmf[plots,report].

        \b
        Examples:
          laminar demo
          laminar demo --size 24 --output faces.pdf
        """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
        with _errors_as_sentences():
            _demo(output, size, seed)

    return app


@contextmanager
def _errors_as_sentences() -> Iterator[None]:
    """Print errors that a user can cause and correct as one sentence, exit code 1; others keep their traceback."""
    try:
        yield
    except (ImportError, OSError, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def _demo(output: Path, size: int, seed: int) -> None:
    start = time.perf_counter()
    _check_output(output)
    console = require("rich.console", "report", "laminar demo").Console()
    from laminar.cli import demo

    @contextmanager
    def watch(name: str) -> Iterator[None]:
        begin = time.perf_counter()
        with console.status(f"{name} ..."):
            yield
        console.print(f"[green]✓[/] {name:<18}[dim]{time.perf_counter() - begin:6.1f} s[/]")

    result = demo.run(size=size, seed=seed, watch=watch)
    console.print("AttributeLayers and the classifier were given a tenth of the labels; the other faces are scored.")
    for table in _tables(result, demo.row_names(result.scores)):
        console.print(table)
    demo.figure(result).savefig(output, dpi=200)
    console.print(f"Figure written to {output} ({time.perf_counter() - start:.1f} s in all).", soft_wrap=True)


def _check_output(output: Path) -> None:
    """Check format and folder of the figure before the fits."""
    formats = require("matplotlib.figure", "plots", "laminar demo").Figure().canvas.get_supported_filetypes()
    if output.suffix.lstrip(".").lower() not in formats:
        raise ValueError(f"--output {output} must end in one of .{', .'.join(sorted(formats))}")
    if not output.parent.is_dir():
        raise FileNotFoundError(f"--output {output} lies in a folder that does not exist")


def _tables(result: "Bunch", rows: list[str]) -> Iterator["Table"]:
    """Yield the scores as three rich tables: clusters, and classifiers of all labels and of a few."""
    titles = {
        ("accuracy", "nmi"): "Clusters: accuracy / normalised mutual information",
        ("probe",): "Linear probe, cross-validated with the labels of all these faces: accuracy",
        ("classifier",): "Linear classifier given a tenth of the labels: accuracy on the others",
    }
    for metrics, title in titles.items():
        yield _table(result, rows, metrics, title)


def _table(result: "Bunch", rows: list[str], metrics: Sequence[str], title: str) -> "Table":
    """Make a rich table of some metrics of every attribute, the best of each column in bold."""
    scored = dict.fromkeys(result.scores.columns.get_level_values(0))
    counts = {name: len(result.faces.names[name]) for name in scored}
    table = require("rich.table", "report", "laminar demo").Table(title=title, title_justify="left")
    table.add_column("method")
    for attribute, count in counts.items():
        table.add_column(f"{attribute} ({count})", justify="right")
    shown = result.scores.map("{:.2f}".format)
    best = shown.max()  # of strings of one length, so that ties are those of the digits shown
    for name, (_, row) in zip(rows, shown.iterrows(), strict=True):
        keys = [[(attribute, metric) for metric in metrics] for attribute in counts]
        cells = [" / ".join(f"[bold]{row[k]}[/]" if row[k] == best[k] else row[k] for k in cell) for cell in keys]
        table.add_row(name, *cells)
    return table

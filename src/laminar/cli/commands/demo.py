"""`laminar demo`: models on rendered faces, a table, a figure and a model file."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from laminar._utils.extras import require

from ..options import Debug, Force, Json, Quiet
from ..reporting import Open, open_page, write_report
from ..terminal import Terminal, session, table

if TYPE_CHECKING:
    from rich.table import Table
    from sklearn.utils import Bunch


def demo(
    output: Annotated[Path, typer.Option(help="File of the figure.")] = Path("laminar-demo.png"),
    model: Annotated[Path, typer.Option(help="File of the model.")] = Path("faces.laminar"),
    report: Annotated[Path, typer.Option(help="File of the report.")] = Path("laminar-report.html"),
    size: Annotated[int, typer.Option(min=12, help="Pixels a side of the faces.")] = 32,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the faces, of the choice of labels and of the methods.")
    ] = 0,
    open_it: Open = True,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit NMF, SemiNMF, DeepSemiNMF, SmoothedSemiNMF and AttributeLayers to rendered faces and score each layer.

    Prints, for identity, pose and light, clustering accuracy and NMI, the cross-validated accuracy of a linear
    classifier of the codes, and that of one which is given 10 % of the labels, as AttributeLayers and two baselines,
    label spreading and linear discriminants, are; writes a figure, AttributeLayers as a model file, and a report on it,
    opened where there is a display. About a minute. Needs laminar-nmf[plots].

    \b
    Examples:
      laminar demo
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        start = time.perf_counter()
        from pandas import DataFrame

        from laminar._utils.files import replacing
        from laminar.cli import demo as experiment
        from laminar.io.write import check_output

        check_output(output, _formats(), force)
        check_output(model, (".laminar",), force)
        check_output(report, (".html",), force)

        result = experiment.run(size=size, seed=seed, watch=_watch(terminal))
        terminal.show(
            "LabelSpreading, PooledLDA, AttributeLayers and the classifier were given a tenth of the labels; the other "
            "faces are scored."
        )
        for found in _tables(result, experiment.row_names(result.scores)):
            terminal.show(found)
        with replacing(output) as partial:
            experiment.figure(result).savefig(partial, dpi=200)
        terminal.wrote(output)
        data, run = experiment.described(result, seed)
        experiment.save(result, model, data, run)
        terminal.wrote(model)
        truth = DataFrame({name: result.faces[name] for name in result.given})
        facts = write_report(
            result.models["AttributeLayers"],
            report,
            data,
            terminal,
            labels=experiment.class_names(result, truth),
            given=experiment.class_names(result, result.given),
            run=run,
            noun="face",
            cache=model.with_suffix(".maps.npz"),
            seed=seed,
        )
        terminal.inform(f"{time.perf_counter() - start:.1f} s in all. Next: open {report}, or laminar info {model}")
        terminal.finish({"figure": output, "model": model, "report": facts, "seconds": result.seconds})
        if open_it:
            open_page(report)


def _watch(terminal: Terminal):
    @contextmanager
    def watch(name: str) -> Iterator[None]:
        begin = time.perf_counter()
        terminal.progress.stage(name)
        yield
        terminal.inform(f"✓ {name:<18}{time.perf_counter() - begin:6.1f} s")

    return watch


def _formats() -> list[str]:
    """Return the endings of figures."""
    canvas = require("matplotlib.figure", "plots", "laminar demo").Figure().canvas
    return sorted(f".{name}" for name in canvas.get_supported_filetypes())


def _tables(result: Bunch, rows: list[str]) -> Iterator[Table]:
    """Yield the scores as three tables: clusters, and classifiers of all labels and of a few."""
    titles = {
        ("accuracy", "nmi"): "Clusters: accuracy / normalised mutual information",
        ("probe",): "Linear probe, cross-validated with the labels of all these faces: accuracy",
        ("classifier",): "Linear classifier given a tenth of the labels: accuracy on the others",
    }
    for metrics, title in titles.items():
        yield _table(result, rows, metrics, title)


def _table(result: Bunch, rows: list[str], metrics: Sequence[str], title: str) -> Table:
    """Make a table of some metrics of every attribute, the best of each column in bold."""
    scored = dict.fromkeys(result.scores.columns.get_level_values(0))
    counts = {name: len(result.faces.names[name]) for name in scored}
    shown = result.scores.map("{:.2f}".format)
    best = shown.max()  # of strings of one length, so that ties are those of the digits shown
    lines = []
    for name, (_, row) in zip(rows, shown.iterrows(), strict=True):
        keys = [[(attribute, metric) for metric in metrics] for attribute in counts]
        cells = [" / ".join(f"[bold]{row[k]}[/]" if row[k] == best[k] else row[k] for k in cell) for cell in keys]
        lines.append([name, *cells])
    return table(title, ["method", *(f"{name} ({count})" for name, count in counts.items())], lines)

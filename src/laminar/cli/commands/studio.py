"""`laminar studio`: a local page to label samples, while a model follows the labels."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options import Debug, MaxMemory, Quiet, Seed, limited, with_reading_options
from ..terminal import Terminal, session

if TYPE_CHECKING:
    from laminar.io.dataset import Dataset


@with_reading_options
def studio(
    data: Annotated[Path, typer.Argument(help="Folder of images or texts, table, array, video.")],
    reading: dict,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV of labels, gone on with if it exists.  [default: DATA-labels.csv]"),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 is any that is free.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    seed: Seed = 0,
    max_memory: MaxMemory = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Label samples on a local page, and see the layers change: the model is refitted after every label.

    Labels are written at once to a CSV that laminar fit --labels takes; the same call goes on where it stopped. The
    page is open to this machine alone, at the address that is printed. Ctrl-C ends it.

    \b
    Examples:
      laminar studio faces/
      laminar studio faces/ --labels few.csv -o mine.csv --no-browser
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, False, debug) as terminal, limited(max_memory):
        from laminar._utils.extras import require
        from laminar.studio.labels import LabelFile
        from laminar.studio.session import Session

        from ..samples import read_samples

        for package in ("starlette", "uvicorn"):
            require(package, "studio", "laminar studio")
        name = data.resolve().name.split(".")[0]
        path = output or Path(f"{name}-labels.csv")
        _check_path(path)
        address = _listening(port)
        samples = read_samples([data], reading, terminal)
        _check_samples(samples)
        labels = LabelFile(path, samples)
        try:
            for note in labels.notes:
                terminal.inform(note)
            found = Session(samples, labels, _writers(data, path, name, seed), seed)
            _serve(found, name, address, browser, terminal)
        finally:
            labels.close()
        terminal.inform(f"The labels are in {path}, for laminar fit --labels.")


def _serve(found: Any, name: str, address: Any, browser: bool, terminal: Terminal) -> None:
    """Answer requests until Ctrl-C."""
    import uvicorn

    from laminar.studio.page import page
    from laminar.studio.server import build

    from ..provenance import command

    terminal.progress.stage("making the page")
    token, port = secrets.token_urlsafe(16), address.getsockname()[1]
    app = build(found, page(found.data, name, found.labels.path, command()), token, port)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,  # its lines would have the token
        server_header=False,
        limit_concurrency=100,
        timeout_graceful_shutdown=1,
        lifespan="off",
    )
    url = f"http://127.0.0.1:{port}/?token={token}"
    found.start()
    terminal.show(f"Studio: {url}")
    if browser:
        _open(url)
    try:
        uvicorn.Server(config).run([address])
    except KeyboardInterrupt:  # as uvicorn ends after Ctrl-C
        pass
    finally:
        found.close()


def _listening(port: int) -> Any:
    """Return a socket that listens on this machine alone."""
    import os
    import socket

    found = socket.socket()
    if os.name == "posix":  # not to wait for connections that were closed; elsewhere it would allow a second server
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except OSError:
        found.close()
        raise ValueError(f"--port {port} is in use: give another, or none.") from None
    found.listen()
    return found


def _open(url: str) -> None:
    import threading
    import webbrowser

    threading.Timer(0.3, webbrowser.open, [url]).start()  # a browser of the terminal would keep the server waiting


def _check_path(path: Path) -> None:
    from laminar.io.write import check_output

    check_output(path, (".csv",), force=True)


def _check_samples(samples: Dataset) -> None:
    from laminar._utils.stored import Stored, is_streamed

    if samples.has_views:
        raise ValueError("laminar studio is for one input: give one of the views.")
    if is_streamed(samples.X) or isinstance(samples.X, Stored):
        raise ValueError("the data are on disk, too large for memory: raise --max-memory, or give fewer samples.")
    if samples.n_samples < 2:
        raise ValueError(f"{samples.n_samples} sample: give at least two, better a hundred.")


def _writers(data: Path, labels: Path, name: str, seed: int) -> dict[str, tuple[Path, Any]]:
    """Return what the page can have written, beside the labels."""
    from laminar._persistence.model_file import save_model
    from laminar.report import report

    from ..provenance import record

    def run(fit: Any, samples: Dataset) -> dict[str, Any]:
        used = [] if fit.frame is None else [str(attribute) for attribute in fit.frame.columns]
        choices = [f"AttributeLayers: labels of laminar studio, in {labels}"]
        return record(samples, [data], seed=seed, choices=choices, attributes=used, seconds=fit.seconds)

    def write_model(fit: Any, samples: Dataset, path: Path) -> None:
        save_model(fit.model, path, data=samples, run=run(fit, samples))

    def write_report(fit: Any, samples: Dataset, path: Path) -> None:
        report(fit.model, samples, run=run(fit, samples), seed=seed).save(path)

    folder = labels.parent
    return {"model": (folder / f"{name}.laminar", write_model), "report": (folder / f"{name}.html", write_report)}

"""`laminar fit`: from data to a model in a file."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options import Debug, Force, Json, MaxMemory, Quiet, Seed, limited, numbers, split, with_reading_options
from ..reporting import write_report
from ..terminal import Terminal, session

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from laminar.io.dataset import Dataset


@with_reading_options
def fit(
    data: Annotated[
        list[Path], typer.Argument(help="Folder of images or texts, table, array, video; several are views.")
    ],
    reading: dict,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file.  [default: the name of the data, .laminar]")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model, see laminar models; chosen by the data if not given.")
    ] = None,
    components: Annotated[int | None, typer.Option("--components", "-k", min=1, help="Number of components.")] = None,
    layers: Annotated[str | None, typer.Option(help="Sizes of the layers, from the input up, as 100,40,20.")] = None,
    clusters: Annotated[int | None, typer.Option(min=1, help="Number of clusters.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any parameter of the model, as --set alpha=10.", metavar="NAME=VALUE"),
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(help="Attributes whose labels the model is given, separated by commas.  [default: all]"),
    ] = None,
    seed: Seed = 0,
    training_codes: Annotated[
        bool, typer.Option("--training-codes/--no-training-codes", help="Keep codes and names of the training samples.")
    ] = True,
    report: Annotated[
        Path | None, typer.Option(help="Write a report too, an HTML file: see laminar report.", metavar="HTML")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File to which the state of the fit is written every minute; deleted when it is done."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the --checkpoint, if there is one, of the same call.")
    ] = False,
    max_memory: MaxMemory = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help='Fit on the workers of a dask scheduler, as tcp://host:8786, or on a "local" cluster.'),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a model to a folder, a table, texts, a video or arrays, and write it to a file.

    Without --model it is chosen by views, labels, time, signs and size, in one line that gives the reason.

    \b
    Examples:
      laminar fit faces/ --labels few.csv -o faces.laminar
      laminar fit faces/ --model deep-semi-nmf --layers 100,40 -o deep.laminar
      laminar fit wine.csv --id-column bottle --label-columns cultivar --scale standard -o wine.laminar
      laminar fit faces/ --model nmf --checkpoint run.ckpt --resume -o long.laminar
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with (
        session(quiet, as_json, debug) as terminal,
        limited(max_memory),
        _workers(scheduler, terminal),
        _recorded(checkpoint, resume, terminal),
    ):
        from laminar._persistence.model_file import save_model
        from laminar.io.write import check_output

        from ..choice import set_parameters
        from ..provenance import record
        from ..samples import read_samples

        target = output or Path(f"{data[0].resolve().name.split('.')[0]}.laminar")
        check_output(target, (".laminar",), force)
        if report is not None:
            check_output(report, (".html",), force)
        samples = read_samples(data, reading, terminal)
        used = _attributes(samples, attributes)
        choice = _chosen(samples, model, used, seed, terminal)
        estimator, sizes = choice.estimator, numbers(layers, "--layers") if layers else None
        set_parameters(estimator, components=components, layers=sizes, clusters=clusters, settings=settings or ())
        _check(estimator, samples)
        used = _usable(estimator, used, terminal)
        start = time.perf_counter()
        _fit(estimator, samples, used, terminal, on_dask=scheduler is not None)
        seconds = time.perf_counter() - start
        facts = _facts(estimator, samples, seconds, choice.reason)
        terminal.inform(f"Fitted in {seconds:.1f} s.")
        terminal.progress.stage(f"writing {target}")
        choices = [f"{type(estimator).__name__}: {choice.reason}"]
        run = record(samples, data, seed=seed, choices=choices, attributes=used, seconds=seconds)
        save_model(estimator, target, data=samples, run=run, training_codes=training_codes)
        terminal.wrote(target)
        terminal.show(_summary(facts))
        facts["output"] = target
        if report is not None:
            given = {} if samples.labels is None else samples.labels[used]
            cache = target.with_suffix(".maps.npz")
            facts["report"] = write_report(
                estimator, report, samples, terminal, given=given, run=run, cache=cache, seed=seed
            )
        terminal.finish(facts)


@contextmanager
def _recorded(path: Path | None, resume: bool, terminal: Terminal) -> Iterator[None]:
    """Write checkpoints while the block runs, and delete them when the model is written."""
    if path is None:
        if resume:
            raise ValueError("--resume needs --checkpoint: give the file that the fit was recorded in.")
        yield
        return
    from laminar import checkpoint

    terminal.checkpoint = path
    with checkpoint(path, resume=resume) as is_resumed:
        if is_resumed:
            terminal.inform(f"Goes on from {path}.")
        yield


@contextmanager
def _workers(scheduler: str | None, terminal: Terminal) -> Iterator[None]:
    """Connect to the workers that fits of dask arrays run on, while the block runs."""
    if scheduler is None:
        yield
        return
    from laminar._utils.extras import require

    distributed = require("distributed", "dask", "--scheduler")
    with distributed.Client(
        **({"dashboard_address": ":0"} if scheduler == "local" else {"address": scheduler})
    ) as client:
        terminal.inform(f"Workers: {len(client.nthreads())}, of {client.scheduler.address}.")
        yield


def _chosen(samples: Dataset, model: str | None, used: Sequence[str], seed: int, terminal: Terminal):
    from ..choice import choose, named

    choice = choose(samples, used, seed) if model is None else named(model, seed)
    if model is None:
        terminal.inform(f"Model: {type(choice.estimator).__name__} ({choice.reason}).")
    return choice


def _attributes(samples: Dataset, chosen: str | None) -> list[str]:
    """Return the attributes whose labels are used."""
    known = [] if samples.labels is None else [str(name) for name in samples.labels.columns]
    if chosen is None:
        return known
    absent = [name for name in split(chosen) if name not in known]
    if absent:
        have = f"the labels have {', '.join(known)}" if known else "no labels were given (--labels, --label-columns)"
        raise ValueError(f"--attributes {absent[0]}: no such attribute; {have}.")
    return list(split(chosen))


def _check(estimator: BaseEstimator, samples: Dataset) -> None:
    """Refuse data that the model is not for, before the fit."""
    from ..choice import MODELS, command_name

    name, purpose = type(estimator).__name__, MODELS[type(estimator).__name__]
    if samples.n_samples < 2:
        raise ValueError(f"{samples.n_samples} sample: a model is fitted to at least two, better a hundred.")
    if samples.has_views and not purpose.views:
        count = len(samples.views())
        raise ValueError(f"--model {command_name(name)} is for one input and {count} were given: use cluster-ensemble.")
    if not purpose.one_input and not samples.has_views:
        raise ValueError(f"--model {command_name(name)} is for several views: give several inputs, or another model.")
    if samples.observed is not None and not purpose.holes:
        lacking = int((~samples.observed).any(axis=1).sum())
        raise ValueError(
            f"{lacking} samples lack a view, and --model {command_name(name)} needs all: use cluster-ensemble."
        )


def _usable(estimator: BaseEstimator, used: list[str], terminal: Terminal) -> list[str]:
    """Return the attributes that the model is given."""
    from ..choice import MODELS, command_name

    name = type(estimator).__name__
    labels = MODELS[name].labels
    if used and not labels:
        terminal.inform(f"{name} uses no labels: they are kept in the file, for laminar evaluate.")
        return []
    if labels == "one" and len(used) > 1:
        raise ValueError(
            f"--model {command_name(name)} takes one attribute of {', '.join(used)}: --attributes {used[0]}."
        )
    if labels == "one" and not used:
        raise ValueError(f"--model {command_name(name)} needs labels: give --labels or --label-columns.")
    return used


def _fit(
    estimator: BaseEstimator, samples: Dataset, used: list[str], terminal: Terminal, *, on_dask: bool = False
) -> None:
    from ..samples import arguments_of

    y = None if not used or samples.labels is None else samples.labels[used]
    is_verbose = "verbose" in estimator.get_params()
    if is_verbose:
        estimator.set_params(verbose=terminal.verbose)
    estimator.fit(_on_dask(samples) if on_dask else samples.X, y, **arguments_of(estimator.fit, samples))
    if is_verbose:
        estimator.set_params(verbose=0)  # of this run, not of the model


def _on_dask(samples: Dataset) -> Any:
    """Return the data, or the views, as dask arrays."""
    from laminar._utils.workers.files import to_dask

    if samples.has_views:
        return {name: to_dask(view) for name, view in samples.views().items()}
    return to_dask(samples.X)


def _facts(estimator: BaseEstimator, samples: Dataset, seconds: float, reason: str) -> dict[str, Any]:
    from laminar._engine.data.wrap import wrap
    from laminar.evaluation.layers import layer_names

    facts = {
        "model": type(estimator).__name__,
        "reason": reason,
        "n_samples": samples.n_samples,
        "layers": layer_names(estimator)
        if hasattr(estimator, "layers_")
        else [f"{len(estimator.components_)} signals"],
        "n_iter": int(getattr(estimator, "n_iter_", 0)),
        "seconds": round(seconds, 3),
    }
    error = getattr(estimator, "reconstruction_err_", None)
    if error is not None and not samples.has_views and getattr(estimator, "loss", "frobenius") == "frobenius":
        X = wrap(samples.X)
        facts["explained"] = round(1 - (float(error) / X.scale) ** 2 / (X.sqnorm or 1.0), 4)
    return facts


def _summary(facts: dict[str, Any]) -> str:
    explained = f", {facts['explained']:.1%} of the squares of the data explained" if "explained" in facts else ""
    return f"{facts['model']} of {facts['n_samples']} samples: {', '.join(facts['layers'])}{explained}"

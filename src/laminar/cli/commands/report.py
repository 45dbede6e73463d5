"""`laminar report`: a model as one HTML file, with scores beside baselines, maps, clusters and components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from ..options import Debug, Force, Json, ModelFile, Quiet, Seed
from ..reporting import Open, open_page, write_report
from ..terminal import Terminal, session

if TYPE_CHECKING:
    from laminar._persistence.model_file import ModelFile as File
    from laminar.io.dataset import Dataset


def report(
    model: ModelFile,
    data: Annotated[
        list[Path] | None, typer.Argument(help="The samples of the fit.  [default: where the fit read them]")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV of labels: an id column, one column an attribute.  [default: those of the fit]"),
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the labels with the names of the samples.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="HTML file.  [default: the name of the model, .html]")
    ] = None,
    map: Annotated[str, typer.Option(help="How samples are mapped: tsne, umap (needs umap-learn), pca.")] = "tsne",
    noun: Annotated[str | None, typer.Option(help="What a sample is called, as face.")] = None,
    open_it: Open = False,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a report on a model: one HTML file, to open in a browser, that needs no network.

    Layers, the input and baselines against the labels; maps, clusters, components and single samples; training and
    provenance. Labels that the model was given are not scored, and baselines are given the same ones. Maps are kept in
    a file beside the model, for the next report.

    \b
    Examples:
      laminar report wine.laminar --open
      laminar report faces.laminar --labels all.csv --map pca -o faces.html
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        from laminar._persistence.model_file import read_model
        from laminar.io.write import check_output

        from ..samples import check_layers, given_labels, known_labels, read_again, training_samples

        target = output or model.with_suffix(".html")
        check_output(target, (".html",), force)
        file = read_model(model)
        check_layers(file.model)
        samples = (
            _samples_of_fit(file, data, terminal)
            if data
            else read_again(file, model, terminal, "pictures and baselines")
        )
        ids = training_samples(file, model) if samples is None else samples.ids
        known = known_labels(file, ids, samples, labels, id_column, terminal)
        given = given_labels(file)
        facts = write_report(
            file.model,
            target,
            _described(file, samples, ids),
            terminal,
            labels=known,
            given={} if given is None else given,
            run=file.run,
            map=map,
            noun=noun,
            cache=model.with_suffix(".maps.npz"),
            seed=seed,
        )
        terminal.finish(facts)
        if open_it:
            open_page(target)


def _samples_of_fit(file: File, paths: list[Path], terminal: Terminal) -> Dataset:
    """Read the samples of the fit from another place."""
    from ..samples import read_alike

    samples = read_alike(file, paths, terminal, skip_bad=True)
    fingerprint = (file.run or {}).get("fingerprint")
    names = None if file.data is None else file.data.ids
    if (fingerprint is not None and samples.fingerprint() != fingerprint) or (
        names is not None and len(names) and not np.array_equal(names, samples.ids)
    ):
        raise ValueError(
            "these are not the samples of the fit, which a report is of: leave them out, or score new ones with "
            "laminar evaluate."
        )
    return samples


def _described(file: File, samples: Dataset | None, ids: np.ndarray) -> Dataset:
    """Return the samples, or what the model file has of them."""
    from laminar.io.dataset import Dataset

    if samples is not None:
        return samples
    return Dataset(None, ids) if file.data is None or len(file.data.ids) != len(ids) else file.data

"""`laminar transform`: codes of samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..options import Debug, Force, Json, MaxMemory, ModelFile, Quiet, SkipBad, limited
from ..terminal import session

if TYPE_CHECKING:
    from pandas import DataFrame
    from sklearn.base import BaseEstimator

    from laminar.io.dataset import Dataset

Layer = Annotated[str | None, typer.Option(help="Layer: its number from 0, an attribute, or all.")]
Readout = Annotated[
    str | None, typer.Option(help="Form of the codes: raw, whitened, isometric, or a number from 0 to 1.")
]


def transform(
    model: ModelFile,
    data: Annotated[list[Path], typer.Argument(help="Samples, read as those of the fit were.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File of the codes: .csv .tsv .parquet .npz .npy .h5ad.  [default: standard output]"
        ),
    ] = None,
    layer: Layer = None,
    readout: Readout = None,
    skip_bad: SkipBad = False,
    max_memory: MaxMemory = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute the codes of samples, new ones or those of the fit, with a model from a file.

    New data are treated as those of the fit were: images brought to the same size, texts to the same words, columns
    matched by name.

    \b
    Examples:
      laminar transform faces.laminar more_faces/ -o codes.csv
      laminar transform faces.laminar more_faces/ --layer pose -o pose.npz
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal, limited(max_memory):
        from laminar._persistence.model_file import read_model
        from laminar.io.write import CODE_ENDINGS, check_output, write_codes

        from ..samples import read_alike

        if output is not None:
            check_output(output, CODE_ENDINGS, force)
        file = read_model(model)
        samples = read_alike(file, data, terminal, skip_bad=skip_bad)
        terminal.progress.stage(f"codes of {samples.n_samples} samples")
        codes = codes_of(file.model, samples, layer, readout_of(readout))
        facts = {"n_samples": len(codes), "columns": list(codes.columns), "output": output}
        if output is None:
            terminal.show(codes.to_csv(index_label="id").rstrip())
            facts["codes"] = {"ids": list(codes.index), "values": codes.to_numpy()}
        else:
            source = data[0] if data[0].suffix == ".h5ad" else None
            write_codes(
                output,
                samples.ids,
                codes.to_numpy(),
                list(codes.columns),
                model=file.model,
                source=source,
                feature_names=None if isinstance(names := samples.feature_names, dict) else names,
            )
            terminal.wrote(output)
        terminal.finish(facts)


def codes_of(model: BaseEstimator, samples: Dataset, layer: str | None, readout: str | float | None) -> DataFrame:
    """Return the codes of samples as a table with their names."""
    from ..samples import arguments_of

    chosen = {"layer": layer_of(layer), "readout": readout}
    given = {name: value for name, value in chosen.items() if value is not None}
    codes = model.set_output(transform="pandas").transform(samples.X, **given, **arguments_of(model.transform, samples))
    return codes.set_axis(samples.ids, axis=0)


def readout_of(text: str | None) -> str | float | None:
    """Return a form of codes as models take it: a number, or a name.

    Examples
    --------
    >>> readout_of("0.75"), readout_of("whitened"), readout_of(None)
    (0.75, 'whitened', None)
    """
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def layer_of(text: str | None) -> int | str | None:
    """Return a layer as models take it: a whole number, or a name.

    Examples
    --------
    >>> layer_of("0"), layer_of("-1"), layer_of("pose"), layer_of(None)
    (0, -1, 'pose', None)
    """
    return int(text) if text is not None and text.removeprefix("-").isdigit() else text

"""`laminar select`: how many components, and how many layers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..options import Debug, Json, Quiet, Seed, numbers, split, with_reading_options
from ..terminal import session, table

CANDIDATES = (2, 3, 5, 8, 12, 20, 30, 50)


@with_reading_options
def select(
    data: Annotated[list[Path], typer.Argument(help="Folder of images or texts, table, array or video.")],
    reading: dict,
    candidates: Annotated[
        str | None,
        typer.Option(help="Sizes, as 5,10,20; or sizes of several layers, as 100-20,100-40.  [default: 2 to 50]"),
    ] = None,
    model: Annotated[str, typer.Option(help="Model, see laminar models.")] = "deep-semi-nmf",
    method: Annotated[
        str, typer.Option(help="entries: predict hidden entries. stability: find the same clusters in two halves.")
    ] = "entries",
    repeats: Annotated[int, typer.Option(min=2, help="Random splits.")] = 5,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Choose the number of components, or the sizes of layers, without labels.

    \b
    Examples:
      laminar select faces/ --candidates 5,10,20,40
      laminar select faces/ --candidates 20,100-20,100-40 --method stability --repeats 2
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        from laminar import select_layers

        from ..choice import command_name, named
        from ..samples import read_samples

        estimator = named(model, seed).estimator
        given = (
            None if candidates is None else [numbers(c.replace("-", ","), "--candidates") for c in split(candidates)]
        )
        samples = read_samples(data, reading, terminal)
        if samples.has_views:
            raise ValueError("laminar select takes one input: select the sizes of one view at a time.")
        X: Any = samples.X
        sizes = given or [(k,) for k in CANDIDATES if k <= min(X.shape) // 2]
        found = select_layers(
            X, sizes, estimator=estimator, method=method, n_repeats=repeats, random_state=seed, verbose=terminal.verbose
        )
        best = "-".join(map(str, found.best_))
        rows = [
            [f"{candidate}, {layer}", str(int(row["size"])), f"{row['score']:.4f}", f"{row['standard_error']:.4f}"]
            for (candidate, layer), row in found.table_.iterrows()
        ]
        columns = ["candidate", "components", "score", "standard error"]
        terminal.show(table(f"Scores by {method}, mean of {repeats} splits", columns, rows))
        option = f"--layers {','.join(map(str, found.best_))}"
        terminal.show(f"Best: {best}. laminar fit {data[0]} --model {command_name(type(estimator).__name__)} {option}")
        scores = [
            {"candidate": candidate, "layer": layer, **row.to_dict()}
            for (candidate, layer), row in found.table_.iterrows()
        ]
        terminal.finish({"best": list(found.best_), "method": method, "scores": scores})

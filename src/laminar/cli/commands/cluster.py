"""`laminar cluster`: clusters of samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..options import Debug, Force, Json, ModelFile, Quiet, SkipBad
from ..terminal import session, table
from .transform import Layer, layer_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from laminar._persistence.model_file import ModelFile as File
    from laminar.io.dataset import Dataset


def cluster(
    model: ModelFile,
    data: Annotated[
        list[Path] | None, typer.Argument(help="Samples, read as those of the fit were.  [default: those of the fit]")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table of the clusters: .csv .tsv .parquet.  [default: standard output]"),
    ] = None,
    attribute: Annotated[
        str | None, typer.Option(help="Attribute that clusters are of: its layer, and as many clusters as classes.")
    ] = None,
    layer: Layer = None,
    n_clusters: Annotated[int | None, typer.Option("--clusters", "-k", min=1, help="Number of clusters.")] = None,
    skip_bad: SkipBad = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Cluster the samples of the fit, or new ones, by their codes in one layer.

    The table has a row for each sample: its name, its cluster, and for a model that predicts the attribute the
    predicted class.

    \b
    Examples:
      laminar cluster faces.laminar --attribute identity -o clusters.csv
      laminar cluster deep.laminar --layer 0 -k 10 -o parts.csv
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        from laminar._persistence.model_file import read_model
        from laminar.io.write import TABLE_ENDINGS, check_output, write_table

        from ..samples import check_layers, read_again, read_alike

        if output is not None:
            check_output(output, TABLE_ENDINGS, force)
        file = read_model(model)
        check_layers(file.model)
        samples = read_alike(file, data, terminal, skip_bad=skip_bad) if data else None
        terminal.progress.stage("clusters")
        frame = clusters_of(file, model, samples, attribute, layer_of(layer), n_clusters)
        if attribute in _classes(file.model):
            found = samples or read_again(file, model, terminal, "predicted classes")
            if found is not None:
                frame["predicted"] = file.model.predict(found.X, attribute=attribute)
        sizes = np.bincount(frame["cluster"])
        if output is None:
            terminal.show(frame.to_csv(index_label="id").rstrip())
        else:
            write_table(output, frame.rename_axis("id").reset_index())
            terminal.wrote(output)
            terminal.show(_sizes(frame, sizes))
        facts = {"n_samples": len(frame), "n_clusters": len(sizes), "sizes": sizes, "output": output}
        if output is None:
            facts["clusters"] = frame["cluster"].to_dict()
        terminal.finish(facts)


def clusters_of(
    file: File,
    path: Path,
    samples: Dataset | None,
    attribute: str | None,
    layer: int | str | None,
    n_clusters: int | None,
) -> DataFrame:
    """Return a table of the clusters, indexed by the names of the samples."""
    import pandas

    from laminar import layer_clusters

    from ..samples import training_samples

    model, X = file.model, None if samples is None else samples.X
    ids = training_samples(file, path) if samples is None else samples.ids
    if attribute is not None:
        layer, n_clusters = _of_attribute(file, path, attribute, layer, n_clusters)
    if n_clusters is None and layer is None and hasattr(model, "cluster"):
        found = model.cluster(X)
    else:
        layer = getattr(model, "layer", -1) if layer is None else layer
        found = layer_clusters(model, layer, n_clusters or _default_clusters(model, layer), X)
    return pandas.DataFrame({"cluster": np.asarray(found)}, index=ids)


def _of_attribute(file: File, path: Path, attribute: str, layer: Any, n_clusters: int | None) -> tuple[Any, int]:
    """Return the layer and the number of clusters that suit an attribute."""
    classes = _classes(file.model)
    labels = None if file.data is None else file.data.labels
    if attribute in classes:
        return attribute if layer is None else layer, n_clusters or len(classes[attribute])
    if labels is not None and attribute in labels:
        return layer, n_clusters or int(labels[attribute].nunique())
    have = sorted({*map(str, classes), *(() if labels is None else map(str, labels.columns))})
    known = f"it has {', '.join(have)}" if have else "it was fitted without labels: give -k instead"
    raise ValueError(f"--attribute {attribute}: {path} has no such attribute; {known}.")


def _classes(model: Any) -> dict[str, Any]:
    """Return the classes of each attribute, of models with layers of attributes."""
    classes = getattr(model, "classes_", None)
    return classes if isinstance(classes, dict) else {}


def _default_clusters(model: Any, layer: Any) -> int:
    given = getattr(model, "n_clusters", None)
    if given:
        return int(given)
    if layer in _classes(model):
        return len(_classes(model)[layer])
    if getattr(model, "_clusters_layers", False) and isinstance(layer, int):
        return len(model.layers_[layer].components)
    raise ValueError("the number of clusters is not known: give -k, or --attribute.")


def _sizes(frame: DataFrame, sizes: np.ndarray):
    """Return a table of the largest clusters."""
    order = np.argsort(-sizes, kind="stable")[:20]
    rows = [[str(c), str(sizes[c]), ", ".join(map(str, frame.index[frame["cluster"] == c][:4]))] for c in order]
    rest = f", the {len(order)} largest" if len(order) < len(sizes) else ""
    return table(
        f"{len(sizes)} clusters of {len(frame)} samples{rest}", ["cluster", "samples", "such as"], rows, text=[2]
    )

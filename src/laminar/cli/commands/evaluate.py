"""`laminar evaluate`: which layer shows which attribute, beside chance, the data and baselines with the same labels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..options import Debug, Force, Json, ModelFile, Quiet, Seed, SkipBad
from ..terminal import Terminal, session, table

if TYPE_CHECKING:
    from pandas import DataFrame

    from laminar._persistence.model_file import ModelFile as File
    from laminar.io.dataset import Dataset


Predictor = Callable[[str, np.ndarray, np.ndarray, np.ndarray], np.ndarray | None]


def evaluate(
    model: ModelFile,
    data: Annotated[
        list[Path] | None, typer.Argument(help="Samples, read as those of the fit were.  [default: those of the fit]")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV of labels: an id column, one column an attribute.  [default: those of the fit]"),
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the labels with the names of the samples.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Table as a file: .csv .tsv .parquet.")] = None,
    seed: Seed = 0,
    skip_bad: SkipBad = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Score how well each layer shows each attribute: clusters and a linear classifier, beside chance and the data.

    Labels that the fit was given are not scored. Beside a model that was given labels are baselines that were given the
    same ones: linear discriminants with a pooled covariance and label spreading, by the features of each attribute's
    own layer. A second table has classifiers that were given the labels of the fit, of the data, of each layer, these
    baselines and the model's own, on samples whose label they were not given.

    \b
    Examples:
      laminar evaluate faces.laminar --labels all.csv
      laminar evaluate faces.laminar more_faces/ --labels all.csv -o scores.csv
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        from laminar import layer_attribute_table
        from laminar._persistence.model_file import read_model
        from laminar.io.write import TABLE_ENDINGS, check_output, write_table

        from ..samples import check_layers, given_labels, known_labels, read_again, read_alike, training_samples

        if output is not None:
            check_output(output, TABLE_ENDINGS, force)
        file = read_model(model)
        check_layers(file.model)
        given = given_labels(file)
        samples = read_alike(file, data, terminal, skip_bad=skip_bad) if data else None
        training = None
        if not data or given is not None:
            training = read_again(file, model, terminal, "scores of the data themselves")
        ids = training_samples(file, model) if samples is None else samples.ids
        samples = samples or training
        truth = known_labels(file, ids, samples, labels, id_column, terminal)
        if truth is None:
            raise ValueError("there are no labels to compare with: give a table of them, --labels all.csv.")
        scored, unseen = (truth, list(truth)) if data or given is None else _not_given(truth, given, terminal)
        baselines = _label_baselines(training, given, scored[unseen], seed)
        scores = layer_attribute_table(
            file.model,
            None if samples is None else samples.X,
            scored,
            groups=_groups(file, samples),
            baselines=baselines,
            random_state=seed,
            verbose=terminal.verbose,
        )
        classifiers = _classifiers(file.model, baselines, training, given, samples, scored[unseen], terminal)
        if given is not None:
            names = ", ".join(map(str, given))
            terminal.inform(f"The layers were given some labels of {names}; X in the first table was not.")
        _show(scores, classifiers, terminal)
        if output is not None:
            flat = scores.set_axis([f"{attribute} {metric}" for attribute, metric in scores.columns], axis=1)
            write_table(output, flat.rename_axis("layer").reset_index())
            terminal.wrote(output)
        facts = {"scores": _nested(scores)}
        if classifiers is not None:
            facts["classifiers"] = {name: _numbers(column.to_dict()) for name, column in classifiers.items()}
        terminal.finish({**facts, "n_samples": len(ids), "output": output})


def _not_given(truth: DataFrame, given: DataFrame, terminal: Terminal) -> tuple[DataFrame, list[str]]:
    """Return the labels that the model was not given, and the names of the attributes that have such.

    Of an attribute of which hardly any others are left, all are returned.
    """
    scored, unseen = truth.copy(), list(truth)
    for name in [name for name in given if name in truth]:
        others = truth[name].where(given[name].isna().to_numpy(), None)
        if others.nunique() < 2:
            terminal.inform(f"Nearly all labels of {name} were given to the model: its scores are of given labels.")
            unseen.remove(name)
        else:
            scored[name] = others
    return scored, unseen


def _groups(file: File, samples: Dataset | None) -> np.ndarray | None:
    """Return the sequence of each sample, where there are several."""
    of = samples if samples is not None else file.data
    groups = None if of is None else of.groups
    return groups if groups is not None and len(np.unique(groups)) > 1 else None


# ---- baselines and classifiers that were given the labels of the fit -------------------------------------------------


def _label_baselines(training: Dataset | None, given: DataFrame | None, scored: DataFrame, seed: int) -> dict[str, Any]:
    """Fit the baselines with labels to the data and labels of the fit, where these are arrays in memory."""
    import scipy.sparse as sp

    from laminar.baselines import LabelSpreading, PooledLDA

    if training is None or given is None or not (isinstance(training.X, np.ndarray) or sp.issparse(training.X)):
        return {}
    names = [name for name in given if name in scored and given[name].nunique() > 1 and scored[name].notna().any()]
    models = PooledLDA(random_state=seed), LabelSpreading(random_state=seed)
    return {type(model).__name__: model.fit(training.X, given[names]) for model in models} if names else {}


def _classifiers(
    model: Any,
    baselines: dict[str, Any],
    training: Dataset | None,
    given: DataFrame | None,
    samples: Dataset | None,
    scored: DataFrame,
    terminal: Terminal,
) -> DataFrame | None:
    """Return accuracies on the scored labels, of classifiers that were given the labels of the fit."""
    import pandas

    from laminar._utils.progress import track
    from laminar._utils.threads import own_threads

    if training is None or samples is None or given is None or training.has_views:
        return None
    names = [name for name in given if name in scored and given[name].nunique() > 1 and scored[name].notna().any()]
    predictors = _predictors(model, baselines, training.X, samples.X)
    accuracies: dict[str, dict[str, float]] = {name: {} for name in names}
    cells = [(name, label) for name in names for label in predictors]
    with own_threads():  # of logistic regression one thread: more cost more than they save
        for name, label in track(cells, "classifiers", unit="scores", verbose=terminal.verbose):
            known, other = given[name].notna().to_numpy(), scored[name].notna().to_numpy()
            found = predictors[label](str(name), known, given[name][known].to_numpy(dtype=str), other)
            if found is not None:
                accuracies[name][label] = float(np.mean(found.astype(str) == scored[name][other].to_numpy(dtype=str)))
    return pandas.DataFrame(accuracies) if names else None


def _predictors(model: Any, baselines: dict[str, Any], X: Any, new: Any) -> dict[str, Predictor]:
    """Return functions of the attribute, the mask and the classes of given labels, and the mask of those to predict."""
    from laminar import layer_features
    from laminar.evaluation.layers import layer_names

    found: dict[str, Predictor] = {"largest class": lambda _, known, y, other: np.full(other.sum(), _most_frequent(y))}
    inputs = {"the data": (X, new)}
    for i, layer in enumerate(layer_names(model)):
        E = layer_features(model, i, X, readout="isometric")
        inputs[layer] = E, E if new is X else layer_features(model, i, new, readout="isometric")
    for label, (E, F) in inputs.items():
        found[f"linear classifier of {label}"] = partial(_linear, E, F)
    for label, own in {**baselines, type(model).__name__: model}.items():
        found[label] = partial(_own_prediction, own, new)
    return found


def _linear(E: Any, new: Any, attribute: str, known: np.ndarray, y: np.ndarray, other: np.ndarray) -> np.ndarray:
    from laminar.evaluation.probe import linear_prediction

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few samples a class, as for the probe
        return linear_prediction(E[known], y, new[other])


def _own_prediction(
    model: Any, new: Any, attribute: str, known: np.ndarray, y: np.ndarray, other: np.ndarray
) -> np.ndarray | None:
    """Return what the model itself predicts, where it predicts classes."""
    classes = getattr(model, "classes_", None)
    if isinstance(classes, dict):
        return model.predict(new[other], attribute=attribute) if attribute in classes else None
    return None if classes is None else model.predict(new[other])


def _most_frequent(y: np.ndarray) -> str:
    classes, counts = np.unique(y, return_counts=True)
    return classes[counts.argmax()]


# ---- tables ----------------------------------------------------------------------------------------------------------


def _show(scores: DataFrame, classifiers: DataFrame | None, terminal: Terminal) -> None:
    attributes = list(dict.fromkeys(scores.columns.get_level_values(0)))
    metrics = list(dict.fromkeys(scores.columns.get_level_values(1)))
    rows = [
        [str(layer), *(" / ".join(_digits(row[a, m]) for m in metrics) for a in attributes)]
        for layer, row in scores.iterrows()
    ]
    title = "Clusters: accuracy / NMI; linear probe, cross-validated: accuracy"
    terminal.show(table(title, ["", *map(str, attributes)], rows))
    if classifiers is not None:
        rows = [
            [str(name), *map(_digits, row)] for name, row in zip(classifiers.index, classifiers.to_numpy(), strict=True)
        ]
        title = "Given the labels of the fit: accuracy on samples whose label was not given"
        terminal.show(table(title, ["", *map(str, classifiers.columns)], rows))


def _digits(score: float) -> str:
    return "-" if math.isnan(score) else f"{score:.2f}"


def _nested(scores: DataFrame) -> dict[str, Any]:
    attributes = dict.fromkeys(scores.columns.get_level_values(0))
    return {str(row): {str(a): _numbers(scores.loc[row, a].to_dict()) for a in attributes} for row in scores.index}


def _numbers(scores: dict[str, float]) -> dict[str, float | None]:
    return {str(name): None if math.isnan(value) else round(float(value), 6) for name, value in scores.items()}

"""Data of the command: read with a line on what they are, or read as those of a model file were."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .terminal import Terminal

if TYPE_CHECKING:
    from pandas import DataFrame

    from laminar._persistence.model_file import ModelFile
    from laminar.io.dataset import Dataset


def read_samples(paths: Sequence[Path], reading: Mapping[str, Any], terminal: Terminal) -> Dataset:
    """Read data and report what was read, and what was done on the way.

    Parameters
    ----------
    paths : sequence of Path
        One input, or several, which are views.
    reading : mapping
        Options of `laminar.read`.
    terminal : Terminal
        Where to report.

    Returns
    -------
    Dataset
        The data.
    """
    from laminar.io.read import read

    terminal.progress.stage(f"reading {', '.join(map(str, paths))}")
    data = read(paths, verbose=terminal.verbose, **reading)
    report(data, terminal)
    if data.labels is not None and "labels" not in reading:  # of a file of labels the notes have the counts
        terminal.inform(f"  Labels: {label_counts(data.labels)}.")
    return data


def read_alike(file: ModelFile, paths: Sequence[Path], terminal: Terminal, *, skip_bad: bool = False) -> Dataset:
    """Read new data as those that the model was fitted to were read.

    Parameters
    ----------
    file : ModelFile
        The model.
    paths : sequence of Path
        As many inputs as the model has views.
    terminal : Terminal
        Where to report.
    skip_bad : bool, default=False
        Whether files that cannot be read are left out.

    Returns
    -------
    Dataset
        The data.
    """
    from laminar.io.read import read

    terminal.progress.stage(f"reading {', '.join(map(str, paths))}")
    data = read(paths, like=file.data, skip_bad=skip_bad, verbose=terminal.verbose)
    report(data, terminal)
    _check_features(file, data)
    return data


def report(data: Dataset, terminal: Terminal) -> None:
    """Print what was read."""
    terminal.inform(f"Read {describe(data)}.")
    for note in data.notes:
        terminal.inform(f"  {note}")


def label_counts(labels: DataFrame) -> str:
    """Return how many labels of each attribute are known.

    Examples
    --------
    >>> import pandas
    >>> label_counts(pandas.DataFrame({"pose": ["left", None, "right"]}))
    'pose 2 of 3 (2 classes)'
    """
    known = labels.notna().sum()
    return ", ".join(f"{name} {known[name]} of {len(labels)} ({labels[name].nunique()} classes)" for name in labels)


def describe(data: Dataset) -> str:
    """Return the size of data in words.

    Examples
    --------
    >>> from laminar import Dataset
    >>> describe(Dataset(np.zeros((3, 4)), np.array(list("abc")), image_shape=(2, 2)))
    '3 images of 2 x 2 pixels'
    """
    if data.has_views:
        widths = ", ".join(f"{name} {X.shape[1]}" for name, X in data.views().items())
        return f"{data.n_samples} samples in {len(data.views())} views (features: {widths})"
    X: Any = data.X
    if isinstance(data.image_shape, tuple):
        what = "frames" if data.groups is not None else "images"
        size = " x ".join(map(str, data.image_shape[:2]))
        colour = " in colour" if len(data.image_shape) > 2 else ""
        return f"{data.n_samples} {what} of {size} pixels{colour}"
    return f"{data.n_samples} samples of {X.shape[1]} features"


def _check_features(file: ModelFile, data: Dataset) -> None:
    """Refuse data of another number of features, for models whose file has no reader."""
    expected = getattr(file.model, "n_features_in_", None)
    if file.data is None and not data.has_views and expected not in (None, data.views()["X"].shape[1]):
        raise ValueError(
            f"the model was fitted to {expected} features, and the data have {data.views()['X'].shape[1]}: bring them "
            "to the same features, images by laminar.read(..., size=...)."
        )


def arguments_of(method, data: Dataset) -> dict[str, Any]:
    """Return what the data have of the arguments ``groups`` and ``observed`` of a method of an estimator."""
    parameters = inspect.signature(method).parameters
    given = {"groups": data.groups, "observed": data.observed}
    return {name: value for name, value in given.items() if name in parameters and value is not None}


def check_layers(model: Any) -> None:
    """Refuse a model without layers, whose codes are neither clustered nor scored."""
    if not hasattr(model, "layers_"):
        raise ValueError(
            f"{type(model).__name__} has no layers to cluster or to score: laminar transform gives its signals, and "
            "laminar fit --model slow-feature-nmf has layers."
        )


def known_labels(
    file: ModelFile,
    ids: np.ndarray,
    samples: Dataset | None,
    path: Path | None,
    id_column: str | None,
    terminal: Terminal,
) -> DataFrame | None:
    """Return the labels to compare a model with, as text, None where unknown.

    Parameters
    ----------
    file : ModelFile
        The model.
    ids : ndarray of str of shape (n_samples,)
        Names of the samples.
    samples : Dataset or None
        The samples, where they were read.
    path : Path or None
        Table of labels; None means those that were read with the samples, or else those of the fit.
    id_column : str or None
        Column of the table with the names of the samples.
    terminal : Terminal
        Where to report what was matched.

    Returns
    -------
    DataFrame or None
        One column an attribute; None where no label is known.
    """
    from laminar.io.dataset import Dataset
    from laminar.io.labels import match_labels, read_labels

    if path is not None:
        matched = match_labels(Dataset(None, ids), read_labels(path, id_column=id_column))
        for note in matched.notes:
            terminal.inform(f"  {note}")
        labels = matched.labels
    else:
        labels = samples.labels if samples is not None and samples.labels is not None else None
        if labels is None and file.data is not None and len(file.data.ids) == len(ids):
            labels = file.data.labels
    return None if labels is None or not labels.shape[1] else _as_text(labels)


def given_labels(file: ModelFile) -> DataFrame | None:
    """Return the labels that the model was given, as text, None where unknown; None if it was given none."""
    from .choice import MODELS

    labels = None if file.data is None else file.data.labels
    if labels is None:
        return None
    # Without a record of the run, as in a file that Python wrote, a model that uses labels was given all of them.
    assumed = list(labels) if MODELS[type(file.model).__name__].labels else []
    attributes = assumed if file.run is None else list(file.run.get("attributes", ()))
    return _as_text(labels[attributes]) if attributes else None


def _as_text(labels: DataFrame) -> DataFrame:
    return labels.astype(object).where(labels.notna(), None).map(lambda value: None if value is None else str(value))


def training_samples(file: ModelFile, path: Path) -> np.ndarray:
    """Return the names of the training samples; raise an error where the file has none."""
    if not file.has_training_codes:
        raise ValueError(f"{path} was saved without its training samples: give the data as a second argument.")
    if file.data is None:
        layers = getattr(file.model, "layers_", [])
        n_samples = layers[-1].representation.shape[0] if layers else 0
        return np.array([str(i) for i in range(n_samples)])
    return file.data.ids


def read_again(file: ModelFile, path: Path, terminal: Terminal, purpose: str) -> Dataset | None:
    """Read the training data from where the run read them, if they are still there and the same.

    Parameters
    ----------
    file : ModelFile
        The model.
    path : Path
        Its file: data are also sought beside it.
    terminal : Terminal
        Where to report what is left out otherwise.
    purpose : str
        What the data are needed for.

    Returns
    -------
    Dataset or None
        The data, None where they are not the same.
    """
    from laminar._utils.stored import Stored

    inputs = [Path(name) for name in (file.run or {}).get("inputs", ())]
    places = [inputs, [path.parent / name for name in inputs]]
    found = next((paths for paths in places if paths and all(place.exists() for place in paths)), None)
    if file.data is None or found is None:
        terminal.inform(f"The training data are not where they were: without {purpose}.")
        return None
    data = read_alike(file, found, terminal, skip_bad=True)
    if any(isinstance(X, Stored) for X in data.views().values()):
        terminal.inform(f"The training data are on disk, too large for memory: without {purpose}.")
        return None
    if data.fingerprint() != (file.run or {}).get("fingerprint"):
        terminal.inform(f"The training data have changed since the fit: without {purpose}.")
        return None
    return data

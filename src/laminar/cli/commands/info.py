"""`laminar info`: what is in a model file, or in data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..options import Debug, Json, Quiet, with_reading_options
from ..samples import label_counts
from ..terminal import Terminal, session, size, table

if TYPE_CHECKING:
    from laminar._persistence.model_file import ModelFile
    from laminar.io.dataset import Dataset


@with_reading_options
def info(
    path: Annotated[list[Path], typer.Argument(help="Model file, or data: a folder, a table, arrays, a video.")],
    reading: dict,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what is in a model file, with the command that makes it again, or what is in data.

    \b
    Examples:
      laminar info faces.laminar
      laminar info faces/ --name-pattern "{identity}_{pose}_{light}"
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        if len(path) == 1 and path[0].suffix in (".laminar", ".safetensors"):
            _model_info(path[0], terminal)
        else:
            _data_info(path, reading, terminal)


# ---- models ----------------------------------------------------------------------------------------------------------


def _model_info(path: Path, terminal: Terminal) -> None:
    from laminar._persistence.model_file import read_header, read_model

    header = read_header(path)
    if not header.is_model:
        tensors = {name: f"{dtype} {list(shape)}" for name, (dtype, shape) in header.tensors.items()}
        terminal.show(_lines(f"{path}: a safetensors file of another program, not a model of Laminar.", tensors))
        terminal.finish({"model": None, "tensors": tensors})
        return
    file = read_model(path)
    facts = model_facts(file, path)
    terminal.show(_lines(f"{path}: {facts['model']}", _shown(facts)))
    strongest = strongest_features(file)
    if strongest:
        rows = [[str(a), ", ".join(names)] for a, names in list(strongest.items())[:20]]
        terminal.show(table("Strongest features of the components", ["component", "features"], rows, text=[0, 1]))
    terminal.finish({**facts, "strongest_features": strongest})


def strongest_features(file: ModelFile, n_features: int = 6) -> dict[int, list[str]]:
    """Return the names of the largest entries of each component, those below zero with a minus.

    Parameters
    ----------
    file : ModelFile
        Model and description of its data; without names of features nothing is returned.
    n_features : int, default=6
        Number of names for each component.

    Returns
    -------
    dict
        Number of the component -> names, in the order of the entries.
    """
    Z = getattr(file.model, "components_", None)
    names = None if file.data is None else file.data.feature_names
    if Z is None or not isinstance(names, np.ndarray) or Z.shape[1] != len(names):
        return {}
    order = np.argsort(-np.abs(Z), axis=1)[:, :n_features]
    return {a: [f"{'-' * bool(Z[a, j] < 0)}{names[j]}" for j in order[a] if Z[a, j] != 0] for a in range(len(Z))}


def model_facts(file: ModelFile, path: Path) -> dict[str, Any]:
    """Return what is in a model file, by name."""
    from laminar.evaluation.layers import layer_names

    model, run = file.model, file.run or {}
    facts: dict[str, Any] = {
        "model": type(model).__name__,
        "size": size(path.stat().st_size),
        "written_by": f"Laminar {file.version}",
    }
    facts["settings"] = changed_parameters(model)
    facts["layers"] = layer_names(model) if hasattr(model, "layers_") else []
    facts["features"] = getattr(model, "n_features_in_", None)
    facts["training_samples"] = _training_samples(file)
    if file.data is not None:
        facts |= _data_facts(file.data)
    facts |= {key: run[key] for key in ("date", "seconds", "seed", "fingerprint", "choices", "versions") if key in run}
    facts["given_labels_of"] = run.get("attributes", [])
    facts["run_again"] = run.get("command")
    return facts


def changed_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters that differ from their defaults.

    Examples
    --------
    >>> from laminar import NMF
    >>> changed_parameters(NMF(5, tol=1e-4))
    {'n_components': 5}
    """
    defaults = type(model)().get_params(deep=False)
    return {
        name: value if isinstance(value, str | int | float | bool | tuple | list) else repr(value)
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(defaults[name])
    }


def _training_samples(file: ModelFile) -> str:
    if file.has_training_codes:
        return "codes" if file.data is None else "codes, names and labels"
    kept = ", ".join(file.training_samples)
    return f"left out, but for {kept}" if kept else "left out"


def _data_facts(data: Dataset) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "image_shape": data.image_shape,
        "reader": repr(data.reader)[:200] if data.reader else None,
    }
    if len(data.ids):
        facts["samples"] = f"{len(data.ids)}: {', '.join(map(str, data.ids[:3]))} ..."
    if data.labels is not None:
        facts["labels"] = label_counts(data.labels)
    return {name: value for name, value in facts.items() if value is not None}


# ---- data ------------------------------------------------------------------------------------------------------------


def _data_info(paths: list[Path], reading: dict, terminal: Terminal) -> None:
    from laminar.io.read import read

    from ..samples import describe

    terminal.progress.stage(f"reading {', '.join(map(str, paths))}")
    data = read(paths, verbose=terminal.verbose, **reading)
    facts: dict[str, Any] = {"n_samples": data.n_samples}
    for name, X in data.views().items():
        facts[name] = view_facts(X)
    if data.labels is not None:
        facts["labels"] = label_counts(data.labels)
    if data.groups is not None:
        names, counts = np.unique(data.groups, return_counts=True)
        facts["sequences"] = {str(name): int(count) for name, count in zip(names, counts, strict=True)}
        facts["frame_rate"] = data.frame_rate
    if data.observed is not None:
        facts["samples_that_lack_a_view"] = int((~data.observed).any(axis=1).sum())
    facts |= {"notes": list(data.notes), "fingerprint": data.fingerprint()}
    terminal.show(_lines(describe(data), _shown(facts)))
    terminal.finish(facts)


def view_facts(X: Any) -> dict[str, Any]:
    """Return shape, type, range and share of zeros of data.

    Examples
    --------
    >>> view_facts(np.array([[0.0, 2.0]]))
    {'shape': [1, 2], 'type': 'float64', 'smallest': 0.0, 'largest': 2.0, 'zeros': 0.5}
    """
    import scipy.sparse as sp

    from laminar.io.dataset import row_blocks

    lows, highs, n_zeros, n_entries = [], [], 0, 0
    for block in row_blocks(X):
        known = block[~np.isnan(block)]  # a sample that lacks a view has none
        if known.size:
            lows.append(float(known.min()))
            highs.append(float(known.max()))
        n_zeros, n_entries = n_zeros + int(np.count_nonzero(known == 0)), n_entries + known.size
    if sp.issparse(X):  # whose blocks are of the stored entries
        lows, highs = [*lows, 0.0], [*highs, 0.0]
        n_zeros, n_entries = n_zeros + int(np.prod(X.shape)) - n_entries, int(np.prod(X.shape))
    return {
        "shape": list(X.shape),
        "type": f"{X.dtype}{', sparse' * sp.issparse(X)}",
        "smallest": min(lows, default=None),
        "largest": max(highs, default=None),
        "zeros": round(n_zeros / max(n_entries, 1), 4),
    }


# ---- as text ---------------------------------------------------------------------------------------------------------


def _shown(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return facts as text, without those that are empty."""
    return {
        name.replace("_", " "): _text(value)
        for name, value in facts.items()
        if value not in (None, [], {}, "") and name not in ("model", "n_samples")
    }


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key} {_text(each)}" if not isinstance(each, list) else f"{key} {each}" for key, each in value.items()
        )
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return str(value)


def _lines(title: str, facts: Mapping[str, str]):
    found = table(title, ["", ""], list(facts.items()), text=[0, 1])
    found.show_header = False
    found.columns[1].overflow = "fold"
    return found

"""How a model was fitted, and what is needed to fit it again."""

from __future__ import annotations

import inspect
import math
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

import laminar

from .subject import Subject

HIDDEN = ("callback", "verbose", "warm_start")  # of a run, not of the model
MAX_POINTS = 400  # of a curve
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def training(subject: Subject) -> dict[str, Any]:
    """Return the course of the fit: objectives, stationarity, weights of bands.

    Parameters
    ----------
    subject : Subject
        The model and its samples.

    Returns
    -------
    dict
        ``curves``, a list of names and values; ``n_iter``, ``is_converged``, ``kkt_residual`` and ``seconds``, None
        where the model has none; ``bands``, names of bands and, for each attribute, their weights, or None.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.report.subject import read_subject
    >>> X = np.random.default_rng(0).random((8, 5))
    >>> found = training(read_subject(NMF(2, random_state=0).fit(X), X))
    >>> [curve["name"] for curve in found["curves"]], found["is_converged"]
    (['objective'], True)
    """
    model = subject.model
    converged = getattr(model, "converged_", None)
    bands = getattr(model, "band_weights_", None)
    return {
        "curves": [] if bands else _curves(subject),
        "n_iter": _number(getattr(model, "n_iter_", None)),
        "is_converged": None if converged is None else bool(converged),
        "kkt_residual": _number(getattr(model, "kkt_residual_", None)),
        "seconds": _number(subject.run.get("seconds")),
        "bands": _bands(bands) if bands else None,
    }


def _curves(subject: Subject) -> list[dict[str, Any]]:
    model = subject.model
    layers = [place.name for place in subject.places]
    several = getattr(model, "objective_histories_", None)
    if several is not None and len(several) == len(layers):
        return [_curve(name, values) for name, values in zip(layers, several, strict=True)]
    found = []
    pretraining = getattr(model, "pretraining_histories_", None)
    if isinstance(pretraining, list | tuple):
        found = [_curve(f"pre-training of layer {i}", values) for i, values in enumerate(pretraining) if len(values)]
    history = getattr(model, "objective_history_", None)
    if history is not None and len(history):
        found.append(_curve("objective", history))
    return found


def _curve(name: str, values: Any) -> dict[str, Any]:
    """Return a curve of at most `MAX_POINTS` points, the first and the last among them."""
    values = np.asarray(values, dtype=np.float64)
    rows = np.unique(np.linspace(0, len(values) - 1, min(len(values), MAX_POINTS)).round().astype(int))
    return {"name": name, "length": len(values), "values": values[rows].astype(np.float32)}


def _bands(weights: Mapping) -> dict[str, Any]:
    names = list(next(iter(weights.values()), {}))
    rows = [(str(name), [float(row[band]) for band in names]) for name, row in weights.items()]
    return {"names": [str(name) for name in names], "rows": [{"name": name, "weights": found} for name, found in rows]}


def settings(subject: Subject) -> list[list[Any]]:
    """Return the parameters of the model: name, value as text, whether it differs from the default.

    Parameters
    ----------
    subject : Subject
        The model.

    Returns
    -------
    list of [str, str, bool]
        In the order of the constructor.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.report.subject import read_subject
    >>> X = np.random.default_rng(0).random((8, 5))
    >>> settings(read_subject(NMF(2, random_state=0).fit(X), X))[0]
    ['n_components', '2', True]
    """
    model = subject.model
    defaults = {name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()}
    values = model.get_params(deep=False)
    names = [name for name in defaults if name in values and name not in HIDDEN]
    return [[name, _text(values[name]), not _is_same(values[name], defaults[name])] for name in names]


def _is_same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return False
    try:
        return bool(value == default) or (value is None and default is None)
    except (TypeError, ValueError):
        return False


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "empty"
    if isinstance(value, np.ndarray) or hasattr(value, "shape"):
        return f"array of {' x '.join(map(str, value.shape))}"
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(str(value).split())[:200]


def provenance(subject: Subject, *, how_mapped: str) -> dict[str, Any]:
    """Return where the model comes from.

    Parameters
    ----------
    subject : Subject
        The model, its samples and the record of its run.
    how_mapped : str
        How the maps were made.

    Returns
    -------
    dict
        ``rows`` of [name, value], and ``command``, which fits the model again: that of the run, or Python code.
    """
    run, views = subject.run, subject.views
    shapes = run.get("shapes") or {}
    if not shapes and views is not None:
        shapes = {name: list(X.shape) for name, X in views.items()}
    rows = [["data", _shapes(shapes, views)]] if shapes else []
    if run.get("inputs"):
        rows.append(["read from", ", ".join(map(str, run["inputs"]))])
    fingerprint = run.get("fingerprint") or (subject.data.fingerprint() if views is not None else None)
    if fingerprint:
        rows.append(["fingerprint", f"blake2b {fingerprint}"])
    given = [f"{a.name} {int(a.given.sum())} of {subject.n_samples}" for a in subject.attributes if a.given.any()]
    rows.append(["labels given to the model", ", ".join(given) or "none"])
    seed = run.get("seed", getattr(subject.model, "random_state", None))
    rows.append(["seed", _text(seed)])
    versions = run.get("versions") or {"laminar": laminar.__version__, "python": platform.python_version()} | {
        name: version(name) for name in LIBRARIES
    }
    rows += [[", ".join(versions), ", ".join(map(str, versions.values()))]]
    if run.get("date"):
        rows.append(["fitted", str(run["date"])])
    rows.append(["map", how_mapped])
    rows += [["note", str(choice)] for choice in run.get("choices", ())]
    return {"rows": rows, "command": str(run.get("command") or _python(subject))}


def _shapes(shapes: Mapping, views: Any) -> str:
    parts = [
        f"{'' if name == 'X' and len(shapes) == 1 else f'{name} '}{' x '.join(f'{int(n):,}' for n in shape)}"
        for name, shape in shapes.items()
    ]
    dtypes = {str(X.dtype) for X in views.values()} if views is not None else set()
    return ", ".join([*parts, *sorted(dtypes)])


def _python(subject: Subject) -> str:
    """Return code that fits the model again, for data that Python has under the name X."""
    name = type(subject.model).__name__
    changed = [n for n, _, is_changed in settings(subject) if is_changed]
    values = subject.model.get_params(deep=False)
    arguments = ", ".join(f"{n}={_literal(values[n])}" for n in changed)
    labels = ", y" if subject.given else ""
    module = "laminar" if name in dir(laminar) else type(subject.model).__module__
    return f"from {module} import {name}\n{name}({arguments}).fit(X{labels})"


def _literal(value: Any) -> str:
    return repr(value) if isinstance(value, str | int | float | bool | tuple | list | type(None)) else "..."


def _number(value: Any) -> float | int | None:
    if value is None or np.ndim(value) > 0:
        return None
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number == int(number) and isinstance(value, int | np.integer) else number

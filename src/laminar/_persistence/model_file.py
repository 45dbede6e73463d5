"""Model files: `save_model`, `load`, `read_model` and `read_header`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from copy import copy
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._utils import __version__
from . import safetensors_file
from .decode import Decoder
from .describe import describe
from .encode import Encoder
from .errors import ModelFileError
from .kinds import class_name
from .model_checks import check_data
from .records import Describable, ModelFile, ModelHeader
from .safetensors_file import Header
from .strict_json import dump, parse

FORMAT, FORMAT_VERSION = "laminar-model", 1
_JSON = ("parameters", "state", "data", "run", "training_samples")
_OF_SAMPLES = ("init", "graph", "affinity")  # parameters that may hold a row for each training sample


def save_model(
    model: BaseEstimator,
    path: str | os.PathLike,
    *,
    data: Describable | None = None,
    run: Mapping[str, Any] | None = None,
    training_codes: bool = True,
) -> None:
    """Write a fitted estimator to a model file.

    Parameters
    ----------
    model : estimator
        A fitted estimator of Laminar.
    path : path
        The file, usually with the ending ".laminar". One that is there is replaced when the new one is complete.
    data : Dataset or None, default=None
        Training data, of which names, labels and reader are stored, and not X.
    run : mapping or None, default=None
        Record of the run that fitted the model: numbers, text, lists and dicts.
    training_codes : bool, default=True
        Whether the codes of the training samples, and their names and labels, are stored. Without them new samples are
        coded, reconstructed and clustered as before, with the number of clusters of the parameters.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from laminar import NMF
    >>> X = np.random.default_rng(0).random((20, 6))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(NMF(2, random_state=0).fit(X), f"{folder}/parts.laminar")
    ...     load(f"{folder}/parts.laminar").transform(X).shape
    (20, 2)
    """
    check_is_fitted(model)
    kept = _without_callback(model)
    if kept is not model:
        warnings.warn(
            f"the callback of {type(model).__name__} is a function and is not saved: the model that is loaded has "
            "callback=None.",
            UserWarning,
            stacklevel=3,
        )
    if not training_codes:
        kept = _without_codes(kept)
    encoder = Encoder()
    parts: dict[str, Any] = encoder.estimator(kept)
    if data is not None:
        parts["data"] = encoder.encode(data.description(training_samples=training_codes), "data")
    if run is not None:
        parts["run"] = encoder.encode(dict(run), "run")
    parts["training_samples"] = _kept_samples(kept, list(encoder.tensors))
    if data is not None and training_codes:
        parts["training_samples"].append("data")
    metadata = _metadata(parts, training_codes and _has_codes(kept))
    safetensors_file.write(path, encoder.tensors, metadata)


def _metadata(parts: dict[str, Any], has_training_codes: bool) -> dict[str, str]:
    return {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "laminar_version": __version__,
        "class": parts["class"],
        "training_codes": str(has_training_codes).lower(),
        **{part: dump(node) for part, node in parts.items() if part != "class"},
    }


def load(path: str | os.PathLike) -> Any:
    """Read the model of a model file.

    No code of the file is run: it holds arrays and JSON, and names classes of a fixed table.

    Parameters
    ----------
    path : path
        A file written by `save` of an estimator.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    ModelFileError
        If it is no model file, is damaged, or was written by a newer version.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from laminar import SemiNMF
    >>> X = np.random.default_rng(0).normal(size=(20, 6))
    >>> model = SemiNMF(2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.laminar")
    ...     again = load(f"{folder}/model.laminar")
    >>> np.array_equal(again.transform(X), model.transform(X))
    True
    """
    return read_model(path).model


def read_model(path: str | os.PathLike) -> ModelFile:
    """Read a model file: the model, the description of its data and the record of its run.

    Parameters
    ----------
    path : path
        A file written by `save_model`.

    Returns
    -------
    ModelFile
        All that the file holds.
    """
    header, tensors, is_intact = safetensors_file.read(path)
    version = _check_format(path, header)
    if not is_intact:
        raise ModelFileError(f"{path} is damaged: its checksum is not that of its contents. Copy or write it again.")
    try:
        return _build(header.metadata, tensors, version)
    except MemoryError:
        raise
    except Exception as error:  # constructors and validation of many classes
        written = header.metadata.get("laminar_version")
        raise ModelFileError(
            f"{path} cannot be read by Laminar {__version__}, it was written by {written}: {_sentence(error)}"
        ) from error


def read_header(path: str | os.PathLike) -> ModelHeader:
    """Read the facts about a model file, or about a safetensors file of another program.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    ModelHeader
        Class, parameters, arrays, versions.
    """
    with safetensors_file.open_regular(path) as file:
        header = safetensors_file.read_header(path, file)
    tensors = {name: (tensor.dtype, tensor.shape) for name, tensor in header.tensors.items()}
    text = header.metadata
    if text.get("format") != FORMAT:
        return ModelHeader(False, tensors=tensors, metadata=text)
    parts = {part: _parsed(text.get(part)) for part in _JSON}
    parameters = parts["parameters"] if isinstance(parts["parameters"], dict) else {}
    samples = parts["training_samples"] if isinstance(parts["training_samples"], list) else []
    run = describe(parts["run"], tensors)
    return ModelHeader(
        True,
        class_name=text.get("class"),
        parameters={name: describe(node, tensors) for name, node in parameters.items()},
        tensors=tensors,
        version=text.get("laminar_version"),
        format_version=_number(text.get("format_version")),
        has_training_codes=text.get("training_codes") == "true",
        training_samples=tuple(map(str, samples)),
        run=run if isinstance(run, dict) else None,
        checksum_ok=safetensors_file.has_valid_checksum(path, header),
    )


def _without_callback(model: Any) -> Any:
    """Return the model, or a copy with ``callback=None``; so for models among its parameters."""
    parameters = model.get_params(deep=False)
    changes = {name: _without_callback(value) for name, value in parameters.items() if isinstance(value, BaseEstimator)}
    if parameters.get("callback") is not None:
        changes["callback"] = None
    changes = {name: value for name, value in changes.items() if value is not parameters[name]}
    kept = copy(model) if changes else model
    for name, value in changes.items():
        setattr(kept, name, value)
    return kept


def _has_codes(model: Any) -> bool:
    return all(len(layer.representation) for layer in vars(model).get("layers_", ()))


def _without_codes(model: Any) -> Any:
    """Return a copy without what belongs to the training samples; models among its parameters too."""
    if not hasattr(model, "_without_training_codes"):
        return model
    kept = model._without_training_codes()
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, BaseEstimator):
            setattr(kept, name, _without_codes(value))
    return kept


def _kept_samples(model: Any, tensors: list[str]) -> list[str]:
    """Return the attributes and parameters that hold something of the training samples."""
    found = list(model._kept_samples()) if hasattr(model, "_kept_samples") else []
    given = [name for name in _OF_SAMPLES if any(tensor.startswith(f"parameters.{name}") for tensor in tensors)]
    return found + given


def _check_format(path: str | os.PathLike, header: Header) -> int:
    if header.metadata.get("format") != FORMAT:
        raise ModelFileError(f"{path} is a safetensors file of another program, not a model file of Laminar.")
    version = _number(header.metadata.get("format_version"))
    if version is None or version < 1:
        raise ModelFileError(f"{path} is damaged: it has no version of the format.")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} was written by Laminar {header.metadata.get('laminar_version')} in version {version} of the "
            f"format, and this is Laminar {__version__}, which reads up to version {FORMAT_VERSION}: upgrade Laminar "
            "(pip install -U laminar-nmf)."
        )
    return version


def _build(metadata: dict[str, str], tensors: dict, version: int) -> ModelFile:
    parts = {part: parse(metadata[part]) for part in _JSON if part in metadata}
    decoder = Decoder(tensors)
    root = {"class": metadata["class"], "parameters": parts["parameters"], "state": parts["state"]}
    model = decoder.estimator(root)
    check_is_fitted(model)
    data, run = decoder.decode(parts.get("data")), decoder.decode(parts.get("run"))
    if decoder.unused:
        raise ValueError(f"the array {min(decoder.unused)!r} belongs to nothing")
    if data is not None:
        if class_name(type(data)) != "laminar.io.dataset.Dataset":
            raise ValueError("the description of the data is not valid")
        check_data(data)
    if run is not None and not isinstance(run, dict):
        raise ValueError("the record of the run is not valid")
    samples = parts.get("training_samples", [])
    if not isinstance(samples, list) or not all(isinstance(sample, str) for sample in samples):
        raise ValueError("the list of what is kept of the samples is not valid")
    has_codes = {"true": True, "false": False}[metadata["training_codes"]]
    return ModelFile(model, data, run, has_codes, metadata["laminar_version"], version, tuple(samples))


def _parsed(text: str | None) -> Any:
    try:
        return None if text is None else parse(text)
    except ValueError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def _sentence(error: Exception) -> str:
    """Return the message of an error on one line; of an error without words, its name."""
    text = " ".join(str(error).split())[:500]
    if isinstance(error, KeyError) or not text:
        text = f"{type(error).__name__} {text}".strip()
    return text if text.endswith(".") else f"{text}."

"""What is known of a model file: `ModelFile` with the model, `ModelHeader` without it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


class Describable(Protocol):
    """Training data: a `laminar.io.dataset.Dataset`."""

    def description(self, *, training_samples: bool = True) -> Any:
        """Return what a model file holds of them: all but X."""
        ...


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a model file holds.

    Attributes
    ----------
    model : estimator
        The fitted model.
    data : Dataset or None
        Description of the training data, without X.
    run : dict or None
        Record of the run that fitted the model.
    has_training_codes : bool
        Whether the codes of the training samples are in the file.
    version : str
        Version of Laminar that wrote it.
    format_version : int
        Version of the format.
    training_samples : tuple of str
        What of the training samples is in the file.
    """

    model: Any
    data: Any
    run: dict[str, Any] | None
    has_training_codes: bool
    version: str
    format_version: int
    training_samples: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ModelHeader:
    """Facts about a file, for people to read; the model is not built.

    Attributes
    ----------
    is_model : bool
        Whether it is a model file of Laminar, and not a safetensors file of another program.
    class_name : str or None
        Class of the model.
    parameters : dict
        Parameters of the model; arrays and objects are described in text.
    tensors : dict
        Type and shape of each array, by name.
    version : str or None
        Version of Laminar that wrote it.
    format_version : int or None
        Version of the format.
    has_training_codes : bool or None
        Whether the codes of the training samples are in the file.
    training_samples : tuple of str
        What of the training samples is in the file.
    run : dict or None
        Record of the run that fitted the model.
    checksum_ok : bool or None
        Whether the contents are those that were written; None for the file of another program.
    metadata : dict
        Text in the file of another program.
    """

    is_model: bool
    class_name: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    version: str | None = None
    format_version: int | None = None
    has_training_codes: bool | None = None
    training_samples: tuple[str, ...] = ()
    run: dict[str, Any] | None = None
    checksum_ok: bool | None = None
    metadata: dict[str, str] = field(default_factory=dict)

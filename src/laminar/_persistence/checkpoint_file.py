"""Checkpoint files: a tree of numbers, text and arrays; the one before the last is kept beside the last."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._utils import __version__
from . import safetensors_file
from .decode import Decoder
from .encode import Encoder
from .errors import ModelFileError
from .strict_json import dump, parse

FORMAT = "laminar-checkpoint"


@dataclass(frozen=True)
class CheckpointFile:
    """A checkpoint and the one before it, ``path`` and ``path.old``.

    Parameters
    ----------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = CheckpointFile(Path(folder) / "run.ckpt")
    ...     file.write({"n_iter": 3})
    ...     file.read()
    {'n_iter': 3}
    """

    path: Path

    @property
    def old(self) -> Path:
        """The one before the last."""
        return self.path.with_name(f"{self.path.name}.old")

    @property
    def partial(self) -> Path:
        """A folder of its own for the next one until it is complete: safetensors gives files names of its choice."""
        return self.path.with_name(f".{self.path.name}.laminar-partial")

    def exists(self) -> bool:
        """Whether there is a checkpoint."""
        return self.path.exists() or self.old.exists()

    def write(self, tree: Mapping[str, Any]) -> None:
        """Write the next checkpoint; at any moment a complete one is there."""
        encoder = Encoder()
        text = dump(encoder.encode(dict(tree), "run"))
        metadata = {"format": FORMAT, "laminar": __version__, "tree": text}
        self.partial.mkdir(exist_ok=True)
        new = self.partial / self.path.name
        safetensors_file.write(new, encoder.tensors, metadata)
        if self.path.exists():
            self.path.replace(self.old)
        new.replace(self.path)
        self.remove_partial()

    def read(self) -> dict[str, Any]:
        """Return the last checkpoint, or with a warning the one before it where the last is damaged."""
        if not self.path.exists():  # killed between the two renamings of `write`
            return _read(self.old)
        try:
            return _read(self.path)
        except Damaged as error:
            try:
                found = _read(self.old)
            except (OSError, ModelFileError):
                raise error from None
            warnings.warn(f"{error} The one before it, {self.old.name}, is used.", UserWarning, stacklevel=2)
            return found

    def remove(self) -> None:
        """Delete both files, and what a process that was killed while it wrote has left."""
        self.remove_partial()
        for path in (self.path, self.old):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def remove_partial(self) -> None:
        """Delete what a process that was killed while it wrote has left."""
        shutil.rmtree(self.partial, ignore_errors=True)


class Damaged(ModelFileError):
    """A checkpoint that cannot be read."""


def _read(path: Path) -> dict[str, Any]:
    try:
        header, tensors, is_intact = safetensors_file.read(path)
        kind = header.metadata.get("format")
    except ModelFileError as error:
        raise Damaged(str(error).replace("model file", "checkpoint")) from error
    if kind != FORMAT:
        raise ModelFileError(f"{path} is not a checkpoint of Laminar: give another path, it is left as it is.")
    if not is_intact:
        raise Damaged(f"{path} is damaged: its checksum is not that of its contents.")
    version = header.metadata.get("laminar")
    if version != __version__:
        raise ModelFileError(
            f"{path} is of Laminar {version}, and this is {__version__}: resume it there, or delete it to start again."
        )
    try:
        decoder = Decoder(tensors)
        found = decoder.decode(parse(header.metadata["tree"]))
        if not isinstance(found, dict):
            raise ValueError("it holds no run")
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path} is damaged: {error}.") from error
    return found

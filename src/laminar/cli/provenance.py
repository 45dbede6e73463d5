"""The record of a run that a model file keeps: command, versions, seed, data, choices."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import laminar

if TYPE_CHECKING:
    from laminar.io.dataset import Dataset

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def record(
    data: Dataset,
    inputs: Sequence[Path],
    *,
    seed: int,
    choices: Sequence[str],
    attributes: Sequence[str],
    seconds: float,
) -> dict[str, Any]:
    """Return what a run did.

    Parameters
    ----------
    data : Dataset
        What was fitted.
    inputs : sequence of Path
        Where it was read from, as given.
    seed : int
        Seed of the run.
    choices : sequence of str
        What was chosen and why, a sentence each.
    attributes : sequence of str
        Attributes whose labels the model was given.
    seconds : float
        Duration of the fit.

    Returns
    -------
    dict
        Of what JSON has.
    """
    return {
        "command": command(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "seed": seed,
        "inputs": [str(path) for path in inputs],
        "fingerprint": data.fingerprint(),
        "shapes": {name: list(X.shape) for name, X in data.views().items()},
        "attributes": list(attributes),
        "choices": [*choices, *data.notes],
        "seconds": round(seconds, 3),
    }


def command() -> str:
    """Return the command of this process, to be run again."""
    return shlex.join(["laminar", *sys.argv[1:]])


def versions() -> dict[str, str]:
    """Return the versions of what computes.

    Examples
    --------
    >>> list(versions())
    ['laminar', 'python', 'numpy', 'scipy', 'scikit-learn', 'numba']
    """
    from importlib.metadata import version

    own = {"laminar": laminar.__version__, "python": platform.python_version()}
    return own | {name: version(name) for name in LIBRARIES}

"""Options that several commands share: how data are read, and what is printed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

# What is printed.
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors alone.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error came from.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything that is random.")]
ModelFile = Annotated[Path, typer.Argument(help="Model file, written by laminar fit.", metavar="MODEL")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out files that cannot be read.")]

MaxMemory = Annotated[
    str | None,
    typer.Option(
        help="Memory for data and codes, as 2GB: larger arrays stay on disk.  [default: a quarter of what is free]"
    ),
]

PANEL = "Reading"
WORDS = "Names, separated by commas."


def limited(max_memory: str | None) -> AbstractContextManager[None]:
    """Return a block in which arrays of more than half of this memory stay on disk."""
    if max_memory is None:
        return nullcontext()
    from laminar import config_context

    return config_context(max_memory=max_memory)


def _option(*names: str, help: str, **keywords: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=PANEL, **keywords)


# Name: type, default. Those of `laminar.read`, and of the readers, by the same names.
READING: dict[str, tuple[Any, Any]] = {
    "labels": (
        Annotated[Path | None, _option(help="CSV of labels: an id column, one column an attribute, empty if unknown.")],
        None,
    ),
    "kind": (
        Annotated[
            str | None,
            _option(help="What the data are, if not clear: images, video, frames, texts, table, arrays, anndata."),
        ],
        None,
    ),
    "id_column": (Annotated[str | None, _option(help="Column of a table with the names of the samples.")], None),
    "label_columns": (Annotated[str | None, _option(help=f"Columns of a table that are labels. {WORDS}")], None),
    "group_column": (Annotated[str | None, _option(help="Column with the sequence a row belongs to.")], None),
    "drop": (Annotated[str | None, _option(help=f"Columns of a table to leave out. {WORDS}")], None),
    "one_hot": (Annotated[bool | None, _option("--one-hot", help="Text columns become columns of 0 and 1.")], None),
    "missing": (Annotated[str | None, _option(help="Empty cells of a table: error, drop (the row), mean.")], None),
    "separator": (Annotated[str | None, _option(help="Character between the cells of a table.")], None),
    "sheet": (Annotated[str | None, _option(help="Sheet of an .xlsx file.")], None),
    "column": (Annotated[str | None, _option("--text-column", help="Column of a table that holds texts.")], None),
    "size": (Annotated[str | None, _option(help="Size of images in pixels: 32, or height x width as 32x24.")], None),
    "colour": (Annotated[bool | None, _option("--colour/--grey", help="Colour or grey images.")], None),
    "labels_from": (Annotated[str | None, _option(help="folders: subfolders are labels.")], None),
    "name_pattern": (
        Annotated[str | None, _option(help="Labels in file names, as '{identity}_{pose}_{light}'.")],
        None,
    ),
    "every": (Annotated[int | None, _option(min=1, help="Of a video, each so many-th frame.")], None),
    "name": (
        Annotated[
            str | None, _option("--array", help=f"Array in a .npz, .mat, .h5 or zarr; several are views. {WORDS}")
        ],
        None,
    ),
    "layer": (Annotated[str | None, _option("--data-layer", help="Layer of an .h5ad file, in place of X.")], None),
    "more": (
        Annotated[
            list[str] | None,
            _option("--read", help="Any other option of the reader, as min_df=5 of texts.", metavar="NAME=VALUE"),
        ],
        None,
    ),
    "scale": (Annotated[str, _option(help="standard: features with mean 0 and standard deviation 1.")], "none"),
    "skip_bad": (Annotated[bool, _option("--skip-bad", help="Leave out files that cannot be read.")], False),
}
_LISTS = {"label_columns", "drop", "name"}


def with_reading_options(command: Callable) -> Callable:
    """Give a command the options of `READING`; it receives those that were given as the dict ``reading``.

    Parameters
    ----------
    command : callable
        Command of typer with an argument ``reading``.

    Returns
    -------
    callable
        The command with one argument for each option.

    Examples
    --------
    >>> @with_reading_options
    ... def command(reading): return reading
    >>> command(size="32x24", drop="a,b", scale="none")
    {'drop': ('a', 'b'), 'size': (32, 24)}
    """
    signature = inspect.signature(command, eval_str=True)  # typer evaluates no annotation of a given signature
    own = [parameter for name, parameter in signature.parameters.items() if name != "reading"]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in READING.items()
    ]

    @wraps(command)
    def wrapped(**given):
        reading = {name: given.pop(name) for name in READING if name in given}
        return command(**given, reading=_read(reading))

    wrapped.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    hints = {name: kind for name, kind in command.__annotations__.items() if name != "reading"}
    wrapped.__annotations__ = hints | {name: annotation for name, (annotation, _) in READING.items()}
    return wrapped


def _read(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their defaults, as `laminar.read` takes them."""
    chosen = {name: value for name, value in given.items() if value != READING[name][1]}
    for name in _LISTS & set(chosen):
        chosen[name] = split(chosen[name])
    if len(chosen.get("name", ())) == 1:
        (chosen["name"],) = chosen["name"]
    if "size" in chosen:
        chosen["size"] = _size(chosen["size"])
    return chosen | dict(setting(text, "--read") for text in chosen.pop("more", ()))


def split(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas.

    Examples
    --------
    >>> split("pose, identity")
    ('pose', 'identity')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def numbers(text: str, option: str) -> tuple[int, ...]:
    """Return the whole numbers in a list with commas.

    Examples
    --------
    >>> numbers("100,40", "--layers")
    (100, 40)
    >>> numbers("100;40", "--layers")
    Traceback (most recent call last):
    ValueError: --layers 100;40: give whole numbers above 0, separated by commas, as 100,40.
    """
    parts = split(text)
    if not parts or not all(part.isdigit() and int(part) for part in parts):
        raise ValueError(f"{option} {text}: give whole numbers above 0, separated by commas, as 100,40.")
    return tuple(int(part) for part in parts)


def setting(text: str, option: str) -> tuple[str, Any]:
    """Return the name and the value of ``name=value``; the value as in Python, or else as text.

    Examples
    --------
    >>> setting("alpha=1e-3", "--set"), setting("graph=knn", "--set"), setting("layers=(9, 3)", "--set")
    (('alpha', 0.001), ('graph', 'knn'), ('layers', (9, 3)))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{option} {text}: write name=value, as {option} {text.strip()}=3.")
    try:
        return name.strip(), ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name.strip(), value


def _size(text: str) -> int | tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) > 2 or not all(part.strip().isdigit() and int(part) for part in parts):
        raise ValueError(f"--size {text}: give pixels a side, as 32, or height x width, as 32x24.")
    sizes = [int(part) for part in parts]
    return (sizes[0], sizes[1]) if len(sizes) == 2 else sizes[0]

"""Files of a folder in natural order, names of samples from them, and labels in folder and file names."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from string import Formatter

# Written by file managers, not by the user; names that begin with a dot are ignored as well.
SYSTEM_FILES = {"thumbs.db", "desktop.ini", "__macosx", "ehthumbs.db"}
SHOWN = 3  # names in a message


def first_few(names: Iterable[object]) -> str:
    """Return the first names of many, for a message.

    Examples
    --------
    >>> first_few("abcde")
    'a, b, c and 2 more'
    """
    texts = [str(name) for name in names]
    return ", ".join(texts[:SHOWN]) + (f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else "")


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural if it is not 1.

    Examples
    --------
    >>> counted(1, "image"), counted(3, "image")
    ('1 image', '3 images')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def natural_key(path: str) -> tuple:
    """Return a key that sorts numbers in names by value, folder by folder.

    Examples
    --------
    >>> sorted(["b/img10", "b/img2", "B10", "B9"], key=natural_key)
    ['b/img2', 'b/img10', 'B9', 'B10']
    """
    parts = [
        # Odd positions of the split are digits: text is compared with text, a number with a number.
        [int(piece) if i % 2 else piece.casefold() for i, piece in enumerate(re.split(r"(\d+)", part))]
        for part in path.split("/")
    ]
    return parts, path


def existing(path: str | os.PathLike) -> Path:
    """Return a path that exists, or raise FileNotFoundError."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    return path


def list_files(folder: Path) -> list[str]:
    """Return the files of a folder and its subfolders, relative with "/", in natural order, without hidden ones.

    Links to folders are followed; a folder that was reached before, such as that of a loop of links, is left out.
    """
    return sorted(_walk(folder, "", {os.path.realpath(folder)}), key=natural_key)


def _walk(folder: Path, prefix: str, visited: set[str]) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: natural_key(entry.name)):
        if entry.name.startswith(".") or entry.name.lower() in SYSTEM_FILES:
            continue
        if not entry.is_dir():
            yield prefix + entry.name
            continue
        real = os.path.realpath(entry.path)
        if real not in visited:
            visited.add(real)
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/", visited)


def with_endings(files: Sequence[str], endings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files that have one of the endings, in upper or lower case, and the others."""
    chosen = [file for file in files if file.lower().endswith(tuple(endings))]
    return chosen, [file for file in files if not file.lower().endswith(tuple(endings))]


def nothing_found(folder: Path, files: Sequence[str], what: str, endings: Sequence[str]) -> ValueError:
    """Return the error of a folder without a file of the kind, with the endings that it holds."""
    found = Counter(PurePosixPath(file).suffix.lower() or "no ending" for file in files)
    content = ", ".join(f"{n} x {ending}" for ending, n in found.most_common(2 * SHOWN)) or "nothing"
    return ValueError(f"{folder} holds no {what} ({', '.join(endings)}); it holds {content}.")


def ids_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file: its path without ending; with it where two differ in nothing else.

    Examples
    --------
    >>> ids_of(["a/1.png", "a/1.jpg", "a/2.png"])
    ['a/1.png', 'a/1.jpg', 'a/2']
    """
    stems = [printable(without_ending(file)) for file in files]
    counts = Counter(stems)
    ids = [stem if counts[stem] == 1 else printable(file) for stem, file in zip(stems, files, strict=True)]
    return ids if len(set(ids)) == len(ids) else list(files)


def without_ending(file: str) -> str:
    """Return a path without the ending of its last part."""
    return file[: len(file) - len(PurePosixPath(file).suffix)]


def printable(name: str) -> str:
    """Return a name that can be encoded, and is the same on systems that compose letters and accents differently."""
    return unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "replace"))


def folder_labels(files: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the subfolder of each file as the attribute "folder"; of deeper trees "folder1", "folder2", ...

    Examples
    --------
    >>> folder_labels(["anna/1.png", "ben/1.png"])
    {'folder': ['anna', 'ben']}
    """
    folders = [printable(file).split("/")[:-1] for file in files]
    depth = max(map(len, folders), default=0)
    names = ["folder"] if depth == 1 else [f"folder{level + 1}" for level in range(depth)]
    return {
        name: [parts[level] if level < len(parts) else None for parts in folders] for level, name in enumerate(names)
    }


def pattern_labels(files: Sequence[str], pattern: str) -> tuple[dict[str, list[str | None]], list[str]]:
    """Return the attributes in the names of files, and the files that do not match.

    Examples
    --------
    >>> pattern_labels(["anna_1.png", "title.png"], "{identity}_{pose}")
    ({'identity': ['anna', None], 'pose': ['1', None]}, ['title.png'])
    """
    expression, names = compile_pattern(pattern)
    stems = [printable(without_ending(file)) for file in files]
    matches = [expression.fullmatch(stem if "/" in pattern else stem.rpartition("/")[2]) for stem in stems]
    labels = {name: [match and match[name] for match in matches] for name in names}
    return labels, [file for file, match in zip(files, matches, strict=True) if not match]


def compile_pattern(pattern: str) -> tuple[re.Pattern[str], list[str]]:
    """Return a pattern such as "{identity}_{pose:2}" as a regular expression, and its attributes.

    A part does not contain the text that stands between two parts: "a_b_c" does not match "{identity}_{pose}".
    """
    pieces = _pieces(pattern)
    between = {text for text, _, _ in pieces[1:] if text and text != "/"}
    one = "".join(f"(?!{re.escape(text)})" for text in sorted(between)) + "[^/]"
    expression = ""
    for text, name, width in pieces:
        part = f"(?:{one})" + (f"{{{width}}}" if width else "+")
        expression += re.escape(text)
        if name is not None:
            expression += part if name in ("", "_") else f"(?P<{name}>{part})"
    return re.compile(expression), [name for _, name, _ in pieces if name not in (None, "", "_")]


def _pieces(pattern: str) -> list[tuple[str, str | None, str]]:
    """Return (text before, name, width) of each part; a last text has the name None."""
    advice = f'name_pattern={pattern!r}: write it as "{{identity}}_{{pose}}", with an attribute in each pair of braces'
    try:
        pieces = [(text, name, spec or "") for text, name, spec, _ in Formatter().parse(pattern)]
    except ValueError as error:
        raise ValueError(f"{advice} ({error}).") from None
    names = [name for _, name, _ in pieces if name not in (None, "", "_")]
    if not names:
        raise ValueError(f"{advice}; it has none.")
    wrong = [name for name in names if not name.isidentifier()]
    if wrong or len(set(names)) < len(names):
        raise ValueError(f"{advice}, a word without spaces, each once; it has {', '.join(wrong or names)}.")
    if any(width and not width.isdigit() for _, _, width in pieces):
        raise ValueError(f'{advice}; after ":" stands a number of characters, as in "{{pose:2}}".')
    for (_, _, width), (text, name, _) in pairwise(pieces):
        if not text and name is not None and not width:
            raise ValueError(f'{advice}; nothing separates two of them: give the first a width, as in "{{pose:2}}".')
    return pieces

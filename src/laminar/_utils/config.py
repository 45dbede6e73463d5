"""Settings of the library: how much memory data on disk may take, and where temporary files go."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
SHARE = 4  # of the available memory that is used without a setting: a quarter


@dataclass(frozen=True)
class Settings:
    """Values of all settings."""

    max_memory: int | str | None = None
    temp_folder: str | os.PathLike | None = None


_global = Settings()
_local: ContextVar[Settings | None] = ContextVar("laminar_settings", default=None)
_UNCHANGED: Any = object()


def get_config() -> dict[str, Any]:
    """Return the settings.

    Returns
    -------
    dict
        "max_memory" and "temp_folder", as they were given; None where the default is used.

    See Also
    --------
    set_config : Change them.
    config_context : Change them inside a block.

    Examples
    --------
    >>> import laminar
    >>> laminar.get_config()
    {'max_memory': None, 'temp_folder': None}
    """
    return asdict(_settings())


def set_config(
    *,
    max_memory: int | str | None = _UNCHANGED,
    temp_folder: str | os.PathLike | None = _UNCHANGED,
) -> None:
    """Change settings for the whole process.

    Parameters
    ----------
    max_memory : int, str or None
        Memory in bytes, or as "2GB" or "512MiB", that data on disk and the factors of a fit may take. Arrays on disk
        (zarr, HDF5, ``np.memmap``) of more than half of it are read by blocks of rows; codes of more than a quarter of
        it, of which a fit holds up to four, are in temporary files. None means a quarter of the available memory.
    temp_folder : path or None
        Folder of the temporary files; None means that of the system. They are removed when they are no longer used.

    See Also
    --------
    config_context : Change them inside a block.
    get_config : Return them.

    Examples
    --------
    >>> import laminar
    >>> laminar.set_config(max_memory="2GB")
    >>> laminar.get_config()["max_memory"]
    '2GB'
    >>> laminar.set_config(max_memory=None)
    """
    global _global
    _global = _changed(_global, max_memory, temp_folder)


@contextmanager
def config_context(
    *,
    max_memory: int | str | None = _UNCHANGED,
    temp_folder: str | os.PathLike | None = _UNCHANGED,
) -> Iterator[None]:
    """Change settings inside a ``with`` block, in the thread that runs it.

    Parameters
    ----------
    max_memory : int, str or None
        Memory in bytes, or as "2GB", that data on disk and the factors of a fit may take, see `set_config`.
    temp_folder : path or None
        Folder of temporary files; None means that of the system.

    Yields
    ------
    None
        Nothing.

    See Also
    --------
    set_config : Change them for the whole process.
    get_config : Return them.

    Examples
    --------
    >>> import laminar
    >>> with laminar.config_context(max_memory="1GB"):
    ...     laminar.get_config()["max_memory"]
    '1GB'
    """
    token = _local.set(_changed(_settings(), max_memory, temp_folder))
    try:
        yield
    finally:
        _local.reset(token)


def memory_limit() -> int:
    """Return the memory that data on disk and factors may take, in bytes."""
    given = _settings().max_memory
    return available_memory() // SHARE if given is None else parse_memory(given)


def has_memory_limit() -> bool:
    """Whether a limit is set; otherwise it is a part of what is available."""
    return _settings().max_memory is not None


def temp_folder() -> str | None:
    """Return the folder of temporary files; None for that of the system."""
    folder = _settings().temp_folder
    return None if folder is None else str(folder)


def parse_memory(size: int | str) -> int:
    """Return a size in bytes.

    Examples
    --------
    >>> parse_memory("2GB"), parse_memory("1.5 MiB"), parse_memory(4096)
    (2000000000, 1572864, 4096)
    """
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]i?)?b?\s*", str(size).lower())
    right_type = isinstance(size, str) or (isinstance(size, Integral) and not isinstance(size, bool))
    try:
        number = int(float(found[1]) * UNITS[found[2] or ""]) if found and right_type else 0
    except ValueError:
        number = 0
    if number <= 0:
        raise ValueError(f'max_memory must be a number of bytes above 0, or a text like "2GB"; got {size!r}.')
    return number


def available_memory() -> int:
    """Return the memory in bytes that can be used without swapping."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):  # not on Windows
        return 4 * 10**9


def _settings() -> Settings:
    return _local.get() or _global


def _changed(settings: Settings, max_memory: Any, folder: Any) -> Settings:
    if max_memory is not _UNCHANGED:
        if max_memory is not None:
            parse_memory(max_memory)
        settings = replace(settings, max_memory=max_memory)
    if folder is not _UNCHANGED:
        if folder is not None and not Path(folder).is_dir():
            raise ValueError(
                f"temp_folder={str(folder)!r} is no folder: create it, or use None for that of the system."
            )
        settings = replace(settings, temp_folder=folder)
    return settings

"""Writing of files: under a temporary name in the same folder, renamed when complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path to write to, which takes the place of ``path`` when the block ends without an error.

    A file that was there before stays as it is until then, and after an error.

    Parameters
    ----------
    path : path
        The file.

    Yields
    ------
    Path
        An empty file in the folder of ``path``, with the same ending.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "codes.csv"
    ...     with replacing(path) as partial:
    ...         _ = partial.write_text("1,2")
    ...     path.read_text(), len(list(path.parent.iterdir()))
    ('1,2', 1)
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} lies in a folder that does not exist: create {path.parent} first.")
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.chmod(_mode(path))
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def _mode(path: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new file: mkstemp gives the owner alone."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

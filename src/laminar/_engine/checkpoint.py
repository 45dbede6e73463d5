"""`checkpoint`: fits that can be resumed where they stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path

from .._persistence.checkpoint_file import CheckpointFile
from .._utils import runs
from .run import RecordedRun


@contextmanager
def checkpoint(
    path: str | os.PathLike, *, seconds: float = 60.0, sweeps: int | None = None, resume: bool = False
) -> Iterator[bool]:
    """Write the state of the fits in the block to a file now and then, so that they can be resumed.

    A resumed fit gives the same factors, bit by bit, as one that was never stopped. The files, ``path`` and the one
    before it, ``path.old``, are deleted when the block ends without an error: a finished fit needs none. After an
    error, Ctrl-C or a killed process they stay. A write that fails, as on a full disk, is a warning, and the fit goes
    on.

    Parameters
    ----------
    path : path
        The file. It must not be there, unless ``resume=True``.
    seconds : float, default=60.0
        Least time from one write to the next, and before the first; it becomes longer where writing takes more than a
        tenth of the time. 0 writes after every sweep.
    sweeps : int or None, default=None
        Number of sweeps from one write to the next, in place of ``seconds``.
    resume : bool, default=False
        Whether to go on from the file. Where there is none, the run begins, so that the same program can be run again
        until it is done. A file of another model, other parameters, other data or another version is refused, and
        left as it is.

    Yields
    ------
    resumed : bool
        Whether there was a file to go on from.

    Notes
    -----
    The loops of sweeps are resumed in the middle. Networks (``activation=``), batches, rotations, NeNMF and the
    published rule of `MultiViewDeepNMF` are repeated from the start of that loop; pre-training that is complete is not
    repeated. Fits in other processes or threads, as with ``n_jobs``, are not recorded. Callbacks are called for the
    iterations after a resumption alone.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from laminar import NMF, checkpoint
    >>> X = np.random.default_rng(0).random((20, 6))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with checkpoint(f"{folder}/run.ckpt", resume=True) as resumed:
    ...         model = NMF(2, random_state=0).fit(X)
    >>> resumed
    False
    """
    run = RecordedRun(_checked(path, seconds, sweeps, resume), seconds, sweeps)
    run.load()
    with runs.recording(run):
        yield run.stored is not None
    if not run.is_closed:
        run.file.remove()


def _checked(path: str | os.PathLike, seconds: float, sweeps: int | None, resume: bool) -> CheckpointFile:
    """Check the arguments and return the file."""
    if not seconds >= 0:
        raise ValueError(f"seconds must be 0 or more; got {seconds!r}.")
    if sweeps is not None and (not isinstance(sweeps, Integral) or sweeps < 1):
        raise ValueError(f"sweeps must be a whole number above 0, or None; got {sweeps!r}.")
    file = CheckpointFile(Path(path).absolute())
    if file.path.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder: give the name of a file in it, such as {Path(path) / 'run.ckpt'}."
        )
    if not file.path.parent.is_dir():
        raise FileNotFoundError(f"{path} lies in a folder that does not exist: create {file.path.parent} first.")
    if file.exists() and not resume:
        found = file.path if file.path.exists() else file.old
        raise FileExistsError(
            f"{found} is there already: resume it (resume=True, or --resume), or delete it to start again."
        )
    return file

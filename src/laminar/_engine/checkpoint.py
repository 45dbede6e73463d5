"""`checkpoint`: fits that can be resumed where they stopped, by replay.

A run is all fits in the block, and all of their loops, in order. When it is resumed, loops that were complete return
their stored factors, the one that was running goes on from its stored state, and what lies between loops, such as
starts and graphs, is computed again, from the same random numbers.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._persistence.checkpoint_file import CheckpointFile
from .._utils import interrupts, runs
from .._utils.progress import stage
from .._utils.runs import Loop, Tree
from .data.fingerprint import digest
from .monitor import Monitor

_IRRELEVANT = ("callback", "verbose")  # parameters that change no result


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
    run = Checkpoint(_checked(path, seconds, sweeps, resume), seconds, sweeps)
    run.load()
    with runs.recording(run):
        yield run.stored is not None
    if not run.is_closed:
        run.file.remove()


def _checked(path: str | os.PathLike, seconds: float, sweeps: int | None, resume: bool) -> CheckpointFile:
    """Check the arguments and return the file."""
    if not seconds >= 0:
        raise ValueError(f"seconds must be 0 or more; got {seconds!r}.")
    if sweeps is not None and (not isinstance(sweeps, int) or sweeps < 1):
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


class Checkpoint:
    """The run of one block: what is stored of it, and when.

    Parameters
    ----------
    file : CheckpointFile
        The file.
    seconds, sweeps
        As for `checkpoint`.
    """

    def __init__(self, file: CheckpointFile, seconds: float, sweeps: int | None):
        self.file, self.seconds, self.sweeps = file, seconds, sweeps
        self.stored: Tree | None = None  # the run that is resumed
        self.fits: list[Tree] = []
        self.loops: list[Tree] = []
        self.is_closed = False  # interrupted: what follows is no part of the run
        self.is_recording = False  # a loop, which writes by itself
        self._warned = False
        self._next, self._n_sweeps = time.perf_counter() + seconds, 0

    def load(self) -> None:
        """Read the run that is resumed, if there is one."""
        if self.file.exists():
            self.stored = self.file.read()
        self.file.remove_partial()

    # ---- fits and loops, in order --------------------------------------------------------------------------------

    def begin_fit(self, estimator: BaseEstimator, X: Any, y: Any) -> None:
        """Record a fit, or refuse it where another one is stored; its random numbers are those of the stored one."""
        if self.is_closed:
            return
        fit, rng = _description(estimator, X, y), _generator(estimator)
        stored = self._stored("fits", len(self.fits))
        if stored is not None:
            self._refuse_other(stored, fit)
            if rng is not None:
                rng.set_state(stored["random"].get_state())
        self.fits.append({**fit, "random": deepcopy(rng)})

    def begin_loop(self, monitor: Monitor, start: Mapping[str, np.ndarray]) -> Loop:
        """Return the record of the next loop; a stored record is written to the monitor."""
        if self.is_closed or not self.fits:
            return Loop()
        found, stored = digest(dict(start)), self._stored("loops", len(self.loops))
        if stored is not None and stored["start"] != found:
            raise ValueError(
                f"{self.file.path} is not of this fit, whose iterations start elsewhere: with other groups, or on "
                "another machine. Resume it as it began, or give another path. The file is left as it is."
            )
        self.loops.append({"start": found, "counters": None, "state": None})
        loop = RecordedLoop(self, self.loops[-1], monitor)
        if stored is not None and stored["state"] is not None:
            loop.resume(stored)
        return loop

    def _stored(self, kind: str, i: int) -> Tree | None:
        if self.stored is None or i >= len(self.stored[kind]):
            return None
        return self.stored[kind][i]

    def _refuse_other(self, stored: Tree, fit: Tree) -> None:
        """Raise an error where a fit is not the stored one."""
        if stored["class"] != fit["class"]:
            other = f"of {stored['class']}, and this is a fit of {fit['class']}"
        elif stored["parameters"] != fit["parameters"]:
            names = {*stored["parameters"], *fit["parameters"]}
            differ = [n for n in sorted(names) if stored["parameters"].get(n) != fit["parameters"].get(n)]
            other = f"of {fit['class']} with other values of {', '.join(differ)}"
        elif stored["data"] != fit["data"]:
            other = f"of {fit['class']} with other {'labels' if stored['data'][0] == fit['data'][0] else 'data'}"
        else:
            return
        raise ValueError(
            f"{self.file.path} is {other}: resume it as it began, or give another path. The file is left as it is."
        )

    # ---- writing -------------------------------------------------------------------------------------------------

    def is_due(self) -> bool:
        """Count a sweep, and return whether to write after it."""
        if self.sweeps is not None:
            self._n_sweeps += 1
            return self._n_sweeps % self.sweeps == 0
        return time.perf_counter() >= self._next

    def write(self) -> None:
        """Write fits and loops; a failure is a warning."""
        began = time.perf_counter()
        try:
            self.file.write(self._all())
        except (OSError, SafetensorError) as error:
            self.file.remove_partial()
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"{self.file.path} could not be written, and the fit goes on without: {error}.",
                    UserWarning,
                    stacklevel=2,
                )
        now = time.perf_counter()
        self._next = now + (max(self.seconds, 10 * (now - began)) if self.seconds else 0)

    def _all(self) -> Tree:
        """Return the run as far as it has come, now or when it was stopped."""
        stored = self.stored or {"fits": [], "loops": []}
        return {
            "fits": self.fits + stored["fits"][len(self.fits) :],
            "loops": self.loops + stored["loops"][len(self.loops) :],
        }

    def write_if_due(self) -> None:
        """Write the loops that are complete, in a loop that is not recorded."""
        if self.loops and not self.is_recording and not self.is_closed and self.is_due():
            self.write()

    def cure(self) -> str:
        """Close the run after an interrupt, and return how to go on."""
        if not self.is_closed:
            self.close()
        return f"The same call with resume=True goes on from {self.file.path}."

    def close(self) -> None:
        """Write for the last time."""
        self.write()
        self.is_closed = True


class RecordedLoop(Loop):
    """The record of one loop in a run.

    Parameters
    ----------
    run : Checkpoint
        The run.
    entry : dict
        What the run stores of the loop.
    monitor : Monitor
        The monitor of the loop.
    """

    def __init__(self, run: Checkpoint, entry: Tree, monitor: Monitor):
        self.run, self.entry, self.monitor = run, entry, monitor
        run.is_recording = True

    def resume(self, stored: Tree) -> None:
        """Go on from a stored state."""
        self.monitor.restore(stored["counters"])
        self.stored = stored["state"]
        if self.monitor.running:
            stage(f"resumed after iteration {self.monitor.n_iter} of {self.monitor.max_iter}")

    def keep(self, state: Callable[[], Tree]) -> None:
        """Write the state after an iteration, where it is due or the last one."""
        if self.run.is_closed:
            return
        is_last = interrupts.is_requested()
        if not is_last and (self.monitor.stopped or not self.run.is_due()):
            return
        # By Ctrl-C alone: the callback was called before, and a fit it stops is complete.
        self.entry["counters"] = {**self.monitor.counters(), **({"stopped": False} if is_last else {})}
        self.entry["state"] = state()
        self.run.close() if is_last else self.run.write()
        self.entry["state"] = None  # its arrays change in the next iteration

    def complete(self, state: Tree) -> None:
        """Keep the result of the loop, whose arrays the fit may change afterwards."""
        if self.run.is_closed:
            return
        self.entry["counters"], self.entry["state"] = deepcopy(self.monitor.counters()), deepcopy(state)
        self.run.is_recording = False
        if self.run.sweeps is None:
            self.run.write_if_due()


def _generator(estimator: BaseEstimator) -> np.random.RandomState | None:
    """Return the generator whose state a fit depends on; with a seed there is none."""
    seed = getattr(estimator, "random_state", 0)
    return check_random_state(seed) if seed is None or isinstance(seed, np.random.RandomState) else None


def _description(estimator: BaseEstimator, X: Any, y: Any) -> Tree:
    """Return what has to be the same when a fit is resumed."""
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name not in _IRRELEVANT}
    return {
        "class": type(estimator).__name__,
        "parameters": {name: digest(value) for name, value in parameters.items()},
        "data": [digest(X), digest(y)],
    }

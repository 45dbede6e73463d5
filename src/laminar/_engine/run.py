"""A run: all fits in a block of `checkpoint`, and all of their loops, in order; it is resumed by replay.

Loops that were complete return their stored factors, the one that was running goes on from its stored state, and what
lies between loops, such as starts and graphs, is computed again, from the same random numbers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from safetensors import SafetensorError
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._persistence.checkpoint_file import CheckpointFile
from .._persistence.errors import ModelFileError
from .._utils import interrupts
from .._utils.progress import stage
from .._utils.runs import Loop, Tree
from .._utils.workers.array import DistributedArray
from .data.fingerprint import digest
from .monitor import COUNTERS, Monitor

_IRRELEVANT = ("callback", "verbose")  # parameters that change no result


class RecordedRun:
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
            if not _is_run(self.stored):
                raise ModelFileError(f"{self.file.path} is damaged: it holds no run. Delete it to start again.")
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
        if self.is_closed or not self.fits or interrupts.is_requested():  # what follows a loop that was cut short
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
            if not _kinds(stored["state"]) <= _kinds(dict(start)):
                raise ModelFileError(f"{self.file.path} is damaged: its factors have other shapes than their start.")
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
        if not self.file.exists():
            return "No checkpoint could be written."
        return f"The same call with resume=True goes on from {self.file.path}."

    def close(self) -> None:
        """Write for the last time."""
        self.write()
        self.is_closed = True


class RecordedLoop(Loop):
    """The record of one loop in a run.

    Parameters
    ----------
    run : RecordedRun
        The run.
    entry : dict
        What the run stores of the loop.
    monitor : Monitor
        The monitor of the loop.
    """

    def __init__(self, run: RecordedRun, entry: Tree, monitor: Monitor):
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


def _is_run(tree: Tree) -> bool:
    """Return whether a tree has the form that `RecordedRun` writes."""
    if set(tree) != {"fits", "loops"} or not all(isinstance(entries, list) for entries in tree.values()):
        return False
    fits = all(isinstance(e, dict) and set(e) == {"class", "parameters", "data", "random"} for e in tree["fits"])
    return fits and all(isinstance(e, dict) and _is_loop(e) for e in tree["loops"])


def _is_loop(entry: Tree) -> bool:
    if set(entry) != {"start", "counters", "state"}:
        return False
    return entry["state"] is None or (isinstance(entry["state"], dict) and set(entry["counters"]) == set(COUNTERS))


def _kinds(tree: Any) -> set[tuple]:
    """Return types and shapes of the arrays in a tree."""
    if isinstance(tree, np.ndarray | DistributedArray):
        return {(tree.dtype.name, tree.shape)}
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return {kind for part in parts for kind in _kinds(part)}


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

"""What the studio is doing: data, labels, the model that follows them, and the files it writes."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .background import Background, Snapshot
from .errors import Refused
from .fits import Fit
from .labels import LabelFile
from .proposals import open_draws, propose

if TYPE_CHECKING:
    from laminar.io.dataset import Dataset

Writer = Callable[[Fit, "Dataset", Path], None]
WAIT = 300.0  # seconds for the model of the present labels, before a file is written


class Session:
    """A data set that is being labelled.

    Parameters
    ----------
    data : Dataset
        The samples, of one view.
    labels : LabelFile
        Their labels.
    writers : mapping, default={}
        What the page can have written: name -> (path, function of the fit, the data with labels, and a path).
    seed : int, default=0
        Seed of the model and of the samples drawn at random.
    """

    def __init__(
        self,
        data: Dataset,
        labels: LabelFile,
        writers: Mapping[str, tuple[Path, Writer]] | None = None,
        seed: int = 0,
    ):
        self.data, self.labels, self.seed = data, labels, seed
        self.writers = dict(writers or {})
        self._lock, self._writing = threading.RLock(), threading.Lock()
        self._order: dict[str, list[str]] = {}  # values in the order of their first use: keys and colours stay
        self._row = {name: i for i, name in enumerate(labels.ids)}
        self.background = Background(data.X, self._snapshot, seed)

    def start(self) -> None:
        """Begin to fit."""
        self.background.start()

    def close(self) -> None:
        """End, and let another process open the labels."""
        self.background.close()
        with self._lock:
            self.labels.close()

    # ---- labels --------------------------------------------------------------------------------------------------

    def give(self, version: int, attribute: str, value: str | None, samples: Sequence[str]) -> None:
        """Give samples a value of an attribute, or remove theirs with None."""
        with self._changing():
            drawn = [self.labels.ids[row] for row in self._open_draws(attribute)] if value is not None else []
            self.labels.give(version, attribute, value, samples, [name for name in drawn if name in set(samples)])

    def undo(self, version: int) -> None:
        """Undo the last change."""
        with self._changing():
            self.labels.undo(version)

    def redo(self, version: int) -> None:
        """Make the change again that was undone last."""
        with self._changing():
            self.labels.redo(version)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change the labels in the block and refit, after a refusal too: an edited CSV is refused, and then taken."""
        try:
            with self._lock:
                yield
        finally:
            self.background.labels_changed()

    def _snapshot(self) -> Snapshot:
        with self._lock:
            frame = self.labels.frame()
            names = [] if frame is None else list(frame.columns)
            drawn = {name: [self._row[s] for s in self.labels.drawn(name) if s in self._row] for name in names}
            return Snapshot(self.labels.version, frame, {name: sorted(rows) for name, rows in drawn.items()})

    def _known(self, attribute: str | None) -> np.ndarray:
        values = [None] * len(self.labels.ids) if attribute is None else self.labels.values(attribute)
        return np.array([value is not None for value in values])

    def _open_draws(self, attribute: str | None) -> list[int]:
        return open_draws(self._known(attribute), self.seed)

    def _values(self, attribute: str) -> list[str]:
        """Return the values of an attribute, with those that no sample has any more."""
        order = self._order.setdefault(attribute, [])
        found = {value for value in self.labels.values(attribute) if value is not None} - set(order)
        order += sorted(found, key=natural)
        return order

    # ---- what a page shows ---------------------------------------------------------------------------------------

    def state(self, attribute: str | None, version: int, revision: int) -> dict[str, Any]:
        """Return what a page shows that has the labels of a version and the view of a revision.

        Parameters
        ----------
        attribute : str or None
            The attribute in view; None for the first one, and "" for one that is yet to be named.
        version, revision : int
            What the page has; -1 for nothing.

        Returns
        -------
        dict
            With ``labels`` and ``view`` only where they are newer.
        """
        with self._lock:
            names = list(self.labels.columns)
            if attribute is None or (attribute and attribute not in names):
                attribute = names[0] if names else ""
            attribute = attribute or None
            self.background.watch(attribute)
            undoable, redoable = self.labels.undoable, self.labels.redoable
            found: dict[str, Any] = {
                "version": self.labels.version,
                "revision": self.background.revision,
                "attribute": attribute,
                "progress": self.background.progress.facts(),
                "error": self.background.error,
                "undo": None if undoable is None else _summary(undoable),
                "redo": None if redoable is None else _summary(redoable),
            }
            if version != self.labels.version:
                found["labels"] = [self._labels(name) for name in names]
            if (version, revision) != (self.labels.version, self.background.revision):
                found["view"] = self._view(attribute)
            return found

    def _labels(self, attribute: str) -> dict[str, Any]:
        order = self._values(attribute)
        place = {value: i for i, value in enumerate(order)}
        codes = [-1 if value is None else place[value] for value in self.labels.values(attribute)]
        return {"name": attribute, "values": list(order), "codes": codes}

    def _view(self, attribute: str | None) -> dict[str, Any]:
        back = self.background
        fit, before = back.fit, back.before
        layer = "rest" if fit is None else fit.layer(attribute)
        known, guesses = self._known(attribute), None if fit is None else fit.guesses.get(attribute or "")
        features = None if fit is None else back.codes(layer)
        view: dict[str, Any] = {
            "layer": layer,
            "map": _positions(back.maps[layer][1]) if layer in back.maps else None,
            "groups": None if guesses is not None or back.groups is None else back.groups.tolist(),
            "fit": None
            if fit is None
            else {
                "version": fit.version,
                "seconds": fit.seconds,
                "number": back.number,
                **_counts(fit, before, attribute),
            },
            "estimates": [],
            "n_drawn": 0 if attribute is None else len(self.labels.drawn(attribute)),
            "guesses": None,
            "second": None,
            "changes": [],
        }
        if guesses is not None and attribute is not None:
            view["estimates"] = [asdict(found) for found in back.estimates.get(attribute, ())]
            order = self._values(attribute)
            place = np.array([_place(order, value) for value in guesses.classes])
            top = np.argsort(-guesses.probabilities, axis=1, kind="stable")[:, :2]
            view["guesses"], view["second"] = place[top[:, 0]].tolist(), place[top[:, -1]].tolist()
            view["sure"] = np.round(guesses.probabilities.max(axis=1), 3).tolist()
            if before is not None and attribute in before.guesses:
                old = before.guesses[attribute]
                was = np.array([_place(order, value) for value in old.classes])[old.best]
                now = place[top[:, 0]]
                view["changes"] = _changes(was, now, known)
        P = None if guesses is None else guesses.probabilities
        since = 0 if attribute is None else self.labels.since_draw(attribute)
        proposals = propose(known, self._open_draws(attribute), since, features, P)
        view["proposals"] = [[proposal.row, proposal.reason] for proposal in proposals]
        return view

    # ---- files ---------------------------------------------------------------------------------------------------

    def write(self, what: str, may_replace: bool) -> Path:
        """Write the model of the present labels, or a report of it, and return where.

        Parameters
        ----------
        what : str
            A name from ``writers``.
        may_replace : bool
            Whether a file that exists is replaced.

        Returns
        -------
        Path
            The file.
        """
        path, writer = self.writers[what]
        if path.exists() and not may_replace:
            raise Refused(f"{path.name} exists: press again to replace it.", 409)
        with self._writing:
            version = self.labels.version
            if not self.background.wait(version, WAIT):
                raise Refused(self.background.error or "The model is not there yet: try again in a minute.", 503)
            fit = self.background.fit
            assert fit is not None
            writer(fit, replace(self.data, labels=fit.frame), path)
        return path


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts texts by the numbers in them.

    Examples
    --------
    >>> sorted(["person 10", "person 9"], key=natural)
    ['person 9', 'person 10']
    """
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


def _counts(fit: Fit, before: Fit | None, attribute: str | None) -> dict[str, int]:
    """Return the number of labels that a fit and the one before it, if there is one, were given."""
    frames = {"n_labels": fit.frame, "n_before": fit.frame if before is None else before.frame}
    return {
        name: 0 if frame is None or attribute not in frame else int(frame[attribute].notna().sum())
        for name, frame in frames.items()
    }


def _place(order: list[str], value: str) -> int:
    if value not in order:  # of a fit to labels that have changed since
        order.append(value)
    return order.index(value)


def _positions(xy: np.ndarray) -> list[int]:
    """Return positions as whole numbers up to 65535, which fill the map."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    return np.rint((xy - low) / np.where(high > low, high - low, 1) * 65535).astype(int).ravel().tolist()


def _changes(was: np.ndarray, now: np.ndarray, known: np.ndarray) -> list[list[Any]]:
    """Return value before, value after and samples of changed guesses, the most frequent change first."""
    groups: dict[tuple[int, int], list[int]] = {}
    for row in np.flatnonzero((was != now) & ~known).tolist():
        groups.setdefault((int(was[row]), int(now[row])), []).append(row)
    return sorted(([a, b, rows] for (a, b), rows in groups.items()), key=lambda found: -len(found[2]))


def _summary(change) -> dict[str, Any]:
    values = set(change.after.values())
    value = values.pop() if len(values) == 1 else None
    return {"attribute": change.attribute, "value": value, "count": len(change.after), "time": change.time}

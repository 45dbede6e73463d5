"""Refits in a thread of their own: the model first, then the map in view, then the estimate of accuracy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from laminar._utils.progress import shown_on
from laminar.attributes.layers import REST

from .estimate import Estimate, estimate
from .fits import Fit, Fitter, group, moved_map, plane

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Snapshot:
    """Labels of a version.

    Parameters
    ----------
    version : int
        Version.
    frame : DataFrame or None
        Labels of attributes with several values.
    drawn : dict of list of int
        Labelled rows that were drawn at random, by attribute.
    """

    version: int
    frame: DataFrame | None
    drawn: dict[str, list[int]]


@dataclass
class Progress:
    """What is being done, as `laminar._utils.progress` reports it.

    Examples
    --------
    >>> progress = Progress()
    >>> progress.begin("model", "refitting")
    >>> progress.stage("AttributeLayers: codes of layer 1 of 2")
    >>> progress.text
    'codes of layer 1 of 2'
    """

    step: str = ""
    text: str = ""
    began: float = 0.0

    def __post_init__(self) -> None:
        self.usual: dict[str, float] = {}  # seconds of a step the last time

    def begin(self, step: str, text: str) -> None:
        """Begin a step."""
        self.step, self.text, self.began = step, text, time.perf_counter()

    def end(self) -> float:
        """End the step, and return its seconds."""
        seconds = time.perf_counter() - self.began
        self.usual[self.step] = seconds
        self.step = self.text = ""
        return seconds

    def facts(self) -> dict | None:
        """Return the step, its seconds so far, and those of the last time."""
        if not self.step:
            return None
        seconds = time.perf_counter() - self.began
        return {"step": self.step, "text": self.text, "seconds": seconds, "usual": self.usual.get(self.step)}

    def stage(self, text: str) -> None:
        """Report what is done next; a `Display` of `laminar._utils.progress`."""
        self.text = text.partition(": ")[2] or text

    def task(self, name: str, total: int, unit: str, may_stop_early: bool) -> Progress:
        """Begin a task whose steps are counted."""
        return self

    def report(self, done: int, detail: str = "") -> None:
        """Report the steps of a task; stages have better names for them here."""

    def close(self) -> None:
        """End a task."""


class Background:
    """The model of the present labels, or of the last ones for which it is complete.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples.
    snapshot : callable
        Returns the present labels, as a `Snapshot`.
    seed : int, default=0
        Seed.
    """

    def __init__(self, X, snapshot: Callable[[], Snapshot], seed: int = 0):
        self.snapshot, self.seed = snapshot, seed
        self.fitter, self.progress = Fitter(X, seed), Progress()
        self.fit: Fit | None = None
        self.before: Fit | None = None  # the fit before it
        self.maps: dict[str, tuple[int, np.ndarray]] = {}  # layer -> number of the fit, positions
        self.groups: np.ndarray | None = None  # of the samples, where there are no classes yet
        self.estimates: dict[str, list[Estimate]] = {}  # in the order in which they were made
        self.number = 0  # of the fit
        self.revision = 0  # changes with everything that is shown
        self.error = ""
        self._watched: str | None = None  # the attribute in view
        self._codes: tuple[tuple[str, int], np.ndarray] | None = None
        self._estimated: dict[str, int] = {}  # version of each estimate, of failed ones too
        self._failed = -1  # version whose fit failed
        self._current = snapshot()
        self._changed, self._is_closed = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, daemon=True, name="studio fits")

    def start(self) -> None:
        """Begin to fit."""
        self._thread.start()

    def close(self) -> None:
        """End after the step that runs."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def labels_changed(self) -> None:
        """Refit to the present labels."""
        found = self.snapshot()
        with self._changed:
            if found.version > self._current.version:
                self._current = found
            self._changed.notify_all()

    def codes(self, layer: str) -> np.ndarray | None:
        """Return the codes of the samples on a layer of the present model."""
        fit, number = self.fit, self.number
        if fit is None:
            return None
        if self._codes is None or self._codes[0] != (layer, number):
            self._codes = (layer, number), fit.codes(layer)
        return self._codes[1]

    def watch(self, attribute: str | None) -> None:
        """Compute map and estimate of this attribute."""
        with self._changed:
            self._watched = attribute
            self._changed.notify_all()

    def wait(self, version: int, timeout: float) -> bool:
        """Wait for the model of these labels or later ones; return whether it is there."""
        with self._changed:
            return self._changed.wait_for(
                lambda: (self.fit is not None and self.fit.version >= version) or self._failed >= version, timeout
            ) and (self.fit is not None and self.fit.version >= version)

    # ---- the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        with shown_on(self.progress):
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._is_closed or self._due() is not None)
                    due = self._due()
                    if self._is_closed or due is None:
                        return
                    current = self._current
                try:
                    due(current)
                except Exception as error:  # the page shows it, and labels can still be given
                    self._fail(current, error)

    def _due(self) -> Callable[[Snapshot], None] | None:
        """Return the next step: a map follows each fit, so that it moves while labels are given; estimates wait."""
        version = self._current.version
        is_old = (self.fit is None or self.fit.version < version) and self._failed < version
        if self.fit is not None:
            layer = self.fit.layer(self._watched)
            if self.maps.get(layer, (-1,))[0] != self.number:
                return self._make_map
        if is_old:
            return self._make_fit
        attribute = self._watched
        has_drawn = attribute is not None and len(self._current.drawn.get(attribute, ())) > 1
        if self.fit is not None and has_drawn and attribute in self.fit.guesses:
            return self._make_estimate if self._estimated.get(attribute) != version else None
        return None

    def _make_fit(self, current: Snapshot) -> None:
        self.progress.begin("model", "refitting")
        model, guesses = self.fitter.fit(current.frame, verbose=1)
        seconds = self.progress.end()
        with self._changed:
            self.before, self.fit = self.fit, Fit(current.version, current.frame, model, guesses, seconds)
            self.number += 1
            self._publish()

    def _make_map(self, current: Snapshot) -> None:
        assert self.fit is not None
        layer, number = self.fit.layer(self._watched), self.number
        codes = self.fit.codes(layer)
        if layer == REST:
            self.groups = group(codes, self.seed)
        is_first = not self.maps
        if is_first:  # something to see at once
            self._place(layer, -1, plane(codes))
        start = self.maps.get(layer, self._newest())[1]
        self.progress.begin("map", f"map of {layer}")
        found = moved_map(codes, start, self.seed, is_first=is_first)
        self.progress.end()
        self._place(layer, number, found)

    def _newest(self) -> tuple[int, np.ndarray]:
        return max(self.maps.values(), key=lambda found: found[0])

    def _place(self, layer: str, number: int, positions: np.ndarray) -> None:
        with self._changed:
            self.maps[layer] = number, positions
            self._publish()

    def _make_estimate(self, current: Snapshot) -> None:
        attribute = self._watched
        if attribute is None or current.frame is None or attribute not in current.frame:
            return
        self._estimated[attribute] = current.version
        values = current.frame[attribute].to_numpy(dtype=object)
        text = np.array([None if value is None else str(value) for value in values], dtype=object)
        self.progress.begin("estimate", "accuracy on samples drawn at random")

        def is_stale(_=None) -> bool:
            return self._is_closed or self._current.version != current.version

        found = estimate(
            self.fitter.scores,
            text,
            np.array(current.drawn[attribute]),
            lambda rows: self.fitter.predict_without(values, rows, is_stale),
            is_stale=is_stale,
        )
        self.progress.end()
        with self._changed:
            if found is not None and not is_stale():
                self.estimates.setdefault(attribute, []).append(found)
            self._publish()

    def _fail(self, current: Snapshot, error: Exception) -> None:
        """Report an error, and do not repeat what failed until labels change."""
        self.progress.end()
        with self._changed:
            self._failed = current.version
            if self.fit is not None:
                layer = self.fit.layer(self._watched)
                _, positions = self.maps.get(layer, (0, np.zeros((len(self.fitter.X), 2))))
                self.maps[layer] = self.number, positions
            self._publish()
            self.error = f"The model could not be refitted: {' '.join(str(error).split()) or type(error).__name__}"

    def _publish(self) -> None:
        self.revision += 1
        self.error = ""
        self._changed.notify_all()

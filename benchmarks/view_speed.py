"""Several views: time against the published iterations, time of whole fits, and time against the number of samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from laminar import MultiViewDeepNMF, MultiViewSemiNMF
from laminar._engine.linalg.small import unit_rows
from laminar.datasets import available, load, make_views

from . import opponents
from .harness import Row, seconds

LAYERS, SWEEPS, REPEATS = (100, 50), 150, 3


def explained(views: list[np.ndarray], H: np.ndarray, bases: list[np.ndarray]) -> float:
    """Share of the views that codes stand for, all views alike."""
    left = sum(np.linalg.norm(X - H @ Z) ** 2 for X, Z in zip(views, bases, strict=True))
    return 1 - left / sum(np.linalg.norm(X) ** 2 for X in views)


Model = MultiViewDeepNMF | MultiViewSemiNMF


def ours(views: list[np.ndarray], n_clusters: int, kind: type[Model] = MultiViewSemiNMF, **parameters) -> Model:
    model = kind(n_clusters=n_clusters, random_state=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(views)
    return model


def clustered(views: list[np.ndarray], n_clusters: int, kind: type[Model] = MultiViewSemiNMF, **parameters) -> Model:
    model = ours(views, n_clusters, kind, **parameters)
    _ = model.labels_  # found when asked for
    return model


def published(name: str = "yale_mv", n_clusters: int = 15) -> Iterator[Row]:
    """The published iterations from a random start, with no pre-training, against a whole fit with its clusters."""
    views = load(name, dtype=np.float64).views
    inputs, mine = [unit_rows(view) for view in views], []
    deep = {"kind": MultiViewDeepNMF, "layers": LAYERS, "max_iter": SWEEPS}
    model = clustered(views, n_clusters, **deep)  # compile
    for turn in range(2 * REPEATS):
        if turn == REPEATS:  # once, for it takes minutes, and between runs of ours
            theirs, (H, bases) = seconds(lambda: opponents.published_views(inputs, LAYERS, SWEEPS))
        mine.append(seconds(lambda: clustered(views, n_clusters, **deep))[0])
    ratios = [theirs / time for time in mine]
    own = [view.layers[-1].components for view in model.views_.values()]
    fits = explained(inputs, model.layers_[-1].representation, own), explained(inputs, H, bases)
    note = (
        f"{min(ratios):.3g} .. {max(ratios):.3g} of {len(mine)}, ours {np.median(mine):.2g} s; "
        f"explains {fits[0]:.3f} of the views, theirs {fits[1]:.3f}"
    )
    work = f"MultiViewDeepNMF {name}, layers {LAYERS}, fit and clusters"
    yield Row(work, f"published, naive, {SWEEPS} sweeps", float(np.median(ratios)), 20, note)
    yield from whole(name, n_clusters, 3)


def whole(name: str, n_clusters: int, target: float) -> Iterator[Row]:
    """Seconds of a fit with its clusters, defaults; the target is for the model that is linear in the samples."""
    for kind, most in ((MultiViewSemiNMF, target), (MultiViewDeepNMF, None)):
        yield _whole(name, n_clusters, kind, most)


def _whole(name: str, n_clusters: int, kind: type[Model], target: float | None) -> Row:
    views = load(name, dtype=np.float64).views
    clustered(views, n_clusters, kind)  # compile
    times = [seconds(lambda: clustered(views, n_clusters, kind))[0] for _ in range(REPEATS)]
    work = f"{kind.__name__} {name}, {len(views)} views, n = {len(views[0])}, default fit_predict"
    note = f"{min(times):.2f} .. {max(times):.2f} of {REPEATS}"
    return Row(work, "seconds", float(np.median(times)), target, note, at_most=True)


def growth() -> Iterator[Row]:
    """Time of a sample among many against that among few; many small fits in a row, for they are short."""
    large, small, many = 100_000, 10_000, 3
    views = make_views(large, n_classes=10, n_features=(256, 256, 256), noise=1.0, random_state=0).views
    views = [view.astype(np.float32) for view in views]
    few = [view[:small] for view in views]
    for work, job, target in (("fit", ours, 1.3), ("fit and clusters", clustered, None)):
        job(few, 10)  # compile
        ratios, note = [], ""
        for _ in range(REPEATS):
            short, _ = seconds(lambda job=job: [job(few, 10) for _ in range(many)])
            long, _ = seconds(lambda job=job: job(views, 10))
            ratios.append((long / large) / (short / (many * small)))
            note = f"{1e6 * long / large:.1f} us a sample, {long:.1f} s in all"
        what = f"MultiViewSemiNMF {work}, 3 views of 256, time a sample, n = {large} against {small}"
        yield Row(what, "itself", float(np.median(ratios)), target, note, at_most=True)


def rows_views() -> Iterator[Row]:
    for name, rows in (("yale_mv", published), ("uci_digits_mv", lambda: whole("uci_digits_mv", 10, 5))):
        if name in available():
            yield from rows()
        else:
            note = "the folder LAMINAR_DATA names does not hold it"
            yield Row(f"MultiViewSemiNMF, MultiViewDeepNMF {name}", "absent", float("nan"), note=note)
    yield from growth()

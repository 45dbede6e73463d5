"""Several views: the weight of each, what the shared codes explain of it, and what it finds by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .methods import side_by_side
from .scores import Scores
from .subject import Subject
from .variance import affine, best_explained, explained


def views(subject: Subject, scores: Scores) -> dict[str, Any] | None:
    """Return what is known of the views.

    Parameters
    ----------
    subject : Subject
        A model of several views, and its samples.
    scores : Scores
        Scores, with a row of the input for each view.

    Returns
    -------
    dict or None
        ``rows`` with, for each view, ``name``, ``n_features``, ``n_samples`` that have it, ``weight``, ``explained``
        by the shared codes and ``best``, the most that as many directions of that view alone could explain, each None
        where it is not known, and ``clusters``, by attribute, the accuracy of its own clusters; ``shared``, that of
        the shared codes. None for models of one input.

    Examples
    --------
    >>> from laminar import MultiViewSemiNMF
    >>> from laminar.datasets import make_views
    >>> from laminar.report.scores import score
    >>> from laminar.report.subject import read_subject
    >>> data = make_views(n_classes=2, n_samples=40, random_state=0)
    >>> subject = read_subject(MultiViewSemiNMF(2, random_state=0).fit(data.views), data.views)
    >>> len(views(subject, score(subject))["rows"]) == len(data.views)
    True
    """
    if not subject.has_views:
        return None
    names = [str(name) for name in subject.model.view_names_]
    weights = _weights(subject)
    place = subject.places[-1]
    found, H = affine(subject, place), subject.codes(place)
    inputs = {row.method.name: row for row in scores.rows if row.method.kind == "input"}
    rows, start = [], 0
    for i, name in enumerate(names):
        X = None if subject.views is None else np.asarray(side_by_side_of(subject, name))
        width = X.shape[1] if X is not None else int(subject.model.view_sizes_[i])
        share = best = n_samples = None
        if X is not None:
            has = np.isfinite(X).all(axis=1)
            n_samples = int(has.sum())
            if found is not None and found.components.shape[1] >= start + width:
                columns = slice(start, start + width)
                part = type(found)(found.offset[columns], found.components[:, columns])
                share = explained(X[has], H[has], part)
                k = len(part.components)
                best = best_explained(X[has], [k], is_centred=part.has_offset)[k]
        row = inputs.get(f"{name}, input")
        rows.append(
            {
                "name": name,
                "n_features": width,
                "n_samples": n_samples,
                "weight": None if weights is None else float(weights[i]),
                "explained": share,
                "best": best,
                "clusters": _clusters(scores, row),
            }
        )
        start += width
    layer = next((row for row in reversed(scores.rows) if row.method.kind == "layer"), None)
    return {"rows": rows, "shared": _clusters(scores, layer), "k": len(subject.layer(place).components)}


def side_by_side_of(subject: Subject, name: str) -> Any:
    """Return the data of one view."""
    X = (subject.views or {})[name]
    return side_by_side(subject) if len(subject.views or {}) == 1 else X.toarray() if hasattr(X, "toarray") else X


def _weights(subject: Subject) -> np.ndarray | None:
    weights = getattr(subject.model, "weights_", None)
    if weights is None or np.ndim(weights) != 1 or len(weights) != len(subject.model.view_names_):
        return None
    weights = np.asarray(weights, dtype=np.float64)
    return weights / weights.sum() if weights.sum() > 0 else weights


def _clusters(scores: Scores, row: Any) -> list[float | None]:
    return [None if row is None else scores.value(row, "clusters", a.name) for a in scores.attributes]

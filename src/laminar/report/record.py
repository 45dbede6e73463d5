"""The record of a report: everything that its page draws."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

import laminar
from laminar._utils.progress import stage

from .arrays import smallest, unsigned
from .course import course
from .display import Display, component_values, display_of, sample_values
from .errors import standard_error, threshold
from .groups import clusters, n_clusters_of, neighbours
from .maps import maps
from .methods import side_by_side
from .scores import METRICS, Row, Scores, score
from .sentence import lede, title
from .subject import Attribute, Place, Subject
from .training import provenance, settings, training
from .variance import affine
from .views import views

LARGE_CODE = 1000  # times the median of the codes that are not zero


def record(
    subject: Subject, *, map: str = "tsne", cache: str | os.PathLike | None = None, verbose: int = 0
) -> dict[str, Any]:
    """Return what the page of a report draws.

    Parameters
    ----------
    subject : Subject
        The model and its samples.
    map : {"tsne", "umap", "pca"}, default="tsne"
        How the samples of a layer are brought onto a map.
    cache : path or None, default=None
        File in which the maps are kept.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    dict
        Of what JSON has, and arrays.
    """
    scores = score(subject, verbose=verbose)
    display = display_of(subject)
    shown = [shown_part(attribute, subject.shown) for attribute in subject.attributes]
    features = [subject.features(place)[subject.shown] for place in subject.places]
    found = maps(features, method=map, seed=subject.seed, cache=cache, verbose=verbose)
    stage("clusters, neighbours and pictures")
    return {
        "title": title(subject),
        "lede": lede(subject, scores),
        "model": type(subject.model).__name__,
        "version": laminar.__version__,
        "noun": list(subject.noun),
        "n_samples": subject.n_samples,
        "n_features": _n_features(subject),
        "n_shown": len(subject.shown),
        "is_parallel": hasattr(subject.model, "training_codes"),
        "uses_labels": subject.given,
        "ids": [str(name) for name in subject.data.ids[subject.shown]],
        "attributes": [attribute_record(attribute) for attribute in shown],
        "display": _display(display, subject),
        "samples": sample_values(subject, display),
        "scores": scores_record(scores, subject),
        "layers": [
            _layer(subject, i, place, features[i], found[i], shown, scores, display)
            for i, place in enumerate(subject.places)
        ],
        "input_neighbours": _input_neighbours(subject),
        "training": training(subject),
        "settings": settings(subject),
        "provenance": provenance(subject, how_mapped=found[0]["how"]),
        "views": views(subject, scores),
        "course": course(subject),
    }


def shown_part(attribute: Attribute, rows: np.ndarray) -> Attribute:
    """Return an attribute of some of the samples."""
    return replace(attribute, codes=attribute.codes[rows], given=attribute.given[rows])


def attribute_record(attribute: Attribute) -> dict[str, Any]:
    """Return what the page holds of an attribute.

    Parameters
    ----------
    attribute : Attribute
        Of the samples on the page.

    Returns
    -------
    dict
        ``name``, ``classes``, ``codes``, ``given`` and ``is_ordered``.

    Examples
    --------
    >>> size = Attribute("size", ["L", "S"], np.array([1, -1]), np.array([True, False]))
    >>> attribute_record(size)["codes"].tolist()
    [1, -1]
    """
    return {
        "name": attribute.name,
        "classes": attribute.classes,
        "codes": attribute.codes.astype(np.int16),
        "given": attribute.given.astype(np.uint8),
        "is_ordered": attribute.is_ordered,
    }


def scores_record(scores: Scores, subject: Subject) -> dict[str, Any]:
    """Return the table of scores.

    Parameters
    ----------
    scores : Scores
        Scores of the layers and of baselines.
    subject : Subject
        The model and its samples.

    Returns
    -------
    dict
        ``way``, ``why``, ``errors``, the number of standard errors of a gain, ``metrics``, ``attributes`` with the
        number of scored samples, chance and the best baseline of each, and ``rows`` with ``cells[metric][attribute]``.
    """
    metrics = [m for m in METRICS if any(row.right[m] for row in scores.rows)]
    attributes = []
    for attribute in scores.attributes:
        counted = attribute.known if scores.way == "withheld" else attribute.known & ~attribute.given
        best = {metric: scores.best_baseline(metric, attribute.name) for metric in metrics}
        attributes.append(
            {
                "name": attribute.name,
                "n_classes": len(attribute.classes),
                "n_scored": int(counted.sum()),
                "chance": [scores.chance[metric].get(attribute.name) for metric in metrics],
                "best": [best[metric] for metric in metrics],
            }
        )
    own = sum(row.method.is_own for row in scores.rows)
    return {
        "way": scores.way,
        "why": scores.why,
        "errors": threshold(own),
        "metrics": metrics,
        "attributes": attributes,
        "rows": [_row(scores, row, metrics, subject) for row in scores.rows],
    }


def _row(scores: Scores, row: Row, metrics: list[str], subject: Subject) -> dict[str, Any]:
    method, groups = row.method, subject.data.groups
    cells = [[_cell(scores, row, metric, a, groups) for a in scores.attributes] for metric in metrics]
    return {
        "name": method.name,
        "kind": method.kind,
        "layer": method.layer,
        "n_components": method.n_components,
        "explained": method.explained,
        "best": method.best,
        "is_given": method.is_given and not method.is_own,
        "cells": cells,
    }


def _cell(scores: Scores, row: Row, metric: str, attribute: Attribute, groups: Any) -> dict[str, Any] | None:
    value = scores.value(row, metric, attribute.name)
    if value is None:
        return None
    right = row.right[metric][attribute.name]
    has = np.isfinite(right)
    error = standard_error(right[has], [group[has] for group in scores.groups(attribute, groups)])
    return {"value": value, "error": error, "gain": scores.gain(row, metric, attribute, groups)}


def _layer(
    subject: Subject,
    i: int,
    place: Place,
    features: np.ndarray,
    found: dict[str, Any],
    shown: list[Attribute],
    scores: Scores,
    display: Display,
) -> dict[str, Any]:
    layer, reconstruction = subject.layer(place), affine(subject, place)
    H = np.asarray(subject.codes(place), dtype=np.float64)[subject.shown]
    components = np.asarray(layer.components, dtype=np.float64)
    k = len(components)
    norms = np.linalg.norm(components if reconstruction is None else reconstruction.components, axis=1)
    use = np.abs(H).mean(axis=0) * norms
    own = next((j for j, attribute in enumerate(shown) if attribute.name == place.name), None)
    codes, largest = unsigned(np.maximum(H, 0))
    method = next(row.method for row in scores.rows if row.method.layer == i)
    number = n_clusters_of(subject.model, k, shown[own or 0] if shown else None)
    nonzero = np.abs(H[H != 0])
    return {
        "name": place.name,
        "view": None if place.view is None else str(place.view),
        "size": k,
        "attribute": own,
        "explained": method.explained,
        "best": method.best,
        "is_signed": bool(components.min(initial=0) < 0),
        "is_linear": reconstruction is not None,
        "has_offset": reconstruction is not None and reconstruction.has_offset,
        "largest_over_median": float(nonzero.max() / np.median(nonzero)) if len(nonzero) else None,
        "codes": codes,
        "largest_codes": largest,
        "norms": norms.astype(np.float32),
        "order": smallest(np.argsort(-use, kind="stable"), k),
        "use": (use / (use.sum() or 1)).astype(np.float32),
        "map": found["xy"],
        "map_how": found["how"],
        "neighbours": neighbours(features),
        "n_neighbours": min(10, len(subject.shown) - 1),
        **clusters(features, shown, number, seed=subject.seed),
        **component_values(display, reconstruction, components),
    }


def _display(display: Display, subject: Subject) -> dict[str, Any]:
    height, width = display.size if display.kind == "image" else (0, 0)
    found: dict[str, Any] = {
        "kind": display.kind,
        "names": display.names,
        "height": height,
        "width": width,
        "channels": display.shape[2],
        "step": display.step,
    }
    if display.kind in ("bars", "line"):
        n = len(display.names)
        factor, shift = (np.broadcast_to(np.asarray(v, dtype=np.float64), n) for v in (display.factor, display.shift))
        found["low"], found["span"] = (-shift / factor).astype(np.float32), (1 / factor).astype(np.float32)
    return found


def _input_neighbours(subject: Subject) -> np.ndarray | None:
    if subject.views is None:
        return None
    return neighbours(side_by_side(subject, is_scaled=subject.has_views)[subject.shown])


def _n_features(subject: Subject) -> int:
    if subject.views is not None:
        return sum(X.shape[1] for X in subject.views.values())
    return int(subject.model.layers_[0].components.shape[1])

"""What is scored: the layers of a model, and baselines that were given the same labels or none."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from laminar.baselines import LabelSpreading, PooledLDA
from laminar.evaluation.layers import layer_features
from laminar.nmf.nmf import NMF

from .subject import Attribute, Place, Subject, title_of
from .variance import Affine, best_explained, explained, variance
from .variance import affine as affine_of

MAX_NMF = 5e8  # entries of X times components: more take longer than the report itself


@dataclass(frozen=True, eq=False)
class Method:
    """One row of the table of scores.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"layer", "own", "input", "baseline"}
        What it is; "own" is what the model itself predicts.
    clustered : dict of array by attribute, or None
        Features that are clustered.
    classified : dict of array by attribute, or None
        Features of the linear classifier.
    predicted : dict of ndarray of int by attribute, or None
        Codes of predicted classes, of a method that predicts classes itself.
    has : ndarray of bool of shape (n_samples,), or None
        The samples that it has features of; None for all.
    layer : int or None
        Position of the layer in ``Subject.places``.
    n_components : int or None
        Number of components, or of directions.
    explained, best : float or None
        Share of the variance of X that is explained, and the most that as many directions could explain.
    is_given : bool
        Whether it was given the labels that the model was given.
    """

    name: str
    kind: str
    clustered: Any = None
    classified: Any = None
    predicted: dict[str, np.ndarray] | None = None
    has: np.ndarray | None = None
    layer: int | None = None
    n_components: int | None = None
    explained: float | None = None
    best: float | None = None
    is_given: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it is of the model, and no baseline."""
        return self.kind in ("layer", "own")

    def clusters_of(self, name: str) -> Any:
        """Return the features that are clustered for an attribute, or None."""
        return self.clustered.get(name) if isinstance(self.clustered, dict) else self.clustered


def layers(subject: Subject) -> list[Method]:
    """Return the layers of the model.

    Parameters
    ----------
    subject : Subject
        The model and its samples.

    Returns
    -------
    list of Method
        From the input up.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.report.subject import read_subject
    >>> X = np.random.default_rng(0).random((8, 5))
    >>> (layer,) = layers(read_subject(NMF(2, random_state=0).fit(X), X))
    >>> layer.name, layer.n_components, layer.explained < layer.best
    ('layer 0', 2, True)
    """
    found = [affine_of(subject, place) for place in subject.places]
    X = None if subject.views is None or _has_holes(subject) else side_by_side(subject)
    limits: dict[tuple[int, bool], float] = {}
    for is_centred in (False, True):
        sizes = [len(a.components) for a in found if a is not None and a.has_offset == is_centred]
        if X is not None:
            limits |= {(k, is_centred): v for k, v in best_explained(X, sizes, is_centred=is_centred).items()}
    return [
        _layer(subject, place, i, a, X, limits) for i, (place, a) in enumerate(zip(subject.places, found, strict=True))
    ]


def _layer(subject: Subject, place: Place, i: int, found: Affine | None, X: Any, limits: dict) -> Method:
    n_components, share, best = len(subject.layer(place).components), None, None
    if found is not None and X is not None:
        share = explained(X, subject.codes(place), found)
        best = limits[n_components, found.has_offset]
    return Method(
        place.name,
        "layer",
        clustered=subject.features(place),
        classified=subject.features(place, "isometric"),
        layer=i,
        n_components=n_components,
        explained=share,
        best=best,
        is_given=subject.given,
    )


def own_prediction(subject: Subject) -> list[Method]:
    """Return what the model itself predicts, where it predicts classes of attributes.

    Parameters
    ----------
    subject : Subject
        The model and its samples.

    Returns
    -------
    list of Method
        None or one.
    """
    model, found = subject.model, {}
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, dict) or not subject.given:
        return []
    for attribute in subject.attributes:
        named = {title_of(name): name for name in classes}
        name = named.get(attribute.name)
        if name is None or name not in getattr(model, "labels_", {}):
            continue
        labels = np.asarray(model.labels_[name])
        if len(labels) == subject.n_samples and (named_as := _class_codes(labels, attribute)) is not None:
            found[attribute.name] = named_as
    return [Method("own prediction", "own", predicted=found, is_given=True)] if found else []


def _class_codes(labels: np.ndarray, attribute: Attribute) -> np.ndarray | None:
    """Return predicted labels as positions of classes; a sample whose label was given has both.

    None where they do not agree: the model was given labels of another kind.
    """
    codes = np.full(len(labels), -1)
    for label in np.unique(labels):
        known = np.unique(attribute.codes[(labels == label) & attribute.given])
        if len(known) > 1:
            return None
        codes[labels == label] = known[0] if len(known) else -1
    return codes


def unlabelled(subject: Subject) -> list[Method]:
    """Return the input itself, and baselines that see no labels, of the sizes of the layers and the number of classes.

    Parameters
    ----------
    subject : Subject
        The model and its samples.

    Returns
    -------
    list of Method
        The input, or each view of it; whitened principal scores; NMF, where X is not negative.

    Examples
    --------
    >>> from laminar import SemiNMF
    >>> from laminar.report.subject import read_subject
    >>> X = np.random.default_rng(0).random((8, 5))
    >>> [method.name for method in unlabelled(read_subject(SemiNMF(2, random_state=0).fit(X), X))]
    ['input', 'whitened SVD (2)', 'NMF (2)']
    """
    if subject.views is None:
        return []
    found = [_input(name, X, subject) for name, X in subject.views.items()]
    X = np.nan_to_num(side_by_side(subject, is_scaled=True)) if subject.has_views else subject.X
    sizes = [len(subject.layer(place).components) for place in subject.places]
    classes = [len(attribute.classes) for attribute in subject.attributes]
    sizes = sorted({min(k, min(X.shape) - 1) for k in (min(sizes), max(sizes), max(classes, default=0))} - {0, -1})
    if not variance(X) > 0:
        return found
    best = best_explained(X, sizes, is_centred=True) if not subject.has_views else {}
    for k in sizes:
        E = whitened_scores(X, k, subject.seed)
        name = f"whitened SVD ({k})"
        found.append(Method(name, "baseline", E, E, n_components=k, explained=best.get(k), best=best.get(k)))
    is_signed = (X.min() if not sp.issparse(X) else X.data.min(initial=0)) < 0
    if not is_signed and not subject.has_views and not isinstance(subject.model, NMF):
        found += [_nmf(X, k, subject.seed) for k in sizes if X.shape[0] * X.shape[1] * k <= MAX_NMF]
    return found


def _input(name: str, X: Any, subject: Subject) -> Method:
    has = None
    if not sp.issparse(X) and not np.isfinite(X).all():
        has = np.isfinite(X).all(axis=1)
    title = f"{name}, input" if subject.has_views else "input"
    return Method(title, "input", X, X, has=has, n_components=X.shape[1])


def whitened_scores(X: Any, k: int, seed: int) -> np.ndarray:
    """Return principal scores of unit variance, each sample scaled to unit length.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Data; dense data are centred.
    k : int
        Number of scores.
    seed : int
        Seed of the decomposition.

    Returns
    -------
    ndarray of shape (n_samples, k)
        Scores.

    Examples
    --------
    >>> E = whitened_scores(np.random.default_rng(0).normal(size=(9, 4)), 2, 0)
    >>> np.linalg.norm(E, axis=1).round(6).tolist() == [1.0] * 9
    True
    """
    A = X.astype(np.float64) if sp.issparse(X) else X - X.mean(axis=0, dtype=np.float64)
    algorithm = "arpack" if k < min(A.shape) else "randomized"
    E = TruncatedSVD(k, algorithm=algorithm, random_state=seed).fit_transform(A)
    E = E / np.maximum(E.std(axis=0), 1e-12)
    return E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), 1e-12)


def _nmf(X: Any, k: int, seed: int) -> Method:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an iteration limit is no news about a baseline
        model = NMF(k, random_state=seed).fit(X)
    H = model.layers_[0].representation
    share = explained(X, H, Affine(np.zeros(X.shape[1]), model.components_.astype(np.float64)))
    features = partial(layer_features, model, 0)
    best = best_explained(X, [k], is_centred=False)[k]
    return Method(
        f"NMF ({k})", "baseline", features(), features(readout="isometric"), n_components=k, explained=share, best=best
    )


def labelled(subject: Subject, attributes: list[Attribute]) -> list[Method]:
    """Return baselines that are given the labels that the model was given.

    Parameters
    ----------
    subject : Subject
        The model and its samples.
    attributes : list of Attribute
        Attributes, with the labels that were given.

    Returns
    -------
    list of Method
        Linear discriminants, whose features are clustered as well, and label spreading.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.report.subject import read_subject
    >>> X, size = np.random.default_rng(0).random((8, 5)), {"size": list("SSSSLLLL")}
    >>> subject = read_subject(NMF(2, random_state=0).fit(X), X, labels=size, given=size)
    >>> [method.name for method in labelled(subject, subject.attributes)]
    ['LDA, same labels', 'label spreading, same labels']
    """
    import pandas

    usable = [a for a in attributes if len(np.unique(a.codes[a.given])) > 1]
    if not usable or subject.views is None:
        return []
    X = np.nan_to_num(side_by_side(subject, is_scaled=True)) if subject.has_views else subject.X
    y = pandas.DataFrame({a.name: np.where(a.given, a.codes, -1) for a in usable})
    found = []
    for name, model in (
        ("LDA", PooledLDA(random_state=subject.seed)),
        ("label spreading", LabelSpreading(random_state=subject.seed)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes with one label, as the model was given them
            model.fit(X, y)
        features = {a.name: np.asarray(layer_features(model, a.name)) for a in usable}
        found.append(
            Method(
                f"{name}, same labels",
                "baseline",
                clustered=features if name == "LDA" else {},
                predicted={a.name: np.asarray(model.labels_[a.name]) for a in usable if a.name in model.labels_},
                is_given=True,
            )
        )
    return found


def side_by_side(subject: Subject, *, is_scaled: bool = False) -> Any:
    """Return the data of all views in one array.

    Parameters
    ----------
    subject : Subject
        The model and its samples.
    is_scaled : bool, default=False
        Whether views are centred and divided by the square root of their variance.

    Returns
    -------
    {ndarray, sparse array} of shape (n_samples, n_features of all views)
        The data.
    """
    views = list((subject.views or {}).values())
    if is_scaled:
        views = [X - np.nanmean(X, axis=0) for X in map(_dense, views)]
        views = [X / (np.sqrt(np.nansum(X**2) / len(X)) or 1) for X in views]
    return views[0] if len(views) == 1 else np.hstack([_dense(X) for X in views])


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X


def _has_holes(subject: Subject) -> bool:
    return subject.has_views and any(not np.isfinite(_dense(X)).all() for X in (subject.views or {}).values())

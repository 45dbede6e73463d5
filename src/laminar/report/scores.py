"""Which layer shows which attribute: clusters and a linear classifier, beside baselines given the same labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from laminar._base.spectral import kmeans
from laminar._utils import threads
from laminar._utils.progress import track
from laminar.evaluation.probe import cross_validated_prediction, linear_prediction

from .errors import MIN_SCORED, is_gain
from .methods import Method, labelled, layers, own_prediction, unlabelled
from .subject import Attribute, Subject

METRICS = ("clusters", "classifier")
N_FOLDS, N_SHUFFLES = 5, 20
MAX_SCORED = 10_000  # samples: of more the errors are small, and classifiers take long
N_INIT, N_INIT_MANY = 20, 4  # starts of k-means, and of more samples than that
MIN_FOLD = 3  # scored samples a class in a fold, for a matching of clusters with classes to mean something


@dataclass(eq=False)
class Row:
    """A method with what it has right: ``right[metric][attribute]`` has 1, 0, or NaN where a sample is not scored."""

    method: Method
    right: dict[str, dict[str, np.ndarray]] = field(default_factory=lambda: {metric: {} for metric in METRICS})


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all methods.

    Attributes
    ----------
    rows : list of Row
        Layers from the input up, the input, baselines.
    chance : dict
        Score of random clusters, and share of the largest class, ``chance[metric][attribute]``.
    attributes : list of Attribute
        The attributes that are scored.
    way : {"cross-validated", "others", "withheld", "none"}
        How samples are scored: no label was given, and the classifier is cross-validated; those whose label was not
        given; those whose label was withheld from further fits; not at all.
    why : str
        Where nothing is scored, the reason.
    """

    rows: list[Row]
    chance: dict[str, dict[str, float]]
    attributes: list[Attribute]
    way: str
    why: str = ""

    def value(self, row: Row, metric: str, attribute: str) -> float | None:
        """Return a score, None where there is none."""
        right = row.right[metric].get(attribute)
        return None if right is None or not np.isfinite(right).any() else float(np.nanmean(right))

    def best_baseline(self, metric: str, attribute: str) -> tuple[str, float] | None:
        """Return name and score of the best baseline, the input among them; None where there is none."""
        baselines = [row for row in self.rows if not row.method.is_own]
        found = [(self.value(row, metric, attribute), row.method.name) for row in baselines]
        scored = [(value, name) for value, name in found if value is not None]
        if attribute in self.chance[metric]:
            scored.append((self.chance[metric][attribute], "chance"))
        if not scored:
            return None
        value, name = max(scored)
        return name, value

    def groups(self, attribute: Attribute, groups: np.ndarray | None) -> list[np.ndarray]:
        """Return ways in which samples may depend on each other: sequences, and classes of attributes."""
        found = [other.codes for other in self.attributes]
        return found if groups is None else [*found, np.unique(groups, return_inverse=True)[1]]

    def gain(self, row: Row, metric: str, attribute: Attribute, groups: np.ndarray | None) -> float | None:
        """Return how far a layer is above the best baseline, None where it is not clearly above all of them."""
        right, best = row.right[metric].get(attribute.name), self.best_baseline(metric, attribute.name)
        if not row.method.is_own or right is None or best is None or not np.isfinite(right).any():
            return None
        n_layers, ways = sum(row.method.is_own for row in self.rows), self.groups(attribute, groups)
        others = [other.right[metric].get(attribute.name) for other in self.rows if not other.method.is_own]
        others.append(np.full(len(right), self.chance[metric][attribute.name]))
        if not all(is_gain(right, other, ways, n_layers) for other in others if other is not None):
            return None
        return float(np.nanmean(right)) - best[1]


def score(subject: Subject, *, verbose: int = 0) -> Scores:
    """Score the layers of a model and the baselines, on samples whose label the model was not given.

    Parameters
    ----------
    subject : Subject
        The model, its samples and labels.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    Scores
        What each method has right.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.report.subject import read_subject
    >>> rng = np.random.default_rng(0)
    >>> X = np.kron(np.eye(2), np.ones((20, 4))) + 0.1 * rng.random((40, 8))
    >>> scores = score(read_subject(NMF(2, random_state=0).fit(X), X, labels={"half": ["a"] * 20 + ["b"] * 20}))
    >>> [(row.method.name, scores.value(row, "clusters", "half")) for row in scores.rows]
    [('layer 0', 1.0), ('input', 1.0), ('whitened SVD (2)', 1.0)]
    """
    subject = _limited(subject)
    own = [*layers(subject), *own_prediction(subject)]
    if not subject.attributes:
        return Scores([Row(method) for method in own], {m: {} for m in METRICS}, [], "none", "No label is known.")
    with threads.own_threads():
        if not subject.given:
            return _scored(subject, [*own, *unlabelled(subject)], "cross-validated", verbose)
        if subject.views is None:
            why = "The data are not at hand, and nothing is scored: no baseline can be given the same labels."
            return Scores([Row(method) for method in own], {m: {} for m in METRICS}, [], "none", why)
        if all(_has_others(attribute) for attribute in subject.attributes):
            methods = [*own, *unlabelled(subject), *labelled(subject, subject.attributes)]
            return _scored(subject, methods, "others", verbose)
        return _withheld(subject, own, verbose)


def _limited(subject: Subject) -> Subject:
    """Return a subject of which at most `MAX_SCORED` samples, at random, have labels beside those that were given."""
    n = subject.n_samples
    if n <= MAX_SCORED:
        return subject
    kept = np.isin(np.arange(n), np.random.default_rng(subject.seed).choice(n, MAX_SCORED, replace=False))
    limited = [replace(a, codes=np.where(a.given | kept, a.codes, -1)) for a in subject.attributes]
    return replace(subject, attributes=limited)


def _has_others(attribute: Attribute) -> bool:
    """Whether enough labels are left that the model was not given."""
    others = attribute.codes[attribute.known & ~attribute.given]
    return not attribute.given.any() or (len(others) >= MIN_SCORED and len(np.unique(others)) > 1)


def _scored(subject: Subject, methods: Sequence[Method], way: str, verbose: int) -> Scores:
    rows = [Row(method) for method in methods]
    chance: dict[str, dict[str, float]] = {metric: {} for metric in METRICS}
    cells = [(attribute, row) for attribute in subject.attributes for row in rows]
    for attribute, row in track(cells, "scores", unit="scores", verbose=verbose):
        scored = attribute.known & ~attribute.given
        if len(np.unique(attribute.codes[scored])) < 2:
            continue
        for metric, rights in (("clusters", _clusters_right), ("classifier", _classes_right)):
            found = rights(row.method, attribute, scored, subject)
            if found is not None:
                row.right[metric][attribute.name] = found
        chance["clusters"][attribute.name] = _shuffled(attribute.codes[scored], subject.seed)
        chance["classifier"][attribute.name] = float(np.bincount(attribute.codes[scored]).max() / scored.sum())
    return Scores(rows, chance, subject.attributes, way)


def _clusters_right(method: Method, attribute: Attribute, scored: np.ndarray, subject: Subject) -> np.ndarray | None:
    """Return which scored samples are in the cluster that is matched with their class."""
    E, n = method.clusters_of(attribute.name), len(attribute.classes)
    has = np.ones(subject.n_samples, dtype=bool) if method.has is None else method.has
    rows = scored & has
    if E is None or has.sum() < n or not rows.any():
        return None
    clusters = np.full(subject.n_samples, -1)
    n_init = N_INIT if subject.n_samples <= MAX_SCORED else N_INIT_MANY
    clusters[has] = kmeans(E[has], n, subject.seed, n_init).labels_
    right = np.full(subject.n_samples, np.nan)
    right[rows] = matched(attribute.codes[rows], clusters[rows], n) == attribute.codes[rows]
    return right


def matched(true: np.ndarray, clusters: np.ndarray, n: int) -> np.ndarray:
    """Return the class of each sample's cluster, in the matching of clusters with classes that has most samples right.

    Parameters
    ----------
    true, clusters : ndarray of int of shape (n_samples,)
        Classes and clusters, below n.
    n : int
        Number of classes and of clusters.

    Returns
    -------
    ndarray of int of shape (n_samples,)
        Classes.

    Examples
    --------
    >>> matched(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 0]), 2).tolist()
    [0, 0, 0, 1]
    """
    table = np.zeros((n, n))
    np.add.at(table, (clusters, true), 1)
    return linear_sum_assignment(-table)[1][clusters]


def _shuffled(true: np.ndarray, seed: int) -> float:
    """Return the mean score of random clusters with the sizes of the classes, by the same matching."""
    rng, n = np.random.default_rng(seed), int(true.max()) + 1
    return float(np.mean([np.mean(matched(true, rng.permutation(true), n) == true) for _ in range(N_SHUFFLES)]))


def _classes_right(method: Method, attribute: Attribute, scored: np.ndarray, subject: Subject) -> np.ndarray | None:
    """Return which scored samples a classifier has right that learned from the given labels, or from other folds."""
    if method.predicted is not None:
        predicted = method.predicted.get(attribute.name)
        found = None if predicted is None else predicted[scored]
        rows = scored
    elif method.classified is None:
        return None
    else:
        rows = scored if method.has is None else scored & method.has
        found = _linear(method, attribute, rows, subject)
    if found is None or not rows.any():
        return None
    right = np.full(subject.n_samples, np.nan)
    right[rows] = found == attribute.codes[rows]
    return right


def _linear(method: Method, attribute: Attribute, rows: np.ndarray, subject: Subject) -> np.ndarray | None:
    E = method.classified
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few samples a class, and iterations
        if attribute.given.any():
            train = attribute.given if method.has is None else attribute.given & method.has
            return linear_prediction(E[train], attribute.codes[train], E[rows]) if train.any() else None
        groups = subject.data.groups
        groups = None if groups is None or len(np.unique(groups[rows])) < 2 else groups[rows]
        return cross_validated_prediction(E[rows], attribute.codes[rows], groups, random_state=subject.seed)


# ---- all known labels were given: fits with some of them withheld ----------------------------------------------------


def _withheld(subject: Subject, own: list[Method], verbose: int) -> Scores:
    """Score models that are fitted again, five times, each time with the labels of a fifth of the samples withheld."""
    nothing = Scores([Row(m) for m in own], {m: {} for m in METRICS}, [], "none")
    if subject.X is None or not subject.is_training:
        why = (
            "The model was given every label that is known, and the data are not at hand to fit it again without some."
        )
        return replace(nothing, why=why)
    if max(int(attribute.given.sum()) for attribute in subject.attributes) < MIN_SCORED:
        return replace(nothing, why=f"Fewer than {MIN_SCORED} labels are known, all of them given to the model.")
    parts = []
    fixed = unlabelled(subject)
    for fold in track(_folds(subject), "fits with labels withheld", unit="fits", verbose=verbose):
        attributes = [replace(a, given=a.given & ~fold) for a in subject.attributes]
        try:
            again = _fitted_again(subject, attributes)
        except ValueError as error:
            return replace(nothing, why=f"The model cannot be fitted with some labels withheld: {error}")
        scored = [replace(a, codes=np.where(a.given | fold, a.codes, -1)) for a in attributes]
        methods = [*_plain_layers(again), *fixed, *labelled(again, attributes)]
        parts.append(_scored(replace(again, attributes=scored), methods, "withheld", 0))
    return _joined(parts, subject, own, fixed)


def _folds(subject: Subject) -> list[np.ndarray]:
    """Return masks of the samples whose labels are withheld; sequences stay together."""
    known = np.flatnonzero(np.any([attribute.known for attribute in subject.attributes], axis=0))
    first = max(subject.attributes, key=lambda attribute: attribute.known.sum()).codes[known]
    groups = subject.data.groups
    splitter: Any = StratifiedKFold(N_FOLDS, shuffle=True, random_state=subject.seed)
    if np.unique(first, return_counts=True)[1].max() < N_FOLDS:  # which a stratified splitter refuses
        splitter = KFold(N_FOLDS, shuffle=True, random_state=subject.seed)
    if groups is not None and len(np.unique(groups[known])) >= N_FOLDS:
        splitter, groups = GroupKFold(N_FOLDS), groups[known]
    masks = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes smaller than the number of folds
        for _, rows in splitter.split(known, first, groups if isinstance(splitter, GroupKFold) else None):
            masks.append(np.isin(np.arange(subject.n_samples), known[rows]))
    return masks


def _fitted_again(subject: Subject, attributes: list[Attribute]) -> Subject:
    import inspect

    import pandas

    def column(attribute: Attribute) -> list[str | None]:
        pairs = zip(attribute.codes, attribute.given, strict=True)
        return [attribute.classes[code] if is_given else None for code, is_given in pairs]

    y = pandas.DataFrame({attribute.name: column(attribute) for attribute in attributes if attribute.given.any()})
    model = clone(subject.model)
    given = {"groups": subject.data.groups, "observed": subject.data.observed}
    takes = inspect.signature(model.fit).parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fit; the model itself has given its own
        model.fit(subject.X, y, **{k: v for k, v in given.items() if k in takes and v is not None})
    return replace(subject, model=model, attributes=attributes)


def _plain_layers(subject: Subject) -> list[Method]:
    """Return the layers without the variance they explain."""
    found = [
        Method(place.name, "layer", subject.features(place), subject.features(place, "isometric"), layer=i)
        for i, place in enumerate(subject.places)
    ]
    return [*found, *own_prediction(subject)]


def _joined(parts: list[Scores], subject: Subject, own: list[Method], fixed: list[Method]) -> Scores:
    """Return one set of scores of the samples of all folds."""
    methods = [*own, *fixed, *(row.method for row in parts[0].rows[len(own) + len(fixed) :])]
    rows = [Row(method) for method in methods]
    chance: dict[str, dict[str, float]] = {metric: {} for metric in METRICS}
    for metric in METRICS:
        for attribute in subject.attributes:
            name = attribute.name
            n_scored = attribute.known.sum() / N_FOLDS
            if metric == "clusters" and n_scored < MIN_FOLD * len(attribute.classes):
                continue
            for i, row in enumerate(rows):
                found = [part.rows[i].right[metric].get(name) for part in parts if i < len(part.rows)]
                arrays = [array for array in found if array is not None]
                if len(arrays) == len(parts):
                    row.right[metric][name] = np.fmax.reduce(arrays)  # every sample is scored in one fold
            shares = [part.chance[metric][name] for part in parts if name in part.chance[metric]]
            if metric == "classifier":
                chance[metric][name] = float(
                    np.bincount(attribute.codes[attribute.known]).max() / attribute.known.sum()
                )
            elif shares:
                chance[metric][name] = float(np.mean(shares))
    return Scores(rows, chance, subject.attributes, "withheld")

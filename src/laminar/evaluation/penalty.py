"""Selection of the weight of a penalty by labels that the fit does not see."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from .._utils.labels import Attribute, attribute_names, read_groups, read_labels
from .._utils.progress import track
from .._utils.typing import Seed, ViewData
from .._utils.validation import check_choice, count_samples
from ..metrics import clustering_accuracy, normalized_mutual_information
from ..nmf.class_driven import ClassDrivenNMF
from .layers import layer_clusters, layer_features
from .selection import is_as_good

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["PenaltySelection", "select_penalty"]


@dataclass(frozen=True)
class PenaltySelection:
    """Result of `select_penalty`.

    Attributes
    ----------
    best_ : float
        The value to use, by the mean over the attributes.
    best_by_attribute_ : dict
        The value to use for each attribute.
    table_ : DataFrame
        One row for each attribute and value, and for the mean of the attributes where there are several: the mean
        ``score``, its ``standard_error`` over the repeats, and the score of every repeat.
    param : str
        Parameter that was varied.
    score : {"clusters", "nmi", "probe", "classes"}
        What was scored.

    Examples
    --------
    >>> from laminar import WSF, select_penalty
    >>> from laminar.datasets import make_attributes
    >>> data = make_attributes(60, levels=(3, 2), scales=(1.0, 1.0), random_state=0)
    >>> found = select_penalty(WSF(4, random_state=0), data.X, data.y, grid=(0, 1), n_repeats=2, verbose=0)
    >>> found.table_.index.tolist()
    [(0, 0), (0, 1), (1, 0), (1, 1), ('mean', 0), ('mean', 1)]
    """

    best_: float
    best_by_attribute_: dict[Hashable, float]
    table_: DataFrame
    param: str
    score: str


def select_penalty(
    estimator: BaseEstimator,
    X: ViewData,
    y: ArrayLike,
    param: str = "alpha",
    grid: Iterable[float] = (0, 0.01, 0.1, 1, 10),
    *,
    score: str = "clusters",
    hidden: float = 0.5,
    n_repeats: int = 5,
    groups: ArrayLike | None = None,
    layer: int | Sequence[int] = -1,
    fit_params: Mapping[str, Any] | None = None,
    random_state: Seed = 0,
    verbose: int = 1,
) -> PenaltySelection:
    """Choose the weight of a penalty by hiding a part of the known labels and scoring on it.

    Parameters
    ----------
    estimator : model with ``layers_``
        What is fitted, with ``param`` set to each value; it is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or views
        Data. Every fit sees all samples.
    y : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Labels, some or all; -1, NaN and None are unknown. Unknown ones are neither used in a fit nor scored.
    param : str, default="alpha"
        Parameter of the estimator that is the weight of its penalty.
    grid : iterable of float, default=(0, 0.01, 0.1, 1, 10)
        Values to choose from, not below 0.
    score : {"clusters", "nmi", "probe", "classes"}, default="clusters"
        What is computed from the hidden labels of an attribute and the samples that have one. "clusters" and "nmi":
        clustering accuracy, and normalised mutual information, of k-means with as many clusters as there are classes,
        on the codes of the fit. "probe": accuracy of a linear support vector machine on the codes of `transform`,
        trained with the labels that are shown. "classes": accuracy of ``predict``, of `ClassDrivenNMF`.
    hidden : float, default=0.5
        Share of the known labels of each class that is hidden, at least one and not all; a single label is shown.
        With ``groups``, share of the groups.
    n_repeats : int, default=5
        Random choices of the hidden labels, the same for all values.
    groups : array-like of shape (n_samples,) or None, default=None
        The sequence each sample belongs to. The labels of whole sequences are then hidden, of all attributes: frames
        of one sequence are too similar to test each other.
    layer : int or sequence of int, default=-1
        Layer whose codes are scored; one for all attributes, or one each. The last is the top.
    fit_params : mapping or None, default=None
        Further arguments of ``fit``, such as ``{"groups": groups}`` for models of sequences.
    random_state : int, RandomState instance or None, default=0
        Seed of the hidden labels and of the fits.
    verbose : int, default=1
        1 shows progress on standard error, 0 nothing.

    Returns
    -------
    PenaltySelection
        With ``best_``, ``best_by_attribute_`` and ``table_``.

    See Also
    --------
    laminar.plots.sensitivity : The scores as curves.
    select_layers : Choice of the sizes of layers, without labels.

    Notes
    -----
    The ``score`` of a model is the share of X that it explains, which any penalty lowers: `GridSearchCV` then chooses
    the smallest value. Here a value is good if labels that were given help to find those that were not.

    The choice is the smallest value whose mean score is behind the highest by at most one standard error of the
    difference over the repeats, the same hidden labels being compared. Differences of at most 0.1 % of what the best
    leaves to 1, or of 1e-6, count as none. The table has all scores for another choice.

    Repeats hide overlapping parts of the same labels, so that their standard error is too small for a statement about
    other data. With groups, a class that only occurs in hidden sequences is scored too, and counts as an error of
    "probe" and "classes" for every value.

    References
    ----------
    Y. Xiao et al., Class-driven non-negative matrix factorization for image representation, JCST 28, 2013,
    doi:10.1007/s11390-013-1374-9, sec. 6.5: choice of the weights by cross-validation.

    Examples
    --------
    >>> from laminar import ClassDrivenNMF, select_penalty
    >>> from laminar.datasets import make_faces, partial_labels
    >>> faces = make_faces(4, 3, 3, size=12, random_state=0)
    >>> known = partial_labels(faces.identity, 0.7, random_state=0)
    >>> found = select_penalty(ClassDrivenNMF(), faces.X, known, grid=(0, 0.1, 1), n_repeats=3, verbose=0)
    >>> found.best_ in (0, 0.1, 1), found.table_.shape
    (True, (3, 5))
    """
    check_choice("score", score, tuple(_SCORES))
    values = _read_grid(estimator, param, grid)
    n_samples = _count(X)
    attributes = read_labels(y, n_samples)
    _check(estimator, attributes, score, hidden, n_repeats)
    layers = _read_layers(layer, len(attributes), score)
    sequences = None if groups is None else read_groups(groups, n_samples)
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_repeats)
    splits = [_hide(attributes, hidden, sequences, np.random.RandomState(seed)) for seed in seeds]
    scores = np.empty((len(attributes), len(values), n_repeats))
    tasks = [(r, g) for r in range(n_repeats) for g in range(len(values))]
    for r, g in track(tasks, "select_penalty", unit="fits", verbose=verbose):
        model = clone(estimator).set_params(**{param: values[g]})
        if "random_state" in model.get_params():
            model.set_params(random_state=int(seeds[r]))
        model.fit(X, _shown(y, attributes, splits[r]), **(fit_params or {}))
        for a, attribute in enumerate(attributes):
            scores[a, g, r] = _SCORES[score](model, X, attribute, splits[r][:, a], layers[a])
    names = attribute_names(attributes)
    return PenaltySelection(
        _best(values, scores.mean(axis=0)),
        {name: _best(values, rows) for name, rows in zip(names, scores, strict=True)},
        _table(names, values, scores),
        param,
        score,
    )


# ---- parameters ------------------------------------------------------------------------------------------------------


def _read_grid(estimator: BaseEstimator, param: str, grid: Iterable[float]) -> list[float]:
    """Return the values in increasing order, each once."""
    if param not in estimator.get_params():
        raise ValueError(
            f"{type(estimator).__name__} has no parameter {param!r}: param must name its penalty's weight."
        )
    values = list(grid)
    if not values or not all(isinstance(value, Real) and 0 <= value < np.inf for value in values):
        raise ValueError(f"grid must hold one or more finite numbers, none below 0; got {values}.")
    return sorted(set(values))


def _read_layers(layer: int | Sequence[int], n_attributes: int, score: str) -> list[int]:
    if score == "classes" and np.any(np.not_equal(layer, -1)):
        raise ValueError(f'layer={layer!r} has no effect on score="classes", which predict decides: leave it out.')
    layers = [layer] * n_attributes if isinstance(layer, Integral) else list(layer)
    if len(layers) != n_attributes:
        raise ValueError(f"layer has {len(layers)} entries but y has {n_attributes} attributes: give one each.")
    return [int(i) for i in layers]


def _count(X: ViewData) -> int:
    """Return the number of samples, of one array or of views."""
    is_views = isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2
    return count_samples(X[0] if is_views else X)


def _check(
    estimator: BaseEstimator, attributes: tuple[Attribute, ...], score: str, hidden: float, n_repeats: int
) -> None:
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2, for a standard error; got {n_repeats}.")
    if not 0 < hidden < 1:
        raise ValueError(f"hidden must lie between 0 and 1, both excluded; got {hidden!r}.")
    if score == "classes" and not isinstance(estimator, ClassDrivenNMF):
        name = type(estimator).__name__
        raise ValueError(
            f'{name}.predict does not return classes, as ClassDrivenNMF does: use score="clusters" or "probe".'
        )
    for name, attribute in zip(attribute_names(attributes), attributes, strict=True):
        if (attribute.class_sizes > 1).sum() < 2:
            raise ValueError(
                f"attribute {name!r} has fewer than two classes with two known labels each, too few to hide some: give "
                "more labels, or leave it out."
            )


# ---- hidden labels ---------------------------------------------------------------------------------------------------


def _hide(
    attributes: tuple[Attribute, ...], share: float, sequences: np.ndarray | None, rng: np.random.RandomState
) -> np.ndarray:
    """Return a mask (n_samples, n_attributes) of known labels to hide."""
    if sequences is None:
        return np.column_stack([_hide_by_class(attribute, share, rng) for attribute in attributes])
    known = np.column_stack([attribute.known for attribute in attributes])
    labelled = np.unique(sequences[known.any(axis=1)])
    chosen = rng.permutation(labelled)[: _part(share, len(labelled))]
    mask = known & np.isin(sequences, chosen)[:, None]
    for name, of_all, of_hidden in zip(attribute_names(attributes), known.T, mask.T, strict=True):
        if not of_hidden.any() or not (of_all & ~of_hidden).any():
            raise ValueError(
                f"all known labels of attribute {name!r} are in hidden groups, or none is: give more groups, another "
                "share with hidden=, or no groups."
            )
    return mask


def _hide_by_class(attribute: Attribute, share: float, rng: np.random.RandomState) -> np.ndarray:
    mask = np.zeros(len(attribute.codes), dtype=bool)
    for code in range(len(attribute.classes)):
        members = rng.permutation(np.flatnonzero(attribute.codes == code))
        mask[members[: _part(share, len(members))]] = True
    return mask


def _part(share: float, n: int) -> int:
    """Return a share of n as a whole number, at least one and not all; of one, none."""
    return min(max(1, round(share * n)), n - 1)


def _shown(y: ArrayLike, attributes: tuple[Attribute, ...], hidden: np.ndarray) -> Any:
    """Return y with None where a label is hidden or unknown, one column an attribute, with its names."""
    labels = np.full(hidden.shape, None, dtype=object)
    for column, attribute, mask in zip(labels.T, attributes, hidden.T, strict=True):
        shown = attribute.known & ~mask
        column[shown] = attribute.classes[attribute.codes[shown]].tolist()
    if hasattr(y, "columns"):
        import pandas

        return pandas.DataFrame(labels, columns=y.columns)
    return labels if np.ndim(y) == 2 else labels[:, 0]


# ---- scores: of a fitted model on the hidden labels of an attribute -------------------------------------------------


def _clusters(model: BaseEstimator, X: ViewData, attribute: Attribute, hidden: np.ndarray, layer: int) -> float:
    found = layer_clusters(model, layer, len(attribute.classes))
    return clustering_accuracy(attribute.codes[hidden], found[hidden])


def _nmi(model: BaseEstimator, X: ViewData, attribute: Attribute, hidden: np.ndarray, layer: int) -> float:
    found = layer_clusters(model, layer, len(attribute.classes))
    return normalized_mutual_information(attribute.codes[hidden], found[hidden])


def _probe(model: BaseEstimator, X: ViewData, attribute: Attribute, hidden: np.ndarray, layer: int) -> float:
    # Codes of `transform`: those of the fit are influenced by the labels of shown samples only.
    E = layer_features(model, layer, X)
    E = E / (np.sqrt(np.square(E).sum(axis=1).mean()) or 1.0)
    shown = attribute.known & ~hidden
    if len(np.unique(attribute.codes[shown])) < 2:
        return float(np.mean(attribute.codes[hidden] == attribute.codes[shown][0]))
    classifier = LinearSVC(random_state=0).fit(E[shown], attribute.codes[shown])
    return float(classifier.score(E[hidden], attribute.codes[hidden]))


def _classes(model: BaseEstimator, X: ViewData, attribute: Attribute, hidden: np.ndarray, layer: int) -> float:
    return float(np.mean(model.predict(X)[hidden] == attribute.classes[attribute.codes[hidden]]))


_SCORES = {"clusters": _clusters, "nmi": _nmi, "probe": _probe, "classes": _classes}


# ---- result ----------------------------------------------------------------------------------------------------------


def _best(values: list[float], scores: np.ndarray) -> float:
    """Return the smallest value as good as the best, of scores (n_values, n_repeats)."""
    best = scores[scores.mean(axis=1).argmax()]
    return next(value for value, row in zip(values, scores, strict=True) if is_as_good(row, best))


def _table(names: list[Hashable], values: list[float], scores: np.ndarray) -> DataFrame:
    import pandas

    parts = dict(zip(names, scores, strict=True))
    if len(names) > 1:
        parts["mean"] = scores.mean(axis=0)
    n_repeats = scores.shape[2]
    index = pandas.MultiIndex.from_product([list(parts), values], names=("attribute", "value"))
    repeats = np.concatenate(list(parts.values()))
    columns = [f"repeat {r + 1}" for r in range(n_repeats)]
    table = pandas.DataFrame(repeats, index=index, columns=columns)
    table.insert(0, "score", repeats.mean(axis=1))
    table.insert(1, "standard_error", repeats.std(axis=1, ddof=1) / np.sqrt(n_repeats))
    return table

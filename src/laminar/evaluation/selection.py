"""Selection of the number and sizes of layers without labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, check_random_state

from .._base.coding import Coder
from .._base.views import ViewCoder
from .._engine.data.matrix import dense
from .._utils.progress import track
from .._utils.validation import check_choice, refuse_masked
from ..deep.semi import DeepSemiNMF
from ..metrics import adjusted_rand_index
from .layers import layer_clusters

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["LayerSelection", "select_layers"]

Layers = tuple[int, ...]


@dataclass(frozen=True)
class LayerSelection:
    """Result of `select_layers`.

    Attributes
    ----------
    best_ : tuple of int
        The layers to use.
    table_ : DataFrame
        One row for each layer of each candidate, with its ``size``, its mean ``score`` and the ``standard_error`` of
        it over the repeats. The last layer's score is the candidate's.
    method : {"entries", "stability"}
        What was scored.

    Examples
    --------
    >>> from laminar import select_layers
    >>> from laminar.datasets import make_lowrank
    >>> found = select_layers(make_lowrank(40, 20, n_components=3, random_state=0).X, [2, (6, 3)], verbose=0)
    >>> found.table_.loc["6-3", "size"].tolist()
    [6, 3]
    """

    best_: Layers
    table_: DataFrame
    method: str


def select_layers(
    X,
    candidates: Iterable[int | Iterable[int]],
    *,
    estimator: BaseEstimator | None = None,
    method: str = "entries",
    n_repeats: int = 5,
    random_state=0,
    verbose: int = 1,
) -> LayerSelection:
    """Choose the number and the sizes of the layers of a model without labels.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.
    candidates : iterable of int or tuple of int
        Layers to choose from, each from the input up, as ``[(20,), (100, 20), (100, 40)]``.
    estimator : model or None, default=None
        What is fitted: its ``layers``, or ``n_components`` where it has one layer, are set to each candidate. None is
        ``DeepSemiNMF(tol=1e-4)``.
    method : {"entries", "stability"}, default="entries"
        "entries" hides a third of the samples on a third of the features, fits the rest and predicts what was hidden
        (bi-cross-validation). The score is the share of the hidden squares that was predicted: 1 is perfect.
        "stability" fits two halves of the samples apart and lets both cluster all of them, into as many clusters as
        the model has (``n_clusters``, or the size of the top layer). The score is their adjusted Rand index.
    n_repeats : int, default=5
        Random splits, the same for all candidates.
    random_state : int, RandomState instance or None, default=0
        Seed of the splits and of the fits.
    verbose : int, default=1
        1 shows progress on standard error, 0 nothing.

    Returns
    -------
    LayerSelection
        With ``best_`` and ``table_``.

    Notes
    -----
    The score of a candidate is that of its top layer. Candidates that over the splits are within one standard error of
    the best are taken to be as good: of those "entries" prefers the smallest top and "stability" the largest, because
    clusters that can be merged are found again too; then the one whose layers score best on average; then the one with
    the fewest components in all; then the first. Differences of at most 0.1 % of what the best leaves to 1, or of 1e-6,
    count as none throughout, so that rounding does not decide.

    The squared error of a stack without activation depends on its narrowest layer alone, so that held-out entries
    determine the size of a top layer and never the depth: (100, 20) and (20,) predict the same. Each layer therefore
    has a score of its own, that of predicting from its codes: it shows whether a hidden layer holds more than the top
    does, or noise. Data without noise, such as rendered images, are predicted ever better by ever larger layers:
    `laminar.plots.selection_figure` shows where the gain ends.

    Predicting hidden entries needs no missing values: the fit sees neither the held-out samples nor the held-out
    features. Regression of the held-out features on the codes of the fitted samples gives their components; the
    held-out samples are coded from the features that are left; the product of both is the prediction.

    References
    ----------
    A. B. Owen and P. O. Perry, Bi-cross-validation of the SVD and the nonnegative matrix factorization, Annals of
    Applied Statistics 3, 2009.

    Examples
    --------
    >>> from laminar import select_layers
    >>> from laminar.datasets import make_lowrank
    >>> X = make_lowrank(60, 40, n_components=4, noise=0.3, random_state=0).X
    >>> found = select_layers(X, [2, 4, 8], verbose=0)
    >>> found.best_, list(found.table_.columns)
    ((4,), ['size', 'score', 'standard_error'])
    """
    check_choice("method", method, tuple(_METHODS))
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2, for a standard error; got {n_repeats}.")
    estimator = DeepSemiNMF(tol=1e-4) if estimator is None else estimator
    _check_estimator(estimator)
    refuse_masked(estimator, X)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=4, ensure_min_features=3)
    models = {layers: _sized(estimator, layers) for layers in _read(candidates, method)}
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_repeats)
    scores = _score(models, X, _METHODS[method], seeds, verbose)
    return LayerSelection(_best(scores, -1 if method == "stability" else 1), _table(scores), method)


def _read(candidates, method: str) -> list[Layers]:
    """Return candidates as tuples, each once."""
    found = list(dict.fromkeys((c,) if isinstance(c, Integral) else tuple(c) for c in candidates))
    if not found:
        raise ValueError("candidates is empty: give at least one, as [(20,), (100, 20)].")
    for layers in found:
        if not layers or not all(isinstance(k, Integral) and k > 0 for k in layers):
            raise ValueError(f"candidates must be whole numbers above 0 or tuples of them, as (100, 20); got {layers}.")
        if method == "stability" and layers[-1] == 1:
            raise ValueError(
                'a top layer of size 1 has one cluster, always found again: leave it out, or use "entries".'
            )
    return [tuple(int(k) for k in layers) for layers in found]


def _check_estimator(estimator: BaseEstimator) -> None:
    """Refuse models without layers of sizes that can be chosen, or of several views."""
    name = type(estimator).__name__
    if isinstance(estimator, ViewCoder):
        raise TypeError(
            f"estimator={name} is fitted to several views, and select_layers splits the rows and columns of one array: "
            "choose the layers of one view, by estimator=DeepSemiNMF()."
        )
    if not isinstance(estimator, Coder):
        raise TypeError(
            f"estimator must be a factorisation with layers, as DeepSemiNMF or SemiNMF; {name} has none whose sizes "
            "could be chosen without labels."
        )


def _sized(estimator: BaseEstimator, layers: Layers) -> BaseEstimator:
    """Return the estimator, unfitted, with these layers."""
    model = clone(estimator)
    if "layers" in model.get_params():
        return model.set_params(layers=layers)
    if len(layers) > 1:
        raise ValueError(f"{type(model).__name__} has one layer: candidates must have one size each, got {layers}.")
    return model.set_params(n_components=layers[0])


def _score(models, X, method, seeds, verbose: int) -> dict[Layers, np.ndarray]:
    """Return the scores (n_repeats, n_layers) of every candidate."""
    scores = {layers: [] for layers in models}
    tasks = [(seed, layers) for seed in seeds for layers in models]
    for seed, layers in track(tasks, "select_layers", unit="fits", verbose=verbose):
        model = models[layers].set_params(random_state=int(seed))
        scores[layers].append(method(model, X, np.random.RandomState(seed)))
    return {layers: np.array(rows) for layers, rows in scores.items()}


def _entries(model, X, rng) -> list[float]:
    """Return the share of a hidden block that each layer predicts."""
    hidden_rows, hidden_columns = (_third(size, rng) for size in X.shape)
    shown, hidden = X[~hidden_rows], X[hidden_rows]
    fitted, targets = shown[:, ~hidden_columns], dense(shown[:, hidden_columns])
    left, wanted = hidden[:, ~hidden_columns], dense(hidden[:, hidden_columns])
    model.fit(fitted)
    total, scores = np.square(wanted).sum(), []
    for i in range(len(model.layers_)):
        components = np.linalg.lstsq(model._transform(fitted, layer=i), targets, rcond=None)[0]
        missed = np.square(wanted - model._transform(left, layer=i) @ components).sum()
        scores.append(1 - float(missed / total) if total else 0.0)
    return scores


def _stability(model, X, rng) -> list[float]:
    """Return the agreement of the clusters that each layer finds when it is learned from either half of the samples."""
    halves = np.array_split(rng.permutation(X.shape[0]), 2)
    fits = [clone(model).fit(X[np.sort(half)]) for half in halves]
    n_clusters = getattr(model, "n_clusters", None) or len(fits[0].components_)
    scores = []
    for i in range(len(fits[0].layers_)):
        found = [layer_clusters(fit, i, n_clusters, X) for fit in fits]
        scores.append(adjusted_rand_index(*found))
    return scores


_METHODS = {"entries": _entries, "stability": _stability}


def _third(size: int, rng) -> np.ndarray:
    mask = np.zeros(size, dtype=bool)
    mask[rng.permutation(size)[: max(1, size // 3)]] = True
    return mask


def is_as_good(scores: np.ndarray, best: np.ndarray) -> bool:
    """Return whether scores of the same splits are behind the best by at most one standard error of the difference.

    Examples
    --------
    >>> best = np.array([0.5, 0.7, 0.9])
    >>> is_as_good(best - [0.1, -0.1, 0.1], best), is_as_good(best - 0.1, best)
    (True, False)
    """
    behind = best - scores
    return bool(behind.mean() <= max(behind.std(ddof=1) / np.sqrt(len(behind)), rounding(best)))


def rounding(best: np.ndarray) -> float:
    """Return the difference that counts as none: 0.1 % of what the best leaves to 1, or 1e-6.

    Scores that are equal in theory differ by rounding, and so does the standard error of their difference.
    """
    return max(1e-3 * (1 - best.mean()), 1e-6)


def _best(scores: dict[Layers, np.ndarray], sign: int) -> Layers:
    """Return the candidate with the smallest (sign 1) or largest (sign -1) top of those as good as the best."""
    best = max(scores, key=lambda layers: scores[layers][:, -1].mean())
    equal = rounding(scores[best][:, -1])
    tied = [layers for layers in scores if is_as_good(scores[layers][:, -1], scores[best][:, -1])]
    top = sign * min(sign * layers[-1] for layers in tied)
    means = {layers: scores[layers].mean() for layers in tied if layers[-1] == top}
    highest = max(means.values())
    return min((layers for layers, mean in means.items() if mean >= highest - equal), key=sum)


def _table(scores: dict[Layers, np.ndarray]) -> DataFrame:
    import pandas

    rows = {}
    for layers, values in scores.items():
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        for i, row in enumerate(zip(layers, values.mean(axis=0), error, strict=True)):
            rows["-".join(map(str, layers)), f"layer {i}"] = row
    table = pandas.DataFrame.from_dict(rows, orient="index", columns=["size", "score", "standard_error"])
    table.index = pandas.MultiIndex.from_tuples(table.index, names=("candidate", "layer"))
    return table

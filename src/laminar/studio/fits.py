"""Fits of `AttributeLayers` to the same samples with labels that change, and maps that start from the last one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar.attributes.filter_bank import BandStore, reusing_bands
from laminar.attributes.layers import REST, AttributeLayers

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Guesses:
    """Classes of all samples in an attribute, as the model predicts them.

    Parameters
    ----------
    classes : list of str
        Values of the attribute.
    probabilities : ndarray of shape (n_samples, n_classes)
        Of each of them, by the model; of labelled samples 0 and 1.
    """

    classes: list[str]
    probabilities: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """Position of the most probable class of each sample."""
        return self.probabilities.argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to the labels of a version.

    Parameters
    ----------
    version : int
        Of the labels.
    frame : DataFrame or None
        The labels.
    model : AttributeLayers
        The model.
    guesses : dict of Guesses
        By attribute.
    seconds : float
        Duration.
    """

    version: int
    frame: DataFrame | None
    model: AttributeLayers
    guesses: dict[str, Guesses]
    seconds: float

    def layer(self, attribute: str | None) -> str:
        """Return the layer that shows an attribute: its own, or the rest where it has none yet."""
        return attribute if attribute is not None and attribute in self.guesses else REST

    def codes(self, layer: str) -> np.ndarray:
        """Return the codes of all samples on a layer, in a form that keeps distances."""
        return self.model.training_codes(layer)


class Fitter:
    """Fits to the same samples, whose bands are computed once.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples.
    seed : int, default=0
        Seed of the model.

    Examples
    --------
    >>> import pandas
    >>> from laminar.datasets import make_attributes
    >>> data = make_attributes(60, levels=(3, 4), scales=(1.0, 1.0), random_state=0)
    >>> labels = pandas.DataFrame({"pose": [f"p{v}" if i < 20 else None for i, v in enumerate(data.y[:, 0])]})
    >>> guesses = Fitter(data.X).fit(labels)[1]["pose"]
    >>> guesses.classes, guesses.probabilities.shape
    (['p0', 'p1', 'p2'], (60, 3))
    """

    def __init__(self, X: Any, seed: int = 0):
        self.X, self.seed, self._store = X, seed, BandStore()

    def fit(
        self, frame: DataFrame | None, callback: Callable | None = None, verbose: int = 0
    ) -> tuple[AttributeLayers, dict[str, Guesses]]:
        """Fit the model to labels, of several values each; without any it has one layer."""
        model = AttributeLayers(random_state=self.seed, callback=callback, verbose=verbose)
        with warnings.catch_warnings(), reusing_bands(self._store):
            warnings.simplefilter("ignore")  # of labels that do not yet distinguish anything
            model.fit(self.X, frame)
        model.set_params(callback=None, verbose=0)
        names = [] if frame is None else [str(name) for name in frame.columns]
        return model, {name: self._guesses(model, name, frame) for name in names}

    def _guesses(self, model: AttributeLayers, name: str, frame: Any) -> Guesses:
        P = model.predict_proba(self.X, name)
        classes = model.classes_[name].tolist()
        place = {value: i for i, value in enumerate(classes)}
        for row, value in enumerate(frame[name]):
            if value is not None:
                P[row] = 0
                P[row, place[value]] = 1
        return Guesses([str(value) for value in classes], P)

    def predict_without(self, values: Sequence[Any], rows: np.ndarray, callback: Callable | None = None) -> np.ndarray:
        """Predict the values of rows by a model to which their labels are not given."""
        import pandas

        kept = np.array(values, dtype=object)
        kept[rows] = None
        known = {value for value in kept if value is not None}
        if len(known) < 2:
            return np.array([str(next(iter(known), ""))] * len(rows), dtype=object)
        _, guesses = self.fit(pandas.DataFrame({"y": kept}), callback)
        return np.array(guesses["y"].classes, dtype=object)[guesses["y"].best[rows]]

    @property
    def scores(self) -> np.ndarray:
        """Principal scores of the samples, at most 100 directions; there after the first fit."""
        return self._store.bands[0][:, :100]


def moved_map(codes: np.ndarray, start: np.ndarray, seed: int = 0, *, is_first: bool = False) -> np.ndarray:
    """Compute a map by t-SNE that starts from positions, so that samples move as little as their codes did.

    The exaggeration of the first iterations is 4: with 1, none, clusters that come apart stay where they were; with the
    usual 12 samples move although their codes did not.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_components)
        Codes.
    start : ndarray of shape (n_samples, 2)
        Positions on the last map.
    seed : int, default=0
        Seed.
    is_first : bool, default=False
        Whether there is no last map: then with the usual exaggeration, and more iterations.

    Returns
    -------
    ndarray of shape (n_samples, 2)
        Positions.
    """
    from sklearn.manifold import TSNE

    n_samples = len(codes)
    if n_samples < 5:
        return start
    perplexity = min(30.0, (n_samples - 1) / 3)
    if is_first:
        start = (start - start.mean(0)) * (1e-4 / max(float(start.std()), 1e-12))  # as scikit-learn starts
    exaggeration, iterations = (12, 500) if is_first else (4, 300)
    found = TSNE(
        perplexity=perplexity,
        init=start,
        early_exaggeration=exaggeration,
        max_iter=iterations,
        angle=0.8,
        random_state=seed,
    ).fit_transform(codes)
    return np.where(np.isfinite(found), found, start).astype(np.float32)


def plane(codes: np.ndarray) -> np.ndarray:
    """Return the two leading principal scores of codes, as the first map.

    Examples
    --------
    >>> plane(np.eye(3)).shape, plane(np.ones((4, 1))).shape
    ((3, 2), (4, 2))
    """
    centred = codes - codes.mean(axis=0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    found = np.zeros((len(codes), 2), dtype=np.float32)
    k = min(2, len(s))
    found[:, :k] = U[:, :k] * s[:k]
    return found


def group(codes: np.ndarray, seed: int = 0, *, n_groups: int = 16) -> np.ndarray:
    """Return a group of every sample by k-means, where there are no classes yet.

    Examples
    --------
    >>> group(np.array([[0.0], [0.1], [5.0], [5.1]]), n_groups=2)[[0, 1]].tolist() in ([0, 0], [1, 1])
    True
    """
    from sklearn.cluster import KMeans

    k = max(1, min(n_groups, len(codes) // 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer different samples than groups
        return KMeans(k, n_init=1, random_state=seed).fit_predict(codes)

"""What `laminar demo` shows: which layer knows who is on a picture, how the head is turned and how it is lit."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from laminar import layer_attribute_table
from laminar._base.coding import Layer
from laminar._utils.extras import require
from laminar.attributes.layers import AttributeLayers
from laminar.datasets import make_faces, partial_labels
from laminar.deep.semi import DeepSemiNMF
from laminar.evaluation.tables import layer_features, layer_names
from laminar.nmf.nmf import NMF
from laminar.nmf.semi import SemiNMF
from laminar.plots import demo_figure

from .._utils.typing import Data

ATTRIBUTES = ("identity", "pose", "light")
N_COMPONENTS = 40
LABELLED = 0.1  # share of the labels that is told


class Baseline(BaseEstimator):
    """A fixed function of the data as a model of one layer, read as it is.

    Parameters
    ----------
    embed : callable
        From the data to features.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.cli.demo import Baseline
    >>> Baseline(np.sqrt).fit(np.array([[4.0], [9.0]])).training_codes().ravel()
    array([2., 3.])
    """

    attributes_ = ()

    def __init__(self, embed: Callable):
        self.embed = embed

    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Compute the features of X."""
        self.layers_ = [Layer(None, None, self.embed(X))]
        return self

    def training_codes(self, attribute=None):
        """The features of the X that was fitted."""
        return self.layers_[0].representation


def whitened_svd(X: np.ndarray, n_components: int = N_COMPONENTS) -> np.ndarray:
    """Leading left singular vectors of the uncentred data, each row scaled to unit length.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Data.
    n_components : int, default=40
        How many singular vectors.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Features.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.cli.demo import whitened_svd
    >>> np.abs(whitened_svd(np.diag([3.0, 2.0, 0.0]), n_components=2)).round(6)
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """
    U, _, _ = np.linalg.svd(X, full_matrices=False)
    return normalize(U[:, :n_components])


def methods(seed: int = 0) -> dict:
    """List the methods that the demo compares, by name; `AttributeLayers` alone uses labels.

    Parameters
    ----------
    seed : int, default=0
        Seed of each of them.

    Returns
    -------
    dict
        Name -> unfitted model with ``fit(X, y)`` and ``layers_``.

    Examples
    --------
    >>> from laminar.cli.demo import methods
    >>> list(methods())
    ['pixels', 'whitened SVD', 'NMF', 'SemiNMF', 'DeepSemiNMF', 'AttributeLayers']
    """
    return {
        "pixels": Baseline(np.asarray),
        "whitened SVD": Baseline(whitened_svd),
        "NMF": NMF(n_components=N_COMPONENTS, max_iter=2000, random_state=seed),
        "SemiNMF": SemiNMF(n_components=N_COMPONENTS, random_state=seed),
        "DeepSemiNMF": DeepSemiNMF(layers=(100, N_COMPONENTS), random_state=seed),
        "AttributeLayers": AttributeLayers(random_state=seed),
    }


def run(
    size: int = 32,
    seed: int = 0,
    n_identities: int = 20,
    watch: Callable[[str], AbstractContextManager] = nullcontext,
) -> Bunch:
    """Draw the faces, fit every method and score each of its layers on every attribute.

    A tenth of the labels is told. Every score is that of the faces whose label is not.

    Parameters
    ----------
    size : int, default=32
        Pixels a side of the faces.
    seed : int, default=0
        Seed of the faces, of the labels that are told and of the methods.
    n_identities : int, default=20
        How many people are drawn, each in five poses under six lights.
    watch : callable, default=contextlib.nullcontext
        Called with the name of each step, gives the context in which the step runs: a spinner, a stopwatch.

    Returns
    -------
    Bunch
        ``faces``; ``models``, fitted, by name; ``scores``, a DataFrame with rows (method, layer) and columns
        (attribute, metric), the metrics being "accuracy" and "nmi" of clusters and the accuracy of a linear
        "classifier" that learned from the labels that are told; ``seconds``, a dict by method.

    Examples
    --------
    >>> from laminar.cli.demo import run
    >>> run(size=12, n_identities=3).scores.shape
    (10, 9)
    """
    pandas = require("pandas", "report", __name__)
    with watch("faces"):
        faces = make_faces(n_identities, n_poses=5, n_lights=6, size=size, random_state=seed)
    truth = pandas.DataFrame({name: faces[name] for name in ATTRIBUTES})
    told = pandas.DataFrame(partial_labels(truth.to_numpy(), LABELLED, random_state=seed), columns=truth.columns)
    models, tables, seconds = methods(seed), {}, {}
    for name, model in models.items():
        start = time.perf_counter()
        with watch(name):
            tables[name] = _scores(model.fit(faces.X, told), truth, told, seed)
        seconds[name] = time.perf_counter() - start
    scores = pandas.concat(tables, names=("method", "layer"))
    return Bunch(faces=faces, models=models, scores=scores, seconds=seconds)


def _scores(model, truth, told, seed):
    """What every layer finds by itself, and what a classifier finds on it, in faces whose label was not told."""
    table = layer_attribute_table(model, None, truth.where(told < 0, -1), random_state=seed)
    for i, layer in enumerate(layer_names(model)):
        E = layer_features(model, i)
        E = E / np.sqrt(np.square(E).sum(1).mean())
        for name in ATTRIBUTES:
            known = (told[name] >= 0).to_numpy()
            classifier = LinearSVC(random_state=seed).fit(E[known], truth[name][known])
            table.loc[layer, (name, "classifier")] = classifier.score(E[~known], truth[name][~known])
    return table[list(ATTRIBUTES)]  # the columns of an attribute together


def row_names(scores) -> list[str]:
    """Name the rows of the scores for a reader.

    Parameters
    ----------
    scores : DataFrame
        Those of :func:`run`.

    Returns
    -------
    list of str
        The method, and the layer where it has several.

    Examples
    --------
    >>> import pandas as pd
    >>> from laminar.cli.demo import row_names
    >>> rows = [("NMF", "layer 1 (9)"), ("DeepSemiNMF", "layer 1 (9)"), ("DeepSemiNMF", "layer 2 (4)")]
    >>> row_names(pd.DataFrame(index=pd.MultiIndex.from_tuples(rows, names=("method", "layer"))))
    ['NMF', 'DeepSemiNMF, layer 1 (9)', 'DeepSemiNMF, layer 2 (4)']
    """
    several = scores.groupby(level="method").size() > 1
    return [f"{method}, {layer}" if several[method] else method for method, layer in scores.index]


def figure(result: Bunch):
    """Compose the demo's figure: examples, components, scores.

    Parameters
    ----------
    result : Bunch
        What :func:`run` returned.

    Returns
    -------
    matplotlib.figure.Figure
        Seven axes: faces, the components of four layers, the accuracy of clusters and that of a classifier.

    Examples
    --------
    >>> from laminar.cli.demo import figure, run
    >>> len(figure(run(size=12, n_identities=3)).axes)
    7
    """
    faces, scores = result.faces, result.scores.set_axis(row_names(result.scores))
    headers = {name: f"{name} ({len(faces.names[name])})" for name in ATTRIBUTES}
    titles = {"accuracy": "Clusters", "classifier": f"Classifier, {LABELLED:.0%} of the labels"}
    tables = {titles[m]: scores.xs(m, axis=1, level=1).rename(columns=headers) for m in titles}
    deep, layered = result.models["DeepSemiNMF"], result.models["AttributeLayers"]
    components = {"DeepSemiNMF, layer 2": deep.components_}
    components |= {f"Layer of {name}": layered.layers_[i].components for i, name in enumerate(ATTRIBUTES)}
    counts = [len(faces.names[name]) for name in ATTRIBUTES]
    title = "{} faces: {} people, {} poses, {} lights".format(len(faces.X), *counts)
    return demo_figure(faces.X[_examples(counts)], components, tables, faces.image_shape, title)


def _examples(counts, n_examples=24):
    """Rows that walk through people, poses and lights at once."""
    i = np.arange(n_examples)
    walks = [(step * i) % count for step, count in zip((1, 3, 5), counts, strict=True)]
    return np.ravel_multi_index(walks, counts)

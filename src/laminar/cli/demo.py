"""Experiment of `laminar demo`: agreement of layers with identity, pose and light on rendered faces."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from laminar import layer_attribute_table
from laminar._base.clusters import Clusters, Readout
from laminar._base.coding import Layer
from laminar._utils import threads
from laminar.attributes.layers import AttributeLayers
from laminar.baselines import LabelSpreading, PooledLDA
from laminar.datasets import make_faces, partial_labels
from laminar.deep.semi import DeepSemiNMF
from laminar.evaluation.layers import layer_features, layer_names
from laminar.io.dataset import Dataset
from laminar.io.images import ImageReader
from laminar.nmf.nmf import NMF
from laminar.nmf.semi import SemiNMF
from laminar.nmf.smoothed import SmoothedSemiNMF
from laminar.plots import demo_figure

from .._utils.typing import Data
from .provenance import record

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

ATTRIBUTES = ("identity", "pose", "light")  # those of `make_faces`
LABELLED = 0.1  # share of the labels that methods with labels and the classifier are given


class Baseline(BaseEstimator):
    """Fixed function of the data, as a model of one layer whose codes are its features, clustered as they are.

    Parameters
    ----------
    embed : callable
        Function from the data to features.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.cli.demo import Baseline
    >>> Baseline(np.sqrt).fit(np.array([[4.0], [9.0]])).layers_[0].representation.ravel()
    array([2., 3.])
    """

    def __init__(self, embed: Callable):
        self.embed = embed

    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Compute the features of X."""
        E = self.embed(X)
        basis = np.eye(E.shape[1])  # features are their own components
        self.layers_, self.clusters_ = [Layer(basis, basis, E)], Clusters(E, 0, Readout())
        return self


def whitened_svd(X: np.ndarray, n_components: int = 40) -> np.ndarray:
    """Compute the leading left singular vectors of the uncentred data, with unit rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Data.
    n_components : int, default=40
        Number of singular vectors.

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


def methods(seed: int = 0, n_components: int = 40) -> dict:
    """Return the methods that the demo compares, by name; the last three use labels.

    Parameters
    ----------
    seed : int, default=0
        Seed of every model.
    n_components : int, default=40
        Components of every model; of `DeepSemiNMF` in its top layer.

    Returns
    -------
    dict
        Name -> unfitted model with ``fit(X, y)`` and ``layers_``.

    Examples
    --------
    >>> from laminar.cli.demo import methods
    >>> list(methods())[-4:]
    ['SmoothedSemiNMF', 'LabelSpreading', 'PooledLDA', 'AttributeLayers']
    """
    return {
        "pixels": Baseline(np.asarray),
        "whitened SVD": Baseline(whitened_svd),
        "NMF": NMF(n_components=n_components, tol=1e-3, random_state=seed),
        "SemiNMF": SemiNMF(n_components=n_components, tol=1e-3, random_state=seed),
        "DeepSemiNMF": DeepSemiNMF(layers=(100, n_components), random_state=seed),
        "SmoothedSemiNMF": SmoothedSemiNMF(n_components, random_state=seed),
        "LabelSpreading": LabelSpreading(random_state=seed),
        "PooledLDA": PooledLDA(random_state=seed),
        "AttributeLayers": AttributeLayers(random_state=seed),
    }


def run(
    size: int = 32,
    seed: int = 0,
    n_identities: int = 20,
    watch: Callable[[str], AbstractContextManager] = nullcontext,
) -> Bunch:
    """Render faces, fit every method and score each of its layers on every attribute.

    A tenth of the labels is given to `LabelSpreading`, `PooledLDA`, `AttributeLayers` and to the classifiers; scores
    are of all other faces.

    Parameters
    ----------
    size : int, default=32
        Pixels a side of the faces.
    seed : int, default=0
        Seed of the faces, of the choice of given labels and of the methods.
    n_identities : int, default=20
        Number of people, each in five poses under six lights.
    watch : callable, default=contextlib.nullcontext
        Called with the name of each step; returns a context manager in which the step runs, e.g. a spinner.

    Returns
    -------
    Bunch
        ``faces``; ``models``, fitted, by name; ``given``, the labels that some were given, -1 where unknown;
        ``scores``, a DataFrame with rows (method, layer) and columns (attribute, metric), first the row of chance, the
        metrics being "accuracy" and "nmi" of clusters, "probe", the cross-validated accuracy of a linear classifier
        among these faces, and the accuracy of a linear "classifier" trained on the given labels; ``seconds``, a dict by
        method.

    Examples
    --------
    >>> from laminar.cli.demo import run
    >>> run(size=12, n_identities=3).scores.shape
    (18, 12)
    """
    import pandas

    with watch("faces"):
        faces = make_faces(n_identities, n_poses=5, n_lights=6, size=size, random_state=seed)
    truth = pandas.DataFrame({name: faces[name] for name in ATTRIBUTES})
    given = pandas.DataFrame(partial_labels(truth.to_numpy(), LABELLED, random_state=seed), columns=truth.columns)
    models, tables, seconds = methods(seed), {}, {}
    for name, model in models.items():
        start = time.perf_counter()
        with watch(name), threads.own_threads():
            tables[name] = _scores(model.fit(faces.X, given), truth, given, seed)
        seconds[name] = time.perf_counter() - start
    chance = {"chance": next(iter(tables.values())).iloc[:1]}  # the same for every method
    layers = {name: table.iloc[1:] for name, table in tables.items()}
    scores = pandas.concat(chance | layers, names=("method", "layer"))
    return Bunch(faces=faces, models=models, given=given, scores=scores, seconds=seconds)


def described(result: Bunch, seed: int = 0) -> tuple[Dataset, dict[str, Any]]:
    """Return the faces with names and given labels, numbers as the models had them, and the record of the fit.

    Parameters
    ----------
    result : Bunch
        Result of :func:`run`.
    seed : int, default=0
        Seed of the run.

    Returns
    -------
    data : Dataset
        The faces.
    run : dict
        The record that the model file holds.
    """
    faces = result.faces
    names = {name: [faces.names[name][i] for i in faces[name]] for name in ATTRIBUTES}
    ids = np.array(["_".join(parts) for parts in zip(*names.values(), strict=True)])
    labels = result.given.astype(object).where(result.given >= 0, None).set_axis(ids, axis=0)
    reader = ImageReader(size=tuple(faces.image_shape), colour=False)
    data = Dataset(faces.X, ids, labels=labels, image_shape=tuple(faces.image_shape), reader=reader)
    choices = ["AttributeLayers: labels of a tenth of the faces"]
    seconds = result.seconds["AttributeLayers"]
    return data, record(data, [], seed=seed, choices=choices, attributes=ATTRIBUTES, seconds=seconds)


def class_names(result: Bunch, labels: DataFrame) -> dict[str, list[str | None]]:
    """Return the names of classes that are numbers, None where they are unknown, by attribute.

    Parameters
    ----------
    result : Bunch
        Result of :func:`run`.
    labels : DataFrame
        Numbers of classes, -1 where they are unknown.

    Returns
    -------
    dict
        Attribute -> names.
    """
    return {name: [result.faces.names[name][i] if i >= 0 else None for i in labels[name]] for name in labels}


def save(result: Bunch, path: Path, data: Dataset, run: Mapping[str, Any]) -> None:
    """Write `AttributeLayers` of the demo to a model file.

    Parameters
    ----------
    result : Bunch
        Result of :func:`run`.
    path : Path
        The file.
    data : Dataset
        The faces, as `described` returns them.
    run : mapping
        The record of the run.
    """
    from laminar._persistence.model_file import save_model

    save_model(result.models["AttributeLayers"], path, data=data, run=run)


def _scores(model: BaseEstimator, truth: DataFrame, given: DataFrame, seed: int) -> DataFrame:
    """Score the clusters of every layer, and classifiers of its codes, on faces whose label was not given."""
    table = layer_attribute_table(model, None, truth.where(given < 0, -1), random_state=seed)
    for name in ATTRIBUTES:
        table.loc["chance", (name, "classifier")] = table.loc["chance", (name, "probe")]
    for i, layer in enumerate(layer_names(model)):
        E = layer_features(model, i)
        E = E / np.sqrt(np.square(E).sum(1).mean())
        for name in ATTRIBUTES:
            known = (given[name] >= 0).to_numpy()
            classifier = LinearSVC(random_state=seed).fit(E[known], truth[name][known])
            table.loc[layer, (name, "classifier")] = classifier.score(E[~known], truth[name][~known])
    return table[list(ATTRIBUTES)]  # the columns of an attribute together


def row_names(scores: DataFrame) -> list[str]:
    """Return the names of the rows of the scores.

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
    >>> rows = [("NMF", "layer 0 (9)"), ("DeepSemiNMF", "layer 0 (9)"), ("DeepSemiNMF", "layer 1 (4)")]
    >>> row_names(pd.DataFrame(index=pd.MultiIndex.from_tuples(rows, names=("method", "layer"))))
    ['NMF', 'DeepSemiNMF, layer 0 (9)', 'DeepSemiNMF, layer 1 (4)']
    """
    several = scores.groupby(level="method").size() > 1
    return [f"{method}, {layer}" if several[method] else method for method, layer in scores.index]


def figure(result: Bunch) -> Figure:
    """Draw the figure of the demo: examples, components, scores.

    Parameters
    ----------
    result : Bunch
        Result of :func:`run`.

    Returns
    -------
    matplotlib.figure.Figure
        Eight axes: faces, the components of four layers, the accuracy of clusters, of the cross-validated probe and of
        a classifier.

    Examples
    --------
    >>> from laminar.cli.demo import figure, run
    >>> len(figure(run(size=12, n_identities=3)).axes)
    8
    """
    faces, scores = result.faces, result.scores.set_axis(row_names(result.scores))
    titles = {"accuracy": "Clusters", "probe": "Linear probe", "classifier": f"Trained on {LABELLED:.0%}"}
    tables = {titles[m]: scores.xs(m, axis=1, level=1) for m in titles}
    smoothed, layered = result.models["SmoothedSemiNMF"], result.models["AttributeLayers"]
    components = {"SmoothedSemiNMF": smoothed.components_}
    components |= {f"Layer of {name}": layered.layers_[i].components for i, name in enumerate(ATTRIBUTES)}
    counts = [len(faces.names[name]) for name in ATTRIBUTES]
    title = "{} faces: {} people, {} poses, {} lights".format(len(faces.X), *counts)
    return demo_figure(faces.X[_examples(counts)], components, tables, faces.image_shape, title)


def _examples(counts: Sequence[int], n_examples: int = 24) -> np.ndarray:
    """Return rows with changing person, pose and light."""
    i = np.arange(n_examples)
    indices = [(step * i) % count for step, count in zip((1, 3, 5), counts, strict=True)]
    return np.ravel_multi_index(indices, counts)

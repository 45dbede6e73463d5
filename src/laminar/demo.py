"""What `laminar demo` shows: how well methods find who is on a picture, how the head is turned and lit."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize
from sklearn.utils import Bunch

from laminar import NMF, SemiNMF
from laminar._extras import require
from laminar.datasets import make_faces
from laminar.metrics import clustering_accuracy, normalized_mutual_information
from laminar.plots import demo_figure

ATTRIBUTES = ("identity", "pose", "light")
N_COMPONENTS = 40


class Baseline:
    """k-means on a fixed function of the data, with the two methods of a model that the demo uses.

    Parameters
    ----------
    embed : callable
        From the data to the features to cluster.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.demo import Baseline
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> labels = Baseline(np.sqrt).fit(X).cluster(X, n_clusters=2)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(self, embed: Callable, random_state=0):
        self.embed = embed
        self.random_state = random_state

    def fit(self, X):
        """Compute the features of X."""
        self.features_ = self.embed(X)
        return self

    def cluster(self, X, n_clusters):
        """Clusters of the X that was fitted."""
        return KMeans(n_clusters, n_init=10, random_state=self.random_state).fit_predict(self.features_)


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
    >>> from laminar.demo import whitened_svd
    >>> np.abs(whitened_svd(np.diag([3.0, 2.0, 0.0]), n_components=2)).round(6)
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """
    U, _, _ = np.linalg.svd(X, full_matrices=False)
    return normalize(U[:, :n_components])


def methods(seed: int = 0) -> dict:
    """List the methods that the demo compares, by name.

    Parameters
    ----------
    seed : int, default=0
        Seed of each of them.

    Returns
    -------
    dict
        Name -> unfitted model with ``fit(X)`` and ``cluster(X, n_clusters)``.

    Examples
    --------
    >>> from laminar.demo import methods
    >>> list(methods())
    ['k-means on pixels', 'whitened SVD', 'NMF', 'SemiNMF']
    """
    return {
        "k-means on pixels": Baseline(np.asarray, seed),
        "whitened SVD": Baseline(whitened_svd, seed),
        "NMF": NMF(n_components=N_COMPONENTS, random_state=seed),
        "SemiNMF": SemiNMF(n_components=N_COMPONENTS, random_state=seed),
    }


def run(
    size: int = 32,
    seed: int = 0,
    n_identities: int = 20,
    watch: Callable[[str], AbstractContextManager] = nullcontext,
) -> Bunch:
    """Draw the faces, fit every method and score it on every attribute.

    Parameters
    ----------
    size : int, default=32
        Pixels a side of the faces.
    seed : int, default=0
        Seed of the faces and of the methods.
    n_identities : int, default=20
        How many people are drawn, each in five poses under six lights.
    watch : callable, default=contextlib.nullcontext
        Called with the name of each step, gives the context in which the step runs: a spinner, a stopwatch.

    Returns
    -------
    Bunch
        ``faces``; ``models``, fitted, by name; ``scores``, a DataFrame with a row for each method and columns
        ("accuracy" or "NMI", attribute); ``seconds``, a dict by method.

    Examples
    --------
    >>> from laminar.demo import run
    >>> run(size=12, n_identities=3).scores.shape
    (4, 6)
    """
    pandas = require("pandas", "report", __name__)
    with watch("faces"):
        faces = make_faces(n_identities, n_poses=5, n_lights=6, size=size, random_state=seed)
    models, rows, seconds = methods(seed), {}, {}
    for name, model in models.items():
        start = time.perf_counter()
        with watch(name):
            rows[name] = _scores(model.fit(faces.X), faces)
        seconds[name] = time.perf_counter() - start
    scores = pandas.DataFrame.from_dict(rows, orient="index")
    scores.columns = pandas.MultiIndex.from_tuples(scores.columns)
    return Bunch(faces=faces, models=models, scores=scores, seconds=seconds)


def _scores(model, faces):
    row = {}
    for attribute in ATTRIBUTES:
        truth = faces[attribute]
        found = model.cluster(faces.X, n_clusters=len(faces.names[attribute]))
        row["accuracy", attribute] = clustering_accuracy(truth, found)
        row["NMI", attribute] = normalized_mutual_information(truth, found)
    return row


def figure(result: Bunch):
    """Compose the demo's figure: examples, components, scores.

    Parameters
    ----------
    result : Bunch
        What :func:`run` returned.

    Returns
    -------
    matplotlib.figure.Figure
        Five axes: faces, the components of NMF and of SemiNMF, accuracy, NMI.

    Examples
    --------
    >>> from laminar.demo import figure, run
    >>> len(figure(run(size=12, n_identities=3)).axes)
    5
    """
    faces = result.faces
    headers = {name: f"{name} ({len(faces.names[name])})" for name in ATTRIBUTES}
    tables = {
        "Clustering accuracy": result.scores["accuracy"].rename(columns=headers),
        "Normalised mutual information": result.scores["NMI"].rename(columns=headers),
    }
    components = {
        "NMF: non-negative parts": result.models["NMF"].components_,
        "SemiNMF: parts of mixed sign": result.models["SemiNMF"].components_,
    }
    counts = [len(faces.names[name]) for name in ATTRIBUTES]
    title = "{} faces: {} people, {} poses, {} lights".format(len(faces.X), *counts)
    return demo_figure(faces.X[_examples(counts)], components, tables, faces.image_shape, title)


def _examples(counts, n_examples=24):
    """Rows that walk through people, poses and lights at once."""
    i = np.arange(n_examples)
    walks = [(step * i) % count for step, count in zip((1, 3, 5), counts, strict=True)]
    return np.ravel_multi_index(walks, counts)

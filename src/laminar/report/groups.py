"""Clusters and nearest neighbours of the samples of a page, in the features of one layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from laminar._base.spectral import kmeans

from .arrays import smallest
from .errors import MIN_SCORED
from .subject import Attribute

N_PICTURES, N_NEIGHBOURS, N_DRAWS = 14, 10, 200
MAX_CLUSTERS = 20  # where no attribute gives the number


def clusters(E: np.ndarray, attributes: Sequence[Attribute], n_clusters: int, *, seed: int = 0) -> dict[str, Any]:
    """Cluster samples by k-means, and compare the clusters with attributes.

    Parameters
    ----------
    E : ndarray of shape (n_samples, n_directions)
        Features of the samples in a layer.
    attributes : sequence of Attribute
        Attributes of these samples.
    n_clusters : int
        Number of clusters.
    seed : int, default=0
        Seed of k-means and of random clusters.

    Returns
    -------
    dict
        ``labels``, the cluster of each sample, and ``clusters``, a list with, for each of them, ``size``; ``samples``,
        evenly from the most to the least typical one; and ``attributes``, a list of [most frequent class, its share,
        the mean share of the most frequent class of as many samples at random]. Shares are of the samples whose label
        the model was not given, if there are enough, and None where there is none.

    Examples
    --------
    >>> E = np.array([[0.0], [0.1], [0.3], [5.0], [5.1]])
    >>> size = Attribute("size", ["L", "S"], np.array([1, 1, 0, 0, 0]), np.zeros(5, dtype=bool))
    >>> found = clusters(E, [size], 2)
    >>> sorted((c["size"], c["samples"].tolist(), c["attributes"][0][0]) for c in found["clusters"])
    [(2, [3, 4], 0), (3, [1, 0, 2], 1)]
    """
    n_clusters = min(n_clusters, len(np.unique(E, axis=0)))
    model = kmeans(E, n_clusters, seed)
    labels = model.labels_
    distance = np.linalg.norm(E - model.cluster_centers_[labels], axis=1)
    found = []
    for c in range(n_clusters):
        rows = np.flatnonzero(labels == c)
        typical = rows[np.argsort(distance[rows], kind="stable")]
        shown = typical[np.unique(np.linspace(0, len(rows) - 1, min(N_PICTURES, len(rows))).round().astype(int))]
        found.append(
            {
                "size": len(rows),
                "samples": smallest(shown, len(E)),
                "attributes": [_purity(rows, attribute, seed) for attribute in attributes],
            }
        )
    return {"labels": smallest(labels, n_clusters), "clusters": found}


def scored(attribute: Attribute) -> np.ndarray:
    """Return the samples that purity counts: of known label that was not given, or of known label if all were given."""
    others = attribute.known & ~attribute.given
    return others if others.sum() >= MIN_SCORED or not attribute.given.any() else attribute.known


def _purity(rows: np.ndarray, attribute: Attribute, seed: int) -> list[Any]:
    counted = scored(attribute)
    counts = np.bincount(attribute.codes[counted], minlength=len(attribute.classes))
    own = np.bincount(attribute.codes[rows[counted[rows]]], minlength=len(attribute.classes))
    size = int(own.sum())
    if not size:
        return [None, None, None]
    draws = np.random.default_rng(seed).multivariate_hypergeometric(counts, size, N_DRAWS)
    return [int(own.argmax()), float(own.max() / size), float(draws.max(axis=1).mean() / size)]


def n_clusters_of(model: Any, n_components: int, attribute: Attribute | None) -> int:
    """Return the number of clusters that is shown of a layer.

    Parameters
    ----------
    model : estimator
        The model.
    n_components : int
        Number of components of the layer.
    attribute : Attribute or None
        The attribute that the layer belongs to, or else the first one.

    Returns
    -------
    int
        Its number of classes; without one the parameter ``n_clusters`` of the model, or the number of components, at
        most `MAX_CLUSTERS`.

    Examples
    --------
    >>> from laminar import NMF
    >>> n_clusters_of(NMF(3), 3, None), n_clusters_of(NMF(3, n_clusters=7), 3, None)
    (3, 7)
    """
    if attribute is not None:
        return max(2, len(attribute.classes))
    return getattr(model, "n_clusters", None) or min(n_components, MAX_CLUSTERS)


def neighbours(E: Any) -> np.ndarray:
    """Return the nearest other samples of each.

    Parameters
    ----------
    E : {ndarray, sparse array} of shape (n_samples, n_directions)
        Features.

    Returns
    -------
    ndarray of shape (n_samples, 10)
        Positions, the nearest first; fewer columns for fewer samples.

    Examples
    --------
    >>> neighbours(np.array([[0.0], [1.0], [3.0]])).tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    n = E.shape[0]
    k = min(N_NEIGHBOURS, n - 1)
    E = E if sp.issparse(E) else np.nan_to_num(E)
    found = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(E).kneighbors(E, return_distance=False)
    rows = []
    for i, row in enumerate(found):
        others = row[row != i]  # of samples that are equal, another may come first
        rows.append(others[:k])
    return smallest(np.array(rows).reshape(n, k), n)

"""Clusters in one subspace, what they leave of the data, and which of several clusterings are layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.spectral import spectral_labels
from .cluster_number import candidate_numbers, modularity, partitions, reference_scores, smallest_sufficient
from .forms import Form
from .scores import Scores, principal_scores
from .subspaces import Stages, Subspace, means_of_clusters, one_hot


@dataclass(frozen=True, eq=False)
class Clustering:
    """Clusters in one subspace.

    Parameters
    ----------
    subspace : Subspace
        Where.
    labels : ndarray of shape (n_samples,)
        Cluster of each sample in the graph.
    n_clusters : int
        Number of clusters.
    support : float
        Modularity above that of reference data, as a share of the largest such difference.
    """

    subspace: Subspace
    labels: np.ndarray
    n_clusters: int
    support: float


def cluster_subspace(
    subspace: Subspace,
    scores: Scores,
    max_clusters: int,
    random_state: np.random.RandomState,
    *,
    n_init: int = 10,
) -> Clustering:
    """Cluster samples in a subspace, in a number by their modularity above that of reference data.

    Parameters
    ----------
    subspace : Subspace
        Where.
    scores : Scores
        Of the stage of the subspace.
    max_clusters : int
        Largest number of clusters.
    random_state : RandomState
        Generator of the reference data, the eigensolver and k-means.
    n_init : int, default=10
        Starts of k-means for the final clusters.

    Returns
    -------
    Clustering

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(60, 8)) + 20 * np.repeat(np.eye(3, 8), 20, axis=0)
    >>> found = cluster_subspace(Subspace(0, 0.75, (8,)), principal_scores(X, 8, rng), 10, rng)
    >>> found.n_clusters, found.support > 0.5
    (3, True)
    """
    n_samples = len(scores.training)
    numbers = candidate_numbers(n_samples, max_clusters)
    seeds = random_state.randint(2**31 - 1, size=2)
    if numbers == [1]:
        return Clustering(subspace, np.zeros(n_samples, dtype=int), 1, 0.0)
    S = subspace.graph(scores)
    S0 = subspace.graph(reference_scores(scores, random_state))
    Q = np.array([modularity(S, labels) for labels in partitions(S, numbers, seeds[0])])
    Q0 = np.array([modularity(S0, labels) for labels in partitions(S0, numbers, seeds[1])])
    at = smallest_sufficient(Q - Q0)
    c = numbers[at]
    labels = spectral_labels(S, c, seeds[0], n_init=n_init)
    return Clustering(subspace, labels, c, float((Q[at] - Q0[at]) / (1 - 1 / c - Q0[at])))


def without_main_clusters(form: Form, scores: Scores, main: Clustering, random_state: np.random.RandomState) -> Stages:
    """Return the scores before and after the main clusters are taken out of the data.

    A sample has the main cluster of its vote, as a new one has: it may differ from the label.

    Parameters
    ----------
    form : Form
        Form of the data.
    scores : Scores
        Of the data.
    main : Clustering
        The main clusters.
    random_state : RandomState
        Generator of the decomposition.

    Returns
    -------
    Stages
    """
    F = scores.training
    assigned = main.subspace.vote(scores, F, one_hot(main.labels, main.n_clusters)).argmax(axis=1)
    centres = means_of_clusters(F, assigned, main.n_clusters)
    rest = principal_scores(F - centres[assigned], F.shape[1], random_state)
    return Stages(form, [scores, rest], main.labels, centres, main.subspace)


def chosen_layers(
    information: np.ndarray, support: np.ndarray, n_layers: int, max_agreement: float, min_support: float
) -> list[int]:
    """Return the clusterings that are layers, by support, without those that repeat one or have none.

    Where more are left than there may be, the two that agree best are found and the one of less support is left out,
    until there are as many: the others are more different.

    Parameters
    ----------
    information : ndarray of shape (n_clusterings, n_clusterings)
        Normalised mutual information of all pairs.
    support : ndarray of shape (n_clusterings,)
        Support of each.
    n_layers : int
        Largest number of layers.
    max_agreement : float
        Largest information of a layer with one of more support.
    min_support : float
        Smallest support of a layer, except the first.

    Returns
    -------
    positions : list of int

    Examples
    --------
    >>> information = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> chosen_layers(information, np.array([0.8, 0.9, 0.5]), 5, 0.8, 0.3)
    [1, 2]
    >>> chosen_layers(information, np.array([0.8, 0.9, 0.5]), 2, 1.0, 0.3)
    [1, 2]
    """
    kept: list[int] = []
    for i in np.argsort(-support, kind="stable"):
        if not kept or (support[i] >= min_support and information[i, kept].max() <= max_agreement):
            kept.append(int(i))
    while len(kept) > n_layers:
        between = np.triu(information[np.ix_(kept, kept)], 1)
        kept.pop(int(between.argmax()) % len(kept))
    return kept

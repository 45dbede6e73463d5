"""Number of clusters of a graph: modularity above that of Gaussian data with the same principal variances.

    Q(c) = sum_j (W_jj - d_j^2),   W_jk = weight between clusters j and k, d_j = sum_k W_jk, all weights of sum one
    excess(c) = Q(c) - Q_0(c),     Q_0 of the clusters of the same graph over U_0 diag(s), U_0 random and orthonormal

Modularity grows with the number of clusters and with the share of the leading directions, whether there are clusters
or not; both are the same in the reference. M. E. J. Newman and M. Girvan, Finding and evaluating community structure in
networks, Physical Review E 69, 2004; the comparison with a reference is that of R. Tibshirani, G. Walther and
T. Hastie, Estimating the number of clusters in a data set via the gap statistic, JRSS B 63, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._base.spectral import kmeans, kmeans_seed, normalized, unit_embedding
from .._engine.linalg.eigen import leading_eigenvectors
from .._engine.linalg.small import safe_divide
from .scores import Scores


def candidate_numbers(n_samples: int, max_clusters: int, *, min_size: int = 8) -> list[int]:
    """Return the numbers of clusters that are tried: steps of a fifth, clusters of at least 8 samples on average.

    Parameters
    ----------
    n_samples, max_clusters : int
        Number of samples, and the largest number.
    min_size : int, default=8
        Mean size of a cluster; two clusters are tried in any case.

    Returns
    -------
    numbers : list of int

    Examples
    --------
    >>> candidate_numbers(200, 50), candidate_numbers(2, 50), candidate_numbers(1, 50)
    ([2, 3, 4, 5, 6, 7, 9, 10, 12, 15, 18, 21, 25], [2], [1])
    """
    largest = min(max(2, n_samples // min_size), max_clusters, n_samples)
    if largest < 2:
        return [1]
    steps = np.round(2 * 1.2 ** np.arange(int(np.log(largest / 2) / np.log(1.2)) + 1)).astype(int)
    return sorted({*map(int, steps[steps <= largest]), largest})


def reference_scores(scores: Scores, random_state: np.random.RandomState) -> Scores:
    """Return the scores of Gaussian data with the same singular values: the same number of samples, no clusters.

    Parameters
    ----------
    scores : Scores
        Of the data.
    random_state : RandomState
        Generator of the directions.

    Returns
    -------
    Scores

    Examples
    --------
    >>> scores = Scores(np.zeros(2), np.eye(2), np.array([2.0, 1.0]), np.zeros((5, 2)))
    >>> reference = reference_scores(scores, np.random.RandomState(0)).training
    >>> np.linalg.svd(reference, compute_uv=False).round(6), np.allclose(reference.mean(axis=0), 0)
    (array([2., 1.]), True)
    """
    noise = random_state.normal(size=scores.training.shape)
    return replace(scores, training=np.linalg.qr(noise - noise.mean(axis=0))[0] * scores.sizes)


def modularity(S: sp.csr_array, labels: np.ndarray) -> float:
    """Return the modularity of clusters of a graph: the share of edges inside clusters above that by degrees.

    Examples
    --------
    >>> S = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    >>> modularity(S, np.array([0, 0, 1, 1])), modularity(S, np.array([0, 1, 0, 1]))
    (0.5, 0.0)
    """
    B = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    weights = (B.T @ S @ B).toarray()
    weights = safe_divide(weights, weights.sum())
    return float(np.trace(weights) - np.square(weights.sum(axis=1)).sum())


def partitions(S: sp.csr_array, numbers: Sequence[int], seed: int, *, n_init: int = 3) -> list[np.ndarray]:
    """Return the spectral clusters of a graph for several numbers of clusters, from one decomposition.

    Parameters
    ----------
    S : sparse array of shape (n_samples, n_samples)
        Edge weights.
    numbers : sequence of int
        Numbers of clusters.
    seed : int
        Seed of the eigensolver and of k-means.
    n_init : int, default=3
        Starts of k-means.

    Returns
    -------
    labels : list of ndarray of shape (n_samples,)

    Examples
    --------
    >>> S = sp.csr_array(np.kron(np.eye(3), np.ones((2, 2))))
    >>> [len(np.unique(labels)) for labels in partitions(S, [1, 3], 0)]
    [1, 3]
    """
    rng = check_random_state(seed)
    start = kmeans_seed(rng)
    vectors = leading_eigenvectors(normalized(S), max(numbers), rng)[1]
    return [kmeans(unit_embedding(vectors[:, :c]), c, start, n_init).labels_ for c in numbers]


def smallest_sufficient(excess: np.ndarray, *, share: float = 0.95) -> int:
    """Return the position of the first excess within a share of the largest: beyond it there is little to gain.

    Examples
    --------
    >>> smallest_sufficient(np.array([0.1, 0.39, 0.4, 0.38])), smallest_sufficient(np.array([-0.2, -0.1]))
    (1, 1)
    """
    best = excess.max()
    return int(np.flatnonzero(excess >= best - (1 - share) * abs(best))[0])

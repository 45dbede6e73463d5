"""Agreement of clusterings, and the clusters of their co-association matrix, which is never formed.

    B = [indicators of the clusters of all members]   (n, members x c), sparse
    co-association  C = B B^T,   d = B B^T 1
    U = c leading left singular vectors of D^-1/2 B,  which are the leading eigenvectors of D^-1/2 C D^-1/2

A. L. N. Fred and A. K. Jain, Combining multiple clusterings using evidence accumulation, IEEE TPAMI 27, 2005.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from .._base.spectral import inverse_root, kmeans, kmeans_seed, unit_embedding
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._engine.linalg.small import gram_solver, ridged, safe_divide


def indicators(partitions: Sequence[np.ndarray], n_clusters: int) -> sp.csr_array:
    """Return B: one column for each cluster of each member, 1 where a sample is in it.

    Parameters
    ----------
    partitions : sequence of ndarray of shape (n_samples,)
        Cluster of each sample, by member.
    n_clusters : int
        Number of clusters of a member.

    Returns
    -------
    B : sparse array of shape (n_samples, n_members * n_clusters)

    Examples
    --------
    >>> indicators([np.array([0, 1]), np.array([1, 1])], 2).toarray()
    array([[1., 0., 0., 1.],
           [0., 1., 0., 1.]])
    """
    columns = np.column_stack(partitions) + n_clusters * np.arange(len(partitions))
    n_samples, n_members = columns.shape
    starts = np.arange(0, columns.size + 1, n_members)
    return sp.csr_array((np.ones(columns.size), columns.ravel(), starts), shape=(n_samples, n_members * n_clusters))


def pairwise_information(partitions: Sequence[np.ndarray], n_clusters: int) -> np.ndarray:
    """Return the normalised mutual information (arithmetic) of all pairs of partitions, from one product ``B^T B``.

    Parameters
    ----------
    partitions : sequence of ndarray of shape (n_samples,)
        Cluster of each sample, by member.
    n_clusters : int
        Number of clusters of a member.

    Returns
    -------
    information : ndarray of shape (n_members, n_members)
        Symmetric, with ones on the diagonal; 1 as well for two members of one cluster each.

    Examples
    --------
    >>> pairwise_information([np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), np.array([0, 1, 0, 1])], 2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    g, B = len(partitions), indicators(partitions, n_clusters)
    counts = sp.coo_array(B.T @ B)  # by clusters of all members: at most n_samples entries a pair
    joint = counts.data / B.shape[0]
    one, other = (at // n_clusters for at in counts.coords)
    both = np.bincount(g * one + other, -joint * np.log(joint), minlength=g * g).reshape(g, g)
    own = np.diag(both)  # of a member with itself: its entropy
    total = own[:, None] + own
    information = 2 * safe_divide(np.maximum(total - both, 0), total, floor=1e-12, fill=0.5)
    np.fill_diagonal(information, 1.0)
    return np.minimum(information, 1.0)


def mean_agreement(information: np.ndarray) -> np.ndarray:
    """Return the mean information of each member with the others.

    Examples
    --------
    >>> mean_agreement(np.array([[1.0, 0.5], [0.5, 1.0]]))
    array([0.5, 0.5])
    """
    return (information.sum(axis=1) - 1) / max(1, len(information) - 1)


def kept_members(information: np.ndarray, exponents: Sequence[float]) -> np.ndarray:
    """Return the half of the members of each exponent that agrees best with all members.

    Agreement favours the middle of a grid, whatever is right: if members of all exponents were compared with each
    other, few of those at its ends would be kept. Members that agree alike are kept or not together.

    Parameters
    ----------
    information : ndarray of shape (n_members, n_members)
        Of all pairs.
    exponents : sequence of float
        Exponent of the whitening of each member.

    Returns
    -------
    kept : ndarray of int
        Positions of the members, ascending.

    Examples
    --------
    >>> information = np.array([[1, 0.9, 0.8, 0.1], [0.9, 1, 0.9, 0.2], [0.8, 0.9, 1, 0.2], [0.1, 0.2, 0.2, 1]])
    >>> kept_members(information, [0.0, 0.0, 1.0, 1.0])
    array([1, 2])
    """
    agreement, t = mean_agreement(information), np.asarray(exponents)
    groups = [np.flatnonzero(t == value) for value in np.unique(t)]
    return np.sort(np.concatenate([own[agreement[own] >= np.median(agreement[own])] for own in groups]))


def consensus_labels(
    partitions: Sequence[np.ndarray], n_clusters: int, random_state: np.random.RandomState, n_init: int
) -> np.ndarray:
    """Return the spectral clusters of the co-association matrix of partitions.

    Parameters
    ----------
    partitions : sequence of ndarray of shape (n_samples,)
        Cluster of each sample, by member.
    n_clusters : int
        Number of clusters, of a member and of the result.
    random_state : RandomState
        Generator of the decomposition and of k-means.
    n_init : int
        Starts of k-means.

    Returns
    -------
    labels : ndarray of shape (n_samples,)

    Examples
    --------
    >>> members = [np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), np.array([0, 1, 1, 1])]
    >>> labels = consensus_labels(members, 2, np.random.RandomState(0), n_init=3)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    seed = kmeans_seed(random_state)
    B = indicators(partitions, n_clusters)
    degree = B @ B.sum(axis=0)
    U = truncated_svd(wrap(sp.csr_array(sp.diags_array(inverse_root(degree)) @ B)), n_clusters, random_state)[0]
    return kmeans(unit_embedding(U), n_clusters, seed, n_init).labels_


def memberships(partitions: Sequence[np.ndarray], labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return H, whose rows add to one: the mean over members of what share of a sample's cluster has which label.

    ``H = B Q / n_members`` with ``q_lj`` the share of cluster l of a member that lies in final cluster j.

    Parameters
    ----------
    partitions : sequence of ndarray of shape (n_samples,)
        Cluster of each sample, by member.
    labels : ndarray of shape (n_samples,)
        The final clusters.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    H : ndarray of shape (n_samples, n_clusters)

    Examples
    --------
    >>> memberships([np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])], np.array([0, 0, 1, 1]), 2).round(2)
    array([[1.  , 0.  ],
           [0.67, 0.33],
           [0.17, 0.83],
           [0.17, 0.83]])
    """
    B = indicators(partitions, n_clusters)
    Q = (B.T @ indicators([labels], n_clusters)).toarray()
    Q = safe_divide(Q, Q.sum(axis=1, keepdims=True))
    return (B @ Q) / len(partitions)


def cluster_components(X: np.ndarray | sp.csr_array, H: np.ndarray, *, ridge: float = 1e-6) -> np.ndarray:
    """Return ``Z = (H^T H + ridge)^-1 H^T X``, near the means of the clusters for memberships H.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples.
    H : ndarray of shape (n_samples, n_clusters)
        Their memberships.
    ridge : float, default=1e-6
        Share that is added to the diagonal of the Gram matrix.

    Returns
    -------
    Z : ndarray of shape (n_clusters, n_features)

    Examples
    --------
    >>> cluster_components(np.array([[1.0], [3.0], [8.0]]), np.array([[1.0, 0], [1, 0], [0, 1]])).round(3)
    array([[2.],
           [8.]])
    """
    data = wrap(X)
    solve, _ = gram_solver(ridged(H.T @ H, ridge))
    return solve(data.T.product(H.astype(data.dtype)).T.astype(np.float64)) * data.scale


def two_groups(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split members in two by their agreement: average linkage of one minus the information of pairs.

    Parameters
    ----------
    information : ndarray of shape (n_members, n_members)
        Of all pairs.

    Returns
    -------
    larger, smaller : ndarray of int
        Positions of the members; of groups of one size, the one that agrees better with itself comes first.

    Examples
    --------
    >>> two_groups(np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]]))
    (array([0, 1]), array([2]))
    """
    if len(information) < 2:
        return np.arange(len(information)), np.arange(0)
    distances = squareform(1 - information, checks=False)
    groups = fcluster(linkage(distances, "average"), 2, "maxclust")
    parts = [np.flatnonzero(groups == group) for group in (1, 2)]
    larger, smaller = sorted(parts, key=lambda part: (-len(part), -information[np.ix_(part, part)].sum()))
    return larger, smaller

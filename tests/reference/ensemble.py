"""Cluster ensembles as in the papers: the co-association matrix formed densely, information of pairs one by one."""

import numpy as np
from sklearn.metrics import normalized_mutual_info_score


def co_association(partitions):
    """Number of partitions in which two samples are together (Fred and Jain 2005)."""
    return sum((labels[:, None] == labels).astype(float) for labels in map(np.asarray, partitions))


def leading_projection(partitions, k):
    """Projection on the k leading eigenvectors of the normalised co-association matrix."""
    C = co_association(partitions)
    scale = 1 / np.sqrt(C.sum(axis=1))
    U = np.linalg.eigh(C * scale[:, None] * scale)[1][:, ::-1][:, :k]
    return U @ U.T


def pairwise_information(partitions):
    """Normalised mutual information of all pairs, by scikit-learn."""
    return np.array([[normalized_mutual_info_score(a, b) for a in partitions] for b in partitions])


def memberships(partitions, labels):
    """Mean over partitions of the share of a sample's cluster that has each label, sample by sample."""
    n_clusters = labels.max() + 1
    H = np.zeros((len(labels), n_clusters))
    for partition in partitions:
        for i in range(len(labels)):
            together = labels[partition == partition[i]]
            H[i] += np.bincount(together, minlength=n_clusters) / len(together)
    return H / len(partitions)


def shared_neighbour_graph(points, k, floor=0.02):
    """Rank graph times the cosine of the rows of ranks, entry by entry."""
    n = len(points)
    A = np.zeros((n, n))
    for i in range(n):
        distances = ((points - points[i]) ** 2).sum(axis=1)
        distances[i] = np.inf
        for rank, j in enumerate(np.argsort(distances, kind="stable")[:k], start=1):
            A[i, j] = 1 / rank
    W, B = (A + A.T) / 2, A + np.eye(n)
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    return W * (B @ B.T + floor)

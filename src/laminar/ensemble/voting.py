"""Memberships of new samples: a vote of the nearest training samples in the spaces of the members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._engine.linalg.small import safe_divide
from .._utils import threads
from ..graphs.rank import rank_weights
from .grid import Member
from .spaces import NewScores, Spaces


def vote(spaces: Spaces, members: Sequence[Member], weights: np.ndarray, H: np.ndarray, new: NewScores) -> np.ndarray:
    """Return the memberships of new samples: means over members of those of their nearest training samples.

    In a member that adds up the graphs of views each view a sample has votes with its weight.

    Parameters
    ----------
    spaces : Spaces
        Where the training samples lie.
    members : sequence of Member
        Who votes.
    weights : ndarray of shape (n_members, n_views)
        Weights of the views in each member.
    H : ndarray of shape (n_samples, n_clusters)
        Memberships of the training samples.
    new : NewScores
        The new samples.

    Returns
    -------
    votes : ndarray of shape (n_new, n_clusters)
        Rows add to one where those of H do.
    """
    total = np.zeros((len(new.observed), H.shape[1]))
    for member, of_views in zip(members, weights, strict=True):
        points, training = spaces.points(member, new), spaces.training_points(member)
        if member.source == "joint":
            total += mean_of_nearest(points[0], training[0], H)
            continue
        shares = view_shares(of_views, new.observed)
        for v, (has, had) in enumerate(zip(new.observed.T, spaces.observed.T, strict=True)):
            if has.any():
                total[has] += shares[has, v, None] * mean_of_nearest(points[v][has], training[v], H[had])
    return total / len(members)


def view_shares(weights: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return the weights of the views that each sample has, with sum one; equal ones where all of these are zero.

    Examples
    --------
    >>> view_shares(np.array([0.6, 0.2, 0.2]), np.array([[True, True, True], [False, True, True]]))
    array([[0.6, 0.2, 0.2],
           [0. , 0.5, 0.5]])
    """
    shares = observed * weights
    shares = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, observed)
    return safe_divide(shares.astype(np.float64), shares.sum(axis=1, keepdims=True))


def mean_of_nearest(points: np.ndarray, training: np.ndarray, H: np.ndarray, *, n_neighbors: int = 5) -> np.ndarray:
    """Return the mean of the rows of H of the nearest training points, with weights one over the rank.

    Parameters
    ----------
    points : ndarray of shape (n_new, n_dimensions)
        New samples.
    training : ndarray of shape (n_samples, n_dimensions)
        Training samples.
    H : ndarray of shape (n_samples, k)
        What is averaged.
    n_neighbors : int, default=5
        Number of training samples that vote.

    Returns
    -------
    mean : ndarray of shape (n_new, k)

    Examples
    --------
    >>> training, H = np.array([[0.0], [1.0], [5.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> mean_of_nearest(np.array([[4.0]]), training, H, n_neighbors=2).round(2)
    array([[0.33, 0.67]])
    """
    k = min(n_neighbors, len(training))
    blocks = threads.blocks(len(points), 512)
    neighbours = np.vstack(threads.each(lambda b: _nearest_training(points[b], training, k), blocks))
    return rank_weights(neighbours, len(training)) @ H / (1 / np.arange(1.0, k + 1)).sum()


def _nearest_training(points: np.ndarray, training: np.ndarray, k: int, *, spare: int = 10) -> np.ndarray:
    """Return the k nearest training samples of each point; ties go to the one that comes first.

    Products find candidates, more than are needed; differences order them, since products break ties by rounding.
    """
    squares = np.einsum("ij,ij->i", training, training) - 2 * points @ training.T
    width = min(k + spare, len(training))
    candidates = np.sort(np.argpartition(squares, width - 1, axis=1)[:, :width], axis=1)
    exact = np.square(points[:, None] - training[candidates]).sum(axis=2)
    order = np.argsort(exact, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(candidates, order, 1)

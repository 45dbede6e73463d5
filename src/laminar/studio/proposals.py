"""Samples to label next: least certain, least like anything labelled, and one in five at random.

The accuracy of a model is estimated on samples drawn at random alone: labels of samples that were chosen because the
model is not certain of them make it seem worse, and labels of whole groups make it seem better. Draws do not change
until their label is given, so that a sample that is hard to label is not replaced by an easier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

EVERY = 5  # one proposal in so many is drawn at random


@dataclass(frozen=True)
class Proposal:
    """A sample to label next, and why."""

    row: int
    reason: str  # "uncertain", "different", "random"


def propose(
    known: np.ndarray,
    draws: Sequence[int],
    n_since: int,
    features: np.ndarray | None,
    probabilities: np.ndarray | None,
    *,
    n_proposals: int = 10,
) -> list[Proposal]:
    """Return samples to label next, best first.

    Parameters
    ----------
    known : ndarray of bool of shape (n_samples,)
        Samples with a label.
    draws : sequence of int
        Samples drawn at random, see `open_draws`.
    n_since : int
        Labels given since that of the last sample drawn at random.
    features : ndarray of shape (n_samples, n_features) or None
        Features in which samples are different; None before the first fit.
    probabilities : ndarray of shape (n_samples, n_classes) or None
        Of the classes; None where the model has no classes.
    n_proposals : int, default=10
        Number of proposals.

    Returns
    -------
    list of Proposal
        At most so many, in the order in which they should be labelled.

    Examples
    --------
    >>> features = np.array([[0.0], [1.0], [5.0], [2.0]])
    >>> probabilities = np.array([[1, 0], [0.9, 0.1], [1, 0], [0.5, 0.5]])
    >>> known = np.array([True, False, False, False])
    >>> [(p.row, p.reason) for p in propose(known, [1], 4, features, probabilities, n_proposals=3)]
    [(1, 'random'), (3, 'uncertain'), (2, 'different')]
    """
    chosen = known.copy()
    chosen[list(draws)] = True
    half = n_proposals - n_proposals // EVERY
    uncertain = [] if probabilities is None else least_certain(probabilities, chosen, half)
    different = [] if features is None else least_like(features, known, chosen, half)
    ranked = _alternate([(uncertain, "uncertain"), (different, "different")][:: -1 if n_since % 2 else 1])
    for i, row in enumerate(draws):
        # The first after four other labels, wherever the order of the others then is.
        place = max(0, EVERY - 1 - n_since) + EVERY * i
        ranked.insert(min(place, len(ranked)), Proposal(row, "random"))
    return ranked[:n_proposals]


def _alternate(rankings: Sequence[tuple[Sequence[int], str]]) -> list[Proposal]:
    """Return the first of each ranking, then the second of each, and so on; no sample twice."""
    found: dict[int, str] = {}
    for i in range(max(len(rows) for rows, _ in rankings)):
        for rows, reason in rankings:
            if i < len(rows):
                found.setdefault(int(rows[i]), reason)
    return [Proposal(row, reason) for row, reason in found.items()]


def least_certain(probabilities: np.ndarray, excluded: np.ndarray, count: int) -> list[int]:
    """Return the samples whose two most probable classes are the closest.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1, 0.0], [0.5, 0.4, 0.1], [0.4, 0.3, 0.3]])
    >>> least_certain(P, np.array([False, False, False]), 2)
    [1, 2]
    """
    if probabilities.shape[1] < 2:
        return []
    top = -np.partition(-probabilities, 1, axis=1)[:, :2]
    margin = np.where(excluded, np.inf, np.round(top[:, 0] - top[:, 1], 6))
    order = np.argsort(margin, kind="stable")[:count]
    return [int(row) for row in order if not excluded[row]]


def least_like(features: np.ndarray, known: np.ndarray, excluded: np.ndarray, count: int) -> list[int]:
    """Return the samples farthest from all that are labelled or were returned before; first the farthest of all.

    Without any label the first is the one that is nearest to the mean.

    Examples
    --------
    >>> least_like(np.array([[0.0], [1.0], [6.0], [-4.0]]), np.array([True, False, False, False]), np.zeros(4, bool), 2)
    [2, 3]
    """
    if known.any():
        labelled = features[known]
        distance = np.full(len(features), np.inf)
        for start in range(0, len(labelled), 256):  # bounded memory
            distance = np.minimum(distance, _squares(features, labelled[start : start + 256]).min(axis=1))
    else:
        distance = -_squares(features, features.mean(axis=0, keepdims=True))[:, 0]
    excluded, found = excluded.copy(), []
    for _ in range(min(count, int((~excluded).sum()))):
        row = int(np.where(excluded, -np.inf, distance).argmax())
        found.append(row)
        excluded[row] = True
        nearest = _squares(features, features[row : row + 1])[:, 0]
        distance = nearest if len(found) == 1 and not known.any() else np.minimum(distance, nearest)
    return found


def _squares(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return squared distances between rows."""
    return np.maximum(np.square(A).sum(1)[:, None] - 2 * A @ B.T + np.square(B).sum(1), 0)


def open_draws(known: np.ndarray, seed: int, count: int = 2) -> list[int]:
    """Return the samples that are drawn at random and have no label yet: the next ones of an order of all samples.

    Examples
    --------
    >>> first = open_draws(np.zeros(9, bool), seed=0)
    >>> known = np.zeros(9, bool)
    >>> known[first[0]] = True
    >>> open_draws(known, seed=0)[0] == first[1]
    True
    """
    order = np.random.default_rng(seed).permutation(len(known))
    return [int(row) for row in order[~known[order]][:count]]

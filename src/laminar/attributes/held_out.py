"""Held-out scores of ridge classifiers: how well features predict a few labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

RIDGES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of features with a mean square of one; a choice


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of labelled samples by ridge classifiers that were trained without them.

    Parameters
    ----------
    scores : ndarray of shape (n_labels, n_classes)
        Means over the folds; 0 for samples that were never held out.
    tried : ndarray of shape (n_labels,)
        Whether each sample was held out; a label that is alone in its class never is.
    ridge : float
        The penalty with the least squared error.
    n_correct : float
        Number of samples whose largest score is that of their class, a mean over the folds.
    n_nearest : float
        Number of samples whose scores are nearest to the mean scores of their class, without their own.
    """

    scores: np.ndarray
    tried: np.ndarray
    ridge: float
    n_correct: float
    n_nearest: float

    @property
    def hits(self) -> float:
        """The larger number: of ordered classes, those in the middle never have the largest score."""
        return max(self.n_correct, self.n_nearest)


def held_out_scores(
    A: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    ridges: Sequence[float] = RIDGES,
    *,
    n_predictions: int = 600,
    untried_ridge: float = 0.1,
) -> HeldOut:
    """Compute scores of ridge regressions of the classes, as 0 and 1, on features, each without the sample's label.

    Parameters
    ----------
    A : ndarray of shape (n_labels, n_features)
        Features of labelled samples.
    codes : ndarray of shape (n_labels,)
        Their classes, each of them 0, ..., n_classes - 1 at least once.
    n_classes : int
        Number of classes.
    ridges : sequence of float
        Penalties to choose from, for features with a mean square of one.
    n_predictions : int, default=600
        Labels predicted, approximately: there are 2 to 20 partitions into folds.
    untried_ridge : float, default=0.1
        Penalty where there is one label a class, and nothing can be held out.

    Returns
    -------
    HeldOut
        Scores, penalty and numbers of correct predictions.

    Examples
    --------
    >>> A = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> found = held_out_scores(A, np.array([0, 0, 0, 1, 1, 1]), 2)
    >>> found.n_correct, found.n_nearest
    (6.0, 6.0)
    """
    T = np.eye(n_classes)[codes]
    scores, n_correct = np.zeros((len(ridges), *T.shape)), np.zeros((len(ridges), len(codes)))
    n_trials = np.zeros(len(codes))
    for held_out in folds(codes, int(np.clip(n_predictions / len(codes), 2, 20))):
        n_trials += held_out
        found = ridge_predictions(A[~held_out], T[~held_out], A[held_out], ridges)
        for i, prediction in enumerate(found):
            scores[i, held_out] += prediction
            n_correct[i, held_out] += prediction.argmax(1) == codes[held_out]
    tried = n_trials > 0
    if not tried.any():
        return HeldOut(scores[0], tried, untried_ridge, 0.0, 0.0)
    trials = np.maximum(n_trials, 1)
    scores, n_correct = scores / trials[:, None], n_correct / trials
    best = int(np.square(scores[:, tried] - T[tried]).sum((1, 2)).argmin())
    n_nearest = _nearest_mean_hits(scores[best, tried], codes[tried], n_classes)
    return HeldOut(scores[best], tried, float(ridges[best]), float(n_correct[best].sum()), n_nearest)


def folds(codes: np.ndarray, n_partitions: int, *, max_folds: int = 5) -> Iterator[np.ndarray]:
    """Yield masks of labelled samples to hold out, an equal share of every class; the seed is fixed.

    A partition has as many folds as the median class has labels, at least two. A label that is alone in its class is
    never held out, so that every class always has one.
    """
    sizes = np.bincount(codes)
    if not (sizes > 1).any():
        return
    n_folds = int(np.clip(np.median(sizes[sizes > 1]), 2, max_folds))
    rng = np.random.RandomState(0)
    for _ in range(n_partitions):
        order = np.lexsort((rng.random_sample(len(codes)), codes))
        rank = np.empty(len(codes), int)
        rank[order] = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])
        # A random offset: which folds of a class are the larger ones.
        fold = (rank + rng.randint(n_folds, size=len(sizes))[codes]) % n_folds
        fold[sizes[codes] == 1] = -1
        yield from (mask for mask in (fold == i for i in range(n_folds)) if mask.any())


def ridge_predictions(A: np.ndarray, T: np.ndarray, new: np.ndarray, ridges: Sequence[float]) -> Iterator[np.ndarray]:
    """Yield the predictions for new rows of ridge regressions of T on A with intercept, in primal or dual form.

    A is centred and scaled to a mean square of one.
    """
    mean, intercept = A.mean(0), T.mean(0)
    A, new, T = A - mean, new - mean, T - intercept
    size = len(A) / max(float(np.vdot(A, A)), 1e-300)
    if len(A) <= A.shape[1]:
        values, Q = np.linalg.eigh(size * (A @ A.T))
        left, right = size * (new @ (A.T @ Q)), Q.T @ T
    else:
        values, Q = np.linalg.eigh(size * (A.T @ A))
        left, right = size * (new @ Q), Q.T @ (A.T @ T)
    values = np.maximum(values, 0)
    for ridge in ridges:
        yield left @ (right / (values + ridge)[:, None]) + intercept


def _nearest_mean_hits(E: np.ndarray, codes: np.ndarray, n_classes: int) -> float:
    """Count rows nearest to the mean of their class, without themselves; 0 unless every class has two rows."""
    sizes = np.bincount(codes, minlength=n_classes)
    if (sizes < 2).any():
        return 0.0
    means = (np.eye(n_classes)[codes].T @ E) / sizes[:, None]
    squares = squared_distances(E, means)
    own = np.arange(len(codes)), codes
    squares[own] *= (sizes[codes] / (sizes[codes] - 1)) ** 2  # from the mean of the others
    return float((squares.argmin(1) == codes).sum())


def squared_distances(E: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the squared distances of rows of E to some means."""
    return np.maximum(np.square(E).sum(1)[:, None] - 2 * E @ means.T + np.square(means).sum(1), 0)

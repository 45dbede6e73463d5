"""Discriminants of an attribute by ridge regression of soft targets, leaving each sample out of its own scores.

    D = ridge scores of the labels,                  P = softmax(beta D),  P = T on labelled samples         start
    L = leave-one-out ridge scores of P, all samples,  L = C - (C - U d U^T C) / (1 - h),  C = P - mean      round
    Z = L W,  W W^T = covariance of L inside the classes^-1,   P = softmax(-1/2 ||Z - centre||^2),  P = T

T has the known classes as 0 and 1, U and s are singular vectors and values of the centred features,
``d = s^2 / (s^2 + ridge)`` and ``h = diag(U d U^T) + 1/n``. With leave-one-out scores labelled samples are like others.
The start is that of linear discriminants where these predict more held-out labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from scipy.special import log_softmax, softmax

from .._utils.labels import Attribute
from .class_centres import pooled_lda
from .held_out import HeldOut, held_out_scores, ridge_predictions, squared_distances
from .weighting import lda_hits

ALL_RIDGES = tuple(np.logspace(-3, 1, 9))  # in units of the mean squared length of samples
BETAS = tuple(2.0**i for i in range(7))  # of the softmax of ridge scores


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Singular value decomposition ``U diag(s)`` of centred features of mean squared length one, in float64."""

    U: np.ndarray
    s: np.ndarray

    @property
    def features(self) -> np.ndarray:
        """Principal scores of the samples."""
        return self.U * self.s


@dataclass(frozen=True, eq=False)
class Discriminants:
    """Result of a round.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_classes)
        Leave-one-out discriminants; the covariance inside the classes is about the identity.
    coef : ndarray of shape (n_directions, n_classes)
        What principal scores of new samples are multiplied by.
    centres : ndarray of shape (n_classes, n_classes)
        Mean of Z for each class.
    memberships : ndarray of shape (n_samples, n_classes)
        P, of labelled samples too.
    error : float
        Squared error of the leave-one-out scores, a mean over the samples.
    """

    Z: np.ndarray
    coef: np.ndarray
    centres: np.ndarray
    memberships: np.ndarray
    error: float


def initial_targets(data: Decomposition, attribute: Attribute, *, n_lda: int = 100) -> np.ndarray:
    """Return soft targets (n_samples, n_classes) from a classifier of the labelled samples.

    It is the one that predicts more labels when they are held out: ridge regression of the classes, or linear
    discriminants on ``n_lda`` directions.
    """
    known, E = attribute.known, data.features
    codes, n_classes = attribute.codes[known], len(attribute.classes)
    held = held_out_scores(E[known], codes, n_classes)
    if lda_hits(E[known, :n_lda], codes, n_classes) > held.hits:
        return with_labels(_lda_memberships(E[:, :n_lda], attribute), attribute)
    (D,) = ridge_predictions(E[known], np.eye(n_classes)[codes], E, [held.ridge])
    return with_labels(_calibrated(D, held, codes), attribute)


def _calibrated(D: np.ndarray, held: HeldOut, codes: np.ndarray) -> np.ndarray:
    """Return the softmax of scores, or of distances to mean scores, times what suits the held-out scores best."""
    tried, codes = held.tried, codes[held.tried]
    E = held.scores[tried]
    # More than one hit more: ordered classes, whose middle ones never have the largest score.
    if held.n_nearest > held.n_correct + 1:
        means = np.array([E[codes == c].mean(0) for c in range(D.shape[1])])
        D, E = -squared_distances(D, means), -squared_distances(E, means)
    return softmax(_sharpness(E, codes) * D, axis=1)


def _sharpness(E: np.ndarray, codes: np.ndarray, *, usual: float = 16.0, penalty: float = 3.0) -> float:
    """Return the factor with the largest held-out likelihood, less a penalty on its distance from the usual one."""

    def gain(beta: float) -> float:
        likelihood = log_softmax(beta * E, axis=1)[np.arange(len(codes)), codes].sum()
        return float(likelihood - penalty * np.log2(beta / usual) ** 2)

    return max(BETAS, key=gain)


def _lda_memberships(E: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Return class probabilities of linear discriminants, with the distances that unlabelled samples have."""
    known, n_classes = attribute.known, len(attribute.classes)
    lda = pooled_lda(E[known], attribute.codes[known], n_classes)
    squares = lda.squared_distances(E)
    nearest = squares[~known].min(1) if not known.all() else squares.min(1)
    # Few labels make the covariance too small, and the distances of other samples too large.
    unit = float(np.median(nearest)) / lda.centres.shape[1]
    return softmax(-0.5 * squares / max(unit, 1e-300), axis=1)


def with_labels(P: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Return memberships that are 0 and 1 where the class is known."""
    P = P.copy()
    P[attribute.known] = np.eye(P.shape[1])[attribute.codes[attribute.known]]
    return P


def leave_one_out(
    data: Decomposition, C: np.ndarray, ridges: Sequence[float] = ALL_RIDGES
) -> tuple[np.ndarray, np.ndarray, float]:
    """Compute leave-one-out scores of ridge regression with intercept, for the ridge with the least squared error.

    Parameters
    ----------
    data : Decomposition
        Features.
    C : ndarray of shape (n_samples, n_targets)
        Targets, with mean zero.
    ridges : sequence of float
        Penalties.

    Returns
    -------
    L : ndarray of shape (n_samples, n_targets)
        Scores of each sample by the regression on all others, less the mean of all targets.
    coef : ndarray of shape (n_directions, n_targets)
        Coefficients of the regression on all samples.
    error : float
        Squared error, a mean over the samples.
    """
    U, squares = data.U, np.square(data.s)
    projected, leverages = U.T @ C, np.square(U)

    def scores(ridge: float) -> tuple[np.ndarray, np.ndarray, float]:
        d = squares / (squares + ridge)
        h = leverages @ d + 1 / len(U)
        L = C - (C - U @ (d[:, None] * projected)) / np.maximum(1 - h, 1e-3)[:, None]
        return L, (d / data.s)[:, None] * projected, float(np.square(L - C).sum()) / len(U)

    return min(map(scores, ridges), key=itemgetter(2))


def discriminants(data: Decomposition, P: np.ndarray, *, shrinkage: float = 0.1) -> Discriminants:
    """Make one round: leave-one-out scores of the soft targets P, whitened inside the classes, and memberships."""
    n_samples, n_classes = P.shape
    L, coef, error = leave_one_out(data, P - P.mean(0))
    sizes = P.sum(0) + 1e-9  # a class may lose all
    means = (P.T @ L) / sizes[:, None]
    C = (L.T @ L - (means.T * sizes) @ means) / max(n_samples - n_classes, 1)
    ridge = max(shrinkage * C.trace() / n_classes, 1e-12)
    W = np.linalg.cholesky(np.linalg.inv((1 - shrinkage) * C + ridge * np.eye(n_classes)))
    Z, centres = L @ W, means @ W
    memberships = softmax(-0.5 * squared_distances(Z, centres), axis=1)
    return Discriminants(Z, coef @ W, centres, memberships, error)

"""Principal scores of one view, and of several side by side whose holes are filled by a low rank.

    Q - 1 m^T ~ U diag(s) V^T,     scores with exponent t: unit rows of U diag(s)^(1 - t)

t = 0 are the distances of the data, t = 1 whitened scores, in which all directions count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._engine.data.derived import Shifted
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._engine.linalg.small import safe_divide, unit_rows


@dataclass(frozen=True, eq=False)
class Scores:
    """Leading principal scores of training samples, and the map that gives those of new ones.

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
        m.
    basis : ndarray of shape (n_features, k)
        V.
    sizes : ndarray of shape (k,)
        The singular values s, above zero.
    training : ndarray of shape (n_samples, k)
        Scores U diag(s) of the training samples.

    Examples
    --------
    >>> Q = np.array([[1.0, 2.0], [-1.0, 2.0], [0.0, 2.0]])
    >>> scores = principal_scores(Q, 2, np.random.RandomState(0))
    >>> scores.training.shape, np.allclose(scores.of(Q), scores.training)
    ((3, 1), True)
    """

    mean: np.ndarray
    basis: np.ndarray
    sizes: np.ndarray
    training: np.ndarray

    def of(self, Q: np.ndarray | sp.csr_array) -> np.ndarray:
        """Return the scores of samples."""
        return Q @ self.basis - self.mean @ self.basis

    def whitened(self, F: np.ndarray, width: int, exponent: float) -> np.ndarray:
        """Return the leading scores F of samples, times ``s^-t``, with unit rows."""
        s = self.sizes[:width]
        return unit_rows(F[:, :width] * (s / s[0]) ** -exponent)


def principal_scores(Q: np.ndarray | sp.csr_array, k: int, random_state: np.random.RandomState) -> Scores:
    """Compute the k leading principal scores of the rows of Q, or as many as its rank.

    Parameters
    ----------
    Q : {ndarray, sparse array} of shape (n_samples, n_features)
        Samples in one form.
    k : int
        Number of scores.
    random_state : RandomState
        Generator of the decomposition of large matrices.

    Returns
    -------
    Scores
        One score of zeros where all rows are equal.
    """
    mean = np.asarray(Q.mean(axis=0)).ravel()
    data = wrap(Q)
    U, s, V = truncated_svd(Shifted(data, mean / data.scale), k, random_state)
    if s[0] <= 1e-9:  # in unit scale: rounding of the mean
        return Scores(mean, np.zeros((Q.shape[1], 1)), np.ones(1), np.zeros((Q.shape[0], 1)))
    rank = int(np.count_nonzero(s > 1e-6 * s[0]))
    s = s[:rank] * data.scale
    return Scores(mean, V[:, :rank], s, U[:, :rank] * s)


@dataclass(frozen=True, eq=False)
class JointScores:
    """Principal scores of several views side by side, ``[a_v F_v]`` with F_v the scores of view v.

    Parameters
    ----------
    factors : ndarray of shape (n_views,)
        ``a_v``, which give view v a total variance in proportion to its weight.
    shared : Scores
        Of the views side by side.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> views = [principal_scores(rng.normal(size=(8, p)), 3, rng).training for p in (4, 5)]
    >>> joint = joint_scores(views, np.ones((8, 2), bool), np.array([0.5, 0.5]), 3, rng)
    >>> np.allclose(joint.of(views, np.ones((8, 2), bool)), joint.shared.training)
    True
    """

    factors: np.ndarray
    shared: Scores

    def of(self, views: Sequence[np.ndarray], observed: np.ndarray) -> np.ndarray:
        """Return the scores of samples from those of their views, any number where they lack one."""
        M, holes = _side_by_side(views, self.factors, observed)
        return self.shared.of(fill_holes(M, holes, self.shared))


def joint_scores(
    views: Sequence[np.ndarray],
    observed: np.ndarray,
    weights: np.ndarray,
    k: int,
    random_state: np.random.RandomState,
    *,
    n_sweeps: int = 12,
) -> JointScores:
    """Compute principal scores of views side by side; missing ones are filled from k scores, in turn with these.

    Parameters
    ----------
    views : sequence of ndarray of shape (n_samples, n_scores_v)
        Scores of each view, zero where a sample lacks it.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    weights : ndarray of shape (n_views,)
        Weights of the views.
    k : int
        Number of scores.
    random_state : RandomState
        Generator of the decomposition of large matrices.
    n_sweeps : int, default=12
        How often holes are filled: more of them fit noise, since a sample has few observed scores.

    Returns
    -------
    JointScores
        With the scores of the training samples, ``shared.training``.
    """
    norms = np.array([np.linalg.norm(view) for view in views])
    factors = safe_divide(np.sqrt(weights * observed.sum(axis=0)), norms)
    M, holes = _side_by_side(views, factors, observed)
    for _ in range(n_sweeps if holes.any() else 0):
        M = fill_holes(M, holes, principal_scores(M, k, random_state), n_sweeps=1)
    return JointScores(factors, principal_scores(M, k, random_state))


def fill_holes(M: np.ndarray, holes: np.ndarray, scores: Scores, *, n_sweeps: int = 12) -> np.ndarray:
    """Return M with its holes replaced by their reconstruction from the scores, so many times.

    Parameters
    ----------
    M : ndarray of shape (n_samples, n_features)
        Samples, with a first guess in the holes.
    holes : ndarray of bool of shape (n_samples, n_features)
        Which entries are missing.
    scores : Scores
        What reconstructs a sample.
    n_sweeps : int, default=12
        How often.

    Returns
    -------
    M : ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> scores = principal_scores(np.array([[1.0, 1.0], [-1.0, -1.0]]), 1, np.random.RandomState(0))
    >>> fill_holes(np.array([[3.0, 0.0]]), np.array([[False, True]]), scores).round(2)
    array([[3., 3.]])
    """
    for _ in range(n_sweeps if holes.any() else 0):
        M = np.where(holes, scores.of(M) @ scores.basis.T + scores.mean, M)
    return M


def _side_by_side(
    blocks: Sequence[np.ndarray], factors: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the views side by side, zero, their mean, where a sample lacks one, and the mask of these entries."""
    holes = np.repeat(~observed, [block.shape[1] for block in blocks], axis=1)
    M = np.hstack([factor * block for factor, block in zip(factors, blocks, strict=True)])
    return np.where(holes, 0.0, M), holes

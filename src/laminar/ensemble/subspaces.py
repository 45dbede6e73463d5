"""Subspaces in which a layer has its neighbours: principal scores of the data, and of what the main clusters leave.

    F = U diag(s),   R = F - M[P]      P the main clusters, row j of M the mean of F over cluster j
    points of a layer:   unit rows of U_k diag(s_k)^(1 - t),  of F or of R, for two numbers k of directions

Clusters that are found after others have been taken out differ from them (Y. Cui, X. Z. Fern and J. G. Dy,
Non-redundant multi-view clustering via orthogonalization, ICDM 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._engine.linalg.small import safe_divide
from .agreement import indicators
from .forms import Form
from .graphs import shared_neighbour_graph
from .scores import Scores
from .voting import mean_of_nearest


@dataclass(frozen=True)
class Subspace:
    """Which scores, how far they are whitened, and how many directions.

    Parameters
    ----------
    stage : int
        0 for the scores of the data, 1 for those of what the main clusters leave.
    exponent : float
        t, how far scores are whitened: 0 not at all, 1 completely.
    directions : tuple of int
        Numbers of principal directions; the graph of the layer is the mean of theirs.

    Examples
    --------
    >>> Subspace(0, 0.75, (80, 160)).limited(90)
    Subspace(stage=0, exponent=0.75, directions=(30,))
    """

    stage: int
    exponent: float
    directions: tuple[int, ...]

    def limited(self, n_samples: int) -> Subspace:
        """Return the subspace with a third of the number of samples as directions at most: more of them fit noise."""
        most = max(3, n_samples // 3)
        return Subspace(self.stage, self.exponent, tuple(dict.fromkeys(min(k, most) for k in self.directions)))

    def points(self, scores: Scores, F: np.ndarray) -> list[np.ndarray]:
        """Return where samples with scores F lie, for each number of directions."""
        return [scores.whitened(F, k, self.exponent) for k in self.directions]

    def graph(self, scores: Scores, rows: np.ndarray | None = None, *, n_neighbors: int = 20) -> sp.csr_array:
        """Return the mean graph of shared neighbours over the training samples, or some of them."""
        F = scores.training if rows is None else scores.training[rows]
        graphs = [shared_neighbour_graph(points, n_neighbors) for points in self.points(scores, F)]
        return sp.csr_array(sum(S / (S.sum() or 1.0) for S in graphs) / len(graphs))

    def vote(self, scores: Scores, F: np.ndarray, H: np.ndarray) -> np.ndarray:
        """Return the mean of the rows of H of the nearest training samples of those with scores F."""
        at, training = self.points(scores, F), self.points(scores, scores.training)
        return np.mean([mean_of_nearest(a, b, H) for a, b in zip(at, training, strict=True)], axis=0)


MAIN = Subspace(0, 0.75, (80, 160))
"""Where the main clusters are found."""

SUBSPACES = (
    MAIN,
    Subspace(0, 0.5, (80, 160)),
    Subspace(0, 0.0, (10, 80)),
    Subspace(1, 1.0, (80, 160)),
    Subspace(1, 0.5, (80, 160)),
    Subspace(1, 0.0, (10, 80)),
)
"""One for each layer: data and what the main clusters leave, whitened and not. Chosen on the sets of
docs/layers-without-labels.md, which has what other choices give, and the leave-one-set-out figure."""


@dataclass(frozen=True, eq=False)
class Stages:
    """Scores of the training samples, before and after the main clusters are taken out, and the maps for new ones.

    Parameters
    ----------
    form : Form
        Form of the data.
    scores : list of Scores
        Of the data and of what the main clusters leave.
    labels : ndarray of shape (n_samples,)
        Clusters of the training samples that vote on the main clusters of new ones.
    centres : ndarray of shape (n_clusters, n_scores)
        Means M of the scores of the data over the main clusters.
    main : Subspace
        Where the main clusters are found.
    """

    form: Form
    scores: list[Scores]
    labels: np.ndarray
    centres: np.ndarray
    main: Subspace

    def of(self, X: np.ndarray | sp.csr_array) -> list[np.ndarray]:
        """Return the scores of samples at both stages."""
        F = self.scores[0].of(self.form(X))
        main = self.main.vote(self.scores[0], F, one_hot(self.labels, len(self.centres))).argmax(axis=1)
        return [F, self.scores[1].of(F - self.centres[main])]


def one_hot(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the indicators of clusters as an array.

    Examples
    --------
    >>> one_hot(np.array([1, 0]), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    return indicators([labels], n_clusters).toarray()


def means_of_clusters(F: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the mean of F over each cluster; zero for one without samples.

    Examples
    --------
    >>> means_of_clusters(np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 2]), 3)
    array([[2.],
           [0.],
           [5.]])
    """
    B = indicators([labels], n_clusters)
    return safe_divide(B.T @ F, B.sum(axis=0)[:, None])


def directions_needed(subspaces: Sequence[Subspace]) -> int:
    """Return the largest number of directions of subspaces.

    Examples
    --------
    >>> directions_needed([Subspace(0, 0.5, (10, 80)), Subspace(1, 0.5, (40,))])
    80
    """
    return max(k for subspace in subspaces for k in subspace.directions)

"""The spaces members have their neighbours in: scores of every view in every form, and of the views side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._utils.progress import stage
from .forms import Form, fit_form
from .graphs import shared_neighbour_graph, sum_of_graphs
from .grid import Member
from .scores import JointScores, Scores, joint_scores, principal_scores

Views = Sequence[np.ndarray | sp.csr_array]


@dataclass(frozen=True, eq=False)
class Spaces:
    """Scores of training samples, and the maps that give those of new ones.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, from which members have their numbers of directions.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which training sample has which view.
    weights : ndarray of shape (n_views,)
        Weights of the views side by side.
    forms : list of list of Form
        By view and position.
    scores : list of list of Scores
        The same.
    joint : list of JointScores
        By position; empty for one view.
    """

    n_clusters: int
    observed: np.ndarray
    weights: np.ndarray
    forms: list[list[Form]]
    scores: list[list[Scores]]
    joint: list[JointScores]

    def training_points(self, member: Member) -> list[np.ndarray]:
        """Return where the training samples lie: for each view the samples that have it, or all side by side."""
        return [self._points(member, scores, scores.training) for scores in self._scores_of(member)]

    def points(self, member: Member, new: NewScores) -> list[np.ndarray]:
        """Return where new samples lie, in the same spaces; rows of samples that lack a view have no meaning."""
        found = new.joint(member.position) if member.source == "joint" else new.single(member.position)
        return [self._points(member, scores, F) for scores, F in zip(self._scores_of(member), found, strict=True)]

    def _points(self, member: Member, scores: Scores, F: np.ndarray) -> np.ndarray:
        return scores.whitened(F, member.directions * self.n_clusters, member.exponent)

    def _scores_of(self, member: Member) -> list[Scores]:
        if member.source == "joint":
            return [self.joint[member.position].shared]
        return [scores[member.position] for scores in self.scores]


class NewScores:
    """Scores of new samples, each computed when it is first needed.

    Parameters
    ----------
    spaces : Spaces
        Of the training samples.
    views : sequence of {ndarray, sparse array}
        The samples, any numbers where one lacks a view.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    """

    def __init__(self, spaces: Spaces, views: Views, observed: np.ndarray):
        self.spaces, self.views, self.observed = spaces, views, observed
        self._single: dict[int, list[np.ndarray]] = {}
        self._joint: dict[int, list[np.ndarray]] = {}

    def single(self, position: int) -> list[np.ndarray]:
        """Return the scores of each view in the form at this position."""
        if position not in self._single:
            of_views = zip(self.spaces.forms, self.spaces.scores, self.views, strict=True)
            self._single[position] = [scores[position].of(forms[position](X)) for forms, scores, X in of_views]
        return self._single[position]

    def joint(self, position: int) -> list[np.ndarray]:
        """Return the scores of the views side by side, in a list of one."""
        if position not in self._joint:
            self._joint[position] = [self.spaces.joint[position].of(self.single(position), self.observed)]
        return self._joint[position]


def build_spaces(
    views: Views,
    observed: np.ndarray,
    names: Sequence[Sequence[str]],
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    max_directions: int = 3,
    min_joint: int = 30,
    min_view: int = 150,
) -> Spaces:
    """Compute the scores of training samples.

    Parameters
    ----------
    views : sequence of {ndarray, sparse array} of shape (n_samples, n_features_v)
        The views.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    names : sequence of sequence of str
        Names of the forms, by view and position.
    n_clusters : int
        Number of clusters.
    random_state : RandomState
        Generator of the decompositions of large matrices.
    max_directions : int, default=3
        Most principal directions for each cluster.
    min_joint, min_view : int, default=30, 150
        Fewest scores that fill holes, and fewest of a view that are put side by side.

    Returns
    -------
    Spaces
    """
    k = max_directions * n_clusters
    several = len(views) > 1
    rows = [np.flatnonzero(has) for has in observed.T]
    forms, scores = [], []
    for X, at, of_view in zip(views, rows, names, strict=True):
        stage(f"scores of {len(at)} x {X.shape[1]} in the forms {', '.join(of_view)}")
        forms.append([fit_form(name, X[at]) for name in of_view])
        scores.append(
            [principal_scores(form(X[at]), max(k, min_view) if several else k, random_state) for form in forms[-1]]
        )
    weights, joint = np.ones(len(views)) / len(views), []
    if several:
        weights = _view_weights([view[0] for view in scores], observed, k)
        for position in range(len(forms[0])):
            stage(f"scores of {len(views)} views side by side")
            blocks = [
                _placed(view[position].training, at, len(observed)) for view, at in zip(scores, rows, strict=True)
            ]
            joint.append(joint_scores(blocks, observed, weights, max(min_joint, k), random_state))
    return Spaces(n_clusters, observed, weights, forms, scores, joint)


def _view_weights(scores: Sequence[Scores], observed: np.ndarray, width: int, *, n_neighbors: int = 10) -> np.ndarray:
    """Return the weights of views by the agreement of the graphs of their first form."""
    points = [view.whitened(view.training, width, 0.0) for view in scores]
    return sum_of_graphs([shared_neighbour_graph(at, n_neighbors) for at in points], observed)[1]


def _placed(F: np.ndarray, at: np.ndarray, n_samples: int) -> np.ndarray:
    """Return rows of some samples as those of all, zero elsewhere."""
    out = np.zeros((n_samples, F.shape[1]))
    out[at] = F
    return out

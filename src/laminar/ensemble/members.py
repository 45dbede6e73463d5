"""Members of the ensemble: graphs of the training samples, and their spectral clusters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._base.spectral import spectral_labels
from .graphs import shared_neighbour_graph, sum_of_graphs
from .grid import Member
from .spaces import Spaces


def member_graph(member: Member, spaces: Spaces) -> tuple[sp.csr_array, np.ndarray]:
    """Build the graph of a member over the training samples.

    Parameters
    ----------
    member : Member
        Which.
    spaces : Spaces
        Scores of the views.

    Returns
    -------
    S : sparse array of shape (n_samples, n_samples)
        Edge weights.
    weights : ndarray of shape (n_views,)
        Weights of the views.
    """
    graphs = [shared_neighbour_graph(points, member.n_neighbors) for points in spaces.training_points(member)]
    return (graphs[0], spaces.weights) if member.source == "joint" else sum_of_graphs(graphs, spaces.observed)


def member_labels(S: sp.csr_array, n_clusters: int, seed: int, *, n_init: int = 3) -> np.ndarray:
    """Return the spectral clusters of a graph; few starts of k-means, since members are many."""
    return spectral_labels(S, n_clusters, seed, n_init=n_init)

"""Label spreading over a graph of nearest neighbours."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval

from .._engine.linalg.small import safe_divide
from .._utils.labels import Attribute
from ..attributes.neighbour_graph import NeighbourGraph
from ..graphs.smoothing import smooth
from .labelled import LabelledBaseline


class LabelSpreading(LabelledBaseline):
    """Label spreading (learning with local and global consistency [1]_).

    With T the known classes as 0 and 1 (zero rows for unknown ones) and ``N = D^-1/2 W D^-1/2``, W the graph of nearest
    neighbours, the classes of the training samples are the largest entries in the rows of ``(I - alpha N)^-1 T``. A new
    sample has the mean of its nearest training samples, weighted by N. The graph is built on principal scores of X. The
    defaults are those that are best on the data sets of docs/attributes.md; [1]_ has alpha = 0.99 and no whitening.

    Parameters
    ----------
    n_scores : int, default=200
        Number of principal scores of the centred data, at most their rank.
    n_neighbors : int, default=5
        Neighbours of each sample; at most the number of others.
    alpha : float in (0, 1), default=0.5
        How far labels spread.
    whitening : float in [0, 1], default=0.5
        Neighbours are near in the directions of their scores divided by this power of the singular values; with 0 in
        the scores themselves.
    random_state : int, RandomState instance or None, default=None
        Seed of the decomposition of data with more than 1500 samples and features.

    Attributes
    ----------
    attributes_ : list
        Names of the attributes, the columns of y; positions where they have no names.
    classes_ : dict
        Classes of every attribute, by its name.
    labels_ : dict
        Class of every training sample, by the name of the attribute: the known class, or the predicted one.
    layers_ : list of Layer
        A layer for each attribute, whose ``representation`` has memberships of the training samples in its classes,
        which sum to one.
    components_ : ndarray of shape (n_classes, n_features)
        Least-squares components of the first layer.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    laminar.AttributeLayers : Has bands with the same kernel beside others.

    References
    ----------
    .. [1] D. Zhou, O. Bousquet, T. Lal, J. Weston and B. Schoelkopf, Learning with local and global consistency,
       Advances in Neural Information Processing Systems 16, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.baselines import LabelSpreading
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> LabelSpreading(n_neighbors=2, whitening=0).fit(X, ["a", None, None, None, None, "b"]).labels_[0].tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """

    _parameter_constraints: dict = {
        **LabelledBaseline._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "whitening": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, n_scores=200, *, n_neighbors=5, alpha=0.5, whitening=0.5, random_state=None):
        self.n_scores = n_scores
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.whitening = whitening
        self.random_state = random_state

    def _fit_scores(self, F: np.ndarray) -> None:
        self._graph = NeighbourGraph(
            F, self._principal.singular_values, (None, float(self.whitening), self.n_neighbors)
        )
        self._spread: list[np.ndarray] = []

    def _fit_attribute(self, F: np.ndarray, attribute: Attribute) -> tuple[np.ndarray, np.ndarray]:
        T = attribute.one_hot().toarray() if len(attribute.classes) else np.zeros((len(F), 1))
        # ((1 + s) I - s N) / (1 + s) = I - alpha N, and entries below zero are rounding.
        S = np.maximum(smooth(self._graph.graph, T, self.alpha / (1 - self.alpha)), 0).astype(F.dtype)
        self._spread.append(S)
        P = _memberships(S)
        return P, P

    def _code(self, X, i: int) -> np.ndarray:
        return _memberships(self._graph.edges_to(self._principal.of(X)) @ self._spread[i])

    def _probabilities(self, X, i: int) -> np.ndarray:
        return self._code(X, i)

    def _kept_samples(self) -> list[str]:
        return [*super()._kept_samples(), "principal scores of the nodes of its graph (_graph)"]


def _memberships(S: np.ndarray) -> np.ndarray:
    """Scale rows to sum one; samples that no label reaches belong to all classes alike."""
    total = S.sum(axis=1, keepdims=True)
    return safe_divide(S, total, fill=1 / S.shape[1])

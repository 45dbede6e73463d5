"""Weights of the views: by their agreement, or by their residuals."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import norm

from .._engine.data.matrix import Matrix
from ..graphs import Graph
from .graphs import edges


def given_weights(weights, n_views: int) -> np.ndarray | None:
    """Return fixed weights with sum one: as given, or "equal"; None where they are found from the views.

    Parameters
    ----------
    weights : str or array-like of shape (n_views,)
        Which.
    n_views : int
        Number of views.

    Returns
    -------
    weights : ndarray of shape (n_views,) or None

    Examples
    --------
    >>> given_weights([3, 1], 2), given_weights("agreement", 2)
    (array([0.75, 0.25]), None)
    """
    if isinstance(weights, str):
        return np.full(n_views, 1 / n_views) if weights == "equal" else None
    array = np.asarray(weights)
    fits = array.shape == (n_views,) and array.dtype.kind in "fiu"
    if not fits or not np.isfinite(array).all() or array.min() < 0 or array.sum() == 0:
        raise ValueError(f"weights must be {n_views} numbers not below 0, one a view and not all 0; got {weights!r}.")
    return array / array.sum()


def agreement_weights(
    views: Sequence[Matrix],
    observed: np.ndarray,
    graph: Graph,
    random_state: np.random.RandomState,
    *,
    max_samples: int = 2000,
) -> np.ndarray:
    """Return weights by the agreement of each view's graph of neighbours with those of the other views.

    Agreement is the correlation of the edge weights of two graphs, over the samples that have both views; that of a
    view of noise is zero. The weight of a view is the sum of its agreements with the others. All are equal where there
    are fewer than three views, or no agreement.

    Parameters
    ----------
    views : sequence of Matrix
        With the same samples, centred.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.
    graph : Graph
        Built on the samples of each view, at unit length.
    random_state : RandomState
        Generator of the subsample.
    max_samples : int, default=2000
        Samples compared, at random if there are more: the search for neighbours is quadratic in them.

    Returns
    -------
    weights : ndarray of shape (n_views,)
        Not negative, with sum one.

    Examples
    --------
    >>> from laminar._engine.data.wrap import wrap
    >>> from laminar.graphs import Rank
    >>> rng = np.random.RandomState(0)
    >>> one, noise = rng.normal(size=(60, 5)), rng.normal(size=(60, 5))
    >>> agreement_weights([wrap(one), wrap(2 * one), wrap(noise)], np.ones((60, 3), bool), Rank(5), rng).round(1)
    array([0.5, 0.5, 0. ])
    """
    n_samples = len(observed)
    nonzero = [v for v, view in enumerate(views) if view.sqnorm > 0]
    rows = np.arange(n_samples)
    if n_samples > max_samples:
        rows = np.sort(random_state.choice(n_samples, max_samples, replace=False))
    graphs = {v: edges(views[v], rows, observed[rows, v], graph) for v in nonzero} if len(nonzero) > 2 else {}
    weights = correlation_weights(graphs, observed[rows])
    if not weights.any():
        weights[nonzero or slice(None)] = 1.0
    return weights / weights.sum()


def correlation_weights(graphs: Mapping[int, sp.csr_array], observed: np.ndarray) -> np.ndarray:
    """Return the sum of the correlations of the graph of each view with those of the others.

    Parameters
    ----------
    graphs : mapping from int to sparse array of shape (n_samples, n_samples)
        Edge weights, by the position of the view.
    observed : ndarray of bool of shape (n_samples, n_views)
        Which sample has which view.

    Returns
    -------
    weights : ndarray of shape (n_views,)
        Not negative; 0 for views without a graph.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> correlation_weights({0: W, 1: W}, np.ones((2, 3), bool))
    array([0.5, 0.5, 0. ])
    """
    weights = np.zeros(observed.shape[1])
    for u in graphs:
        for v in graphs:
            if u < v:
                both = np.flatnonzero(observed[:, u] & observed[:, v])
                agreed = _correlation(graphs[u][both][:, both], graphs[v][both][:, both])
                weights[[u, v]] += agreed
    return weights


def _correlation(A: sp.csr_array, B: sp.csr_array) -> float:
    """Return the correlation of the edge weights of two graphs, at least zero."""
    size = norm(A) * norm(B) if A.nnz and B.nnz else 0.0
    if size == 0:
        return 0.0
    chance = A.sum() * B.sum() / A.shape[0] ** 2
    return max(0.0, float((A.multiply(B).sum() - chance) / size))


def residual_weights(residuals: np.ndarray, gamma: float) -> np.ndarray:
    """Return ``R_v^(1 / (1 - gamma))``, divided by its sum (Zhao et al., eq. 15).

    For gamma above 1 that is the minimiser of ``sum_v a_v^gamma R_v`` over weights with sum one, and views that are
    fitted better count more. For gamma below 1 it is the *maximiser*: views that are fitted worse count more.

    Parameters
    ----------
    residuals : ndarray of shape (n_views,)
        Not negative. A view without any takes all the weight for gamma above 1.
    gamma : float
        Not 1.

    Returns
    -------
    weights : ndarray of shape (n_views,)

    Examples
    --------
    >>> residual_weights(np.array([1.0, 2.0, 4.0]), gamma=2.0).round(3)
    array([0.571, 0.286, 0.143])
    >>> residual_weights(np.array([1.0, 2.0, 4.0]), gamma=0.5).round(3)
    array([0.048, 0.19 , 0.762])
    """
    R = np.asarray(residuals, dtype=np.float64)
    perfect = R <= 0
    if perfect.all() or (perfect.any() and gamma > 1):
        return perfect / perfect.sum()
    with np.errstate(divide="ignore"):
        logs = np.log(R) / (1 - gamma)  # in logarithms: near 1 the exponent is large
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def check_gamma(gamma: float, rule: str) -> None:
    """Raise an error for an exponent with which eq. 15 is no minimiser; for the published rule it is a warning."""
    if gamma == 1:
        raise ValueError("gamma=1 puts all the weight on one view: use a gamma above 1, or other weights.")
    if gamma < 1 and rule == "fast":
        raise ValueError(
            f"the weights minimise the objective, for which gamma must be above 1; got {gamma}. "
            'rule="published" takes any gamma.'
        )
    if gamma < 1:
        warnings.warn(
            f"gamma={gamma} is below 1, as in the paper: eq. 15 is then a maximiser, views that are fitted worse count "
            "more, and the objective may increase. gamma=2 is a minimiser.",
            UserWarning,
            stacklevel=5,
        )


def warn_one_view(weights: np.ndarray, names: Sequence[Hashable]) -> None:
    """Warn where one of several views has more than 0.9 of the weight."""
    largest = int(weights.argmax())
    if len(weights) > 1 and weights[largest] > 0.9:
        warnings.warn(
            f"view {names[largest]!r} has {weights[largest]:.3f} of the weight: a larger gamma gives weights that "
            "differ less, MultiViewSemiNMF weights views by their agreement.",
            UserWarning,
            stacklevel=5,
        )

"""Laplacian eigenmaps: samples in a few dimensions in which linked samples are close."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._engine.linalg.eigen import Operator, leading_eigenvectors, plus_low_rank
from .._engine.linalg.small import safe_divide
from .._utils.typing import Data, Seed
from .._utils.validation import count_samples
from .specs import Graph, Precomputed


def laplacian_eigenmaps(
    graph: Graph | sp.sparray | sp.spmatrix | np.ndarray, X: Data, n_components: int = 2, *, random_state: Seed = 0
) -> np.ndarray:
    """Embed samples by the smoothest functions on a graph (Laplacian eigenmaps).

    Minimises over F (n_samples, n_components), with the weights W, the degrees D and the Laplacian L = D - W,

        Tr(F^T L F) = 1/2 sum_ij w_ij ||f_i - f_j||^2    subject to  F^T D F = I,  F^T D 1 = 0

    ([1]_, sec. 3). The columns are solutions of ``L f = lambda D f``, the smallest lambda first, without the constant.

    Parameters
    ----------
    graph : Graph, or {sparse matrix, ndarray} of shape (n_samples, n_samples)
        Graph over the samples, such as ``KNN(5)``, or its edge weights.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    n_components : int, default=2
        Dimensions, below the number of samples.
    random_state : int, RandomState instance or None, default=0
        Seed of the starting vectors of Lanczos iterations, above 300 samples.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Coordinates, the largest of each column in magnitude positive. A sample without edges is at the origin.

    See Also
    --------
    laminar.plots.eigenmaps : Figure for several numbers of neighbours.
    sklearn.manifold.SpectralEmbedding : The same up to scale, for a connected graph of neighbours.

    Notes
    -----
    A graph of c connected components has c - 1 columns with lambda = 0, constant on each component: the first
    dimensions then only distinguish the components, a sign of too few neighbours.

    References
    ----------
    .. [1] M. Belkin and P. Niyogi, Laplacian eigenmaps for dimensionality reduction and data representation, Neural
       Computation 15, 2003. doi:10.1162/089976603321780317

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.graphs import Chain, laplacian_eigenmaps
    >>> along = laplacian_eigenmaps(Chain(), np.zeros((5, 1)), 1).ravel()
    >>> bool((np.diff(along) > 0).all() or (np.diff(along) < 0).all())
    True
    """
    n_samples = count_samples(X)
    if not 1 <= n_components < n_samples:
        raise ValueError(
            f"n_components={n_components} must be at least 1 and below the number of samples, {n_samples}."
        )
    if isinstance(graph, str):
        raise ValueError(f"graph must be a graph of laminar.graphs, as KNN(5), or a matrix of weights; got {graph!r}.")
    operator = (graph if isinstance(graph, Graph) else Precomputed(graph)).build(X)
    degree = operator.degree
    if not degree.any():
        raise ValueError("the graph has no edges, so that no sample is close to another: give one with edges.")
    root = safe_divide(1.0, np.sqrt(degree))
    normalized = Operator(n_samples, lambda x: _rows_times(root, operator.dot(_rows_times(root, x))))
    # The constant function has the largest eigenvalue of D^-1/2 W D^-1/2, 1; here it has -1.
    constant = np.sqrt(degree / degree.sum())[:, None]
    U = leading_eigenvectors(plus_low_rank(normalized, constant, -2.0), n_components, check_random_state(random_state))
    return _rows_times(root, U[1])


def _rows_times(factors: np.ndarray, x: np.ndarray) -> np.ndarray:
    return factors * x if x.ndim == 1 else factors[:, None] * x

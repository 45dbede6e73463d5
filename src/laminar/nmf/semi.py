"""Semi-non-negative matrix factorisation."""

from __future__ import annotations

from .._base.factorizer import Factorizer
from .._base.rules import Published, Rule
from .._engine.constraints import Free, NonNegative
from .._engine.updates import hals_or_exact


class SemiNMF(Factorizer):
    """Semi-NMF, ``X ~ H Z`` with H non-negative and X and Z of any sign.

    A soft k-means: Z holds centroids and H how much of each a sample has. For non-negative X the optimum is the
    truncated SVD in a non-negative basis, and the default start is that optimum.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        How H moves: coordinate descent ("auto"), multiplicative updates or accelerated gradient. Z is always the
        least-squares solution.
    init : {"auto", "random", "kmeans", "svd", "lp", ...}, (H, Z), or fitted model, default="auto"
        Where to start. "auto" is "lp", the global optimum whenever a positive vector lies in the leading singular
        space, as for all non-negative data, and "kmeans" for the published rule. Of arrays, Z may be None: the best
        components for H are then taken. Where models are cloned, as in a grid search, wrap a fitted one in
        :class:`sklearn.frozen.FrozenEstimator`.
    max_iter : int, default=500
        Largest number of sweeps. A few on a part of the samples, with which tall data begin, do not count.
    tol : float, default=1e-5
        Stop when a sweep lowers the objective by less than this part of it and the KKT residual is below its root.
        0 runs all of ``max_iter``.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative rule; None means 1, or 1/2 for the published rule.
    rule : {"fast", "published"}, default="fast"
        "published" runs the iterations of Ding, Li and Jordan to the letter.
    n_clusters : int or None, default=None
        For `predict`; None means ``n_components``.
    callback : callable or None, default=None
        Called with (iteration, objective, seconds); stops the fit by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts and of k-means.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The basis, of unit length.
    layers_ : list of Layer
        One layer, with the codes of the training samples in ``representation``.
    reconstruction_err_ : float
        ``||X - H Z||``.
    objective_history_ : ndarray
        ``1/2 ||X - H Z||^2``, sweep by sweep, without those that were taken back.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether the fit stopped by itself.

    See Also
    --------
    NMF : Non-negative data and components.

    References
    ----------
    C. Ding, T. Li and M. Jordan, Convex and semi-nonnegative matrix factorizations, IEEE TPAMI 32, 2010.
    N. Gillis and A. Kumar, Exact and heuristic algorithms for semi-nonnegative matrix factorization, SIMAX 36, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SemiNMF
    >>> X = np.array([[1.0, -1.0, 0.0], [2.0, -2.0, 0.1], [0.0, 1.0, 1.0], [0.1, 3.0, 3.0]])
    >>> model = SemiNMF(n_components=2, random_state=0).fit(X)
    >>> bool((model.transform(X) >= 0).all())
    True
    >>> model.predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    _constraints = {"H": NonNegative(), "Z": Free()}
    _fast = Rule(init="lp", solvers={"auto": hals_or_exact, "hals": hals_or_exact})
    _published = Published(init="kmeans", order=("Z", "H"), eta=0.5)

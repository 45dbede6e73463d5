"""NMF of sequences, with codes that change slowly in time."""

from __future__ import annotations

from numbers import Real

from sklearn.utils._param_validation import Interval

from .._base.factorizer import Factorization, NonNegativeData
from .._base.penalized import Penalized
from .._engine.data.wrap import wrap
from ..graphs import Chain


class SlowFeatureNMF(NonNegativeData, Penalized):
    """Slow feature NMF (SFNMF): NMF of sequences with codes that change slowly in time.

    Minimises over H >= 0 (n_samples, k), the codes, and Z >= 0 (k, n_features), the components (scikit-learn calls them
    W and H)::

        1/2 ||X - H Z||^2 + alpha sum_a ||z_a||^2 sum_t (h_{t+1,a} - h_{t,a})^2                                     (1)

    with z_a row a of Z. Rows of X are in order of time; t runs over consecutive samples of a sequence. With
    ``scale="none"`` the factors ``||z_a||^2`` are left out: (1) is then eq. 9 of [1]_, and has no minimiser
    (docs/methods.md 1.5). Unlike in GNMF the penalty has no 1/2, as in the paper.

    Parameters
    ----------
    n_components : int, default=10
        Number of components k.
    alpha : float, default=0.1
        Weight of slowness; with 0 the model is NMF.
    scale : {"invariant", "none"}, default="invariant"
        Whether the penalty has the factors ``||z_a||^2``. "none" leaves them out, as published: smaller codes with
        larger components then decrease the penalty at no cost, the objective has no minimiser, and the result depends
        on the number of iterations.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of the non-negative factors: HALS, that is coordinate descent over columns; multiplicative updates; or
        the accelerated projected gradient of NeNMF. "auto" is "hals", but "mu" for ``rule="published"``, which excludes
        "hals" and "apg".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z) or estimator, default="auto"
        Initial factors: the name of an initialiser; arrays of shapes (n_samples, n_components) and (n_components,
        n_features), where Z may be None and is then fitted to H; or a fitted estimator with ``components_``, whose
        codes of X are the initial H. "auto" is "nndsvda". A fitted estimator loses what it learned when it is cloned,
        as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it prevents that.
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once.
    tol : float, default=1e-5
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1. Other than None it needs ``solver="mu"`` or
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the multiplicative updates of [1]_, without extrapolation, on the penalty with
        ``scale="none"``.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means ``n_components``.
    callback : callable or None, default=None
        Called after every iteration as ``callback(iteration, objective, seconds)``; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    verbose : int, default=0
        1 shows a progress line.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Z, with rows of unit Euclidean norm.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_components), the codes of the fit, which depend on the penalty; `transform` gives codes that do
        not.
    clusters_ : Clusters
        k-means of the codes, whitened and with rows of unit norm, fitted when `predict`, `fit_predict` or `cluster`
        first needs it.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1) after each accepted iteration. With ``scale="none"`` or ``rule="published"`` it belongs to the
        factors before the rows of Z are normalised.
    n_iter_ : int
        Number of iterations made.
    converged_ : bool
        Whether the fit met ``tol`` within ``max_iter`` iterations.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    SlowFeatureAnalysis : Slow features of any sign.
    GNMF : Any other graph.
    laminar.temporal.slowness : How slow features are.
    laminar.temporal.detect_phases : Phases of a slow feature.

    Notes
    -----
    **Algorithm.** The sum over t is h_a^T L h_a, with L = diag(d) - W the Laplacian of the chain of each sequence. With
    B = X Z^T, G = Z Z^T, ``s_a = ||z_a||^2``, q_a = h_a^T L h_a and c with L <= diag(c), one iteration is HALS on a
    majoriser of (1)::

        h_a <- max(0, h_a - (H g_a - b_a + 2 alpha s_a L h_a) / (G_aa + 2 alpha s_a c)),   a = 1..k                 (2)
        z_a <- max(0, z_a - (G'_a Z - h_a^T X) / G'_aa),   G' = H^T H + 2 alpha diag(q)                             (3)

    Neither increases (1). Both steps are followed by an extrapolation ``F + beta (F - F_old)`` with an adaptive beta,
    after [2]_; an iteration that increases the objective is rejected and beta is decreased. ``solver="mu"`` and
    ``solver="apg"`` replace HALS by the multiplicative update, or by an accelerated projected gradient, for the same
    objective. ``rule="published"``: eq. 13 and 3 of [1]_::

        H <- H * (X Z^T + 2 alpha W H) / (H Z Z^T + 2 alpha d * H),   Z <- Z * (H^T X) / (H^T H Z)                  (4)

    It is GNMF with ``graph="chain"`` and twice the alpha.

    References
    ----------
    .. [1] L. Zafeiriou, S. Nikitidis, S. Zafeiriou and M. Pantic, Slow features nonnegative matrix factorization for
       temporal data decomposition, IEEE International Conference on Image Processing (ICIP), 2014.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SlowFeatureNMF
    >>> X = np.random.default_rng(0).gamma(1.0, size=(30, 6))
    >>> sequence = [0] * 15 + [1] * 15
    >>> H = SlowFeatureNMF(2, alpha=1e4).fit(X, groups=sequence).layers_[0].representation
    >>> bool(np.ptp(H[:15], axis=0).max() < 0.05 * H.max())
    True
    """

    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        alpha=0.1,
        scale="invariant",
        solver="auto",
        init="auto",
        max_iter=500,
        tol=1e-5,
        eta=None,
        rule="fast",
        n_clusters=None,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.scale = scale
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.rule = rule
        self.n_clusters = n_clusters
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def _problem(self, X, y, groups) -> Factorization:
        data = wrap(X)
        if self.alpha == 0:
            return self._factorization(data, [])
        chain = Chain().build(X, groups=groups)
        if not chain.degree.any():
            raise ValueError(
                "SlowFeatureNMF compares samples that follow each other, but the longest sequence has 1 sample. Give "
                "samples of one sequence the same entry in groups, or use NMF."
            )
        # The paper halves the fit but not the penalty.
        return self._factorization(data, self._smooth(chain, 2 * self.alpha, data))

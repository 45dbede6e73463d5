"""Semi-non-negative matrix factorisation."""

from __future__ import annotations

import numpy as np

from .._base.ridged import Ridged
from .._base.rules import Published, Rule
from .._engine.constraints import Free, NonNegative
from .._engine.updates import hals_or_exact


class SemiNMF(Ridged):
    """Semi-non-negative matrix factorisation (Semi-NMF), X ~ H Z with H non-negative, X and Z of any sign.

    Minimises over H >= 0 (n_samples, k), the codes, and Z (k, n_features) of any sign, the components (scikit-learn
    calls them W and H)::

        1/2 ||X - H Z||^2 + rho/2 sum_a ||h_a||^2 ||z_a||^2                                                         (1)

    with h_a column a of H and z_a row a of Z. It is k-means with memberships that need not be 0 or 1: Z holds the
    centroids. On non-negative X the ridge rho is 0 and the model that of [1]_. On centred or standardised X that model
    has no minimiser: its infimum is approached by codes that grow beyond all bounds. With the ridge there is a
    minimiser, the codes of a sample x satisfy ``||h|| <= ||x|| / (2 sqrt(rho))`` and no scale of X, H or Z changes it
    (docs/methods.md 4.5).

    On centred X, X ~ H Z reconstructs about as much as PCA with k - 1 components, since k non-negative codes span a
    cone and not a space. With ``fit_offset=True`` an offset b of shape (n_features,) is fitted too, and it reconstructs
    what PCA does with k components::

        1/2 ||X - 1 b^T - H Z||^2 + rho/2 sum_a ||h_a||^2 ||z_a||^2                                                 (2)

    Parameters
    ----------
    n_components : int, default=10
        Number of components k.
    ridge : "auto" or float, default="auto"
        Weight rho of the ridge. "auto" is 0 on non-negative X, where the truncated singular value decomposition of rank
        k has non-negative codes of bounded size (``sum_a ||h_a||^2 ||z_a||^2 <= 100 ||X||^2``), and for
        ``rule="published"``; elsewhere .01 of the part of ``||X||^2`` that the one of rank k - 1 leaves, at least 1e-6
        (30 k eps in single precision).
    fit_offset : bool, default=False
        Whether to fit an offset, (2). The part that "auto" refers to is then that of centred X and rank k.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of H: HALS, that is coordinate descent over columns; multiplicative updates; or the accelerated projected
        gradient of NeNMF. "auto" is "hals", but "mu" for ``rule="published"``, which excludes "hals" and "apg". Z is
        the least-squares solution in every case.
    init : str, (H, Z) or estimator, default="auto"
        Initial factors: "random", "kmeans", "svd", "lp", "nndsvd", "nndsvda" or "nndsvdar"; arrays of shapes
        (n_samples, n_components) and (n_components, n_features), where Z may be None and is then fitted to H; or a
        fitted estimator with ``components_``, whose codes of X are the initial H. "auto" is "lp", Algorithm 3 of [3]_,
        where a positive vector lies in the span of the k leading left singular vectors, and "kmeans" elsewhere and for
        ``rule="published"``; with an offset, the k leading principal scores less their minima. A fitted estimator loses
        what it learned when it is cloned, as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it
        prevents that.
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1, or 1/2 for ``rule="published"``. Other than None it needs
        ``solver="mu"`` or ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the updates of [1]_, without extrapolation.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means ``n_components``.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform` and
        `cluster`. "auto" returns raw codes and clusters those of 0.75.
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    warm_start : bool, default=False
        Whether a further `fit` starts from the factors of the last one, as after an interruption, not from ``init``.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Z, with rows of unit Euclidean norm.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H, the codes of the
        training samples.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    ridge_ : float
        rho.
    offset_ : ndarray of shape (n_features,) or float
        b; 0.0 with ``fit_offset=False``.
    reconstruction_err_ : float
        ``||X - H Z||``, or ``||X - 1 b^T - H Z||``, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1) or (2) after each accepted iteration.
    history_iterations_ : ndarray of shape (n_accepted,)
        The iteration of each entry of ``objective_history_``.
    n_iter_ : int
        Number of iterations made.
    converged_ : bool
        Whether the fit met ``tol`` within ``max_iter`` iterations.
    kkt_residual_ : float or None
        KKT residual at the beginning of the last sweep: 0 at a stationary point, without scale; None if not computed.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    NMF : Non-negative data and components.
    WSF : Semi-NMF with labels.
    DeepSemiNMF : Several layers.

    Notes
    -----
    **Algorithm.** With B = X Z^T, G = Z Z^T and M = H^T H, the diagonals of G and M times 1 + rho, and b_a, g_a, h_a
    column a of B, G and H, one iteration is::

        h_a <- max(0, h_a - (H g_a - b_a) / G_aa),   a = 1..k                                                       (3)
        Z   <- M^-1 H^T X                                                                                           (4)

    with (3) made several times; where G is singular it is replaced by the exact minimiser over H >= 0. Both steps are
    followed by an extrapolation ``F + beta (F - F_old)`` with an adaptive beta, after [4]_; an iteration that increases
    the objective is rejected and beta is decreased. With an offset X in (3) is X - 1 b^T, and in (4) H has a column of
    ones, whose component is b and has no ridge. ``solver="mu"`` replaces (3) by (5), ``solver="apg"`` by an accelerated
    projected gradient. ``rule="published"`` is [1]_, in the form of eq. 4 and 5 of [2]_, Z before H::

        Z <- pinv(H) X,     H <- H * ((B^+ + H G^-) / (B^- + H G^+))^eta                                            (5)

    with ``A^+ = max(A, 0)``, ``A^- = max(-A, 0)`` and eta = 1/2. None of them increases the objective.

    The initialiser "lp" is a global minimiser of (1) with rho = 0 whenever a positive vector lies in the span of the k
    leading left singular vectors, as for every non-negative X; the minimum is then that of the truncated SVD [3]_. With
    a ridge the iterations run on the 2k + 10 leading right singular vectors of X where it has more than twice as many
    features, and on tall data first on 100 k of the samples; in the end Z is (4) for X itself.

    With ``rule="fast"`` the codes of the last iteration are replaced by the minimiser over H >= 0 for the final Z, and
    new samples are coded with the same ridge.

    References
    ----------
    .. [1] C. Ding, T. Li and M. Jordan, Convex and semi-nonnegative matrix factorizations, IEEE TPAMI 32, 2010.
       doi:10.1109/TPAMI.2008.277.
    .. [2] G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning
       attribute representations, IEEE TPAMI 39, 2017. doi:10.1109/TPAMI.2016.2554555, arXiv:1509.03248.
    .. [3] N. Gillis and A. Kumar, Exact and heuristic algorithms for semi-nonnegative matrix factorization, SIAM
       Journal on Matrix Analysis and Applications 36, 2015. arXiv:1410.7220.
    .. [4] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

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

    offset_: np.ndarray | float = 0.0  # without one

    _parameter_constraints: dict = {**Ridged._parameter_constraints, "fit_offset": ["boolean"]}
    _constraints = {"H": NonNegative(), "Z": Free()}
    _streams = True
    _on_devices = True
    _fast = Rule(init="lp", solvers={"auto": hals_or_exact, "hals": hals_or_exact})
    _published = Published(init="kmeans", order=("Z", "H"), eta=0.5)

    def __init__(
        self,
        n_components=10,
        *,
        ridge="auto",
        fit_offset=False,
        solver="auto",
        init="auto",
        max_iter=500,
        tol=1e-4,
        eta=None,
        rule="fast",
        n_clusters=None,
        readout="auto",
        layer=-1,
        callback=None,
        random_state=None,
        warm_start=False,
        verbose=0,
    ):
        self.n_components = n_components
        self.ridge = ridge
        self.fit_offset = fit_offset
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.rule = rule
        self.n_clusters = n_clusters
        self.readout = readout
        self.layer = layer
        self.callback = callback
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

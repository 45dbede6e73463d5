"""Non-negative matrix factorisation."""

from __future__ import annotations

from dataclasses import replace

from sklearn.utils._param_validation import StrOptions

from .._base.factorizer import Factorization, Factorizer, NonNegativeData
from .._base.rules import Published, Rule
from .._engine.monitor import Monitor, Solution
from .nenmf import nenmf


class NMF(NonNegativeData, Factorizer):
    """Non-negative matrix factorisation (NMF), X ~ H Z with X, H and Z non-negative.

    Minimises over H >= 0 (n_samples, k), the codes, and Z >= 0 (k, n_features), the components (scikit-learn calls them
    W and H)::

        1/2 ||X - H Z||^2,  or  D(X || Y) = sum_ij x_ij log(x_ij / y_ij) - x_ij + y_ij,  Y = H Z,  if loss is "kl"  (1)

    Parameters
    ----------
    n_components : int, default=10
        Number of components k.
    loss : {"frobenius", "kl"}, default="frobenius"
        Half the squared error, or the generalised Kullback-Leibler divergence (counts, spectra, text).
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of the non-negative factors: HALS, that is coordinate descent over columns; multiplicative updates; or
        the accelerated projected gradient of NeNMF [5]_. "auto" is "hals", but "mu" for ``loss="kl"``, which excludes
        "hals" and "apg", and for ``rule="published"``, which excludes "hals".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z) or estimator, default="auto"
        Initial factors: the name of an initialiser; arrays of shapes (n_samples, n_components) and (n_components,
        n_features), where Z may be None and is then fitted to H; or a fitted estimator with ``components_``, whose
        codes of X are the initial H. "auto" is "nndsvda". A fitted estimator loses what it learned when it is cloned,
        as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it prevents that.
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once. With the squared error, no penalty and
        many more samples than components, a fit begins with a few iterations on a subsample, which do not count.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made. NeNMF as
        published has converged when the projected gradient is at most ``tol`` of the first, after 10 iterations.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1. Other than None it needs ``solver="mu"``, ``loss="kl"`` or
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the multiplicative updates of [2]_, without extrapolation; with ``solver="apg"`` it is NeNMF
        as in [5]_, with its own loop and stopping rule.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means ``n_components``.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform` and
        `cluster`. "auto" returns raw codes and clusters those of 0.75.
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
        With ``loss="kl"`` the objective is the last one that was evaluated.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    warm_start : bool, default=False
        Whether a further `fit` starts from the factors of the last one, as after an interruption, not from ``init``.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Z, with rows of unit Euclidean norm, or unit sum with ``loss="kl"``.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H, the codes of the
        training samples.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual; with ``loss="kl"`` the divergence.
    objective_history_ : ndarray of shape (n_evaluations,)
        The objective (1) after each accepted iteration; with ``loss="kl"``, where evaluating it costs as much as an
        iteration, after the first, every tenth and the last; published
        rules evaluate every iteration. Published rules accept every iteration.
    history_iterations_ : ndarray of shape (n_evaluations,)
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
    SemiNMF : Data and components of any sign.
    GNMF : NMF with codes that are smooth over a graph.
    sklearn.decomposition.NMF : The same model with other penalties and losses.

    Notes
    -----
    **Algorithm.** With B = X Z^T and G = Z Z^T, and b_a, g_a, h_a column a of B, G and H, one iteration is HALS [3]_::

        h_a <- max(0, h_a - (H g_a - b_a) / G_aa),   a = 1..k                                                       (2)

    one or several times, then the same for Z^T with B = X^T H and G = H^T H. Both steps are followed by an
    extrapolation ``F + beta (F - F_old)`` with an adaptive beta, after [4]_; an iteration that increases the objective
    is rejected and beta is decreased. ``solver="apg"`` replaces (2) by the accelerated projected gradient of [5]_.
    ``solver="mu"`` and ``rule="published"``, Theorem 1 of [2]_::

        H <- H * (X Z^T) / (H Z Z^T),     Z <- Z * (H^T X) / (H^T H Z)                                              (3)

    and with ``loss="kl"``, where R = X / (H Z) elementwise is computed anew for each factor, Theorem 2 of [2]_::

        H <- H * (R Z^T) / (1 (Z 1)^T),   Z <- Z * (H^T R) / ((H^T 1) 1^T)                                          (4)

    None of (2), (3), (4) increases (1). With the exponent ``eta`` the fractions of (3) and (4) are raised to it.
    ``rule="published"`` with ``solver="apg"``, Algorithm 1 and 2 of [5]_: from Y = H and t = 1, 10 to 1000 times::

        H <- max(0, Y - (Y G - B) / ||G||_2),   t' = (1 + sqrt(1 + 4 t^2)) / 2,   Y <- H + (t - 1) / t' (H - H_old)  (5)

    until the projected gradient at Y is at most ``max(tol, 1e-3)`` of that of both factors at the start, a tenth of
    that after every time that 10 steps were enough (from the authors' code); then the same for Z^T. (5) has no
    restarts, and a step of it may increase (1).

    With ``rule="fast"`` the codes of the last iteration are replaced by the minimiser of (1) over H >= 0 for the final
    Z, so that ``reconstruction_err_`` may be a little smaller than by the last objective; with ``loss="kl"`` only
    after convergence. [1]_ introduced the model for parts of images.

    References
    ----------
    .. [1] D. Lee and H. Seung, Learning the parts of objects by non-negative matrix factorization, Nature 401, 1999.
       doi:10.1038/44565.
    .. [2] D. Lee and H. Seung, Algorithms for non-negative matrix factorization, Advances in Neural Information
       Processing Systems 13, 2001.
    .. [3] A. Cichocki and A.-H. Phan, Fast local algorithms for large scale nonnegative matrix and tensor
       factorizations, IEICE Transactions on Fundamentals E92-A, 2009. doi:10.1587/transfun.E92.A.708.
    .. [4] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.
    .. [5] N. Guan, D. Tao, Z. Luo and B. Yuan, NeNMF: an optimal gradient method for nonnegative matrix factorization,
       IEEE Transactions on Signal Processing 60, 2012. doi:10.1109/TSP.2012.2190406.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import NMF
    >>> X = np.array([[2.0, 1.0, 0.0], [4.0, 2.0, 0.0], [0.0, 1.0, 3.0], [0.0, 2.0, 6.0]])
    >>> model = NMF(n_components=2, random_state=0).fit(X)
    >>> bool(model.reconstruction_err_ < 1e-3)
    True
    >>> model.predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    _streams = True
    _parameter_constraints: dict = {
        **Factorizer._parameter_constraints,
        "loss": [StrOptions({"frobenius", "kl"})],
    }

    def __init__(
        self,
        n_components=10,
        *,
        loss="frobenius",
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
        self.loss = loss
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

    # ---- NeNMF as published, which has a loop of its own ---------------------------------------------------------

    _nenmf = Published(eta=None)

    @property
    def _is_nenmf(self) -> bool:
        return self.rule == "published" and self.solver == "apg" and self.loss == "frobenius"

    @property
    def _on_devices(self) -> bool:  # type: ignore[override]
        """Whether X may be on a device: the loop of NeNMF is for arrays in memory."""
        return not self._is_nenmf

    @property
    def _rule(self) -> Rule:
        return self._nenmf if self._is_nenmf else super()._rule

    def _check_parameters(self) -> None:
        if not self._is_nenmf:
            super()._check_parameters()
            return
        if self.eta is not None:
            raise ValueError(
                f'eta={self.eta} has no effect with solver="apg": it is the exponent of the multiplicative update. Use '
                'solver="mu", or eta=None.'
            )
        self._check_start(self.init)

    def _solve(self, problem: Factorization, X, monitor: Monitor) -> Solution:
        if self._is_nenmf:
            return nenmf(problem, self._start(problem, X), self.tol, replace(monitor, tol=0.0))
        return super()._solve(problem, X, monitor)

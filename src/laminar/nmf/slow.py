"""NMF of sequences, with codes that change slowly in time."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, minimize
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from .._base.clusters import Form
from .._base.coding import in_units_of
from .._base.factorizer import Factorization, NonNegativeData
from .._base.penalized import Penalized
from .._engine.constraints import NonNegative
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.linalg.small import safe_divide
from .._engine.monitor import Monitor, Solution
from .._engine.problem import Problem, fit
from .._engine.regression import best_codes
from .._engine.solve import solve
from .._engine.terms import GraphPenalty
from .._engine.updates import hals
from .._utils import threads
from .._utils.typing import Data
from ..graphs import Chain
from ..graphs.operators import GraphOperator
from .slow_components import choose_n_components


class SlowFeatureNMF(NonNegativeData, Penalized):
    """Slow feature NMF (SFNMF): NMF of sequences with codes that change slowly in time.

    Minimises over H >= 0 (n_samples, k), the codes, and Z >= 0 (k, n_features), the components (scikit-learn calls them
    W and H)::

        1/2 ||X - H Z||^2 + alpha sum_a ||z_a||^2 sum_t (h_{t+1,a} - h_{t,a})^2                                     (1)

    with z_a row a of Z. Rows of X are in order of time; t runs over consecutive samples of a sequence. With
    ``scale="none"`` the factors ``||z_a||^2`` are left out: (1) is then eq. 9 of [1]_, and has no minimiser
    (docs/methods.md 1.5). Unlike in GNMF the penalty has no 1/2, as in the paper.

    `fit_transform` returns the codes of the fit. `transform` minimises (1) over H with the components fixed: the frames
    it is given are sequences as well, and influence each other.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components k. None means one more than the principal components that `SlowFeatureAnalysis` takes by
        default, of those above the noise.
    alpha : float, default=0.1
        Weight of slowness; with 0 the model is NMF.
    scale : {"auto", "invariant", "none"}, default="auto"
        Whether the penalty has the factors ``||z_a||^2``. "none" leaves them out, as published: smaller codes with
        larger components then decrease the penalty at no cost, the objective has no minimiser, and the result depends
        on the number of iterations. "auto" is "invariant" for ``rule="fast"`` and "none" for ``rule="published"``.
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
    tol : float, default=1e-4
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
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_components), the codes of the fit, which `fit_transform` returns.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1) after each accepted iteration. With ``scale="none"`` or ``rule="published"`` it belongs to the
        factors before the rows of Z are normalised.
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

    In `transform` Z is fixed and (1) is convex in H: it is minimised by L-BFGS-B from the codes of every frame by
    itself, until the projected gradient is 1e-8 of the largest entry of B. With ``scale="none"`` or
    ``rule="published"`` the penalty belongs to the components before their rows were normalised: that of column a is
    divided by their squared length. With ``rule="published"`` the result is the limit of (4) for H.

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
    >>> model = SlowFeatureNMF(2, alpha=1e4)
    >>> H = model.fit_transform(X, groups=sequence)
    >>> bool(np.ptp(H[:15], axis=0).max() < 0.05 * H.max())
    True
    >>> new = model.transform(X[::-1], groups=sequence)
    >>> bool(np.ptp(new[:15], axis=0).max() < 0.05 * new.max())
    True
    """

    _streams = True
    _couples_samples = True
    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=None,
        *,
        alpha=0.1,
        scale="auto",
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
        self.alpha = alpha
        self.scale = scale
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

    def _problem(self, X, y, groups) -> Factorization:
        data = wrap(X)
        if self.alpha == 0 and self.n_components is not None:
            return self._factorization(data, [])
        chain = Chain().build(X, groups=groups)
        if not chain.degree.any():
            raise ValueError(
                "SlowFeatureNMF compares samples that follow each other, but the longest sequence has 1 sample. Give "
                "samples of one sequence the same entry in groups, or use NMF."
            )
        k = self.n_components
        if k is None:
            k = choose_n_components(data, chain.tocsr(), check_random_state(self.random_state))
        # The paper halves the fit but not the penalty.
        return self._factorization(data, self._smooth(chain, 2 * self.alpha, data), n_components=k)

    def _attributes(self, solution: Solution, problem: Factorization, X) -> None:
        super()._attributes(solution, problem, X)
        self._weights = np.full(problem.n_components, 2.0 * self.alpha)
        if not self._invariant:
            # The codes are multiplied by the lengths of the components, the penalty is that of the codes before.
            lengths = self._norms(solution.factors["Z"]).astype(np.float64) * problem.samples.scale
            self._weights = safe_divide(self._weights, lengths**2)

    # ---- codes of sequences --------------------------------------------------------------------------------------

    def transform(  # sequences
        self,
        X: Data,
        groups: ArrayLike | None = None,
        *,
        layer: int | str | None = None,
        method: str = "nonnegative",
        readout: Form | None = None,
    ) -> np.ndarray:
        """Compute the codes of sequences for the fitted components.

        They minimise the objective of the class over H >= 0 with the components fixed: frames that follow each other
        get similar codes, as in `fit`. The codes of the training frames are those of the fit, up to its convergence.
        `predict`, `cluster` and `score` use these codes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Frames in order of time, in the fit or new.
        groups : array-like of shape (n_samples,), default=None
            Sequence of each frame. None means one sequence, as in `fit`. Frames that each have a sequence of their own
            are coded independently of each other, as with ``alpha=0``.
        layer : int, "all" or None, default=None
            Position in ``layers_``, which has one layer. None means the parameter ``layer``.
        method : {"nonnegative", "pinv"}, default="nonnegative"
            "pinv" is unconstrained least squares for every frame by itself, without the penalty: faster, with codes of
            any sign.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the codes: H itself, which is also "auto"; whitened by the codes of the training samples, with rows
            of unit norm; or times the square root of the Gram matrix of the components, so that distances are those of
            the reconstructions, for classifiers. A number t is between isometric, 0, and whitened, 1, up to rotations:
            with ``H Z = U diag(s) V^T`` of the training samples the rows f of ``U diag(s)^(1 - t)`` over ``||f||^t``.
            None means the parameter ``readout``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened.
        """
        places, form = self._places(layer), self._form(readout, self._code_form)
        return self._output(self._parts(X, places, form, method=method, groups=groups), X, places)

    def score(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> float:
        """Return the explained part of X, 1 for a perfect fit.

        ``1 - ||X - H Z||^2 / ||X||^2`` with the codes H of `transform`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Frames in order of time, in the fit or new.
        y : Ignored
            Not used, present for API consistency.
        groups : array-like of shape (n_samples,), default=None
            Sequence of each frame, as for `transform`.

        Returns
        -------
        score : float
            Higher is better.
        """
        return self._score(X, groups=groups)

    def _code(self, X, layer: int, method: str, groups: ArrayLike | None = None) -> np.ndarray:
        if method == "pinv":
            if groups is not None:
                raise ValueError(
                    'groups= has no effect with method="pinv", which codes every frame by itself: use '
                    'method="nonnegative", or groups=None.'
                )
            return super()._code(X, layer, method)
        with threads.own_threads():
            data = wrap(X)
            return in_units_of(data, self._score_codes(data, groups))

    def _score_codes(self, data: Matrix, groups: ArrayLike | None = None) -> np.ndarray:
        Z = np.ascontiguousarray(self.components_.T, dtype=data.dtype)
        chain, H = Chain().build(data, groups=groups), best_codes(data, Z, NonNegative())
        if not self._weights.any() or not chain.degree.any():
            return H
        if data.workers is not None:
            return _slow_codes_by_sweeps(data, Z, chain.on(data.workers), self._weights, H)
        return _slow_codes(data.product(Z), Z, chain, self._weights, H)


def _slow_codes_by_sweeps(
    data: Matrix, Z: np.ndarray, chain: GraphOperator, weights: np.ndarray, H: np.ndarray
) -> np.ndarray:
    """Minimise the same as `_slow_codes` by HALS on majorisers, for codes on workers."""
    problem = Problem({"H": NonNegative()}, [fit(data), lambda *_: GraphPenalty(chain, 1.0, weights)])
    monitor, factors = Monitor(5000, 1e-12), {"H": H, "Z": Z}
    return solve(problem, factors, {"H": hals}, monitor=monitor, extrapolate=True, evaluate_every=10).factors["H"]


def _slow_codes(B: np.ndarray, Z: np.ndarray, chain: GraphOperator, weights: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Minimise ``1/2 <H G, H> - <B, H> + 1/2 sum_a w_a h_a^T L h_a`` over H >= 0 by L-BFGS-B, G = Z^T Z, from H.

    Z has shape (p, k) here. The iteration is in double precision, in units in which an entry of H has curvature 1.
    """
    B, Z = B.astype(np.float64), Z.astype(np.float64)
    G = Z.T @ Z
    unit = 1 / np.sqrt(np.diag(G) + 2 * weights + np.finfo(np.float64).tiny)

    def objective(h: np.ndarray) -> tuple[float, np.ndarray]:
        F = h.reshape(B.shape) * unit
        fitted, smooth = F @ G, chain.laplacian(F) * weights
        value = np.vdot(F, (fitted + smooth) / 2 - B)
        return float(value), ((fitted + smooth - B) * unit).ravel()

    largest = float((B * unit).max(initial=0))
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 0, "gtol": 1e-8 * largest}
    start = (H / unit).ravel()
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=Bounds(0, np.inf), options=options).x
    return (found.reshape(B.shape) * unit).astype(H.dtype)

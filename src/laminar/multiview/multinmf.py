"""Non-negative factorisations of several views with codes near a consensus."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.coding import Layer
from .._base.output import OUTPUT
from .._base.views import ViewCoder
from .._engine.data.matrix import smallest
from .._engine.data.wrap import wrap
from .._engine.loops import recorded
from .._engine.monitor import Monitor, Snapshot, Solution
from .._engine.starts import STARTS
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.typing import ViewData
from .._utils.views import Views
from .joint_codes import joint_codes
from .multinmf_problem import RULES, ViewFactors, chained_start, consensus, objective


class MultiNMF(CallbackSupportMixin, ViewCoder):
    """MultiNMF: joint NMF of several views, with codes regularised towards a consensus.

    Minimises over H_v >= 0 (n_samples, k), the codes of view v, Z_v >= 0 (k, n_features_v), its components
    (scikit-learn's NMF calls them W and H), and C (n_samples, k), the consensus::

        1/2 sum_v ||X_v - H_v Z_v||^2 + alpha_v ||H_v Q_v - C||^2,   Q_v = diag(Z_v 1)                              (1)

    where every view X_v is divided by its sum. It is half the objective of [1]_. The codes of a view are compared with
    the consensus as if its components had sum one, so that (1) does not depend on their scales.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components k of every view; None means ``n_clusters``, or 10 if that is None as well.
    n_clusters : int or None, default=None
        Number of clusters of ``labels_``, `predict` and `fit_predict`; None means the number of components.
    alpha : float or array-like of shape (n_views,), default=0.01
        The weights alpha_v, one for all views or one for each. With 0 for all, the views are factorised one by one and
        the consensus is the mean of their codes.
    init : {"chained", "random"} or sequence of (H, Z), default="chained"
        Initial factors: NMF of one view after the other, three times round, each with the codes of the view before it
        as initial codes, as published; random; or a pair of arrays of shapes (n_samples, n_components) and
        (n_components, n_features_v) for each view.
    max_iter : int, default=30
        Maximum number of iterations. One iteration updates the factors of every view, then the consensus.
    max_inner_iter : int, default=200
        Maximum number of updates of the factors of one view in an iteration.
    tol : float, default=1e-4
        The fit has converged when an iteration decreases the objective by at most ``tol`` times its value, or times
        ``tol ||X||^2`` if that is larger. The updates of one view stop when two in a row each decrease its part of the
        objective by at most ``tol`` of it, at a small KKT residual. With 0 all ``max_iter`` and ``max_inner_iter`` are
        made.
    rule : {"fast", "published"}, default="fast"
        Coordinate descent with extrapolation, and in the end the minimiser of (1) over all H_v and C for the final
        components; or the multiplicative updates of [1]_.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the consensus that `transform` and `fit_transform` return and that is clustered, see `transform`. "auto"
        is "raw".
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where X is one array with the views side by side. None means that one array is
        one view.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial factors and of k-means.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_samples, n_components)
        C, the mean of the codes of all views, weighted by ``alpha``.
    representations_ : dict of ndarray of shape (n_samples, n_components)
        H_v by the name or position of the view, for views with sum one.
    components_ : ndarray of shape (n_components, n_features of all views)
        The components of all views side by side, in the units of X: row a of Z_v has sum one and is multiplied by
        ``totals_[v]``.
    totals_ : ndarray of shape (n_views,)
        Sum of each view in `fit`.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is the consensus.
    clusters_ : Clusters
        k-means of the consensus, in the form of ``readout``, fitted when first needed.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample, computed on first use.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective (1) after each iteration; the last entry is that of the final codes.
    history_iterations_ : ndarray of shape (n_iter_,)
        The iteration of each entry of ``objective_history_``.
    n_iter_ : int
        Number of iterations made.
    converged_ : bool
        Whether the fit met ``tol`` within ``max_iter`` iterations.
    view_names_ : list
        Names of the views: the keys of a dict, else positions.
    view_sizes_ : ndarray of shape (n_views,)
        Number of features of each view.
    n_features_in_ : int
        Number of features of all views.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` was one array with column names that are all strings.

    See Also
    --------
    MultiViewSemiNMF : One set of codes for views of any sign, some of them missing.
    MultiViewDeepNMF : One set of codes for views of any sign, with several layers.
    NMF : One view.

    Notes
    -----
    **Algorithm.** For one view, without its index, let e_a be the squared norm of h_a and c_a its inner product with
    column a of C. With G' = H^T H and f_a = z_a + (h_a^T X - G'_a Z + alpha c_a) / G'_aa, each component is the
    minimiser of (1) for the others fixed, and the codes follow by HALS::

        z_a <- max(0, f_a - alpha q),   q = sum_j z_aj, by Newton's method on q                                     (2)
        h_a <- max(0, h_a - (H g_a - b_a) / G_aa),   G = Z Z^T + alpha I,   B = X Z^T + alpha C                     (3)

    (3) with components of sum one. After all views, ``C <- sum_v alpha_v H_v / sum_v alpha_v``. Updates of a view are
    extrapolated after [2]_. ``rule="published"`` (docs/methods.md 8.2)::

        z_aj <- z_aj ((H^T X)_aj + alpha c_a) / ((H^T H Z)_aj + alpha q_a e_a),   q_a = sum_j z_aj                  (4)
        Z <- Q^-1 Z,   H <- H Q,   H <- H * (X Z^T + alpha C) / (H Z Z^T + alpha H)                                 (5)

    None of these increases (1). `transform` minimises (1) over the codes and the consensus of new samples, for the
    final components and for the views they have.

    References
    ----------
    .. [1] J. Liu, C. Wang, J. Gao and J. Han, Multi-view clustering via joint nonnegative matrix factorization, SIAM
       International Conference on Data Mining (SDM), 2013. doi:10.1137/1.9781611972832.28.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> from laminar import MultiNMF
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(90, n_classes=3, random_state=0)
    >>> model = MultiNMF(n_clusters=3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.y, model.labels_), model.consensus_.shape
    (1.0, (90, 3))
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "init": [StrOptions({"chained", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_inner_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions(set(RULES))],
        **OUTPUT,
        "view_sizes": ["array-like", None],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        n_clusters=None,
        alpha=0.01,
        init="chained",
        max_iter=30,
        max_inner_iter=200,
        tol=1e-4,
        rule="fast",
        readout="auto",
        layer=-1,
        view_sizes=None,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.init = init
        self.max_iter = max_iter
        self.max_inner_iter = max_inner_iter
        self.tol = tol
        self.rule = rule
        self.readout = readout
        self.layer = layer
        self.view_sizes = view_sizes
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    _cluster_form = "raw"

    @with_callbacks
    def fit(self, X: ViewData, y: ArrayLike | None = None) -> Self:
        """Fit the components of every view and the consensus.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix} of shape (n_samples, n_features_v), or one such array
            The views, non-negative. One array is one view, or several side by side when ``view_sizes`` gives their
            numbers of features.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_layer(1)
        read = self._read(X, allow_missing=False)
        alpha = self._weights(len(read.names))
        with threads.own_threads(), hooks(self, self.max_iter, X, y) as hook:
            views = self._start(read)

            def report(iteration: int, value: float, snapshot: Snapshot) -> bool:
                at = Solution(dict(snapshot()), [value], iteration, False, [iteration])
                return hook(iteration, value, lambda: copy(self)._keep(at, alpha, read))

            monitor = Monitor(self.max_iter, self.tol, report, n_small=1)
            self._keep(self._run(views, alpha, monitor), alpha, read)
        self._warn_unconverged()
        return self

    def _check_data(self, views: Views) -> None:
        least = [smallest(array) for array in views.arrays]
        worst = int(np.argmin(least))
        if least[worst] < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the smallest entry of view "
                f"{views.names[worst]!r} is {least[worst]:.3g}. Use MultiViewSemiNMF for views of any sign, or shift "
                "this one."
            )

    def _weights(self, n_views: int) -> np.ndarray:
        alpha = np.asarray(self.alpha) if np.ndim(self.alpha) else np.full(n_views, self.alpha)
        if (
            alpha.shape != (n_views,)
            or alpha.dtype.kind not in "fiu"
            or not np.isfinite(alpha).all()
            or alpha.min() < 0
        ):
            raise ValueError(f"alpha must be one number or {n_views}, one a view, and not below 0; got {self.alpha!r}.")
        return alpha.astype(np.float64)

    @property
    def _width(self) -> int:
        return int(self.n_components or self.n_clusters or 10)

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _start(self, read: Views) -> list[ViewFactors]:
        rng, rule, views = check_random_state(self.random_state), RULES[self.rule], []
        if not isinstance(self.init, str):
            return self._given_start(read)
        for array in read.arrays:
            data = wrap(array)
            H, Z = (F.astype(data.dtype) for F in STARTS["random"](data, self._width, rng))
            views.append(ViewFactors(data, H, Z))
            views[-1].normalize()
        if self.init == "chained":
            chained_start(views, rule, max_iter=self.max_inner_iter, tol=self.tol)
        return views

    def _given_start(self, read: Views) -> list[ViewFactors]:
        pairs, k = list(self.init), self._width
        if len(pairs) != len(read.arrays) or not all(hasattr(pair, "__len__") and len(pair) == 2 for pair in pairs):
            raise ValueError(f"init must be a pair (H, Z) for each of the {len(read.arrays)} views.")
        views = []
        for name, array, pair in zip(read.names, read.arrays, pairs, strict=True):
            data, (n, p) = wrap(array), array.shape
            H, Z = (np.array(F, dtype=data.dtype) for F in pair)
            if H.shape != (n, k) or Z.shape != (k, p):
                raise ValueError(
                    f"init: H and Z of view {name!r} must have shapes {(n, k)} and {(k, p)}, got {H.shape}, {Z.shape}."
                )
            if not (np.isfinite(H).all() and np.isfinite(Z).all() and H.min() >= 0 and Z.min() >= 0):
                raise ValueError(f"init: H and Z of view {name!r} must be finite and not negative.")
            views.append(ViewFactors(data, H / data.dtype.type(data.scale), np.ascontiguousarray(Z.T)))
            views[-1].normalize()
        return views

    def _run(self, views: list[ViewFactors], alpha: np.ndarray, monitor: Monitor) -> Solution:
        """Alternate over the views and the consensus."""
        rule = RULES[self.rule]
        # An objective below this part of the data is a perfect fit at the given precision.
        monitor.floor = self.tol * sum(view.data.sqnorm / view.total**2 for view in views)
        with recorded(monitor, _factors(views)) as loop:
            if loop.stored is not None:
                for view, H, Z in zip(views, loop.stored["H"], loop.stored["Z"], strict=True):
                    view.H, view.Z = H, Z
            mean = consensus(views, alpha)
            while monitor.running:
                for view, weight in zip(views, alpha, strict=True):
                    target = mean * mean.dtype.type(view.total)
                    view.fit(rule, target, float(weight), max_iter=self.max_inner_iter, tol=self.tol)
                mean = consensus(views, alpha)
                monitor.step(objective(views, alpha, mean), lambda: {"views": [replace(view) for view in views]})
                loop.keep(lambda: _factors(views))
            loop.complete(_factors(views))
        return Solution.reached(cast(Any, {"views": views}), monitor)

    def _keep(self, solution: Solution, alpha: np.ndarray, read: Views) -> Self:
        """Set the fitted attributes."""
        views: Any = solution.factors["views"]
        self.objective_history_, self.n_iter_ = np.array(solution.history), solution.n_iter
        self.history_iterations_, self.converged_ = np.array(solution.iterations), solution.converged
        self.totals_ = np.array([view.total * view.data.scale for view in views])
        if not np.isfinite(self.totals_.astype(read.arrays[0].dtype)).all():
            raise ValueError(f"The sums of the views, {self.totals_}, are out of range: divide X by a constant.")
        self._alpha, dtype = alpha, views[0].Z.dtype
        self.components_ = np.hstack([v.Z.T * dtype.type(s) for v, s in zip(views, self.totals_, strict=True)])
        if self.rule == "fast":
            starts = [view.H / dtype.type(view.total) for view in views]
            codes, self.consensus_ = self._codes_of(read, starts)
            for view, H in zip(views, codes, strict=True):
                view.H = H * dtype.type(view.total)
            self.objective_history_[-1] = objective(views, alpha, self.consensus_)
        else:
            self.consensus_ = consensus(views, alpha)
        codes = [view.H / dtype.type(view.total) for view in views]
        self.representations_ = dict(zip(read.names, codes, strict=True))
        self.layers_ = [Layer(self.components_, self.components_, self.consensus_)]
        self.clusters_ = self._clusters()
        return self

    # ---- what a fitted model is used for -------------------------------------------------------------------------

    _sample_attributes = ("consensus_", "representations_")

    def _coded(self, views: Views) -> np.ndarray:
        """Return the consensus of samples."""
        return self._codes_of(views)[1]

    def _explained(self, views: Views) -> float:
        """Return the share of samples their codes explain, each view at the scale of the fit."""
        left, whole, bases = 0.0, 0.0, self._bases(views.arrays[0].dtype)
        for array, H, Z, total in zip(views.arrays, self._codes_of(views)[0], bases, self.totals_, strict=True):
            data = wrap(array)
            unit = (data.scale / total) ** 2
            left += unit * data.distance(H * H.dtype.type(total / data.scale), Z)
            whole += unit * data.sqnorm
        return 1 - left / whole if whole else 1.0

    def _bases(self, dtype) -> list[np.ndarray]:
        """Return transposed components of each view, with sum one."""
        parts = np.split(self.components_, np.cumsum(self.view_sizes_)[:-1], axis=1)
        return [
            np.ascontiguousarray((part / part.dtype.type(total)).T, dtype=dtype)
            for part, total in zip(parts, self.totals_, strict=True)
        ]

    def _codes_of(self, views: Views, start: list[np.ndarray] | None = None) -> tuple[list[np.ndarray], np.ndarray]:
        """Return codes of each view and their consensus."""
        dtype, linear = views.arrays[0].dtype, []
        bases = self._bases(dtype)
        for array, Z, total in zip(views.arrays, bases, self.totals_, strict=True):
            data = wrap(array)
            linear.append(data.product(Z) * dtype.type(data.scale / total))
        return joint_codes(linear, bases, views.observed, self._alpha, start)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _factors(views: list[ViewFactors]) -> dict[str, list[np.ndarray]]:
    """Return codes and components of all views."""
    return {"H": [view.H for view in views], "Z": [view.Z for view in views]}

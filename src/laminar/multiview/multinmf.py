"""Non-negative factorisations of several views whose codes are drawn to a consensus."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.clusters import Clusters, reader
from .._base.factorizer import Layer
from .._base.views import ViewCoder
from .._engine.data.matrix import smallest, wrap
from .._engine.solve import Callback
from .._engine.starts import STARTS
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.typing import ViewData
from .._utils.views import Views
from .joint_codes import joint_codes
from .multinmf_problem import RULES, ViewFactors, chain, consensus, objective


class MultiNMF(CallbackSupportMixin, ViewCoder):
    """MultiNMF: every view has codes of its own, ``X_v ~ H_v Z_v``, all of them near one consensus.

    ``min sum_v ||X_v - H_v Z_v||^2 + lam_v ||H_v Q_v - C||^2`` with nothing negative, where Q_v holds the sums of the
    components, so that codes of all views are shares of the same kind, and every X_v has sum one.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components of every view; None means ``n_clusters``, or 10 if that is None as well.
    n_clusters : int or None, default=None
        How many clusters are looked for; None means as many as components.
    lam : float or array-like of shape (n_views,), default=0.01
        How strongly the codes of a view are drawn to the consensus, and what the view counts for in it. With 0
        throughout the views are factorised one by one, and the consensus is their plain mean.
    init : {"chained", "random"} or sequence of (H, Z), default="chained"
        Where to start: plain factorisations, each from the codes of the view before, three times round, as published;
        random; or the factors of each view.
    max_iter : int, default=30
        Largest number of rounds over the views.
    max_inner_iter : int, default=200
        Largest number of turns of a view's factors in a round.
    tol : float, default=1e-4
        Stop when a round lowers the objective by less than this part of it (where it is less than this part of the
        data, of that); so does a view within its round. 0 runs all of ``max_iter`` and ``max_inner_iter``.
    rule : {"fast", "published"}, default="fast"
        Coordinate descent, and in the end the best codes for the components; or the multiplicative iterations of Liu
        et al. to the letter.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where X is one array.
    callback : callable or None, default=None
        Called with (round, objective, seconds); stops the fit by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of k-means.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_samples, n_components)
        The mean of the codes of all views, by their ``lam``.
    representations_ : dict of ndarray of shape (n_samples, n_components)
        Codes of each view, by name or position, at the scale of a view with sum one.
    components_ : ndarray of shape (n_components, n_features of all views)
        Components of all views side by side, in the units of X: those of each view sum to ``totals_``.
    totals_ : ndarray of shape (n_views,)
        Sum of each view in `fit`.
    layers_ : list of Layer
        One layer, the consensus in ``representation``.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample: k-means of the consensus, found when first asked for.
    objective_history_ : ndarray
        Half the objective, round by round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the fit stopped by itself.
    view_names_, view_sizes_ : list, ndarray of shape (n_views,)
        Names and numbers of features of the views.

    See Also
    --------
    MultiViewDeepNMF : One representation for all views, of any sign and with some missing.

    References
    ----------
    J. Liu, C. Wang, J. Gao and J. Han, Multi-view clustering via joint nonnegative matrix factorization, SDM 2013.

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
        "lam": [Interval(Real, 0, None, closed="left"), "array-like"],
        "init": [StrOptions({"chained", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_inner_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions(set(RULES))],
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
        lam=0.01,
        init="chained",
        max_iter=30,
        max_inner_iter=200,
        tol=1e-4,
        rule="fast",
        view_sizes=None,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.n_clusters = n_clusters
        self.lam = lam
        self.init = init
        self.max_iter = max_iter
        self.max_inner_iter = max_inner_iter
        self.tol = tol
        self.rule = rule
        self.view_sizes = view_sizes
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: ViewData, y: ArrayLike | None = None) -> Self:
        """Learn the components of every view and the consensus.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix} of shape (n_samples, n_features), or one such array
            The views, not negative. One array is one view, or several side by side when ``view_sizes`` gives their
            widths.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted model.
        """
        self._validate_params()
        read = self._read(X, allow_missing=False)
        lam = self._weights(len(read.names))
        with threads.own_threads(), hooks(self, self.max_iter, X, y) as hook:
            views = self._start(read)
            self._run(views, lam, hook)
            self._keep(views, lam, read)
        self._warn()
        return self

    def _check_data(self, views: Views) -> None:
        least = [smallest(array) for array in views.arrays]
        worst = int(np.argmin(least))
        if least[worst] < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the smallest entry of view "
                f"{views.names[worst]!r} is {least[worst]:.3g}. Use MultiViewDeepNMF for views of any sign, or shift "
                "this one."
            )

    def _weights(self, n_views: int) -> np.ndarray:
        lam = np.asarray(self.lam) if np.ndim(self.lam) else np.full(n_views, self.lam)
        if lam.shape != (n_views,) or lam.dtype.kind not in "fiu" or not np.isfinite(lam).all() or lam.min() < 0:
            raise ValueError(f"lam must be one number or {n_views}, one a view, and not below 0; got {self.lam!r}.")
        return lam.astype(np.float64)

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
            chain(views, rule, max_iter=self.max_inner_iter, tol=self.tol)
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

    def _run(self, views: list[ViewFactors], lam: np.ndarray, callback: Callback) -> None:
        """Rounds over the views, each followed by the consensus."""
        rule, history = RULES[self.rule], []
        close = self.tol * sum(view.data.sqnorm / view.total**2 for view in views)  # perfect, for all we ask
        mean, self.converged_ = consensus(views, lam), False
        for turn in range(self.max_iter):
            for view, weight in zip(views, lam, strict=True):
                target = mean * mean.dtype.type(view.total)
                view.fit(rule, target, float(weight), max_iter=self.max_inner_iter, tol=self.tol)
            mean = consensus(views, lam)
            history.append(objective(views, lam, mean))
            if callback(turn + 1, history[-1]):
                break
            if self.tol > 0 and turn and history[-2] - history[-1] <= self.tol * max(history[-1], close):
                self.converged_ = True
                break
        self.objective_history_, self.n_iter_ = np.array(history), len(history)

    def _keep(self, views: list[ViewFactors], lam: np.ndarray, read: Views) -> None:
        """Set the fitted attributes."""
        self.totals_ = np.array([view.total * view.data.scale for view in views])
        if not np.isfinite(self.totals_.astype(read.arrays[0].dtype)).all():
            raise ValueError(f"The sums of the views, {self.totals_}, are out of range: divide X by a constant.")
        self._lam, dtype = lam, views[0].Z.dtype
        self.components_ = np.hstack([v.Z.T * dtype.type(s) for v, s in zip(views, self.totals_, strict=True)])
        if self.rule == "fast":
            codes, self.consensus_ = self._codes_of(read)
            for view, H in zip(views, codes, strict=True):
                view.H = H * dtype.type(view.total)
            self.objective_history_[-1] = objective(views, lam, self.consensus_)
        else:
            self.consensus_ = consensus(views, lam)
        codes = [view.H / dtype.type(view.total) for view in views]
        self.representations_ = dict(zip(read.names, codes, strict=True))
        self.layers_ = [Layer(self.components_, self.components_, self.consensus_)]
        self.clusters_ = _PlainClusters(self.consensus_, self.random_state)
        self._n_features_out = self._width

    # ---- what a fitted model is used for -------------------------------------------------------------------------

    def _coded(self, views: Views) -> np.ndarray:
        """The consensus of samples."""
        return self._codes_of(views)[1]

    def _explained(self, views: Views) -> float:
        """The share of samples their codes explain, each view at the scale of the fit."""
        left, whole, bases = 0.0, 0.0, self._bases(views.arrays[0].dtype)
        for array, H, Z, total in zip(views.arrays, self._codes_of(views)[0], bases, self.totals_, strict=True):
            data = wrap(array)
            unit = (data.scale / total) ** 2
            left += unit * data.distance(H * H.dtype.type(total / data.scale), Z)
            whole += unit * data.sqnorm
        return 1 - left / whole if whole else 1.0

    def _look(self, H: np.ndarray, readout: str) -> np.ndarray:
        return reader(readout, self.layers_[0])(H)

    def _bases(self, dtype) -> list[np.ndarray]:
        """Transposed components of each view, with sum one."""
        parts = np.split(self.components_, np.cumsum(self.view_sizes_)[:-1], axis=1)
        return [
            np.ascontiguousarray((part / part.dtype.type(total)).T, dtype=dtype)
            for part, total in zip(parts, self.totals_, strict=True)
        ]

    def _codes_of(self, views: Views) -> tuple[list[np.ndarray], np.ndarray]:
        """Codes of each view and their consensus."""
        dtype, linear = views.arrays[0].dtype, []
        bases = self._bases(dtype)
        for array, Z, total in zip(views.arrays, bases, self.totals_, strict=True):
            data = wrap(array)
            linear.append(data.product(Z) * dtype.type(data.scale / total))
        return joint_codes(linear, bases, views.observed, self._lam)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class _PlainClusters(Clusters):
    """k-means of codes as they are."""

    def features(self, H: np.ndarray) -> np.ndarray:
        return H.astype(np.float64, copy=False)  # k-means of float32 refuses float64

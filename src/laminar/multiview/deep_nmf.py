"""One representation of several views of the same samples."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.clusters import embed, readout_basis
from .._base.factorizer import Layer
from .._base.graph_clusters import CLUSTERINGS
from .._base.views import ViewCoder
from .._engine.constraints import Free, NonNegative
from .._engine.data.derived import Normalized, Stacked, isometric
from .._engine.data.matrix import wrap
from .._engine.linalg.small import isometry
from .._engine.solve import Callback
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.typing import ViewData
from .._utils.views import Views
from ..graphs import Graph
from . import published as published_views
from .consensus import Consensus, Task, agree, agree_and_weigh
from .graphs import named_graph, smooth_codes, view_graphs
from .layers import View, in_units, view_layers
from .weights import given_weights


class MultiViewDeepNMF(CallbackSupportMixin, ViewCoder):
    """One non-negative representation of several views, ``X_v ~ H Z_v`` with H shared and every Z_v of any sign.

    ``min_{H >= 0} sum_v w_v ||F_v - H Z_v||^2``, where F_v is view v with its samples at unit length, centred, and of
    the same total variance as every other view. Views count as far as they agree on who is whose neighbour; a sample
    may lack views.

    Parameters
    ----------
    layers : sequence of int, int or None, default=None
        Size of each layer of a view, from the input up; the last is the number of codes all views share. None is one
        layer with ``max(30, 2 n_clusters)`` directions, as far as the samples allow, and so one code more.
    weights : {"agreement", "equal", "auto", "paper"} or array-like of shape (n_views,), default="agreement"
        How much each view counts: as far as its nearest neighbours are those of the other views; equally; by how well
        it is fitted, the minimiser of ``sum_v a_v^gamma R_v``, which favours views that are easy to fit whether or not
        they say anything; the same for any gamma, as published; or as given.
    gamma : float, default=2.0
        Exponent of the weights "auto" (above 1) and "paper" (not 1; below 1 views that are fitted *worse* count more).
    beta : float, default=0.0
        Weight of the graphs of all views, over which codes are then smooth. Neutral or harmful in most cases measured.
    alpha : float, default=1.0
        Weight of the labels given to `fit`: what the scatter of a class costs.
    graph : {"rank", "knn"} or Graph, default="rank"
        Who is whose neighbour: in a view, for agreement and for `beta`; and by the codes, for clusters. "rank" weighs
        neighbours by one over their rank, "knn" takes five alike.
    n_clusters : int or None, default=None
        How many clusters are looked for; None means as many as codes. So many directions of the codes are taken to be
        more than noise.
    clustering : {"spectral", "kmeans", "published"}, default="spectral"
        Clusters of the graph of the codes in their basis-free read-out; k-means of that read-out; or as Zhao et al.
        did, clusters of the graph of five neighbours (heat kernel) of the codes themselves.
    view_sizes : sequence of int or None, default=None
        Number of features of each view, where X is one array.
    normalize : bool, default=True
        Whether samples are brought to unit length, centred, and views to the same total variance. If not, the views are
        factorised as they come.
    max_iter : int, default=150
        Largest number of sweeps.
    tol : float, default=1e-4
        Stop when a sweep lowers the objective by less than this part of it and the KKT residual is below its root.
    rule : {"fast", "published"}, default="fast"
        "published" runs Algorithm 1 of Zhao et al. on samples of unit length: multiplicative, `max_iter` sweeps of
        pre-training and of fine-tuning each, layers (100, 50) if None are given, weights "paper", no labels.
    callback : callable or None, default=None
        Called with (iteration, objective, seconds); stops the fit by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of starts, of the choice of samples where there are many, and of k-means.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    weights_ : ndarray of shape (n_views,)
        How much each view counts; with sum one.
    views_ : dict of View
        By name or position: ``layers`` (from the input up), ``weight``, ``mean`` and ``size``.
    components_ : ndarray of shape (n_codes, n_features of all views)
        What the codes stand for, views side by side, in the units of samples of unit length.
    mean_ : ndarray of shape (n_features of all views,)
        What every sample has besides.
    layers_ : list of Layer
        One layer, the codes of all views in ``representation``.
    embedding_ : ndarray of shape (n_samples, n_directions)
        The codes of the fit in their basis-free read-out: those left singular vectors of what they stand for that are
        more than noise, with unit rows.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, found when first asked for.
    objective_history_ : ndarray
        Half the objective, sweep by sweep.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether the fit stopped by itself.
    view_names_, view_sizes_ : list, ndarray of shape (n_views,)
        Names and numbers of features of the views.

    See Also
    --------
    laminar.baselines : What multi-view papers compare with.

    Notes
    -----
    *Non-negativity costs nothing here.* Around a mean, k directions are spanned by k + 1 corners, and every sample is a
    non-negative combination of them: with all views known and no penalty the optimum is the truncated SVD of the views
    side by side, each times the root of its weight, and the fit starts there. Sweeps are for views that are missing,
    for penalties and for weights that move. Without `normalize` it is Semi-NMF of the views side by side.

    *Depth adds nothing to the fit.* Of linear layers only the product counts: hidden layers are read-outs of each view,
    as close to its own factorisation as the shared codes allow.

    *What it costs.* Time is linear in the samples. Views are compared on 2000 samples, and 10 000 are clustered, at
    random; others join the cluster of the nearest one. With ``beta > 0`` the graphs are of all samples, and the search
    for neighbours is quadratic in them.

    References
    ----------
    H. Zhao, Z. Ding and Y. Fu, Multi-view clustering via deep matrix factorization, AAAI 2017.

    Examples
    --------
    >>> from laminar import MultiViewDeepNMF
    >>> from laminar.datasets import make_views
    >>> from laminar.metrics import clustering_accuracy
    >>> data = make_views(90, n_classes=3, n_noise_features=20, random_state=0)
    >>> model = MultiViewDeepNMF(n_clusters=3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.y, model.labels_), bool(model.weights_[3] < 0.02)
    (1.0, True)
    >>> one, two, *_ = data.views
    >>> model.predict([one, two, None, None]).shape  # new samples need not have every view
    (90,)
    """

    _parameter_constraints: dict = {
        "layers": ["array-like", Integral, None],
        "weights": [StrOptions({"agreement", "equal", "auto", "paper"}), "array-like"],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "graph": [StrOptions({"rank", "knn"}), Graph],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "clustering": [StrOptions(set(CLUSTERINGS))],
        "view_sizes": ["array-like", None],
        "normalize": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions({"fast", "published"})],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        layers=None,
        *,
        weights="agreement",
        gamma=2.0,
        beta=0.0,
        alpha=1.0,
        graph="rank",
        n_clusters=None,
        clustering="spectral",
        view_sizes=None,
        normalize=True,
        max_iter=150,
        tol=1e-4,
        rule="fast",
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.layers = layers
        self.weights = weights
        self.gamma = gamma
        self.beta = beta
        self.alpha = alpha
        self.graph = graph
        self.n_clusters = n_clusters
        self.clustering = clustering
        self.view_sizes = view_sizes
        self.normalize = normalize
        self.max_iter = max_iter
        self.tol = tol
        self.rule = rule
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: ViewData, y: ArrayLike | None = None, observed: ArrayLike | None = None) -> Self:
        """Learn what the views have in common.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix} of shape (n_samples, n_features), or one such array
            The views. One array is one view, or several side by side when ``view_sizes`` gives their widths. A sample
            lacks a view where its row there is None, or NaN throughout.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels, some or all; -1, NaN, None and ``pandas.NA`` are unknown. Samples of one class get similar codes.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to what None and NaN say.

        Returns
        -------
        self : object
            The fitted model.
        """
        self._validate_params()
        self._check_combination()
        views = self._read(X, observed)
        with threads.own_threads(), hooks(self, self.max_iter, X, y) as hook:
            rng = check_random_state(self.random_state)
            whole = self._task(views)
            self._warn_of_silence(whole, views)
            unit = whole.views.scale**2
            fit = self._publish if self.rule == "published" else self._agree
            found, stacks = fit(whole, views, y, rng, lambda i, value, *_: hook(i, value * unit))
            self._keep(whole, found, stacks)
        self._warn()
        return self

    def _check_combination(self) -> None:
        if not self._moving:
            return
        if self.gamma == 1:
            raise ValueError("gamma=1 puts all the weight on one view: use a gamma above 1, or other weights.")
        if self.gamma < 1 and self.rule == "fast" and self.weights == "auto":
            raise ValueError(
                f'weights="auto" minimises over the weights, for which gamma must be above 1; got {self.gamma}. '
                'weights="paper" takes any gamma.'
            )
        if self.gamma < 1:
            warnings.warn(
                f"gamma={self.gamma} is below 1: views that are fitted worse count more, and the objective may rise.",
                UserWarning,
                stacklevel=4,
            )

    @property
    def _moving(self) -> bool:
        """Whether weights follow the residuals."""
        return self.rule == "published" or (isinstance(self.weights, str) and self.weights in ("auto", "paper"))

    # ---- views ---------------------------------------------------------------------------------------------------

    @property
    def _centred(self) -> bool:
        return self.normalize and self.rule == "fast"

    def _task(self, views: Views, fitted: dict[object, View] | None = None) -> Task:
        """The views as they are fitted, or as they were when the model was."""
        parts = []
        for name, array, has in zip(views.names, views.arrays, views.observed.T, strict=True):
            if not self.normalize:
                parts.append(wrap(array))
            elif fitted is not None:
                parts.append(Normalized(array, has, fitted[name].mean.astype(array.dtype), fitted[name].size))
            elif self.rule == "published":  # samples at unit length, and no more
                parts.append(Normalized(array, has, np.zeros(array.shape[1], array.dtype), 1.0))
            else:
                parts.append(Normalized(array, has))
        stacked = Stacked(parts, np.ones(len(parts)))
        # Squares are double, codes have the type of X and are larger than it, though hardly a thousand times.
        if stacked.scale > min(1e150, 1e-3 * float(np.finfo(stacked.dtype).max)):
            raise ValueError(
                f"The largest magnitude in X is {stacked.scale:.3g}: its square or its codes are out of range. Divide "
                "X by a constant, or use normalize=True."
            )
        return Task(stacked, views.observed, Free() if self._centred else NonNegative())

    def _warn_of_silence(self, task: Task, views: Views) -> None:
        silent = [name for name, part in zip(views.names, task.views.parts, strict=True) if part.sqnorm == 0]
        if silent and len(views.names) > 1:
            warnings.warn(f"All samples are alike in views {silent}: they say nothing.", UserWarning, stacklevel=5)

    def _sizes(self, views: Stacked) -> tuple[int, ...]:
        """The sizes of the layers, from the input up."""
        n, p = views.shape
        if self.layers is None and self.rule == "published":
            return tuple(max(1, min(k, n, p)) for k in (100, 50))
        if self.layers is None:
            return (max(1, min(max(30, 2 * (self.n_clusters or 1)), n - 1, p)) + int(self._centred),)
        sizes = np.atleast_1d(self.layers)
        if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
            raise ValueError(f"layers must be one or more whole numbers above 0, as (100, 50); got {self.layers!r}.")
        if self._centred and sizes[-1] < 2:
            raise ValueError(
                "around a mean k codes hold k - 1 directions: the last of layers must be 2 or more, or "
                f"normalize=False; got {self.layers!r}."
            )
        if sizes.min() < sizes[-1]:
            raise ValueError(f"no layer may be smaller than the last, which all views share; got {self.layers!r}.")
        return tuple(int(k) for k in sizes)

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _agree(self, whole: Task, views: Views, y, rng, callback: Callback) -> tuple[Consensus, list[list[Layer]]]:
        sizes = self._sizes(whole.views)
        small = Stacked([isometric(part) for part in whole.views.parts], np.ones(len(views.names)))
        seen = small.parts, views.observed, named_graph(self.graph, self.n_clusters, views.observed)
        weights = given_weights(self.weights, *seen, rng)
        shares = np.full(len(views.names), 1 / len(views.names)) if weights is None else weights
        penalty = smooth_codes(*seen, shares, beta=self.beta, y=y, alpha=self.alpha)
        k, how = sizes[-1] - int(self._centred), {"max_iter": self.max_iter, "tol": self.tol, "callback": callback}
        task = replace(whole, views=small, penalty=penalty)
        if weights is None:
            found = agree_and_weigh(task, k, self.gamma, rng, **how)
        else:
            found = agree(task, k, weights, rng, **how)
        replace(whole, penalty=penalty).settle(found)
        bases = [np.ascontiguousarray(found.Z[s].T) for s in whole.views.slices]
        pairs = zip(whole.views.parts, bases, strict=True)
        return found, [view_layers(part, basis, sizes[:-1], found.H, rng) for part, basis in pairs]

    def _publish(self, whole: Task, views: Views, y, rng, callback: Callback) -> tuple[Consensus, list[list[Layer]]]:
        if not views.observed.all():
            raise ValueError('rule="published" needs every sample in every view: use rule="fast".')
        graphs: list = [None] * len(views.names)
        if self.beta > 0:
            graph = named_graph(self.graph, self.n_clusters, views.observed)
            graphs = view_graphs(whole.views.parts, views.observed, graph)
        return published_views.run(
            whole.views,
            self._sizes(whole.views),
            graphs,
            rng,
            gamma=self.gamma,
            beta=self.beta,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=callback,
        )

    def _keep(self, task: Task, found: Consensus, stacks: list[list[Layer]]) -> None:
        """Set the fitted attributes."""
        self.weights_, self.views_ = found.weights, {}
        for name, power, part, layers in zip(self.view_names_, found.powers, task.views.parts, stacks, strict=True):
            mean, size = (part.mean, part.size) if self.normalize else (np.zeros(part.shape[1], part.dtype), 1.0)
            self.views_[name] = View(float(power), in_units(layers, size), mean, size)
        views = self.views_.values()
        self.components_ = np.hstack([view.layers[-1].components for view in views])
        self.mean_ = np.concatenate([view.mean for view in views])
        self.layers_ = [Layer(self.components_, self.components_, found.H)]
        self.objective_history_ = np.array(found.history) * task.views.scale**2
        self.n_iter_, self.converged_, self._n_features_out = found.n_iter, found.converged, found.H.shape[1]
        weighted = found.Z * task.roots(found.powers, found.Z.dtype)
        self._basis = readout_basis(found.H, weighted, *task.spread(found.powers), self.n_clusters or found.H.shape[1])
        self.clusters_ = CLUSTERINGS[self.clustering](found.H, self.random_state, self._basis, self.graph)
        self.embedding_ = self._look(found.H, "whitened")
        if len(views) > 1 and self._moving and found.weights.max() > 0.9:
            warnings.warn(
                f"view {self.view_names_[int(found.weights.argmax())]!r} has {found.weights.max():.3f} of the weight: "
                "weights by residuals favour views that are easy to fit. weights='agreement' does not.",
                UserWarning,
                stacklevel=5,
            )

    # ---- what a fitted model is used for -------------------------------------------------------------------------

    def _look(self, H: np.ndarray, readout: str) -> np.ndarray:
        if readout == "whitened":
            return embed(H, self._basis).astype(H.dtype)
        if readout == "isometric":
            return (H @ isometry(self._weighted().T)).astype(H.dtype)
        return H

    def _weighted(self) -> np.ndarray:
        """Transposed components, with the weights of their views."""
        return np.vstack([v.layers[-1].components.T * (v.size * v.weight**0.5) for v in self.views_.values()])

    def _coded(self, views: Views) -> np.ndarray:
        """Codes of samples."""
        task, *known = self._known(views)
        return task.code(*known)

    def _explained(self, views: Views) -> float:
        """The share of samples their codes explain."""
        task, *known = self._known(views)
        return task.explained(*known)

    def _known(self, views: Views) -> tuple[Task, np.ndarray, np.ndarray]:
        """Samples as they were in the fit, the weights of the views and their components."""
        task = self._task(views, self.views_)
        weights = np.array([view.weight for view in self.views_.values()])
        return task, weights, self._weighted().astype(task.views.dtype)

    def inverse_transform(self, H: ArrayLike) -> np.ndarray:
        """Map codes back to the views.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_codes)
            Codes.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features of all views)
            Their reconstruction: samples of unit length in every view, side by side.
        """
        return super().inverse_transform(H) + self.mean_

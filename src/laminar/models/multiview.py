"""One representation of several views of the same samples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import threads
from ..agreement import agreement_weights, view_graph
from ..base import Layer
from ..callbacks import CallbackSupportMixin, hooks, with_callbacks
from ..coding import Coder
from ..consensus import Consensus, Task, agree, agree_and_weigh, corners, readout_basis
from ..constraints import Free, NonNegative
from ..data import Matrix, wrap
from ..graph_clusters import GraphClusters
from ..graphs import KNN, Labels, Rank
from ..graphs.operators import SumOperator
from ..labels import read_labels
from ..penalties import Smooth
from ..readout import Clusters, unit_rows
from ..stacked import Normalized, Stacked, isometric
from ..views import Views, _first, _is_table, read_views


@dataclass(frozen=True)
class View:
    weight: float
    layers: list[Layer]
    mean: np.ndarray
    size: float


class MultiViewDeepNMF(CallbackSupportMixin, Coder):
    """doc"""

    _parameter_constraints: dict = {
        "layers": ["array-like", Integral, None],
        "weights": [StrOptions({"agreement", "equal", "auto", "paper"}), "array-like"],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "graph": [StrOptions({"rank", "knn"}), HasMethods("build")],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "clustering": [StrOptions({"spectral", "kmeans", "published"})],
        "view_sizes": ["array-like", None],
        "normalize": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions({"fast", "published"})],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _constraints: dict = {"H": NonNegative(), "Z": Free()}

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
        max_iter=100,
        tol=1e-4,
        rule="fast",
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self._store(locals())

    @with_callbacks
    def fit(self, X, y=None, observed=None):
        self._validate_params()
        views = self._read(X, observed)
        with threads.own_threads(), hooks(self, self.max_iter) as hook:
            rng = check_random_state(self.random_state)
            full = self._task(views)
            task = self._task_small(full, views, y, rng)
            unit = full.views.scale**2
            how = {
                "max_iter": self.max_iter,
                "tol": self.tol,
                "callback": lambda i, value, seconds: hook(i, value * unit, seconds),
            }
            task, weights = task
            k = self._width(task.views) - self.normalize
            if weights is None:
                found = agree_and_weigh(task, k, self.gamma, rng, **how)
            else:
                found = agree(task, k, weights, rng, **how)
            self._keep(task, full, found)
        self._warn()
        return self

    def _task(self, views):
        parts = [self._part(array, has) for array, has in zip(views.arrays, views.observed.T, strict=True)]
        return Task(Stacked(parts, np.ones(len(parts))), views.observed, Free() if self.normalize else NonNegative())

    def _task_small(self, full, views, y, rng):
        small = Stacked([isometric(part) for part in full.views.parts], np.ones(len(full.views.parts)))
        weights = self._given_weights(small.parts, views, rng)
        penalty = self._penalty(small.parts, views, y, weights)
        return Task(small, full.observed, full.codes, penalty), weights

    def _read(self, X, observed) -> Views:
        if not _several(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        views = read_views(X, self.view_sizes, observed=observed, allow_missing=True, accept_sparse=True)
        self.view_names_ = views.names
        self.view_sizes_ = [array.shape[1] for array in views.arrays]
        self.n_features_in_ = sum(self.view_sizes_)
        return _one_type(views)

    def _part(self, array, observed, view: View | None = None) -> Matrix:
        if not self.normalize:
            return wrap(array)
        return Normalized(array, observed, *((view.mean, view.size) if view else ()))

    def _given_weights(self, parts, views, rng):
        n_views = len(parts)
        if not isinstance(self.weights, str):
            return np.asarray(self.weights, float) / np.sum(self.weights)
        if self.weights == "equal":
            return np.full(n_views, 1 / n_views)
        if self.weights == "agreement":
            return agreement_weights(parts, views.observed, self._graph(), rng)
        return None

    def _graph(self):
        return {"rank": Rank(n_clusters=self.n_clusters), "knn": KNN()}.get(self.graph, self.graph)

    def _width(self, views: Stacked) -> int:
        if self.layers is not None:
            return int(np.atleast_1d(self.layers)[-1])
        n, p = views.shape
        return max(1, min(max(30, 2 * (self.n_clusters or 1)), n - 1, p)) + self.normalize

    def _penalty(self, parts, views, y, weights):
        terms = []
        if self.beta:
            w = np.full(len(parts), 1 / len(parts)) if weights is None else weights
            terms += [(self.beta * a, view_graph(p, o, self._graph())) for a, p, o in zip(w, parts, views.observed.T)]
        if y is not None and self.alpha:
            terms += [(self.alpha, Labels(normalize="class").link(None, a)) for a in read_labels(y, len(views.observed))]
        operator = SumOperator(terms) if terms else None
        return Smooth(operator, 1.0) if terms and operator.stiffness.any() else None

    def _keep(self, task, full, found):
        self.weights_ = found.weights
        whole = Task(full.views, full.observed, full.codes, task.penalty)
        Z, _ = whole.components(found.H)
        roots = full.roots(found.weights, Z.dtype)
        norms = np.linalg.norm((Z * roots).astype(np.float64), axis=0)
        Z = np.divide(Z, norms, out=np.zeros_like(Z), where=norms > 0)
        H = full.code(found.weights, Z) if task.penalty is None else found.H * norms.astype(Z.dtype)
        W = readout_basis(H, Z * roots)
        H *= H.dtype.type(full.views.scale)
        if self.normalize:
            H, Z, W = corners(H), np.hstack([Z, -Z.sum(1, keepdims=True)]), np.vstack([W, -W.sum(0)])
        self.embedding_ = unit_rows(H @ W).astype(H.dtype) if W.shape[1] else np.zeros((len(H), 1), H.dtype)
        self.readout_ = W
        sizes = np.repeat([getattr(p, "size", 1.0) for p in full.views.parts], self.view_sizes_)
        self.components_ = np.ascontiguousarray(np.divide(Z.T, sizes, out=np.zeros_like(Z.T), where=sizes > 0))
        self.layers_ = [Layer(self.components_, self.components_, H)]
        self.objective_history_ = np.array(found.history) * full.views.scale**2
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        if self.clustering == "kmeans":
            self.clusters_ = Clusters(H, self.random_state, W)
        else:
            self.clusters_ = GraphClusters(H, self.random_state, W, self.graph)
        self._n_features_out = len(self.components_)

    @property
    def labels_(self):
        return self.clusters_.predict(self.layers_[-1].representation, self.n_clusters or len(self.components_))


def _several(X) -> bool:
    return isinstance(X, Mapping) or (isinstance(X, list | tuple) and (not X or _is_table(_first(X))))


def _one_type(views: Views) -> Views:
    dtype = np.result_type(*(array.dtype for array in views.arrays))
    return views._replace(arrays=[array.astype(dtype, copy=False) for array in views.arrays])

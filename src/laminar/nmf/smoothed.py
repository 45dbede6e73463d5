"""Semi-NMF of samples that are smoothed over a graph of their neighbours."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._base.clusters import READOUTS, Form, Readout, check_form
from .._base.coding import Coder, Layer, in_units_of
from .._base.output import OUTPUT, readouts
from .._engine.data.matrix import Matrix
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._engine.linalg.small import safe_divide
from .._engine.monitor import Monitor, Snapshot, Solution
from .._engine.problem import loss_value
from .._engine.semi_nmf import SEMI
from .._engine.starts import best_components
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.typing import Data
from ..graphs import Graph, Rank, as_graph
from ..graphs.smoothing import smoothed_codes
from .rotation import nonnegative_rotation


class SmoothedSemiNMF(CallbackSupportMixin, Coder):
    """Semi-NMF of whitened samples that are smoothed over a graph of their neighbours, for clusters.

    It is not a method of a paper: on faces its clusters are better than those of the layered models
    (docs/clustering.md). U (n_samples, r) holds the leading left singular vectors of X, its rows scaled to unit norm; N
    = D^-1/2 W D^-1/2 is the normalised graph of these rows. The smoothed samples S minimise, as labels do in [2]_::

        1/2 ||S - U||^2 + alpha/2 Tr(S^T (I - N) S)                                                                 (1)

    and the codes H (n_samples, k) are Y, the k leading columns of the principal scores of S with rows of unit norm,
    rotated to be as non-negative as possible::

        1/2 ||Y R - H||^2   over rotations R (k, k) and H >= 0                                                      (2)

    The components Z (k, n_features), of any sign as in Semi-NMF [1]_, are fitted to the codes by least squares. The
    codes take the place of scikit-learn's W, the components that of its H.

    Parameters
    ----------
    n_components : int, default=10
        Number of components k.
    graph : {"rank", "knn", "chain"}, Graph, sparse matrix or ndarray, default="rank"
        Graph over which the samples are smoothed: "rank" links nearest neighbours with weight one over the rank, "knn"
        the five nearest with weight 1, "chain" consecutive samples; a matrix holds the weights.
    alpha : float, default=5.0
        Weight of the penalty of the graph in (1).
    max_iter : int, default=500
        Maximum number of rotations.
    tol : float, default=1e-5
        The fit has converged when a rotation decreases (2) by at most ``tol`` of ``1/2 ||Y||^2``; (2) itself may go to
        zero.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means the number of components. If given, U has at least
        ``2 n_clusters`` columns, otherwise k.
    readout : {"auto", "raw", "whitened", "isometric", "directions"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform`
        and `cluster`. "directions" divides each column by the norm of its component, so that the rows are those of (2),
        and scales them to unit norm. "auto" returns raw codes and clusters directions, by k-means.
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the decomposition, of the first rotations and of k-means.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The components Z, rows of unit Euclidean norm.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_components), the codes of the training samples.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (2) after each iteration.
    history_iterations_ : ndarray of shape (n_accepted,)
        The iteration of each entry of ``objective_history_``.
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
    DeepSemiNMF : Layers that reconstruct X.
    GNMF : Non-negative data, with the graph in the objective of the factorisation.
    SemiNMF : Without a graph.

    Notes
    -----
    **Algorithm.** (1) is solved by conjugate gradients, ``S = ((1 + alpha) I - alpha N)^-1 U``; (2) by alternating::

        H <- max(0, Y R),     R <- P Q^T from the singular value decomposition P D Q^T of Y^T H                     (3)

    from two random rotations, of which the better is kept. Neither step increases (2). New samples are coded by
    non-negative least squares on the components.

    References
    ----------
    .. [1] C. Ding, T. Li and M. Jordan, Convex and semi-nonnegative matrix factorizations, IEEE TPAMI 32, 2010.
       doi:10.1109/TPAMI.2008.277.
    .. [2] D. Zhou, O. Bousquet, T. Lal, J. Weston and B. Schoelkopf, Learning with local and global consistency,
       Advances in Neural Information Processing Systems 16, 2003. The smoothing (1), there of labels.

    Examples
    --------
    >>> from laminar import SmoothedSemiNMF
    >>> from laminar.datasets import make_faces
    >>> from laminar.metrics import clustering_accuracy
    >>> faces = make_faces(5, 5, 5, size=16, random_state=0)
    >>> labels = SmoothedSemiNMF(15, n_clusters=5, random_state=0).fit_predict(faces.X)
    >>> len(labels), bool(clustering_accuracy(faces.identity, labels) > 0.5)
    (125, True)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions({"rank", "knn", "chain"}), HasMethods("build"), "sparse matrix", np.ndarray],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "readout": readouts("directions"),
        "layer": OUTPUT["layer"],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _constraints = SEMI
    _cluster_form = "directions"

    def __init__(
        self,
        n_components=10,
        *,
        graph="rank",
        alpha=5.0,
        max_iter=500,
        tol=1e-5,
        n_clusters=None,
        readout="auto",
        layer=-1,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.graph = graph
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.n_clusters = n_clusters
        self.readout = readout
        self.layer = layer
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the codes and the components to X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.
        groups : array-like of shape (n_samples,), default=None
            Sequence of each sample, for graphs in time; None means one sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_layer(1)
        X = self._validate(X, reset=True)
        with threads.own_threads(), hooks(self, self.max_iter, X, y) as hook:
            data, rng = wrap(X), check_random_state(self.random_state)
            data.unit(2)  # refuses X out of range before anything else
            Y = self._smoothed(data, groups, rng)

            def report(iteration: int, value: float, snapshot: Snapshot) -> bool:
                at = Solution(dict(snapshot()), [value], iteration, False, [iteration])
                return hook(iteration, value, lambda: copy(self)._keep(data, at))

            monitor = Monitor(self.max_iter, 0.0, report)
            self._keep(data, nonnegative_rotation(Y, rng, tol=self.tol, monitor=monitor))
        self._warn_unconverged()
        return self

    def _smoothed(self, data: Matrix, groups, rng: np.random.RandomState) -> np.ndarray:
        """Return Y, the principal scores of the smoothed samples; those beyond the rank of X are zero."""
        k = self.n_components
        U, s, _ = truncated_svd(data, max(k, 2 * self.n_clusters) if self.n_clusters else k, rng)
        rank = max(1, int((s > max(data.shape) * np.finfo(data.dtype).eps * s[0]).sum()))
        U = U[:, :rank]
        if len(U) == 1:  # one sample has no neighbours
            Y = np.sign(U)
        else:
            rank_graph = isinstance(self.graph, str) and self.graph == "rank"
            graph = Rank(n_clusters=self.n_clusters or k) if rank_graph else cast(Graph, as_graph(self.graph))
            Y = smoothed_codes(U, graph, self.alpha, groups)[:, :k]
        return np.pad(Y, ((0, 0), (0, k - Y.shape[1])))

    def _keep(self, data: Matrix, solution: Solution) -> Self:
        """Set the fitted attributes."""
        H = solution.factors["H"].astype(data.dtype)
        Z = best_components(data, H)
        lengths = np.linalg.norm(Z.astype(np.float64), axis=0)
        Z, H = safe_divide(Z, lengths.astype(Z.dtype)), H * lengths.astype(H.dtype)
        error = loss_value(data, "frobenius", H, Z)
        self.reconstruction_err_ = float(np.sqrt(2 * error)) * data.scale
        self.components_ = np.ascontiguousarray(Z.T)
        self.layers_ = [Layer(self.components_, self.components_, in_units_of(data, H))]
        # Codes over the lengths of the components are the rows of (2).
        size = lengths * data.scale
        self._directions = Readout(np.diag(safe_divide(np.ones_like(size), size)), 1.0)
        self.clusters_ = self._clusters()
        self.objective_history_ = np.array(solution.history)
        self.history_iterations_ = np.array(solution.iterations)
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        return self

    def _reader(self, place, form: Form) -> Readout:
        check_form(form, ("directions", *READOUTS))
        return self._directions if form == "directions" else super()._reader(place, form)

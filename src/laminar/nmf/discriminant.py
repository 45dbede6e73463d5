"""Discriminant NMF: codes that are close inside a class, and far apart between classes."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from .._base.factorizer import Factorization, NonNegativeData
from .._base.penalized import Penalized
from .._base.rules import Published
from .._engine.data.wrap import wrap
from .._engine.problem import smooth_codes
from .._engine.terms.penalties import LaplacianRows
from .._utils.labels import Attribute, read_attribute, warn_uninformative
from ..graphs.operators import ClassOperator, SelfLoops


class DiscriminantNMF(NonNegativeData, Penalized):
    """Discriminant NMF (DNMF): NMF with Fisher's criterion on the codes of labelled samples.

    Minimises over H >= 0 (n_samples, k), the codes, and Z >= 0 (k, n_features), the components (scikit-learn calls them
    W and H)::

        1/2 ||X - H Z||^2 + 1/2 sum_a ||z_a||^2 (within S_w(h_a) - between S_b(h_a))                                (1)

    with h_a column a of H and z_a row a of Z. Over the labelled samples,
    ``S_w(h) = sum_c sum_{i in c} (h_i - mean_c)^2`` is the scatter inside classes and
    ``S_b(h) = sum_c n_c (mean_c - mean)^2`` the scatter between them. (1) is bounded below because of the factors
    ``||z_a||^2`` and of ``between < 1``; as published in [1]_ the objective is not (docs/methods.md 4.11). Without
    a known label the model is NMF.

    Parameters
    ----------
    n_components : int, default=10
        Number of components k.
    within : float, default=1.0
        Weight of the scatter inside classes.
    between : float in [0, 1), default=0.0
        Weight of the scatter between classes. With 0 the model is GNMF on the graph of labels with weights 1 / n_c
        inside class c, and ``alpha=within``.
    scale : {"auto", "invariant", "none"}, default="auto"
        Whether the penalty has the factors ``||z_a||^2``. "none" leaves them out, as published: smaller codes with
        larger components then decrease the penalty at no cost, the objective has no minimiser, and the result depends
        on the number of iterations; it needs ``between=0``. "auto" is "invariant" for ``rule="fast"`` and "none" for
        ``rule="published"``.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of the non-negative factors: HALS, that is coordinate descent over columns; multiplicative updates; or
        the accelerated projected gradient of NeNMF. "auto" is "hals", but "mu" for ``rule="published"``, which excludes
        "hals" and "apg".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z) or estimator, default="auto"
        Initial factors: the name of an initialiser; arrays of shapes (n_samples, n_components) and (n_components,
        n_features), where Z may be None and is then fitted to H; or a fitted estimator with ``components_``, whose
        codes of X are the initial H. "auto" is "nndsvda", or "nndsvd" for ``rule="published"``. A fitted estimator
        loses what it learned when it is cloned, as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it
        prevents that.
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1. Other than None it needs ``solver="mu"`` or
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the updates that the authors of [2]_ compared with under the name DNMF, from their code:
        multiplicative, the components first, without extrapolation, the scatter inside classes alone (they took
        ``within=10``), ``scale="none"``. Samples of unknown class have the penalty ``within/2 ||h_i||^2``. It needs
        ``between=0``.
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
        (n_samples, n_components), the codes of the fit, which depend on the penalty; `transform` gives codes that do
        not.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1) after each accepted iteration. With ``between > 0`` it may be negative. With ``scale="none"``
        or ``rule="published"`` it belongs to the factors before the rows of Z are normalised.
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
    GNMF : Codes that are smooth over any graph.
    ClassDrivenNMF : Components belong to classes.
    ConstrainedNMF : Samples of one class have equal codes.

    Notes
    -----
    **Algorithm.** Let P replace the codes of a labelled sample by the mean of its class, M by the mean of all labelled
    samples, L = within (I - P) - between (P - M) on the labelled samples and 0 elsewhere, L <= diag(c), B = X Z^T, G =
    Z Z^T, ``s_a = ||z_a||^2`` and q_a = h_a^T L h_a. One iteration is HALS on a majoriser of (1)::

        h_a <- max(0, h_a - (H g_a - b_a + s_a L h_a) / (G_aa + s_a c)),   a = 1..k                                 (2)
        z_a <- max(0, z_a - (G'_a Z - h_a^T X) / G'_aa),   G' = H^T H + diag(q)                                     (3)

    Neither increases (1). Both steps are followed by an extrapolation ``F + beta (F - F_old)`` with an adaptive beta,
    after [3]_; an iteration that increases the objective is rejected and beta is decreased. ``solver="mu"`` and
    ``solver="apg"`` replace HALS by the multiplicative update, or by an accelerated projected gradient, for the same
    objective. ``rule="published"``, from the code of the authors of [2]_, in this order, with P H zero for samples of
    unknown class::

        Z <- Z * (H^T X) / (H^T H Z),   H <- H * (X Z^T + within P H) / (H Z Z^T + within H)                        (4)

    which does not increase (1) with ``scale="none"`` and ``within/2 ||h_i||^2`` of every sample i of unknown class. The
    rules of [1]_ itself are not implemented: its objective has no minimum. `transform` does not use labels.
    Components belong to no class, so that `predict` returns clusters; for classes use a classifier of the codes, or
    `ClassDrivenNMF`.

    References
    ----------
    .. [1] S. Zafeiriou, A. Tefas, I. Buciu and I. Pitas, Exploiting discriminant information in nonnegative matrix
       factorization with application to frontal face verification, IEEE Transactions on Neural Networks 17, 2006.
       doi:10.1109/TNN.2006.873291.
    .. [2] G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning
       attribute representations, IEEE TPAMI 39, 2017. doi:10.1109/TPAMI.2016.2554555, arXiv:1509.03248.
    .. [3] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import DiscriminantNMF
    >>> X = np.random.default_rng(0).gamma(1.0, size=(20, 6))
    >>> who = ["ann", "ben", None, "ann"] * 5
    >>> H = DiscriminantNMF(3, within=100.0, random_state=0).fit(X, who).layers_[0].representation
    >>> bool(np.ptp(H[0::4], axis=0).max() < 0.1 * np.ptp(H[2::4], axis=0).max())
    True
    """

    _uses_labels = True
    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "within": [Interval(Real, 0, None, closed="left")],
        "between": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        within=1.0,
        between=0.0,
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
        self.within = within
        self.between = between
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

    _published = Published(init="nndsvd", order=("Z", "H"))

    def _problem(self, X, y, groups) -> Factorization:
        if self.between > 0 and not self._invariant:
            raise ValueError(
                f'between={self.between} has no minimum with scale="none" or rule="published": larger codes and '
                'smaller components lower the objective without end. Use scale="invariant", or between=0.'
            )
        data, attribute = wrap(X), read_attribute(y, X.shape[0])
        if y is not None:
            warn_uninformative([attribute], stacklevel=6, singletons=self.between > 0 or self.rule == "published")
        if self.rule == "published" and self.within > 0 and attribute.known.any():
            published = ScatterAndRidge(attribute, self.within)
            return self._factorization(data, [smooth_codes(published, self._weight(1.0, data), invariant=False)])
        repels = self.between > 0 and len(attribute.classes) > 1
        if not repels and (self.within == 0 or attribute.class_sizes.max(initial=0) < 2):
            return self._factorization(data, [])
        operator = Scatter(attribute, self.within, self.between)
        return self._factorization(data, [smooth_codes(operator, self._weight(1.0, data), invariant=self._invariant)])


class Scatter:
    """``within (I - P) - between (P - M)`` over the labelled samples: P takes the mean of a class, M that of all.

    A `SymmetricOperator`; with ``between > 0`` it is indefinite.

    Parameters
    ----------
    attribute : Attribute
        The classes.
    within, between : float
        The weights.
    """

    def __init__(self, attribute: Attribute, within: float, between: float):
        self.within, self.between = within, between
        self.codes, self.known, self.sizes = attribute.codes, attribute.known, attribute.class_sizes
        self.classes = ClassOperator(attribute, normalize="class")
        # The second operator, with its minus sign, is negative semi-definite.
        self.row_curvature = within * self.classes.row_curvature

    def rows(self, H: np.ndarray) -> LaplacianRows:
        """Return ``L H``, split, as functions of a slice of rows."""
        plus, minus, remainder = self._within(H)
        if not self.between:
            return LaplacianRows(plus, minus, remainder)
        means, mean = self._means(H)
        class_means, overall = (self.between * means).astype(H.dtype), (self.between * mean).astype(H.dtype)
        return LaplacianRows(
            lambda b: plus(b) + overall * self.known[b, None],
            lambda b: minus(b) + class_means[self.codes[b]],
            lambda b: remainder(b) + class_means[self.codes[b]] - overall * self.known[b, None],
        )

    def _within(self, H: np.ndarray) -> LaplacianRows:
        plus, minus, remainder = self.classes.rows(H)
        within = H.dtype.type(self.within)
        return LaplacianRows(lambda b: within * plus(b), lambda b: within * minus(b), lambda b: within * remainder(b))

    def quad_columns(self, H: np.ndarray) -> np.ndarray:
        """``within S_w(h) - between S_b(h)`` of every column h."""
        inside = self.within * self.classes.quad_columns(H)
        if not self.between:
            return inside
        means, mean = self._means(H)
        return inside - self.between * (self.sizes @ (means[:-1] - mean) ** 2)

    def _means(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean codes of every class, and of all labelled samples; code -1, unknown, finds a row of zeros at the end."""
        means = np.zeros((len(self.sizes) + 1, H.shape[1]))
        means[:-1] = (self.classes.members.T @ H) / self.sizes[:, None]
        return means, self.sizes @ means[:-1] / self.sizes.sum()


class ScatterAndRidge:
    """``within (I - P)`` over all samples: P takes the mean of a class, and is zero for samples of unknown class.

    A `SymmetricOperator`, split as in the published rule: ``within H`` and ``within P H``.

    Parameters
    ----------
    attribute : Attribute
        The classes.
    within : float
        The weight.
    """

    def __init__(self, attribute: Attribute, within: float):
        classes = ClassOperator(attribute, normalize="class")
        self.within, self.unknown = within, ~attribute.known
        self.classes = SelfLoops(classes, classes.self_loops)
        self.row_curvature = np.full(len(attribute.codes), within)

    def rows(self, H: np.ndarray) -> LaplacianRows:
        """Return ``L H``, split, as functions of a slice of rows."""
        within, means = H.dtype.type(self.within), self.classes.rows(H).minus

        def minus(b: slice) -> np.ndarray:
            return np.asarray(within * means(b))

        return LaplacianRows(lambda b: within * H[b], minus, minus)

    def quad_columns(self, H: np.ndarray) -> np.ndarray:
        """``within (S_w(h) + sum of squares of unknown class)`` of every column h."""
        ridge = np.square(H[self.unknown], dtype=np.float64).sum(0)
        return self.within * (self.classes.quad_columns(H) + ridge)

"""Class-driven NMF: components that belong to classes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import cast

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base.factorizer import Factorization, NonNegativeData
from .._base.penalized import Penalized
from .._engine.data.matrix import Rows
from .._engine.data.wrap import wrap
from .._engine.linalg.blocked import cross
from .._engine.problem import Factors, sparse_codes
from .._engine.terms import MaskedL1
from .._utils.labels import Attribute, read_attribute
from .._utils.typing import Data


class ClassDrivenNMF(NonNegativeData, Penalized):
    """Class-driven NMF (cdNMF): components belong to classes, and codes on those of other classes are penalised.

    Minimises over H >= 0 (n_samples, k), the codes, and Z >= 0 (k, n_features), the components (scikit-learn calls them
    W and H)::

        1/2 ||X - H Z||^2 + w/2 sum_a ||z_a||_1 m_a^T h_a,   w = alpha max_ij x_ij                                  (1)

    or with ``loss="kl"``::

        D(X || H Z) + alpha sum_a ||z_a||_1 m_a^T h_a                                                               (2)

    h_a and m_a are column a of H and M, and z_a is row a of Z; w makes the minimisers of (1) independent of the units
    of X. M_ia is 1 where the class of sample i is known and component a belongs to another class, else 0; samples of
    unknown class and components of no class are not penalised. With ``scale="none"`` the factors ``||z_a||_1`` are left
    out and w = alpha: (1) is then half of eq. 14 of [1]_, (2) is eq. 21 with its penalty counted once for each sample
    and not once for each feature, and neither has a minimiser (docs/methods.md 1.5).

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components k. None means ``components_per_class`` for every class of y. Components beyond that belong
        to no class. Without a known label it must be given.
    loss : {"frobenius", "kl"}, default="frobenius"
        Half the squared error, or the generalised Kullback-Leibler divergence (counts, spectra, text).
    components_per_class : int, default=1
        Number of components of each class.
    alpha : float, default=1.0
        Weight of the penalty; with 0 the model is NMF.
    scale : {"invariant", "none"}, default="invariant"
        Whether the penalty has the factors ``||z_a||_1``. "none" leaves them out, as published: smaller codes with
        larger components then decrease the penalty at no cost, the objective has no minimiser, and the result depends
        on the number of iterations.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of the non-negative factors: HALS, that is coordinate descent over columns; multiplicative updates; or
        the accelerated projected gradient of NeNMF. "auto" is "hals", but "mu" for ``loss="kl"`` and for
        ``rule="published"``, which exclude "hals" and "apg".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z) or estimator, default="auto"
        Initial factors: the name of an initialiser; arrays of shapes (n_samples, n_components) and (n_components,
        n_features), where Z may be None and is then fitted to H; or a fitted estimator with ``components_``, whose
        codes of X are the initial H. "auto" is "nndsvda". A fitted estimator loses what it learned when it is cloned,
        as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it prevents that. The components of a named
        initialiser are assigned to the classes so that the initial penalty is least; given ones keep their order: those
        of the first of ``classes_``, of the second, and so on, then those of no class.
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once.
    tol : float, default=1e-5
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1. Other than None it needs ``solver="mu"``, ``loss="kl"`` or
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the multiplicative updates of [1]_, without extrapolation, on the penalty with
        ``scale="none"``.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means ``n_components``.
    callback : callable or None, default=None
        Called after every iteration as ``callback(iteration, objective, seconds)``; the fit stops when it returns True.
        With ``loss="kl"`` the objective is the last one that was evaluated.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    verbose : int, default=0
        1 shows a progress line.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes of y, sorted.
    component_classes_ : ndarray of shape (n_components,)
        Index in ``classes_`` of the class of each component; -1 for none.
    components_ : ndarray of shape (n_components, n_features)
        Z, with rows of unit Euclidean norm, or unit sum with ``loss="kl"``.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_components), the codes of the fit, which depend on the penalty; `transform` gives codes that do
        not.
    clusters_ : Clusters
        k-means of the codes, whitened and with rows of unit norm, fitted when `predict`, `fit_predict` or `cluster`
        first needs it.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual; with ``loss="kl"`` the divergence.
    objective_history_ : ndarray of shape (n_evaluations,)
        The objective (1), or (2), after each accepted iteration; with ``loss="kl"``, where evaluating it costs as much
        as an iteration, after the first, every tenth and the last. With ``scale="none"`` or ``rule="published"`` it
        belongs to the factors before the rows of Z are normalised.
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
    ConstrainedNMF : Samples of one class have equal codes.
    DiscriminantNMF : Samples of one class have similar codes.

    Notes
    -----
    **Algorithm.** With B = X Z^T, G = Z Z^T, ``t_a = ||z_a||_1`` and G' = H^T H, one iteration is HALS::

        h_a <- max(0, h_a - (H g_a - b_a + w/2 t_a m_a) / G_aa),   a = 1..k                                         (3)
        z_a <- max(0, z_a - (G'_a Z - h_a^T X + w/2 m_a^T h_a) / G'_aa),   a = 1..k                                 (4)

    Both steps are followed by an extrapolation ``F + beta (F - F_old)`` with an adaptive beta, after [2]_; an iteration
    that increases the objective is rejected and beta is decreased. ``solver="mu"`` and ``solver="apg"`` replace HALS by
    the multiplicative update, or by an accelerated projected gradient, for the same objective. With ``loss="kl"`` and R
    = X / (H Z), where the rows of Z are kept at sum one::

        H <- H * (R Z^T) / (1 + alpha M),   Z <- Z * (H^T R), its rows divided by their sums                        (5)

    None of these increases (1) or (2). ``rule="published"``: eq. 12 and 11 of [1]_, or eq. 23 and 22 with
    ``loss="kl"``::

        H <- H * (X Z^T) / (H Z Z^T + alpha/2 M),        Z <- Z * (H^T X) / (H^T H Z)                               (6)
        H <- H * (R Z^T) / (1 (Z 1)^T + alpha M),        Z <- Z * (H^T R) / ((H^T 1) 1^T)                           (7)

    `predict_class` returns classes of y. `predict`, `fit_predict` and `cluster` return clusters, as for every other
    estimator. `transform` does not use labels: M is zero for new samples. One labelled sample of each class is enough.

    References
    ----------
    .. [1] Y. Xiao, Z. Zhu, Y. Zhao and Y. Wei, Class-driven non-negative matrix factorization for image representation,
       Journal of Computer Science and Technology 28, 2013. doi:10.1007/s11390-013-1374-9.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import ClassDrivenNMF
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[4.0, 1.0, 0.0], [0.0, 1.0, 4.0]], 5, axis=0) + rng.random((10, 3))
    >>> y = ["left", None, None, None, None, "right", None, None, None, None]
    >>> model = ClassDrivenNMF(random_state=0).fit(X, y)
    >>> model.predict_class(X).tolist()
    ['left', 'left', 'left', 'left', 'left', 'right', 'right', 'right', 'right', 'right']
    """

    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "loss": [StrOptions({"frobenius", "kl"})],
        "components_per_class": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=None,
        *,
        loss="frobenius",
        components_per_class=1,
        alpha=1.0,
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
        self.loss = loss
        self.components_per_class = components_per_class
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

    def predict_class(self, X: Data) -> np.ndarray:
        """Predict the class of samples: the one whose components have the largest sum of codes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            An entry of ``classes_`` for each sample.
        """
        check_is_fitted(self)
        if not len(self.classes_):
            raise ValueError(
                "this ClassDrivenNMF was fitted without labels and knows no classes; pass y to fit, with the class of "
                "one sample at least, or use predict for clusters."
            )
        owners = np.arange(len(self.classes_)) == self.component_classes_[:, None]
        return self.classes_[(self._transform(X) @ owners).argmax(1)]

    def _problem(self, X, y, groups) -> Factorization:
        data, attribute = wrap(X), read_attribute(y, X.shape[0])
        owner = self._owners(attribute, y is None)
        self.classes_, self.component_classes_ = attribute.classes, owner
        if self.alpha == 0 or len(attribute.classes) < 2:
            return self._factorization(data, [], n_components=len(owner))
        mask = _mask(attribute, owner, data.dtype)
        # The engine minimises half of the squared error. Components of a divergence sum to one instead.
        weight = self._weight(self.alpha if self.loss == "kl" else self.alpha / 2, data)
        penalty = sparse_codes(mask, weight, invariant=self._invariant and self.loss == "frobenius")
        return self._factorization(data, [penalty], n_components=len(owner))

    def _start(self, problem: Factorization, X) -> Factors:
        factors = super()._start(problem, X)
        if not problem.penalised or not isinstance(self.init, str):
            return factors
        # The components of a named start are assigned to the classes at the least penalty, whatever the classes' names.
        cost = _class_costs(cast(MaskedL1, problem.addends[1]("H", factors)).mask, factors)
        _, order = linear_sum_assignment(cost)
        # The components of one class cost the same: they keep their order, which rounding would decide otherwise.
        place = np.where(self.component_classes_ < 0, len(order), self.component_classes_)
        order = order[np.lexsort((order, place))]
        return {name: np.ascontiguousarray(F[:, order]) for name, F in factors.items()}

    def _owners(self, attribute: Attribute, blank: bool) -> np.ndarray:
        """Return the class of each component, -1 for none."""
        n_classes = len(attribute.classes)
        owned = np.repeat(np.arange(n_classes), self.components_per_class)
        if self.n_components is None and not n_classes:
            what = "y to be passed, but the target y is None" if blank else "a known label, and y has none"
            raise ValueError(
                f"ClassDrivenNMF requires {what}: with n_components=None the classes say how many components there "
                "are. Label one sample at least, or give n_components."
            )
        k = self.n_components or len(owned)
        if k < len(owned):
            raise ValueError(
                f"y has {n_classes} classes, more than n_components={k} allows: with "
                f"components_per_class={self.components_per_class} they need {len(owned)}. Raise n_components, or "
                "leave it None."
            )
        return np.concatenate([owned, np.full(k - len(owned), -1)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.n_components is None
        return tags


def _class_costs(mask: Rows, factors: Factors) -> np.ndarray:
    """Return the penalty of every component (columns) in the place of every other one (rows)."""
    H = factors["H"]
    return cross(mask(slice(0, len(H))), H, 4096) * factors["Z"].sum(0)


def _mask(attribute: Attribute, owner: np.ndarray, dtype: np.dtype) -> Rows:
    """Return M by rows: 1 where the class of a sample is known and the component belongs to another class."""
    # A row for each class and, for the code -1, one of zeros for samples of unknown class.
    table = (owner >= 0) & (owner != np.arange(len(attribute.classes) + 1)[:, None])
    table[-1] = False
    table, codes = table.astype(dtype), attribute.codes
    return lambda b: table[codes[b]]

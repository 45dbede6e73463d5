"""Class-driven NMF: components that belong to classes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base.factorizer import Factorization, NonNegativeData
from .._base.penalized import Penalized
from .._engine.data.wrap import wrap
from .._engine.monitor import Monitor
from .._engine.problem import FITS, Factors, sparse_codes
from .._engine.solve import solve
from .._engine.terms import MaskedL1
from .._utils import tall
from .._utils.labels import Attribute, append_unknown, read_attribute, warn_uninformative, with_classes
from .._utils.place import Place
from .._utils.typing import Data
from .._utils.workers.reading import by_rows, is_dask
from ..graphs.operators import class_sums


class ClassDrivenNMF(NonNegativeData, Penalized):
    """Class-driven NMF (cdNMF): components belong to classes, and codes on those of other classes are penalised.

    Minimises over H >= 0 (n_samples, k), the codes, and Z >= 0 (k, n_features), the components (scikit-learn calls them
    W and H)::

        1/2 ||X - H Z||^2 + w/2 sum_a ||z_a||_1 m_a^T h_a,   w = alpha max_ij x_ij                                  (1)

    or with ``loss="kl"``::

        D(X || H Z) + alpha sum_a ||z_a||_1 m_a^T h_a                                                               (2)

    h_a and m_a are column a of H and M, and z_a is row a of Z; w makes the minimisers of (1) independent of the units
    of X. M_ia is 1 where the class of sample i is known and component a belongs to another class, with a label or
    without, else 0 ([1]_, eq. 5); samples of unknown class and components of no class are not penalised. With
    ``scale="none"`` the factors ``||z_a||_1`` are left out and w = alpha: (1) is then half of eq. 14 of [1]_, (2) is
    eq. 21 with its penalty counted once for each sample and not once for each feature, and neither has a minimiser
    (docs/methods.md 1.5).

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components k. None means ``components_per_class`` for every class, and the free ones. With
        ``classes=None`` components beyond those of the classes of y belong to further classes, which no sample is
        labelled with. It must be given where the number of classes follows neither from y nor from another parameter.
    loss : {"frobenius", "kl"}, default="frobenius"
        Half the squared error, or the generalised Kullback-Leibler divergence (counts, spectra, text).
    classes : int, array-like or None, default=None
        All classes of the data (c of [1]_, eq. 5), labelled or not: their number, of which those beyond the classes of
        y have no name; or their names, a superset of the labels of y. None means the classes of y, and as many further
        ones as ``n_components`` has room for.
    components_per_class : int, sequence of int or mapping, default=1
        Number of components of each class: the same for all; one number for each class, in the order of ``classes_``,
        then of the classes without a name; or by name, where classes that are not named have one component.
    free_components : int, default=0
        Number of components that belong to no class, the last ones: every sample may use them at no penalty.
    alpha : float, default=1.0
        Weight of the penalty; with 0 the model is NMF.
    scale : {"auto", "invariant", "none"}, default="auto"
        Whether the penalty has the factors ``||z_a||_1``. "none" leaves them out, as published: smaller codes with
        larger components then decrease the penalty at no cost, the objective has no minimiser, and the result depends
        on the number of iterations. "auto" is "invariant" for ``rule="fast"`` and "none" for ``rule="published"``.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of the non-negative factors: HALS, that is coordinate descent over columns; multiplicative updates; or
        the accelerated projected gradient of NeNMF. "auto" is "hals", but "mu" for ``loss="kl"`` and for
        ``rule="published"``, which exclude "hals" and "apg".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z) or estimator, default="auto"
        Initial factors: the name of an initialiser; arrays of shapes (n_samples, n_components) and (n_components,
        n_features), where Z may be None and is then fitted to H; or a fitted estimator with ``components_``, whose
        codes of X are the initial H. "auto" is "nndsvda". A fitted estimator loses what it learned when it is cloned,
        as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it prevents that. The components of a named
        initialiser are assigned to the classes so that the initial penalty is least, with ``rule="fast"`` after 20
        iterations without the penalty; given ones keep their order: those of the first of ``classes_``, of the second,
        and so on, of the classes without a name, then those of no class.
    max_iter : int, default=500
        Maximum number of iterations, without the 20 of a named initialiser. One iteration updates every factor once.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1. Other than None it needs ``solver="mu"``, ``loss="kl"`` or
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the multiplicative updates of [1]_, without extrapolation, on the penalty with
        ``scale="none"``.
    n_clusters : int or None, default=None
        Number of clusters of `cluster`, and of `predict` and `fit_predict` without labels; None means ``n_components``.
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
    classes_ : ndarray of shape (n_classes,)
        The names of ``classes``, in their order; or the classes of y, sorted.
    component_classes_ : ndarray of shape (n_components,)
        Class of each component, ascending: its index in ``classes_``; from ``len(classes_)`` on for classes without a
        name; then -1 for components of no class.
    components_ : ndarray of shape (n_components, n_features)
        Z, with rows of unit Euclidean norm, or unit sum with ``loss="kl"``.
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_components), the codes of the fit, which depend on the penalty; `transform` gives codes that do
        not.
    clusters_ : Clusters
        k-means of the codes in the form of ``readout``, fitted when `cluster` first needs it.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual; with ``loss="kl"`` the divergence.
    objective_history_ : ndarray of shape (n_evaluations,)
        The objective (1), or (2), after each accepted iteration; with ``loss="kl"``, where evaluating it costs as much
        as an iteration, after the first, every tenth and the last; published
        rules evaluate every iteration. With ``scale="none"`` or ``rule="published"`` it
        belongs to the factors before the rows of Z are normalised.
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

    `predict` and `fit_predict` return classes, in the type of the labels, whether y is known for all samples or some;
    with components of classes without a name a sample may be of none that y names. `cluster` returns clusters, as for
    every other estimator. `score` is the explained part of X; for the accuracy of `predict`, as in a grid search over
    labelled samples, use ``scoring="accuracy"``. `transform` does not use labels: M is zero for new samples. One
    labelled sample is enough to give its class components of its own, provided that there are others (``classes``,
    ``n_components``).

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
    >>> model.predict(X).tolist()
    ['left', 'left', 'left', 'left', 'left', 'right', 'right', 'right', 'right', 'right']

    One labelled sample, and two classes; samples of the one without a name have an empty label:

    >>> model = ClassDrivenNMF(classes=2, random_state=0).fit(X, ["left"] + [None] * 9)
    >>> model.predict(X).tolist()
    ['left', 'left', 'left', 'left', 'left', '', '', '', '', '']
    """

    _streams = True
    _on_devices = True
    _uses_labels = True
    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "loss": [StrOptions({"frobenius", "kl"})],
        "classes": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "components_per_class": [Interval(Integral, 1, None, closed="left"), "array-like", Mapping],
        "free_components": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=None,
        *,
        loss="frobenius",
        classes=None,
        components_per_class=1,
        free_components=0,
        alpha=1.0,
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
        self.loss = loss
        self.classes = classes
        self.components_per_class = components_per_class
        self.free_components = free_components
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

    def predict(self, X: Data) -> np.ndarray:
        """Predict the class of samples: the one whose components have the largest sum of codes.

        The codes are those of `transform`: labels are not used, for samples of the fit neither. After a fit without any
        known label, clusters, as for `NMF`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            An entry of ``classes_`` for each sample; or, for a sample of a class without a name, the value that stands
            for unknown in labels of that type: -1, NaN, an empty string or None.
        """
        check_is_fitted(self)
        return self._classify(self._transform(X, layer=-1, readout="raw")) if self._has_classes else self.cluster(X)

    def fit_predict(self, X: Data, y: ArrayLike | None = None, **parameters) -> np.ndarray:
        """Fit the estimator and predict the class of the training samples by the codes of the fit.

        These codes depend on the labels: a labelled sample has hardly any on components of other classes. Without any
        known label, clusters, as for `NMF`. Clusters of the codes of the fit are ``fit(X, y).cluster()``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,), default=None
            Labels of some or all samples; -1, NaN, None and ``pandas.NA`` stand for unknown.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            As of `predict`.
        """
        H = self.fit(X, y, **parameters).layers_[-1].representation
        return self._classify(H) if self._has_classes else self.cluster()

    def _classify(self, H: np.ndarray) -> np.ndarray:
        """Return the class, or the value for unknown, whose components have the largest sum of codes."""
        if is_dask(H):
            alone = copy(self)
            del alone.layers_, alone.clusters_
            return by_rows(alone._classify, H)
        n_classes = self.component_classes_.max() + 1
        owners = np.arange(n_classes) == self.component_classes_[:, None]
        best = tall.to_host((H @ owners).argmax(1))
        if n_classes == len(self.classes_):
            return self.classes_[best]
        return append_unknown(self.classes_)[np.minimum(best, len(self.classes_))]

    def _problem(self, X, y, groups) -> Factorization:
        data, attribute = wrap(X), self._attribute(y, X.shape[0])
        owner = self._owners(attribute, y is None)
        if y is not None:
            warn_uninformative([attribute], stacklevel=6, singletons=True, one_class=len(np.unique(owner)) > 1)
        self.classes_, self.component_classes_ = attribute.classes, owner
        self._has_classes = bool(attribute.known.any())  # of names alone, which component has which is arbitrary
        mask = ClassMask(attribute, owner, data.dtype, data.workers)
        if self.alpha == 0 or not mask.any():
            return self._factorization(data, [], n_components=len(owner))
        # The engine minimises half of the squared error. Components of a divergence sum to one instead.
        weight = self._weight(self.alpha if self.loss == "kl" else self.alpha / 2, data)
        penalty = sparse_codes(mask, weight, invariant=self._invariant and self.loss == "frobenius")
        return self._factorization(data, [penalty], n_components=len(owner))

    def _start(self, problem: Factorization, X) -> Factors:
        factors = super()._start(problem, X)
        if not problem.penalised or not isinstance(self.init, str) or self._last is not None:
            return factors
        if self._rule is self._fast:
            # The components of an initialiser, of which the first may be the mean of all samples, separate no classes.
            plain = replace(problem, addends=problem.addends[:1])
            updates, every = self._updates(problem), FITS[self.loss].evaluate_every
            monitor = Monitor(max_iter=20, tol=0)
            solution = solve(plain, factors, updates, monitor=monitor, extrapolate=True, evaluate_every=every)
            factors = solution.factors
        # The components of a named start are assigned to the classes at the least penalty, whatever the classes' names.
        order = cast(ClassMask, cast(MaskedL1, problem.addends[1]("H", factors)).mask).assign(factors)
        return {name: tall.contiguous(F[:, order], F.dtype) for name, F in factors.items()}

    def _attribute(self, y, n_samples: int) -> Attribute:
        """Return the labels, over all classes that have a name."""
        attribute = read_attribute(y, n_samples)
        if self.classes is None or isinstance(self.classes, Integral):
            return attribute
        return with_classes(attribute, self.classes)

    def _owners(self, attribute: Attribute, blank: bool) -> np.ndarray:
        """Return the class of each component, -1 for none."""
        counts = self._counts(attribute, blank)
        owned = np.repeat(np.arange(len(counts)), counts)
        need = len(owned) + self.free_components
        if self.n_components not in (None, need):
            raise ValueError(
                f"{len(counts)} classes with components_per_class={self.components_per_class!r} and "
                f"free_components={self.free_components} need {need} components, not "
                f"n_components={self.n_components}. Leave n_components None."
            )
        return np.concatenate([owned, np.full(self.free_components, -1)])

    def _counts(self, attribute: Attribute, blank: bool) -> list[int]:
        """Return the number of components of each class, those without a name last."""
        names, per_class = attribute.classes.tolist(), self.components_per_class
        n_classes = self._n_classes(names)
        if isinstance(per_class, Integral | Mapping):
            named, each = _counts_by_name(names, cast(int | Mapping, per_class))
            if n_classes is not None:
                return named + [each] * (n_classes - len(names))
            return named + self._further(named, each, blank)
        counts = np.asarray(per_class)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts < 1).any():
            raise ValueError(f"components_per_class must hold integers of at least 1; got {per_class!r}.")
        if len(counts) < len(names) or n_classes not in (None, len(counts)):
            raise ValueError(
                f"components_per_class has {len(counts)} numbers, and there are {n_classes or len(names)} classes: "
                "give one for each."
            )
        return counts.tolist()

    def _n_classes(self, names: list) -> int | None:
        """Return the number of classes that ``classes`` gives."""
        if not isinstance(self.classes, Integral):
            return None if self.classes is None else len(names)
        if self.classes < len(names):
            raise ValueError(f"y has {len(names)} classes, more than classes={self.classes}: it counts all of them.")
        return int(self.classes)

    def _further(self, named: list[int], each: int, blank: bool) -> list[int]:
        """Return the numbers of components of classes without a name, for which ``n_components`` has room."""
        if self.n_components is None and not named:
            what = "y to be passed, but the target y is None" if blank else "a known label, and y has none"
            raise ValueError(
                f"ClassDrivenNMF requires {what}: the number of components follows from that of "
                "classes. Label one sample at least, or give classes or n_components."
            )
        if self.n_components is None:
            return []
        need = sum(named) + self.free_components
        if self.n_components < need:
            raise ValueError(
                f"y has {len(named)} classes, more than n_components={self.n_components} allows: with "
                f"components_per_class={self.components_per_class!r} and free_components={self.free_components} they "
                f"need {need}. Raise n_components, or leave it None."
            )
        whole, rest = divmod(self.n_components - need, each)
        return [each] * whole + [rest] * (rest > 0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        counted = isinstance(self.components_per_class, Integral | Mapping)
        tags.target_tags.required = self.n_components is None and self.classes is None and counted
        return tags


class ClassMask:
    """M by rows: 1 where the class of a sample is known and the component belongs to another one (Xiao et al., eq. 5).

    Parameters
    ----------
    attribute : Attribute
        The classes of the samples.
    owner : ndarray of shape (n_components,)
        The class of each component, -1 for none.
    dtype : dtype
        Of the rows.
    workers : Place or None
        That have the samples.
    """

    def __init__(self, attribute: Attribute, owner: np.ndarray, dtype: np.dtype, workers: Place | None = None):
        self.codes: Any = attribute.codes
        self.present = np.unique(attribute.codes)
        if workers is not None:
            self.codes = workers.put(self.codes, (), self.codes.dtype)
        # A row for each class and, for the code -1, one of zeros for samples of unknown class.
        table = (owner >= 0) & (owner != np.arange(len(attribute.classes) + 1)[:, None])
        table[-1] = False
        self.table = table.astype(dtype)

    def __call__(self, b: slice) -> np.ndarray:
        """Return rows b."""
        return tall.rows_of(self.table, self.codes[b])

    def any(self) -> bool:
        """Whether anything is penalised."""
        return bool(self.table[self.present].any())

    def assign(self, factors: Factors) -> np.ndarray:
        """Return the component that each place takes, so that the penalty is least."""
        sums = class_sums(self.codes, factors["H"], len(self.table) - 1)[:-1]
        cost = self.table[:-1].T @ sums * factors["Z"].sum(0)
        order = linear_sum_assignment(cost)[1]
        # Places of equal columns, as those of one class, cost the same: they keep the order of the components, which
        # rounding would decide otherwise.
        _, column = np.unique(self.table[self.present], axis=1, return_inverse=True)
        column = column.ravel()
        order[np.argsort(column, kind="stable")] = order[np.lexsort((order, column))]
        return order


def _counts_by_name(names: list, per_class: int | Mapping) -> tuple[list[int], int]:
    """Return the numbers of components of classes with a name, and that of every other class."""
    if not isinstance(per_class, Mapping):
        return [int(per_class)] * len(names), int(per_class)
    strange = [name for name in per_class if name not in names]
    if strange:
        raise ValueError(
            f"components_per_class names classes that are not known: {strange}; the classes are {names}. Label a "
            "sample of each, or name them in classes."
        )
    if not all(isinstance(count, Integral) and int(count) >= 1 for count in per_class.values()):
        raise ValueError(f"components_per_class must hold integers of at least 1; got {per_class!r}.")
    return [int(per_class.get(name, 1)) for name in names], 1

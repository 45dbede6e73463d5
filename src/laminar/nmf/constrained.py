"""Constrained NMF: labelled samples of one class share their codes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from .._base.factorizer import Factorization, Factorizer, NonNegativeData
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.problem import FITS, loss_value
from .._utils.callbacks import with_callbacks
from .._utils.labels import read_attribute, warn_uninformative
from .._utils.typing import Data


class ConstrainedNMF(NonNegativeData, Factorizer):
    """Constrained NMF (CNMF): all samples that share a known label have the same codes.

    Minimises over Q >= 0 and Z >= 0 (k, n_features), the components::

        1/2 ||X - H Z||^2,   or with loss="kl"   D(X || H Z),   H = A Q (n_samples, k)                              (1)

    H holds the codes (scikit-learn calls H and Z W and H). A has a row for each sample, a column for each class and a
    column for each sample without a known label, with one entry 1 in every row: h_i = h_j wherever i and j share a
    label. Without labels, or with one labelled sample in each class, the model is NMF.

    Parameters
    ----------
    n_components : int, default=10
        Number of components k.
    loss : {"frobenius", "kl"}, default="frobenius"
        Half the squared error, or the generalised Kullback-Leibler divergence (counts, spectra, text).
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of the non-negative factors: HALS, that is coordinate descent over columns; multiplicative updates; or
        the accelerated projected gradient of NeNMF. "auto" is "hals", but "mu" for ``loss="kl"`` and for
        ``rule="published"``, which exclude "hals" and "apg".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z) or estimator, default="auto"
        Initial factors: the name of an initialiser; arrays of shapes (n_samples, n_components) and (n_components,
        n_features), where Z may be None and is then fitted to H; or a fitted estimator with ``components_``, whose
        codes of X are the initial H. "auto" is "nndsvda". A fitted estimator loses what it learned when it is cloned,
        as in a grid search; :class:`sklearn.frozen.FrozenEstimator` around it prevents that. Initial codes that differ
        inside a class are replaced by their mean.
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once. With the squared error, no penalty and
        many more samples than components, a fit begins with a few iterations on a subsample, which do not count.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1. Other than None it needs ``solver="mu"``, ``loss="kl"`` or
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the multiplicative updates of [1]_, without extrapolation, Q before Z.
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
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H of shape
        (n_samples, n_components), equal inside each class; `transform` codes every sample by itself.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    reconstruction_err_ : float
        ``||X - H Z||``, the Frobenius norm of the residual; with ``loss="kl"`` the divergence.
    objective_history_ : ndarray of shape (n_evaluations,)
        The objective (1), of all samples, after each accepted iteration; with ``loss="kl"``, where evaluating it costs
        as much as an iteration, after the first, every tenth and the last; published
        rules evaluate every iteration.
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
    ClassDrivenNMF : Components belong to classes; one labelled sample of each is enough.
    DiscriminantNMF : Samples of one class have similar codes, not equal ones.

    Notes
    -----
    **Algorithm.** Of a class c with n_c labelled samples only the sum x_c of their rows of X matters: up to a constant
    (1) is NMF of fewer rows, ``x_c / sqrt(n_c)`` with codes ``sqrt(n_c) q_c``, or with ``loss="kl"`` of x_c with codes
    n_c q_c (docs/methods.md 4.10). That NMF is solved by HALS with extrapolation [2]_, or by multiplicative updates, as
    in `NMF`. ``rule="published"``::

        Q <- Q * (A^T X Z^T) / (A^T A Q Z Z^T),              Z <- Z * (H^T X) / (H^T H Z)                           (2)
        Q <- Q * (A^T R Z^T) / ((A^T 1) (Z 1)^T),            Z <- Z * (H^T R) / ((H^T 1) 1^T)                       (3)

    where (3) is for ``loss="kl"``, with R = X / (H Z). Neither increases (1). A is never formed.

    `transform` codes every sample by the components alone; it does not use labels. Components belong to no class, so
    that `predict` returns clusters; for classes use a classifier of the codes, or `ClassDrivenNMF`.

    References
    ----------
    .. [1] H. Liu, Z. Wu, X. Li, D. Cai and T. Huang, Constrained nonnegative matrix factorization for image
       representation, IEEE TPAMI 34, 2012. doi:10.1109/TPAMI.2011.217.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import ConstrainedNMF
    >>> X = np.random.default_rng(0).gamma(1.0, size=(6, 4))
    >>> H = ConstrainedNMF(2, random_state=0).fit(X, ["a", "a", "b", "b", None, None]).layers_[0].representation
    >>> bool((H[0] == H[1]).all() and (H[2] == H[3]).all() and (H[4] != H[5]).any())
    True
    """

    _uses_labels = True
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

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Fit the factorisation to X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,), default=None
            Labels of some or all samples; -1, NaN, None and ``pandas.NA`` stand for unknown.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y)

    def _problem(self, X, y, groups) -> Factorization:
        attribute = read_attribute(y, X.shape[0])
        if y is not None:
            warn_uninformative([attribute], stacklevel=6)
        if attribute.class_sizes.max(initial=0) < 2:
            return super()._problem(X, y, groups)
        shared = SharedRows(X, attribute.codes, self.loss)
        problem = self._factorization(shared.data, [], offset=shared.offset)
        return JoinedFactorization(**vars(problem), shared=shared)


class SharedRows:
    """One row for all samples of a class, and one for each sample of unknown class.

    If the n_c samples of a class share their codes, the fit depends on them through their sum s_c alone. Up to a
    constant the squared error is that of the row ``s_c / sqrt(n_c)``, with codes ``sqrt(n_c) h``; the Kullback-Leibler
    divergence that of the row ``s_c``, with codes ``n_c h`` (docs/methods.md 4.13).

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The data, as validated.
    codes : ndarray of shape (n_samples,)
        Class of each sample, -1 where it is unknown.
    loss : {"frobenius", "kl"}
        The loss the rows are made for.

    Attributes
    ----------
    data, whole : Matrix
        The joined rows, and X.
    """

    def __init__(self, X, codes: np.ndarray, loss: str):
        self.loss, self.whole = loss, wrap(X)
        # A class takes the place of its first sample.
        first = np.arange(len(codes))
        _, where, code = np.unique(codes, return_index=True, return_inverse=True)
        first[codes >= 0] = where[code][codes >= 0]
        _, self.row, size = np.unique(first, return_inverse=True, return_counts=True)
        self.weight = (size if loss == "kl" else np.sqrt(size)).astype(X.dtype)
        entries = (self.weight / size.astype(X.dtype))[self.row]
        self.sums = sp.csr_array((entries, self.row, np.arange(len(codes) + 1)), (len(codes), len(size))).T
        self.data = wrap(self._joined(X))

    def _joined(self, X):
        with np.errstate(over="ignore"):
            rows = self.sums @ X
        if not np.isfinite(rows.data if sp.issparse(rows) else rows).all():
            raise ValueError(
                f"The largest magnitude in X is {self.whole.scale:.3g}: the sum of a class is out of range. "
                "Divide X by a constant."
            )
        return rows

    def join(self, H: np.ndarray) -> np.ndarray:
        """Return codes of the rows, from codes of the samples: their mean, where these differ inside a class."""
        return self.sums @ H

    def expand(self, H: np.ndarray) -> np.ndarray:
        """Return codes of the samples in the unit scale of X, from codes of the rows in that of ``data``."""
        ratio = H.dtype.type(self.data.scale / self.whole.scale)
        return (H / self.weight[:, None] * ratio)[self.row]

    @property
    def offset(self) -> float:
        """Part of the objective that no shared codes can fit: the difference of both for one constant component."""
        p = self.whole.shape[1]
        Z = np.full((p, 1), 1 / p, self.data.dtype)
        H = self.data.product(np.ones_like(Z))
        return max(self._value(self.whole, self.expand(H), Z) - self._value(self.data, H, Z), 0.0)

    def _value(self, data: Matrix, H: np.ndarray, Z: np.ndarray) -> float:
        return loss_value(data, self.loss, H, Z) * data.unit(FITS[self.loss].degree)


@dataclass(frozen=True)
class JoinedFactorization(Factorization):
    """The factorisation of the joined rows."""

    _: KW_ONLY
    shared: SharedRows

    @property
    def samples(self) -> Matrix:
        """X."""
        return self.shared.whole

    def join(self, H: np.ndarray) -> np.ndarray:
        """Return codes of the rows, from codes of the samples."""
        return self.shared.join(H)

    def expand(self, H: np.ndarray) -> np.ndarray:
        """Return codes of the samples, from codes of the rows."""
        return self.shared.expand(H)

"""Constrained NMF: labelled samples of one class share their codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from .._base.factorizer import Factorization, Factorizer, NonNegativeData
from .._engine.data.matrix import Matrix, wrap
from .._engine.monitor import Solution
from .._engine.problem import FITS, Factors, loss_value
from .._utils.callbacks import with_callbacks
from .._utils.labels import read_attribute
from .._utils.typing import Data


class ConstrainedNMF(NonNegativeData, Factorizer):
    """NMF in which all samples known to be of one class have the same codes.

    ``||X - H Z||^2`` or the divergence, everything non-negative, with ``h_i = h_j`` wherever i and j have the same
    known label. All that is fitted of a class is then its mean, so that the model is plain NMF of fewer rows. Without
    labels, or with one labelled sample a class, it is NMF.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    loss : {"frobenius", "kl"}, default="frobenius"
        Squared error, or generalised Kullback-Leibler divergence.
    solver, max_iter, tol, eta, n_clusters, callback, random_state, verbose
        As for :class:`NMF`.
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z), or fitted model, default="auto"
        As for :class:`NMF`. Codes that differ inside a class start at their mean.
    rule : {"fast", "published"}, default="fast"
        "published" runs the iterations of Liu et al., codes before components.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, of unit length (unit sum for the KL loss).
    layers_ : list of Layer
        One layer; ``representation`` holds the codes of the fit, shared inside each class.
    reconstruction_err_, objective_history_, n_iter_, converged_
        As for :class:`NMF`, of all samples with their shared codes.

    See Also
    --------
    ClassDrivenNMF : Components belong to classes; one labelled sample of each is enough.
    DiscriminantNMF : Codes of one class are close to each other, not equal.

    Notes
    -----
    `transform` codes every sample by itself, with the components alone; it knows no labels.

    References
    ----------
    H. Liu, Z. Wu, X. Li, D. Cai and T. Huang, Constrained nonnegative matrix factorization for image representation,
    IEEE TPAMI 34, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import ConstrainedNMF
    >>> X = np.random.default_rng(0).gamma(1.0, size=(6, 4))
    >>> H = ConstrainedNMF(2, random_state=0).fit(X, ["a", "a", "b", "b", None, None]).layers_[0].representation
    >>> bool((H[0] == H[1]).all() and (H[2] == H[3]).all() and (H[4] != H[5]).any())
    True
    """

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
        tol=1e-5,
        eta=None,
        rule="fast",
        n_clusters=None,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self._store(locals())

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Learn the components of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,), default=None
            Labels, some or all; -1, NaN, None and ``pandas.NA`` are unknown.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X, y)

    def fit_transform(self, X: Data, y: ArrayLike | None = None) -> np.ndarray:
        """Learn the components of X and return the codes `transform` gives its samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,), default=None
            Labels, some or all.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Non-negative codes. Those of the fit itself are in ``layers_[-1].representation``.
        """
        return self.fit(X, y).transform(X)

    def _problem(self, X, y, groups) -> Factorization:
        attribute = read_attribute(y, X.shape[0])
        if attribute.class_sizes.max(initial=0) < 2:
            return super()._problem(X, y, groups)
        shared = SharedRows(X, attribute.codes, self.loss)
        problem = self._factorization(shared.data, [], offset=shared.offset)
        return JoinedFactorization(**vars(problem), shared=shared)

    def _start(self, problem: Factorization, X) -> Factors:
        factors = super()._start(problem, X)
        if isinstance(problem, JoinedFactorization) and not isinstance(self.init, str):
            return {**factors, "H": problem.shared.join(factors["H"])}
        return factors

    def _attributes(self, solution: Solution, problem: Factorization, X) -> None:
        if not isinstance(problem, JoinedFactorization):
            return super()._attributes(solution, problem, X)
        H, Z = self._canonical(solution, problem)
        self._set_layer(problem.shared.whole, problem.shared.expand(H), Z)
        return None


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
        """What no shared codes can fit: the difference of the two objectives, here for one constant component."""
        p = self.whole.shape[1]
        Z = np.full((p, 1), 1 / p, self.data.dtype)
        H = self.data.product(np.ones_like(Z))
        return max(self._value(self.whole, self.expand(H), Z) - self._value(self.data, H, Z), 0.0)

    def _value(self, data: Matrix, H: np.ndarray, Z: np.ndarray) -> float:
        return loss_value(data, self.loss, H, Z) * data.unit(FITS[self.loss].degree)


@dataclass(frozen=True)
class JoinedFactorization(Factorization):
    """The factorisation of the joined rows."""

    shared: SharedRows | None = None

"""Constrained NMF: labelled samples of one class share their codes."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from .._base.factorizer import Factorizer, NonNegativeData
from .._base.samples import Joined, Samples
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
        self.n_components = n_components
        self.loss = loss
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

    def _samples(self, X, y) -> Samples:
        attribute = read_attribute(y, X.shape[0])
        if attribute.class_sizes.max(initial=0) < 2:
            return Samples(X)
        return Joined(X, attribute.codes, self.loss)

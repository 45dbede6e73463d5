"""Non-negative matrix factorisation."""

from __future__ import annotations

from sklearn.utils._param_validation import StrOptions

from .._base.factorizer import Factorizer, NonNegativeData


class NMF(NonNegativeData, Factorizer):
    """Non-negative matrix factorisation, ``X ~ H Z`` with X, H and Z non-negative.

    Every sample is a sum of parts, with no part ever taken away.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    loss : {"frobenius", "kl"}, default="frobenius"
        Squared error, or generalised Kullback-Leibler divergence (counts, spectra, text).
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Coordinate descent, multiplicative updates or accelerated gradient (NeNMF). "auto" is "hals" for the squared
        error; the KL loss always uses "mu".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"}, (H, Z), or fitted model, default="auto"
        Where to start. Arrays have shapes (n_samples, n_components) and (n_components, n_features). Where models are
        cloned, as in a grid search, wrap a fitted one in :class:`sklearn.frozen.FrozenEstimator`.
    max_iter : int, default=500
        Largest number of sweeps. A few on a part of the samples, with which tall data begin, do not count.
    tol : float, default=1e-5
        Stop when a sweep lowers the objective by less than this part of it and the KKT residual is below its root.
        0 runs all of ``max_iter``.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative rule; None means 1.
    rule : {"fast", "published"}, default="fast"
        "published" runs Lee and Seung's iterations to the letter.
    n_clusters : int or None, default=None
        For `predict`; None means ``n_components``.
    callback : callable or None, default=None
        Called after every sweep with (iteration, objective, seconds), the objective as it was last computed; stops the
        fit by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts and of k-means.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, of unit length (unit sum for the KL loss).
    layers_ : list of Layer
        One layer, with the codes of the training samples in ``representation``.
    reconstruction_err_ : float
        ``||X - H Z||``, or the divergence.
    objective_history_ : ndarray
        ``1/2 ||X - H Z||^2`` sweep by sweep, without those that were taken back; or the divergence, which costs as
        much as a sweep, after the first and every tenth.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether the fit stopped by itself.

    See Also
    --------
    SemiNMF : The same for data and components of any sign.

    References
    ----------
    D. Lee and H. Seung, Learning the parts of objects by non-negative matrix factorization, Nature 401, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import NMF
    >>> X = np.array([[2.0, 1.0, 0.0], [4.0, 2.0, 0.0], [0.0, 1.0, 3.0], [0.0, 2.0, 6.0]])
    >>> model = NMF(n_components=2, random_state=0).fit(X)
    >>> bool(model.reconstruction_err_ < 1e-3)
    True
    >>> model.predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
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

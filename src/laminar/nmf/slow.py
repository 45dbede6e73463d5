"""NMF of sequences, with codes that change slowly in time."""

from __future__ import annotations

from numbers import Real

from sklearn.utils._param_validation import Interval

from .._base.factorizer import NonNegativeData
from .._base.penalized import Penalized
from .._engine.data.matrix import Matrix
from .._engine.penalties import Smooth
from ..graphs import Chain


class SlowFeatureNMF(NonNegativeData, Penalized):
    """NMF with codes that change slowly in time.

    ``1/2 ||X - H Z||^2 + alpha sum_a ||z_a||^2 sum_t (h_{t+1,a} - h_{t,a})^2``, everything non-negative. Rows are in
    order of time.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    alpha : float, default=0.1
        Weight of slowness; 0 is NMF.
    scale : {"invariant", "none"}, default="invariant"
        "none" is the published penalty, without the factors ||z_a||^2: it has no minimum, and what it does depends on
        when the fit stops.
    solver, init, max_iter, tol, eta, n_clusters, callback, random_state, verbose
        As for :class:`NMF`.
    rule : {"fast", "published"}, default="fast"
        "published" runs the iterations of Zafeiriou et al. to the letter, with ``scale="none"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, of unit length.
    layers_ : list of Layer
        One layer; ``representation`` holds the codes of the fit, which know the time.
    reconstruction_err_, objective_history_, n_iter_, converged_
        As for :class:`NMF`; the objective includes the penalty.

    See Also
    --------
    SlowFeatureAnalysis : Slow features of any sign.
    laminar.temporal.detect_phases : Segments of a slow signal.

    References
    ----------
    L. Zafeiriou, S. Nikitidis, S. Zafeiriou and M. Pantic, Slow features nonnegative matrix factorization for temporal
    data decomposition, ICIP 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import SlowFeatureNMF
    >>> X = np.random.default_rng(0).gamma(1.0, size=(30, 6))
    >>> sequence = [0] * 15 + [1] * 15
    >>> H = SlowFeatureNMF(2, alpha=1e4).fit(X, groups=sequence).layers_[0].representation
    >>> bool(np.ptp(H[:15], axis=0).max() < 0.05 * H.max())
    True
    """

    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        alpha=0.1,
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

    def _penalty(self, X, data: Matrix, y, groups) -> Smooth | None:
        if self.alpha == 0:
            return None
        chain = Chain().build(X, groups=groups)
        if not chain.degree.any():
            raise ValueError(
                "SlowFeatureNMF compares samples that follow each other, but the longest sequence has 1 sample. Give "
                "samples of one sequence the same entry in groups, or use NMF."
            )
        # The paper halves the fit but not the penalty.
        return self._smooth(chain, 2 * self.alpha, data)

"""Discriminant NMF: codes that are close inside a class, and far apart between classes."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from .._base.factorizer import Factorization, NonNegativeData
from .._base.penalized import Penalized
from .._base.rules import Published
from .._engine.data.matrix import wrap
from .._engine.problem import smooth_codes
from .._engine.terms.penalties import LaplacianRows
from .._utils.labels import Attribute, read_attribute
from ..graphs.operators import ClassOperator

_WITHIN = 1.0


class DiscriminantNMF(NonNegativeData, Penalized):
    """NMF with codes that vary little inside a class and, if asked for, much between classes (Fisher's criterion).

    ``||X - H Z||^2 + sum_a ||z_a||^2 (within S_w(h_a) - between S_b(h_a))``, everything non-negative, where S_w and S_b
    are the scatter of the labelled samples around the means of their classes, and of these means around the mean of
    all. The factors ||z_a||^2 and ``between < 1`` keep the objective bounded: as published it falls without end.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    within : float, default=1.0
        Weight of the scatter inside classes.
    between : float in [0, 1), default=0.0
        Weight of the scatter between classes. With 0 this is GNMF on the graph of labels, each class weighing the same.
    scale : {"invariant", "none"}, default="invariant"
        "none" leaves out the factors ||z_a||^2: the penalty can then be dodged by small codes and large components,
        and what it does depends on when the fit stops. It needs ``between=0``.
    solver, init, max_iter, tol, eta, n_clusters, callback, random_state, verbose
        As for :class:`NMF`.
    rule : {"fast", "published"}, default="fast"
        "published" runs what Trigeorgis et al. compared with under the name DNMF: multiplicative updates from
        ``init="nndsvd"``, the scatter inside classes alone (they took ``within=10``), ``scale="none"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, of unit length.
    layers_ : list of Layer
        One layer; ``representation`` holds the codes of the fit, which know the labels.
    reconstruction_err_, objective_history_, n_iter_, converged_
        As for :class:`NMF`; the objective includes the penalty and with ``between > 0`` may be negative.

    See Also
    --------
    GNMF : Codes that are smooth over any graph.
    ClassDrivenNMF : Components belong to classes.

    References
    ----------
    S. Zafeiriou, A. Tefas, I. Buciu and I. Pitas, Exploiting discriminant information in nonnegative matrix
    factorization with application to frontal face verification, IEEE Transactions on Neural Networks 17, 2006.
    G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning attribute
    representations, IEEE TPAMI 39, 2017.

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

    _parameter_constraints: dict = {
        **Penalized._parameter_constraints,
        "within": [Interval(Real, 0, None, closed="left")],
        "between": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        within=_WITHIN,
        between=0.0,
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
        self._store(locals())

    _published = Published(init="nndsvd")

    def _problem(self, X, y, groups) -> Factorization:
        if self.between > 0 and not self._invariant:
            raise ValueError(
                f'between={self.between} has no minimum with scale="none" or rule="published": larger codes and '
                'smaller components lower the objective without end. Use scale="invariant", or between=0.'
            )
        data, attribute = wrap(X), read_attribute(y, X.shape[0])
        repels = self.between > 0 and len(attribute.classes) > 1
        if not repels and (self.within == 0 or attribute.class_sizes.max(initial=0) < 2):
            return self._factorization(data, [])
        operator = Scatter(attribute, self.within, self.between, self_loops=self.rule == "published")
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
    self_loops : bool, default=False
        Whether a sample is linked to itself, as in the published rule: it slows multiplicative updates, nothing else.
    """

    def __init__(self, attribute: Attribute, within: float, between: float, self_loops: bool = False):
        self.within, self.between = within, between
        self.codes, self.known, self.sizes = attribute.codes, attribute.known, attribute.class_sizes
        self.classes, self.self_loops = ClassOperator(attribute, normalize="class"), self_loops
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
        within, own = H.dtype.type(self.within), self.classes.self_loops.astype(H.dtype)[:, None]
        if self.self_loops:
            return LaplacianRows(
                lambda b: within * (plus(b) + own[b] * H[b]),
                lambda b: within * (minus(b) + own[b] * H[b]),
                lambda b: within * remainder(b),
            )
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

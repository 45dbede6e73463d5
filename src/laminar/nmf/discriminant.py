"""Discriminant NMF: codes that are close inside a class, and far apart between classes."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from .._base.factorizer import NonNegativeData
from .._base.penalized import Penalized
from .._engine.data.matrix import Matrix, Rows
from .._engine.penalties import Penalty, Smooth
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
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def _auto_init(self, data: Matrix, penalty: Penalty | None) -> str:
        return "nndsvd" if self.rule == "published" else super()._auto_init(data, penalty)

    def _penalty(self, X, data: Matrix, y, groups) -> Smooth | None:
        if self.between > 0 and not self._invariant:
            raise ValueError(
                f'between={self.between} has no minimum with scale="none" or rule="published": larger codes and '
                'smaller components lower the objective without end. Use scale="invariant", or between=0.'
            )
        attribute = read_attribute(y, data.shape[0])
        repels = self.between > 0 and len(attribute.classes) > 1
        if not repels and (self.within == 0 or attribute.class_sizes.max(initial=0) < 2):
            return None
        operator = Scatter(attribute, self.within, self.between, self_loops=self.rule == "published")
        return Smooth(operator, self._weight(1.0, data), self._invariant)


class Scatter:
    """``within (I - P) - between (P - M)`` over the labelled samples: P takes the mean of a class, M that of all.

    An operator as `penalties.Smooth` takes it; with ``between > 0`` it is indefinite.

    Parameters
    ----------
    attribute : Attribute
        The classes.
    within, between : float
        The weights.
    self_loops : bool, default=False
        Whether a sample pulls at itself, as in the published rule: it slows multiplicative updates, nothing else.
    """

    def __init__(self, attribute: Attribute, within: float, between: float, self_loops: bool = False):
        self.within, self.between = within, between
        self.codes, self.known, self.sizes = attribute.codes, attribute.known, attribute.class_sizes
        self.classes, self.self_loops = ClassOperator(attribute, normalize="class"), self_loops
        # Neither part of the second operator rises above zero.
        self.stiffness = within * self.classes.stiffness

    def parts(self, H: np.ndarray) -> tuple[Rows, Rows, Rows]:
        """As those of `graphs.GraphOperator`."""
        pushed, pulled, left = self._within(H)
        if not self.between:
            return pushed, pulled, left
        means, mean = self._means(H)
        repelled = (self.between * means).astype(H.dtype)
        held = (self.between * mean).astype(H.dtype)
        return (
            lambda b: pushed(b) + held * self.known[b, None],
            lambda b: pulled(b) + repelled[self.codes[b]],
            lambda b: left(b) + repelled[self.codes[b]] - held * self.known[b, None],
        )

    def _within(self, H: np.ndarray) -> tuple[Rows, Rows, Rows]:
        up, down, lean = self.classes.parts(H)
        within, own = H.dtype.type(self.within), self.classes.self_loops.astype(H.dtype)[:, None]
        if self.self_loops:
            return (
                lambda b: within * (up(b) + own[b] * H[b]),
                lambda b: within * (down(b) + own[b] * H[b]),
                lambda b: within * lean(b),
            )
        if within == 1:  # the default costs nothing
            return up, down, lean
        return lambda b: within * up(b), lambda b: within * down(b), lambda b: within * lean(b)

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

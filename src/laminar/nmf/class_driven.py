"""Class-driven NMF: components that belong to classes."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base.factorizer import NonNegativeData
from .._base.penalized import Penalized
from .._engine.data.matrix import Matrix
from .._engine.penalties import Sparing
from .._engine.problem import Problem
from .._utils import threads
from .._utils.labels import Attribute, read_attribute
from .._utils.typing import Data

_ALPHA = 1.0


class ClassDrivenNMF(NonNegativeData, Penalized):
    """NMF whose components belong to classes: what a labelled sample takes from another class has a price.

    ``||X - H Z||^2 + alpha sum_a ||z_a||_1 m_a^T h_a``, or the divergence in place of the squared error, everything
    non-negative. ``m_ia`` is 1 where the class of sample i is known and component a belongs to another. A sample of
    unknown class is free, and so is a component that belongs to none. One labelled sample of each class is enough.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components. None means ``components_per_class`` for every class in y. What it has beyond that belongs
        to no class; without labels it must be given.
    loss : {"frobenius", "kl"}, default="frobenius"
        Squared error, or generalised Kullback-Leibler divergence.
    components_per_class : int, default=1
        Components of each class.
    alpha : float, default=1.0
        The price; 0 is NMF.
    scale : {"invariant", "none"}, default="invariant"
        "none" is the published penalty, without the factors ||z_a||_1: it has no minimum, and what it does depends on
        when the fit stops.
    solver, init, max_iter, tol, eta, n_clusters, callback, random_state, verbose
        As for :class:`NMF`. The components of a start that is named are dealt to the classes that use them most; given
        ones stay in their order, class after class as in ``classes_``, those of no class last.
    rule : {"fast", "published"}, default="fast"
        "published" runs the iterations of Xiao et al. to the letter, with ``scale="none"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, of unit length (unit sum for the KL loss).
    classes_ : ndarray of shape (n_classes,)
        The classes in y, sorted.
    component_classes_ : ndarray of shape (n_components,)
        Position in ``classes_`` of the class each component belongs to; -1 if to none.
    layers_ : list of Layer
        One layer; ``representation`` holds the codes of the fit, which know the labels.
    reconstruction_err_, objective_history_, n_iter_, converged_
        As for :class:`NMF`; the objective includes the penalty, and is half of the sum above for the squared error.

    See Also
    --------
    ConstrainedNMF : Samples of one class share their codes.
    DiscriminantNMF : Codes of one class are close to each other.

    Notes
    -----
    `predict_class` answers with a class of y. `predict`, `fit_predict` and `cluster` give clusters, as they do for
    every other model.

    References
    ----------
    Y. Xiao, Z. Zhu, Y. Zhao and Y. Wei, Class-driven non-negative matrix factorization for image representation,
    Journal of Computer Science and Technology 28, 2013.

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
        alpha=_ALPHA,
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
        """Name the class whose components a sample has most of.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, seen before or not.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            One of ``classes_`` each.
        """
        check_is_fitted(self)
        if not len(self.classes_):
            raise ValueError(
                "this ClassDrivenNMF was fitted without labels and knows no classes; pass y to fit, with the class of "
                "one sample at least, or use predict for clusters."
            )
        owners = np.arange(len(self.classes_)) == self.component_classes_[:, None]
        return self.classes_[(self._transform(X) @ owners).argmax(1)]

    @property
    def _width(self) -> int:
        return len(self.component_classes_)

    def _penalty(self, X, data: Matrix, y, groups) -> Sparing | None:
        attribute = read_attribute(y, data.shape[0])
        owner = self._owners(attribute, y is None)
        self.classes_, self.component_classes_ = attribute.classes, owner
        if self.alpha == 0 or len(attribute.classes) < 2:
            return None
        # A row for each class and, found by the code -1, one of zeros for samples of unknown class.
        table = (owner >= 0) & (owner != np.arange(len(attribute.classes) + 1)[:, None])
        table[-1] = False
        table, codes = table.astype(data.dtype), attribute.codes
        # Of the squared error the engine minimises half. Components of a divergence sum to one instead.
        weight = self._weight(self.alpha if self.loss == "kl" else self.alpha / 2, data)
        return Sparing(lambda b: table[codes[b]], weight, self._invariant and self.loss == "frobenius")

    def _owners(self, attribute: Attribute, blank: bool) -> np.ndarray:
        """Class of each component, -1 for none."""
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

    def _settled(self, factors: dict[str, np.ndarray], problem: Problem) -> dict[str, np.ndarray]:
        factors = super()._settled(factors, problem)
        if problem.penalty is None or not isinstance(self.init, str):
            return factors
        # A start knows nothing of classes: its components go where they cost least, whatever the classes are called.
        H, mask = factors["H"], problem.penalty.mask
        price = sum(threads.each(lambda b: mask(b).T @ H[b], threads.blocks(len(H), 4096))) * factors["Z"].sum(0)
        _, order = linear_sum_assignment(price)
        # The places of a class cost the same: there they keep their order, or rounding would choose it.
        place = np.where(self.component_classes_ < 0, len(order), self.component_classes_)
        order = order[np.lexsort((order, place))]
        return {name: np.ascontiguousarray(F[:, order]) for name, F in factors.items()}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.n_components is None
        return tags

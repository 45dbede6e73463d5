"""Class-driven NMF: components that belong to classes."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base.factorizer import Factorization, NonNegativeData
from .._base.penalized import Penalized
from .._engine.data.matrix import Rows, wrap
from .._engine.linalg.blocked import cross
from .._engine.problem import Factors, sparse_codes
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
        self._store(locals())

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
        cost = _class_costs(problem.addends[1]("H", factors).mask, factors)
        _, order = linear_sum_assignment(cost)
        # The components of one class cost the same: they keep their order, which rounding would decide otherwise.
        place = np.where(self.component_classes_ < 0, len(order), self.component_classes_)
        order = order[np.lexsort((order, place))]
        return {name: np.ascontiguousarray(F[:, order]) for name, F in factors.items()}

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.n_components is None
        return tags


def _class_costs(mask: Rows, factors: Factors) -> np.ndarray:
    """Penalty of every component (columns) in the place of every other one (rows)."""
    H = factors["H"]
    return cross(mask(slice(0, len(H))), H, 4096) * factors["Z"].sum(0)


def _mask(attribute: Attribute, owner: np.ndarray, dtype: np.dtype) -> Rows:
    """M by rows: 1 where the class of a sample is known and the component belongs to another class."""
    # A row for each class and, for the code -1, one of zeros for samples of unknown class.
    table = (owner >= 0) & (owner != np.arange(len(attribute.classes) + 1)[:, None])
    table[-1] = False
    table, codes = table.astype(dtype), attribute.codes
    return lambda b: table[codes[b]]

"""Multi-layer non-negative matrix factorisation."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.coding import in_units_of
from .._base.factorizer import Factorizer, NonNegativeData
from .._engine.data.matrix import Matrix, wrap
from .._engine.problem import Chain, Factors, Problem
from .._engine.starts import STARTS
from .._engine.terms import KL, Quad
from .._utils import threads
from .._utils.callbacks import Hook, hooks, with_callbacks
from .._utils.typing import Data
from .layered import Layered
from .stacks import compose


@dataclass(frozen=True)
class SmoothedChain(Chain):
    """``data ~ H S Z``, where S replaces a part theta of every component by the mean of all.

    H sees the plain fit with components S Z, and Z the plain fit with codes H S.
    """

    theta: float = 0.0

    def term(self, name: str, F: Factors) -> Quad | KL:
        """The loss as factor ``name`` sees it."""
        return super().term(name, {other: f if other == name else smoothed(f, self.theta) for other, f in F.items()})


def smoothed(F: np.ndarray, theta: float) -> np.ndarray:
    """``F S`` with ``S = (1 - theta) I + theta / k``."""
    if theta == 0:
        return F
    S = np.full((F.shape[1],) * 2, theta / F.shape[1]) + (1 - theta) * np.eye(F.shape[1])
    return F @ S.astype(F.dtype)


class _Smoothed(NonNegativeData, Factorizer):
    """One layer, ``X ~ H S Z``: non-smooth NMF, whose H and Z are sparse because S is not."""

    def __init__(self, n_components, theta, *, loss, solver, init, max_iter, tol, eta, rule, callback, random_state):
        self.n_components = n_components
        self.theta = theta
        self.loss = loss
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.rule = rule
        self.callback = callback
        self.random_state = random_state
        self.verbose, self.n_clusters = 0, None

    def _chain(self, data: Matrix) -> SmoothedChain:
        return SmoothedChain(data, loss=self.loss, theta=self.theta)

    def _pair(self, factors: dict[str, np.ndarray], data: Matrix) -> dict[str, np.ndarray]:
        return factors | {"Z": smoothed(factors["Z"], self.theta)}

    def _warn(self) -> None:
        """The stack does, once."""


class MultiLayerNMF(NonNegativeData, Layered):
    """A stack of NMF layers, each learned from the codes of the one below it.

    ``X ~ H_1 S_1 Z_1``, then ``H_1 ~ H_2 S_2 Z_2``, and so on, everything non-negative: parts of parts. The matrix
    ``S = (1 - theta) I + theta / k`` smooths, so that the factors on both sides of it must be sparse to make up for it
    (non-smooth NMF). The layers are learned from the bottom up, one after the other.

    Parameters
    ----------
    layers : sequence of int, default=(625, 40)
        Size of each layer, from the input up.
    theta : float in [0, 1), default=0.5
        How much S smooths; 0 makes every layer a plain NMF.
    loss : {"frobenius", "kl"}, default="frobenius"
        Squared error, or generalised Kullback-Leibler divergence, in every layer.
    solver, max_iter, tol, eta, random_state
        Of each layer, as for :class:`NMF`.
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"} or list, default="auto"
        Where to start; a list has an entry for each layer, a name or a pair of arrays (H, Z).
    rule : {"fast", "published"}, default="fast"
        "published" runs the multiplicative iterations of the paper to the letter.
    n_clusters : int or None, default=None
        For `predict`; None means the number of components of the top layer.
    callback : callable or None, default=None
        Called with (iteration, objective, seconds), the iterations of all layers counted in a row, the objective that
        of the layer at hand. Stops the fit by returning True: layers not begun by then are swept once.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    layers_ : list of Layer
        From the input up. ``weights`` are ``S Z`` with rows of unit length (unit sum for the KL loss), times
        codes they give the codes below; ``components`` the same down to the features of X; ``representation`` the codes
        of the training samples.
    components_ : ndarray of shape (layers[-1], n_features)
        The components of the top layer.
    reconstruction_err_ : float
        ``||X - H Z||`` with the codes and components of the top layer, or the divergence.
    objective_histories_ : list of ndarray
        ``1/2 ||V - H S Z||^2``, or the divergence, sweep by sweep, V being X or the codes of the layer below.
    objective_history_ : ndarray
        That of the top layer.
    n_iter_ : int
        Number of sweeps of the layer that took most.
    converged_ : bool
        Whether every layer stopped by itself.

    See Also
    --------
    NMF : One layer.

    Notes
    -----
    `transform` goes up the stack: the best non-negative codes of the samples on the first layer, then the best codes
    of those on the second. ``method="pinv"`` asks the components of the layer at once.

    Between two factors with S in the middle, no scaling of Z can be undone by one of H: what is brought to unit length
    is S Z, which leaves the product as it is.

    References
    ----------
    H. Song and S. Lee, Hierarchical representation using NMF, ICONIP 2013.
    A. Pascual-Montano et al., Nonsmooth nonnegative matrix factorization (nsNMF), IEEE TPAMI 28, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import MultiLayerNMF
    >>> X = np.random.default_rng(0).gamma(1.0, size=(20, 8))
    >>> model = MultiLayerNMF(layers=(5, 2), random_state=0).fit(X)
    >>> model.transform(X, layer=0).shape, model.transform(X).shape, model.components_.shape
    ((20, 5), (20, 2), (2, 8))
    """

    _parameter_constraints: dict = {
        **{name: c for name, c in Factorizer._parameter_constraints.items() if name != "n_components"},
        "layers": ["array-like", Integral],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "loss": [StrOptions({"frobenius", "kl"})],
        "init": [StrOptions({"auto", *STARTS}), tuple, list],
    }

    def __init__(
        self,
        layers=(625, 40),
        *,
        theta=0.5,
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
        self.layers = layers
        self.theta = theta
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
        """Learn the layers of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted model.
        """
        self._validate_params()
        starts = self._starts()
        X = self._validate(X, reset=True)
        with threads.own_threads(), hooks(self, self.max_iter * len(starts), X, y) as hook:
            self._keep(wrap(X), self._fit_layers(X, starts, hook))
        return self

    def _starts(self) -> list:
        """Where each layer starts."""
        starts = [self.init] * len(self._sizes) if isinstance(self.init, str) else list(self.init)
        if len(starts) != len(self._sizes):
            raise ValueError(f"init must hold a start for each of the {len(self._sizes)} layers, got {len(starts)}.")
        for i, start in enumerate(starts):
            known = start in ("auto", *STARTS) if isinstance(start, str) else isinstance(start, tuple | list)
            if not known:
                what = repr(start) if isinstance(start, str) else type(start).__name__
                raise ValueError(
                    f"init: layer {i} must start from a pair of arrays (H, Z) or from one of "
                    f"{', '.join(['auto', *STARTS])}; got {what}."
                )
        return starts

    def _fit_layers(self, X, starts: list, hook: Hook) -> list[_Smoothed]:
        """Fit one layer after the other."""
        shared = {name: getattr(self, name) for name in _Smoothed._get_param_names() if name != "n_components"}
        models, done, stopped = [], 0, False

        def tell(iteration: int, objective: float, _: float) -> bool:
            nonlocal stopped
            stopped = stopped or hook(done + iteration, objective)
            return stopped

        for k, start in zip(self._sizes, starts, strict=True):
            models.append(_Smoothed(k, **(shared | {"init": start, "callback": tell})).fit(X))
            done, X = done + models[-1].n_iter_, models[-1].layers_[0].representation
        return models

    def _keep(self, data: Matrix, models: list[_Smoothed]) -> None:
        """Set the fitted attributes."""
        codes, weights = ([getattr(m.layers_[0], name) for m in models] for name in ("representation", "weights"))
        self._keep_layers(codes, weights, compose(weights))
        top = {"H": codes[-1] / data.dtype.type(data.scale), "Z": np.ascontiguousarray(self.components_.T)}
        error = Problem(Chain(data, loss=self.loss)).value(top)
        self.reconstruction_err_ = float(np.sqrt(2 * error) if self.loss == "frobenius" else error) * data.scale
        self.objective_histories_ = [model.objective_history_ for model in models]
        self.objective_history_ = self.objective_histories_[-1]
        self.n_iter_ = max(model.n_iter_ for model in models)
        self.converged_ = all(model.converged_ for model in models)
        self._warn()

    # ---- coding --------------------------------------------------------------------------------------------------

    def _code(self, X, layer: int, method: str) -> np.ndarray:
        if method == "pinv":
            return super()._code(X, layer, method)
        with threads.own_threads():
            data = wrap(X)
            H = self._climb(data, range(len(self.layers_))[layer] + 1)
        return in_units_of(data, H)

    def _codes(self, data: Matrix, H: np.ndarray, components: np.ndarray | None = None) -> np.ndarray:
        if components is None:
            return self._climb(data, len(self.layers_))
        return super()._codes(data, H, components)

    def _climb(self, data: Matrix, n_layers: int) -> np.ndarray:
        """Codes of the samples, codes of these, and so on; in unit scale."""
        unit = 1.0
        for layer in self.layers_[:n_layers]:
            H = self._codes(data, self._blank(data, layer.weights), layer.weights)
            H *= data.dtype.type(unit)
            data = wrap(H)
            unit = data.scale
        return H

"""Multi-layer non-negative matrix factorisation."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.coding import in_units_of
from .._base.factorizer import Factorization, Factorizer, NonNegativeData
from .._base.rules import Rule
from .._engine.data.matrix import Matrix, wrap
from .._engine.monitor import Monitor, Solution
from .._engine.problem import FITS, Addend, Factors, fit, loss_value
from .._engine.solve import solve
from .._engine.starts import STARTS
from .._engine.terms import Term
from .._utils import threads
from .._utils.callbacks import Hook, hooks, with_callbacks
from .._utils.typing import Data
from .composition import compose
from .layered import Layered


def smoothed(F: np.ndarray, theta: float) -> np.ndarray:
    """``F S`` with ``S = (1 - theta) I + theta / k 1 1^T``."""
    if theta == 0:
        return F
    S = np.full((F.shape[1],) * 2, theta / F.shape[1]) + (1 - theta) * np.eye(F.shape[1])
    return F @ S.astype(F.dtype)


def smoothed_fit(data: Matrix, loss: str, theta: float) -> Addend:
    """``1/2 ||X - H S Z||^2``, or the divergence: H has the plain fit with components S Z, Z that with codes H S."""
    plain = fit(data, loss)

    def term(name: str, F: Factors) -> Term:
        return plain(name, {other: factor if other == name else smoothed(factor, theta) for other, factor in F.items()})

    return term


class MultiLayerNMF(NonNegativeData, Layered, Factorizer):
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

    _fast = Rule(subsample=False)

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
        self._store(locals())

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
        self._check_parameters()
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

    def _fit_layers(self, X, starts: list, hook: Hook) -> list[tuple[np.ndarray, np.ndarray, Solution]]:
        """Return codes, weights and the solution of one layer after the other."""
        layers, done = [], 0

        def callback(iteration: int, objective: float, _: float) -> bool:
            # Once stopped, the layers that are left are swept once each.
            nonlocal stopped
            stopped = stopped or hook(done + iteration, problem.in_units(objective))
            return stopped

        stopped = False
        for k, init in zip(self._sizes, starts, strict=True):
            problem = self._layer_problem(wrap(X), k)
            solution = solve(
                problem,
                self._start_from(init, problem, X),
                self._updates(problem),
                monitor=Monitor(self.max_iter, self.tol, callback),
                extrapolate=self._rule.extrapolate,
                evaluate_every=FITS[self.loss].evaluate_every,
            )
            solution.history = list(problem.in_units(np.array(solution.history)))
            solution.factors["Z"] = smoothed(solution.factors["Z"], self.theta)
            H, Z = self._canonical(solution, problem)
            X = in_units_of(problem.data, H)
            layers.append((X, np.ascontiguousarray(Z.T), solution))
            done += solution.n_iter
        return layers

    def _layer_problem(self, data: Matrix, k: int) -> Factorization:
        problem = self._factorization(data, [], n_components=k)
        return replace(problem, addends=[smoothed_fit(data, self.loss, self.theta)])

    def _keep(self, data: Matrix, layers: list[tuple[np.ndarray, np.ndarray, Solution]]) -> None:
        """Set the fitted attributes."""
        codes, weights, solutions = (list(parts) for parts in zip(*layers, strict=True))
        self._keep_layers(codes, weights, compose(weights))
        Z = np.ascontiguousarray(self.components_.T)
        error = loss_value(data, self.loss, codes[-1] / data.dtype.type(data.scale), Z)
        self.reconstruction_err_ = float(np.sqrt(2 * error) if self.loss == "frobenius" else error) * data.scale
        self.objective_histories_ = [np.array(solution.history) for solution in solutions]
        self.objective_history_ = self.objective_histories_[-1]
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.converged_ = all(solution.converged for solution in solutions)
        self._warn_unconverged()

    # ---- coding --------------------------------------------------------------------------------------------------

    def _code(self, X, layer: int, method: str) -> np.ndarray:
        if method == "pinv":
            return super()._code(X, layer, method)
        with threads.own_threads():
            data = wrap(X)
            H = self._code_layers(data, range(len(self.layers_))[layer] + 1)
        return in_units_of(data, H)

    def _score_codes(self, data: Matrix) -> np.ndarray:
        return self._code_layers(data, len(self.layers_))

    def _code_layers(self, data: Matrix, n_layers: int) -> np.ndarray:
        """Return codes of the samples, codes of these, and so on; in unit scale."""
        unit = 1.0
        for layer in self.layers_[:n_layers]:
            H = self._codes(data, self._uniform_codes(data, layer.weights), layer.weights)
            H *= data.dtype.type(unit)
            data = wrap(H)
            unit = data.scale
        return H

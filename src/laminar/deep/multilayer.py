"""Multi-layer non-negative matrix factorisation."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.coding import in_units_of
from .._base.factorizer import Factorization, Factorizer, NonNegativeData
from .._base.rules import Rule
from .._engine.data.matrix import Matrix
from .._engine.data.wrap import wrap
from .._engine.monitor import Monitor, Snapshot, Solution
from .._engine.problem import Addend, Factors, fit, loss_value
from .._engine.solve import solve
from .._engine.starts import STARTS
from .._engine.terms import Term
from .._utils import threads
from .._utils.callbacks import Hook, hooks, with_callbacks
from .._utils.typing import Data
from .composition import compose
from .layered import Layered
from .pretraining import layer_sizes


def smoothed(F: np.ndarray, theta: float) -> np.ndarray:
    """Return ``F S`` with ``S = (1 - theta) I + theta / k 1 1^T``."""
    if theta == 0:
        return F
    S = np.full((F.shape[1],) * 2, theta / F.shape[1]) + (1 - theta) * np.eye(F.shape[1])
    return F @ S.astype(F.dtype)


def smoothed_fit(data: Matrix, loss: str, theta: float) -> Addend:
    """Return ``1/2 ||X - H S Z||^2``, or the divergence: the fit with components S Z for H, with codes H S for Z."""
    plain = fit(data, loss)

    def term(name: str, F: Factors) -> Term | None:
        return plain(name, {other: factor if other == name else smoothed(factor, theta) for other, factor in F.items()})

    return term


class MultiLayerNMF(NonNegativeData, Layered, Factorizer):
    """Multi-layer NMF: a stack of non-smooth NMF layers, each learned from the codes of the one below.

    Layer i minimises, after the layers below it and with them fixed, over H_i >= 0 (n_samples, k_i), its codes, and Z_i
    >= 0 (k_i, k_{i-1}), its weights::

        1/2 ||H_{i-1} - H_i S_i Z_i||^2,   or with loss="kl"   D(H_{i-1} || H_i S_i Z_i),   H_0 = X                 (1)

    with k_0 = n_features and S_i = (1 - theta) I + theta / k_i, all entries of the second term equal. S_i mixes the
    components, so that H_i and Z_i are sparse [2]_. The codes of the top layer take the place of scikit-learn's W, the
    product of the weights S_i Z_i that of its H.

    Parameters
    ----------
    layers : sequence of int, int or None, default=None
        Size k_1, ..., k_m of each layer, from the input up. None is two layers, of a half and a quarter of the number
        of samples or features, whichever is smaller, at most 625 and 40.
    theta : float in [0, 1), default=0.5
        Smoothness of S_i; with 0 every layer is NMF.
    loss : {"frobenius", "kl"}, default="frobenius"
        Half the squared error, or the generalised Kullback-Leibler divergence (counts, spectra, text), in every layer.
    solver : {"auto", "hals", "mu", "apg"}, default="auto"
        Update of the non-negative factors: HALS, that is coordinate descent over columns; multiplicative updates; or
        the accelerated projected gradient of NeNMF. "auto" is "hals", but "mu" for ``loss="kl"`` and for
        ``rule="published"``, which exclude "hals" and "apg".
    init : {"auto", "random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"} or list, default="auto"
        Initialiser of every layer; or a list with one entry for each layer, a name or a pair of arrays (H_i, Z_i) of
        shapes (n_samples, k_i) and (k_i, k_{i-1}). "auto" is "nndsvda".
    max_iter : int, default=500
        Maximum number of iterations of each layer. One iteration updates H_i and Z_i once.
    tol : float, default=1e-4
        A layer has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update; None means 1. Other than None it needs ``solver="mu"``, ``loss="kl"`` or
        ``rule="published"``.
    rule : {"fast", "published"}, default="fast"
        "published" makes the multiplicative updates of [1]_ and [2]_, without extrapolation.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means the size of the top layer.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform` and
        `cluster`. "auto" returns raw codes and clusters those of 0.75.
    layer : int or "all", default=-1
        Layer that `transform`, `fit_transform`, `cluster`, `predict` and `fit_predict` use: its position in
        ``layers_``, or "all", the codes of all layers side by side.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`, the iterations of all layers
        counted on, the objective that of the layer that is being fitted. The fit stops when it returns True; layers not
        begun by then make one iteration.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    layers_ : list of Layer
        From the input up. ``weights`` is S_i Z_i of shape (k_i, k_{i-1}), with rows of unit Euclidean norm, or unit sum
        with ``loss="kl"``; ``components`` is the product of the weights down to the features, of shape (k_i,
        n_features); ``representation`` is H_i of shape (n_samples, k_i), the codes of the training samples.
    components_ : ndarray of shape (k_m, n_features)
        The components of the top layer, ``layers_[-1].components``.
    clusters_ : Clusters
        k-means of the codes of ``layer`` in the form of ``readout``, fitted when `predict`, `fit_predict` or `cluster`
        first needs it.
    reconstruction_err_ : float
        ``||X - H_m S_m Z_m ... S_1 Z_1||``, the Frobenius norm of the residual; with ``loss="kl"`` the divergence.
    objective_histories_ : list of ndarray
        The objective (1) of each layer after each accepted iteration; with ``loss="kl"`` after the first, every tenth
        and the last.
    objective_history_ : ndarray of shape (n_evaluations,)
        That of the top layer.
    history_iterations_ : ndarray of shape (n_evaluations,)
        The iteration of each entry of ``objective_history_``.
    n_iter_ : int
        Number of iterations of the layer that made most.
    converged_ : bool
        Whether every layer met ``tol`` within ``max_iter`` iterations.
    kkt_residual_ : float or None
        KKT residual at the beginning of the last sweep: 0 at a stationary point, and without scale. The largest of
        all layers, None if none is known.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    NMF : One layer.
    DeepSemiNMF : Weights of any sign, layers that are fitted together.

    Notes
    -----
    **Algorithm.** (1) is NMF for H_i with the components S_i Z_i, and for Z_i with the codes H_i S_i. With V = H_{i-1},
    Z' = S_i Z_i and H' = H_i S_i, one iteration is HALS as in `NMF`, with B = V Z'^T and G = Z' Z'^T for H_i, and B =
    V^T H' and G = H'^T H' for Z_i^T, with an extrapolation after [3]_. ``rule="published"`` (docs/methods.md 4.13)::

        H_i <- H_i * (V Z'^T) / (H_i Z' Z'^T),     Z_i <- Z_i * (H'^T V) / (H'^T H' Z_i)                            (2)

    and with ``loss="kl"`` the corresponding rules of `NMF`. None of these increases (1). After each layer the rows of
    S_i Z_i are brought to unit norm, the codes scaled accordingly, and with ``rule="fast"`` the codes are replaced by
    the minimiser of (1) over H_i >= 0.

    `transform` goes up the stack: the best non-negative codes of the samples on the first layer, then of these on the
    second, and so on. ``method="pinv"`` uses the components of the layer directly. No fine-tuning of all layers
    together is made, and no function is applied between them.

    References
    ----------
    .. [1] H. Song and S.-Y. Lee, Hierarchical representation using NMF, International Conference on Neural Information
       Processing (ICONIP), 2013.
    .. [2] A. Pascual-Montano, J. Carazo, K. Kochi, D. Lehmann and R. Pascual-Marqui, Nonsmooth nonnegative matrix
       factorization (nsNMF), IEEE TPAMI 28, 2006. doi:10.1109/TPAMI.2006.60.
    .. [3] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

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
        **{
            name: c
            for name, c in Factorizer._parameter_constraints.items()
            if name not in ("n_components", "warm_start")
        },
        "layers": ["array-like", Integral, None],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "loss": [StrOptions({"frobenius", "kl"})],
        "init": [StrOptions({"auto", *STARTS}), tuple, list],
    }

    _fast = Rule()

    def __init__(
        self,
        layers=None,
        *,
        theta=0.5,
        loss="frobenius",
        solver="auto",
        init="auto",
        max_iter=500,
        tol=1e-4,
        eta=None,
        rule="fast",
        n_clusters=None,
        readout="auto",
        layer=-1,
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
        self.readout = readout
        self.layer = layer
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Fit the layers to X, one after the other.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_parameters()
        X = self._validate(X, reset=True)
        self._sizes = layer_sizes(self.layers, *X.shape)
        self._check_layer(len(self._sizes))
        starts = self._starts()
        with threads.own_threads(), hooks(self, self.max_iter * len(starts), X, y) as hook:
            self._keep(wrap(X), self._fit_layers(X, starts, hook))
        self._warn_unconverged()
        return self

    def _starts(self) -> list:
        """Return the start of each layer."""
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
            self._check_start(start)
        return starts

    def _fit_layers(self, X, starts: list, hook: Hook) -> list[tuple[np.ndarray, np.ndarray, Solution]]:
        """Return codes, weights and the solution of one layer after the other."""
        data = wrap(X)
        layers: list[tuple[np.ndarray, np.ndarray, Solution]] = []
        done, stopped = 0, False

        def callback(iteration: int, objective: float, snapshot: Snapshot) -> bool:
            # Once stopped, the layers that are left are swept once each.
            nonlocal stopped

            def fitted() -> MultiLayerNMF:
                factors = {name: F.copy() for name, F in snapshot().items()}
                value = float(problem.in_units(objective))
                at = Solution(factors, [value], iteration, False, [iteration])
                model = copy(self)
                if len(layers) + 1 < len(self._sizes):
                    model.layer = -1  # the top of those begun
                return model._keep(data, [*layers, self._finished(at, problem)])

            stopped = stopped or hook(done + iteration, problem.in_units(objective), fitted)
            return stopped

        for k, init in zip(self._sizes, starts, strict=True):
            problem = self._layer_problem(wrap(X), k)
            solution = solve(
                problem,
                self._start_from(init, problem, X),
                self._updates(problem),
                monitor=Monitor(self.max_iter, self.tol, callback),
                extrapolate=self._rule.extrapolate,
                evaluate_every=self._evaluate_every,
            )
            solution.history = list(problem.in_units(np.array(solution.history)))
            layers.append(self._finished(solution, problem))
            X = layers[-1][0]
            done += solution.n_iter
        return layers

    def _finished(self, solution: Solution, problem: Factorization) -> tuple[np.ndarray, np.ndarray, Solution]:
        """Return codes, weights and the solution of a layer."""
        solution.factors["Z"] = smoothed(solution.factors["Z"], self.theta)
        H, Z = self._canonical(solution, problem)
        return in_units_of(problem.data, H), np.ascontiguousarray(Z.T), solution

    def _layer_problem(self, data: Matrix, k: int) -> Factorization:
        problem = self._factorization(data, [], n_components=k)
        return replace(problem, addends=[smoothed_fit(data, self.loss, self.theta)])

    def _keep(self, data: Matrix, layers: list[tuple[np.ndarray, np.ndarray, Solution]]) -> Self:
        """Set the fitted attributes."""
        codes, weights, solutions = (list(parts) for parts in zip(*layers, strict=True))
        self._keep_layers(codes, weights, compose(weights))
        Z = np.ascontiguousarray(self.components_.T)
        error = loss_value(data, self.loss, codes[-1] / data.dtype.type(data.scale), Z)
        self.reconstruction_err_ = float(np.sqrt(2 * error) if self.loss == "frobenius" else error) * data.scale
        self.objective_histories_ = [np.array(solution.history) for solution in solutions]
        self.objective_history_ = self.objective_histories_[-1]
        self.history_iterations_ = np.array(solutions[-1].iterations)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.converged_ = all(solution.converged for solution in solutions)
        residuals = [solution.residual for solution in solutions if solution.residual is not None]
        self.kkt_residual_ = max(residuals, default=None)
        return self

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

"""`Deep`: what models of several layers share. A fit is codes and weights of every layer, however it was reached."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from . import published, updates
from .constraints import Free, NonNegative
from .coupled import Coupled
from .data import Matrix
from .graphs import GraphOperator
from .init import STARTS
from .layered import Layered
from .problem import Chain, Problem
from .readout import Clusters
from .solve import Callback, solve
from .stacks import NarrowLeastSquares, canonical, compose, is_narrow, keep_close, pretrain

Graphs = Sequence[tuple[float, GraphOperator] | None]
SEMI = {"H": NonNegative(), "Z": Free()}
_ROUGHLY = 20  # sweeps of pre-training


@dataclass
class Fit:
    """Codes and weights of every layer, in unit scale, and how they were reached."""

    codes: list[np.ndarray]
    weights: list[np.ndarray]
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = True
    spherical: bool = False  # the top codes have directions of their own: clusters are not to whiten them


class Deep(Layered):
    """The linear stack: pre-training, fine-tuning, and what is kept of them."""

    _parameter_constraints: dict = {
        "layers": ["array-like", Integral],
        "activation": [StrOptions({"stanh", "square", "relu", "softplus", "sigmoid"}), None],
        "solver": [StrOptions({"auto", "hals", "mu", "apg", "lbfgs", "adam"})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions({"auto", *STARTS})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions({"fast", "published"})],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _constraints: dict = SEMI

    # ---- parts of a fit ------------------------------------------------------------------------------------------

    def _rule(self) -> updates.Update:
        return {"mu": updates.multiplicative, "apg": updates.accelerated_gradient}.get(self.solver, updates.careful)

    def _pretrain(
        self, data: Matrix, sizes: Sequence[int], sweeps: int = _ROUGHLY
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Semi-NMF layer by layer, roughly: fine-tuning follows."""
        name = "lp" if self.init == "auto" else self.init
        rng = check_random_state(self.random_state)
        # On non-negative X that start is the optimum of every layer: a sweep could add nothing but rounding.
        sweeps = 0 if name == "lp" and data.nonnegative else sweeps
        rules = {"H": self._rule(), "Z": updates.least_squares}

        def codes(below: Matrix, k: int) -> np.ndarray:
            H, Z = (np.array(F, data.dtype, order="C") for F in STARTS[name](below, k, rng))
            if self.solver == "mu":  # a multiplicative rule never leaves an exact zero
                H = np.maximum(H, 1e-3 * H.mean())
            problem = Problem(Chain(below), SEMI)
            return solve(problem, {"H": H, "Z": Z}, rules, max_iter=sweeps, tol=1e-3, extrapolate=True).best["H"]

        return pretrain(data, sizes, codes)

    def _begin(self, data: Matrix, init) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Codes and weights to start from: another model's, or greedy."""
        if init is None:
            # One layer has no other to be ready for: fine-tuning is all there is.
            return self._pretrain(data, self._sizes, _ROUGHLY if len(self._sizes) > 1 else 0)
        weights = self._given_weights(init, data)
        bases = compose(weights)
        codes = [self._codes(data, np.zeros((data.shape[0], len(B)), data.dtype), B) for B in bases]
        return codes, weights

    def _fine_tune(self, data: Matrix, codes, weights, callback: Callback) -> Fit:
        """All layers at once. Of the squared error of the whole product only the top codes and the top basis matter:
        it is Semi-NMF from where pre-training ended, two passes over X a sweep at any depth.
        """
        narrow = NarrowLeastSquares(weights) if is_narrow(weights) else None
        state = solve(
            Problem(Chain(data), SEMI),
            _top(codes, weights),
            {"H": self._rule(), "Z": narrow or updates.least_squares},
            max_iter=self.max_iter,
            tol=self.tol,
            # A leap would leave the bases that a narrow stack can reach.
            extrapolate=narrow is None,
            callback=callback,
        )
        before, codes = compose(weights)[:-1], [*codes[:-1], state.best["H"]]
        if narrow:
            weights = narrow.weights
        elif self.max_iter:
            weights = keep_close(weights, np.ascontiguousarray(state.best["Z"].T))
        moved = [np.linalg.norm(B - A) > 1e-3 * np.linalg.norm(A) for A, B in zip(before, compose(weights)[:-1], strict=True)]
        # Exact codes are found most safely on components of unit length.
        codes, weights, _ = canonical(codes, weights)
        for i, (basis, stale) in enumerate(zip(compose(weights), [*moved, True], strict=True)):
            if stale:  # a read-out of a basis that has moved, and the top
                codes[i] = self._codes(data, codes[i], basis)
        return Fit(codes, weights, state.history, state.n_iter, state.converged or not self.max_iter)

    def _couple(self, data: Matrix, codes, weights, graphs: Graphs, callback: Callback) -> Fit:
        """All layers as variables, each tied to its neighbours."""
        m = len(codes)
        start = {f"H{i + 1}": codes[i] for i in range(m)} | {f"Z{i + 1}": weights[i].T.copy() for i in range(m)}
        problem = Coupled(data, m, self.coupling, graphs)
        rules = {name: updates.for_constraint(self._rule(), c) for name, c in problem.constraints.items()}
        state = solve(
            problem, start, rules, max_iter=self.max_iter, tol=self.tol, extrapolate=True, callback=callback
        )
        codes, weights = ([state.best[f"{name}{i + 1}"] for i in range(m)] for name in "HZ")
        history = state.history or [problem.value(start)]
        return Fit(codes, [Z.T.copy() for Z in weights], history, state.n_iter, state.converged or not self.max_iter)

    def _publish(self, X, data: Matrix, graphs: Graphs, callback: Callback) -> Fit:
        """The published algorithm, from random codes: as many sweeps of pre-training as of fine-tuning."""
        rng, sweeps = check_random_state(self.random_state), self.max_iter
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64) / data.scale
        codes, weights = published.greedy(X, self._sizes, graphs, rng, max_iter=sweeps)
        codes, weights, history = published.algorithm(X, codes, weights, graphs, max_iter=sweeps, callback=callback)
        cast = [[F.astype(data.dtype) for F in factors] for factors in (codes, weights)]
        return Fit(*cast, history, len(history))

    def _keep(self, data: Matrix, fit: Fit) -> None:
        """Bring a fit to its canonical scale and set the fitted attributes."""
        codes, weights, sizes = canonical(fit.codes, fit.weights)
        bases = compose(weights)
        error = Problem(Chain(data)).value({"H": codes[-1], "Z": np.ascontiguousarray(bases[-1].T)})
        self.reconstruction_err_ = float(np.sqrt(2 * error)) * data.scale
        self._keep_layers([H * data.dtype.type(data.scale) for H in codes], weights, bases)
        if fit.spherical:
            back = np.divide(1 / data.scale, sizes[-1], out=np.zeros_like(sizes[-1]), where=sizes[-1] > 0)
            self.clusters_ = Clusters(self.layers_[-1].representation, self.random_state, np.diag(back))
        # Directions on a sphere know nothing of the units of X.
        self.objective_history_ = np.array(fit.history or [error]) * (1.0 if fit.spherical else self._unit(data))
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged


def in_units(hook: Callback, unit: float) -> Callback:
    """A callback that is told of objectives in unit scale, and tells the hook of them as they are and of the time."""
    began = time.perf_counter()
    return lambda i, value, seconds: hook(i, value * unit, time.perf_counter() - began)


def _top(codes, weights) -> dict[str, np.ndarray]:
    """Codes and (transposed) basis of the last layer."""
    return {"H": codes[-1], "Z": np.ascontiguousarray(compose(weights)[-1].T)}

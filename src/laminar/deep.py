"""`Deep`: what models of several layers share. A fit is codes and weights of every layer, however it was reached."""

from __future__ import annotations

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

    def _pretrain(self, data: Matrix, sizes: Sequence[int]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Semi-NMF layer by layer, roughly: fine-tuning follows."""
        name = "lp" if self.init == "auto" else self.init
        rng = check_random_state(self.random_state)
        # On non-negative X that start is the optimum of every layer: a sweep could add nothing but rounding.
        sweeps = 0 if name == "lp" and data.nonnegative else _ROUGHLY
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
            return self._pretrain(data, self._sizes)
        weights = self._given_weights(init, data)
        bases = compose(weights)
        codes = [self._codes(data, np.zeros((data.shape[0], len(B)), data.dtype), B) for B in bases]
        return codes, weights

    def _fine_tune(self, data: Matrix, codes, weights, callback: Callback) -> Fit:
        """All layers at once. Of the squared error of the whole product only the top codes and the top basis matter:
        it is Semi-NMF from where pre-training ended, two passes over X a sweep at any depth.
        """
        if self.max_iter == 0:
            codes[-1] = self._codes(data, codes[-1], compose(weights)[-1])
            return Fit(codes, weights, [Problem(Chain(data)).value(_top(codes, weights))])
        narrow = NarrowLeastSquares(weights) if is_narrow(self._sizes) else None
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
        before, top = weights, np.ascontiguousarray(state.best["Z"].T)
        weights = narrow.weights if narrow else keep_close(weights, top)
        codes = [*codes[:-1], self._codes(data, state.best["H"], top)]
        bases = zip(compose(before)[:-1], compose(weights)[:-1], strict=True)
        for i, (old, new) in enumerate(bases):
            if np.linalg.norm(new - old) > 1e-3 * np.linalg.norm(old):  # a read-out of a basis that has moved
                codes[i] = self._codes(data, codes[i], new)
        return Fit(codes, weights, state.history, state.n_iter, state.converged)

    def _couple(self, data: Matrix, codes, weights, graphs: Graphs, callback: Callback) -> Fit:
        """All layers as variables, each tied to its neighbours."""
        m = len(codes)
        start = {f"H{i + 1}": codes[i] for i in range(m)} | {f"Z{i + 1}": weights[i].T.copy() for i in range(m)}
        problem = Coupled(data, m, self.coupling, graphs)
        rules = {name: updates.for_constraint(self._rule(), c) for name, c in problem.constraints.items()}
        state = solve(problem, start, rules, max_iter=max(self.max_iter, 1), tol=self.tol, callback=callback)
        codes, weights = ([state.best[f"{name}{i + 1}"] for i in range(m)] for name in "HZ")
        return Fit(codes, [Z.T.copy() for Z in weights], state.history, state.n_iter, state.converged)

    def _publish(self, X, data: Matrix, graphs: Graphs, callback: Callback) -> Fit:
        """The published algorithm, from random codes: as many sweeps of pre-training as of fine-tuning."""
        rng, sweeps = check_random_state(self.random_state), max(self.max_iter, 1)
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64) / data.scale
        codes, weights = published.greedy(X, self._sizes, graphs, rng, max_iter=sweeps)
        codes, weights, history = published.algorithm(X, codes, weights, graphs, max_iter=sweeps, callback=callback)
        cast = [[F.astype(data.dtype) for F in factors] for factors in (codes, weights)]
        return Fit(*cast, history, len(history))

    def _keep(self, data: Matrix, fit: Fit) -> None:
        """Bring a fit to its canonical scale and set the fitted attributes."""
        codes, weights, sizes = canonical(fit.codes, fit.weights)
        bases = compose(weights)
        top = {"H": codes[-1], "Z": np.ascontiguousarray(bases[-1].T)}
        self.reconstruction_err_ = float(np.sqrt(2 * Problem(Chain(data)).value(top))) * data.scale
        self._keep_layers([H * data.dtype.type(data.scale) for H in codes], weights, bases)
        if fit.spherical:
            back = np.divide(1 / data.scale, sizes[-1], out=np.zeros_like(sizes[-1]), where=sizes[-1] > 0)
            self.clusters_ = Clusters(self.layers_[-1].representation, self.random_state, np.diag(back))
        self.objective_history_ = np.array(fit.history) * data.scale**2
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged
        self._warn()


def _top(codes, weights) -> dict[str, np.ndarray]:
    """Codes and (transposed) basis of the last layer."""
    return {"H": codes[-1], "Z": np.ascontiguousarray(compose(weights)[-1].T)}

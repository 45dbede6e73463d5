"""`Deep`: what models of several layers share. A fit is codes and weights of every layer, however it was reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.clusters import Clusters
from .._base.coding import in_units_of
from .._engine import updates
from .._engine.constraints import Free, NonNegative
from .._engine.data.matrix import Matrix, dense
from .._engine.data.svd import rough_svd, truncated_svd
from .._engine.problem import Chain, Problem
from .._engine.solve import solve
from .._engine.starts import STARTS, named_start, nonnegative_basis
from .._utils.callbacks import Hook
from ..graphs import GraphOperator
from . import published
from .coupled import Coupled
from .layered import Layered
from .stacks import NarrowLeastSquares, canonical, compose, is_narrow, keep_close, pretrain, regress

Graphs = Sequence[tuple[float, GraphOperator] | None]
SEMI = {"H": NonNegative(), "Z": Free()}
_ROUGHLY = 20  # sweeps of pre-training
_WIDE = 200  # components of a hidden layer from which on they need not be exact to the last digit


@dataclass
class Fit:
    """Codes and weights of every layer, in unit scale, and how they were reached."""

    codes: list[np.ndarray]
    weights: list[np.ndarray]
    history: list[float]
    n_iter: int
    converged: bool
    lengths: np.ndarray | None = None  # top codes over these have directions of their own, not to be whitened


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

    def _told(self, data: Matrix, hook: Hook) -> Hook:
        """A callback that hears of objectives in unit scale and passes them on in the units of X."""
        unit = self._unit(data)
        return lambda i, value, *_: hook(i, value * unit)

    # ---- parts of a fit ------------------------------------------------------------------------------------------

    def _rule(self) -> updates.Update:
        return {"mu": updates.multiplicative, "apg": updates.accelerated_gradient}.get(
            self.solver, updates.hals_or_exact
        )

    def _pretrain(
        self, data: Matrix, sizes: Sequence[int], sweeps: int = _ROUGHLY
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Semi-NMF layer by layer, roughly: fine-tuning follows."""
        name = "lp" if self.init == "auto" else self.init
        rng = check_random_state(self.random_state)
        shrinks = len(sizes) and list(sizes) == sorted(sizes, reverse=True)
        if name == "lp" and data.nonnegative and shrinks and self.solver != "mu":  # which needs codes without zeros
            return self._nested(data, sizes, rng)
        # On non-negative X that start is the optimum of every layer: a sweep could add nothing but rounding.
        sweeps = 0 if name == "lp" and data.nonnegative else sweeps

        def codes(below: Matrix, k: int) -> np.ndarray:
            H, Z = (np.array(F, data.dtype, order="C") for F in named_start(name, below, k, rng, SEMI["Z"]))
            if self.solver == "mu":  # a multiplicative rule never leaves an exact zero
                H = np.maximum(H, 1e-3 * H.mean())
            problem, rules = Problem(Chain(below), SEMI), {"H": self._rule(), "Z": updates.least_squares}
            return solve(problem, {"H": H, "Z": Z}, rules, max_iter=sweeps, tol=1e-3, extrapolate=True).best["H"]

        return pretrain(data, sizes, codes)

    def _nested(self, data: Matrix, sizes: Sequence[int], rng) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The optimum of every layer at once, for non-negative X and layers that shrink: each spans the leading
        singular vectors, and fewer of them than the one below.
        """
        triplets = (rough_svd if sizes[0] > _WIDE else truncated_svd)(data, sizes[0], rng)
        starts = [nonnegative_basis(data, k, triplets, rng) for k in sizes]
        codes = [np.ascontiguousarray(H, dtype=data.dtype) for H, _ in starts]
        weights = [np.ascontiguousarray(starts[0][1].T, dtype=data.dtype)]
        return codes, weights + [regress(H, below) for below, H in pairwise(codes)]

    def _begin(self, data: Matrix, init) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Codes and weights to start from: another model's, or greedy."""
        if init is None:
            # One layer has no other to be ready for: fine-tuning is all there is.
            return self._pretrain(data, self._sizes, _ROUGHLY if len(self._sizes) > 1 else 0)
        weights = self._given_weights(init, data)
        bases = compose(weights)
        codes = [self._codes(data, np.zeros((data.shape[0], len(B)), data.dtype), B) for B in bases]
        return codes, weights

    def _fine_tune(self, data: Matrix, codes, weights, hook: Hook) -> Fit:
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
            callback=self._told(data, hook),
        )
        before, codes = weights, [*codes[:-1], state.best["H"]]
        if narrow:
            weights = narrow.weights
        elif self.max_iter:
            weights = keep_close(weights, np.ascontiguousarray(state.best["Z"].T))
        codes, weights, _ = self._read_out(data, codes, weights, before)
        codes[-1] = self._codes(data, codes[-1], compose(weights)[-1])
        return Fit(codes, weights, state.history, state.n_iter, state.converged or not self.max_iter)

    def _read_out(self, data: Matrix, codes, weights, before) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """Bases of unit length, hidden codes found anew where their basis has moved, and the lengths of the top."""
        pairs = zip(compose(before)[:-1], compose(weights)[:-1], strict=True)
        moved = [np.linalg.norm(new - old) > 1e-3 * np.linalg.norm(old) for old, new in pairs]
        # Only after their scale is settled: dependent components of very different length have no safe codes.
        codes, weights, sizes = canonical(codes, weights)
        bases = compose(weights)
        for i in np.flatnonzero(moved):
            codes[i] = self._codes(data, codes[i], bases[i])
        return codes, weights, sizes[-1]

    def _couple(self, data: Matrix, codes, weights, graphs: Graphs, hook: Hook) -> Fit:
        """All layers as variables, each tied to its neighbours."""
        m = len(codes)
        start = {f"H{i + 1}": codes[i] for i in range(m)} | {f"Z{i + 1}": weights[i].T.copy() for i in range(m)}
        problem = Coupled(data, m, self.coupling, graphs)
        rules = {name: updates.for_constraint(self._rule(), c) for name, c in problem.constraints.items()}
        told = self._told(data, hook)
        state = solve(problem, start, rules, max_iter=self.max_iter, tol=self.tol, extrapolate=True, callback=told)
        codes, weights = ([state.best[f"{name}{i + 1}"] for i in range(m)] for name in "HZ")
        history = state.history or [problem.value(start)]
        return Fit(codes, [Z.T.copy() for Z in weights], history, state.n_iter, state.converged or not self.max_iter)

    def _publish(self, X, data: Matrix, graphs: Graphs, hook: Hook) -> Fit:
        """The published algorithm, from random codes: as many sweeps of pre-training as of fine-tuning."""
        rng, sweeps, told = check_random_state(self.random_state), self.max_iter, self._told(data, hook)
        X = np.asarray(dense(X), dtype=np.float64) / data.scale
        given, graphs = graphs, [graph and (self._published_weight(graph[0], data), graph[1]) for graph in graphs]
        # Above the first, a layer's pre-training sees codes, which do not have the units of X.
        codes, weights = published.greedy(X, self._sizes, [graphs[0], *given[1:]], rng, max_iter=sweeps)
        codes, weights, history = published.algorithm(X, codes, weights, graphs, max_iter=sweeps, callback=told)
        codes, weights, _ = canonical(codes, weights)  # in double: of tiny X the factors as they are leave float32
        cast = [[F.astype(data.dtype) for F in factors] for factors in (codes, weights)]
        return Fit(*cast, history, len(history), published.settled(history, self.tol) or not sweeps)

    def _published_weight(self, weight: float, data: Matrix) -> float:
        """The weight of a penalty on codes as they come, whose components carry the scale of X, in unit scale."""
        unit = self._unit(data)
        if unit < 1e-200:
            raise ValueError(
                f"X is too small for a penalty on codes as they come: its largest magnitude is {data.scale:.3g}. "
                "Multiply X by a constant."
            )
        return weight / unit

    def _keep(self, data: Matrix, fit: Fit) -> None:
        """Bring a fit to its canonical scale and set the fitted attributes."""
        codes, weights, _ = canonical(fit.codes, fit.weights)
        bases = compose(weights)
        error = Problem(Chain(data)).value({"H": codes[-1], "Z": np.ascontiguousarray(bases[-1].T)})
        self.reconstruction_err_ = float(np.sqrt(2 * error)) * data.scale
        self._keep_layers([in_units_of(data, H) for H in codes], weights, bases)
        unit = self._unit(data)
        if fit.lengths is not None:
            size = fit.lengths * data.scale
            back = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
            self.clusters_ = Clusters(self.layers_[-1].representation, self.random_state, np.diag(back))
            unit = 1.0  # directions know nothing of the units of X
        self.objective_history_ = np.array(fit.history or [error]) * unit
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged


def _top(codes, weights) -> dict[str, np.ndarray]:
    """Codes and (transposed) basis of the last layer."""
    return {"H": codes[-1], "Z": np.ascontiguousarray(compose(weights)[-1].T)}

"""`Deep`: models of several linear layers. A solution has the codes and weights of every layer, however reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._base.clusters import Clusters
from .._base.coding import in_units_of
from .._base.penalized import weight_in_unit_scale
from .._engine.data.matrix import Matrix, dense
from .._engine.data.svd import rough_svd, truncated_svd
from .._engine.linalg.small import safe_divide
from .._engine.monitor import Monitor, Solution
from .._engine.problem import Problem, fit, loss_value
from .._engine.semi_nmf import SEMI, semi_nmf
from .._engine.solve import solve
from .._engine.starts import STARTS, nonnegative_basis
from .._engine.updates import Update, accelerated_gradient, hals_or_exact, least_squares, multiplicative
from .._utils.callbacks import Hook
from . import published
from .composition import canonical, compose, is_narrow, keep_close, pretrain, regress
from .coupled import Graphs, coupled_layers
from .layered import Layered
from .narrow import NarrowProblem, alternating_least_squares, pack, unpack


def layer_factors(codes: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return codes H_i and weights Z_i, of shape (k_i, k_{i-1}), under the names of their layers."""
    H = {f"H{i}": F for i, F in enumerate(codes, start=1)}
    return H | {f"Z{i}": F for i, F in enumerate(weights, start=1)}


def by_layer(factors: dict[str, np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the codes and the weights, from the input up."""
    depth = range(1, 1 + sum(name.startswith("H") for name in factors))
    return [factors[f"H{i}"] for i in depth], [factors[f"Z{i}"] for i in depth]


class Deep(Layered):
    """Linear layers: pre-training, fine-tuning, and the attributes they leave."""

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
    _constraints = SEMI

    def _monitor(self, data: Matrix, hook: Hook) -> Monitor:
        """Return the monitor of a fit in unit scale; the callback gets objectives in the units of X."""
        unit = data.unit(2)
        return Monitor(self.max_iter, self.tol, lambda i, value, *_: hook(i, value * unit))

    # ---- parts of a fit ------------------------------------------------------------------------------------------

    def _update(self) -> Update:
        return {"mu": multiplicative, "apg": accelerated_gradient}.get(self.solver, hals_or_exact)

    def _pretrain(
        self, data: Matrix, sizes: Sequence[int], sweeps: int = 20
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return codes and weights of Semi-NMF layer by layer, in few sweeps: fine-tuning follows."""
        name, update = "lp" if self.init == "auto" else self.init, self._update()
        rng = check_random_state(self.random_state)
        shrinks = len(sizes) and list(sizes) == sorted(sizes, reverse=True)
        if name == "lp" and data.nonnegative and shrinks and self.solver != "mu":  # which needs codes without zeros
            return self._nested(data, sizes, rng)
        # On non-negative X that start is the optimum of every layer: a sweep could add nothing but rounding.
        sweeps = 0 if name == "lp" and data.nonnegative else sweeps
        return pretrain(
            data,
            sizes,
            lambda below, k: semi_nmf(below, k, rng, init=name, update=update, max_iter=sweeps).factors["H"],
        )

    def _nested(
        self, data: Matrix, sizes: Sequence[int], rng, *, max_exact: int = 200
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the optimum of every layer at once, for non-negative X and layers that shrink: each spans the leading
        singular vectors, and fewer of them than the one below. Of more than ``max_exact`` the SVD is approximate.
        """
        triplets = (rough_svd if sizes[0] > max_exact else truncated_svd)(data, sizes[0], rng)
        starts = [nonnegative_basis(data, k, triplets, rng) for k in sizes]
        codes = [np.ascontiguousarray(H, dtype=data.dtype) for H, _ in starts]
        weights = [np.ascontiguousarray(starts[0][1].T, dtype=data.dtype)]
        return codes, weights + [regress(H, below) for below, H in pairwise(codes)]

    def _begin(self, data: Matrix, init) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return codes and weights to start from: another model's, or pre-trained."""
        if init is None:
            # One layer need not prepare another: fine-tuning is all there is.
            return self._pretrain(data, self._sizes) if len(self._sizes) > 1 else self._pretrain(data, self._sizes, 0)
        weights = self._given_weights(init, data)
        return [self._exact_codes(data, basis) for basis in compose(weights)], weights

    def _exact_codes(self, data: Matrix, basis: np.ndarray) -> np.ndarray:
        return self._codes(data, self._uniform_codes(data, basis), basis)

    def _fine_tune(self, data: Matrix, codes, weights, hook: Hook) -> Solution:
        """Fit all layers at once. The squared error of the whole product depends on the top codes and the top basis
        alone: it is Semi-NMF from where pre-training ended, two passes over X a sweep at any depth.
        """
        monitor, H = self._monitor(data, hook), codes[-1]
        if is_narrow(weights):
            shapes = [Z.shape for Z in weights]
            updates: dict[str, Update] = {"H": self._update(), "W": alternating_least_squares}
            # Extrapolated weights would be those of another product.
            solution = solve(NarrowProblem(data, shapes), {"H": H, "W": pack(weights)}, updates, monitor=monitor)
            new = unpack(solution.factors["W"], shapes)
        else:
            start = {"H": H, "Z": np.ascontiguousarray(compose(weights)[-1].T)}
            updates = {"H": self._update(), "Z": least_squares}
            solution = solve(Problem(SEMI, [fit(data)]), start, updates, monitor=monitor, extrapolate=True)
            new = keep_close(weights, np.ascontiguousarray(solution.factors["Z"].T)) if self.max_iter else weights
        codes, new, _ = self._hidden_codes(data, [*codes[:-1], solution.factors["H"]], new, weights)
        codes[-1] = self._codes(data, codes[-1], compose(new)[-1])
        return self._reached(codes, new, solution)

    def _reached(self, codes, weights, solution: Solution) -> Solution:
        """Return the factors of all layers with the record of a solution; without iterations, converged."""
        converged = solution.converged or not self.max_iter
        return Solution(layer_factors(codes, weights), solution.history, solution.n_iter, converged)

    def _hidden_codes(self, data: Matrix, codes, weights, before):
        """Return codes and weights in canonical scale, hidden codes found anew where their basis has changed, and the
        lengths of the top basis.
        """
        pairs = zip(compose(before)[:-1], compose(weights)[:-1], strict=True)
        moved = [np.linalg.norm(new - old) > 1e-3 * np.linalg.norm(old) for old, new in pairs]
        # Only after the canonical scale: dependent components of very different length have no stable codes.
        codes, weights, lengths = canonical(codes, weights)
        bases = compose(weights)
        for i in np.flatnonzero(moved):
            codes[i] = self._codes(data, codes[i], bases[i])
        return codes, weights, lengths[-1]

    def _couple(self, data: Matrix, codes, weights, graphs: Graphs, hook: Hook) -> Solution:
        """Fit all layers as variables, each tied to its neighbours."""
        problem = coupled_layers(data, len(codes), self.coupling, graphs)
        start = layer_factors(codes, [Z.T.copy() for Z in weights])
        updates = {name: constraint.update(self._update()) for name, constraint in problem.constraints.items()}
        # Pre-trained layers are near a saddle point, where the objective decreases by little for several sweeps.
        monitor = replace(self._monitor(data, hook), n_small=10 if len(codes) > 1 else 2)
        solution = solve(problem, start, updates, monitor=monitor, extrapolate=True)
        codes, weights = by_layer(solution.factors)
        solution.history = solution.history or [problem.value(start)]
        return self._reached(codes, [Z.T.copy() for Z in weights], solution)

    def _publish(self, X, data: Matrix, graphs: Graphs, hook: Hook) -> Solution:
        """Run the published algorithm from random codes: as many sweeps of pre-training as of fine-tuning."""
        rng, monitor = check_random_state(self.random_state), self._monitor(data, hook)
        X = np.asarray(dense(X), dtype=np.float64) / data.scale
        scaled = [graph and (weight_in_unit_scale(graph[0], data, 2, X.dtype), graph[1]) for graph in graphs]
        # Above the first, pre-training factorises codes, which do not have the units of X.
        codes, weights = published.greedy(X, self._sizes, [scaled[0], *graphs[1:]], rng, max_iter=self.max_iter)
        codes, weights = published.algorithm(X, codes, weights, scaled, monitor)
        codes, weights, _ = canonical(codes, weights)  # in double: factors of tiny X may leave the range of float32
        codes, weights = ([F.astype(data.dtype) for F in factors] for factors in (codes, weights))
        return self._reached(codes, weights, Solution.reached({}, monitor))

    def _keep(self, data: Matrix, solution: Solution, lengths: np.ndarray | None = None) -> None:
        """Set the fitted attributes. With ``lengths`` top codes over these are directions, clustered as they are."""
        codes, weights, _ = canonical(*by_layer(solution.factors))
        bases = compose(weights)
        error = loss_value(data, "frobenius", codes[-1], np.ascontiguousarray(bases[-1].T))
        self.reconstruction_err_ = float(np.sqrt(2 * error)) * data.scale
        self._keep_layers([in_units_of(data, H) for H in codes], weights, bases)
        unit = data.unit(2)
        if lengths is not None:
            size = lengths * data.scale
            back = np.diag(safe_divide(np.ones_like(size), size))
            self.clusters_ = Clusters(self.layers_[-1].representation, self.random_state, back)
            unit = 1.0  # an objective of directions has no units
        self.objective_history_ = np.array(solution.history or [error]) * unit
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged

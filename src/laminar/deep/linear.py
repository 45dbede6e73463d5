"""`Deep`: models of several layers. A solution has the codes and weights of every layer, however reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Self

import numpy as np
from sklearn.utils import check_random_state

from .._base.coding import in_units_of
from .._base.penalized import weight_in_unit_scale
from .._engine.data.matrix import Matrix, dense
from .._engine.data.svd import rough_svd, truncated_svd
from .._engine.data.wrap import wrap
from .._engine.monitor import Monitor, Snapshot, Solution
from .._engine.problem import Addend, Problem, Solvable, loss_value, ridge_fit, smooth_codes
from .._engine.ridge import semi_nmf_ridge
from .._engine.semi_nmf import SEMI, semi_nmf
from .._engine.solve import solve
from .._engine.starts import named_start, nonnegative_basis, without_zeros
from .._engine.updates import Update, accelerated_gradient, hals_or_exact, least_squares, multiplicative, thorough_hals
from .._utils import tall
from .._utils.callbacks import Hook
from .._utils.progress import stage
from . import published
from .composition import canonical, compose, is_narrow, keep_close, pretrain, regress
from .coupled import Graphs, coupled_layers
from .nonlinear import (
    Activation,
    Rectified,
    ScaleFreePenalty,
    Stack,
    StackFit,
    TracePenalty,
    fit_stack,
    loss_and_gradients,
)
from .nonlinear import pretrain as pretrain_stack
from .parameters import DeepParameters
from .pretraining import layer_monitor, published_layer_monitor
from .products import ProductLayers, alternating_least_squares, pack, unpack

LayerPair = tuple[list[np.ndarray], list[np.ndarray]]
"""Codes and weights of every layer, from the input up."""


def layer_factors(codes: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return codes H_i and weights Z_i, of shape (k_i, k_{i-1}), under the names of their layers."""
    H = {f"H{i}": F for i, F in enumerate(codes, start=1)}
    return H | {f"Z{i}": F for i, F in enumerate(weights, start=1)}


def by_layer(factors: dict[str, np.ndarray]) -> LayerPair:
    """Return the codes and the weights, from the input up."""
    depth = range(1, 1 + sum(name.startswith("H") for name in factors))
    return [factors[f"H{i}"] for i in depth], [factors[f"Z{i}"] for i in depth]


class Deep(DeepParameters):
    """Several layers: the choice of the algorithm, pre-training, fine-tuning, and the attributes they leave."""

    _constraints = SEMI

    def _run(self, X, data: Matrix, graphs: Graphs, init, hook: Hook) -> None:
        """Fit with a penalty (or None) on each layer, and set the fitted attributes."""
        graphs = [graph and (graph[0], graph[1].on(data.workers)) for graph in graphs]
        self._stack = None
        self._ridges = self._weights_of_ridges(data)
        self.pretraining_histories_: list[np.ndarray] = []
        if self._network:
            self._keep_stacked(X, data, self._train(X, data, graphs, init, hook))
        elif self.rule == "published":
            self._keep(data, self._publish(X, data, graphs, init, hook))
        elif self.objective == "coupled":
            self._keep(data, self._couple(data, *self._begin(data, graphs, init, hook), graphs, hook))
        else:
            self._keep(data, self._fine_tune(data, *self._begin(data, graphs, init, hook), graphs, hook))

    def _weights_of_ridges(self, data: Matrix) -> list[float]:
        """Return the weight of the ridge of each layer's codes."""
        if self._network or self.rule == "published":
            return [0.0] * len(self._sizes)
        if self.ridge != "auto":
            return [float(self.ridge)] * len(self._sizes)
        rng = check_random_state(self.random_state)
        # The largest first: its singular vectors are kept by the matrix, and serve the others.
        found = {k: semi_nmf_ridge(data, k, rng) for k in sorted(set(self._sizes), reverse=True)}
        return [found[k] for k in self._sizes]

    def _layer_ridge(self, i: int, below: Matrix, rng: np.random.RandomState) -> float:
        """Return the weight of the ridge in the pre-training of a layer, by the codes below it."""
        return self._ridges[0] if i == 0 else semi_nmf_ridge(below, self._sizes[i], rng) if any(self._ridges) else 0.0

    # ---- pre-training --------------------------------------------------------------------------------------------

    def _update(self, ridge: float) -> Update:
        """Return the update of codes with this ridge."""
        eta = 1.0 if self.eta is None else self.eta
        updates: dict[str, Update] = {"mu": partial(multiplicative, eta=eta), "apg": accelerated_gradient}
        return updates.get(self.solver, thorough_hals if ridge else hals_or_exact)

    def _sweeps(self, default: int) -> int:
        """Return the number of sweeps of pre-training."""
        if self.pretraining is None:
            return 0
        return default if self.pretraining_max_iter is None else self.pretraining_max_iter

    def _start_name(self, default: str) -> str:
        """Return the initialiser of each layer's codes."""
        default = "random" if self.pretraining is None else default
        return default if self.init == "auto" else self.init

    def _layer_penalties(self, graphs: Graphs, i: int, below: Matrix) -> list[Addend]:
        """Return the penalty of the pre-training of one layer."""
        graph = graphs[i]
        if graph is None or self.pretraining != "wsf":
            return []
        weight = graph[0] if self._invariant else weight_in_unit_scale(graph[0], below, 2, below.dtype)
        return [smooth_codes(graph[1], weight, invariant=self._invariant)]

    def _pretrain(self, data: Matrix, sizes: Sequence[int], graphs: Graphs, hook: Hook, sweeps: int = 20) -> LayerPair:
        """Return codes and weights of Semi-NMF or WSF layer by layer, in few sweeps: fine-tuning follows."""
        name, sweeps = self._start_name("lp"), self._sweeps(sweeps)
        rng = check_random_state(self.random_state)
        penalised = self.pretraining == "wsf" and any(graphs)
        shrinks = len(sizes) and list(sizes) == sorted(sizes, reverse=True)
        optimal = name == "lp" and data.nonnegative and not penalised
        if optimal and shrinks and self.solver != "mu":  # which needs codes without zeros
            self.pretraining_histories_ = [np.empty(0) for _ in sizes]
            return self._nested(data, sizes, rng)

        def layer(below: Matrix, i: int) -> np.ndarray:
            # On non-negative X the start is the optimum of a layer: a sweep could add nothing but rounding.
            scale = data.scale if i else 1.0
            monitor = layer_monitor(i, below, 0 if optimal else sweeps, 1e-3, hook, scale)
            penalties, ridge = self._layer_penalties(graphs, i, below), self._layer_ridge(i, below, rng)
            # Without a closed form memberships of k-means are the start that spans most (docs/methods.md 4.5).
            init = "kmeans" if self.init == "auto" and name == "lp" and ridge else name
            solution = semi_nmf(
                below,
                sizes[i],
                rng,
                init=init,
                update=self._update(ridge),
                penalties=penalties,
                ridge=ridge,
                monitor=monitor,
            )
            self.pretraining_histories_.append(np.array(solution.history) * below.unit(2) * scale**2)
            return solution.factors["H"]

        return pretrain(data, len(sizes), layer)

    def _nested(self, data: Matrix, sizes: Sequence[int], rng, *, max_exact: int = 200) -> LayerPair:
        """Return the optimum of every layer at once, for non-negative X and layers that shrink: each spans the leading
        singular vectors, and fewer of them than the one below. Of more than ``max_exact`` the SVD is approximate.
        """
        stage(f"pre-training of {len(sizes)} layers, {sizes[0]} singular vectors of {data.shape[0]} x {data.shape[1]}")
        triplets = (rough_svd if sizes[0] > max_exact else truncated_svd)(data, sizes[0], rng)
        starts = [nonnegative_basis(data, k, triplets, rng) for k in sizes]
        codes = [tall.contiguous(H, data.dtype) for H, _ in starts]
        weights = [np.ascontiguousarray(starts[0][1].T, dtype=data.dtype)]
        return codes, weights + [regress(H, below) for below, H in pairwise(codes)]

    def _begin(self, data: Matrix, graphs: Graphs, init, hook: Hook) -> LayerPair:
        """Return codes and weights to start from: another model's, or pre-trained."""
        if init is None:
            # One layer need not prepare another: fine-tuning is all there is.
            return self._pretrain(data, self._sizes, graphs, hook, 20 if len(self._sizes) > 1 else 0)
        weights = self._given_weights(init, data)
        if not self.max_iter:  # codes on the layers of the other model, as its own
            self._ridges = [layer.ridge for layer in init.layers_]
        codes = self._codes_of_layers(data, weights)
        if self.solver == "mu" and self.max_iter:  # a multiplicative update never leaves a zero
            codes = [without_zeros(H) for H in codes]
        return codes, weights

    def _codes_of_layers(self, data: Matrix, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the best codes of X on every layer."""
        pairs = zip(compose(weights), self._ridges, strict=True)
        return [self._exact_codes(data, basis, ridge) for basis, ridge in pairs]

    def _exact_codes(self, data: Matrix, basis: np.ndarray, ridge: float = 0.0) -> np.ndarray:
        return self._codes(data, self._uniform_codes(data, basis), basis, ridge)

    # ---- fitting all layers --------------------------------------------------------------------------------------

    def _monitor(self, data: Matrix, hook: Hook, layers: Callable[..., LayerPair]) -> Monitor:
        """Return the monitor of a fit in unit scale.

        The callback gets objectives in the units of X; ``layers`` gives codes and weights from the factors of the loop.
        """
        unit = data.unit(2)

        def report(iteration: int, value: float, snapshot: Snapshot) -> bool:
            def fitted() -> Deep:
                solution = Solution({}, [value], iteration, False, [iteration])
                return copy(self)._keep(data, self._reached(*layers(snapshot()), solution))

            return hook(iteration, value * unit, fitted)

        return Monitor(self.max_iter, self.tol, report)

    def _in_unit_scale(self, graphs: Graphs, data: Matrix) -> Graphs:
        """Return the penalties on codes whose components have the scale of X."""
        if self._invariant:
            return graphs
        return [g and (weight_in_unit_scale(g[0], data, 2, data.dtype), g[1]) for g in graphs]

    def _fine_tune(self, data: Matrix, codes, weights, graphs: Graphs, hook: Hook) -> Solution:
        """Fit the layers that reconstruct X: those with a penalty, and the top one.

        The squared error of the top layer depends on its codes and its basis alone: where no other layer is fitted it
        is Semi-NMF from where pre-training ended, two passes over X a sweep at any depth.
        """
        graphs = self._in_unit_scale(graphs, data)
        shapes = [Z.shape for Z in weights]
        if any(graphs[:-1]) or is_narrow(weights):
            together = ProductLayers(data, shapes, graphs, self._invariant, self._ridges)
            problem: Solvable = together
            start = {f"H{i + 1}": codes[i] for i in together.layers} | {"W": pack(weights)}
            updates: dict[str, Update] = {f"H{i + 1}": self._update(self._ridges[i]) for i in together.layers}
            updates["W"] = alternating_least_squares

            def layers(factors) -> LayerPair:
                found = [factors.get(f"H{i + 1}", H) for i, H in enumerate(codes)]
                return self._finished(data, found, unpack(factors["W"], shapes), weights, graphs)
        else:
            top = graphs[-1]
            penalties = [] if top is None else [smooth_codes(top[1], top[0], invariant=self._invariant)]
            problem = Problem(SEMI, [ridge_fit(data, self._ridges[-1]), *penalties])
            start = {"H": codes[-1], "Z": np.ascontiguousarray(compose(weights)[-1].T)}
            updates = {"H": self._update(self._ridges[-1]), "Z": least_squares}

            def layers(factors) -> LayerPair:
                basis = np.ascontiguousarray(factors["Z"].T)
                new = keep_close(weights, basis) if self.max_iter else weights
                return self._finished(data, [*codes[:-1], factors["H"]], new, weights, graphs)

        monitor = self._monitor(data, hook, layers)
        solution = solve(problem, start, updates, monitor=monitor, extrapolate=True)
        if not solution.history and any(graphs):
            last = list(start)[-1]
            solution.history, solution.iterations = [problem.objective(last, start).evaluate(start[last]).value], [0]
        return self._reached(*layers(solution.factors), solution)

    def _finished(self, data: Matrix, codes, weights, before, graphs: Graphs) -> LayerPair:
        """Return codes and weights in canonical scale: the codes of a layer without penalty are exact, hidden ones
        where their basis has changed.
        """
        pairs = zip(compose(before)[:-1], compose(weights)[:-1], strict=True)
        moved = [np.linalg.norm(new - old) > 1e-3 * np.linalg.norm(old) for old, new in pairs]
        # Only after the canonical scale: dependent components of very different length have no stable codes.
        codes, weights, _ = canonical(codes, weights)
        bases = compose(weights)
        for i, changed in enumerate([*moved, True]):
            if changed and graphs[i] is None:
                codes[i] = self._codes(data, codes[i], bases[i], self._ridges[i])
        return codes, weights

    def _reached(self, codes, weights, solution: Solution) -> Solution:
        """Return the factors of all layers with the record of a solution; without iterations, converged."""
        converged = solution.converged or not self.max_iter
        return replace(solution, factors=layer_factors(codes, weights), converged=converged)

    def _couple(self, data: Matrix, codes, weights, graphs: Graphs, hook: Hook) -> Solution:
        """Fit all layers as variables, each tied to its neighbours."""
        problem = coupled_layers(data, len(codes), self.coupling, graphs, self._ridges)
        start = layer_factors(codes, [Z.T.copy() for Z in weights])
        default = self._update(max(self._ridges))
        updates = {name: constraint.update(default) for name, constraint in problem.constraints.items()}

        def layers(factors) -> LayerPair:
            codes, weights = by_layer(factors)
            return codes, [Z.T.copy() for Z in weights]

        # Pre-trained layers are near a saddle point, where the objective decreases by little for several sweeps.
        monitor = replace(self._monitor(data, hook, layers), n_small=10 if len(codes) > 1 else 2)
        solution = solve(problem, start, updates, monitor=monitor, extrapolate=True)
        if not solution.history:
            solution.history, solution.iterations = [problem.value(start)], [0]
        return self._reached(*layers(solution.factors), solution)

    def _publish(self, X, data: Matrix, graphs: Graphs, init, hook: Hook) -> Solution:
        """Run Algorithm 1 or 2 of Trigeorgis et al., from random codes or another start."""
        rng, eta = check_random_state(self.random_state), 0.5 if self.eta is None else self.eta
        X = np.asarray(dense(X), dtype=np.float64) / data.scale
        scaled = [g and (weight_in_unit_scale(g[0], data, 2, X.dtype), g[1]) for g in graphs]
        if init is None:
            # Above the first, pre-training factorises codes, which do not have the units of X.
            of_layers = [scaled[0], *graphs[1:]] if self.pretraining == "wsf" else [None] * len(graphs)
            records: list[Monitor] = []

            def monitor_of(i: int, below: np.ndarray) -> Monitor:
                records.append(published_layer_monitor(i, below, self._sweeps(500), hook, data.scale))
                return records[-1]

            start = partial(self._published_start, rng=rng)
            codes, weights = published.greedy(X, self._sizes, of_layers, start, monitor_of, eta)
            units = [data.unit(2)] + [1.0] * (len(graphs) - 1)
            self.pretraining_histories_ = [
                np.array(record.history) * unit for record, unit in zip(records, units, strict=True)
            ]
        else:
            weights = [Z.astype(np.float64) for Z in self._given_weights(init, data)]
            codes = self._codes_of_layers(wrap(X), weights)
            if self.max_iter:  # a multiplicative update never leaves a zero
                codes = [without_zeros(H) for H in codes]

        def layers(factors) -> LayerPair:
            codes, weights, _ = canonical(factors["codes"], factors["weights"])
            # In double until here: factors of tiny X may leave the range of float32.
            return [H.astype(data.dtype) for H in codes], [Z.astype(data.dtype) for Z in weights]

        monitor = self._monitor(data, hook, layers)
        codes, weights = published.algorithm(X, codes, weights, scaled, monitor, eta)
        if not monitor.history:
            monitor.history.append(published.objective(X, codes[-1], compose(weights)[-1], scaled[-1]))
            monitor.iterations.append(0)
        return self._reached(*layers({"codes": codes, "weights": weights}), Solution.reached({}, monitor))

    def _published_start(self, below: np.ndarray, k: int, *, rng: np.random.RandomState) -> np.ndarray:
        """Return the codes from which a layer is pre-trained by a multiplicative rule."""
        name = self._start_name("random")
        if name == "random":
            return rng.uniform(size=(len(below), k))
        return without_zeros(named_start(name, wrap(below), k, rng, SEMI["Z"])["H"])

    # ---- by gradients --------------------------------------------------------------------------------------------

    @property
    def _activation(self) -> str | Activation:
        """The function between the layers."""
        if self.activation is None:
            return "identity"
        return Rectified.of(self.activation) if self.hidden == "nonnegative" else self.activation

    def _train(self, X, data: Matrix, graphs: Graphs, init, hook: Hook) -> StackFit:
        """Train weights with an activation between them, and the codes of the top."""
        self._check_room(data)
        kind = ScaleFreePenalty if self._invariant else TracePenalty
        penalties = [graph and kind(*graph) for graph in graphs]
        if init is None:
            stack, H = self._pretrained_stack(X, graphs, hook)
        else:
            stack = Stack(self._given_weights(init, data), self._activation)
            H = self._given_codes(X, init, stack, penalties)
        if self.max_iter == 0:
            value = loss_and_gradients(X, stack, H, penalties)[0]
            return StackFit({"H": H}, [value], 0, True, [0], stack=stack)
        auto = "nesterov" if self.rule == "published" else "lbfgs" if self.batch_size is None else "adam"

        def report(iteration: int, value: float, snapshot: Snapshot) -> bool:
            return hook(iteration, value, lambda: copy(self)._keep_stacked(X, data, snapshot()["fit"]))

        return fit_stack(
            X,
            stack,
            H,
            solver=auto if self.solver == "auto" else self.solver,
            batch_size=self.batch_size,
            penalties=penalties,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            callback=report,
        )

    def _pretrained_stack(self, X, graphs: Graphs, hook: Hook) -> tuple[Stack, np.ndarray]:
        """Return a stack that is pre-trained layer by layer."""
        monitors: list[tuple[Monitor, float]] = []

        def monitor(i: int, below: Matrix) -> Monitor:
            monitors.append((layer_monitor(i, below, self._sweeps(30), 1e-5, hook), below.unit(2)))
            return monitors[-1][0]

        pretrained = pretrain_stack(
            X,
            self._sizes,
            self._activation,
            init=self._start_name("random"),
            random_state=self.random_state,
            penalties=lambda i, below: self._layer_penalties(graphs, i, below),
            monitor=monitor,
        )
        self.pretraining_histories_ = [np.array(record.history) * unit for record, unit in monitors]
        return pretrained

    # ---- fitted attributes ---------------------------------------------------------------------------------------

    def _keep(self, data: Matrix, solution: Solution) -> Self:
        """Set the fitted attributes."""
        codes, weights, _ = canonical(*by_layer(solution.factors))
        bases = compose(weights)
        error = loss_value(data, "frobenius", codes[-1], np.ascontiguousarray(bases[-1].T))
        self.reconstruction_err_ = float(np.sqrt(2 * error)) * data.scale
        self._keep_layers([in_units_of(data, H) for H in codes], weights, bases)
        self.objective_history_ = np.array(solution.history or [error]) * data.unit(2)
        self.history_iterations_ = np.array(solution.iterations or [0])
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        self.kkt_residual_ = solution.residual
        return self

    def _keep_stacked(self, X, data: Matrix, fit: StackFit) -> Self:
        """Set the fitted attributes of a stack."""
        if self.activation is None:
            return self._keep_linear_stack(data, fit)
        self._keep_fit(X, fit)
        return self

    def _keep_linear_stack(self, data: Matrix, fit: StackFit) -> Self:
        """Set the fitted attributes of a stack without an activation: its layers are linear and their codes exact."""
        first, *hidden = fit.stack.weights
        factors = layer_factors(fit.stack.forward(fit.H), [first / data.dtype.type(data.scale), *hidden])
        self._keep(data, Solution(factors, [], fit.n_iter, fit.converged))
        self.objective_history_, self.history_iterations_ = np.array(fit.history), np.array(fit.iterations)
        return self

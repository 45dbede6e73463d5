import numpy as np
import pytest

from laminar._engine import updates
from laminar._engine.data.matrix import wrap
from laminar._engine.solve import solve
from laminar.deep.coupled import Coupled
from laminar.graphs import Labels
from laminar.testing import check_term


def sample(graphs=False, sizes=(6, 4, 3), n=30, p=10, seed=0):
    rng = np.random.default_rng(seed)
    F, below = {}, p
    for i, k in enumerate(sizes, start=1):
        F[f"H{i}"], F[f"Z{i}"] = rng.uniform(0.1, 1, (n, k)), rng.normal(size=(below, k))
        below = k
    X, y = rng.normal(size=(n, p)), rng.integers(0, 3, n)
    penalty = (0.3, Labels().build(X, y)) if graphs else None
    return X, F, Coupled(wrap(X), len(sizes), 0.7, [penalty] * len(sizes))


def direct(X, F, problem):
    """By the definition."""
    value, s = 0.0, np.ones(X.shape[1])
    below = X / np.abs(X).max()
    for i in range(1, problem.depth + 1):
        H, Z = F[f"H{i}"], F[f"Z{i}"]
        value += (1.0 if i == 1 else problem.coupling) / 2 * (((below - H @ Z.T) ** 2) @ s).sum()
        s = s @ Z**2
        if problem.graphs[i - 1] is not None:
            weight, operator = problem.graphs[i - 1]
            value += weight / 2 * operator.quad_columns(H) @ s
        below = H
    return value


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("sizes", [(4,), (6, 3), (6, 4, 3)])
def test_every_factor_sees_the_objective(graphs, sizes):
    X, F, problem = sample(graphs, sizes)
    expected = direct(X, F, problem)
    assert problem.value(F) == pytest.approx(expected)
    lengths = {1: np.ones(10)}
    for i in range(2, len(sizes) + 1):
        lengths[i] = lengths[i - 1] @ F[f"Z{i - 1}"] ** 2
    for name in problem.order:
        term = problem.term(name, F)
        rng = np.random.default_rng(1)
        for _ in range(3):  # differences of the whole are those of the term, but for the factor of each row of weights
            step = 1e-4 * rng.normal(size=F[name].shape)
            moved = {**F, name: F[name] + step}
            b = slice(0, len(step))
            gradient = term.at(F[name]).grad(b, F[name])
            if name[0] == "Z":
                gradient = gradient * lengths[int(name[1:])][:, None]
            back = {**F, name: F[name] - step}
            slope = (direct(X, moved, problem) - direct(X, back, problem)) / 2
            assert np.vdot(gradient, step) == pytest.approx(slope, rel=1e-4, abs=1e-9)
    check_term(problem.term("H1", F), F["H1"]) if not graphs else None


@pytest.mark.parametrize("graphs", [False, True])
def test_a_change_of_scale_is_worth_nothing(graphs):
    _, F, problem = sample(graphs)
    S = np.array([0.1, 1, 10, 3, 0.5, 2])
    scaled = {**F, "H1": F["H1"] * S, "Z1": F["Z1"] / S, "Z2": F["Z2"] * S[:, None]}
    assert problem.value(scaled) == pytest.approx(problem.value(F), rel=1e-10)


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("extrapolate", [False, True])
def test_the_objective_goes_down(graphs, extrapolate):
    _, F, problem = sample(graphs)
    rules = {name: updates.for_constraint(updates.hals, c) for name, c in problem.constraints.items()}
    state = solve(problem, F, rules, max_iter=60, tol=0, extrapolate=extrapolate)
    assert np.diff(state.history).max() <= 1e-10 * state.history[0]
    assert state.history[-1] < 0.8 * state.history[0]

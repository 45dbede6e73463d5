"""`coupled_layers`: the objective of docs/methods.md 5.1 as every factor sees it, its invariance, its descent."""

import numpy as np
import pytest

from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.solve import solve
from laminar._engine.updates import hals, hals_or_exact
from laminar.deep.coupled import coupled_layers
from laminar.graphs import Labels
from laminar.testing import check_term, check_update

N, P, MU = 30, 10, 0.7
CASES = {  # sizes of the layers, weight of a graph on the codes of each
    "one layer": ((4,), None),
    "two layers": ((6, 3), None),
    "three layers": ((6, 4, 3), None),
    "one layer, graph": ((4,), 0.3),
    "two layers, graphs": ((6, 3), 0.3),
    "three layers, graphs": ((6, 4, 3), 0.3),
}


@pytest.fixture(params=CASES)
def case(request):
    """Problem, factors, and the objective by its definition."""
    sizes, weight = CASES[request.param]
    rng = np.random.default_rng(0)
    X, F, below = rng.normal(size=(N, P)), {}, P
    X /= np.abs(X).max()
    for i, k in enumerate(sizes, start=1):
        F[f"H{i}"], F[f"Z{i}"], below = rng.uniform(0.1, 1, (N, k)), rng.normal(size=(below, k)), k
    L = Labels().build(X, rng.integers(0, 3, N))

    def value(F):
        total, s, target = 0.0, np.ones(P), X
        for i in range(1, len(sizes) + 1):
            H, Z = F[f"H{i}"], F[f"Z{i}"]
            total += (1.0 if i == 1 else MU) / 2 * (((target - H @ Z.T) ** 2) @ s).sum()
            s, target = s @ Z**2, H
            total += (weight or 0) / 2 * L.quad_columns(H) @ s
        return total

    return coupled_layers(wrap(X), len(sizes), MU, [weight and (weight, L)] * len(sizes)), F, value


# One objective


def test_value_is_that_of_definition(case):
    problem, F, value = case
    assert problem.value(F) == pytest.approx(value(F))


def test_first_weights_see_whole_objective(case):
    problem, F, value = case
    for Z in (F["Z1"], 2 * F["Z1"], F["Z1"] - 0.5):
        assert problem.objective("Z1", F).evaluate(Z).value == pytest.approx(value({**F, "Z1": Z}))


def test_codes_see_objective_up_to_constant(case):
    problem, F, value = case
    for name in (name for name in F if name[0] == "H"):
        objective, moved = problem.objective(name, F), F[name][::-1] + 0.1
        change = objective.evaluate(moved).value - objective.evaluate(F[name]).value
        assert change == pytest.approx(value({**F, name: moved}) - value(F))


def test_first_codes_of_two_layers_see_whole_objective(case):
    """Without graphs above them, nothing in two layers is constant in H_1."""
    problem, F, value = case
    rest = value(F) - problem.objective("H1", F).evaluate(F["H1"]).value
    upper = len([name for name in F if name[0] == "H" and name != "H1"])
    smooth = len(problem.addends) > 1 + upper
    assert (abs(rest) < 1e-9 * value(F)) == (upper == 0 or (upper == 1 and not smooth))


def test_upper_weights_see_objective_row_by_row(case):
    """Row b of Z_i has the factor s_b in the objective, which is left out: rows are separate."""
    problem, F, value = case
    rng, s = np.random.default_rng(1), np.ones(P)
    for i in range(1, len(F) // 2 + 1):
        name = f"Z{i}"
        objective, Z = problem.objective(name, F), F[name]
        majoriser = objective.majoriser(Z)
        gradient = majoriser.gradient(slice(0, len(Z)), Z, majoriser.G) * s[:, None]
        step = 1e-4 * rng.normal(size=Z.shape)
        slope = (value({**F, name: Z + step}) - value({**F, name: Z - step})) / 2
        assert np.vdot(gradient, step) == pytest.approx(slope, rel=1e-4, abs=1e-9)
        s = s @ Z**2


def test_contract_of_every_factor_holds(case):
    problem, F, _ = case
    for name, constraint in problem.constraints.items():
        check_term(problem.objective(name, F), np.abs(F[name]), constraint)


def test_change_of_scale_changes_nothing(case):
    problem, F, value = case
    S = np.logspace(-1, 1, F["H1"].shape[1])
    scaled = {**F, "H1": F["H1"] * S, "Z1": F["Z1"] / S}
    if "Z2" in F:
        scaled["Z2"] = F["Z2"] * S[:, None]
    assert problem.value(scaled) == pytest.approx(value(F), rel=1e-10)


# Descent


def test_update_contract_of_every_factor_holds(case):
    problem, F, _ = case
    for name, constraint in problem.constraints.items():
        check_update(constraint.update(hals), F[name], problem.objective(name, F), constraint, sweeps=5)


@pytest.mark.parametrize("extrapolate", [False, True], ids=["plain", "extrapolated"])
@pytest.mark.parametrize("update", [hals, hals_or_exact])
def test_objective_never_increases(case, extrapolate, update):
    problem, F, value = case
    updates = {name: constraint.update(update) for name, constraint in problem.constraints.items()}
    solution = solve(problem, F, updates, monitor=Monitor(60, 0), extrapolate=extrapolate)
    assert np.diff(solution.history).max() <= 1e-10 * solution.history[0]
    assert solution.history[-1] < 0.8 * value(F)
    assert value(solution.factors) == pytest.approx(solution.history[-1])

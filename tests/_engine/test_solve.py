"""`solve`: descent, stopping, extrapolation, callbacks and checkpoints, on one small problem per model."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar._engine import updates
from laminar._engine.constraints import Free, NonNegative, UnitSum
from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.objective import Evaluation
from laminar._engine.problem import Problem, fit, smooth_codes, sparse_codes
from laminar._engine.solve import Extrapolation, State, solve, sweep
from laminar.graphs import Chain, Labels

N, P, K = 80, 25, 5
LABELS = np.arange(N) % 7
MODELS = {  # loss, constraint of Z, update of the non-negative factors, penalty
    "nmf": ("frobenius", NonNegative(), updates.hals, None),
    "semi-nmf": ("frobenius", Free(), updates.hals, None),
    "kl-nmf": ("kl", NonNegative(), updates.multiplicative, None),
    "gnmf": ("frobenius", NonNegative(), updates.hals, "graph"),
    "wsf": ("frobenius", Free(), updates.hals, "graph"),
    "masked nmf": ("frobenius", NonNegative(), updates.hals, "mask"),
    "kl-gnmf": ("kl", UnitSum(), updates.entrywise, "published graph"),
}
both_ways = pytest.mark.parametrize("extrapolate", [False, True], ids=["plain", "extrapolated"])
SIGNS = {"H": NonNegative(), "Z": NonNegative()}


def set_up(model, dtype=np.float64, n=N, k=K):
    """Problem, random start and updates of one model: the positional arguments of `solve`."""
    loss, constraint, update, penalty = MODELS[model]
    rng = np.random.default_rng(0)
    X = (rng.gamma(0.5, size=(n, P)) - (0.5 if constraint.signed else 0)).astype(dtype)
    mask = (rng.random((n, k)) < 0.4).astype(dtype)
    penalties = {
        None: [],
        "graph": [smooth_codes(Labels().build(X, np.arange(n) % 7), 0.1)],
        "mask": [sparse_codes(mask.__getitem__, 0.01)],
        "published graph": [smooth_codes(Chain().build(X), 0.1, invariant=False)],
    }[penalty]
    problem = Problem({"H": NonNegative(), "Z": constraint}, [fit(wrap(X), loss), *penalties])
    start = {"H": rng.uniform(0.1, 0.5, (n, k)).astype(dtype), "Z": rng.uniform(0.1, 0.5, (P, k)).astype(dtype)}
    start["Z"] = constraint.normalise(start["Z"])
    return problem, start, {name: c.update(update) for name, c in problem.constraints.items()}


@pytest.fixture(params=MODELS)
def setup(request):
    return set_up(request.param)


def rounding(problem, factors, history):
    last = list(problem.constraints)[-1]
    return problem.objective(last, factors).fit.rounding_error(history[-1])


def kkt_residual(problem, factors):
    return max(problem.objective(name, factors).residual(factors[name], c) for name, c in problem.constraints.items())


# Descent


@both_ways
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_objective_never_increases(model, extrapolate, every, dtype):
    problem, start, rules = set_up(model, dtype)
    solution = solve(problem, start, rules, monitor=Monitor(80, 0), extrapolate=extrapolate, evaluate_every=every)
    history = solution.history
    assert np.diff(history).max() <= rounding(problem, solution.factors, history)
    assert history[-1] < problem.value(start)


@pytest.mark.parametrize("sweeps", [1, 3, 15])
@both_ways
def test_last_entry_belongs_to_returned_factors(setup, sweeps, extrapolate):
    solution = solve(*setup, monitor=Monitor(sweeps, 0), extrapolate=extrapolate)
    assert setup[0].value(solution.factors) == pytest.approx(solution.history[-1], rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_returned_factors_respect_constraints(model, dtype):
    problem, start, rules = set_up(model, dtype)
    for name, F in solve(problem, start, rules, monitor=Monitor(20, 0), extrapolate=True).factors.items():
        assert F.dtype == dtype
        assert_allclose(problem.constraints[name].project(F.copy()), F, rtol=4 * np.finfo(dtype).eps)


def test_start_is_unchanged(setup):
    before = {name: F.copy() for name, F in setup[1].items()}
    solve(*setup, monitor=Monitor(10, 0), extrapolate=True)
    for name, F in setup[1].items():
        assert_array_equal(F, before[name])


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("model", MODELS)
def test_objective_never_increases_on_two_threads(model):
    problem, start, rules = set_up(model, n=700)
    solution = solve(problem, start, rules, monitor=Monitor(30, 0), extrapolate=True)
    assert problem.value(solution.factors) == pytest.approx(solution.history[-1], rel=1e-10)
    assert np.diff(solution.history).max() <= rounding(problem, solution.factors, solution.history)


def test_one_factor_alone_reaches_its_optimum():
    problem, start, _ = set_up("nmf")
    codes = Problem({"H": NonNegative()}, problem.addends)
    solution = solve(codes, start, {"H": updates.hals}, monitor=Monitor(300, 1e-12))
    best = updates.exact(start["H"], problem.objective("H", start), NonNegative())
    assert solution.factors["Z"] is start["Z"]
    assert solution.history[-1] == pytest.approx(problem.value({**start, "H": best}), rel=1e-8)


# Stopping


@both_ways
@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_convergence_implies_small_kkt_residual(setup, extrapolate, tol):
    solution = solve(*setup, monitor=Monitor(5000, tol), extrapolate=extrapolate)
    assert solution.converged
    assert solution.n_iter < 5000
    assert kkt_residual(setup[0], solution.factors) <= 2 * np.sqrt(tol)  # measured one sweep before the last


def test_large_residual_prevents_convergence():
    problem, start, rules = set_up("nmf")
    still = dict.fromkeys(rules, lambda F, objective, constraint: F.copy())  # the objective never changes
    solution = solve(problem, start, still, monitor=Monitor(20, 1e-5))
    assert kkt_residual(problem, start) > np.sqrt(1e-5)
    assert not solution.converged
    assert solution.n_iter == 20


@pytest.mark.parametrize("X", [np.zeros((6, 4)), np.ones((6, 4))], ids=["zeros", "ones"])
@both_ways
def test_zero_tol_runs_all_sweeps(X, extrapolate):
    """Even at an exact fit."""
    start = {"H": np.ones((6, 1)), "Z": np.ones((4, 1))}
    rules = dict.fromkeys(start, updates.hals)
    solution = solve(Problem(SIGNS, [fit(wrap(X))]), start, rules, monitor=Monitor(12, 0), extrapolate=extrapolate)
    assert solution.n_iter == 12
    assert not solution.converged


@pytest.mark.parametrize("model", ["nmf", "semi-nmf", "kl-nmf", "gnmf", "wsf"])
@both_ways
def test_start_at_optimum_stops_at_once(model, extrapolate):
    problem, start, rules = set_up(model, k=2)
    best = solve(problem, start, rules, monitor=Monitor(3000, 1e-12), extrapolate=True).factors
    solution = solve(problem, best, rules, monitor=Monitor(100, 1e-5), extrapolate=extrapolate)
    assert solution.converged
    assert solution.n_iter <= 3


@pytest.mark.parametrize("max_iter", [1, 2, 9])
@pytest.mark.parametrize("every", [1, 4])
def test_max_iter_and_evaluate_every_count_sweeps(max_iter, every):
    solution = solve(*set_up("nmf"), monitor=Monitor(max_iter, 0), evaluate_every=every)
    evaluated = {i for i in range(1, max_iter + 1) if i % every == 0} | {1, max_iter}
    assert solution.n_iter == max_iter
    assert len(solution.history) == len(evaluated)
    assert not solution.converged


def test_no_sweeps_return_start():
    setup = set_up("nmf")
    solution = solve(*setup, monitor=Monitor(0))
    assert solution.history == []
    assert all(solution.factors[name] is F for name, F in setup[1].items())


def test_evaluate_every_does_not_change_plain_iterates():
    often, seldom = (solve(*set_up("kl-nmf"), monitor=Monitor(21, 0), evaluate_every=e).factors for e in (1, 10))
    for name in often:
        assert_array_equal(seldom[name], often[name])


# Callback


@pytest.mark.parametrize("every", [1, 5])
def test_callback_is_called_every_sweep(every):
    calls = []
    monitor = Monitor(12, 0, lambda *arguments: calls.append(arguments))
    solution = solve(*set_up("nmf"), monitor=monitor, extrapolate=True, evaluate_every=every)
    iterations, values, _ = map(list, zip(*calls, strict=True))
    assert iterations == list(range(1, 13))
    assert set(values) <= set(solution.history)
    assert values == sorted(values, reverse=True)


@both_ways
@pytest.mark.parametrize("every", [1, 5])
def test_snapshot_holds_factors_of_a_fit_that_ends_there(extrapolate, every):
    """Evaluated or not: what the callback sees after sweep t is what a fit stopped at t returns."""
    seen = []

    def copy(iteration, value, snapshot):
        seen.append({name: F.copy() for name, F in snapshot().items()})

    solve(*set_up("nmf"), monitor=Monitor(12, 0, copy), extrapolate=extrapolate, evaluate_every=every)
    for t in (1, 5, 7, 12):
        stop = Monitor(12, 0, lambda iteration, *_, t=t: iteration == t)
        stopped = solve(*set_up("nmf"), monitor=stop, extrapolate=extrapolate, evaluate_every=every)
        for name, F in stopped.factors.items():
            assert_array_equal(seen[t - 1][name], F)


def test_history_knows_its_iterations():
    solution = solve(*set_up("kl-nmf"), monitor=Monitor(25, 0), evaluate_every=10)
    assert solution.iterations == [1, 10, 20, 25]
    assert len(solution.history) == 4


@pytest.mark.parametrize("every", [1, 5])
def test_callback_stops_without_losing_sweeps(every):
    """Stopped between two evaluations, the sweeps since the last one count all the same."""
    setup = set_up("nmf")
    monitor = Monitor(500, 0, lambda iteration, *_: iteration == 7)
    solution = solve(*setup, monitor=monitor, extrapolate=True, evaluate_every=every)
    assert solution.n_iter == 7
    assert not solution.converged
    assert setup[0].value(solution.factors) == pytest.approx(solution.history[-1], rel=1e-10)
    assert solution.history[-1] < solve(*setup, monitor=Monitor(5, 0), extrapolate=True).history[-1]


# Extrapolation


def test_extrapolation_is_lower_in_as_many_sweeps(setup):
    plain, extrapolated = (solve(*setup, monitor=Monitor(40, 0), extrapolate=e).history[-1] for e in (False, True))
    assert extrapolated < plain


def test_first_sweep_is_not_extrapolated(setup):
    plain, extrapolated = (solve(*setup, monitor=Monitor(1, 0), extrapolate=e).history for e in (False, True))
    assert extrapolated == plain


class Spoiled:
    """`hals` whose result is multiplied by ``harm`` in one sweep; it keeps what it is given."""

    def __init__(self, harm, at=6):
        self.harm, self.at, self.given = harm, at, []

    def __call__(self, F, objective, constraint):
        self.given.append(F.copy())
        new = updates.hals(F, objective, constraint)
        return new * self.harm if len(self.given) == self.at else new


@pytest.mark.parametrize("harm", [1.5, np.nan])
def test_sweep_that_increases_is_taken_back(harm):
    problem, start, rules = set_up("nmf")
    five, six = (
        solve(problem, start, {**rules, "Z": Spoiled(harm)}, monitor=Monitor(n, 0), extrapolate=True) for n in (5, 6)
    )
    assert six.history == five.history
    for name, F in five.factors.items():
        assert_array_equal(six.factors[name], F)


@pytest.mark.parametrize("harm", [1.5, np.nan])
def test_restart_begins_at_accepted_factors(harm):
    problem, start, rules = set_up("nmf")
    accepted = solve(problem, start, {**rules, "Z": Spoiled(harm)}, monitor=Monitor(5, 0), extrapolate=True).factors
    spoiled = Spoiled(harm)
    solution = solve(problem, start, {**rules, "Z": spoiled}, monitor=Monitor(20, 0), extrapolate=True)
    assert_array_equal(spoiled.given[6], accepted["Z"])  # the seventh starts where the fifth had ended
    assert 5 < len(solution.history) < 20
    assert np.diff(solution.history).max() <= 0


def test_nan_alone_does_not_converge():
    problem, start, rules = set_up("nmf")
    rules = dict.fromkeys(rules, lambda F, objective, constraint: np.full_like(F, np.nan))
    assert not solve(problem, start, rules, monitor=Monitor(50, 1e-3), extrapolate=True).converged


def test_beta_grows_and_shrinks_within_bounds():
    momentum = Extrapolation()
    first = momentum.beta
    momentum.grow()
    assert first < momentum.beta <= momentum.bound <= 1
    grown = momentum.beta
    momentum.shrink()
    assert momentum.beta == grown / 2
    assert momentum.bound == grown
    for _ in range(500):
        momentum.grow()
        assert momentum.beta <= momentum.bound <= 1


# Checkpoints


@both_ways
@pytest.mark.parametrize(("every", "at"), [(1, 1), (4, 6)])
def test_pickled_state_resumes_digit_for_digit(setup, extrapolate, every, at):
    problem, start, rules = setup
    momentum = Extrapolation() if extrapolate else None
    state = State(dict(start), dict(start), Monitor(20, 0), momentum, every)
    for _ in range(at):
        sweep(problem, rules, state)
    resumed = pickle.loads(pickle.dumps(state))
    for each in (state, resumed):
        while each.monitor.running:
            sweep(problem, rules, each)
    assert resumed.monitor.history == state.monitor.history
    for name, F in state.accepted.items():
        assert_array_equal(resumed.accepted[name], F)
        assert_array_equal(resumed.point[name], state.point[name])


@both_ways
def test_sweeps_by_hand_are_solve(setup, extrapolate):
    problem, start, rules = setup
    state = State(dict(start), dict(start), Monitor(12, 0), Extrapolation() if extrapolate else None)
    while state.monitor.running:
        sweep(problem, rules, state)
    assert state.monitor.history == solve(*setup, monitor=Monitor(12, 0), extrapolate=extrapolate).history


# Single precision


def test_rounding_ends_single_precision_fit():
    """With nearly dependent components rounding can hide every further descent."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 6)).astype(np.float32)
    start = {"H": rng.uniform(size=(30, 3)).astype(np.float32), "Z": rng.normal(size=(6, 3)).astype(np.float32)}
    problem = Problem({"H": NonNegative(), "Z": Free()}, [fit(wrap(X))])
    rules = {"H": updates.hals_or_exact, "Z": updates.least_squares}
    solution = solve(problem, start, rules, monitor=Monitor(2000, 1e-8), extrapolate=True)
    assert solution.converged
    assert solution.n_iter < 1000


@pytest.mark.parametrize(("after", "converged"), [(1.001, True), (1.5, False)])
def test_rounding_that_hides_the_minimum_is_not_convergence(after, converged):
    """The update of F ends at a value that its rounding changes by this factor, whatever it started from."""
    values = iter([1.0, *[after] * 50])

    class Rounded:
        def evaluate(self, F):
            return Evaluation(next(values), 1e-9)

    problem = SimpleNamespace(constraints={"F": Free()}, objective=lambda name, factors: Rounded())
    monitor = Monitor(50, 1e-5)
    solution = solve(problem, {"F": np.ones((3, 2))}, {"F": lambda F, *_: F}, monitor=monitor, extrapolate=True)
    assert solution.n_iter < 20
    assert solution.history == [1.0]
    assert solution.converged == converged
    assert monitor.exhausted != converged


@pytest.mark.parametrize("seed", range(3))
def test_single_precision_does_not_climb_on_rounding(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((40, 4)) @ rng.random((4, 30)) + 0.1 * rng.random((40, 30))).astype(np.float32)
    start = {"H": rng.random((40, 4)).astype(np.float32), "Z": rng.random((30, 4)).astype(np.float32)}
    problem = Problem(SIGNS, [fit(wrap(X))])
    rules = dict.fromkeys(start, updates.multiplicative)
    solution = solve(problem, start, rules, monitor=Monitor(400, 0), extrapolate=True)
    history = np.array(solution.history)
    assert (history <= np.minimum.accumulate(history) + 1.01 * rounding(problem, start, [1.0])).all()

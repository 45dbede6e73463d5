import numpy as np
import pytest
from numpy.testing import assert_array_equal

from laminar import NMF, SemiNMF
from laminar._base import factorizer as base
from laminar._engine import updates
from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.matrix import wrap
from laminar._engine.problem import Chain, Problem
from laminar._engine.solve import Momentum, solve

MODELS = {"nmf": ("frobenius", NonNegative()), "semi": ("frobenius", Free()), "kl": ("kl", NonNegative())}
every_model = pytest.mark.parametrize("model", MODELS)


def setting(model="nmf", n=80, p=25, k=5, dtype=np.float64, seed=0):
    """A problem, a start and updates."""
    loss, sign = MODELS[model]
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(n, p)) - (0.5 if model == "semi" else 0)
    start = {"H": rng.uniform(0.1, 0.5, (n, k)).astype(dtype), "Z": rng.uniform(0.1, 0.5, (p, k)).astype(dtype)}
    problem = Problem(Chain(wrap(X.astype(dtype)), loss=loss), {"H": NonNegative(), "Z": sign})
    rule = updates.multiplicative if loss == "kl" else updates.hals
    return problem, start, {name: updates.for_constraint(rule, c) for name, c in problem.constraints.items()}


def noise(problem, state):
    return problem.term(problem.order[-1], state.best).noise(state.history[-1])


def residual(problem, F):
    return max(problem.term(name, F).residual(F[name], c) for name, c in problem.constraints.items())


@every_model
@pytest.mark.parametrize("extrapolate", [False, True])
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_history_never_rises_and_ends_with_what_is_returned(model, extrapolate, every, dtype):
    problem, start, rules = setting(model, dtype=dtype)
    copies = {name: F.copy() for name, F in start.items()}
    state = solve(problem, start, rules, max_iter=80, tol=0, extrapolate=extrapolate, evaluate_every=every)
    assert np.diff(state.history).max() <= noise(problem, state)
    assert state.history[-1] < problem.value(start)
    assert abs(problem.value(state.best) - state.history[-1]) <= noise(problem, state)
    for name, F in state.best.items():
        assert F.dtype == dtype
        assert_array_equal(problem.constraints[name].project(F.copy()), F)
        assert_array_equal(start[name], copies[name])


@every_model
@pytest.mark.parametrize("sweeps", range(1, 15))
def test_stopped_anywhere_the_last_entry_belongs_to_the_returned_pair(model, sweeps):
    """Buffers are used again inside: none that is part of the best pair."""
    problem, start, rules = setting(model)
    state = solve(problem, start, rules, max_iter=sweeps, tol=0, extrapolate=True)
    assert problem.value(state.best) == pytest.approx(state.history[-1], rel=1e-10)


@pytest.mark.usefixtures("two_threads")
@every_model
def test_on_two_threads(model):
    problem, start, rules = setting(model, n=400)
    state = solve(problem, start, rules, max_iter=30, tol=0, extrapolate=True)
    assert problem.value(state.best) == pytest.approx(state.history[-1], rel=1e-10)
    assert np.diff(state.history).max() <= noise(problem, state)


@every_model
def test_extrapolation_gets_lower_in_as_many_sweeps(model):
    problem, start, rules = setting(model)
    plain, leaping = (solve(problem, start, rules, max_iter=40, tol=0, extrapolate=e).history[-1] for e in (0, 1))
    assert leaping < plain


@every_model
@pytest.mark.parametrize("patience", [0, 5])
def test_no_leap_before_patience_ends(model, patience):
    problem, start, rules = setting(model)
    keywords = {"max_iter": 8, "tol": 0, "patience": patience}
    plain, leaping = (solve(problem, start, rules, extrapolate=e, **keywords).history for e in (False, True))
    first = max(patience, 1)  # there is no step to prolong before the second
    assert leaping[:first] == plain[:first]
    assert leaping[first] != plain[first]


@pytest.mark.parametrize(
    ("model", "init", "patience"),
    [(NMF, "random", 5), (NMF, (np.ones((6, 2)), np.ones((2, 4))), 5), (NMF, "nndsvd", 0), (SemiNMF, "random", 0)],
)
def test_random_starts_of_parts_wait_with_their_first_leap(model, init, patience, monkeypatch):
    seen = []
    monkeypatch.setattr(base, "solve", lambda *a, **k: seen.append(k["patience"]) or solve(*a, **k))
    model(2, init=init, random_state=0).fit(np.random.default_rng(0).random((6, 4)))
    assert seen == [patience]


@every_model
@pytest.mark.parametrize("extrapolate", [False, True])
def test_converged_means_a_small_kkt_residual(model, extrapolate):
    problem, start, rules = setting(model)
    for tol in (1e-3, 1e-5):
        state = solve(problem, start, rules, max_iter=5000, tol=tol, extrapolate=extrapolate)
        assert state.converged
        assert state.n_iter < 5000
        # It was measured a sweep before the last.
        assert residual(problem, state.best) <= 2 * np.sqrt(tol)


def test_not_converged_while_the_residual_is_large():
    problem, start, rules = setting()
    stuck = {name: lambda F, term, constraint: F.copy() for name in rules}  # the objective is quiet for ever
    state = solve(problem, start, stuck, max_iter=20, tol=1e-5)
    assert residual(problem, start) > np.sqrt(1e-5)
    assert not state.converged
    assert state.n_iter == 20


@pytest.mark.parametrize("X", [np.zeros((6, 4)), np.ones((6, 4))], ids=["zeros", "ones"])
@pytest.mark.parametrize("extrapolate", [False, True])
def test_tol_zero_runs_all_sweeps_even_at_an_exact_fit(X, extrapolate):
    problem = Problem(Chain(wrap(X)), {"H": NonNegative(), "Z": NonNegative()})
    start = {"H": np.ones((6, 1)), "Z": np.ones((4, 1))}
    state = solve(problem, start, {n: updates.hals for n in start}, max_iter=12, tol=0, extrapolate=extrapolate)
    assert state.n_iter == 12
    assert not state.converged


@every_model
def test_a_start_at_the_optimum_stops_at_once(model):
    problem, start, rules = setting(model, k=2)
    best = solve(problem, start, rules, max_iter=3000, tol=1e-12, extrapolate=True).best
    for extrapolate in (False, True):
        state = solve(problem, best, rules, max_iter=100, tol=1e-5, extrapolate=extrapolate)
        assert state.converged
        assert state.n_iter <= 3


@pytest.mark.parametrize("max_iter", [1, 2, 9])
@pytest.mark.parametrize("every", [1, 4])
def test_max_iter(max_iter, every):
    problem, start, rules = setting()
    state = solve(problem, start, rules, max_iter=max_iter, tol=0, evaluate_every=every)
    assert state.n_iter == max_iter
    evaluated = {i for i in range(1, max_iter + 1) if i % every == 0} | {1, max_iter}
    assert len(state.history) == len(evaluated)
    assert not state.converged


@pytest.mark.parametrize("every", [1, 5])
def test_callback_hears_of_every_sweep_and_may_stop(every):
    problem, start, rules = setting()
    heard = []

    def callback(iteration, objective, seconds):
        heard.append((iteration, objective, seconds))
        return len(heard) == 7

    state = solve(problem, start, rules, tol=0, extrapolate=True, evaluate_every=every, callback=callback)
    iterations, objectives, seconds = map(list, zip(*heard, strict=True))
    assert iterations == list(range(1, 8))
    assert state.n_iter == 7
    assert set(objectives) <= set(state.history)
    assert objectives == sorted(objectives, reverse=True)
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert not state.converged
    # Stopped between two looks, the last sweeps count all the same.
    assert problem.value(state.best) == pytest.approx(state.history[-1], rel=1e-10)
    assert state.history[-1] < solve(problem, start, rules, max_iter=5, tol=0, extrapolate=True).history[-1]


def test_a_loop_that_knows_nothing_but_nan_has_not_converged():
    problem, start, rules = setting()
    rules = dict.fromkeys(rules, lambda F, term, constraint: np.full_like(F, np.nan))
    assert not solve(problem, start, rules, max_iter=50, tol=1e-3, extrapolate=True).converged


@pytest.mark.parametrize("harm", [1.5, np.nan])
def test_a_sweep_that_makes_things_worse_is_taken_back(harm):
    problem, start, rules = setting()
    sweep, given = 0, {}

    def spoiled(F, term, constraint):
        nonlocal sweep
        sweep += 1
        given[sweep] = F.copy()
        new = updates.hals(F, term, constraint)
        return new * harm if sweep == 6 else new

    state = solve(problem, start, {**rules, "Z": spoiled}, max_iter=5, tol=0, extrapolate=True)
    best, kept = {name: F.copy() for name, F in state.best.items()}, list(state.history)
    sweep = 0
    state = solve(problem, start, {**rules, "Z": spoiled}, max_iter=6, tol=0, extrapolate=True)
    assert state.history == kept  # the sixth is not among them
    for name in best:
        assert_array_equal(state.best[name], best[name])
        assert_array_equal(state.factors[name], best[name])
    sweep = 0
    state = solve(problem, start, {**rules, "Z": spoiled}, max_iter=20, tol=0, extrapolate=True)
    assert_array_equal(given[7], best["Z"])  # the seventh starts where the fifth had ended
    assert 5 < len(state.history) < 20
    assert np.diff(state.history).max() <= 0


def test_momentum_grows_while_it_helps_and_shrinks_when_it_does_not():
    momentum = Momentum(0.5)
    first = momentum.beta
    momentum.grow()
    assert first < momentum.beta <= 1
    grown = momentum.beta
    momentum.shrink()
    assert momentum.beta < grown
    for _ in range(500):
        momentum.grow()
    assert momentum.beta <= momentum.ceiling <= 1


def test_a_single_moving_factor():
    problem, start, _ = setting()
    fixed = Problem(problem.chain, {"H": NonNegative()})
    state = solve(fixed, start, {"H": updates.hals}, max_iter=300, tol=1e-12)
    assert state.best["Z"] is start["Z"]
    expected = updates.exact(start["H"], problem.term("H", start))
    assert state.history[-1] == pytest.approx(problem.value({**start, "H": expected}), rel=1e-8)


def test_a_fit_at_the_end_of_its_precision_stops():
    """In single precision, with nearly dependent components, rounding can hide every further descent."""
    X = np.random.default_rng(1).normal(size=(30, 6)).astype(np.float32)
    model = SemiNMF(3, random_state=0).fit(X)
    assert model.converged_
    assert model.n_iter_ < 200


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_single_precision_does_not_climb_on_its_own_noise(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((40, 4)) @ rng.random((4, 30)) + 0.1 * rng.random((40, 30))
    history = NMF(4, solver="mu", init="random", random_state=0, tol=0, max_iter=400).fit(X.astype(np.float32))
    history = history.objective_history_
    noise = 8 * np.finfo(np.float32).eps * np.square(X).sum()
    assert (history <= np.minimum.accumulate(history) + 1.01 * noise).all()

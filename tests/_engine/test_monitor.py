"""`Monitor`: history, stopping rule and callback, on given sequences of objectives."""

import pickle

import numpy as np
import pytest

from laminar._engine.monitor import Monitor, Solution

GEOMETRIC = [2.0**-i for i in range(60)]  # decreases by half of itself, for ever
SETTLING = [1 + 2.0**-i for i in range(60)]


@pytest.fixture
def run():
    """Let a monitor step through values until it stops."""

    def stepped(values, **parameters):
        monitor = Monitor(**{"max_iter": len(values), **parameters})
        for value in values:
            if not monitor.running:
                break
            monitor.step(value)
        return monitor

    return stepped


# Stopping


def test_history_is_what_was_recorded(run):
    assert run(SETTLING, tol=0).history == SETTLING


@pytest.mark.parametrize("n_small", [1, 2, 5])
def test_small_decreases_in_a_row_converge(run, n_small):
    first = next(i for i in range(1, 60) if SETTLING[i - 1] - SETTLING[i] <= 1e-3 * SETTLING[i])
    monitor = run(SETTLING, tol=1e-3, n_small=n_small)
    assert monitor.converged
    assert monitor.n_iter == first + n_small


def test_one_large_decrease_starts_count_anew(run):
    monitor = run([1.0, 1.0, 0.5, 0.5, 0.5, 0.5], tol=1e-3)
    assert monitor.n_iter == 5


def test_floor_makes_decreases_to_zero_small(run):
    assert not run(GEOMETRIC, tol=1e-3).converged
    monitor = run(GEOMETRIC, tol=1e-3, floor=1.0)
    assert monitor.converged
    assert monitor.n_iter == 12  # 2^-10 is the first decrease below 1e-3


def test_rounding_makes_decreases_small():
    monitor = Monitor(10, 1e-9)
    for value in (1.0, 0.999, 0.998):
        monitor.record(value, rounding_error=0.1)
    assert monitor.converged


def test_large_residual_prevents_convergence():
    monitor = Monitor(10, 1e-4)
    for _ in range(5):
        monitor.record(1.0, residual=0.02)  # more than sqrt(tol)
    assert not monitor.converged
    monitor.record(1.0, residual=0.005)
    assert monitor.converged


def test_negative_objective_converges(run):
    """Under a penalty that rewards."""
    assert run([-value for value in reversed(SETTLING)] + [-2.0] * 3, tol=1e-3).converged


def test_zero_tol_never_converges(run):
    monitor = run([1.0] * 8, tol=0)
    assert monitor.n_iter == 8
    assert not monitor.converged


def test_max_iter_stops(run):
    monitor = run(GEOMETRIC, max_iter=7)
    assert (monitor.n_iter, monitor.converged, monitor.stopped) == (7, False, False)


def test_nan_does_not_converge(run):
    assert not run([np.nan] * 10, tol=1e-3).converged


def test_scale_does_not_matter(run):
    counts = {run([c * value for value in SETTLING], tol=1e-4).n_iter for c in (1e-100, 1.0, 1e100)}
    assert len(counts) == 1


# Callback


def test_callback_gets_every_iteration(run):
    calls = []
    run(SETTLING[:5], tol=0, callback=lambda *arguments: calls.append(arguments))
    iterations, values, snapshots = map(list, zip(*calls, strict=True))
    assert iterations == [1, 2, 3, 4, 5]
    assert values == SETTLING[:5]
    assert [snapshot() for snapshot in snapshots] == [{}] * 5


def test_callback_gets_factors_of_iteration():
    seen = []
    monitor = Monitor(3, 0, lambda iteration, value, snapshot: seen.append(snapshot()["H"]))
    for value in (3.0, 2.0, 1.0):
        monitor.step(value, lambda value=value: {"H": value})
    assert seen == [3.0, 2.0, 1.0]


def test_iterations_of_history_skip_those_without_value():
    monitor = Monitor(10, 0)
    for i in range(1, 8):
        monitor.n_iter += 1
        if i in (1, 4, 7):
            monitor.record(1.0 / i)
    assert monitor.iterations == [1, 4, 7]
    assert monitor.history == [1.0, 1 / 4, 1 / 7]


@pytest.mark.parametrize(("answer", "n_iter"), [(True, 1), (False, 5), (None, 5), (0, 5), ("stop", 1)])
def test_true_answer_stops(run, answer, n_iter):
    monitor = run(SETTLING[:5], tol=0, callback=lambda *_: answer)
    assert monitor.n_iter == n_iter
    assert monitor.stopped == bool(answer)
    assert not monitor.converged


# Records


def test_pickled_monitor_goes_on(run):
    monitor = run(SETTLING[:6], max_iter=60, tol=1e-3)
    copy = pickle.loads(pickle.dumps(monitor))
    for each in (monitor, copy):
        while each.running:
            each.step(SETTLING[each.n_iter])
    assert copy.history == monitor.history
    assert copy.converged


def test_solution_has_record_of_monitor(run):
    monitor = run(SETTLING, tol=1e-3)
    solution = Solution.reached({"H": np.ones(1)}, monitor)
    assert (solution.history, solution.n_iter, solution.converged) == (monitor.history, monitor.n_iter, True)
    assert solution.iterations == list(range(1, monitor.n_iter + 1))

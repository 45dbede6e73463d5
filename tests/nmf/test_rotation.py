"""`nonnegative_rotation`: descent to non-negative points, at nearly the same distances."""

import numpy as np
import pytest

from laminar._engine.monitor import Monitor
from laminar.nmf.rotation import nonnegative_rotation


@pytest.fixture
def planted():
    """Sparse non-negative points, turned by a random rotation."""
    rng = np.random.default_rng(1)
    H = rng.gamma(1.0, size=(100, 4)) * (rng.random((100, 4)) < 0.4)
    return H @ np.linalg.qr(rng.normal(size=(4, 4)))[0]


@pytest.fixture
def solution(planted):
    return nonnegative_rotation(planted, np.random.RandomState(0), n_starts=4)


def test_objective_never_increases(solution):
    assert np.diff(solution.history).max() <= 1e-10
    assert solution.history[-1] < 0.05 * solution.history[0]


def test_codes_are_nonnegative(solution):
    assert (solution.factors["H"] >= 0).all()


def test_distances_are_nearly_kept(planted, solution):
    H = solution.factors["H"]
    assert np.corrcoef((H @ H.T).ravel(), (planted @ planted.T).ravel())[0, 1] > 0.99


def test_max_iter_stops_rotation(planted):
    monitor = Monitor(2, 0)
    found = nonnegative_rotation(planted, np.random.RandomState(0), monitor=monitor)
    assert found.n_iter == 2
    assert not found.converged

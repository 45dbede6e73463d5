"""`nonnegative_rotation`: descent to non-negative points, at nearly the same distances."""

import numpy as np
import pytest

from laminar.deep.rotation import nonnegative_rotation


@pytest.fixture
def planted():
    """Sparse non-negative points, turned by a random rotation."""
    rng = np.random.default_rng(1)
    H = rng.gamma(1.0, size=(100, 4)) * (rng.random((100, 4)) < 0.4)
    return H @ np.linalg.qr(rng.normal(size=(4, 4)))[0]


def test_objective_never_increases(planted):
    H, history, converged = nonnegative_rotation(planted, np.random.RandomState(0), n_starts=4)
    assert (H >= 0).all()
    assert converged == (len(history) < 150)
    assert np.diff(history).max() <= 1e-10
    assert history[-1] < 0.05 * history[0]


def test_distances_are_nearly_kept(planted):
    H, *_ = nonnegative_rotation(planted, np.random.RandomState(0), n_starts=4)
    kept = np.corrcoef((H @ H.T).ravel(), (planted @ planted.T).ravel())[0, 1]
    assert kept > 0.99

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from laminar import NMF
from laminar._base.samples import Joined, Samples
from reference import models as plain

rng = np.random.default_rng(0)
CODES = np.array([-1, 1, 0, 1, -1, 0, 0, 2])
X = rng.gamma(1.0, size=(8, 5)) * (rng.random((8, 5)) < 0.7)
ROWS = [[0], [1, 3], [2, 5, 6], [4], [7]]  # in the order of their first samples
both_losses = pytest.mark.parametrize("loss", ["frobenius", "kl"])
every_form = pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix])


def test_samples_stand_for_themselves():
    samples, H = Samples(X), rng.random((8, 2))
    assert samples.data is samples.whole
    assert samples.join(H) is samples.part(H) is H
    assert samples.rest == 0


@both_losses
@every_form
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_sums(loss, form, dtype):
    samples = Joined(form(X.astype(dtype)), CODES, loss)
    power = 0 if loss == "kl" else 0.5
    expected = np.array([X[rows].sum(0) / len(rows) ** power for rows in ROWS])
    assert samples.data.dtype == dtype
    tol = 1e-5 if dtype == np.float32 else 1e-12
    assert_allclose(samples.data.product(np.eye(5, dtype=dtype)) * samples.data.scale, expected, rtol=tol)


@both_losses
def test_codes_go_there_and_back(loss):
    samples, H = Joined(X, CODES, loss), rng.random((8, 2))
    back = samples.part(samples.join(H)) * samples.whole.scale / samples.data.scale
    expected = np.empty_like(H)
    for rows in ROWS:
        expected[rows] = H[rows].mean(0)
    assert_allclose(back, expected)


@both_losses
@every_form
def test_objectives_differ_by_the_rest(loss, form):
    samples = Joined(form(X), CODES, loss)
    rows = samples.data.product(np.eye(5)) * samples.data.scale
    for seed in range(3):
        rng = np.random.default_rng(seed)
        H, Z = rng.random((5, 2)), rng.random((2, 5))
        spread = samples.part(H) * samples.whole.scale / samples.data.scale
        gap = plain.objective(X, spread, Z, loss) - plain.objective(rows, H, Z, loss)
        assert samples.rest == pytest.approx(gap)


def test_a_fit_lets_go_of_the_data():
    """Without waiting for the garbage collector: a loop over large sets would hold several of them."""
    gc.disable()
    try:
        X = np.random.default_rng(0).random((30, 8))
        gone = weakref.ref(X)
        model = NMF(3, random_state=0).fit(X)
        del X
        assert gone() is None
        assert model.components_.shape == (3, 8)
    finally:
        gc.enable()

import numpy as np
import pytest
import scipy.sparse as sp
from laminar.nmf.concept_terms import Mixtures, SplitMixtures, descend
from threadpoolctl import threadpool_limits

from laminar._engine.constraints import NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.updates import hals, multiplicative
from laminar._utils import threads
from laminar.testing import check_term

N, P, K = 70, 9, 3
rng = np.random.default_rng(0)
MIXED = rng.normal(size=(N, P))
POSITIVE = rng.gamma(0.7, size=(N, P))
H, A = rng.random((N, K)), rng.random((N, K)) / N
FORMS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix]
NONNEGATIVE = NonNegative()


def objective(X, H, A):
    return ((X - H @ A.T @ X) ** 2).sum() / 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["H", "A"])
def test_terms_are_the_cost(form, name):
    data = wrap(form(4 * MIXED))
    factors = {"H": H, "A": A}
    term = Mixtures(data).term(name, factors)
    assert term.value(factors[name]) == pytest.approx(objective(MIXED * 4 / data.scale, H, A), rel=1e-12)


@pytest.mark.parametrize("name", ["H", "A"])
def test_terms_keep_their_promises(name):
    factors = {"H": H, "A": A}
    check_term(Mixtures(wrap(POSITIVE)).term(name, factors), factors[name])
    check_term(SplitMixtures(wrap(MIXED)).term(name, factors), factors[name])


def test_tiles_hold_inner_products_of_all_but_lost_samples():
    X = MIXED.copy()
    X[:2] = np.zeros(P), 1e-17 * MIXED[1]
    data = wrap(X)
    tiles = Mixtures(data).tiles
    assert [b.start for b, _ in tiles] == [0, 32, 64]
    assert tiles[-1][0].stop == N
    inner = (X / data.scale) @ (X / data.scale).T
    inner[:2], inner[:, :2] = 0, 0
    assert (tiles[0][1][:2] == 0).all()
    for b, tile in tiles:
        np.testing.assert_allclose(tile, inner[b, b], atol=1e-14)


@pytest.mark.parametrize("form", FORMS)
def test_descent_goes_down_to_rest(form):
    term, F = Mixtures(wrap(form(MIXED))).term("A", {"H": H, "A": A}), A
    values, residuals = [term.value(F)], [term.residual(F, NONNEGATIVE)]
    for _ in range(300):
        F = descend(F, term)
        values.append(term.value(F))
        residuals.append(term.residual(F, NONNEGATIVE))
    assert (np.diff(values) <= 1e-13 * values[0]).all()
    assert residuals[-1] < 1e-8 < residuals[0]
    gradient = MIXED @ (MIXED.T @ F @ (H.T @ H) - MIXED.T @ H)
    assert np.abs(np.minimum(F, gradient)).max() < 1e-6


def test_descent_leaves_its_input_alone_and_does_not_care_for_threads():
    before, results = A.copy(), []
    for width in (1, 2):
        with threadpool_limits(width, user_api="blas"), threads.own_threads():
            results.append(descend(A, Mixtures(wrap(MIXED)).term("A", {"H": H, "A": A})))
    assert np.array_equal(A, before)
    np.testing.assert_allclose(results[1], results[0], atol=1e-13)


@pytest.mark.parametrize("eta", [0.5, 1.0])
def test_multiplicative_rules_of_both_kinds_go_down(eta):
    for chain in (Mixtures(wrap(POSITIVE)), SplitMixtures(wrap(MIXED)), SplitMixtures(wrap(sp.csr_array(MIXED)))):
        F, values = {"H": H, "A": A}, []
        for _ in range(30):
            for name in F:
                term = chain.term(name, F)
                F = F | {name: multiplicative(F[name], term, eta=eta)}
            values.append(term.value(F["A"]))
        assert (np.diff(values) <= 1e-12 * values[0]).all()


def test_codes_see_a_plain_fit():
    term = Mixtures(wrap(MIXED)).term("H", {"H": H, "A": A})
    F = H
    for _ in range(50):
        F = hals(F, term)
    Z = A.T @ MIXED
    assert np.abs(np.minimum(F, (F @ Z - MIXED) @ Z.T)).max() < 1e-8

"""Penalties over the graphs of all views, against sums over their edges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar.graphs import KNN, Chain
from laminar.multiview.smoothness import RidgeByView, SmoothOverViews, ViewGraphs
from laminar.testing import check_term

N, K, SIZES, ALPHA = 20, 3, (4, 6), 0.7
WEIGHTS = np.array([0.6, 0.4])
SLICES = [slice(0, 4), slice(4, 10)]
rng = np.random.default_rng(0)
H, PSI = rng.random((N, K)), rng.normal(size=(10, K))
Z = PSI * np.repeat(np.sqrt(WEIGHTS), SIZES)[:, None]  # components hold the roots of the weights
OPERATORS = [KNN(3).build(rng.normal(size=(N, 4))), Chain().build(H)]


def penalty(invariant):
    """alpha/2 sum_v w_v sum_a s_va sum_{i<j} W_ij (h_ia - h_ja)^2, edge by edge."""
    value = 0.0
    for v, (operator, s) in enumerate(zip(OPERATORS, SLICES, strict=True)):
        W = operator.tocsr().toarray()
        for a in range(K):
            scale = (PSI[s, a] ** 2).sum() if invariant else 1.0
            rough = sum(W[i, j] * (H[i, a] - H[j, a]) ** 2 for i in range(N) for j in range(i))
            value += ALPHA / 2 * WEIGHTS[v] * scale * rough
    return value


@pytest.mark.parametrize("invariant", [True, False])
def test_both_factors_have_the_same_value(invariant):
    addend = ViewGraphs(OPERATORS, SLICES, ALPHA, invariant).addend(WEIGHTS)
    factors = {"H": H, "Z": Z}
    for name in ("H", "Z"):
        assert addend(name, factors).value(factors[name]) == pytest.approx(penalty(invariant), rel=1e-12)


def test_scales_do_not_matter_in_invariant_form():
    addend, c = ViewGraphs(OPERATORS, SLICES, ALPHA).addend(WEIGHTS), np.array([2.0, 0.5, 10.0])
    assert addend("H", {"H": H * c, "Z": Z / c}).value(H * c) == pytest.approx(penalty(True), rel=1e-12)


def test_terms_keep_their_contract():
    term = SmoothOverViews(OPERATORS, rng.random((2, K)))
    check_term(term, H)


def test_ridge_is_of_each_view():
    q = rng.random((2, K))
    term = RidgeByView(SLICES, q)
    expected = sum(q[v, a] * (Z[s, a] ** 2).sum() / 2 for v, s in enumerate(SLICES) for a in range(K))
    assert term.value(Z) == pytest.approx(expected)
    assert_allclose(term.majoriser(Z).G, [np.diag(q[0]), np.diag(q[1])])
    plus, minus = term.split_gradient(Z)(slice(2, 6))
    assert_allclose(plus - minus, Z[2:6] * np.repeat(q, SIZES, axis=0)[2:6])

"""`Majoriser`: sums, gradients and curvatures, against the formula of its docstring."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._engine.terms import Majoriser, by_group

N, K = 7, 3
ALL = slice(0, N)
rng = np.random.default_rng(0)
F = rng.uniform(0.2, 1, (N, K))
B, RATIO = rng.normal(size=(N, K)), rng.uniform(size=(N, K))
G = np.cov(rng.normal(size=(K, 9)))
R, C = rng.uniform(size=N), np.array([1.0, 2.0, 0.5])

PARTS = {  # one part of the formula each
    "linear": Majoriser(B.__getitem__),
    "gram": Majoriser(G=G),
    "row curvature": Majoriser(row_curvature=R, column_weights=C),
    "ratio": Majoriser(ratio=RATIO.__getitem__),
    "nothing": Majoriser(),
}


@pytest.fixture
def total():
    """The sum of all parts."""
    return sum(PARTS.values(), Majoriser())


# Addition


def test_sum_has_all_parts(total):
    assert_allclose(total.B(ALL), B)
    assert_allclose(total.G, G)
    assert_allclose(total.row_curvature, R)
    assert_allclose(total.column_weights, C)
    assert_allclose(total.ratio(ALL), RATIO)


def test_sum_with_itself_is_twice(total):
    twice = total + total
    assert_allclose(twice.B(ALL), 2 * B)
    assert_allclose(twice.G, 2 * G)
    assert_allclose(twice.row_curvature, 2 * R)
    assert_allclose(twice.column_weights, C)
    assert_allclose(twice.ratio(ALL), 2 * RATIO)


def test_sum_leaves_addends_unchanged(total):
    before = PARTS["linear"].B(ALL).copy()
    (total + total).B(ALL)
    assert_allclose(PARTS["linear"].B(ALL), before, rtol=0)


def test_shared_gram_joins_every_group():
    grams = np.stack([G, 2 * G])
    assert_allclose((Majoriser(G=grams) + Majoriser(G=np.eye(K))).G, grams + np.eye(K))


def test_unequal_column_weights_are_refused():
    other = Majoriser(row_curvature=R, column_weights=C + 1)
    with pytest.raises(ValueError, match="weight its columns alike; put the weight in r"):
        PARTS["row curvature"] + other


# Derivatives


def test_gradient_is_that_of_the_formula(total):
    assert_allclose(total.gradient(ALL, F, G), F @ G + R[:, None] * C * F - B - RATIO)


@pytest.mark.parametrize("name", PARTS)
def test_gradients_add_up(name, total):
    part = PARTS[name]
    rest = sum((other for key, other in PARTS.items() if key != name), Majoriser())
    both = part.gradient(ALL, F, part.G) + rest.gradient(ALL, F, rest.G)
    assert_allclose(total.gradient(ALL, F, G), both)


def test_curvature_is_second_derivative(total):
    expected = np.diag(G) + R[:, None] * C + RATIO / F
    assert_allclose(total.derivatives(ALL, F, G, np.zeros(K))[1], expected)


def test_curvature_is_bounded_at_zero(total):
    f, typical = np.zeros_like(F), np.full(K, 0.5)
    assert_allclose(total.derivatives(ALL, f, G, typical)[1], np.diag(G) + R[:, None] * C + RATIO / 0.5)


def test_part_of_rows_is_part_of_result(total):
    b = slice(2, 5)
    assert_allclose(total.gradient(b, F[b], G), total.gradient(ALL, F, G)[b])
    assert_allclose(total.ridge(b)[0], R[b])


# Groups


@pytest.mark.parametrize("gram", [None, G, np.stack([G])], ids=["none", "one", "stack of one"])
def test_one_group_has_one_gram(gram):
    ((got, blocks),) = by_group(gram, [[ALL]])
    assert blocks == [ALL]
    assert got is None if gram is None else np.array_equal(got, G)


def test_numbers_of_groups_and_grams_agree():
    with pytest.raises(ValueError, match="zip"):
        list(by_group(np.stack([G, G]), [[ALL]]))

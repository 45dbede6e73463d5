"""Penalties: each is the function its docstring writes down, and keeps the contract of a term."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._engine.terms import Constant, GraphPenalty, MaskedL1, Ridge, Tie
from laminar._engine.terms.penalties import masked_sums
from laminar.graphs import KNN, Chain, Labels
from laminar.testing import check_term

N, K = 40, 3
ALL = slice(0, N)
rng = np.random.default_rng(0)
X, F = rng.gamma(1.0, size=(N, 12)), rng.uniform(0.1, 1, (N, K))
LABELS = np.where(np.arange(N) % 3, rng.integers(0, 4, N), -1)
MASK, TARGET = (rng.random((N, K)) < 0.4).astype(float), rng.normal(size=(N, K))
W, S = np.array([0.3, 2.0, 1.0]), np.array([0.5, 1.0, 2.0])

GRAPHS = {
    "labels": Labels(),
    "class means": Labels(normalize="class"),
    "knn": KNN(3),
    "chain": Chain(),
    "sum": Labels() + 0.5 * Chain() + 2 * KNN(2),
}
OPERATORS = {name: graph.build(X, LABELS) for name, graph in GRAPHS.items()}


def laplacian(name):
    W = OPERATORS[name].tocsr().toarray()
    return np.diag(W.sum(1)) - W


TERMS = {  # name: (term, its value at F by the definition)
    **{
        name: (GraphPenalty(L, 0.7, W), 0.35 * np.einsum("ia,ij,ja,a", F, laplacian(name), F, W))
        for name, L in OPERATORS.items()
    },
    "tie": (Tie(TARGET.__getitem__, W), 0.5 * (W * (F - TARGET) ** 2).sum()),
    "tie in scales": (Tie(TARGET.__getitem__, W, S), 0.5 * (W * (S * F - TARGET) ** 2).sum()),
    "ridge": (Ridge(W), 0.5 * (W * F**2).sum()),
    "reward": (Ridge(-W), -0.5 * (W * F**2).sum()),
    "masked L1": (MaskedL1(MASK.__getitem__, W), (W * MASK * F).sum()),
    "constant": (Constant(3.0), 3.0),
}


@pytest.fixture(params=TERMS)
def case(request):
    """A penalty and its value at F."""
    return TERMS[request.param]


def test_value_is_that_of_definition(case):
    term, expected = case
    assert term.value(F) == pytest.approx(expected)


def test_contract_holds(case):
    check_term(case[0], F)


def test_contract_holds_with_entries_at_zero(case):
    check_term(case[0], F * (F > 0.4))


def test_float32_curvature_stays_float32(case):
    majoriser = case[0].majoriser(F.astype(np.float32))
    parts = (majoriser.G, majoriser.row_curvature, majoriser.column_weights)
    assert all(A.dtype == np.float32 for A in parts if A is not None)


# Operators


@pytest.mark.parametrize("name", OPERATORS)
def test_row_curvature_bounds_laplacian(name):
    bound = np.diag(OPERATORS[name].row_curvature) - laplacian(name)
    assert np.linalg.eigvalsh(bound).min() > -1e-10


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_rows_split_laplacian(name):
    operator, LF = OPERATORS[name], laplacian(name) @ F
    plus, minus, remainder = (part(ALL) for part in operator.rows(F))
    assert (plus >= 0).all()
    assert (minus >= 0).all()
    assert_allclose(plus - minus, LF, atol=1e-12)
    assert_allclose(remainder, operator.row_curvature[:, None] * F - LF, atol=1e-12)


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_columns_are_quadratic_forms(name):
    assert_allclose(OPERATORS[name].quad_columns(F), np.einsum("ia,ij,ja->a", F, laplacian(name), F))


@pytest.mark.parametrize("name", OPERATORS)
def test_remainder_is_new_array(name):
    remainder = OPERATORS[name].rows(F).remainder
    first = remainder(ALL)
    expected = first.copy()
    first *= 2
    assert_allclose(remainder(ALL), expected, rtol=0)


def test_masked_sums_are_those_of_columns():
    assert_allclose(masked_sums(MASK.__getitem__, F), (MASK * F).sum(0))

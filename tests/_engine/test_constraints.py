"""Constraints: projections, what they leave of a step, and the update each asks for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar._engine.constraints import Free, NonNegative, UnitSum
from laminar._engine.updates import hals, least_squares

CONSTRAINTS = {"free": Free(), "non-negative": NonNegative(), "unit sum": UnitSum()}
BOUNDED = {name: c for name, c in CONSTRAINTS.items() if not c.signed}


@pytest.fixture
def F():
    return np.random.default_rng(0).normal(size=(20, 4))


# Projection


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_projection_is_idempotent(constraint, F):
    once = constraint.project(F.copy())
    assert_allclose(constraint.project(once.copy()), once, rtol=1e-15)


@pytest.mark.parametrize("constraint", BOUNDED.values(), ids=BOUNDED)
def test_projection_is_nonnegative(constraint, F):
    assert (constraint.project(F) >= 0).all()


def test_free_projection_changes_nothing(F):
    assert_array_equal(Free().project(F.copy()), F)


def test_unit_sum_keeps_zero_columns(F):
    F = np.abs(F)
    F[:, 1] = 0
    got = UnitSum().project(F.copy())
    assert_allclose(got.sum(0), [1, 0, 1, 1])
    assert_allclose(got[:, 0], F[:, 0] / F[:, 0].sum())


# Steps


def test_step_is_what_projection_leaves(F):
    H = np.maximum(F, 0)
    move = np.random.default_rng(1).normal(size=F.shape)
    assert_allclose(NonNegative().step(H, move), H - np.maximum(H - move, 0), atol=1e-15)
    assert_array_equal(Free().step(H, move), move)


def test_multiplier_makes_gradient_of_support_vanish():
    """At a KKT point of a column with sum one the gradient is constant where the column is positive."""
    Z = np.array([[0.5, 1.0], [0.5, 0.0], [0.0, 0.0]])
    gradient = np.array([[-2.0, 3.0], [-2.0, 5.0], [1.0, 4.0]])
    groups = [(None, [slice(0, 2), slice(2, 3)])]
    multiplier = UnitSum().multiplier(Z, lambda b, _: gradient[b], groups)
    assert_allclose(multiplier, [-2, 3])
    assert_allclose(UnitSum().step(Z, gradient - multiplier), 0)


# Extrapolation


def test_limit_keeps_factor_nonnegative(F):
    H, move = np.maximum(F, 0), -10 * np.abs(F)
    NonNegative().limit(move, H)
    assert_allclose(H + move, 0.9 * H)


def test_limit_keeps_free_moves(F):
    move = -10 * F
    Free().limit(move, F)
    assert_array_equal(move, -10 * F)


# Updates


@pytest.mark.parametrize(("name", "expected"), [("free", least_squares), ("non-negative", hals), ("unit sum", hals)])
def test_update_suits_constraint(name, expected):
    assert CONSTRAINTS[name].update(hals) is expected

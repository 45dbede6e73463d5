"""Discriminants: leave-one-out scores, whitening, memberships, soft targets from the labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._utils.labels import Attribute
from laminar.attributes.class_centres import pooled_lda
from laminar.attributes.discriminants import (
    Decomposition,
    discriminants,
    initial_targets,
    leave_one_out,
    with_labels,
)
from laminar.attributes.held_out import held_out_scores, ridge_predictions
from laminar.attributes.weighting import lda_hits
from reference import discriminants as reference

rng = np.random.default_rng(0)
CODES = np.arange(40) % 4
MEANS = 2 * rng.normal(size=(4, 7))
X = MEANS[CODES] + rng.normal(size=(40, 7))
X = (X - X.mean(0)) / np.sqrt(np.square(X - X.mean(0)).sum(1).mean())
U, S, _ = np.linalg.svd(X, full_matrices=False)
DATA = Decomposition(U, S)
SOFT = rng.dirichlet(np.ones(4), size=40)


def partial(n_labels):
    """The first labels of each class, four classes."""
    return Attribute(np.where(np.arange(40) < 4 * n_labels, CODES, -1), np.array(list("abcd")))


# Leave-one-out scores


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_closed_form_equals_refits_without_the_row(ridge):
    L, _, error = leave_one_out(DATA, SOFT - SOFT.mean(0), [ridge])
    expected = reference.leave_one_out(X, SOFT, ridge)
    assert_allclose(L, expected, atol=1e-9)
    assert error == pytest.approx(np.square(expected - (SOFT - SOFT.mean(0))).sum() / 40)


def test_ridge_has_least_error():
    ridges = (1e-3, 0.1, 10.0)
    errors = [leave_one_out(DATA, SOFT - SOFT.mean(0), [ridge])[2] for ridge in ridges]
    assert leave_one_out(DATA, SOFT - SOFT.mean(0), ridges)[2] == min(errors)


# A round


def test_round_is_the_plain_loop():
    found = discriminants(DATA, SOFT)
    C = SOFT - SOFT.mean(0)
    L = leave_one_out(DATA, C)[0]
    Z, centres = reference.whitened(L, SOFT, 0.1)
    # Whitened up to a rotation: inner products are the same.
    assert_allclose(found.Z @ found.Z.T, Z @ Z.T, atol=1e-8)
    assert_allclose(found.Z @ found.centres.T, Z @ centres.T, atol=1e-8)
    assert_allclose(found.memberships, reference.memberships(Z, centres), atol=1e-8)


def test_new_samples_are_linear_in_features():
    found = discriminants(DATA, np.eye(4)[CODES])
    near = DATA.features @ found.coef
    assert near.shape == found.Z.shape
    assert np.corrcoef(near.ravel(), found.Z.ravel())[0, 1] > 0.95
    # They fit the targets better than scores which leave the sample out.
    assert np.square(near - found.centres[CODES]).sum() < np.square(found.Z - found.centres[CODES]).sum()


# Soft targets


@pytest.mark.parametrize("n_labels", [1, 3, 9])
def test_targets_are_labels_where_known(n_labels):
    attribute = partial(n_labels)
    P = initial_targets(DATA, attribute)
    assert_allclose(P.sum(1), 1)
    assert (P >= 0).all()
    assert np.array_equal(P[attribute.known], np.eye(4)[CODES[attribute.known]])
    assert np.mean(P.argmax(1) == CODES) > 0.7


def test_start_is_the_classifier_with_more_hits():
    labels, starts = partial(3), []
    known = labels.known
    codes = labels.codes[known]
    for seed in range(9):
        noisy = np.random.default_rng(seed).normal(size=X.shape) + 2 * X
        U, s, _ = np.linalg.svd(noisy - noisy.mean(0), full_matrices=False)
        E = U * s
        held = held_out_scores(E[known], codes, 4)
        if held.n_nearest > held.n_correct + 1:  # the largest ridge score does not decide
            continue
        starts.append(lda_hits(E[known], codes, 4) > held.hits)
        if starts[-1]:
            expected = pooled_lda(E[known], codes, 4).predict(E)
        else:
            expected = next(ridge_predictions(E[known], np.eye(4)[codes], E, [held.ridge])).argmax(1)
        P = initial_targets(Decomposition(U, s), labels)
        np.testing.assert_array_equal(P.argmax(1)[~known], expected[~known])
    assert set(starts) == {True, False}


def test_rounds_find_unlabelled_samples():
    attribute = partial(2)
    P = initial_targets(DATA, attribute)
    for _ in range(2):
        P = with_labels(discriminants(DATA, P).memberships, attribute)
    assert np.mean(P.argmax(1) == CODES) >= 0.9


def test_very_uneven_classes_are_kept():
    codes = np.r_[np.zeros(36, int), np.ones(4, int)]
    features = np.c_[codes + 0.1 * rng.normal(size=40), rng.normal(size=(40, 2))]
    features = features - features.mean(0)
    U, s, _ = np.linalg.svd(features / np.sqrt(np.square(features).sum(1).mean()), full_matrices=False)
    data = Decomposition(U, s)
    attribute = Attribute(np.where(np.isin(np.arange(40), [0, 5, 9, 13, 17, 21, 36]), codes, -1), np.arange(2))
    P = initial_targets(data, attribute)
    found = discriminants(data, P)
    assert np.mean(found.memberships.argmax(1) == codes) > 0.9


@pytest.mark.parametrize("n_labels", [1, 2, 10])
def test_features_of_nothing_stay_finite(n_labels):
    data = Decomposition(np.zeros((40, 1)), np.array([1e-12]))
    found = discriminants(data, initial_targets(data, partial(n_labels)))
    for array in (found.Z, found.coef, found.centres, found.memberships):
        assert np.isfinite(array).all()

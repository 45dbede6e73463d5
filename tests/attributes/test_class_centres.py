"""Linear discriminant analysis with a pooled covariance, and classes by the nearest centre."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from laminar.attributes.class_centres import pooled_lda
from reference import discriminants as reference

rng = np.random.default_rng(0)
CODES = np.repeat([0, 1, 2], [9, 7, 5])
E = rng.normal(size=(21, 6)) @ rng.normal(size=(6, 6)) + 2 * rng.normal(size=(3, 6))[CODES]
NEW = 3 * rng.normal(size=(10, 6))


@pytest.mark.parametrize("codes", [CODES, np.append(CODES[:-1], 3)], ids=["several", "one label in a class"])
def test_probabilities_are_those_of_the_formula(codes):
    scores = reference.pooled_lda_scores(E, codes, NEW)
    lda = pooled_lda(E, codes, codes.max() + 1)
    assert_allclose(lda.probabilities(NEW), softmax(scores, axis=1), atol=1e-8)
    assert np.array_equal(lda.predict(NEW), scores.argmax(1))


def test_directions_are_one_less_than_classes():
    assert pooled_lda(E, CODES, 3).discriminants(NEW).shape == (10, 2)
    assert pooled_lda(E[:, :1], CODES, 3).discriminants(NEW[:, :1]).shape == (10, 1)


def test_one_label_a_class_chooses_the_nearest():
    lda = pooled_lda(E[[0, 10, 20]], np.arange(3), 3)
    nearest = np.linalg.norm(NEW[:, None] - E[[0, 10, 20]], axis=2).argmin(1)
    assert np.array_equal(lda.predict(NEW), nearest)


@pytest.mark.parametrize("data", [0 * E, np.repeat(E[:1], 21, axis=0), np.eye(3)[CODES]])
def test_degenerate_features_give_finite_probabilities(data):
    assert np.isfinite(pooled_lda(data, CODES, 3).probabilities(data)).all()

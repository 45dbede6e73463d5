"""Weights of bands by their hits and priors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar._utils.labels import Attribute, read_labels
from laminar.attributes.held_out import held_out_scores
from laminar.attributes.weighting import band_weights, lda_hits, leading_directions

rng = np.random.default_rng(0)
CODES = np.repeat([0, 1, -1], [12, 10, 9])
B = rng.normal(size=(31, 6)) + 0.7 * rng.normal(size=(3, 6))[CODES]
NOISE = rng.normal(size=B.shape)
LABELS = Attribute(CODES, np.arange(2))


def hits(band, attribute):
    known, n_classes = attribute.known, len(attribute.classes)
    codes, lda = attribute.codes[known], band[known] @ leading_directions(band)
    return max(held_out_scores(band[known], codes, n_classes).hits, lda_hits(lda, codes, n_classes))


def test_weights_are_prior_times_exponential_of_hits():
    bands, priors = [NOISE, B, B + 0.5 * NOISE], [1.0, 0.1, 1.0]
    expected = priors * np.exp([hits(band, LABELS) for band in bands])
    expected /= expected.sum()
    weights = band_weights(bands, LABELS, priors)
    assert_allclose(weights, np.where(expected < 0.02, 0, expected) / expected[expected >= 0.02].sum())


def test_lda_hits_are_those_of_refits():
    wide = np.array([0, 0, 0, 1, 1, 1, 2])
    E = np.eye(3)[wide] + 0.01 * rng.normal(size=(7, 3))
    assert lda_hits(E, wide, 3) == 6  # the class of one is never held out


def test_one_label_a_class_leaves_the_priors():
    (attribute,) = read_labels(["a", "b", "c"] + [None] * 28, 31)
    assert_allclose(band_weights([B, 2 * B, B**2], attribute, [1.0, 2.0, 1.0]), [0.25, 0.5, 0.25])


@pytest.mark.parametrize("labels", [[None] * 31, ["a"] * 31, ["a"] + [None] * 30], ids=["none", "one class", "one"])
def test_less_than_two_classes_choose_the_first(labels):
    (attribute,) = read_labels(labels, 31)
    assert band_weights([B, 2 * B], attribute, [0.1, 1.0]).tolist() == [1, 0]

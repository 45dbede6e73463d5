"""Held-out scores of ridge classifiers: folds, scores, hits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laminar.attributes.held_out import RIDGES, folds, held_out_scores
from reference import discriminants as reference

rng = np.random.default_rng(0)
CODES = np.repeat([0, 1, 2], [9, 7, 5])
A = rng.normal(size=(21, 6)) + 0.7 * rng.normal(size=(3, 6))[CODES]


@pytest.mark.parametrize("width", [1, 3, 6, 40])
def test_scores_equal_refits_without_the_fold(width):
    features = np.hstack([A, rng.normal(size=(21, 40))])[:, :width]
    found = held_out_scores(features, CODES, 3)
    scores, hits, tried = reference.held_out(features, CODES, folds(CODES, 20), RIDGES)
    errors = np.square(scores - np.eye(3)[CODES]).sum((1, 2))
    best = errors.argmin()
    assert tried.all()
    assert found.ridge == RIDGES[best]
    assert_allclose(found.scores, scores[best], atol=1e-8)
    assert found.n_correct == pytest.approx(hits[best])


def test_nearest_mean_leaves_own_row_out():
    found = held_out_scores(A, CODES, 3)
    hits = 0
    for i, c in enumerate(CODES):
        others = np.arange(len(CODES)) != i
        means = [found.scores[others & np.isin(CODES, k)].mean(0) for k in range(3)]
        hits += int(np.argmin([np.sum((found.scores[i] - m) ** 2) for m in means]) == c)
    assert found.n_nearest == hits


def test_middle_class_is_found_by_means():
    codes = np.arange(60) % 3
    line = codes[:, None] + 0.05 * rng.normal(size=(60, 1))
    found = held_out_scores(line, codes, 3)
    assert found.n_nearest == 60 > found.n_correct + 10
    assert found.hits == 60


def test_folds_hold_out_equal_shares():
    masks = list(folds(CODES, 3))
    assert len(masks) == 15
    for mask in masks:
        assert np.all(np.abs(np.bincount(CODES[mask], minlength=3) - np.bincount(CODES) / 5) < 1)
    for partition in (masks[:5], masks[5:10]):
        assert np.array_equal(np.sum(partition, 0), np.ones(21))
    assert all(np.array_equal(a, b) for a, b in zip(masks, folds(CODES, 3), strict=True))


def test_single_label_is_never_held_out():
    codes = np.array([0, 0, 0, 1, 2, 2])
    masks = list(folds(codes, 4))
    assert not any(mask[3] for mask in masks)
    assert all(set(codes[~mask]) == {0, 1, 2} for mask in masks)
    assert held_out_scores(A[:6], codes, 3).n_nearest == 0  # of a class that was never tried nothing is known


def test_one_label_a_class_tries_nothing():
    found = held_out_scores(A[:3], np.arange(3), 3)
    assert (found.hits, found.ridge, found.tried.any()) == (0, 0.1, False)


@pytest.mark.parametrize("change", [lambda A: 1e-30 * A, lambda A: A + 100, lambda A: 0 * A])
def test_units_do_not_matter(change):
    found = held_out_scores(change(A), CODES, 3)
    assert np.isfinite(found.scores).all()
    if change(A).any():
        assert_allclose(found.scores, held_out_scores(A, CODES, 3).scores, atol=1e-6)

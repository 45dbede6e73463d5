import numpy as np
import pytest
from sklearn.linear_model import Ridge

from laminar._utils.labels import Attribute, read_labels
from laminar.attributes.weighting import RIDGES, _random_halves, band_weights, split_half_accuracy

rng = np.random.default_rng(0)
CODES = np.repeat([0, 1, 2, -1], [9, 7, 5, 10])
B = rng.normal(size=(31, 6)) + 0.7 * rng.normal(size=(4, 6))[CODES]
LABELS = Attribute(CODES, np.arange(3))


def plain(B, codes, ridge):
    """Train on each half and try on the other, with scikit-learn; every class counts the same."""
    B, y = B[codes >= 0], codes[codes >= 0]
    B = B * np.sqrt(len(B)) / np.linalg.norm(B - B.mean(0))
    T, hits = np.eye(y.max() + 1)[y], []
    for first in _random_halves(y):
        right = np.empty(len(y))
        for train in (first, ~first):
            right[~train] = Ridge(alpha=ridge).fit(B[train], T[train]).predict(B[~train]).argmax(1) == y[~train]
        hits.append(right)
    sizes, hits = np.bincount(y), np.mean(hits, 0)
    return np.mean([hits[y == c].mean() for c in np.flatnonzero(sizes > 1)])


@pytest.mark.parametrize("ridge", [1e-3, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("width", [1, 3, 6, 40])
def test_either_form_is_ridge_regression(ridge, width):
    features = np.hstack([B, rng.normal(size=(31, 40))])[:, :width]
    assert split_half_accuracy(features, LABELS, (ridge,)) == pytest.approx(plain(features, CODES, ridge))


def test_a_class_of_one_is_there_but_does_not_count():
    codes = np.where(np.arange(31) == 30, 3, CODES)
    assert split_half_accuracy(B, Attribute(codes, np.arange(4)), (0.01,)) == pytest.approx(plain(B, codes, 0.01))


def test_several_ridges_are_averaged():
    assert split_half_accuracy(B, LABELS) == pytest.approx(np.mean([plain(B, CODES, ridge) for ridge in RIDGES]))


@pytest.mark.parametrize("n", [21, 900])
def test_halves_hold_half_of_every_class(n):
    y = np.random.default_rng(0).integers(0, 4, n)
    splits = list(_random_halves(y))
    assert len(splits) == (60 if n == 21 else 4)
    for first in splits:
        inside, outside = np.bincount(y[first], minlength=4), np.bincount(y[~first], minlength=4)
        assert (np.abs(inside - outside) <= 1).all()
    assert len({first.tobytes() for first in splits}) == len(splits)
    assert all((a == b).all() for a, b in zip(splits, _random_halves(y), strict=True))


@pytest.mark.parametrize("change", [lambda B: 1e-30 * B, lambda B: B + 100, lambda B: B.astype(np.float32)])
def test_units_do_not_matter(change):
    assert split_half_accuracy(change(B), LABELS) == pytest.approx(split_half_accuracy(B, LABELS))


def test_order_hardly_matters():
    order = rng.permutation(31)
    other = split_half_accuracy(B[order], Attribute(CODES[order], np.arange(3)))
    assert other == pytest.approx(split_half_accuracy(B, LABELS), abs=0.03)


def test_weights_follow_the_accuracy():
    noise = rng.normal(size=B.shape)
    bands = [noise, B, B + 0.5 * noise, np.zeros_like(B)]
    accuracies = np.array([split_half_accuracy(band, LABELS) for band in bands])
    gain = np.maximum(0, accuracies - 1 / 3)
    weights, accuracy = band_weights(bands, LABELS, power=3.0)
    np.testing.assert_allclose(weights, gain**3 / (gain**3).sum(), atol=1e-3)
    assert weights.sum() == pytest.approx(1)
    assert accuracy == pytest.approx(weights @ accuracies)
    assert band_weights(bands, LABELS, power=1000.0)[0][gain.argmax()] == 1
    assert set(band_weights(bands, LABELS, power=0.0)[0].round(6)) == {0, round(1 / np.count_nonzero(gain), 6)}
    assert band_weights(bands, LABELS)[0][3] == 0


@pytest.mark.parametrize(
    "labels",
    [[None] * 31, ["a"] * 31, ["a", "b", "c"] + [None] * 28, ["a"] + [None] * 30],
    ids=["none", "one class", "one label a class", "one label"],
)
def test_labels_that_say_nothing_choose_the_first(labels):
    (attribute,) = read_labels(labels, 31)
    weights, accuracy = band_weights([B, 2 * B, B**2], attribute)
    assert (weights.tolist(), accuracy) == ([1, 0, 0], 0)

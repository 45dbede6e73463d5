import numpy as np
import pytest
from sklearn.linear_model import Ridge

from laminar.labels import Attribute, read_labels
from laminar.weighting import RIDGES, loo_accuracy, weigh_bands

rng = np.random.default_rng(0)
CODES = np.repeat([0, 1, 2, -1], [9, 7, 5, 10])
B = rng.normal(size=(31, 6)) + 0.7 * rng.normal(size=(4, 6))[CODES]
LABELS = Attribute(CODES, np.arange(3))


def plain(B, codes, ridge):
    """Leave one out, one by one; every class counts the same."""
    B, y = B[codes >= 0], codes[codes >= 0]
    B = B * np.sqrt(len(B)) / np.linalg.norm(B - B.mean(0))
    T, hits = np.eye(y.max() + 1)[y], []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        hits.append(Ridge(alpha=ridge).fit(B[rest], T[rest]).predict(B[i : i + 1]).argmax() == y[i])
    sizes = np.bincount(y)
    return np.mean([np.mean(np.array(hits)[y == c]) for c in np.flatnonzero(sizes > 1)])


@pytest.mark.parametrize("ridge", [1e-3, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("width", [1, 3, 6, 40])
def test_closed_form_is_leaving_one_out(ridge, width):
    features = np.hstack([B, rng.normal(size=(31, 40))])[:, :width]
    assert loo_accuracy(features, LABELS, (ridge,)) == pytest.approx(plain(features, CODES, ridge))


def test_a_class_of_one_is_there_but_does_not_count():
    codes = np.where(np.arange(31) == 30, 3, CODES)
    assert loo_accuracy(B, Attribute(codes, np.arange(4)), (0.01,)) == pytest.approx(plain(B, codes, 0.01))


def test_several_ridges_are_averaged():
    assert loo_accuracy(B, LABELS) == pytest.approx(np.mean([plain(B, CODES, ridge) for ridge in RIDGES]))


@pytest.mark.parametrize("change", [lambda B: 1e-30 * B, lambda B: B + 100, lambda B: B.astype(np.float32)])
def test_units_do_not_matter(change):
    assert loo_accuracy(change(B), LABELS) == pytest.approx(loo_accuracy(B, LABELS))


def test_order_does_not_matter():
    order = rng.permutation(31)
    assert loo_accuracy(B[order], Attribute(CODES[order], np.arange(3))) == pytest.approx(loo_accuracy(B, LABELS))


def test_weights_follow_the_accuracy():
    noise = rng.normal(size=B.shape)
    bands = [noise, B, B + 0.5 * noise, np.zeros_like(B)]
    accuracies = np.array([loo_accuracy(band, LABELS) for band in bands])
    gain = np.maximum(0, accuracies - 1 / 3)
    weights, accuracy = weigh_bands(bands, LABELS, power=3.0)
    np.testing.assert_allclose(weights, gain**3 / (gain**3).sum(), atol=1e-3)
    assert weights.sum() == pytest.approx(1)
    assert accuracy == pytest.approx(weights @ accuracies)
    assert weigh_bands(bands, LABELS, power=1000.0)[0][gain.argmax()] == 1
    assert set(weigh_bands(bands, LABELS, power=0.0)[0].round(6)) == {0, round(1 / np.count_nonzero(gain), 6)}
    assert weigh_bands(bands, LABELS)[0][3] == 0


@pytest.mark.parametrize(
    "labels",
    [[None] * 31, ["a"] * 31, ["a", "b", "c"] + [None] * 28, ["a"] + [None] * 30],
    ids=["none", "one class", "one label a class", "one label"],
)
def test_labels_that_say_nothing_choose_the_first(labels):
    (attribute,) = read_labels(labels, 31)
    weights, accuracy = weigh_bands([B, 2 * B, B**2], attribute)
    assert (weights.tolist(), accuracy) == ([1, 0, 0], 0)

"""Bags of visual words: what is counted, and from which images words are learnt."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage

from laminar.features import SiftBagOfWords

cv2 = pytest.importorskip("cv2", reason='needs OpenCV: pip install "laminar-nmf[images]"')


def smooth(n, side, seed=0):
    """Blobs that SIFT finds key points in, in [0, 1]."""
    noise = np.random.default_rng(seed).normal(size=(n, side, side))
    blobs = ndimage.gaussian_filter(noise, (0, 2, 2))
    return (blobs - blobs.min()) / np.ptp(blobs)


BLOBS = smooth(6, 64)


def test_words_are_counted_once_each():
    counts = SiftBagOfWords(8, norm=None, random_state=0).fit_transform(BLOBS)
    sift = cv2.SIFT_create()
    found = [len(sift.detect(image)) for image in np.rint(255 * BLOBS).astype(np.uint8)]
    assert min(found) > 0
    assert_array_equal(counts.sum(axis=1), found)
    assert_allclose(SiftBagOfWords(8, random_state=0).fit_transform(BLOBS).sum(axis=1), 1)
    dense = SiftBagOfWords(8, step=6, norm=None, random_state=0).fit_transform(BLOBS)
    assert_array_equal(dense.sum(axis=1), 11 * 11)


def test_descriptors_of_key_points_are_those_of_opencv():
    descriptors, per_image = SiftBagOfWords()._describe(BLOBS)
    expected = [cv2.SIFT_create().detectAndCompute(np.rint(255 * image).astype(np.uint8), None)[1] for image in BLOBS]
    assert_array_equal(descriptors, np.concatenate(expected))
    assert_array_equal(per_image, [len(found) for found in expected])


def test_a_step_is_a_centred_upright_lattice():
    points = SiftBagOfWords(step=6)._lattice(cv2.KeyPoint, 20, 24)
    assert {point.angle for point in points} == {0}
    x, y = np.array([point.pt for point in points]).T
    assert_allclose(np.unique(x), [2.5, 8.5, 14.5, 20.5])
    assert_allclose(np.unique(y), [0.5, 6.5, 12.5, 18.5])


def test_a_patch_is_as_large_as_asked():
    image = np.random.default_rng(0).uniform(size=(1, 64, 64))
    words = SiftBagOfWords(1, step=64, patch_size=16)
    expected = words._describe(image)[0]
    beyond, within = 1 - image, image.copy()
    beyond[:, 15:49, 15:49] = image[:, 15:49, 15:49]  # the patch, and the blur before it
    within[:, 25:38, 25:38] = 0
    assert_array_equal(words._describe(beyond)[0], expected)
    assert not np.array_equal(words._describe(within)[0], expected)


@pytest.mark.parametrize("step", [None, 8])
def test_another_order_of_words_only_permutes_columns(step):
    words = SiftBagOfWords(8, step=step, norm=None, random_state=0).fit(BLOBS)
    expected = words.transform(BLOBS)
    order = np.random.default_rng(1).permutation(8)
    words.codebook_ = words.codebook_[order]
    assert_array_equal(words.transform(BLOBS), expected[:, order])


def test_words_come_from_training_images_alone():
    words = SiftBagOfWords(5, step=8, random_state=0).fit(BLOBS[:3])
    before = words.codebook_.copy()
    assert before.shape == (5, 128)
    words.transform(BLOBS[3:])
    assert_array_equal(words.codebook_, before)
    both = SiftBagOfWords(5, step=8, random_state=0).fit(BLOBS)
    assert not np.array_equal(both.codebook_, before)


def test_seeded_words_repeat_on_any_number_of_threads():
    few = {"max_descriptors": 50, "step": 4}
    first = SiftBagOfWords(5, random_state=3, **few).fit(BLOBS)
    again = SiftBagOfWords(5, random_state=3, n_jobs=2, **few).fit(BLOBS)
    other = SiftBagOfWords(5, random_state=4, **few).fit(BLOBS)
    assert_array_equal(first.codebook_, again.codebook_)
    assert not np.array_equal(first.codebook_, other.codebook_)


def test_an_image_without_key_points_has_no_words():
    flat = np.full((1, 64, 64), 0.5)
    for norm in ("l1", "l2", None):
        words = SiftBagOfWords(4, norm=norm, random_state=0)
        rows = words.fit_transform(np.concatenate([BLOBS, flat]))
        assert_array_equal(rows[-1], 0)
        assert (rows[:-1].sum(axis=1) > 0).all()
        assert_array_equal(words.transform(flat), np.zeros((1, 4)))


def test_flat_images_alone_teach_no_words():
    with pytest.raises(ValueError, match=r"The 3 training images have 0 descriptors.*lower contrast_threshold"):
        SiftBagOfWords(4).fit(np.zeros((3, 64, 64)))


def test_words_tell_textures_apart():
    noise = np.random.default_rng(0).uniform(size=(8, 64, 64))
    along = [(0, 4, 0), (0, 0, 4)]
    streaks = np.concatenate([ndimage.gaussian_filter(noise[4 * i : 4 * i + 4], along[i]) for i in range(2)])
    words = SiftBagOfWords(10, step=8, random_state=0).fit(streaks[::2])
    rows = words.transform(streaks[1::2])
    distance = np.abs(rows[:, None] - rows).sum(axis=2)
    assert distance[0, 1] < distance[0, 2:].min()
    assert distance[2, 3] < distance[2, :2].min()

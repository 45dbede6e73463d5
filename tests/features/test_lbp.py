"""Local binary patterns: their definition, and the order of bins of scikit-image."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar.features import LocalBinaryPatterns
from laminar.features.lbp import BIN_OF_CODE

pytest.importorskip("skimage", reason='needs scikit-image: pip install "laminar-nmf[images]"')
from skimage.feature import local_binary_pattern

TEXTURE = np.random.default_rng(0).integers(0, 30, size=(3, 48, 48))  # few levels: many ties


def naive_patterns(image, patch):
    """Pixel by pixel from the definition; bins of uniform codes in increasing order of the code."""
    around = [(0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)]
    uniform = [c for c in range(256) if sum((c >> q & 1) != (c >> (q + 1) % 8 & 1) for q in range(8)) <= 2]
    height, width = image.shape
    histograms = []
    for top in range(0, height - patch[0] + 1, patch[0]):
        for left in range(0, width - patch[1] + 1, patch[1]):
            counts = np.zeros(59)
            for i in range(top, top + patch[0]):
                for j in range(left, left + patch[1]):
                    near = [
                        image[min(max(i + a, 0), height - 1), min(max(j + b, 0), width - 1)] >= image[i, j]
                        for a, b in around
                    ]
                    code = sum(2**q for q in range(8) if near[q])
                    counts[uniform.index(code) if code in uniform else 58] += 1
            histograms.append(counts / counts.sum())
    return np.array(histograms), [BIN_OF_CODE[c] for c in uniform]


def test_patterns_follow_their_definition():
    expected, order = naive_patterns(TEXTURE[0], (9, 10))
    got = LocalBinaryPatterns((9, 10)).fit_transform(TEXTURE[:1]).reshape(20, 59)
    assert_allclose(got[:, [*order, 58]], expected)


def test_58_codes_are_uniform():
    bins, sizes = np.unique(BIN_OF_CODE, return_counts=True)
    assert_array_equal(bins, np.arange(59))
    assert_array_equal(sizes, [1] * 58 + [256 - 58])


def test_bins_are_in_the_order_of_scikit_image():
    """Neighbours 0 or 2 around 1: interpolated diagonals lie on the side of the pixel itself."""
    ring = [(1, 2), (0, 2), (0, 1), (0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]
    for code in range(256):
        image = np.ones((3, 3), dtype=np.uint8)
        for q, place in enumerate(ring):
            image[place] = 2 * (code >> q & 1)
        assert BIN_OF_CODE[code] == local_binary_pattern(image, 8, 1, "nri_uniform")[1, 1]


@pytest.mark.parametrize("neighbours", ["pixels", "circle"])
@pytest.mark.parametrize("parameters", [{}, {"patch_size": (5, 7)}, {"grid": (7, 5)}, {"grid": (1, 1)}], ids=str)
def test_histograms_of_patches_sum_to_one(neighbours, parameters):
    images = TEXTURE.astype(np.uint8)
    rows = LocalBinaryPatterns(neighbours=neighbours, **parameters).fit_transform(images)
    assert_allclose(rows.reshape(3, -1, 59).sum(axis=2), 1)
    counts = LocalBinaryPatterns(neighbours=neighbours, norm=None, **parameters).fit_transform(images)
    assert_array_equal(counts, counts.round())
    histograms = counts.reshape(3, -1, 59)
    assert_allclose(rows.reshape(histograms.shape), histograms / histograms.sum(axis=2, keepdims=True))
    unit = LocalBinaryPatterns(neighbours=neighbours, norm="l2", **parameters).fit_transform(images)
    assert_allclose(unit, counts / np.linalg.norm(counts, axis=1, keepdims=True))


def test_patterns_ignore_any_increasing_map_of_the_grey_values():
    expected = LocalBinaryPatterns().fit_transform(TEXTURE)
    for increasing in (np.exp, np.sqrt, lambda x: 3 * x + 100.0, lambda x: -1 / (1.0 + x)):
        assert_array_equal(LocalBinaryPatterns().fit_transform(increasing(TEXTURE)), expected)
    assert not np.array_equal(LocalBinaryPatterns().fit_transform(-TEXTURE), expected)


def test_patches_tile_and_the_rest_is_dropped():
    rows = LocalBinaryPatterns((9, 10)).fit_transform(TEXTURE)
    assert rows.shape == (3, 5 * 4 * 59)
    changed = TEXTURE.copy()
    changed[:, 46:] = changed[:, :, 42:] = 99  # beyond the patches and what they touch
    assert_array_equal(LocalBinaryPatterns((9, 10)).fit_transform(changed), rows)


def test_a_grid_drops_nothing():
    counts = LocalBinaryPatterns(grid=(7, 8), norm=None).fit_transform(np.zeros((1, 64, 64)))
    sizes = counts.reshape(7, 8, 59).sum(axis=2)
    assert sizes.sum() == 64 * 64
    assert set(sizes.ravel()) == {9 * 8, 10 * 8}


def test_circle_is_scikit_image():
    image = np.random.default_rng(0).integers(0, 256, size=(16, 16), dtype=np.uint8)
    bins = local_binary_pattern(image, 8, 1, "nri_uniform").astype(int)
    expected = np.bincount(bins.ravel(), minlength=59)
    got = LocalBinaryPatterns(grid=(1, 1), neighbours="circle", norm=None).fit_transform(image[None])
    assert_array_equal(got[0], expected)

"""Pixels and gradient orientations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar.features import GradientOrientations, Pixels

IMAGES = np.random.default_rng(0).integers(0, 256, size=(7, 20, 24), dtype=np.uint8)


def test_pixels_are_the_image_row_by_row():
    assert_array_equal(Pixels().fit_transform(IMAGES), IMAGES.reshape(7, -1) / 255)
    rows = Pixels(norm="l2").fit_transform(IMAGES)
    assert_allclose(np.linalg.norm(rows, axis=1), 1)
    assert_allclose(rows[2], IMAGES[2].ravel() / np.linalg.norm(IMAGES[2].astype(float)))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_norm_of_very_small_and_large_pixels(scale, norm):
    expected = Pixels(norm=norm).fit_transform(IMAGES)
    assert_allclose(Pixels(norm=norm).fit_transform(scale * IMAGES), expected)


def test_other_numbers_than_bytes_are_taken_as_they_are():
    assert_array_equal(Pixels().fit_transform(IMAGES.astype(np.int32)), IMAGES.reshape(7, -1))


PLATEAU = np.pad(np.random.default_rng(0).uniform(size=(3, 10, 12)), ((0, 0), (3, 3), (4, 4)), mode="edge")
PLATEAU[:, :4, :5] = 0.5


def orientations(images):
    return GradientOrientations().fit_transform(images).reshape(len(images), 2, *images.shape[1:])


def test_orientations_are_points_on_a_circle_or_nothing():
    cos, sin = orientations(PLATEAU).transpose(1, 0, 2, 3)
    gy, gx = np.gradient(PLATEAU, axis=(1, 2))
    steep = np.hypot(gx, gy) > 0
    assert not steep.all()
    assert_allclose((cos**2 + sin**2)[steep], 1)
    assert_array_equal(cos[~steep], 0)
    assert_array_equal(sin[~steep], 0)
    phi = np.arctan2(gy, gx)
    assert_allclose(cos[steep], np.cos(phi)[steep], atol=1e-12)
    assert_allclose(sin[steep], np.sin(phi)[steep], atol=1e-12)


def test_orientations_ignore_brightness_and_contrast_and_flip_in_the_negative():
    expected = orientations(PLATEAU)
    assert_allclose(orientations(3.7 * PLATEAU + 11), expected, atol=1e-9)
    assert_allclose(orientations(-PLATEAU), -expected, atol=1e-12)


@pytest.mark.parametrize(("scale", "dtype"), [(1e-300, float), (1.7e308, float), (1e-36, "f4"), (3e38, "f4")])
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # scikit-learn's look for NaN
def test_orientations_of_very_dark_and_bright_images(scale, dtype):
    images = (2 * PLATEAU - 1).astype(dtype)
    assert_allclose(orientations(images * np.dtype(dtype).type(scale)), orientations(images), atol=1e-4)


@pytest.mark.parametrize(("shape", "size"), [((32, 32), 2048), ((42, 30), 2520)])
def test_orientations_are_twice_the_pixels(shape, size):
    images = np.random.default_rng(0).uniform(size=(2, *shape))
    assert GradientOrientations().fit_transform(images).shape == (2, size)
    rows = GradientOrientations(norm="l2").fit_transform(images)
    assert_allclose(np.linalg.norm(rows, axis=1), 1)
    assert_allclose(rows, GradientOrientations().fit_transform(images) / np.sqrt(size / 2), atol=1e-12)


def test_orientations_point_where_it_brightens():
    down, right = np.mgrid[:5, :6].astype(float)
    cos, sin = orientations((right + np.sqrt(3) * down)[None])[0]
    assert_allclose(cos, 0.5)
    assert_allclose(sin, np.sqrt(3) / 2)

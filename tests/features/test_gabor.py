"""Gabor magnitudes: gratings, flat images, and a convolution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import fftconvolve

from laminar.features import GaborMagnitudes

pytest.importorskip("skimage", reason='needs scikit-image: pip install "laminar-nmf[images]"')
from skimage.filters import gabor_kernel


def grating(wavelength, degrees, side=48):
    down, right = np.mgrid[:side, :side]
    angle = np.deg2rad(degrees)
    return np.sin(2 * np.pi * (right * np.cos(angle) + down * np.sin(angle)) / wavelength + 0.3)[None]


@pytest.mark.parametrize("strongest", range(4))
def test_a_grating_is_strongest_at_its_orientation(strongest):
    answers = GaborMagnitudes().fit_transform(grating(4, 45 * strongest)).reshape(4, 48, 48)
    middle = answers[:, 16:32, 16:32].mean(axis=(1, 2))
    assert middle.argmax() == strongest
    assert middle[strongest] > 10 * np.delete(middle, strongest).max()
    assert_allclose(answers[strongest, 16:32, 16:32], 0.5, rtol=0.02)  # even and odd phase: nothing ripples


@pytest.mark.parametrize("strongest", range(3))
def test_a_grating_is_strongest_at_its_wavelength(strongest):
    waves = (4, 8, 16)
    rows = GaborMagnitudes(waves, n_orientations=1, grid=(1, 1)).fit_transform(grating(waves[strongest], 0))
    assert rows[0].argmax() == strongest


@pytest.mark.parametrize("grid", [None, (3, 4)])
def test_a_flat_image_has_no_waves(grid):
    flat = np.full((2, 20, 24), 200.0)
    rows = GaborMagnitudes((2, 4, 10.5), n_orientations=5, grid=grid).fit_transform(flat)
    assert_allclose(rows, 0, atol=1e-11)


def test_magnitudes_scale_with_contrast_and_ignore_brightness():
    images = np.random.default_rng(0).uniform(size=(2, 20, 24))
    expected = GaborMagnitudes().fit_transform(images)
    assert_allclose(GaborMagnitudes().fit_transform(-3 * images + 5), 3 * expected, atol=1e-12)


@pytest.mark.parametrize(("wavelength", "aspect"), [(4, 0.5), (5.7, 1), (16, 0.5)])
def test_magnitudes_are_those_of_a_convolution(wavelength, aspect):
    """Also for filters larger than the image."""
    image = np.random.default_rng(0).uniform(size=(20, 24))
    got = GaborMagnitudes((wavelength,), n_orientations=3, aspect=aspect).fit_transform(image[None]).reshape(3, 20, 24)
    for k in range(3):
        wide = 0.56 * wavelength
        kernel = gabor_kernel(1 / wavelength, k * np.pi / 3, sigma_x=wide, sigma_y=wide / aspect)
        bell = np.abs(kernel)
        even = kernel.real - bell * kernel.real.sum() / bell.sum()
        margin = max(kernel.shape)
        padded = np.pad(image, margin, mode="symmetric")
        parts = [fftconvolve(padded, part, mode="same") for part in (even, kernel.imag)]
        expected = np.hypot(*parts)[margin:-margin, margin:-margin]
        assert_allclose(got[k], expected, atol=1e-10)


def test_a_grid_averages():
    images = np.random.default_rng(0).uniform(size=(2, 20, 24))
    every = GaborMagnitudes().fit_transform(images).reshape(2, 4, 20, 24)
    cells = GaborMagnitudes(grid=(5, 4)).fit_transform(images).reshape(2, 4, 5, 4)
    assert_allclose(cells, every.reshape(2, 4, 5, 4, 4, 6).mean(axis=(3, 5)))
    uneven = GaborMagnitudes(grid=(3, 7)).fit_transform(images).reshape(2, 4, 21)
    assert_allclose(uneven.mean(axis=2), every.mean(axis=(2, 3)))  # each pixel counts once

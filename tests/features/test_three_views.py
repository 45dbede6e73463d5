"""Three views of images in one call."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar.features import GaborMagnitudes, LocalBinaryPatterns, views_from_images

resize = pytest.importorskip("skimage.transform", reason='needs scikit-image: pip install "laminar-nmf[images]"').resize

TEXTURE = np.random.default_rng(0).integers(0, 30, size=(3, 48, 48))


def test_three_views_in_one_call():
    images = np.random.default_rng(0).integers(0, 256, size=(3, 64, 64), dtype=np.uint8)
    views = views_from_images(images, n_jobs=2)
    assert {name: view.shape for name, view in views.items()} == {
        "intensity": (3, 4096),
        "lbp": (3, 3304),
        "gabor": (3, 6750),
    }
    flat = views_from_images(images.reshape(3, -1), image_shape=(64, 64))
    for name, view in views.items():
        assert_allclose(np.linalg.norm(view, axis=1), 1)
        assert_array_equal(flat[name], view)


def test_the_recipe_behind_the_views():
    images = np.random.default_rng(0).integers(0, 256, size=(2, 40, 48), dtype=np.uint8)
    views = views_from_images(images)
    lbp = LocalBinaryPatterns(grid=(7, 8), neighbours="circle", norm="l2")
    gabor = GaborMagnitudes((4, 5.7, 8, 11.3, 16), n_orientations=6, grid=(15, 15), aspect=1, norm="l2")
    assert_array_equal(views["lbp"], lbp.fit_transform(images))
    assert_array_equal(views["gabor"], gabor.fit_transform(images))


def test_views_of_another_recipe():
    printed = {"lbp": {"patch_size": (9, 10)}, "gabor": {"wavelengths": (4,), "n_orientations": 4}}
    views = views_from_images(TEXTURE.astype(np.float32), norm=None, **printed)
    assert [view.shape for view in views.values()] == [(3, 2304), (3, 20 * 59), (3, 4 * 2304)]
    assert {view.dtype for view in views.values()} == {np.dtype(np.float32)}
    assert_array_equal(views["intensity"], TEXTURE.reshape(3, -1))
    assert_array_equal(views["lbp"], LocalBinaryPatterns(norm=None).fit_transform(TEXTURE))
    assert_allclose(views["gabor"], GaborMagnitudes().fit_transform(TEXTURE), atol=1e-4)


@pytest.mark.parametrize("side", [64, 48, 30])
def test_the_recipe_of_zhao(side):
    """48 x 48 pixels; 5 x 4 patches of 9 x 10 with 59 bins; four orientations on 25 x 30 pixels."""
    images = np.random.default_rng(0).integers(0, 256, size=(3, side, side), dtype=np.uint8)
    views = views_from_images(images, recipe="zhao")
    widths = {"intensity": 48 * 48, "lbp": 5 * 4 * 59, "gabor": 4 * 25 * 30}
    assert {name: view.shape[1] for name, view in views.items()} == widths
    resized = np.stack([resize(image, (48, 48), anti_aliasing=True) for image in images / 255])
    for name, part in {
        "lbp": LocalBinaryPatterns((9, 10), norm="l2"),
        "gabor": GaborMagnitudes((4,), norm="l2"),
    }.items():
        crop = resized if name == "lbp" else resized[:, 11:36, 9:39]
        if side != 48 or name == "gabor":  # equal pixels may differ by rounding after resize
            assert_allclose(views[name], part.fit_transform(crop), atol=1e-10)
    flat = views_from_images(images.reshape(3, -1), recipe="zhao", image_shape=(side, side))
    assert_array_equal(flat["gabor"], views["gabor"])


def test_recipe_of_colour_and_float32():
    images = np.random.default_rng(0).random((2, 60, 50, 3), dtype=np.float32)
    views = views_from_images(images, recipe="zhao", norm=None, gabor={"wavelengths": (8.0,), "n_orientations": 2})
    assert [view.shape for view in views.values()] == [(2, 2304), (2, 1180), (2, 1500)]
    assert {view.dtype for view in views.values()} == {np.dtype(np.float32)}
    with pytest.raises(ValueError, match="recipe"):
        views_from_images(images, recipe="paper")


@pytest.mark.parametrize("name", ["yale_mv", "orl_mv"])
def test_views_are_those_kept_with_the_real_faces(name, real_data):
    """LBP is the same to the letter; the kept Gabor filters seem scaled to even phases of unit absolute sum."""
    pixels, lbp, gabor = (view[:40] for view in real_data(name).views)
    views = views_from_images(pixels, image_shape=(64, 64))
    assert_allclose(views["lbp"], lbp, atol=1e-6)
    assert np.corrcoef(views["gabor"].ravel(), gabor.ravel())[0, 1] > 0.99

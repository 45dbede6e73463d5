"""What every family of image features owes its user: scikit-learn's contract, any form of images, clear errors."""

import pickle
import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from laminar.features import (
    Crop,
    GaborMagnitudes,
    GradientOrientations,
    LocalBinaryPatterns,
    Pixels,
    Resize,
    SiftBagOfWords,
    base,
    views_from_images,
)

skimage_color = pytest.importorskip("skimage.color", reason='needs scikit-image: pip install "laminar-nmf[images]"')
pytest.importorskip("cv2", reason='needs OpenCV: pip install "laminar-nmf[images]"')

pytestmark = pytest.mark.filterwarnings("ignore:X .* feature names:UserWarning")  # what some checks provoke

rng = np.random.default_rng(0)
IMAGES = rng.integers(0, 256, size=(7, 20, 24), dtype=np.uint8)
COLOUR = rng.integers(0, 256, size=(7, 20, 24, 3), dtype=np.uint8)
FAMILIES = [
    Pixels(),
    GradientOrientations(),
    LocalBinaryPatterns(),
    LocalBinaryPatterns(grid=(3, 3), neighbours="circle", norm="l2"),
    GaborMagnitudes(),
    GaborMagnitudes(wavelengths=(3, 6.5), n_orientations=3, grid=(3, 5), norm="l2"),
    SiftBagOfWords(4, step=5, random_state=0),
    SiftBagOfWords(4, random_state=0, contrast_threshold=0.001),
    Resize((7, 30)),
    Crop((9, 11), position=(2, 3)),
]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=repr)


# ------------------------------------------------------------------------------------- scikit-learn's contract

# The checks come with rows of any length: images one pixel high.
ROWS = [
    Pixels(image_shape=(1, -1)),
    GradientOrientations(image_shape=(1, -1)),
    LocalBinaryPatterns((1, 1), image_shape=(1, -1)),
    GaborMagnitudes((2.0,), image_shape=(1, -1)),
    Resize((2, 3), image_shape=(1, -1)),
    Crop((1, 1), image_shape=(1, -1)),
]
# SIFT sees bytes or [0, 1]; the checks' numbers are neither before they are scaled.
SCALED_SIFT = make_pipeline(MinMaxScaler(clip=True), SiftBagOfWords(2, step=1, random_state=0, image_shape=(1, -1)))
IN_PLACE = "a Pipeline fits its steps in place"
MORE_CHECKS = [
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_dataframe_column_names_consistency",
    "check_param_validation",
    "check_inplace_ensure_writeable",
]


def expected_failures(estimator):
    if estimator is not SCALED_SIFT:
        return {}
    return {"check_estimators_overwrite_params": IN_PLACE, "check_dont_overwrite_parameters": IN_PLACE}


@parametrize_with_checks([*ROWS, SCALED_SIFT], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("family", [*ROWS, SCALED_SIFT], ids=repr)
@pytest.mark.parametrize("name", MORE_CHECKS)
def test_more_scikit_learn_checks(family, name):
    if not hasattr(estimator_checks, name):
        pytest.skip(f"this scikit-learn has no {name}")
    if name.endswith("pandas"):
        pytest.importorskip("pandas")
    getattr(estimator_checks, name)(type(family).__name__, clone(family))


def test_parameters_of_sift_are_checked():
    estimator_checks.check_param_validation("SiftBagOfWords", SiftBagOfWords(step=1, image_shape=(1, -1)))


@every_family
def test_clone_pickle_and_names(family):
    fitted = clone(family).fit(IMAGES)
    rows = fitted.transform(IMAGES)
    assert_array_equal(clone(fitted).fit(IMAGES).transform(IMAGES), rows)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(IMAGES), rows)
    assert_array_equal(clone(family).fit_transform(IMAGES), rows)
    names = fitted.get_feature_names_out()
    assert len(set(names)) == len(names) == rows.shape[1]


def test_names_say_where_a_feature_is():
    assert list(Pixels().fit(IMAGES[:, :1, :2]).get_feature_names_out()) == ["r0_c0", "r0_c1"]
    names = GradientOrientations().fit(IMAGES[:, :1, :2]).get_feature_names_out()
    assert list(names) == ["cos_r0_c0", "cos_r0_c1", "sin_r0_c0", "sin_r0_c1"]
    names = GaborMagnitudes((4, 5.5), n_orientations=8, grid=(2, 2)).fit(IMAGES).get_feature_names_out()
    assert names[0] == "4px_0deg_r0_c0"
    assert names[-1] == "5.5px_157.5deg_r1_c1"
    names = LocalBinaryPatterns(grid=(2, 3)).fit(IMAGES).get_feature_names_out()
    assert names[-1] == "r1_c2_bin58"
    assert list(SiftBagOfWords(2, step=8).fit(IMAGES).get_feature_names_out()) == ["word0", "word1"]


def test_names_follow_the_layout():
    """A feature has the value that its name says it has."""
    image = np.zeros((1, 12, 20))
    image[0, 3, 15] = 1  # second of four rows of patches, fourth of five columns
    frame = LocalBinaryPatterns((3, 4)).set_output(transform="pandas").fit_transform(image).iloc[0]
    assert frame["r1_c3_bin0"] == pytest.approx(1 / 12)  # no neighbour is as bright as the bright pixel
    wave = np.cos(2 * np.pi * np.arange(24) / 6) * np.ones((1, 24, 1))
    frame = GaborMagnitudes((3, 6), grid=(2, 2)).set_output(transform="pandas").fit_transform(wave).iloc[0]
    assert frame.idxmax().startswith("6px_0deg")


# -------------------------------------------------------------------------------------- the forms images come in


@every_family
def test_flattened_rows_are_images(family):
    rows = IMAGES.reshape(7, -1)
    fitted = clone(family).fit(IMAGES)
    expected = fitted.transform(IMAGES)
    assert fitted.image_shape_ == (20, 24)
    assert fitted.n_features_in_ == 480
    for shape in [(20, 24), [20, -1], (-1, 24), (20, 24, 1)]:
        assert_array_equal(clone(family).set_params(image_shape=shape).fit_transform(rows), expected)
    assert_array_equal(clone(family).set_params(image_shape=(20, 24)).fit_transform(IMAGES), expected)
    assert_array_equal(fitted.transform(rows), expected)  # the size is known since fit


@every_family
def test_other_forms_of_the_same_images(family, tmp_path):
    expected = clone(family).fit_transform(IMAGES)
    np.save(tmp_path / "images.npy", IMAGES)
    frozen = IMAGES.copy()
    frozen.setflags(write=False)
    forms = {
        "memory map": np.load(tmp_path / "images.npy", mmap_mode="r"),
        "read only": frozen,
        "column major": np.asfortranarray(IMAGES),
        "list": list(IMAGES),
        "nested lists": (IMAGES / 255).tolist(),
        "float64": IMAGES / 255,
        "one channel": IMAGES[..., None],
    }
    for name, form in forms.items():
        assert_allclose(clone(family).fit_transform(form), expected, atol=1e-12, err_msg=name)


@every_family
def test_colour_becomes_grey(family):
    expected = clone(family).fit_transform(skimage_color.rgb2gray(COLOUR))
    opaque = np.concatenate([COLOUR, np.full_like(COLOUR[..., :1], 255)], axis=3)
    assert_allclose(clone(family).fit_transform(COLOUR), expected, atol=1e-12)
    assert_allclose(clone(family).fit_transform(opaque), expected, atol=1e-7)
    rows = clone(family).set_params(image_shape=(20, 24, 3)).fit_transform(COLOUR.reshape(7, -1))
    assert_allclose(rows, expected, atol=1e-12)


@every_family
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_white_in_colour_is_in_range(family, dtype):
    white = np.full((1, 20, 24, 3), 255 if dtype == np.uint8 else 1 + np.finfo(dtype).eps, dtype=dtype)
    assert np.isfinite(clone(family).fit(COLOUR).transform(white)).all()


def test_what_is_transparent_is_white():
    clear = np.zeros((1, 2, 2, 4), dtype=np.uint8)
    assert_allclose(Pixels().fit_transform(clear), 1)


@every_family
def test_floating_type_is_kept_and_images_are_not_changed(family):
    exact = clone(family).fit_transform(IMAGES / 255)
    for images in (IMAGES, IMAGES / 255, (IMAGES / 255).astype(np.float32), COLOUR / 255, COLOUR[..., 0] > 100):
        before = images.copy()
        dtype = np.float32 if images.dtype == np.float32 else np.float64
        fitted = clone(family).fit(images)
        assert fitted.transform(images).dtype == clone(family).fit_transform(images).dtype == dtype
        assert_array_equal(images, before)
    single = clone(family).fit_transform((IMAGES / 255).astype(np.float32))
    assert_allclose(single, exact, atol=2e-6)


@every_family
def test_parallel_and_blocks_change_nothing(family, monkeypatch):
    serial = clone(family).fit_transform(IMAGES)
    for pixels in (2 * 480, 1):  # blocks of two images, of one
        monkeypatch.setattr(base, "_BLOCK", pixels)
        assert_allclose(clone(family).fit_transform(IMAGES), serial, atol=1e-12)
        fitted = clone(family).set_params(n_jobs=2).fit(IMAGES)
        assert_allclose(fitted.transform(IMAGES), serial, atol=1e-12)
        assert_allclose(fitted.transform(IMAGES[::-1]), serial[::-1], atol=1e-12)


@every_family
def test_each_image_is_described_by_itself(family):
    fitted = clone(family).fit(IMAGES)
    rows = fitted.transform(IMAGES)
    for i in range(3):
        assert_allclose(fitted.transform(IMAGES[i : i + 1])[0], rows[i], atol=1e-12)


ODD = {
    "black": np.zeros((7, 20, 24)),
    "white": np.ones((7, 20, 24)),
    "one bright pixel": np.eye(7, 480).reshape(7, 20, 24),
    "tiny": 1e-300 * IMAGES,
    "subnormal": 1e-322 * IMAGES,
    "tiny float32": (1e-40 * IMAGES).astype(np.float32),
    "half precision": (IMAGES / 255).astype(np.float16),
    "objects": (IMAGES / 255).astype(object),
}
WIDE = {
    "huge": 1e305 * IMAGES.astype(float),
    "huge, of both signs": 1e300 * np.sign(IMAGES - 127.5),
    "huge float32": (1e36 * IMAGES).astype(np.float32),
    "negative": -IMAGES.astype(float),
    "integers": IMAGES.astype(np.int64),
    "wide": IMAGES * 10.0 ** np.linspace(-150, 150, 7)[:, None, None],
}


@every_family
@pytest.mark.parametrize("images", (ODD | WIDE).values(), ids=ODD | WIDE)
@pytest.mark.filterwarnings("error")
def test_odd_images_give_finite_features(family, images):
    needs_bytes = isinstance(family, SiftBagOfWords) or getattr(family, "neighbours", "") == "circle"
    fitted = clone(family).fit(IMAGES)
    if needs_bytes and any(images is wide for wide in WIDE.values()):
        with pytest.raises(ValueError, match=r"must be uint8 or lie in \[0, 1\], the values run from .*: convert"):
            fitted.transform(images)
    else:
        assert np.isfinite(fitted.transform(images)).all()


# --------------------------------------------------------------------------------------------------- bad input

RAGGED = [IMAGES[0], IMAGES[1, :10]]
BAD = {
    "rows without a shape": (IMAGES.reshape(7, -1), {}, r"flattened images of 480 pixels: .*image_shape=\(height, w"),
    "another shape": (IMAGES.reshape(7, -1), {"image_shape": (20, 20)}, r"480 values.*\(20, 20\), which has 400: give"),
    "no multiple": (IMAGES.reshape(7, -1), {"image_shape": (7, -1)}, r"\(7, -1\), which has a multiple of 7: give"),
    "shape of one": (IMAGES.reshape(7, -1), {"image_shape": (480,)}, r"image_shape must be .* got \(480,\)"),
    "shape of four": (IMAGES.reshape(7, -1), {"image_shape": (2, 2, 2, 60)}, "image_shape must be"),
    "two unknown sides": (IMAGES.reshape(7, -1), {"image_shape": (-1, -1)}, "of which one may be -1"),
    "half a pixel": (IMAGES.reshape(7, -1), {"image_shape": (20.0, 24)}, r"whole numbers .* got \(20.0, 24\)"),
    "shape in words": (IMAGES.reshape(7, -1), {"image_shape": "20x24"}, "'image_shape' parameter of"),
    "a side of nothing": (IMAGES.reshape(7, -1), {"image_shape": (0, 24)}, r"image_shape must be .* got \(0, 24\)"),
    "five channels": (IMAGES.reshape(7, -1), {"image_shape": (8, 12, 5)}, r"1, 3 or 4 channels, got .*8, 12, 5"),
    "images of another shape": (IMAGES, {"image_shape": (24, 20)}, r"of 20 x 24 pixels, not of image_shape=\(24, 20\)"),
    "channels first": (np.moveaxis(COLOUR, 3, 1), {}, r"got \('n_samples', 3, 20, 24\).*numpy.moveaxis\(X, 1, -1\)"),
    "five dimensions": (COLOUR[None], {}, "Images must have shape"),
    "images of two sizes": (RAGGED, {}, r"2 sizes, such as 10 x 24 and 20 x 24 pixels: bring them to one size"),
    "one dimension": (IMAGES[0, 0], {}, "Expected 2D array, got 1D"),
    "NaN": (np.where(IMAGES > 0, IMAGES / 255, np.nan), {}, "X contains NaN"),
    "infinity": (np.where(IMAGES > 0, IMAGES / 255, np.inf), {}, "X contains infinity"),
    "no image": (IMAGES[:0], {}, r"0 sample\(s\)"),
    "no pixel": (IMAGES[:, :0], {}, r"0 feature\(s\)"),
    "complex": (IMAGES * 1j, {}, "Complex data not supported"),
    "strings": (np.full((2, 20, 24), "x"), {}, "onvert"),
    "no such norm": (IMAGES, {"norm": "l3"}, "'norm' parameter of .* Got 'l3'"),
    "half a thread": (IMAGES, {"n_jobs": 0.5}, "'n_jobs' parameter of"),
}


@every_family
@pytest.mark.parametrize(("images", "parameters", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(family, images, parameters, message):
    if not parameters.keys() <= family.get_params().keys():
        pytest.skip(f"{type(family).__name__} has no parameter {next(iter(parameters))}")
    family = clone(family).set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match="(?s)" + message):
        family.fit(images)
    with pytest.raises(NotFittedError):
        family.transform(IMAGES)
    with pytest.raises(NotFittedError):
        family.get_feature_names_out()


@every_family
def test_other_images_than_fitted(family):
    fitted = clone(family).fit(IMAGES)
    with pytest.raises(ValueError, match=r"The images are of 20 x 20 pixels, \w+ was fitted on 20 x 24: resize them"):
        fitted.transform(IMAGES[:, :, :20])
    with pytest.raises(ValueError, match=r"X has 400 features, but .* is expecting 480 features"):
        fitted.transform(IMAGES[:, :, :20].reshape(7, -1))


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (
            LocalBinaryPatterns((21, 10)),
            "20 x 24 pixels have no room for a patch of 21 x 10: give a smaller",
        ),
        (LocalBinaryPatterns((9, 25)), "no room for a patch of 9 x 25"),
        (LocalBinaryPatterns((9, 10), grid=(2, 2)), r"patch_size=\(9, 10\) or grid=\(2, 2\), not both"),
        (LocalBinaryPatterns((9,)), r"patch_size must be two positive whole numbers.*got \(9,\)"),
        (LocalBinaryPatterns((0, 3)), "patch_size must be two positive"),
        (LocalBinaryPatterns(9), "'patch_size' parameter of"),
        (LocalBinaryPatterns(grid=(21, 3)), r"20 x 24 pixels have no room for grid=\(21, 3\): ask for fewer cells"),
        (LocalBinaryPatterns(grid=(2.5, 3)), "grid must be two positive whole numbers"),
        (LocalBinaryPatterns(neighbours="square"), "'neighbours' parameter of"),
        (GaborMagnitudes(grid=(3, 25)), r"no room for grid=\(3, 25\)"),
        (GaborMagnitudes((1.5,)), r"between 2 and 48, twice the longer side of the images, got \(1.5,\)"),
        (GaborMagnitudes((49,)), "between 2 and 48"),
        (GaborMagnitudes((np.nan,)), "between 2 and 48"),
        (GaborMagnitudes(()), "wavelengths must be a list of numbers"),
        (GaborMagnitudes(("a",)), "wavelengths must be a list of numbers"),
        (GaborMagnitudes(n_orientations=0), "'n_orientations' parameter of"),
        (GaborMagnitudes(sigma=0), "'sigma' parameter of"),
        (GaborMagnitudes(aspect=-1), "'aspect' parameter of"),
        (SiftBagOfWords(n_words=0), "'n_words' parameter of"),
        (SiftBagOfWords(step=0), "'step' parameter of"),
        (SiftBagOfWords(500, max_descriptors=100), "max_descriptors=100 must be no less than n_words=500"),
        (Resize((0, 3)), r"shape must be two positive whole numbers.*got \(0, 3\)"),
        (Resize(32), "'shape' parameter of Resize"),
        (Crop((21, 3)), "20 x 24 pixels have no part of 21 x 3 at row 0, column 10: give a smaller shape"),
        (Crop((10, 10), position=(0, 15)), "no part of 10 x 10 at row 0, column 15"),
        (Crop((10, 10), position=(-1, 0)), r"position must be .* got \(-1, 0\)"),
        (Crop((10, 10), position="top"), "'position' parameter of Crop"),
        (SiftBagOfWords(500, step=10), "The 7 training images have 42 descriptors, too few for n_words=500: ask for"),
    ],
)
def test_what_one_family_refuses(family, message):
    with pytest.raises(ValueError, match=message):
        family.fit(IMAGES)
    with pytest.raises(NotFittedError):
        family.transform(IMAGES)


def test_alpha_needs_a_range():
    images = np.full((2, 20, 24, 4), 255.0)
    with pytest.raises(ValueError, match=r"alpha channel must be uint8 or lie in \[0, 1\], the values run from 255 to"):
        Pixels().fit_transform(images)


@pytest.mark.parametrize(
    ("family", "images", "module", "who"),
    [
        (GaborMagnitudes(), IMAGES, "skimage.filters", "GaborMagnitudes"),
        (LocalBinaryPatterns(neighbours="circle"), IMAGES, "skimage.feature", "LocalBinaryPatterns(neighbours="),
        (Pixels(), COLOUR, "skimage.color", "laminar.features (for colour images)"),
        (SiftBagOfWords(), IMAGES, "cv2", "SiftBagOfWords"),
        (Resize((5, 5)), IMAGES, "skimage.transform", "Resize"),
    ],
)
def test_a_missing_package_is_asked_for(family, images, module, who, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    needed = module.partition(".")[0]
    with pytest.raises(ImportError, match=rf"{re.escape(who)}.* needs {needed}: pip install .laminar-nmf\[images\]"):
        family.fit_transform(images)


@pytest.mark.parametrize("family", [Pixels(), GradientOrientations(), LocalBinaryPatterns(), Crop((5, 5))], ids=repr)
def test_what_needs_no_package_runs_without(family, monkeypatch):
    for module in ("skimage", "skimage.color", "skimage.feature", "skimage.filters", "skimage.transform", "cv2"):
        monkeypatch.setitem(sys.modules, module, None)
    assert np.isfinite(family.fit_transform(IMAGES)).all()


# ---------------------------------------------------------------------------------------------------- progress


@every_family
def test_verbose_prints_lines_where_there_is_no_terminal(family, capfd):
    clone(family).set_params(verbose=1).fit_transform(IMAGES)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(rf"{type(family).__name__} 7/7 images  \d+\.\d s\n", err)


def test_no_output_by_default(capfd):
    views_from_images(IMAGES)
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_a_terminal(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    LocalBinaryPatterns(verbose=1).fit_transform(IMAGES)
    out, err = capsys.readouterr()
    assert out == ""
    assert "LocalBinaryPatterns" in err
    assert "7/7" in err

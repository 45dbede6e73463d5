"""Images of another geometry: widths, identity, and values by naive loops."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from laminar.features import AlignLandmarks, Crop, LocalBinaryPatterns, Pixels, Resize

pytest.importorskip("skimage.transform", reason='needs scikit-image: pip install "laminar-nmf[images]"')

rng = np.random.default_rng(0)
IMAGES = rng.uniform(size=(5, 20, 24))
POINTS = np.array([[6.0, 5.0], [17.0, 5.0], [11.0, 14.0], [4.0, 16.0]])  # (x, y)
LANDMARKS = POINTS + rng.uniform(-1, 1, size=(5, 4, 2))
KINDS = pytest.mark.parametrize("kind", ["similarity", "affine", "piecewise"])


def bilinear(image, x, y):
    """Grey value at a point, 0 outside the image."""
    height, width = image.shape
    i, j = int(np.floor(y)), int(np.floor(x))
    value = 0.0
    for row, weight_row in ((i, 1 - (y - i)), (i + 1, y - i)):
        for column, weight_column in ((j, 1 - (x - j)), (j + 1, x - j)):
            if 0 <= row < height and 0 <= column < width:
                value += weight_row * weight_column * image[row, column]
    return value


# ------------------------------------------------------------------------------------------------ resize and crop


@pytest.mark.parametrize("shape", [(42, 30), (40, 30), (100, 100), (32, 32), (7, 50), (1, 1)])
def test_resize_widths(shape):
    fitted = Resize(shape).fit(IMAGES)
    assert fitted.output_shape_ == shape
    assert fitted.transform(IMAGES).shape == (5, shape[0] * shape[1])
    assert len(fitted.get_feature_names_out()) == shape[0] * shape[1]


def test_resize_to_the_same_size_is_the_identity():
    assert_array_equal(Resize((20, 24)).fit_transform(IMAGES), IMAGES.reshape(5, -1))


def test_enlarged_images_by_linear_interpolation():
    """Pixel i of the large image is at (i + 1/2) / 2 - 1/2 of the small one; reflected at the border."""
    large = Resize((40, 48)).fit_transform(IMAGES).reshape(5, 40, 48)
    for row, column in [(11, 20), (16, 33), (25, 7)]:
        expected = bilinear(IMAGES[2], (column + 0.5) / 2 - 0.5, (row + 0.5) / 2 - 0.5)
        assert large[2, row, column] == pytest.approx(expected)


def test_reduction_smooths_first():
    """A fine check pattern becomes grey, its mean, and not black or white."""
    check = np.indices((32, 32)).sum(axis=0)[None] % 2 * 1.0
    small = Resize((8, 8)).fit_transform(check).reshape(8, 8)
    assert_allclose(small[2:-2, 2:-2], 0.5, atol=0.05)
    assert Resize((8, 8)).fit_transform(np.full((1, 32, 32), 0.3)) == pytest.approx(0.3)


def test_crop_by_hand():
    for position, (row, column) in {"centre": (5, 6), (0, 0): (0, 0), (9, 12): (9, 12)}.items():
        part = Crop((10, 12), position=position).fit(IMAGES)
        assert part.position_ == (row, column)
        assert_array_equal(part.transform(IMAGES), IMAGES[:, row : row + 10, column : column + 12].reshape(5, -1))
    assert_array_equal(Crop((20, 24)).fit_transform(IMAGES), IMAGES.reshape(5, -1))
    assert Crop((3, 3)).fit(IMAGES).position_ == (8, 10)  # margins 8 and 9, 10 and 11


def test_crop_keeps_the_position_of_the_fit():
    part = Crop((10, 12), position=(0, 0)).fit(IMAGES)
    before = part.transform(IMAGES)
    assert_array_equal(part.set_params(position=(9, 9)).transform(IMAGES), before)


def test_steps_of_a_pipeline():
    """Resize before crop, as in multi-view clustering of faces; then features of what is left."""
    steps = make_pipeline(
        Resize((64, 64)),
        Crop((48, 48), image_shape=(64, 64)),
        LocalBinaryPatterns((9, 10), image_shape=(48, 48)),
    )
    assert steps.fit_transform(IMAGES).shape == (5, 5 * 4 * 59)


# ------------------------------------------------------------------------------------------------------- alignment


@KINDS
def test_landmarks_in_place_are_the_identity(kind):
    images = IMAGES.reshape(5, -1)
    corners = np.array([[0.0, 0.0], [23.0, 0.0], [0.0, 19.0], [23.0, 19.0]])  # hull: the whole image
    align = AlignLandmarks(corners, kind=kind, image_shape=(20, 24))
    aligned = align.fit_transform(images, landmarks=np.tile(corners, (5, 1, 1)))
    assert_allclose(aligned, images, atol=1e-9)
    assert align.output_shape_ == (20, 24)


@pytest.mark.parametrize("kind", ["similarity", "affine"])
def test_shift_by_hand(kind):
    align = AlignLandmarks(POINTS - [2, 3], (10, 12), kind=kind)
    aligned = align.fit_transform(IMAGES, landmarks=np.tile(POINTS, (5, 1, 1)))
    assert_allclose(aligned, IMAGES[:, 3:13, 2:14].reshape(5, -1), atol=1e-9)


def test_similarity_of_two_eyes_by_hand():
    """With points as complex numbers the map back is z -> a z + b, which two eyes determine."""
    eyes, target = np.array([[6.2, 7.1], [16.4, 9.3]]), np.array([[4.0, 5.0], [11.0, 5.0]])
    (u, v), (s, t) = eyes @ [1, 1j], target @ [1, 1j]
    a = (u - v) / (s - t)
    aligned = AlignLandmarks(target, (12, 15)).fit_transform(IMAGES[:1], landmarks=eyes[None]).reshape(12, 15)
    for row in range(12):
        for column in range(15):
            z = a * (column + 1j * row - s) + u
            if 0 <= z.real <= 23 and 0 <= z.imag <= 19:
                assert aligned[row, column] == pytest.approx(bilinear(IMAGES[0], z.real, z.imag), abs=1e-9)


def test_affine_of_three_points_by_hand():
    """Three points determine the map back to the image."""
    aligned = AlignLandmarks(POINTS[:3], (12, 15), kind="affine").fit_transform(IMAGES, landmarks=LANDMARKS[:, :3])
    M = np.linalg.solve(np.c_[POINTS[:3], np.ones(3)], LANDMARKS[3, :3])
    for row, column in [(3, 5), (7, 9), (10, 12)]:
        x, y = [column, row, 1] @ M
        assert aligned[3].reshape(12, 15)[row, column] == pytest.approx(bilinear(IMAGES[3], x, y))


def test_similarity_by_least_squares():
    """With points as complex numbers, the regression of the targets on the landmarks."""
    aligned = AlignLandmarks(POINTS, (12, 15)).fit_transform(IMAGES, landmarks=LANDMARKS)
    z, w = LANDMARKS[3] @ [1, 1j], POINTS @ [1, 1j]
    a, b = np.linalg.lstsq(np.c_[z, np.ones(4)], w, rcond=None)[0]
    for row, column in [(3, 5), (7, 9), (10, 12)]:
        at = (column + 1j * row - b) / a
        assert aligned[3].reshape(12, 15)[row, column] == pytest.approx(bilinear(IMAGES[3], at.real, at.imag))


def test_piecewise_meets_every_landmark():
    """The grey value at each target is the one at the landmark, and pixels outside the hull are 0."""
    target = np.round(POINTS)
    align = AlignLandmarks(target, kind="piecewise")
    aligned = align.fit_transform(IMAGES, landmarks=LANDMARKS).reshape(5, 20, 24)
    for image, warped, points in zip(IMAGES, aligned, LANDMARKS, strict=True):
        for (x, y), (column, row) in zip(points, target.astype(int), strict=True):
            assert warped[row, column] == pytest.approx(bilinear(image, x, y), abs=1e-6)
    assert (aligned[:, 0] == 0).all()
    assert (aligned[:, :, -1] == 0).all()


@KINDS
def test_alignment_brings_faces_together(kind):
    """A blob at each of four points of moved images: after alignment the images agree."""
    y, x = np.indices((20, 24))
    turned = [(POINTS @ [1, 1j] - 11 - 10j) * np.exp(0.1j * t) * (1 + 0.03 * t) + 11 + 10j + t for t in range(-2, 3)]
    landmarks = np.stack([np.real(turned), np.imag(turned)], axis=2)
    images = np.array([sum(np.exp(-((x - u) ** 2 + (y - v) ** 2) / 4) for u, v in points) for points in landmarks])
    aligned = AlignLandmarks(POINTS, kind=kind).fit_transform(images, landmarks=landmarks).reshape(5, 20, 24)
    inside = (slice(None), slice(6, 13), slice(8, 13))
    assert aligned[inside].std(axis=0).mean() < 0.35 * images[inside].std(axis=0).mean()


def test_mean_of_the_landmarks_is_the_target():
    align = AlignLandmarks().fit(IMAGES, landmarks=LANDMARKS)
    assert_allclose(align.target_, LANDMARKS.mean(axis=0))
    half = AlignLandmarks(shape=(10, 12)).fit(IMAGES, landmarks=LANDMARKS)
    assert_allclose(half.target_, (LANDMARKS.mean(axis=0) + 0.5) / 2 - 0.5)
    assert half.transform(IMAGES, LANDMARKS).shape == (5, 120)


def test_alignment_keeps_the_contract():
    align = AlignLandmarks(POINTS, (9, 11), kind="piecewise").fit(IMAGES)
    rows = align.transform(IMAGES, LANDMARKS)
    assert_array_equal(clone(align).fit_transform(IMAGES, landmarks=LANDMARKS), rows)
    assert_array_equal(pickle.loads(pickle.dumps(align)).transform(IMAGES, LANDMARKS), rows)
    assert_array_equal(align.set_params(n_jobs=2).transform(IMAGES, LANDMARKS), rows)
    assert_array_equal(align.transform(IMAGES[::-1], LANDMARKS[::-1]), rows[::-1])
    single = align.transform(IMAGES.astype(np.float32), LANDMARKS)
    assert single.dtype == np.float32
    assert_allclose(single, rows, atol=1e-5)
    assert list(align.get_feature_names_out()) == list(Pixels().fit(rows.reshape(5, 9, 11)).get_feature_names_out())
    frame = align.set_output(transform="pandas").transform(IMAGES, LANDMARKS)
    assert_array_equal(frame, rows)


def test_landmarks_reach_a_step_of_a_pipeline():
    with config_context(enable_metadata_routing=True):
        align = AlignLandmarks(POINTS, (9, 11)).set_fit_request(landmarks=True).set_transform_request(landmarks=True)
        steps = make_pipeline(align, FunctionTransformer())
        steps.fit(IMAGES, landmarks=LANDMARKS)
        rows = steps.transform(IMAGES, landmarks=LANDMARKS)
    assert_array_equal(rows, AlignLandmarks(POINTS, (9, 11)).fit_transform(IMAGES, landmarks=LANDMARKS))


class Aligned(AlignLandmarks):
    """Alignment of images whose landmarks are all in place: what scikit-learn's checks can call."""

    def fit(self, X, y=None):
        return super().fit(X)

    def transform(self, X):
        return super().transform(X, np.tile(POINTS, (len(np.asarray(X)), 1, 1)))

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


@pytest.mark.filterwarnings("ignore:X .* feature names:UserWarning")
@parametrize_with_checks([Aligned(POINTS, image_shape=(1, -1))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("parameters", "landmarks", "message"),
    [
        ({}, None, "target is None, the mean of the landmarks: give fit"),
        ({"target": POINTS}, None, r"needs the landmarks of the images: give transform\(X, landmarks"),
        ({"target": POINTS}, LANDMARKS[:3], r"shape \(5, n_landmarks, 2\); got \(3, 4, 2\)"),
        ({"target": POINTS}, LANDMARKS.reshape(5, 8), r"shape \(5, n_landmarks, 2\); got \(5, 8\)"),
        ({"target": POINTS[:3]}, LANDMARKS, "The images have 4 landmarks and the target has 3"),
        ({"target": POINTS[:2], "kind": "affine"}, LANDMARKS[:, :2], 'kind="affine" needs a target of 3 or more'),
        ({"target": [[1.0, 2.0, 3.0]] * 3}, LANDMARKS[:, :3], r"points \(x, y\); got shape \(3, 3\)"),
        ({"target": POINTS}, np.where(LANDMARKS > 5, np.nan, LANDMARKS), "landmarks contains NaN"),
        ({"target": POINTS}, np.zeros((5, 4, 2)), "coincide or lie on a line"),
        ({"target": POINTS, "kind": "projective"}, LANDMARKS, "'kind' parameter of AlignLandmarks"),
        ({"target": POINTS, "shape": (0, 3)}, LANDMARKS, "shape must be two positive whole numbers"),
    ],
)
def test_what_cannot_be_aligned_is_said(parameters, landmarks, message):
    with pytest.raises(ValueError, match=message):
        AlignLandmarks(**parameters).fit_transform(IMAGES, landmarks=landmarks)


def test_alignment_must_be_fitted():
    with pytest.raises(NotFittedError):
        AlignLandmarks(POINTS).transform(IMAGES, LANDMARKS)

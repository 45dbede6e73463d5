"""Rendered faces: labels, light, poses, expressions, seeds; videos of an action unit."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar.datasets import make_expression_video, make_faces
from laminar.datasets._action_units import ACTION_UNITS
from laminar.temporal import boundary_errors, detect_phases, frame_accuracy


@pytest.fixture(scope="module")
def faces():
    return make_faces(8, 3, 4, size=32, random_state=0)


def variance_explained(X, labels):
    means = np.array([X[labels == label].mean(axis=0) for label in np.unique(labels)])[labels]
    return np.sum((means - X.mean(axis=0)) ** 2) / np.sum((X - X.mean(axis=0)) ** 2)


def test_faces_shape_type_and_range(faces):
    assert faces.X.shape == (96, 1024)
    assert faces.X.dtype == np.float32
    assert faces.image_shape == (32, 32)
    assert faces.X.min() >= 0
    assert faces.X.max() <= 1
    assert faces.X.max() - faces.X.min() > 0.8
    assert faces.data is faces.X


def test_faces_labels_are_fully_crossed(faces):
    labels = np.column_stack([faces.identity, faces.pose, faces.light])
    assert len(np.unique(labels, axis=0)) == len(labels) == 8 * 3 * 4
    assert [len(faces.names[name]) for name in ("identity", "pose", "light")] == [8, 3, 4]


def test_every_attribute_of_a_face_matters(faces):
    for name in ("identity", "pose", "light"):
        assert variance_explained(faces.X, faces[name]) > 0.005, name


def test_faces_by_seed():
    few = make_faces(2, 2, 2, size=16, random_state=0)
    assert_array_equal(few.X, make_faces(2, 2, 2, size=16, random_state=0).X)
    assert_array_equal(few.X, make_faces(5, 2, 2, size=16, random_state=0).X[:8])
    others = make_faces(2, 2, 2, size=16, random_state=1).X
    assert np.abs(few.X - others).mean(axis=1).min() > 0.01


def test_no_two_people_look_alike(faces):
    front = faces.X[(faces.pose == 1) & (faces.light == 1)]
    distances = np.abs(front[:, None] - front[None]).mean(axis=2)
    assert distances[~np.eye(8, dtype=bool)].min() > 0.02


def test_light_comes_from_where_its_name_says(faces):
    images = faces.X.reshape(-1, 32, 32)
    brighter_right = (images[:, 12:22, 18:22] - images[:, 12:22, 10:14]).mean(axis=(1, 2))
    front = faces.pose == 1
    assert (brighter_right[front & (faces.light == 3)] > brighter_right[front & (faces.light == 0)]).all()


@pytest.mark.parametrize(("pose", "direction"), [(0, -1), (2, 1)])
def test_turning_moves_nose_and_mouth_over_the_head(pose, direction):
    faces = make_faces(40, 3, 1, size=32, random_state=0)
    # Differences down the columns see the mouth and the nose but hardly the shade, which changes sideways.
    front, turned = (np.diff(faces.X[faces.pose == p].reshape(-1, 32, 32), axis=1) for p in (1, pose))
    matches = [np.sum(front[:, 16:26, 12:20] * turned[:, 16:26, 12 + s : 20 + s]) for s in range(-8, 9)]
    assert direction * (np.argmax(matches) - 8) >= 3  # pixels; the head as a whole moves by half a pixel


def test_left_turn_mirrors_right_turn_of_a_symmetric_person():
    # The mean over many people has no preferred side, so mirroring exchanges the poses.
    faces = make_faces(60, 2, 1, size=16, random_state=0)
    left, right = (faces.X[faces.pose == pose].mean(axis=0).reshape(16, 16) for pose in (0, 1))
    assert np.abs(left - right[:, ::-1]).mean() < 0.25 * np.abs(left - right).mean()


def test_faces_look_the_same_at_another_size():
    small, large = (make_faces(3, 1, 1, size=size, random_state=0).X for size in (16, 64))
    shrunk = large.reshape(3, 16, 4, 16, 4).mean(axis=(2, 4)).reshape(3, -1)
    assert np.abs(small - shrunk).mean() < 0.02


def test_one_pose_and_one_light_face_the_viewer():
    faces = make_faces(2, 1, 1, size=16, random_state=0)
    assert faces.names["pose"] == ["yaw +0"]
    assert faces.names["light"] == ["azimuth +0, elevation 22"]


# expressions


@pytest.fixture(scope="module")
def expressive():
    return make_faces(8, 3, 1, size=32, random_state=0, n_expressions=6)


def test_default_images_are_those_of_one_expression():
    """Grey values of images rendered before expressions were added."""
    images = make_faces(3, 2, 2, size=16, random_state=0).X[[0, 5, 11]][:, [60, 120, 136, 152, 200]]
    before = [
        [0.34234968, 0.5116837, 0.48747152, 0.31422257, 0.15242009],
        [0.46954763, 0.42442933, 0.6467648, 0.5884445, 0.37596774],
        [0.28772646, 0.36001623, 0.3322427, 0.39939377, 0.20742804],
    ]
    assert_allclose(images, before, atol=1e-5)


def test_expressions_are_crossed_with_the_others():
    faces = make_faces(3, 2, 2, size=16, random_state=0, n_expressions=3)
    labels = np.column_stack([faces.identity, faces.pose, faces.expression, faces.light])
    assert len(np.unique(labels, axis=0)) == len(labels) == len(faces.X) == 3 * 2 * 3 * 2
    assert faces.names["expression"] == ["neutral", "smile", "surprise"]
    assert list(faces.names) == ["identity", "pose", "expression", "light"]


def test_every_expression_differs_from_every_other(expressive):
    """By more than the small errors of a pose: in the mean over all people."""
    means = [expressive.X[expressive.expression == i].mean(axis=0) for i in range(6)]
    apart = [np.abs(a - b).max() for i, a in enumerate(means) for b in means[:i]]
    assert min(apart) > 0.02


def test_expression_changes_the_face_alone(expressive):
    images = expressive.X.reshape(-1, 32, 32)
    front = expressive.pose == 1
    change = np.abs(images[front & (expressive.expression == 5)] - images[front & (expressive.expression == 0)]).mean(0)
    assert change[10:25, 10:22].mean() > 3 * change[:8].mean()  # errors of the pose move the edge of the hair


# videos


@pytest.mark.parametrize("unit", ["mouth stretch", "eyes closed"])
def test_video_phases_and_forms(unit):
    video = make_expression_video(unit, 30, n_sequences=3, size=16, random_state=0)
    assert video.X.shape == (90, 256)
    assert video.X.dtype == np.float32
    assert 0 <= video.X.min() < video.X.max() <= 1
    assert_array_equal(np.bincount(video.groups), [30, 30, 30])
    assert video.boundaries.shape == (3, 4)
    for sequence, (onset, apex, offset, end) in enumerate(video.boundaries):
        phase, intensity = (values[video.groups == sequence] for values in (video.phase, video.intensity))
        expected = np.repeat([0, 1, 2, 3, 0], np.diff([0, onset, apex, offset, end, 30]))
        assert_array_equal(phase, expected)
        assert (intensity[phase == 0] == 0).all()
        assert (intensity[phase == 2] == 1).all()
        assert (np.diff(intensity[onset - 1 : apex + 1]) > 0).all()
        assert (np.diff(intensity[offset - 1 : end + 1]) < 0).all()
    assert len({tuple(row) for row in video.boundaries.tolist()}) > 1


def test_video_is_still_but_for_its_unit():
    """Without drift and noise equal intensities give equal frames, and larger ones change the image more."""
    video = make_expression_video("mouth stretch", 40, size=24, drift=0, noise=0, random_state=0)
    neutral, apex = video.X[video.phase == 0], video.X[video.phase == 2]
    assert np.ptp(neutral, axis=0).max() == np.ptp(apex, axis=0).max() == 0
    onset = video.X[video.phase == 1]
    change = np.linalg.norm(onset - neutral[0], axis=1)
    assert (np.diff(change) > 0).all()
    images = np.abs(apex[0] - neutral[0]).reshape(24, 24)
    assert images[14:20, 8:16].mean() > 20 * images[:12].mean()  # the mouth alone


def test_eyes_close_in_the_upper_half():
    video = make_expression_video("eyes closed", 40, size=24, drift=0, noise=0, random_state=0)
    change = np.abs(video.X[video.phase == 2][0] - video.X[0]).reshape(24, 24)
    assert change[8:13].mean() > 20 * change[14:].mean()


@pytest.mark.parametrize("unit", ACTION_UNITS)
def test_every_unit_is_visible(unit):
    video = make_expression_video(unit, 20, size=24, drift=0, noise=0, random_state=0)
    assert np.abs(video.X[video.phase == 2][0] - video.X[0]).max() > 0.02


def test_drift_is_slow_and_scales():
    shifts = {}
    for drift in (0.5, 1.0):
        X = make_expression_video("eyes closed", 40, size=24, drift=drift, noise=0, random_state=0).X
        neutral = X[:5]
        shifts[drift] = np.linalg.norm(neutral[-1] - neutral[0])
        assert max(np.linalg.norm(b - a) for a, b in pairwise(neutral)) < shifts[drift]
    assert 0 < shifts[0.5] < shifts[1.0]


def test_phases_of_a_video_can_be_found():
    """By the true unit's own direction, in the format of `laminar.temporal`."""
    video = make_expression_video("mouth stretch", 40, size=24, drift=0, noise=0.01, random_state=0)
    signal = (video.X - video.X[0]) @ (video.X[video.phase == 2].mean(0) - video.X[video.phase == 0].mean(0))
    found = detect_phases(signal)
    assert np.abs(boundary_errors(found, video.boundaries[0])).max() <= 2
    assert frame_accuracy(found, video.phase) > 0.85
    assert found.names == video.phase_names


def test_videos_by_seed():
    first, again, other = (make_expression_video(n_frames=12, size=12, random_state=seed).X for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)

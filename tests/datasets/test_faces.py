"""Rendered faces: labels, light, poses, seeds."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from laminar.datasets import (
    make_faces,
)


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

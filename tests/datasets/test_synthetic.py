"""Drawn data: what was planted is there, seeds, and parameters that make no sense."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar.datasets import (
    make_attributes,
    make_expression_video,
    make_faces,
    make_lowrank,
    make_temporal,
    make_views,
    make_xor,
    partial_labels,
    sample_attributes,
)

MAKERS = [make_lowrank, make_attributes, make_xor, make_temporal, make_views]


def arrays(bunch):
    """All arrays of a Bunch, lists of arrays taken apart."""
    for value in bunch.values():
        yield from (np.asarray(part) for part in (value if isinstance(value, list) else [value]))


def variance_explained(X, labels):
    means = np.array([X[labels == label].mean(axis=0) for label in np.unique(labels)])[labels]
    return np.sum((means - X.mean(axis=0)) ** 2) / np.sum((X - X.mean(axis=0)) ** 2)


@pytest.mark.parametrize("make", MAKERS)
def test_same_seed_same_data_other_seed_other_data(make):
    first, again, other = make(random_state=3), make(random_state=3), make(random_state=4)
    for a, b in zip(arrays(first), arrays(again), strict=True):
        assert_array_equal(a, b)
    name = "views" if "views" in first else "X"
    assert not np.array_equal(np.hstack(first[name]), np.hstack(other[name]))


@pytest.mark.parametrize("basis", ["gamma", "normal"])
def test_lowrank_without_noise_is_exactly_the_product(basis):
    data = make_lowrank(40, 30, 4, basis=basis, random_state=0)
    assert_allclose(data.X, data.H @ data.Z)
    assert np.linalg.matrix_rank(data.X) == 4
    assert (data.H >= 0).all()
    assert (data.X.min() < 0) == (basis == "normal")


def test_lowrank_noise_has_the_stated_size_and_keeps_the_sign():
    clean = make_lowrank(200, 100, 3, basis="normal", random_state=0)
    noisy = make_lowrank(200, 100, 3, basis="normal", noise=0.5, random_state=0)
    assert np.std(noisy.X - clean.X) == pytest.approx(0.5, rel=0.02)
    assert make_lowrank(50, 20, 3, noise=5.0, random_state=0).X.min() == 0


def test_lowrank_sparse_codes():
    H = make_lowrank(500, 5, 10, density=0.2, random_state=0).H
    assert np.mean(H > 0) == pytest.approx(0.28, abs=0.02)  # 0.2, and one more of the rest in each row
    assert (H > 0).any(axis=1).all()


def test_attributes_are_sums_of_effects_of_decreasing_variance():
    data = make_attributes(600, random_state=0)
    effects = [m[labels] for m, labels in zip(data.maps, data.y.T, strict=True)]
    assert np.std(data.X - sum(effects)) == pytest.approx(0.1, rel=0.05)
    pose, expression, identity = (np.mean(m**2) for m in data.maps)
    assert_allclose([pose, expression, identity], [9, 4, 1])
    assert [len(m) for m in data.maps] == [3, 4, 10]
    assert [len(np.unique(labels)) for labels in data.y.T] == [3, 4, 10]


def test_attributes_are_independent_of_each_other():
    y = make_attributes(6000, random_state=0).y
    assert np.abs(np.corrcoef(y.T) - np.eye(3)).max() < 0.05


def test_second_draw_shares_the_maps_and_nothing_else():
    train = make_attributes(100, noise=0.0, random_state=0)
    test = sample_attributes(train.maps, 100, noise=0.0, random_state=1)
    assert not np.array_equal(train.y, test.y)
    known = {tuple(labels): x for labels, x in zip(train.y, train.X, strict=True)}
    shared = [(x, known[tuple(labels)]) for labels, x in zip(test.y, test.X, strict=True) if tuple(labels) in known]
    assert len(shared) > 10
    assert_allclose(*map(np.array, zip(*shared, strict=True)))


def test_xor_corners_and_classes():
    data = make_xor(500, random_state=0)
    means = np.array([data.X[data.corner == c].mean(axis=0) for c in range(4)])
    assert_allclose(means, [[-3, -3], [-3, 3], [3, -3], [3, 3]], atol=0.2)
    assert np.std(data.X - means[data.corner]) == pytest.approx(1.0, rel=0.05)
    assert_array_equal(data.y, means[data.corner].prod(axis=1) > 0)
    assert make_xor(random_state=0).X.shape == (100, 2)


def test_xor_has_two_people_in_two_poses():
    """Fig. 4 of Trigeorgis et al., arXiv:1509.03248: every person in every pose, a pose at each side."""
    data = make_xor(500, random_state=0)
    cells = {(p, i): data.X[(data.pose == p) & (data.identity == i)].mean(axis=0) for p in (0, 1) for i in (0, 1)}
    assert_allclose(cells[0, 0], [-3, 3], atol=0.2)
    assert_allclose(cells[1, 1], [3, 3], atol=0.2)
    assert_allclose(cells[0, 1], [-3, -3], atol=0.2)
    assert_allclose(cells[1, 0], [3, -3], atol=0.2)
    assert_array_equal(data.identity, data.y)
    assert_array_equal(np.bincount(data.pose), [1000, 1000])


@pytest.mark.parametrize(("attribute", "low", "high"), [("pose", 0.85, 1.0), ("identity", 0.0, 0.1)])
def test_xor_pose_is_linear_and_identity_is_not(attribute, low, high):
    data = make_xor(random_state=0)
    labels, design = data[attribute], np.column_stack([data.X, np.ones(100)])
    fit = design @ np.linalg.lstsq(design, labels, rcond=None)[0]
    assert low <= 1 - np.var(labels - fit) / np.var(labels) <= high


@pytest.mark.parametrize("n_frames", [10, 11, 60, 200])
def test_temporal_phases_follow_the_trapezoid(n_frames):
    film = make_temporal(n_frames, n_sequences=5, random_state=0)
    height = film.activations[:, 0]
    for sequence in range(5):
        phase, h = film.phase[film.sequence == sequence], height[film.sequence == sequence]
        order = phase[np.flatnonzero(np.diff(phase, prepend=-1))]
        assert_array_equal(order, [0, 1, 2, 3, 0])
        assert_allclose(h[phase == 0], 0, atol=1e-12)
        assert_allclose(h[phase == 2], h.max())
        assert (np.diff(h[phase == 1]) > 0).all()
        assert (np.diff(h[phase == 3]) < 0).all()
        assert ((h[phase % 2 == 1] > 0) & (h[phase % 2 == 1] < h.max())).all()


def test_temporal_pixels_are_parts_times_activations_and_non_negative():
    film = make_temporal(50, n_slow=2, n_fast=3, noise=0.0, random_state=0)
    assert_allclose(film.X, film.activations @ film.parts)
    assert film.parts.shape == (5, 64)
    assert make_temporal(noise=5.0, random_state=0).X.min() == 0


def test_temporal_slow_parts_change_far_less_than_fast_ones():
    film = make_temporal(100, n_sequences=3, n_slow=2, n_fast=4, random_state=0)
    change = np.diff(film.activations, axis=0)[film.sequence[1:] == film.sequence[:-1]]
    speed = np.mean(change**2, axis=0) / np.var(film.activations, axis=0)
    assert 20 * speed[:2].max() < speed[2:].min()


def test_views_share_clusters_that_the_noise_view_ignores():
    data = make_views(400, 4, n_noise_features=40, random_state=0)
    assert [view.shape for view in data.views] == [(400, 30), (400, 40), (400, 50), (400, 40)]
    assert all((view >= 0).all() for view in data.views)
    explained = [variance_explained(view, data.y) for view in data.views]
    assert min(explained[:3]) > 0.5
    assert explained[3] < 0.03
    assert len(make_views(random_state=0).views) == 3


def test_partial_labels_keeps_the_share_of_every_class():
    y = np.repeat([0, 1, 2], [100, 40, 10])
    known = partial_labels(y, 0.3, random_state=0)
    assert_array_equal(known[known >= 0], y[known >= 0])
    assert_array_equal(np.bincount(known[known >= 0]), [30, 12, 3])


@pytest.mark.parametrize(("minimum", "counts"), [(0, [0, 0]), (1, [1, 1]), (3, [3, 2])])
def test_partial_labels_minimum_of_each_class(minimum, counts):
    known = partial_labels([0] * 5 + [1] * 2, 0.0, per_class_min=minimum, random_state=0)
    assert_array_equal(np.bincount(known[known >= 0], minlength=2), counts)


def test_partial_labels_of_several_attributes():
    y = make_attributes(200, random_state=0).y
    known = partial_labels(y, 0.5, random_state=0)
    assert known.shape == y.shape
    assert_allclose((known >= 0).mean(axis=0), 0.5, atol=0.02)
    assert ((known == y) | (known == -1)).all()
    assert len(np.unique(known >= 0, axis=0)) > 2  # the columns are hidden independently


def test_partial_labels_leaves_its_input_and_unknown_labels_alone():
    y = np.array([0, -1, 1, 1], dtype=np.int16)
    assert_array_equal(partial_labels(y, 1.0, random_state=0), y)
    partial_labels(y, 0.0, per_class_min=0, random_state=0)
    assert_array_equal(y, [0, -1, 1, 1])
    assert partial_labels(y.astype(np.uint8)[[0, 2]], 0.0, 0).min() == -1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_lowrank(basis="beta"), "gamma"),
        (lambda: make_lowrank(density=0), "density"),
        (lambda: make_attributes(levels=(3, 4)), "equally long"),
        (lambda: make_attributes(levels=(3, 1, 4)), "'levels' .* Got 1"),
        (lambda: make_attributes(levels=()), "levels must be a sequence of one or more"),
        (lambda: make_attributes(scales=("a", 2, 3)), "'scales' .* Got 'a'"),
        (lambda: sample_attributes([]), "maps must be one or more arrays"),
        (lambda: sample_attributes([np.eye(2), np.eye(3)]), r"the same features, got \[\(2, 2\), \(3, 3\)\]"),
        (lambda: sample_attributes([[[np.nan]]]), "maps contains NaN"),
        (lambda: make_lowrank(n_samples=0), "'n_samples' parameter of make_lowrank .* Got 0"),
        (lambda: make_lowrank(noise=-1), "'noise' .* Got -1"),
        (lambda: make_xor(1.5), "'n_per_corner' .* Got 1.5"),
        (lambda: make_xor(distance="a"), "'distance' .* Got 'a'"),
        (lambda: make_temporal(n_fast=-1), "'n_fast' .* Got -1"),
        (lambda: make_views(n_classes=0), "'n_classes' parameter of make_views .* Got 0"),
        (lambda: make_views(n_features=30), "n_features must be a sequence of one or more numbers, got 30"),
        (lambda: make_views(n_features=(30, 0)), "'n_features' .* Got 0"),
        (lambda: make_views(random_state="a"), "'random_state' .* Got 'a'"),
        (lambda: partial_labels([0, 1], "a"), "'frac' .* Got 'a'"),
        (lambda: partial_labels([0, 1], 0.5, per_class_min=-1), "'per_class_min' .* Got -1"),
        (lambda: make_faces(1.5), "'n_identities' parameter of make_faces .* Got 1.5"),
        (lambda: make_faces(size="a"), "'size' .* Got 'a'"),
        (lambda: make_temporal(9), "n_frames"),
        (lambda: partial_labels([0, 1], 1.5), "frac"),
        (lambda: partial_labels(["a", "b"], 0.5), "integers"),
        (lambda: make_faces(n_poses=0), "n_poses"),
        (lambda: make_faces(n_expressions=7), "'n_expressions' .* Got 7"),
        (lambda: make_expression_video("wink"), "'unit' .* Got 'wink'"),
        (lambda: make_expression_video(n_frames=9), "'n_frames' .* Got 9"),
        (lambda: make_expression_video(drift=-1), "'drift' .* Got -1"),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

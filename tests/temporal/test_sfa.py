from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.decomposition import PCA

from laminar.datasets import make_temporal
from laminar.recipes import zafeiriou
from laminar.temporal import slowness
from laminar.temporal.sfa import SlowFeatureAnalysis
from reference import fresh

rng = np.random.default_rng(0)
T, P = 120, 7
WALKS = np.cumsum(rng.normal(size=(T, P)), axis=0) @ rng.normal(size=(P, P)) + 5
GROUPS = np.repeat([0, 1, 2], T // 3)


def whole(k=None, **parameters):
    """No principal component is dropped."""
    return SlowFeatureAnalysis(k, n_pcs=None, **parameters)


def steps(Y, groups=None):
    groups = np.zeros(len(Y)) if groups is None else np.asarray(groups)
    return np.concatenate([np.diff(Y[groups == g], axis=0) for g in np.unique(groups)])


def close_but_for_sign(A, B, atol=1e-6):
    np.testing.assert_allclose(np.abs((A * B).mean(0)), 1, atol=atol)  # columns of unit variance


# ------------------------------------------------------------------------------------- scikit-learn's contract


# ------------------------------------------------------------------------------------------------ what it solves


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["one sequence", "three"])
@pytest.mark.parametrize("n_pcs", [None, 4, "auto"])
def test_features_are_centred_white_and_ordered(groups, n_pcs):
    model = SlowFeatureAnalysis(n_pcs=n_pcs).fit(WALKS, groups=groups)
    Y = model.transform(WALKS)
    np.testing.assert_allclose(Y.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(Y.T @ Y / T, np.eye(model.n_pcs_), atol=1e-9)
    assert (np.diff(model.deltas_) >= 0).all()
    np.testing.assert_allclose(model.deltas_, (steps(Y, groups) ** 2).mean(0), rtol=1e-8)


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["one sequence", "three"])
def test_the_generalised_eigenproblem(groups):
    X = WALKS - WALKS.mean(0)
    d = steps(X, groups)
    deltas, filters = eigh(d.T @ d / len(d), X.T @ X / T)
    model = whole().fit(WALKS, groups=groups)
    np.testing.assert_allclose(model.deltas_, deltas, rtol=1e-7)
    close_but_for_sign(model.transform(WALKS), X @ filters)


def test_a_slow_sine_is_recovered_from_a_mixture():
    t = np.linspace(0, 4 * np.pi, 400)
    sources = np.column_stack([np.sin(t), np.sin(11 * t), np.sin(29 * t), rng.normal(size=400)])
    features = whole(1).fit_transform(sources @ rng.normal(size=(4, 30)))
    assert abs(np.corrcoef(features[:, 0], np.sin(t))[0, 1]) > 0.999


def test_invertible_maps_of_the_data_change_nothing():
    model = whole().fit(WALKS)
    moved = WALKS @ rng.normal(size=(P, P)) + rng.normal(size=P)
    twin = whole().fit(moved)
    np.testing.assert_allclose(twin.deltas_, model.deltas_, rtol=1e-6)
    close_but_for_sign(twin.transform(moved), model.transform(WALKS))


def test_time_reversal_leaves_the_deltas():
    model, reversed_ = whole().fit(WALKS), whole().fit(WALKS[::-1])
    np.testing.assert_allclose(reversed_.deltas_, model.deltas_, rtol=1e-9)
    np.testing.assert_allclose(reversed_.components_, model.components_, rtol=1e-6)


def test_scale_of_the_data_changes_nothing():
    base = whole(3).fit_transform(WALKS)
    for scale in (1e-150, 1e150):
        model = whole(3).fit(scale * WALKS)
        assert np.isfinite(model.components_).all()
        np.testing.assert_allclose(model.transform(scale * WALKS), base, atol=1e-6)


# --------------------------------------------------------------------------------------------------- sequences


def test_borders_are_not_linked():
    X = WALKS + 100 * GROUPS[:, None] * rng.normal(size=P)
    apart = whole().fit(X, groups=GROUPS)
    np.testing.assert_allclose(apart.deltas_, (steps(apart.transform(X), GROUPS) ** 2).mean(0), rtol=1e-7)
    assert apart.deltas_[0] < 0.1 * whole().fit(X).deltas_[0]


def test_sequences_may_be_named_and_interleaved():
    order = np.argsort(np.tile(np.arange(T // 3), 3), kind="stable")  # a frame of each in turn
    names = np.array(["b", "a", "c"])[GROUPS]
    model, mixed = whole().fit(WALKS, groups=GROUPS), whole().fit(WALKS[order], groups=list(names[order]))
    np.testing.assert_allclose(mixed.components_, model.components_, rtol=1e-6, atol=1e-9)


def test_a_sequence_of_one_frame_has_no_step_but_counts_for_the_variance():
    X, groups = np.vstack([WALKS, [[1e3] * P]]), [*GROUPS, 9]
    model = whole().fit(X, groups=groups)
    Y = model.transform(X)
    np.testing.assert_allclose(Y.T @ Y / (T + 1), np.eye(P), atol=1e-7)
    np.testing.assert_allclose(model.deltas_, (steps(Y[:-1], GROUPS) ** 2).mean(0), rtol=1e-5)


# ---------------------------------------------------------------------------------- how many principal components


def auto(k=None):
    return SlowFeatureAnalysis(k, n_pcs="auto")


def test_default_number_is_auto():
    np.testing.assert_array_equal(SlowFeatureAnalysis().fit(WALKS).components_, auto().fit(WALKS).components_)


def test_recipe_is_published_with_all_components():
    np.testing.assert_array_equal(zafeiriou.sfa().fit(WALKS).components_, whole().fit(WALKS).components_)


@pytest.mark.parametrize("seed", range(3))
def test_auto_finds_the_number_of_parts(seed):
    film = make_temporal(random_state=seed)  # one slow part, four fast
    model = auto(1).fit(film.X)
    assert model.n_pcs_ == 5
    assert abs(np.corrcoef(model.transform(film.X)[:, 0], film.activations[:, 0])[0, 1]) > 0.999


@pytest.mark.parametrize("groups", [False, True], ids=["blocks of time", "whole sequences"])
def test_auto_is_slower_than_everything_on_new_frames(groups):
    film = make_temporal(60, 4, n_features=400, noise=1.0, random_state=1)
    train = film.sequence < (3 if groups else 1)
    new = film.X[film.sequence == 3]
    sequence = film.sequence[train] if groups else None
    held = {}
    for n_pcs in ("auto", None):
        model = SlowFeatureAnalysis(1, n_pcs=n_pcs).fit(film.X[train], groups=sequence)
        held[n_pcs] = slowness(model.transform(new))[0], model.deltas_[0], model.n_pcs_
    assert held["auto"][0] < 0.5 * held[None][0]
    assert held["auto"][1] > held[None][1]  # which the training frames would not tell
    assert held["auto"][2] < 15


def test_first_features_are_the_same_however_many_are_asked_for():
    film = make_temporal(random_state=0)
    everything, one = auto().fit(film.X), auto(1).fit(film.X)
    assert len(everything.deltas_) == everything.n_pcs_ == one.n_pcs_
    np.testing.assert_allclose(one.components_, everything.components_[:1], rtol=1e-6)


def test_auto_leaves_room_for_every_feature_asked_for():
    film = make_temporal(random_state=0)
    model = auto(20).fit(film.X)
    assert model.n_pcs_ >= 20
    assert model.transform(film.X).shape == (60, 20)


@pytest.mark.parametrize(("n_frames", "k"), [(2, 1), (3, 1), (3, 2), (4, 1), (5, 3)])
def test_auto_with_too_few_frames_to_hold_any_out(n_frames, k):
    model = auto(k).fit(rng.normal(size=(n_frames, 50)))
    assert k <= model.n_pcs_ <= n_frames - 1
    assert np.isfinite(model.deltas_).all()


def test_auto_with_one_sequence_among_single_frames():
    model = auto(1).fit(WALKS, groups=[0] * 20 + list(range(1, T - 19)))
    assert np.isfinite(model.components_).all()


def test_numbers_and_shares():
    assert SlowFeatureAnalysis(n_pcs=3).fit(WALKS).n_pcs_ == 3
    assert SlowFeatureAnalysis(n_pcs=50).fit(WALKS).n_pcs_ == P
    for share in (0.3, 0.9, 0.999, 1.0):
        shares = np.cumsum(PCA().fit(WALKS).explained_variance_ratio_)
        assert SlowFeatureAnalysis(n_pcs=share).fit(WALKS).n_pcs_ == np.searchsorted(shares, share - 1e-12) + 1


def test_constant_directions_are_dropped():
    dust = 1e-5 * rng.normal(size=(T, 2))
    X = np.hstack([WALKS, WALKS[:, :2], np.full((T, 1), 3.0), dust])
    model = whole().fit(X)
    assert model.n_pcs_ == P
    np.testing.assert_allclose(model.deltas_, whole().fit(WALKS).deltas_, rtol=1e-6)


PIXELS = """
from laminar import SlowFeatureAnalysis
X = np.random.default_rng(0).normal(size=(30, 20_000))
SlowFeatureAnalysis(2).fit(X[:, :50])
print(json.dumps(peak(lambda: SlowFeatureAnalysis(2).fit(X)) / X.nbytes))
"""


def test_memory_is_linear_in_pixels():
    assert fresh.run(fresh.PEAK + PIXELS) < 20  # copies of X; the square of its width would be 667


# --------------------------------------------------------------------------------------------------------- back


@pytest.mark.parametrize("k", [1, 3, P])
def test_inverse_is_the_least_squares_one(k):
    model = whole(k).fit(WALKS)
    Y, X = model.transform(WALKS), WALKS - WALKS.mean(0)
    best = Y @ np.linalg.lstsq(Y, X, rcond=None)[0]
    np.testing.assert_allclose(model.inverse_transform(Y), best + WALKS.mean(0), atol=1e-7)
    np.testing.assert_allclose(model.transform(model.inverse_transform(Y)), Y, atol=1e-7)
    left = ((X - best) ** 2).sum() / (X**2).sum()
    assert model.explained_variance_ratio_.sum() == pytest.approx(1 - left)
    assert len(model.explained_variance_ratio_) == k


def test_largest_entry_of_each_pattern_is_positive():
    model, mirrored = whole().fit(WALKS), whole().fit(-WALKS)
    for fitted in (model, mirrored):
        assert (fitted.patterns_.max(1) >= -fitted.patterns_.min(1)).all()
    np.testing.assert_allclose(mirrored.components_, model.components_, rtol=1e-6, atol=1e-9)


def test_floating_type_is_kept():
    single = clone(SlowFeatureAnalysis(2)).fit(WALKS.astype(np.float32))
    Y = single.transform(WALKS.astype(np.float32))
    kept = single.components_, single.patterns_, single.mean_, Y, single.inverse_transform(Y)
    assert {A.dtype for A in kept} == {np.dtype(np.float32)}
    close_but_for_sign(Y, SlowFeatureAnalysis(2).fit_transform(WALKS), atol=1e-3)


# ------------------------------------------------------------------------------------ as many as there are

FLAT = np.cumsum(rng.normal(size=(842, 5)), axis=0) @ rng.normal(size=(5, 60))  # 842 frames of rank 5


@pytest.mark.parametrize("n_pcs", [50, 0.9, "auto", None])
def test_rank_limits_features(n_pcs):
    with pytest.warns(UserWarning, match="n_components=50 is more than the rank .* 5 features are returned") as caught:
        model = SlowFeatureAnalysis(50, n_pcs=n_pcs, random_state=0).fit(FLAT)
    assert [Path(warning.filename).name for warning in caught] == ["test_sfa.py"]
    assert model.n_pcs_ == len(model.components_) == len(model.deltas_) == model.transform(FLAT).shape[1] == 5
    np.testing.assert_allclose(model.deltas_, whole(5).fit(FLAT).deltas_, rtol=1e-6)


@pytest.mark.parametrize("k", range(2, 60, 7))
def test_all_features_of_automatic_components(k):
    X = np.cumsum(np.random.default_rng(k).normal(size=(90, k)), axis=0)
    assert SlowFeatureAnalysis(k, n_pcs="auto").fit(X).n_pcs_ == k


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "X", "groups", "message"),
    [
        ({}, WALKS, np.arange(T), "no sequence has two frames: groups gives each of the 120 samples"),
        ({}, WALKS, GROUPS[:-1], r"groups must name the sequence of each of the 120 samples; got shape \(119,\)"),
        ({}, WALKS, [None, *GROUPS[1:]], "groups is unknown .* for 1 samples"),
        ({}, WALKS[:1], None, "1 sample"),
        ({}, np.full((20, 4), 0.1), None, "X does not change over its 20 frames"),
        ({}, 1e-320 * WALKS, None, "X does not change .* multiply X by a constant"),
        ({"n_components": 3, "n_pcs": 2}, WALKS, None, "n_components=3 .* n_pcs=2 principal .* at most 2"),
        ({"n_pcs": 0}, WALKS, None, "'n_pcs' parameter .* Got 0"),
        ({"n_pcs": 1.5}, WALKS, None, "'n_pcs' parameter .* Got 1.5"),
        ({"n_components": 0}, WALKS, None, "'n_components' parameter .* Got 0"),
    ],
)
def test_bad_input_is_refused(parameters, X, groups, message):
    model = SlowFeatureAnalysis(**parameters)
    with pytest.raises(ValueError, match="(?s)" + message):
        model.fit(X, groups=groups)
    assert not hasattr(model, "components_")


def test_features_of_another_width_cannot_be_mapped_back():
    with pytest.raises(ValueError, match=r"features must have shape \(n_samples, 2\), got \(4, 3\)"):
        SlowFeatureAnalysis(2).fit(WALKS).inverse_transform(np.ones((4, 3)))

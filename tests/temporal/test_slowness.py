"""Slowness of features, and the slowest of them."""

import numpy as np
import pytest
from sklearn.decomposition import NMF as SklearnNMF
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laminar import NMF
from laminar.datasets import make_temporal
from laminar.temporal import slowest_feature, slowness
from laminar.temporal.sfa import SlowFeatureAnalysis

rng = np.random.default_rng(0)
t = np.arange(200)
H = np.column_stack([np.sin(t / 20), np.sin(t / 3), rng.normal(size=200), np.cos(t / 50)])
FILM = make_temporal(random_state=0)


# ---------------------------------------------------------------------------------------------------- slowness


@pytest.mark.parametrize("groups", [None, np.repeat([0, 1], 100), t % 2], ids=["one", "two", "interleaved"])
def test_slowness_is_mean_squared_change_over_variance(groups):
    sequences = [H] if groups is None else [H[groups == g] for g in (0, 1)]
    changes = np.concatenate([np.diff(part, axis=0) for part in sequences])
    np.testing.assert_allclose(slowness(H, groups), (changes**2).mean(0) / H.var(0))


def test_slowness_ignores_scale_and_offset():
    np.testing.assert_allclose(slowness(H * [1e-2, -7, 1, 5] + [0, 3, -1, 9]), slowness(H), rtol=1e-9)
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(slowness(scale * H), slowness(H))


def test_slowness_of_slow_features_is_what_they_were_sorted_by():
    model = SlowFeatureAnalysis(n_pcs=None).fit(FILM.X)
    np.testing.assert_allclose(slowness(model.transform(FILM.X)), model.deltas_, rtol=1e-7)


def test_dead_features_are_infinitely_fast():
    deltas = slowness(np.column_stack([H[:, 0], np.full(200, 0.1), 1e-4 * H[:, 3], np.zeros(200)]))
    assert np.isinf(deltas).tolist() == [False, True, True, True]
    assert np.isinf(slowness(np.full((5, 2), 0.1))).all()


def test_components_tell_a_small_feature_from_a_dead_one():
    codes, parts = H * [1, 1, 1, 1e-5], rng.normal(size=(4, 9))
    assert np.isinf(slowness(codes)[3])
    np.testing.assert_allclose(slowness(codes, components=parts * [[1], [1], [1], [1e5]]), slowness(H))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((H, np.arange(200)), "no sequence has two frames among the 200 samples"),
        ((H, [0, 1]), "groups must name the sequence of each of the 200 samples"),
        ((H, None, np.ones((3, 2))), "one row for each of the 4 features, got 3 rows"),
        ((H[0],), "Expected 2D array"),
        ((np.full((4, 2), np.nan),), "H contains NaN"),
    ],
)
def test_slowness_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        slowness(*arguments)


# --------------------------------------------------------------------------------------------- slowest feature


def test_slowest_feature_of_an_array_is_not_the_smallest():
    small = H * [1, 0.01, 1, 1]
    index, found = slowest_feature(small)
    assert index == 3
    np.testing.assert_array_equal(found, small[:, 3])
    assert (np.diff(small, axis=0) ** 2).sum(0).argmin() == 1  # what the sum of squares alone would choose


@pytest.mark.parametrize(
    "model",
    [PCA(5), PCA(5, whiten=True), make_pipeline(StandardScaler(), PCA(5)), SlowFeatureAnalysis()],
    ids=["PCA", "whitened", "pipeline", "SFA"],
)
def test_slowest_feature_of_a_transformer(model):
    model.fit(FILM.X)
    features = model.transform(FILM.X)
    index, found = slowest_feature(model, FILM.X)
    assert index == slowness(features).argmin()
    assert np.corrcoef(found, features[:, index])[0, 1] == pytest.approx(1)


def test_slowest_feature_has_the_units_of_x():
    # Where features are unit vectors in white noise, scaled back they are what they add to X.
    plain, white = PCA(5).fit(FILM.X), PCA(5, whiten=True).fit(FILM.X)
    np.testing.assert_allclose(slowest_feature(plain, FILM.X)[1], slowest_feature(white, FILM.X)[1])


def test_slowest_feature_of_a_model_whose_codes_have_any_scale():
    model = SklearnNMF(5, init="nndsvda", max_iter=1000).fit(FILM.X)
    index, found = slowest_feature(model, FILM.X)
    norms = np.linalg.norm(model.components_, axis=1)
    np.testing.assert_allclose(found, model.transform(FILM.X)[:, index] * norms[index])


def test_slowest_feature_of_the_training_frames():
    model = NMF(5, random_state=0).fit(FILM.X)
    index, found = slowest_feature(model)
    np.testing.assert_allclose(found, model.layers_[-1].representation[:, index], rtol=1e-6)
    assert index == slowest_feature(model, FILM.X)[0]


def test_slowest_feature_skips_the_links_between_sequences():
    groups = np.repeat([0, 1], 100)
    jump = np.column_stack([groups + 0.01 * H[:, 1], H[:, 3]])
    assert slowest_feature(jump)[0] == 1
    assert slowest_feature(jump, groups=groups)[0] == 0


@pytest.mark.parametrize("groups", [None, np.repeat([0, 1], 100)], ids=["one", "two"])
def test_published_criterion_is_the_sum_of_squared_changes(groups):
    small, sequence = H * [1, 0.01, 1, 1], np.zeros(200) if groups is None else groups
    sums = np.zeros(4)
    for a in range(4):
        for i in range(1, 200):
            sums[a] += (small[i, a] - small[i - 1, a]) ** 2 * (sequence[i] == sequence[i - 1])
    index, found = slowest_feature(small, groups=groups, criterion="published")
    assert index == sums.argmin() == 1
    np.testing.assert_array_equal(found, small[:, 1])
    assert slowest_feature(small, groups=groups)[0] == 3


def test_published_criterion_is_of_the_codes_as_they_are():
    model = SklearnNMF(5, init="nndsvda", max_iter=1000).fit(FILM.X)
    W = model.transform(FILM.X)
    index, found = slowest_feature(model, FILM.X, criterion="published")
    assert index == (np.diff(W, axis=0) ** 2).sum(0).argmin()
    np.testing.assert_allclose(found, W[:, index] * np.linalg.norm(model.components_[index]))


def test_published_criterion_takes_an_unused_component():
    assert slowest_feature(np.column_stack([H, np.zeros(200)]), criterion="published")[0] == 4


def test_slowest_feature_refuses():
    with pytest.raises(ValueError, match="criterion must be one of 'delta', 'published'; got 'slow'"):
        slowest_feature(H, criterion="slow")
    with pytest.raises(ValueError, match="no sequence has two frames"):
        slowest_feature(H, groups=t, criterion="published")
    with pytest.raises(ValueError, match=r"PCA does not keep its training features .* give X"):
        slowest_feature(PCA(2).fit(FILM.X))
    with pytest.raises(ValueError, match="none of the 3 features varies"):
        slowest_feature(np.ones((10, 3)))

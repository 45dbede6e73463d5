import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans

from laminar import NMF, DeepSemiNMF, SemiNMF, SmoothedSemiNMF
from laminar._base import clusters as clusters_module
from laminar._base.clusters import Clusters, partly_whitened, reader
from laminar._base.coding import Layer
from laminar._base.graph_clusters import GraphClusters
from laminar._base.spectral import kmeans
from laminar._engine.linalg.small import unit_rows, whitener

rng = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], 30)
H = 0.2 * rng.random((90, 5)) + rng.gamma(5.0, size=(3, 5))[LABELS] * rng.uniform(0.5, 2, (90, 1))


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1, 1e20, 1e200])
def test_whitened_codes_are_orthonormal_in_any_unit(scale):
    E = (scale * H) @ whitener(scale * H)
    assert_allclose(E.T @ E, np.eye(5), atol=1e-8)


def test_whitened_codes_know_the_span_alone():
    S = rng.normal(size=(5, 5))
    one, other = H @ whitener(H), H @ S @ whitener(H @ S)
    assert_allclose(one @ one.T, other @ other.T, atol=1e-8)


def test_dependent_codes_lose_their_null_space():
    doubled = np.hstack([H, H[:, :2]])
    W = whitener(doubled)
    assert W.shape == (7, 5)
    assert_allclose((doubled @ W).T @ (doubled @ W), np.eye(5), atol=1e-6)
    assert whitener(np.zeros((4, 3))).shape == (3, 0)


def test_float32_codes_are_whitened_in_double_precision():
    W = whitener(H.astype(np.float32))
    assert W.dtype == np.float64
    assert_allclose(np.abs(W), np.abs(whitener(H)), rtol=1e-2, atol=1e-4)


def test_unit_rows():
    E = rng.normal(size=(6, 3))
    E[2] = 0
    out = unit_rows(E)
    assert_allclose(np.linalg.norm(out, axis=1), [1, 1, 0, 1, 1, 1])
    assert_allclose(out[0] * np.linalg.norm(E[0]), E[0])


def test_clusters_are_found_whatever_the_length_of_a_sample():
    assert same_partition(Clusters(H, 0).predict(H, 3), LABELS)
    lengths = rng.uniform(1, 100, (90, 1))
    assert_array_equal(Clusters(H, 0).predict(lengths * H, 3), Clusters(H, 0).predict(H, 3))


@pytest.mark.parametrize("seed", range(5))
def test_a_change_of_basis_changes_no_cluster(seed):
    """Codes are known up to H S: a solver may land on any S, a clustering must not depend on it."""
    S = np.random.default_rng(seed).normal(size=(5, 5))
    one = Clusters(H, 0).predict(H, 3)
    assert same_partition(Clusters(H @ S, 0).predict(H @ S, 3), one)
    assert same_partition(Clusters(H * 10.0 ** np.arange(-5, 0), 0).predict(H * 10.0 ** np.arange(-5, 0), 3), one)


def test_clusters_are_fitted_once_and_remembered():
    clusters = Clusters(H, random_state=None)
    first = clusters.predict(H, 4)
    clusters.predict(H, 2)
    assert_array_equal(clusters.predict(H, 4), first)
    assert_array_equal(clusters.predict(H[::-1], 4), first[::-1])


def test_zero_codes_are_one_cluster():
    zero = np.zeros((6, 3))
    assert_array_equal(Clusters(zero, 0).predict(zero, 1), np.zeros(6))
    assert Clusters(H, 0).predict(np.zeros((2, 5)), 3).shape == (2,)


def test_more_clusters_than_samples():
    with pytest.raises(ValueError, match=r"n_clusters=4 is more than the 3 samples .* ask for fewer"):
        Clusters(H[:3], 0).predict(H[:3], 4)


# ---- read-outs of a fitted model ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(40, 9))
    return SemiNMF(4, random_state=0).fit(X), X


def test_isometric_codes_keep_the_distances_of_what_they_stand_for(fitted):
    model, X = fitted
    E, Y = model.transform(X, readout="isometric"), model.inverse_transform(model.transform(X))
    assert_allclose(np.linalg.norm(E[:5, None] - E, axis=2), np.linalg.norm(Y[:5, None] - Y, axis=2), atol=1e-10)


def test_whitened_codes_do_not_depend_on_the_basis(fitted):
    model, X = fitted
    E = model.transform(X, readout="whitened")
    assert_allclose(np.linalg.norm(E, axis=1), 1)
    H = model.layers_[0].representation
    assert_allclose(E, unit_rows(H @ whitener(H)), atol=1e-8)


def test_pinv_is_plain_least_squares(fitted):
    model, X = fitted
    expected = np.linalg.lstsq(model.components_.T, X.T, rcond=None)[0].T
    assert_allclose(model.transform(X, method="pinv"), expected, atol=1e-8)
    A = np.vstack([model.components_.T, np.sqrt(model.layers_[-1].ridge) * np.eye(expected.shape[1])])
    ridged = np.linalg.lstsq(A, np.vstack([X.T, np.zeros_like(expected.T[:, : len(X)])]), rcond=None)[0].T
    inside = (ridged >= 0).all(1)
    assert inside.any()  # there the best codes are non-negative anyway
    assert_allclose(model.transform(X)[inside], ridged[inside], atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("readout", ["raw", "whitened", "isometric", 0.75])
def test_readouts_keep_the_floating_type(dtype, readout):
    X = np.random.default_rng(1).normal(size=(30, 6)).astype(dtype)
    assert SemiNMF(3, random_state=0).fit(X).transform(X, readout=readout).dtype == dtype


@pytest.mark.parametrize("n_init", [1, 20])
def test_raw_clusters_are_those_of_scikit_learn(fitted, n_init):
    model, _ = fitted
    expected = KMeans(4, n_init=n_init, random_state=0).fit(model.layers_[0].representation).labels_
    assert_array_equal(model.cluster(readout="raw", n_init=n_init), expected)


@pytest.mark.parametrize("readout", ["raw", "whitened", "isometric"])
def test_clusters_are_those_of_the_form_asked_for(fitted, readout):
    """New samples are brought to the same form and join the nearest centre."""
    model, X = fitted
    E = model.transform(X, readout=readout)
    by_hand = reader(readout, model.layers_[0])(model.layers_[0].representation)
    centres = KMeans(3, n_init=20, random_state=0).fit(by_hand)
    assert_array_equal(model.cluster(X, 3, readout=readout), centres.predict(E))


def test_default_form_is_partly_whitened(fitted):
    model, _ = fitted
    assert_array_equal(model.cluster(n_clusters=3), model.cluster(n_clusters=3, readout=0.75))
    assert isinstance(model.clusters_, GraphClusters)
    assert not np.array_equal(model.cluster(n_clusters=3), model.cluster(n_clusters=3, readout="whitened"))


# ---- exponents between isometric and whitened --------------------------------------------------------------------


def distances(E):
    return np.linalg.norm(E[:, None] - E, axis=2)


@pytest.mark.parametrize(
    ("exponent", "name"), [(0, "isometric"), (0.0, "isometric"), (1, "whitened"), (1.0, "whitened")]
)
def test_ends_of_exponent_are_named_forms(fitted, exponent, name):
    model, X = fitted
    E, named = model.transform(X, readout=exponent), model.transform(X, readout=name)
    assert_allclose(distances(E), distances(named), atol=1e-8)


def test_partly_whitened_codes_are_scaled_directions(fitted):
    model, _ = fitted
    H = model.layers_[0].representation
    U, s, _ = np.linalg.svd(H @ model.components_, full_matrices=False)
    F = U[:, :4] * s[:4] ** 0.4
    F /= np.linalg.norm(F, axis=1, keepdims=True) ** 0.6
    assert_allclose(np.abs(reader(0.6, model.layers_[0])(H)), np.abs(F), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-100, 1, 1e100])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_partly_whitened_codes_do_not_depend_on_basis(exponent, scale):
    draw = np.random.default_rng(1)
    codes, Z, S = scale * draw.random((20, 3)), draw.normal(size=(3, 7)), draw.normal(size=(3, 3))
    one = partly_whitened(whitener(codes), Z, exponent)(codes)
    other = partly_whitened(whitener(codes @ S), np.linalg.solve(S, Z), exponent)(codes @ S)
    size = np.abs(one).max()
    assert_allclose(distances(one / size), distances(other / size), atol=1e-6)


def test_exponent_needs_no_training_codes(fitted):
    model, _ = fitted
    layer = model.layers_[0]
    H = layer.representation
    assert_allclose(reader(0.75, layer.without_codes())(H), reader(0.75, layer)(H), atol=1e-10)


def test_exponent_of_zero_codes_is_one_column():
    layer = Layer(np.eye(3), np.eye(3), np.zeros((5, 3)))
    assert_array_equal(reader(0.75, layer)(layer.representation), np.zeros((5, 1)))


def test_exponent_names_its_columns(fitted):
    model, X = fitted
    doubled = Layer(np.eye(4), np.eye(4), np.hstack([H[:, :2], H[:, :2]]))
    assert reader(0.5, doubled).width(4) == reader(0.5, doubled)(doubled.representation).shape[1] == 2
    assert len(clone(model).set_params(readout=0.5).fit(X).get_feature_names_out()) == 4


@pytest.mark.parametrize("readout", [-0.1, 1.5, np.nan, None])
def test_exponent_outside_unit_interval(fitted, readout):
    model, _ = fitted
    with pytest.raises(ValueError, match=r"readout must be one of .*, or a number from 0 to 1; got"):
        reader(readout, model.layers_[0])
    if readout is not None:
        with pytest.raises(ValueError, match="or a number from 0 to 1"):
            model.cluster(readout=readout)
        with pytest.raises(ValueError, match="'readout' parameter"):
            SemiNMF(2, readout=readout).fit(np.eye(4))


# ---- clusters of the rank graph ----------------------------------------------------------------------------------


def of_graph(codes, **more):
    return GraphClusters(codes, 0, partly_whitened(whitener(codes), np.eye(codes.shape[1]), 0.75), **more)


def test_graph_finds_clusters():
    assert same_partition(of_graph(H, n_neighbors=10).labels(3), LABELS)


def test_graph_takes_leading_directions():
    clusters = of_graph(H, n_directions=1)
    assert [clusters.features(H, c).shape[1] for c in (1, 3, 9)] == [1, 3, 5]
    assert clusters.features(H).shape[1] == 5


def test_new_samples_join_nearest_mean():
    clusters = of_graph(H, n_neighbors=10)
    new = np.repeat([H[0], H[40], H[80]], 2, axis=0) * 1.01
    assert_array_equal(clusters.predict(new, 3), np.repeat(clusters.labels(3)[[0, 40, 80]], 2))


def test_graph_clusters_without_training_codes():
    clusters = of_graph(H, n_neighbors=10)
    kept = clusters.without_codes(3)
    assert len(kept.H) == 0
    assert not kept._labels
    assert len(kept._fitted[3].means) == 30  # means of 90 samples
    assert_array_equal(kept.predict(H, 3), clusters.predict(H, 3))
    with pytest.raises(ValueError, match="saved without training codes"):
        kept.labels(3)


@pytest.mark.parametrize("n_samples", [1, 2, 3, 9, 12])
def test_graph_of_few_samples(n_samples):
    codes = H[:n_samples]
    for n_clusters in {1, min(2, n_samples), n_samples}:
        labels = of_graph(codes, n_neighbors=10, n_directions=3).labels(n_clusters)
        assert labels.shape == (n_samples,)
        assert len(set(labels.tolist())) <= n_clusters


def test_graph_of_equal_samples():
    codes = np.ones((15, 3))
    assert_array_equal(of_graph(codes, n_neighbors=10, n_directions=3).predict(codes, 2), np.zeros(15))


def test_graph_of_many_samples_sees_a_subsample():
    codes, y = blobs(2000)
    clusters = of_graph(codes, n_neighbors=10, max_samples=300)
    labels = clusters.labels(4)
    assert same_partition(labels, y)
    assert not clusters._labels
    assert_array_equal(labels, clusters.predict(codes, 4))


@pytest.mark.parametrize("model", [NMF(10), SemiNMF(10), DeepSemiNMF((20, 10)), SmoothedSemiNMF(10, readout=0.75)])
def test_more_components_than_few_samples_support(model):
    """Ten whitened directions of 24 samples are mostly noise: k-means of them is near chance."""
    draw = np.random.default_rng(0)
    y = np.repeat([0, 1], 12)
    X = draw.random((2, 64))[y] + 0.3 * draw.random((24, 64))
    model = clone(model).set_params(n_clusters=2, random_state=0)
    assert same_partition(model.fit_predict(X), y)
    assert same_partition(model.predict(X), y)


def test_layers_side_by_side_have_their_own_directions():
    X = np.random.default_rng(0).random((30, 12))
    model = DeepSemiNMF((6, 4), max_iter=5, tol=0, layer="all", random_state=0).fit(X)
    assert model.cluster(n_clusters=1).tolist() == [0] * 30
    assert model.clusters_.features(np.hstack([layer.representation for layer in model.layers_]), 1).shape[1] == 3 + 3


@pytest.mark.parametrize(("options", "message"), [({"n_init": 0}, "'n_init' parameter"), ({"readout": "a"}, "readout")])
def test_clusters_that_cannot_be(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        fitted[0].cluster(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 1}, "layer=1 is out of range: the model has 1 layer"),
        ({"layer": -2}, "layer=-2 is out of range"),
        ({"method": "lstsq"}, "method must be one of 'nonnegative', 'pinv'"),
        ({"readout": "white"}, "readout must be one of 'raw', 'whitened', 'isometric'"),
    ],
)
def test_unknown_readouts_are_named(fitted, options, message):
    model, X = fitted
    with pytest.raises(ValueError, match=message):
        model.transform(X, **options)


# Many samples


def blobs(n=3000, k=4, seed=0):
    draw = np.random.default_rng(seed)
    y = draw.integers(k, size=n)
    return 4 * np.eye(k)[y] + draw.random((n, k)), y


def test_kmeans_of_few_samples_sees_all():
    codes, _ = blobs(600)
    E = Clusters(codes, 0).features(codes)
    whole = KMeans(4, n_init=20, random_state=0).fit(E)
    assert_array_equal(Clusters(codes, 0, max_samples=600).predict(codes, 4), whole.labels_)


def test_kmeans_of_many_samples_sees_a_subsample(monkeypatch):
    codes, y = blobs()
    seen = []
    monkeypatch.setattr(clusters_module, "kmeans", lambda E, *rest: seen.append(len(E)) or kmeans(E, *rest))
    labels = Clusters(codes, 0, max_samples=500).predict(codes, 4)
    assert seen == [500]
    assert same_partition(labels, y)
    assert_array_equal(Clusters(codes, 0, max_samples=500).predict(codes, 4), labels)


def test_kmeans_subsample_has_100_samples_a_cluster(monkeypatch):
    codes, _ = blobs()
    seen = []
    monkeypatch.setattr(clusters_module, "kmeans", lambda E, *rest: seen.append(len(E)) or kmeans(E, *rest))
    Clusters(codes, 0, n_init=1, max_samples=10).predict(codes, 5)
    assert seen == [500]


def test_kmeans_subsample_loses_no_inertia():
    draw = np.random.default_rng(0)
    codes = np.eye(5)[draw.integers(5, size=8000)] + 0.3 * draw.random((8000, 5))
    clusters, whole = Clusters(codes, 0, max_samples=2000), Clusters(codes, 0)
    E = clusters.features(codes)
    inertia = [-model._fit(5).score(E) for model in (clusters, whole)]
    assert inertia[0] < 1.01 * inertia[1]

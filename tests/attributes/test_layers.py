import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from laminar import AttributeLayers, SemiNMF
from laminar._engine.linalg.small import isometry
from laminar.attributes.bands import BANDS, Band
from laminar.datasets import make_attributes, make_faces, partial_labels

FACES = make_faces(8, 5, 4, size=12, random_state=0)
X = FACES.X.astype(np.float64)
Y = np.column_stack([FACES.identity, FACES.pose, FACES.light])
PARTIAL = partial_labels(Y, 0.2, per_class_min=2, random_state=0)
NAMES = ("identity", "pose", "light")


def fit(X=X, Y=PARTIAL, k=20, **parameters):
    return AttributeLayers(k, random_state=0, **parameters).fit(X, Y)


@pytest.fixture(scope="module")
def model():
    return fit()


def agreement(A, B):
    """Cosine of the distances between samples, which no change of basis alters."""
    a, b = (np.linalg.norm(M[:, None] - M, axis=2).ravel() for M in (A, B))
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


# ------------------------------------------------------------------------------------------- scikit-learn's contract


@parametrize_with_checks(
    [AttributeLayers(3, bands=BANDS[:2], random_state=0)],  # test_common.py has readout="raw"
    expected_failed_checks=lambda _: {
        "check_transformer_general": "fit_transform returns the codes of the fit",
        "check_transformer_data_not_an_array": "fit_transform returns the codes of the fit",
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_pipeline_and_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PARTIAL, columns=NAMES)
    pipeline = make_pipeline(StandardScaler(), AttributeLayers(5)).set_output(transform="pandas")
    found = pipeline.fit(X, frame).transform(X)
    assert list(found.columns) == [f"attributelayers{i}" for i in range(5)]
    table = pandas.DataFrame(pipeline[-1].band_weights_)
    assert list(table.columns) == list(NAMES)
    assert table.loc["scores"].between(0, 1).all()
    np.testing.assert_allclose(table.sum(), 1)


def test_a_classifier_after_it():
    labelled = PARTIAL[:, 0] >= 0
    pipeline = make_pipeline(AttributeLayers(20, random_state=0), LinearSVC()).fit(X[labelled], Y[labelled, 0])
    assert pipeline.score(X[~labelled], Y[~labelled, 0]) > 0.7


def test_seeds_copies_and_pickles(model):
    twin, restored = clone(model).fit(X, PARTIAL), pickle.loads(pickle.dumps(model))
    for other in (twin, restored):
        for attribute in (0, 1, 2, "rest"):
            assert np.array_equal(other.transform(X, attribute), model.transform(X, attribute))
            assert np.array_equal(other.training_codes(attribute), model.training_codes(attribute))


def test_float32_stays_and_agrees(model):
    single = fit(X.astype(np.float32))
    for j in range(4):
        layer, codes = single.layers_[j], single.transform(X.astype(np.float32), j)
        assert {layer.weights.dtype, layer.components.dtype, layer.representation.dtype, codes.dtype} == {
            np.dtype(np.float32)
        }
    assert agreement(single.training_codes(1), model.training_codes(1)) > 0.999


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_is_dense(form):
    kept = X * (np.random.default_rng(0).random(X.shape) < 0.3)
    dense, sparse = fit(kept), fit(form(kept))
    assert dense.band_weights_.keys() == sparse.band_weights_.keys()
    for j in range(4):
        assert agreement(dense.training_codes(j), sparse.training_codes(j)) > 0.999
        assert agreement(dense.transform(kept, j), sparse.transform(form(kept), j)) > 0.999


# ------------------------------------------------------------------------------------------------ what is learned


@pytest.mark.parametrize(("invariance", "margin"), [(0.5, 0.0), (1.0, 0.1)])
def test_each_layer_knows_its_attribute_best(invariance, margin):
    model, nearest = fit(invariance=invariance), KNeighborsClassifier(5)
    scores = np.array(
        [[cross_val_score(nearest, model.training_codes(i), Y[:, j], cv=4).mean() for j in range(3)] for i in range(4)]
    )
    others = scores.copy()
    np.fill_diagonal(others, 0)
    assert (np.diag(scores) > others.max(0) + margin).all()
    assert (scores[3] < np.diag(scores) - 0.1).all()


def test_labels_help_where_an_attribute_is_buried():
    data = make_attributes(300, levels=(3, 4, 5), scales=(2.0, 1.5, 1.0), noise=0.5, random_state=0)
    labels = partial_labels(data.y, 0.15, per_class_min=2, random_state=0)
    model = fit(data.X, labels)

    def known(attribute, layer):
        return cross_val_score(KNeighborsClassifier(5), model.training_codes(layer), data.y[:, attribute], cv=4).mean()

    assert known(2, 2) > known(2, 0) + 0.05
    assert known(2, 2) > known(2, 1) + 0.05
    assert all(known(j, j) > known(j, "rest") + 0.2 for j in range(3))


def test_the_rest_has_equal_class_means_and_keeps_what_has_no_label():
    data = make_attributes(300, levels=(3, 4), scales=(1.0, 1.0), noise=0.3, random_state=1)
    model = fit(data.X, data.y[:, 0], k=30, sweeps=300)
    rest = model.training_codes("rest")
    means = np.array([rest[data.y[:, 0] == c].mean(0) for c in range(3)])
    assert np.linalg.norm(means - means.mean(0)) < 0.05 * np.linalg.norm(rest) / np.sqrt(len(rest))
    scores = [cross_val_score(KNeighborsClassifier(5), rest, data.y[:, j], cv=4).mean() for j in range(2)]
    assert scores[0] < 0.6
    assert scores[1] > 0.95


def test_labels_choose_the_bands(model):
    weights = model.band_weights_
    assert all(sum(bands.values()) == pytest.approx(1) for bands in weights.values())
    smooth = [sum(w for name, w in weights[j].items() if name.startswith("smooth")) for j in range(3)]
    assert smooth[0] > 0.4 > 0.2 > smooth[2]  # neighbours share the person, not the light


def test_readouts_of_one_model(model):
    raw = fit(readout="raw")
    for j in range(4):
        H = raw.transform(X, j)
        assert (H >= 0).all()
        np.testing.assert_allclose(H @ isometry(raw.layers_[j].weights), model.transform(X, j), atol=1e-8)
        assert np.array_equal(raw.training_codes(j), raw.layers_[j].representation)


@pytest.mark.parametrize("readout", ["raw", "isometric"])
def test_fit_transform_returns_the_codes_of_the_fit(readout):
    model = AttributeLayers(20, readout=readout, random_state=0)
    H = model.fit_transform(X, PARTIAL)
    assert np.array_equal(H, model.training_codes())
    if readout == "raw":
        assert np.array_equal(H, model.layers_[0].representation)
    assert not np.allclose(H, model.transform(X), atol=0.01 * np.abs(H).max())


def test_readout_of_a_call(model):
    raw = model.transform(X[:20], readout="raw")
    assert (raw >= 0).all()
    np.testing.assert_array_equal(raw, fit(readout="raw").transform(X[:20]))
    white = model.transform(X[:20], readout="whitened")
    np.testing.assert_allclose(np.linalg.norm(white, axis=1), 1)
    with pytest.raises(ValueError, match="readout"):
        model.transform(X[:20], readout="dense")


def test_codes_are_semi_nmf_codes_of_the_weighed_bands(model):
    layer = model.layers_[0]
    features = layer.representation @ layer.weights  # what the codes stand for
    exact = SemiNMF(20, init=(layer.representation, layer.weights), max_iter=1, tol=0).fit(features)
    assert exact.reconstruction_err_ < 1e-6 * np.linalg.norm(features)
    full = fit(sweeps=300).layers_[0]
    lost = np.linalg.norm(full.representation @ full.weights - features) / np.linalg.norm(features)
    assert lost < 0.2


def test_components_draw_the_samples():
    model = fit(k=30, Y=None, sweeps=300)
    drawn = model.mean_ + model.layers_[0].representation @ model.components_
    spread = np.linalg.norm(X - X.mean(0))
    assert np.linalg.norm(X - drawn) < 0.3 * spread
    assert model.components_.shape == (30, X.shape[1])


# --------------------------------------------------------------------------------------------------- new samples


def test_training_samples_are_coded_nearly_as_in_the_fit(model):
    for j in range(4):
        assert agreement(model.transform(X, j), model.training_codes(j)) > 0.97
    # Without smoothing there is nothing the fit knows better.
    plain = fit(bands=[Band()])
    np.testing.assert_allclose(plain.transform(X, 1), plain.training_codes(1), atol=1e-8)


def test_samples_are_coded_by_themselves(model):
    one_by_one = np.vstack([model.transform(x[None], "rest" if i % 2 else 1) for i, x in enumerate(X[:8])])
    both = model.transform(X[:8], 1), model.transform(X[:8], "rest")
    np.testing.assert_allclose(one_by_one, np.where(np.arange(8)[:, None] % 2, both[1], both[0]), atol=1e-9)


def test_unseen_samples_far_away_stay_finite(model):
    for far in (1e6 * X[:3], -1e150 * X[:3], X[:3] * 0, np.full((1, X.shape[1]), 1e300), model.mean_[None]):
        for j in range(4):
            assert np.isfinite(model.transform(far, j)).all()


def test_order_and_units_do_not_matter(model):
    order = np.random.default_rng(0).permutation(len(X))
    mixed, small = fit(X[order], PARTIAL[order]), fit(1e-3 * X)
    for j in range(4):
        assert agreement(mixed.training_codes(j), model.training_codes(j)[order]) > 0.999
        assert agreement(mixed.transform(X, j), model.transform(X, j)) > 0.999
        np.testing.assert_allclose(1e3 * small.transform(1e-3 * X, j), model.transform(X, j), atol=1e-6)


# -------------------------------------------------------------------------------------------------- odd labels


@pytest.mark.parametrize(
    "labels",
    [
        np.full(len(X), -1),
        np.zeros(len(X)),
        np.where(np.arange(len(X)) < 3, np.arange(len(X)), -1),
        [None] * len(X),
        np.where(np.arange(len(X)) < 1, "a", ""),
        np.linspace(0, 1, len(X)),
    ],
    ids=["none", "one class", "one label a class", "None", "one label", "numbers that are all different"],
)
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_labels_that_say_nothing_leave_the_scores(labels):
    blind, model = fit(Y=None), fit(Y=labels)
    assert (blind.attributes_, len(blind.layers_), model.attributes_, len(model.layers_)) == ([], 1, [0], 2)
    assert model.band_weights_[0]["scores"] == 1
    for layer in (0, "rest"):
        assert agreement(model.transform(X, layer), blind.transform(X)) > 0.9999


@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_an_attribute_without_labels_next_to_one_that_has_some(model):
    labels = np.column_stack([PARTIAL[:, 1], np.full(len(X), -1)])
    both, alone = fit(Y=labels), fit(Y=PARTIAL[:, 1])
    assert agreement(both.training_codes(0), alone.training_codes(0)) > 0.9999
    assert both.band_weights_[1]["scores"] == 1


def test_an_attribute_that_repeats_another_does_not_lose_itself():
    once, twice = fit(Y=PARTIAL[:, 0]), fit(Y=PARTIAL[:, [0, 0]], invariance=0.0)
    np.testing.assert_allclose(twice.transform(X, 1), once.transform(X, 0), atol=1e-8)
    halved = fit(Y=PARTIAL[:, [0, 0]]).training_codes(1)
    assert cross_val_score(KNeighborsClassifier(5), halved, Y[:, 0], cv=4).mean() > 0.6


def test_classes_of_every_kind_and_size():
    names = np.array(["left", "half left", "front", "half right", "right"], dtype=object)[Y[:, 1]]
    names[PARTIAL[:, 1] < 0] = None
    names[0] = "a class of one"
    assert np.isfinite(fit(Y=names).transform(X)).all()


# -------------------------------------------------------------------------------------------------- odd samples


@pytest.mark.parametrize("n", [2, 3, 5, 9])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_fewer_samples_than_neighbours(n):
    model = fit(X[:n], Y[:n], k=100)
    codes = model.transform(X[:20])
    assert codes.shape == (20, n)  # one more than the rank of n centred samples
    assert np.isfinite(codes).all()


def test_more_components_than_rank():
    flat = X[:, :4]
    assert fit(flat, k=50).transform(flat).shape[1] == 5
    assert fit(X, k=50, n_scores=10).components_.shape == (11, X.shape[1])


@pytest.mark.parametrize(
    "data", [np.ones((30, 4)), np.zeros((30, 4)), np.repeat(X[:2], 15, axis=0), 1e-300 * X[:30], 1e250 * X[:30]]
)
def test_degenerate_samples(data):
    model = fit(data, np.arange(30) % 2)
    for codes in (model.transform(data), model.training_codes(), model.transform(data, "rest"), model.components_):
        assert np.isfinite(codes).all()


# ------------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("parameters", "labels", "message"),
    [
        ({}, PARTIAL[:5], "y has 5 rows but X has 160 samples"),
        ({}, PARTIAL.T, "y has 3 rows but X has 160 samples.*Transpose it"),
        ({"n_components": 0}, None, r"'n_components' parameter of AttributeLayers must be an int in the range \[1"),
        ({"bands": ()}, None, "bands must be a sequence of laminar.attributes.bands.Band, the first of kind"),
        ({"bands": ["scores"]}, None, "bands must be a sequence of laminar.attributes.bands.Band"),
        ({"bands": [Band("smooth")]}, None, 'the first of kind "scores"'),
        ({"readout": "dense"}, None, "'readout' parameter of AttributeLayers must be a str among"),
        ({"ridges": ()}, None, "ridges must be a sequence of one or more numbers above 0"),
        ({"ridges": (0.0, 1.0)}, None, r"ridges must be .* numbers above 0; got \(0.0, 1.0\)"),
        ({"ridges": ("a",)}, None, "ridges must be a sequence of one or more numbers above 0"),
        ({"invariance": 1.5}, None, "'invariance' parameter of AttributeLayers"),
        ({"power": -1}, None, "'power' parameter of AttributeLayers"),
        ({"sweeps": -1}, None, "'sweeps' parameter of AttributeLayers"),
    ],
)
def test_bad_parameters_and_labels(parameters, labels, message):
    with pytest.raises(ValueError, match=message):
        AttributeLayers().set_params(**parameters).fit(X, labels)


def test_layers_are_found_by_name_and_position():
    pandas = pytest.importorskip("pandas")
    model = fit(Y=pandas.DataFrame(PARTIAL, columns=NAMES))
    assert model.attributes_ == list(NAMES)
    for j, name in enumerate((*NAMES, "rest")):
        assert np.array_equal(model.transform(X[:5], name), model.transform(X[:5], j))
    assert np.array_equal(model.transform(X[:5], -1), model.transform(X[:5], "rest"))
    assert np.array_equal(model.transform(X[:5]), model.transform(X[:5], "identity"))
    for unknown in ("age", 4, -5):
        with pytest.raises(ValueError, match=r"attribute=.* is none of the 4 layers.*\['identity'"):
            model.transform(X, unknown)
    with pytest.raises(ValueError, match=r"columns of y are named .*a name of its own"):
        fit(Y=pandas.DataFrame(PARTIAL, columns=["pose", "pose", "light"]))


@pytest.mark.parametrize("method", ["transform", "training_codes"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(AttributeLayers(), method)(X)


# ------------------------------------------------------------------------------------------------------ real data


def test_few_labels_go_further_than_pixels(real_data):
    bunch = real_data("pie_5pose_10id")
    chosen = bunch.crossed_mask.astype(bool)
    X, y = bunch.X[chosen], bunch.identity[chosen].astype(int)
    train = np.random.default_rng(0).permutation(len(X)) < len(X) // 2
    labels = np.where(train, y, -1)
    labels[train] = partial_labels(y[train], 0.1, per_class_min=2, random_state=0)
    known = labels >= 0
    codes = AttributeLayers(random_state=0).fit(X, labels).training_codes()
    ours, pixels = (LinearSVC(max_iter=20_000).fit(F[known], y[known]).score(F[~train], y[~train]) for F in (codes, X))
    assert ours > pixels + 0.05

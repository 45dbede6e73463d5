import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
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
    exact = SemiNMF(20, init=(layer.representation, layer.weights), ridge=0, max_iter=1, tol=0).fit(features)
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
    assert np.isfinite(model.predict_proba(data)).all()


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
    with pytest.raises(ValueError, match=r"layer='age' is no attribute of the fit: give one of \['rest', 'identity'"):
        model.transform(X, "age")
    for unknown in (4, -5):
        with pytest.raises(ValueError, match=f"layer={unknown} is out of range: the model has 4 layers"):
            model.transform(X, unknown)
    with pytest.raises(ValueError, match=r"columns of y are named .*a name of its own"):
        fit(Y=pandas.DataFrame(PARTIAL, columns=["pose", "pose", "light"]))


# ----------------------------------------------------------------------------------------------------- classes


def discriminant_scores(E, labels, new):
    """log p_c - 1/2 (e - m_c)^T S^-1 (e - m_c) of every sample and class, one by one, with a shrunk S."""
    classes, n = np.unique(labels), len(labels)
    means = {c: E[labels == c].mean(0) for c in classes}
    inside = np.array([e - means[c] for e, c in zip(E, labels, strict=True)])
    S = LedoitWolf(assume_centered=True).fit(inside).covariance_ * n / (n - len(classes))
    inverse = np.linalg.inv(S + 1e-6 * np.trace(S) / len(S) * np.eye(len(S)))
    return np.array(
        [[np.log(np.mean(labels == c)) - 0.5 * (e - means[c]) @ inverse @ (e - means[c]) for c in classes] for e in new]
    )


@pytest.mark.parametrize("j", [0, 1, 2])
def test_predict_is_a_discriminant_analysis_of_the_layer(model, j):
    known = PARTIAL[:, j] >= 0
    unit = np.sqrt(np.square(model.training_codes(j)).mean())
    E, new = model.training_codes(j)[known] / unit, model.transform(X[:40], j) / unit
    scores = discriminant_scores(E, PARTIAL[known, j], new)
    P = np.exp(scores - scores.max(1, keepdims=True))
    P /= P.sum(1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X[:40], j), P, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X[:40], j), np.arange(P.shape[1])[P.argmax(1)])


def test_predict_finds_the_classes_of_new_samples():
    train = np.random.default_rng(0).permutation(len(X)) < 120
    model = fit(X[train], partial_labels(Y[train], 0.5, per_class_min=2, random_state=0))
    accuracies = [np.mean(model.predict(X[~train], j) == Y[~train, j]) for j in range(3)]
    assert np.all(np.array(accuracies) > [0.7, 0.7, 0.8])


@pytest.mark.parametrize("kind", ["<U5", np.int32, np.float64, bool, object])
def test_classes_are_those_of_the_labels(kind):
    values = {"<U5": ["left", "right"], object: ["left", "right"], bool: [False, True]}.get(kind, [3, 8])
    labels = np.array(values, dtype=kind)[Y[:, 1] % 2]
    model = fit(Y=labels)
    found = model.predict(X)
    assert list(model.classes_) == model.attributes_ == [0]
    assert model.classes_[0].tolist() == values
    assert found.dtype == (np.dtype("<U5") if kind is object else labels.dtype)
    assert np.mean(found == labels) > 0.8


def test_attributes_are_predicted_by_name_and_position():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PARTIAL, columns=NAMES)
    model = fit(Y=frame)
    assert list(model.classes_) == list(NAMES)
    for j, name in enumerate(NAMES):
        found = model.predict(X[:9], attribute=name)
        assert np.array_equal(found, model.predict(X[:9], j))
        P = model.predict_proba(X[:9], attribute=name)
        assert P.shape == (9, len(model.classes_[name]))
        np.testing.assert_allclose(P.sum(1), 1)
        assert np.array_equal(model.classes_[name][P.argmax(1)], found)
    assert np.array_equal(model.predict(X[:9]), model.predict(X[:9], "identity"))
    pipeline = make_pipeline(StandardScaler(), AttributeLayers(20, random_state=0)).fit(X, frame)
    scaled = fit(StandardScaler().fit_transform(X), frame)
    expected = scaled.predict(StandardScaler().fit_transform(X), "pose")
    assert np.array_equal(pipeline.predict(X, attribute="pose"), expected)


def test_units_do_not_change_predictions(model):
    for unit in (1e-6, 1e9):
        other = fit(unit * X)
        np.testing.assert_allclose(other.predict_proba(unit * X[:30], 1), model.predict_proba(X[:30], 1), atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "right"),
    [
        (np.where(np.arange(len(X)) < 3, 7, -1), 7),  # one class
        (np.where(np.isin(np.arange(len(X)), [0, 25, 80]), np.arange(len(X)), -1), [0, 25, 80]),  # one label a class
    ],
)
@pytest.mark.filterwarnings("ignore:y. all labels are of one class:UserWarning")
def test_classes_of_very_few_labels(labels, right):
    model = fit(Y=labels)
    assert np.array_equal(np.unique(model.predict(X[labels >= 0])), np.unique(right))
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore:y, column 1. no label is known:UserWarning")
def test_layers_without_classes_are_not_predicted():
    labels = np.column_stack([PARTIAL[:, 0], np.full(len(X), -1)])
    model = fit(Y=labels)
    for attribute in (1, "rest"):
        with pytest.raises(ValueError, match=r"has no classes, since y had no labels of it in fit; .* are \[0\]"):
            model.predict(X, attribute)
    with pytest.raises(ValueError, match="layer 'rest' has no classes"):
        fit(Y=None).predict_proba(X)


@pytest.mark.parametrize("method", ["transform", "training_codes", "predict", "predict_proba"])
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

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
from reference import discriminants as reference

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
    [AttributeLayers(3, bands=BANDS[:3], random_state=0)],  # test_common.py has readout="raw"
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
    pipeline = make_pipeline(StandardScaler(), AttributeLayers(12)).set_output(transform="pandas")
    found = pipeline.fit(X, frame).transform(X)
    assert list(found.columns) == [f"attributelayers{i}" for i in range(12)]
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


def test_each_layer_knows_its_attribute_best(model):
    nearest = KNeighborsClassifier(5)
    scores = np.array(
        [[cross_val_score(nearest, model.training_codes(i), Y[:, j], cv=4).mean() for j in range(3)] for i in range(4)]
    )
    others = scores.copy()
    np.fill_diagonal(others, 0)
    assert (np.diag(scores) > others.max(0)).all()
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
    assert all(list(bands) == [band.name for band in BANDS] for bands in weights.values())
    priors = np.array([band.prior for band in BANDS])
    (alone,) = fit(Y=np.where(np.arange(len(X)) < 4, np.arange(len(X)), -1)).band_weights_.values()
    np.testing.assert_allclose(list(alone.values()), priors / priors.sum())  # nothing can be held out
    assert max(weights[0].values()) > 1.4 * max(alone.values())


def test_share_of_the_bands():
    alone, both = fit(share=0), fit(share=0.3)
    assert alone.layers_[1].representation.shape == (len(X), 5)
    assert both.layers_[1].representation.shape == (len(X), 20)
    np.testing.assert_array_equal(alone.predict(X, 1), both.predict(X, 1))
    D, B = (both.transform(X, 1, readout=form) for form in ("discriminants", "bands"))
    np.testing.assert_allclose(np.hstack([D, B]), both.transform(X, 1))
    np.testing.assert_allclose(D, alone.transform(X, 1), atol=1e-8)
    lengths = [np.sqrt(np.square(part).sum(1).mean()) for part in (D, B)]
    assert 0.2 < lengths[1] / lengths[0] < 0.4
    np.testing.assert_allclose(fit(share=0.6).transform(X, 1, readout="bands"), 2 * B, rtol=1e-6, atol=1e-8)


def test_readout_of_a_part_that_is_not_there():
    with pytest.raises(ValueError, match="readout='bands' is of no use here: layer 0 has no codes for the bands"):
        fit(share=0).transform(X, readout="bands")
    with pytest.raises(ValueError, match=r"readout='discriminants' .* layer 3 has no labels of two classes in fit"):
        fit().transform(X, "rest", readout="discriminants")


def test_codes_keep_the_energy_of_discriminants():
    model = fit(share=0, sweeps=0)
    for j in range(3):
        found, layer = model._maps[j], model.layers_[j]
        H = layer.representation / model._bank.length
        T = found.features(model._bank.extend(X, found.maps))
        near = found.code(T)
        assert 1 - np.square(T - near @ layer.weights).sum() / np.square(T).sum() > 0.9
        assert np.mean(H == 0) > 0.4


def test_components_draw_the_classes():
    model = fit()
    for j in (0, 2):  # whose classes are all found
        n_classes = len(model.classes_[j])
        H = model.layers_[j].representation[:, :n_classes]
        means = np.array([X[Y[:, j] == c].mean(0) for c in range(n_classes)]) - X.mean(0)
        drawn = np.array(
            [(H @ model.layers_[j].components[:n_classes])[Y[:, j] == c].mean(0) for c in range(n_classes)]
        )
        assert np.vdot(means, drawn) / np.linalg.norm(means) / np.linalg.norm(drawn) > 0.99


def test_callback_after_every_iteration(model):
    states = []
    fit(max_iter=4, callback=lambda state: states.append((state.iteration, state.objective, state.model())))
    assert [iteration for iteration, _, _ in states] == [1, 2, 3, 4]
    np.testing.assert_array_equal(states[1][2].training_codes(1), model.training_codes(1))
    np.testing.assert_array_equal(states[1][2].predict(X, 1), model.predict(X, 1))
    stopped = fit(max_iter=4, callback=lambda state: state.iteration == 2)
    assert stopped.n_iter_ == len(stopped.objective_history_) == 2
    np.testing.assert_array_equal(stopped.training_codes(1), model.training_codes(1))
    np.testing.assert_allclose(stopped.objective_history_, [objective for _, objective, _ in states[:2]])


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
    # Without smoothing there is nothing the fit knows better, but for leaving each sample out of its discriminants.
    plain = fit(bands=[Band()], readout="bands")
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
        # The folds of the labels depend on the order.
        assert agreement(mixed.training_codes(j), model.training_codes(j)[order]) > 0.99
        assert agreement(mixed.transform(X, j), model.transform(X, j)) > 0.99
        np.testing.assert_allclose(1e3 * small.transform(1e-3 * X, j), model.transform(X, j), atol=1e-6)


# -------------------------------------------------------------------------------------------------- odd labels


@pytest.mark.parametrize(
    "labels",
    [np.full(len(X), -1), np.zeros(len(X)), [None] * len(X), np.where(np.arange(len(X)) < 1, "a", "")],
    ids=["none", "one class", "None", "one label"],
)
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_less_than_two_classes_leave_the_scores(labels):
    blind, model = fit(Y=None), fit(Y=labels)
    assert (blind.attributes_, len(blind.layers_), model.attributes_, len(model.layers_)) == ([], 1, [0], 2)
    assert model.band_weights_[0]["scores"] == 1
    for layer in (0, "rest"):
        assert agreement(model.transform(X, layer), blind.transform(X)) > 0.9999


@pytest.mark.parametrize(
    "labels",
    [
        np.where(np.isin(np.arange(len(X)), [0, 25, 80]), np.arange(len(X)), -1),
        np.linspace(0, 1, len(X)),
        np.where(np.arange(len(X)) == 7, 1, np.where(np.arange(len(X)) % 4, -1, 0)),
        np.where(np.arange(len(X)) < 155, np.arange(len(X)) // 80, -1),
    ],
    ids=["one label a class", "numbers that are all different", "one label against forty", "nearly all known"],
)
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_odd_labels_give_finite_layers(labels):
    model = fit(Y=labels)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(1), 1)
    for codes in (model.transform(X), model.training_codes(), model.components_):
        assert np.isfinite(codes).all()
    known = labels >= 0
    np.testing.assert_array_equal(model.labels_[0][known], labels[known])
    assert set(model.labels_[0]) <= set(labels[known])


def test_one_label_a_class_is_enough():
    first = [np.flatnonzero(Y[:, 1] == c)[0] for c in range(5)]
    labels = np.full(len(X), -1)
    labels[first] = np.arange(5)
    model = fit(Y=labels)
    assert np.array_equal(model.predict(X[first]), np.arange(5))
    assert np.mean(model.labels_[0] == Y[:, 1]) > 0.3  # chance is 0.2


@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_an_attribute_without_labels_next_to_one_that_has_some(model):
    labels = np.column_stack([PARTIAL[:, 1], np.full(len(X), -1)])
    both, alone = fit(Y=labels), fit(Y=PARTIAL[:, 1])
    assert agreement(both.training_codes(0), alone.training_codes(0)) > 0.9999
    assert both.band_weights_[1]["scores"] == 1


def test_attributes_do_not_depend_on_each_other(model):
    once, twice = fit(Y=PARTIAL[:, 1]), fit(Y=PARTIAL[:, [1, 1]])
    for j in range(2):
        np.testing.assert_allclose(twice.transform(X, j), once.transform(X, 0), atol=1e-8)
    np.testing.assert_allclose(model.transform(X, 1), once.transform(X, 0), atol=1e-8)


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
    assert fit(flat, None, k=50).transform(flat).shape[1] == 5
    assert fit(X, None, k=50, n_scores=10).components_.shape == (11, X.shape[1])
    assert fit(X, k=3).components_.shape == (8, X.shape[1])  # one for each class


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
        ({"share": -0.1}, None, "'share' parameter of AttributeLayers"),
        ({"max_iter": 0}, None, "'max_iter' parameter of AttributeLayers"),
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


@pytest.mark.parametrize("j", [0, 1, 2])
def test_probabilities_are_those_of_nearest_centres(model, j):
    found = model._maps[j]
    D = found.classes.discriminants(found.features(model._bank.extend(X[:40], found.maps))[:, : Y[:, j].max()])
    P = reference.memberships(D, found.classes.centres)
    np.testing.assert_allclose(model.predict_proba(X[:40], j), P, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X[:40], j), np.arange(P.shape[1])[P.argmax(1)])


def test_labels_of_training_samples(model):
    for j in range(3):
        known = PARTIAL[:, j] >= 0
        np.testing.assert_array_equal(model.labels_[j][known], PARTIAL[known, j])
        assert np.mean(model.labels_[j][~known] == Y[~known, j]) > 0.7


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


@pytest.mark.parametrize("dtype", ["category", "Int64", "string", "boolean"])
def test_classes_of_pandas_types(dtype):
    pandas = pytest.importorskip("pandas")
    values = {"category": ["left", "right"], "string": ["left", "right"], "Int64": [3, 8], "boolean": [False, True]}
    labels = [None if i % 3 else values[dtype][pose % 2] for i, pose in enumerate(Y[:, 1])]
    model = fit(Y=pandas.Series(labels, dtype=dtype, name="side"))
    found = model.predict(X, "side")
    assert found.dtype.kind == {"category": "U", "string": "U", "Int64": "i", "boolean": "b"}[dtype]
    assert model.classes_["side"].tolist() == values[dtype]
    assert model.labels_["side"][::3].tolist() == labels[::3]


def test_one_sample_is_predicted_as_among_others(model):
    for j in range(3):
        np.testing.assert_allclose(model.predict_proba(X[4:5], j), model.predict_proba(X[:9], j)[4:5], atol=1e-9)


def test_all_labels_known():
    model = fit(Y=Y[:, 1])
    np.testing.assert_array_equal(model.labels_[0], Y[:, 1])
    assert np.mean(model.predict(X) == Y[:, 1]) > 0.9


def test_duplicate_samples_share_their_class():
    copies = np.tile(np.arange(40), 4)
    labels = np.where(np.arange(160) < 40, Y[:40, 1][copies], -1)
    model = fit(X[copies], labels)
    assert np.mean(model.labels_[0] == Y[:40, 1][copies]) > 0.95


def test_constant_features_change_nothing():
    wide = np.hstack([np.full((len(X), 1), 7.0), X, np.zeros((len(X), 2))])
    np.testing.assert_allclose(fit(wide).predict_proba(wide, 1), fit().predict_proba(X, 1), atol=1e-6)


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
    for unknown in ("age", 7):
        with pytest.raises(ValueError, match=rf"attribute={unknown!r} is none of the fit: give one of \[0, 1\]"):
            model.predict(X, unknown)


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

from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from laminar import (
    NMF,
    WSF,
    AttributeLayers,
    DeepSemiNMF,
    DeepWSF,
    MultiLayerNMF,
    MultiViewDeepNMF,
    MultiViewSemiNMF,
    SemiNMF,
    SmoothedSemiNMF,
    layer_attribute_table,
    layer_clusters,
    layer_features,
)
from laminar._base.clusters import reader
from laminar._base.graph_clusters import clusters_of
from laminar.datasets import make_faces
from laminar.evaluation.layers import layer_names
from laminar.metrics import adjusted_rand_index, clustering_accuracy, normalized_mutual_information

rng = np.random.default_rng(0)
LABELS = rng.permutation(np.arange(90) % 3)
SIDES = rng.permutation(np.arange(90) % 2)
X = rng.gamma(1.0, size=(3, 20))[LABELS] * rng.uniform(0.5, 1.5, (90, 1)) + 0.05 * rng.random((90, 20))
MODELS = [
    NMF(4, tol=1e-3, random_state=0),
    SemiNMF(4, random_state=0),
    WSF(4, alpha=0.1, random_state=0),
    DeepSemiNMF((8, 3), random_state=0),
    DeepSemiNMF((8, 3), graph=None, random_state=0),
    DeepSemiNMF((8, 3), activation="square", max_iter=20, tol=0, random_state=0),
    DeepWSF((8, 3), max_iter=20, tol=0, random_state=0),
    MultiLayerNMF((8, 3), random_state=0),
]


@pytest.fixture(scope="module")
def model():
    return DeepSemiNMF((8, 3), graph=None, random_state=0).fit(X)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("samples", [X, None], ids=["X", "None"])
def test_a_row_for_every_layer_of_every_model(model, samples):
    fitted = clone(model).fit(X, LABELS)
    table = layer_attribute_table(fitted, samples, {"class": LABELS, "side": SIDES})
    sizes = [len(layer.components) for layer in fitted.layers_]
    first = ["chance"] if samples is None else ["chance", "X (20)"]
    assert list(table.index) == first + [f"layer {i} ({k})" for i, k in enumerate(sizes)]
    assert list(table.columns) == [(name, m) for name in ("class", "side") for m in ("accuracy", "nmi", "probe")]
    assert table.to_numpy().min() >= 0
    assert table.to_numpy().max() <= 1


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["class", "side"], ["class (6)", "side (6)", "rest (6)"]),
        ([2, 0], ["attribute 2 (6)", "attribute 0 (6)", "rest (6)"]),  # names that are positions of other layers
    ],
)
def test_attribute_layers_are_read_with_their_own_distances(names, rows):
    y = pd.DataFrame(np.column_stack([LABELS, SIDES]), columns=names)
    fitted = AttributeLayers(6, random_state=0).fit(X[:60], y[:60])
    for i, name in enumerate([*names, "rest"]):
        asked = name if isinstance(name, str) else i  # a number is a position
        np.testing.assert_array_equal(layer_features(fitted, i), fitted.training_codes(asked))
        np.testing.assert_array_equal(layer_features(fitted, i, X[60:]), fitted.transform(X[60:], layer=asked))
    unseen = layer_attribute_table(fitted, X[60:], y[60:])
    assert unseen.loc[rows[0], (names[0], "accuracy")] == 1
    assert list(unseen.index) == ["chance", "X (20)", *rows]


@pytest.mark.parametrize("given", [True, False])
def test_a_row_for_every_layer_of_every_view(given):
    views = {"left": X[:, :12], "right": X[:, 12:]}
    fitted = MultiViewDeepNMF((8, 6, 4), random_state=0).fit(views)
    table = layer_attribute_table(fitted, views if given else None, {"class": LABELS})
    hidden = [f"{view}, {name}" for view in views for name in ("layer 0 (8)", "layer 1 (6)")]
    inputs = ["left, X (12)", "right, X (8)"] if given else []
    assert list(table.index) == ["chance", *inputs, *hidden, "shared, layer 2 (4)"]
    np.testing.assert_array_equal(layer_features(fitted, 2, views), layer_features(fitted, -1, views))
    codes = fitted.views_["right"].layers[1].representation
    np.testing.assert_allclose(
        layer_features(fitted, 1, views, view="right"), layer_features(fitted, 1, view="right"), atol=1e-5
    )
    assert layer_features(fitted, 1, view="right").shape == codes.shape
    flat = MultiViewSemiNMF(4, random_state=0).fit(views)
    assert list(layer_attribute_table(flat, None, {"class": LABELS}).index) == ["chance", "layer 0 (4)"]


def test_planted_classes_are_found_and_chance_is_not(model):
    table = layer_attribute_table(model, X, {"class": LABELS, "side": SIDES})
    assert table.loc["layer 1 (3)", ("class", "accuracy")] == 1
    assert table.loc["layer 1 (3)", ("side", "nmi")] < 0.1


def test_the_scores_are_those_of_the_clusters(model):
    table = layer_attribute_table(model, X, {"class": LABELS}, metrics=("nmi", "ari", "accuracy")).iloc[2:]
    scores = {"nmi": normalized_mutual_information, "ari": adjusted_rand_index, "accuracy": clustering_accuracy}
    for i, row in enumerate(table.to_numpy()):
        found = layer_clusters(model, i, 3, X)
        assert row.tolist() == [score(LABELS, found) for score in scores.values()]


@pytest.mark.parametrize("kind", [DeepSemiNMF, SmoothedSemiNMF])
def test_the_top_layer_is_clustered_as_the_model_does(kind):
    diffuse = np.random.default_rng(1).gamma(1.0, size=(90, 20))  # clusters depend on how codes are read
    fitted = kind(5, random_state=0).fit(diffuse)
    found = layer_clusters(fitted, 0, 4, diffuse)
    np.testing.assert_array_equal(found, fitted.cluster(diffuse, 4))


def test_every_spelling_of_attributes(model):
    named = layer_attribute_table(model, X, {"class": LABELS, "side": SIDES})
    frame = layer_attribute_table(model, X, pd.DataFrame({"class": LABELS, "side": SIDES}))
    pd.testing.assert_frame_equal(named, frame)
    array = layer_attribute_table(model, X, np.column_stack([LABELS, SIDES]))
    assert list(array.columns.get_level_values(0).unique()) == [0, 1]
    np.testing.assert_array_equal(array.to_numpy(), named.to_numpy())
    assert list(layer_attribute_table(model, X, LABELS).columns.get_level_values(0)) == [0, 0, 0]


def test_only_known_labels_are_scored(model):
    """Wrong labels on half of the samples matter, unknown ones do not."""
    wrong, unknown = LABELS.astype(object), LABELS.astype(object)
    wrong[:45], unknown[:45] = (LABELS[:45] + 1) % 3, None
    scores = layer_attribute_table(model, X, {"wrong": wrong, "unknown": unknown}).loc["layer 1 (3)"]
    assert scores["wrong", "accuracy"] < 0.7
    assert scores["unknown", "accuracy"] == 1


def test_unseen_samples_belong_to_the_clusters_of_the_training_samples():
    fitted = DeepSemiNMF((8, 3), graph=None, random_state=0).fit(X[:60])
    table = layer_attribute_table(fitted, X[60:], {"class": LABELS[60:]})
    found = layer_clusters(fitted, 1, 3, X[60:])
    assert table.loc["layer 1 (3)"].iloc[0] == clustering_accuracy(LABELS[60:], found) == 1


def test_a_change_of_basis_changes_no_cluster(model):
    options = {"metrics": ("accuracy", "nmi")}
    table = layer_attribute_table(model, None, {"class": LABELS, "side": SIDES}, **options)
    layer = model.layers_[0]
    turned = clone(model).fit(X)
    S = rng.normal(size=(8, 8))
    turned.layers_[0] = type(layer)(layer.weights, np.linalg.solve(S, layer.components), layer.representation @ S)
    found = layer_attribute_table(turned, None, {"class": LABELS, "side": SIDES}, **options)
    pd.testing.assert_frame_equal(table, found)


def test_codes_that_are_zero_are_one_cluster():
    fitted = SemiNMF(2, random_state=0).fit(np.zeros((6, 4)))
    assert layer_features(fitted, 0).tolist() == [[0.0]] * 6


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_codes_that_are_zero_are_scored():
    fitted = SemiNMF(2, random_state=0).fit(np.zeros((6, 4)))
    assert layer_attribute_table(fitted, None, [[0], [1]] * 3).iloc[1].tolist()[::2] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (({"a": LABELS[:5]},), "y has 5 rows but X has 90 samples"),
        (({"a": np.full(90, -1)},), "attribute 'a' has no known label to score on"),
        (({"a": np.arange(90)[:, None] @ [[1, 1]]},), "y has 2 attributes"),
    ],
)
def test_bad_attributes(model, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        layer_attribute_table(model, X, *arguments)


def test_bad_metric_and_unfitted_model(model):
    with pytest.raises(ValueError, match="metrics must be one of 'accuracy', 'nmi', 'ari', 'probe'; got 'f1'"):
        layer_attribute_table(model, X, {"a": LABELS}, metrics=("f1",))
    with pytest.raises(NotFittedError):
        layer_attribute_table(SemiNMF(), X, {"a": LABELS})


def test_more_classes_than_training_samples(model):
    fitted = SemiNMF(2, random_state=0).fit(X[:10])
    with pytest.raises(ValueError, match="n_clusters=20 is more than the 10 samples the model was fitted on"):
        layer_attribute_table(fitted, X, np.arange(90) % 20)


@pytest.mark.parametrize("layer", [0, 1])
def test_raw_codes_are_clustered_as_papers_do(layer):
    """k-means of the codes as they are, on any layer, in the table, by `layer_clusters` and by `cluster`."""
    rng = np.random.default_rng(3)
    X = rng.gamma(1.0, size=(4, 9))[LABELS % 4] * rng.gamma(2.0, size=(len(LABELS), 1))
    model = DeepSemiNMF((6, 4), random_state=0).fit(X)
    codes = model.layers_[layer].representation
    expected = KMeans(3, n_init=5, random_state=0).fit_predict(codes)
    found = layer_clusters(model, layer, 3, readout="raw", n_init=5)
    assert adjusted_rand_score(found, expected) == 1
    assert adjusted_rand_score(model.cluster(n_clusters=3, layer=layer, readout="raw", n_init=5), expected) == 1
    table = layer_attribute_table(model, None, LABELS, readout="raw", n_init=5, metrics=("ari",))
    assert table.loc[f"layer {layer} ({codes.shape[1]})"].item() == pytest.approx(adjusted_rand_score(LABELS, expected))


# ---- samples in any order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [SemiNMF(4, random_state=0), WSF(4, random_state=0), DeepSemiNMF((8, 3), random_state=0), AttributeLayers(6)],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame])
def test_samples_are_scored_in_any_order(model, form):
    """Samples and labels that change places together have the same scores, in every row."""
    fitted = clone(model).fit(X, np.where(np.arange(90) % 3, LABELS, -1))
    order, groups = np.random.default_rng(5).permutation(90), np.arange(90) // 9
    columns = pd.DataFrame({"class": LABELS, "side": np.where(np.arange(90) % 7, SIDES, -1)})
    options = {"n_init": 2}
    table = layer_attribute_table(fitted, form(X), columns, groups=groups, **options)
    mixed = layer_attribute_table(fitted, form(X[order]), columns.iloc[order], groups=groups[order], **options)
    pd.testing.assert_frame_equal(table, mixed)


def test_equal_samples_of_different_labels_are_scored_in_any_order():
    twice, labels = np.repeat(X[:30], 2, axis=0), np.arange(60) % 2
    fitted, order = SemiNMF(4, random_state=0).fit(twice), np.random.default_rng(1).permutation(60)
    table = layer_attribute_table(fitted, twice, labels)
    pd.testing.assert_frame_equal(table, layer_attribute_table(fitted, twice[order], labels[order]))


def test_views_are_scored_in_any_order():
    views = {"left": X[:, :12].copy(), "right": X[:, 12:].copy()}
    views["right"][:20] = np.nan
    fitted = MultiViewSemiNMF(4, random_state=0).fit(views)
    order = np.random.default_rng(0).permutation(90)
    table = layer_attribute_table(fitted, views, LABELS)
    mixed = layer_attribute_table(fitted, {name: A[order] for name, A in views.items()}, LABELS[order])
    pd.testing.assert_frame_equal(table, mixed)
    right = table.loc["right, X (8)"]
    assert right[0, "probe"] == linear_probe_by_hand(X[20:, 12:], LABELS[20:], views["right"][20:])


def test_given_samples_are_coded_by_transform_and_the_fit_by_none():
    """WSF: the codes of the fit know labels, those of `transform` do not."""
    half = np.where(np.arange(90) % 2, SIDES, -1)
    fitted = WSF(4, alpha=10.0, random_state=0).fit(X, half)
    options = {"metrics": ("accuracy",), "random_state": 3}
    for samples, H in ((X, fitted.transform(X)), (None, fitted.layers_[0].representation)):
        table = layer_attribute_table(fitted, samples, half, **options)
        clusters = clusters_of(0.75, fitted.layers_[0].representation, reader(0.75, fitted.layers_[0]), 3)
        found = clusters.labels(2) if samples is None else clusters.predict(H, 2)
        known = half >= 0
        assert table.iloc[-1].item() == clustering_accuracy(SIDES[known], found[known])


# ---- the probe, chance and X -----------------------------------------------------------------------------------------


def linear_probe_by_hand(E, labels, hashed, groups=None, n_splits=5):
    """Five folds of the samples in the order of the hashes of their rows, one classifier each."""
    order = np.array(sorted(range(len(E)), key=lambda i: blake2b(hashed[i].tobytes(), digest_size=16).digest()))
    E, labels, hits = E[order], labels[order], 0
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=0)
    if groups is not None:
        folds, groups = StratifiedGroupKFold(n_splits, shuffle=True, random_state=0), groups[order]
    for train, test in folds.split(E, labels, groups):
        mean, scale = E[train].mean(0), E[train].std(0)
        scale[scale < 1e-12] = 1.0
        classifier = LogisticRegression(max_iter=1000).fit((E[train] - mean) / scale, labels[train])
        hits += sum(classifier.predict((E[test] - mean) / scale) == labels[test])
    return hits / len(E)


@pytest.mark.parametrize("groups", [None, np.arange(90) // 6])
def test_the_probe_is_a_cross_validated_linear_classifier_of_isometric_codes(model, groups):
    known = np.arange(90) % 4 > 0
    labels = np.where(known, SIDES, -1)
    table = layer_attribute_table(model, X, {"side": labels}, metrics=("probe",), groups=groups)
    group = None if groups is None else groups[known]
    for i in range(2):
        E = model.transform(X, layer=i, readout="isometric")
        assert table.iloc[2 + i].item() == linear_probe_by_hand(E[known], SIDES[known], X[known], group)
    assert table.loc["X (20)"].item() == linear_probe_by_hand(X[known], SIDES[known], X[known], group)


def test_a_probe_finds_what_clusters_do_not():
    faces = make_faces(8, 3, 3, size=12, random_state=0)
    model = SemiNMF(12, random_state=0).fit(faces.X)
    pose = layer_attribute_table(model, faces.X, {"pose": faces.pose}).loc["layer 0 (12)", "pose"]
    assert pose["probe"] > 0.9 > 0.6 > pose["accuracy"]


def test_groups_are_not_split():
    """Samples of a group are alike and groups have their own labels: only by the group is the label known."""
    rng = np.random.default_rng(0)
    where, labels = np.arange(90) // 3, np.repeat(rng.permutation(np.arange(30) % 2), 3)
    data = rng.normal(size=(30, 40))[where] + 0.01 * rng.normal(size=(90, 40))
    model = SemiNMF(35, random_state=0).fit(data)
    options = {"metrics": ("probe",)}
    assert layer_attribute_table(model, data, labels, **options).iloc[1:].to_numpy().min() == 1
    assert layer_attribute_table(model, data, labels, groups=where, **options).iloc[1:].to_numpy().max() < 0.75


def test_chance_is_the_mean_of_random_clusters_and_the_largest_class(model):
    labels = np.repeat([0, 1, 2, -1], [45, 20, 15, 10])
    chance = layer_attribute_table(model, X, {"a": labels}, metrics=("accuracy", "nmi", "probe")).loc["chance", "a"]
    rng, true = np.random.default_rng(1), labels[:80]
    drawn = [rng.permutation(true) for _ in range(200)]
    assert chance["probe"] == 45 / 80
    assert chance["accuracy"] == pytest.approx(np.mean([clustering_accuracy(true, c) for c in drawn]), abs=0.03)
    assert chance["nmi"] == pytest.approx(np.mean([normalized_mutual_information(true, c) for c in drawn]), abs=0.02)


def test_the_row_of_x_is_k_means_of_x(model):
    table = layer_attribute_table(model, X, {"class": LABELS}, metrics=("accuracy",))
    expected = clustering_accuracy(LABELS, KMeans(3, n_init=20, random_state=0).fit_predict(X))
    assert table.loc["X (20)"].item() == pytest.approx(expected) == 1


@pytest.mark.parametrize(
    ("labels", "probe"),
    [
        (np.zeros(90, int), 1.0),  # one class
        (np.where(np.arange(90) < 6, np.arange(90), -1), np.nan),  # one label a class
        (np.where(np.arange(90) == 4, 1, 0), 89 / 90),  # a class that is in one fold
    ],
)
def test_labels_that_hardly_make_folds(model, labels, probe):
    table = layer_attribute_table(model, X, labels, metrics=("probe",))
    np.testing.assert_allclose(table.loc["layer 0 (8)"], probe, atol=0.02)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"metrics": ()}, "metrics must be a sequence of one or more names"),
        ({"metrics": "nmi"}, "metrics must be a sequence of one or more names"),
        ({"metrics": ("nmi",), "groups": SIDES}, 'groups has no effect without the metric "probe"'),
        ({"metrics": ("probe",), "readout": "raw"}, "readout='raw' has no effect without a metric of clusters"),
        ({"groups": np.zeros(90, int)}, "all samples of known label are in one group"),
        ({"groups": [None] * 90}, "groups must name the sequence of every sample"),
        ({"groups": SIDES[:5]}, "y has 5 rows but X has 90 samples"),
        ({"readout": "dense"}, "readout must be one of 'raw', 'whitened', 'isometric'"),
    ],
)
def test_options_without_effect_or_sense(model, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        layer_attribute_table(model, X, {"a": LABELS}, **options)


# ---- layers by position and name -------------------------------------------------------------------------------------


def test_numbers_of_layers_are_those_of_transform():
    fitted = DeepSemiNMF((8, 3), random_state=0).fit(X)
    names = layer_names(fitted)
    assert names == ["layer 0 (8)", "layer 1 (3)"]
    for i in range(2):
        found = layer_features(fitted, i, X, readout="isometric")
        np.testing.assert_array_equal(found, fitted.transform(X, layer=i, readout="isometric"))


def test_layers_are_found_by_the_name_of_an_attribute():
    y = pd.DataFrame({"class": LABELS, "side": SIDES})
    deep = DeepWSF((8, 3), attribute_layers={"class": 1, "side": 0}, max_iter=5, tol=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(layer_features(deep, "side", X), layer_features(deep, 0, X))
    own = AttributeLayers(6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(layer_features(own, "side", X), own.transform(X, "side"))
    np.testing.assert_array_equal(
        layer_features(own, "side", X, readout="raw"), own.transform(X, "side", readout="raw")
    )
    np.testing.assert_array_equal(layer_clusters(own, "side", 2, X), layer_clusters(own, 1, 2, X))


def test_the_isometric_form_of_views_is_that_of_transform():
    views = [X[:, :12], X[:, 12:]]
    fitted = MultiViewSemiNMF(4, random_state=0).fit(views)
    for readout in ("raw", "whitened", "isometric"):
        found = layer_features(fitted, 0, views, readout=readout)
        np.testing.assert_allclose(found, fitted.transform(views, readout=readout), atol=1e-12)


@pytest.mark.parametrize(
    ("layer", "view", "sentence"),
    [
        (2, None, "layer=2 is out of range: give a whole number from -2 to 1"),
        (0.5, None, "layer=0.5 is out of range"),
        ("pose", None, "layer='pose' is no attribute"),
        (0, "left", "view='left' is no view with layers of its own"),
    ],
)
def test_layers_that_are_not_there(model, layer, view, sentence):
    with pytest.raises(ValueError, match=sentence):
        layer_features(model, layer, view=view)

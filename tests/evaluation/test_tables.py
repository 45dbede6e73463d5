import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

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
)
from laminar.evaluation.tables import layer_clusters, layer_features
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
@pytest.mark.parametrize("transductive", [True, False])
def test_a_row_for_every_layer_of_every_model(model, transductive):
    fitted = clone(model).fit(X, LABELS)
    table = layer_attribute_table(fitted, X, {"class": LABELS, "side": SIDES}, transductive=transductive)
    sizes = [len(layer.components) for layer in fitted.layers_]
    assert list(table.index) == [f"layer {i + 1} ({k})" for i, k in enumerate(sizes)]
    assert list(table.columns) == [(name, m) for name in ("class", "side") for m in ("accuracy", "nmi")]
    assert table.to_numpy().min() >= 0
    assert table.to_numpy().max() <= 1


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["class", "side"], ["class (6)", "side (6)", "rest (6)"]),
        ([2, 0], ["layer 1 (6)", "layer 2 (6)", "layer 3 (6)"]),  # names that are positions of other layers
    ],
)
def test_attribute_layers_are_read_with_their_own_distances(names, rows):
    y = pd.DataFrame(np.column_stack([LABELS, SIDES]), columns=names)
    fitted = AttributeLayers(6, random_state=0).fit(X[:60], y[:60])
    for i, name in enumerate([*names, "rest"]):
        np.testing.assert_array_equal(layer_features(fitted, i), fitted.training_codes(name))
        np.testing.assert_array_equal(layer_features(fitted, i, X[60:]), fitted.transform(X[60:], attribute=name))
    unseen = layer_attribute_table(fitted, X[60:], y[60:], transductive=False)
    assert unseen.iloc[0, 0] == 1
    assert list(unseen.index) == rows


@pytest.mark.parametrize("transductive", [True, False])
def test_a_row_for_every_layer_of_every_view(transductive):
    views = {"left": X[:, :12], "right": X[:, 12:]}
    fitted = MultiViewDeepNMF((8, 6, 4), random_state=0).fit(views)
    table = layer_attribute_table(fitted, views, {"class": LABELS}, transductive=transductive)
    hidden = ["layer 1 (8)", "layer 2 (6)"]
    assert list(table.index) == [*(f"{v}, {name}" for v in views for name in hidden), "shared, layer 3 (4)"]
    codes = fitted.views_["right"].layers[1].representation
    np.testing.assert_allclose(
        layer_features(fitted, 1, views, view="right"), layer_features(fitted, 1, view="right"), atol=1e-5
    )
    assert layer_features(fitted, 1, view="right").shape == codes.shape
    flat = MultiViewSemiNMF(4, random_state=0).fit(views)
    assert list(layer_attribute_table(flat, views, {"class": LABELS}).index) == ["layer 1 (4)"]


def test_planted_classes_are_found_and_chance_is_not(model):
    table = layer_attribute_table(model, X, {"class": LABELS, "side": SIDES})
    assert table.loc["layer 2 (3)", ("class", "accuracy")] == 1
    assert table.loc["layer 2 (3)", ("side", "nmi")] < 0.1


def test_the_scores_are_those_of_the_clusters(model):
    table = layer_attribute_table(model, X, {"class": LABELS}, metrics=("nmi", "ari", "accuracy"))
    scores = {"nmi": normalized_mutual_information, "ari": adjusted_rand_index, "accuracy": clustering_accuracy}
    for i, row in enumerate(table.to_numpy()):
        found = layer_clusters(model, i, 3)
        assert row.tolist() == [score(LABELS, found) for score in scores.values()]


@pytest.mark.parametrize("kind", [DeepSemiNMF, SmoothedSemiNMF])
def test_the_top_layer_is_clustered_as_the_model_does(kind):
    diffuse = np.random.default_rng(1).gamma(1.0, size=(90, 20))  # clusters depend on how codes are read
    fitted = kind(5, random_state=0).fit(diffuse)
    found = layer_clusters(fitted, 0, 4, diffuse)
    np.testing.assert_array_equal(found, fitted.cluster(diffuse, 4))


def test_every_spelling_of_attributes(model):
    named = layer_attribute_table(model, X, {"class": LABELS, "side": SIDES})
    frame = layer_attribute_table(model, None, pd.DataFrame({"class": LABELS, "side": SIDES}))
    pd.testing.assert_frame_equal(named, frame)
    array = layer_attribute_table(model, X, np.column_stack([LABELS, SIDES]))
    assert list(array.columns.get_level_values(0).unique()) == [0, 1]
    np.testing.assert_array_equal(array.to_numpy(), named.to_numpy())
    assert list(layer_attribute_table(model, X, LABELS).columns.get_level_values(0)) == [0, 0]


def test_only_known_labels_are_scored(model):
    """Wrong labels on half of the samples matter, unknown ones do not."""
    wrong, unknown = LABELS.astype(object), LABELS.astype(object)
    wrong[:45], unknown[:45] = (LABELS[:45] + 1) % 3, None
    scores = layer_attribute_table(model, X, {"wrong": wrong, "unknown": unknown}).loc["layer 2 (3)"]
    assert scores["wrong", "accuracy"] < 0.7
    assert scores["unknown", "accuracy"] == 1


def test_unseen_samples_belong_to_the_clusters_of_the_training_samples():
    fitted = DeepSemiNMF((8, 3), graph=None, random_state=0).fit(X[:60])
    table = layer_attribute_table(fitted, X[60:], {"class": LABELS[60:]}, transductive=False)
    found = layer_clusters(fitted, 1, 3, X[60:])
    assert table.iloc[1, 0] == clustering_accuracy(LABELS[60:], found) == 1
    with pytest.raises(ValueError, match=r"X has 30 samples but the model was fitted on 60: .*transductive=False"):
        layer_attribute_table(fitted, X[60:], {"class": LABELS[60:]})


def test_a_change_of_basis_changes_no_score(model):
    table = layer_attribute_table(model, X, {"class": LABELS, "side": SIDES})
    layer = model.layers_[0]
    turned = clone(model).fit(X)
    H = layer.representation @ rng.normal(size=(8, 8))
    turned.layers_[0] = type(layer)(layer.weights, layer.components, H)
    pd.testing.assert_frame_equal(table, layer_attribute_table(turned, X, {"class": LABELS, "side": SIDES}))


def test_codes_that_are_zero_are_one_cluster():
    fitted = SemiNMF(2, random_state=0).fit(np.zeros((6, 4)))
    assert layer_features(fitted, 0).tolist() == [[0.0]] * 6


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_codes_that_are_zero_are_scored():
    fitted = SemiNMF(2, random_state=0).fit(np.zeros((6, 4)))
    assert layer_attribute_table(fitted, None, [[0], [1]] * 3).iloc[0, 0] == 0.5


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
    with pytest.raises(ValueError, match="metrics must be one of 'accuracy', 'nmi', 'ari'; got 'f1'"):
        layer_attribute_table(model, X, {"a": LABELS}, metrics=("f1",))
    with pytest.raises(NotFittedError):
        layer_attribute_table(SemiNMF(), X, {"a": LABELS})


def test_more_classes_than_training_samples(model):
    fitted = SemiNMF(2, random_state=0).fit(X[:10])
    with pytest.raises(ValueError, match="20 clusters are more than the 10 samples the model was fitted on"):
        layer_attribute_table(fitted, X, np.arange(90) % 20, transductive=False)


def test_missing_pandas_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r'^laminar.layer_attribute_table needs pandas: pip install "laminar-nmf\[report\]"$'
    ):
        layer_attribute_table(model, X, {"a": LABELS})


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
    assert table.iloc[layer].item() == pytest.approx(adjusted_rand_score(LABELS, expected))

"""`select_penalty`: labels that matter and labels that do not, what a fit sees, ties, forms of input."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from laminar import WSF, ClassDrivenNMF, DeepWSF, SemiNMF, SlowFeatureNMF, select_penalty
from laminar._utils.labels import read_labels
from laminar.datasets import make_attributes
from laminar.evaluation.layers import layer_clusters, layer_features
from laminar.evaluation.penalty import _best, _hide
from laminar.metrics import clustering_accuracy, normalized_mutual_information

GRID = (0, 0.1, 1)


def labelled(seed, n=90, p=30):
    """Three strong parts of no interest, and a weaker one a class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.gamma(1.0, size=(n, 3)) @ rng.gamma(1.0, size=(3, p)) + 2 * rng.gamma(1.0, size=(3, p))[y]
    return X + 0.3 * rng.random((n, p)), y


class Seen(WSF):
    """WSF that keeps the labels of every fit."""

    labels: list = []

    def fit(self, X, y=None, groups=None):
        self.labels.append(y)
        return super().fit(X, y, groups)


@pytest.fixture
def seen(monkeypatch):
    monkeypatch.setattr(Seen, "labels", [])
    return Seen(3, tol=1e-2)


# the choice


@pytest.mark.parametrize(
    ("model", "score"),
    [
        (ClassDrivenNMF(), "classes"),
        (ClassDrivenNMF(), "probe"),
        (WSF(3, tol=1e-3), "clusters"),
        (WSF(3, tol=1e-3), "nmi"),
    ],
)
def test_labels_that_help_choose_a_penalty(model, score):
    X, y = labelled(3)
    found = select_penalty(model, X, y, grid=GRID, score=score, n_repeats=4, verbose=0)
    assert found.best_ > 0
    scores = found.table_["score"].to_numpy()
    assert scores.max() > scores[0] + 0.04


def test_explained_variance_chooses_no_penalty():
    """What GridSearchCV does with the same grid, the reason for `select_penalty`."""
    X, y = labelled(3)
    for model in (ClassDrivenNMF(random_state=0), WSF(3, tol=1e-3, random_state=0)):
        assert GridSearchCV(model, {"alpha": list(GRID)}, cv=3).fit(X, y).best_params_ == {"alpha": 0}


@pytest.mark.parametrize(("model", "score"), [(ClassDrivenNMF(), "probe"), (WSF(3, tol=1e-3), "clusters")])
def test_permuted_labels_have_no_preference(model, score):
    X, y = labelled(3)
    y = np.random.default_rng(3).permutation(y)
    found = select_penalty(model, X, y, grid=GRID, score=score, n_repeats=4, verbose=0)
    assert found.best_ == 0
    assert found.table_["score"].max() < found.table_["score"].iloc[0] + 0.06


LEVEL = np.array([0.1, 0.5, 0.9])
TIES = {
    "best by far": ([LEVEL, LEVEL + 0.05, LEVEL + 0.01], 1),
    "within one standard error": ([LEVEL + np.array([0.0, 0.05, -0.04]), LEVEL, LEVEL + 0.02], 0),
    "behind at every repeat": ([LEVEL - 0.01, LEVEL, LEVEL], 1),
    "higher by rounding": ([LEVEL, LEVEL + 1e-15, LEVEL], 0),
}


@pytest.mark.parametrize("case", TIES)
def test_ties_go_to_the_smaller_penalty(case):
    scores, place = TIES[case]
    assert _best([0, 1, 10], np.array(scores)) == [0, 1, 10][place]


# what is hidden, shown and scored


def test_fits_see_no_hidden_and_no_unknown_label(seen):
    X, y = labelled(0, n=60)
    y[::4] = -1
    select_penalty(seen, X, y, grid=(0, 1), n_repeats=3, hidden=0.4, verbose=0)
    assert len(seen.labels) == 6
    for first, second in zip(seen.labels[::2], seen.labels[1::2], strict=True):
        assert_array_equal(first, second)  # the same labels for every value of the grid
        shown = np.array([label is not None for label in first])
        assert_array_equal(first[shown].astype(int), y[shown])
        assert not shown[y == -1].any()
        for c in range(3):
            n = (y == c).sum()
            assert (shown & (y == c)).sum() == n - round(0.4 * n)
    assert any((a != b).any() for a, b in zip(seen.labels[::2], seen.labels[2::2], strict=False))


def test_scores_by_hand(seen):
    """Fits of one repeat made again from the labels they saw, and scored on the others with a label."""
    X, y = labelled(1, n=60)
    y[::5] = -1
    results = {s: select_penalty(seen, X, y, grid=(1,), n_repeats=2, score=s, verbose=0) for s in ("nmi", "probe")}
    clusters = select_penalty(seen, X, y, grid=(1,), n_repeats=2, verbose=0)
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=2)
    for r in range(2):
        labels = seen.labels[r]
        shown = np.array([label is not None for label in labels])
        hidden = (y >= 0) & ~shown
        model = WSF(3, tol=1e-2, alpha=1, random_state=int(seeds[r])).fit(X, labels)
        found, column = layer_clusters(model, 0, 3), f"repeat {r + 1}"
        E = layer_features(model, 0, X)
        E = E / np.sqrt((E**2).sum(1).mean())
        right = LinearSVC(random_state=0).fit(E[shown], y[shown]).predict(E[hidden]) == y[hidden]
        assert clusters.table_[column].item() == pytest.approx(clustering_accuracy(y[hidden], found[hidden]))
        nmi = normalized_mutual_information(y[hidden], found[hidden])
        assert results["nmi"].table_[column].item() == pytest.approx(nmi)
        assert results["probe"].table_[column].item() == pytest.approx(right.mean())


def test_predicted_classes_of_hidden_samples():
    X, y = labelled(0)
    names = np.array(["a", "b", "c"], dtype=object)[y]
    by_name, by_code = (
        select_penalty(ClassDrivenNMF(), X, labels, grid=GRID, score="classes", n_repeats=2, verbose=0)
        for labels in (names, y)
    )
    assert_array_equal(by_name.table_, by_code.table_)
    assert by_name.table_["score"].iloc[-1] > 0.9


def test_whole_sequences_are_hidden():
    attributes = read_labels(np.c_[np.arange(40) % 2, np.arange(40) % 4], 40)
    sequences = np.repeat(np.arange(8), 5)
    mask = _hide(attributes, 0.25, sequences, np.random.RandomState(0))
    assert_array_equal(mask[:, 0], mask[:, 1])
    per_sequence = mask[:, 0].reshape(8, 5).sum(axis=1)
    assert sorted(per_sequence) == [0] * 6 + [5] * 2


def test_single_labels_are_shown():
    (attribute,) = read_labels([0, 0, 1, 2, 2, -1], 6)
    mask = _hide((attribute,), 0.5, None, np.random.RandomState(0)).ravel()
    assert_array_equal(np.bincount(attribute.codes[mask], minlength=3), [1, 0, 1])
    assert not mask[5]


# attributes, layers, forms


def test_table_has_every_attribute_value_and_repeat():
    data = make_attributes(60, levels=(3, 2), scales=(1.0, 1.0), random_state=0)
    y = pd.DataFrame(data.y, columns=["pose", "light"])
    found = select_penalty(WSF(4, tol=1e-2), data.X, y, grid=(1, 0), n_repeats=3, verbose=0)
    table = found.table_
    expected = [(name, value) for name in ("pose", "light", "mean") for value in (0, 1)]
    assert table.index.tolist() == expected
    assert list(table.columns) == ["score", "standard_error", "repeat 1", "repeat 2", "repeat 3"]
    repeats = table[["repeat 1", "repeat 2", "repeat 3"]].to_numpy()
    assert_allclose(table["score"], repeats.mean(axis=1))
    assert_allclose(table["standard_error"], repeats.std(axis=1, ddof=1) / np.sqrt(3))
    assert_allclose(table.loc["mean", "score"], (table.loc["pose", "score"] + table.loc["light", "score"]) / 2)
    assert set(found.best_by_attribute_) == {"pose", "light"}
    assert (found.param, found.score) == ("alpha", "clusters")


def test_layers_of_a_deep_model():
    data = make_attributes(40, levels=(3, 2), scales=(0.1, 0.1), noise=0.3, random_state=0)
    model = DeepWSF((6, 4), attribute_layers="in order", tol=1e-2)
    settings = {"param": "alphas", "grid": (0.1,), "n_repeats": 2, "score": "probe", "verbose": 0}
    top, own = (
        select_penalty(model, data.X, data.y, layer=layer, **settings).table_["score"] for layer in (-1, (0, 1))
    )
    assert top.loc[1].item() == own.loc[1].item()
    assert top.loc[0].item() != own.loc[0].item()


def test_sequences_reach_the_fit():
    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(4), 10), np.tile(np.repeat([0, 1], 5), 4)
    X = rng.gamma(1.0, size=(2, 8))[y] + 0.1 * rng.random((40, 8))
    found = select_penalty(
        SlowFeatureNMF(2, tol=1e-2), X, y, grid=(0, 1), groups=groups, fit_params={"groups": groups}, n_repeats=2,
        verbose=0,
    )  # fmt: skip
    assert found.table_["score"].max() == 1


def test_same_seed_same_table_and_the_estimator_is_not_changed():
    X, y = labelled(3, n=45)
    model = WSF(3, tol=1e-2)
    before = model.get_params()
    tables = [
        select_penalty(model, X, y, grid=(0, 1), n_repeats=2, random_state=s, verbose=0).table_ for s in (1, 1, 2)
    ]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])
    assert model.get_params() == before
    assert not hasattr(model, "components_")


X, Y = labelled(0, n=30)


@pytest.mark.parametrize(
    ("model", "y", "settings", "sentence"),
    [
        (WSF(3), Y, {"score": "variance"}, "score must be one of 'clusters', 'nmi', 'probe', 'classes'"),
        (WSF(3), Y, {"score": "classes"}, "WSF.predict does not return classes"),
        (SemiNMF(3), Y, {}, "SemiNMF has no parameter 'alpha'"),
        (WSF(3), Y, {"grid": ()}, "grid must hold one or more"),
        (WSF(3), Y, {"grid": (0, -1)}, "none below 0"),
        (WSF(3), Y, {"grid": ("a",)}, "grid must hold"),
        (WSF(3), Y, {"hidden": 1.0}, "hidden must lie between 0 and 1"),
        (WSF(3), Y, {"n_repeats": 1}, "n_repeats must be at least 2"),
        (WSF(3), np.arange(30), {}, "fewer than two classes with two known labels"),
        (WSF(3), Y, {"groups": np.zeros(30)}, "in hidden groups, or none is"),
        (WSF(3), Y, {"layer": (0, 1)}, "layer has 2 entries but y has 1 attributes"),
        (ClassDrivenNMF(), Y, {"layer": 0, "score": "classes"}, 'layer=0 has no effect on score="classes"'),
        (WSF(3), Y, {"groups": [None] * 30}, "groups must name the sequence of every sample"),
        (WSF(3), Y[:9], {}, "y has 9 rows but X has 30 samples"),
    ],
)
def test_what_cannot_be_selected_is_said(model, y, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        select_penalty(model, X, y, verbose=0, **settings)


def test_progress_is_shown_on_standard_error(capsys):
    select_penalty(WSF(3, tol=1e-2), X, Y, grid=(0, 1), n_repeats=2)
    shown = capsys.readouterr()
    assert "select_penalty 4/4 fits" in shown.err
    assert shown.out == ""

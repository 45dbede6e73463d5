"""Table 2 of Trigeorgis et al.: models told nothing, one attribute or all, and how their codes are read."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC

from laminar import WSF, ConstrainedNMF, DeepWSF, SemiNMF
from laminar.baselines import PooledLDA
from laminar.experiments import ITEMS, Run
from laminar.experiments.data import faces_with_expressions
from laminar.experiments.trigeorgis import attributes
from laminar.experiments.trigeorgis.attributes import RENDERED, attribute_scores, classifier_scores, split

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        yield ITEMS["trigeorgis-table2"].make(Run(tmp_path_factory.mktemp("cells"), quick=True))


def test_split_has_share_of_paper():
    train, test = split(7905, seed=3)
    assert len(train) == 2025
    assert np.array_equal(np.union1d(train, test), np.arange(7905))
    assert not np.array_equal(train, split(7905, seed=4)[0])


def test_scores_are_of_codes_of_both_equations():
    data = faces_with_expressions(small=True)
    train, test = split(len(data.X), 1)
    X, y = data.unit, data.attributes["identity"]
    scores = attribute_scores(RENDERED, True, WSF(6, max_iter=5), "identity", 1)
    model = WSF(6, max_iter=5, random_state=1).fit(X[train], y[train])
    basis = model.components_
    new = X[test] @ np.linalg.pinv(basis)  # eq. 23
    for first, codes in (("fit", model.layers_[0].representation), ("eq. 23", X[train] @ np.linalg.pinv(basis))):
        expected = LinearSVC(C=1, random_state=0).fit(codes, y[train]).score(new, y[test])
        assert_allclose(scores[f"identity, layer 1, {first}, eq. 23"], expected, atol=1.5 / len(test))
    assert not any(name.startswith("pose") for name in scores)


def test_codes_of_eq_25_are_those_of_transform():
    data = faces_with_expressions(small=True)
    train, test = split(len(data.X), 0)
    y = data.attributes["pose"]
    scores = attribute_scores(RENDERED, True, SemiNMF(5), "nothing", 0)
    model = SemiNMF(5, random_state=0).fit(data.unit[train])
    parts = [model.transform(data.unit[part]) for part in (train, test)]
    assert min(part.min() for part in parts) >= 0
    expected = LinearSVC(C=1, random_state=0).fit(parts[0], y[train]).score(parts[1], y[test])
    assert_allclose(scores["pose, layer 1, eq. 25, eq. 25"], expected)


def test_deep_model_has_attributes_in_order_of_paper():
    seen = []

    class Told(DeepWSF):
        def fit(self, X, y=None, **more):
            seen.append(y)
            return super().fit(X, y, **more)

    data = faces_with_expressions(small=True)
    train, _ = split(len(data.X), 0)
    model = Told((8, 8, 8), attribute_layers="in order", max_iter=2, pretraining_max_iter=2)
    scores = attribute_scores(RENDERED, True, model, "all", 0)
    columns = [data.attributes[name][train] for name in ("pose", "expression", "identity")]
    assert np.array_equal(seen[0], np.column_stack(columns))
    assert len(scores) == 1 + 3 * 3 * 4


def test_unknown_labels_are_not_scored(monkeypatch):
    data = faces_with_expressions(small=True)
    some = {**data.attributes, "pose": np.where(data.attributes["identity"] == 0, -1, data.attributes["pose"])}
    part = type(data)(data.X, some, "some")
    monkeypatch.setattr(attributes, "faces_with_expressions", lambda small: part)
    scores = classifier_scores(RENDERED, True, PooledLDA(), 0)
    train, test = split(len(data.X), 0)
    labels = np.column_stack([some[name][train] for name in ("pose", "expression", "identity")])
    found = PooledLDA(random_state=0).fit(data.unit[train], labels).predict(data.unit[test])
    known = some["pose"][test] >= 0
    assert_allclose(scores["pose, classes"], np.mean(found[known] == some["pose"][test][known]))


def test_item_has_all_models_and_readings(result):
    printed = result.tables[-1][1]
    for _, table in result.tables[:-1]:
        assert set(attributes.TABLE_2) <= set(table.index.get_level_values("model"))
        assert (table.map(len) > 0).all(axis=None)
    assert printed.loc["Deep WSF", "identity"] == "65.17"
    assert "Multi-PIE" in result.tables[-1][0]


def test_table_reads_deep_models_at_layer_of_attribute(result):
    cells = result.cells
    part = cells[(cells["method"] == "Deep WSF") & (cells["rule"] == "published") & (cells["reading"] == "fit, eq. 25")]
    table = result.tables[0][1]
    for layer, attribute in enumerate(("pose", "expression", "identity"), start=1):
        chosen = part[(part["attribute"] == attribute) & (part["layer"] == f"layer {layer}")]
        shown = table.loc[("Deep WSF", "published"), f"{attribute}, eq. 25"]
        assert shown.startswith(f"{chosen['accuracy'].mean():.1f} ±")


def test_codes_of_constrained_fit_are_equal_within_class():
    data = faces_with_expressions(small=True)
    y = data.attributes["pose"]
    codes = ConstrainedNMF(5, max_iter=5, random_state=0).fit(data.unit, y).layers_[0].representation
    assert_allclose(codes, codes[[np.flatnonzero(y == a)[0] for a in y]])  # what a sentence of the item rests on


def test_figure_has_bars_of_layers_and_attributes(result):
    figure = result.figure()
    assert [len(axes.patches) for axes in figure.axes] == [12, 12, 12]  # pixels and three layers, three attributes

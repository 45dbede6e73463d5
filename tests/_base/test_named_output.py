"""Models whose `transform` gives tables still understand themselves."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from laminar import (
    NMF,
    AttributeLayers,
    ClassDrivenNMF,
    DeepSemiNMF,
    MultiNMF,
    MultiViewDeepNMF,
    MultiViewSemiNMF,
    SemiNMF,
    layer_attribute_table,
    select_layers,
)

pytest.importorskip("pandas")

X = np.random.default_rng(0).random((30, 8))
Y = np.repeat([0, 1, 2], 10)


@pytest.mark.parametrize(
    "model", [NMF(3), SemiNMF(3), DeepSemiNMF((5, 3)), ClassDrivenNMF()], ids=lambda m: type(m).__name__
)
def test_predict_and_tables_are_the_same(model):
    model.set_params(random_state=0).fit(X, Y)
    plain = model.predict(X), layer_attribute_table(model, X, {"y": Y})
    model.set_output(transform="pandas")
    assert_array_equal(model.predict(X), plain[0])
    assert layer_attribute_table(model, X, {"y": Y}).equals(plain[1])
    if isinstance(model, ClassDrivenNMF):
        assert set(model.predict(X)) <= {0, 1, 2}


def test_attribute_layers_are_tabled():
    model = AttributeLayers(4, random_state=0).fit(X, Y)
    plain = layer_attribute_table(model, X, {"y": Y})
    model.set_output(transform="pandas")
    assert layer_attribute_table(model, X, {"y": Y}).equals(plain)


def test_layers_are_selected():
    candidates, options = [(4, 2), (5, 2)], {"n_repeats": 2, "random_state": 0, "verbose": 0}
    plain = select_layers(X, candidates, estimator=DeepSemiNMF(), **options)
    named = select_layers(X, candidates, estimator=DeepSemiNMF().set_output(transform="pandas"), **options)
    assert named.table_.equals(plain.table_)


@pytest.mark.parametrize(
    "model",
    [MultiNMF(3, random_state=0), MultiViewDeepNMF((5, 3), random_state=0), MultiViewSemiNMF(3, random_state=0)],
)
def test_views_are_tabled_by_what_is_clustered(model):
    views = [X[:, :5], X[:, 5:]]
    table = layer_attribute_table(model.fit(views), views, {"y": Y})
    assert table.shape == (6 if isinstance(model, MultiViewDeepNMF) else 4, 3)  # a hidden layer of each view
    assert np.isfinite(table.to_numpy()).all()


def test_copies_of_a_model_agree_on_clusters_not_yet_looked_for():
    stored = pickle.dumps(NMF(5, init="random").fit(X))
    first, *others = (pickle.loads(stored).cluster(X, 7) for _ in range(6))
    for found in others:
        assert_array_equal(found, first)


def test_predict_leaves_the_callers_generator_alone():
    rng = np.random.RandomState(0)
    model = NMF(3, random_state=rng).fit(X)
    before = rng.get_state()[2]
    model.predict(X)
    assert rng.get_state()[2] == before

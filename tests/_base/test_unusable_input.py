"""X that cannot be fitted: masked entries, NaN, one dimension, views of nobody; each with a sentence on what to do."""

import numpy as np
import pytest
from sklearn.base import clone

from laminar import (
    GNMF,
    NMF,
    WSF,
    AttributeLayers,
    ClassDrivenNMF,
    ConceptFactorization,
    ConstrainedNMF,
    DeepSemiNMF,
    DeepWSF,
    DiscriminantNMF,
    MultiLayerNMF,
    MultiNMF,
    MultiViewDeepNMF,
    MultiViewSemiNMF,
    SemiNMF,
    SlowFeatureAnalysis,
    SlowFeatureNMF,
    SmoothedSemiNMF,
    select_layers,
)
from laminar.baselines import CoRegularizedSpectral, NgJordanWeiss
from laminar.features import Pixels

rng = np.random.default_rng(0)
V, W = rng.random((24, 6)), rng.random((24, 4))
Y = np.arange(24) % 3
ONE = [
    NMF(2),
    SemiNMF(2),
    SmoothedSemiNMF(2),
    GNMF(2),
    WSF(2),
    SlowFeatureNMF(2),
    ClassDrivenNMF(),
    ConstrainedNMF(2),
    DiscriminantNMF(2),
    ConceptFactorization(2),
    DeepSemiNMF((3, 2), max_iter=3),
    DeepWSF((3, 2), max_iter=3),
    MultiLayerNMF((3, 2)),
    AttributeLayers(2),
    SlowFeatureAnalysis(),
]
SEVERAL = [MultiViewDeepNMF((3, 2), max_iter=3), MultiViewSemiNMF(3, max_iter=3), MultiNMF(2, max_iter=3)]
one_array = pytest.mark.parametrize("model", ONE, ids=lambda model: type(model).__name__)
several_views = pytest.mark.parametrize("model", SEVERAL, ids=lambda model: type(model).__name__)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def masked(X, rows, columns=slice(None)):
    mask = np.zeros(X.shape, dtype=bool)
    mask[rows, columns] = True
    return np.ma.array(X, mask=mask)


def with_nan(X, rows):
    X = X.copy()
    X[rows] = np.nan
    return X


# Masked arrays


@one_array
def test_masked_entries_are_refused(model):
    sentence = r"X has 1 masked entries, and \w+ uses every entry: .*SimpleImputer"
    with pytest.raises(ValueError, match=sentence):
        clone(model).fit(masked(V, 3, 2), Y)
    with pytest.raises(ValueError, match=sentence):
        clone(model).fit(list(masked(V, 3, 2)), Y)
    fitted = clone(model).fit(masked(V, slice(0)), Y)  # nothing is masked
    with pytest.raises(ValueError, match=sentence):
        fitted.transform(masked(V, 3, 2))


def test_masked_images_are_refused():
    with pytest.raises(ValueError, match="X has 4 masked entries, and Pixels uses every entry"):
        Pixels().fit(masked(V.reshape(6, 4, 6), 2, 3)[:, :, :4])


def test_select_layers_refuses_masked_entries():
    with pytest.raises(ValueError, match="X has 6 masked entries"):
        select_layers(masked(V, 3), [2], verbose=0)


FORMS = {
    "list": lambda *views: list(views),
    "dict": lambda a, b: {"a": a, "b": b},
    "array": lambda *views: np.ma.hstack(views),
}


@pytest.mark.parametrize("form", FORMS)
def test_masked_rows_are_missing_views(form):
    views, sizes = FORMS[form], (6, 4) if form == "array" else None
    model = MultiViewSemiNMF(3, max_iter=3, view_sizes=sizes, random_state=0)
    by_mask, by_nan = clone(model).fit(views(V, masked(W, slice(5)))), clone(model).fit(views(V, with_nan(W, slice(5))))
    np.testing.assert_array_equal(by_mask.components_, by_nan.components_)


@several_views
def test_masked_rows_are_coded_from_other_views(model):
    fitted = clone(model).fit([V, W])
    by_mask, by_nan = ([V, lacking(W, slice(2, 9))] for lacking in (masked, with_nan))
    np.testing.assert_array_equal(fitted.transform(by_mask), fitted.transform(by_nan))
    np.testing.assert_allclose(fitted.transform([V, masked(W, slice(None))]), fitted.transform([V, None]))


@pytest.mark.parametrize("model", [*SEVERAL, CoRegularizedSpectral(2)], ids=lambda model: type(model).__name__)
def test_masked_part_of_view_is_refused(model):
    with pytest.raises(
        ValueError, match=r"view 1 contains NaN or masked entries in a part of 1 rows, the first .* row 3"
    ):
        clone(model).fit([V, masked(W, 3, 2)])


def test_masked_integers_are_missing_views():
    counts = masked((10 * W).astype(int), slice(5))
    model = MultiViewSemiNMF(3, max_iter=3, random_state=0)
    expected = clone(model).fit([V, with_nan((10 * W).astype(int).astype(float), slice(5))])
    np.testing.assert_array_equal(clone(model).fit([V, counts]).components_, expected.components_)


# NaN


@one_array
def test_nan_error_names_cures(model):
    with pytest.raises(
        ValueError, match=r"X contains NaN, and .*SimpleImputer.*ClusterEnsemble is fitted to"
    ) as caught:
        clone(model).fit(with_nan(V, 3), Y)
    assert "HistGradientBoosting" not in str(caught.value)


# Views


@pytest.mark.parametrize("model", [*SEVERAL, CoRegularizedSpectral(2)], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([V, None], "view 1 is None, so that no sample has it: leave this view out"),
        ({"a": V, "b": None}, "view 'b' is None"),
        ([None, None], "no sample has any view: all in X are None"),
        (V[:, 0], r"X is one-dimensional, of shape \(24,\): a view has rows, .* Reshape your data"),
        (V[0].tolist(), "X is a list of 6 numbers: a view has rows, .* Reshape your data"),
        ([V, W[:, 0]], r"view 1 is one-dimensional, of shape \(24,\): a view has rows"),
        ({"a": V, "b": W[:, 0]}, "view 'b' is one-dimensional"),
        ([V[:, 0], W[:, 0]], "X is a list of 2 one-dimensional arrays, .* Reshape your data"),
    ],
)
def test_unusable_views_are_refused(model, X, sentence):
    with pytest.raises(ValueError, match="^" + sentence):
        clone(model).fit(X)


@several_views
def test_transform_refuses_one_dimension(model):
    fitted = clone(model).fit([V, W])
    with pytest.raises(ValueError, match=r"view 1 is one-dimensional, of shape \(24,\)"):
        fitted.transform([V, W[:, 0]])
    with pytest.raises(ValueError, match="no sample has any view"):
        fitted.transform([None, None])


@several_views
def test_transform_takes_none_in_dict(model):
    fitted = clone(model).fit({"a": V, "b": W})
    np.testing.assert_array_equal(fitted.transform({"a": V, "b": None}), fitted.transform({"a": V}))


# Estimators that cannot be selected


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (MultiViewDeepNMF(), "estimator=MultiViewDeepNMF is fitted to several views, .* estimator=DeepSemiNMF()"),
        (AttributeLayers(), "AttributeLayers has none whose sizes could be chosen without labels"),
        (NgJordanWeiss(), "NgJordanWeiss has none whose sizes"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("X", [V, [V, W]], ids=["array", "views"])
def test_select_layers_refuses_estimator(estimator, sentence, X):
    with pytest.raises(TypeError, match=sentence):
        select_layers(X, [2], estimator=estimator, verbose=0)

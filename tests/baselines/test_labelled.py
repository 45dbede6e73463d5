"""Baselines with labels: scikit-learn's contract, the formulas, every form of labels, rows of the table."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from laminar import SemiNMF, layer_attribute_table
from laminar.baselines import LabelSpreading, PooledLDA
from laminar.datasets import make_attributes, partial_labels
from reference import discriminants as reference

DATA = make_attributes(120, levels=(3, 4), scales=(1.0, 1.0), noise=0.3, random_state=0)
X, Y = DATA.X, DATA.y
PARTIAL = partial_labels(Y, 0.2, per_class_min=2, random_state=0)
MODELS = [PooledLDA(random_state=0), LabelSpreading(random_state=0)]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@parametrize_with_checks(MODELS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Formulas


def test_lda_is_the_formula():
    model = PooledLDA().fit(X, PARTIAL)
    known = PARTIAL[:, 1] >= 0
    _, _, V = np.linalg.svd(X - X.mean(0), full_matrices=False)
    F = (X - X.mean(0)) @ V.T
    scores = reference.pooled_lda_scores(F[known], PARTIAL[known, 1], F)
    assert_array_equal(model.predict(X, 1), scores.argmax(1))
    P = np.exp(scores - scores.max(1, keepdims=True))
    assert_allclose(model.predict_proba(X, 1), P / P.sum(1, keepdims=True), atol=1e-4)


def test_spreading_is_the_formula():
    model = LabelSpreading(n_neighbors=12, alpha=0.9, whitening=0).fit(X, PARTIAL)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distances, np.inf)
    W = np.zeros_like(distances)
    np.put_along_axis(W, np.argsort(distances, axis=1)[:, :12], 1.0, axis=1)
    W = np.maximum(W, W.T)
    d = W.sum(1)
    T = np.where(PARTIAL[:, :1] == np.arange(3), 1.0, 0.0)
    S = np.linalg.solve(np.eye(120) - 0.9 * W / np.sqrt(np.outer(d, d)), T)
    assert_allclose(model.layers_[0].representation, S / S.sum(1, keepdims=True), atol=1e-6)
    unknown = PARTIAL[:, 0] < 0
    assert_array_equal(model.labels_[0][unknown], S.argmax(1)[unknown])


# Labels and data


@every_model
def test_labels_are_found(model):
    train = np.arange(120) < 90
    fitted = clone(model).fit(X[train], PARTIAL[train])
    for j in range(2):
        known = PARTIAL[train, j] >= 0
        assert_array_equal(fitted.labels_[j][known], PARTIAL[train, j][known])
        assert np.mean(fitted.labels_[j] == Y[train, j]) > 0.7
        assert np.mean(fitted.predict(X[~train], j) == Y[~train, j]) > 0.7


@every_model
@pytest.mark.parametrize(
    "labels",
    [
        np.where(np.arange(120) < 1, 0, -1),
        np.where(np.arange(120) < 3, np.arange(120), -1),
        np.arange(120) % 2,
        np.where(np.arange(120) < 50, "a", np.where(np.arange(120) == 60, "b", "")),
    ],
    ids=["one label", "one label a class", "all", "uneven"],
)
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_odd_labels_give_finite_codes(model, labels):
    fitted = clone(model).fit(X, labels)
    assert_allclose(fitted.predict_proba(X).sum(1), 1)
    assert np.isfinite(fitted.transform(X)).all()
    assert set(fitted.labels_[0]) <= set(fitted.classes_[0])


@every_model
@pytest.mark.filterwarnings("ignore:y, column 1. no label is known:UserWarning")
def test_attribute_without_labels_has_no_classes(model):
    fitted = clone(model).fit(X, np.column_stack([PARTIAL[:, 0], np.full(120, -1)]))
    assert list(fitted.labels_) == [0]
    with pytest.raises(ValueError, match="layer 1 has no classes, since y had no labels of it in fit"):
        fitted.predict(X, 1)


@every_model
def test_copies_sparse_and_single_precision(model):
    fitted = clone(model).fit(X, PARTIAL)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X, 1), fitted.predict(X, 1))
    kept = X * (np.random.default_rng(0).random(X.shape) < 0.5)
    dense, sparse = clone(model).fit(kept, PARTIAL), clone(model).fit(sp.csr_array(kept), PARTIAL)
    assert np.mean(dense.predict(kept) == sparse.predict(sp.csr_array(kept))) > 0.98
    single = clone(model).fit(X.astype(np.float32), PARTIAL)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert np.mean(single.labels_[1] == fitted.labels_[1]) > 0.98


@every_model
def test_no_labels_are_refused(model):
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(model).fit(X, None)


# Tables


@every_model
def test_rows_of_the_table(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PARTIAL, columns=["shape", "light"])
    fitted = clone(model).fit(X, frame)
    truth = pandas.DataFrame(Y, columns=["shape", "light"])
    table = layer_attribute_table(fitted, None, truth.where(frame < 0, -1))
    widths = [layer.representation.shape[1] for layer in fitted.layers_]
    assert list(table.index) == ["chance", f"shape ({widths[0]})", f"light ({widths[1]})"]
    assert table.loc[table.index[1], ("shape", "accuracy")] > 0.7
    assert list(layer_attribute_table(fitted, X, truth).index[:2]) == ["chance", f"X ({X.shape[1]})"]


def test_baselines_beside_a_model():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PARTIAL, columns=["shape", "light"])
    truth = pandas.DataFrame(Y, columns=["shape", "light"]).where(frame < 0, -1)
    model = SemiNMF(4, random_state=0).fit(X)
    baselines = {"LDA": PooledLDA().fit(X, frame), "spreading": LabelSpreading().fit(X, frame[["shape"]])}
    options = {"n_init": 3, "random_state": 1}
    table = layer_attribute_table(model, X, truth, baselines=baselines, **options)
    assert list(table.index) == ["chance", f"X ({X.shape[1]})", "layer 0 (4)", "LDA", "spreading"]
    assert table.loc["spreading", "light"].isna().all()  # it was given no label of light
    pandas.testing.assert_frame_equal(table.iloc[:3], layer_attribute_table(model, X, truth, **options))
    for name in truth:  # the row of a baseline is that of its own layer in its own table
        own = layer_attribute_table(baselines["LDA"], X, truth, **options)
        row = next(label for label in own.index if label.startswith(name))
        assert_allclose(table.loc["LDA", name].to_numpy(float), own.loc[row, name].to_numpy(float))


def test_baselines_without_these_attributes_are_refused():
    model, truth = SemiNMF(4, random_state=0).fit(X), {"shape": Y[:, 0]}
    for other, has in ((PooledLDA().fit(X, PARTIAL), "0, 1"), (model, "no attribute")):
        with pytest.raises(ValueError, match=f"none of the attributes 'shape', but for {has}"):
            layer_attribute_table(model, X, truth, baselines={"other": other})

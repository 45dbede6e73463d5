"""Labels without effect: a warning that says what to do; labels of wrong kinds: an error."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from laminar import (
    GNMF,
    WSF,
    AttributeLayers,
    ClassDrivenNMF,
    ConstrainedNMF,
    DeepWSF,
    DiscriminantNMF,
    MultiViewSemiNMF,
)

rng = np.random.default_rng(0)
N = 24
X = rng.random((N, 6))
Y = np.arange(N) % 3
ONE_HOT = np.eye(3, dtype=int)[Y]
MODELS = [
    WSF(2),
    WSF(2, graph="knn"),
    GNMF(2),
    ClassDrivenNMF(n_components=3, classes=3),
    ConstrainedNMF(2),
    DiscriminantNMF(2),
    DeepWSF((3, 2), max_iter=3),
    AttributeLayers(2),
    MultiViewSemiNMF(3, max_iter=3),
]
SEVERAL = (WSF, AttributeLayers, MultiViewSemiNMF)  # take several attributes
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(model, y):
    return clone(model).fit(X, y)


# Warnings

WITHOUT_EFFECT = {
    "minus one": (np.full(N, -1), "y: no label is known, so that labels have no effect.*leave y out"),
    "None": ([None] * N, "y: no label is known"),
    "NaN": (np.full(N, np.nan), "y: no label is known"),
    "own class": (np.arange(N), "y: there are as many classes as labels, 24, .*KBinsDiscretizer"),
    "measurements": (rng.normal(size=N), "y: there are as many classes as labels, 24"),
    "one class": (["a"] * N, "y: all labels are of one class, 'a', so that they distinguish no samples"),
}


@every_model
@pytest.mark.parametrize("case", WITHOUT_EFFECT)
def test_labels_without_effect_warn(model, case):
    y, sentence = WITHOUT_EFFECT[case]
    if isinstance(model, ClassDrivenNMF):
        model = ClassDrivenNMF(classes=N if len(set(np.ravel(y).tolist())) == N else 3)
    with pytest.warns(UserWarning, match=sentence) as caught:
        fit(model, y)
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}


@every_model
def test_informative_labels_do_not_warn(model):
    fit(model, Y)  # warnings are errors
    fit(model, np.where(np.arange(N) < 12, Y, -1))
    fit(model, None)


@pytest.mark.parametrize("model", [WSF(2), DeepWSF((3, 2), max_iter=3), ConstrainedNMF(2)], ids=repr)
def test_few_labels_without_a_pair_warn(model):
    with pytest.warns(UserWarning, match="as many classes as labels, 3,"):
        fit(model, np.where(np.arange(N) < 3, Y, -1))


@pytest.mark.parametrize("model", [ClassDrivenNMF(), DiscriminantNMF(2, between=0.1), GNMF(2)], ids=repr)
def test_few_labels_without_a_pair_have_effect(model):
    y = np.where(np.arange(N) < 3, Y, -1)
    assert np.abs(fit(model, y).components_ - fit(model, np.roll(y, 5)).components_).max() > 1e-6


def test_one_class_beside_unknown():
    y = np.where(np.arange(N) < 12, 0, -1)
    fit(WSF(2), y)  # codes of its samples become similar
    fit(ClassDrivenNMF(n_components=2), y)  # the other component is of other classes
    for model in (AttributeLayers(2), ClassDrivenNMF()):
        with pytest.warns(UserWarning, match="all labels are of one class, 0, "):
            fit(model, y)


def test_column_is_named():
    with pytest.warns(UserWarning, match="y, column 1: no label is known"):
        fit(WSF(2), np.column_stack([Y, np.full(N, -1)]))


# One-hot labels


@pytest.mark.parametrize("y", [ONE_HOT, ONE_HOT.astype(float), ONE_HOT.astype(bool), ONE_HOT.tolist()], ids=str)
def test_one_hot_labels_warn(y):
    for model in MODELS:
        if isinstance(model, SEVERAL) and model.get_params().get("graph") != "knn":
            with pytest.warns(UserWarning, match=r"y is one-hot: its 3 columns .* Pass y.argmax\(axis=1\)"):
                fit(model, y)


@pytest.mark.filterwarnings("ignore:y is one-hot")
@pytest.mark.parametrize("model", [GNMF(2), ClassDrivenNMF(), ConstrainedNMF(2), DiscriminantNMF(2)], ids=repr)
def test_one_hot_labels_are_named_in_error(model):
    with pytest.raises(ValueError, match=r"y has 3 attributes, .*: y is one-hot, pass y.argmax\(axis=1\)"):
        fit(model, ONE_HOT)


def test_two_binary_attributes_are_no_one_hot():
    fit(WSF(2), np.column_stack([Y > 0, Y > 1]))  # warnings are errors


# Errors

WRONG = {
    "dict": ({"pose": Y}, TypeError, r"y is a dict: .* pandas.DataFrame\(y\)"),
    "sparse": (sp.csr_array(ONE_HOT), TypeError, r"y is a sparse matrix.*y.toarray\(\)"),
    "set": (set(range(N)), TypeError, "y is a set, which has no order"),
    "infinity": (np.where(Y == 0, np.inf, Y), ValueError, "y contains infinity, which is no class"),
    "negative infinity": ([-np.inf if y == 0 else "a" for y in Y], ValueError, "y contains infinity"),
    "complex": (1j * Y, ValueError, "y holds complex numbers"),
}


@every_model
@pytest.mark.parametrize("case", WRONG)
def test_wrong_labels_are_refused(model, case):
    y, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        fit(model, y)


@pytest.mark.parametrize("model", [GNMF(2), WSF(2, graph="knn")], ids=repr)
def test_two_attributes_of_neighbours_are_refused(model):
    with pytest.raises(
        ValueError, match=r"y has 2 attributes, \[0, 1\], .* pass one column of y, or graph=laminar.graphs"
    ):
        fit(model, np.column_stack([Y, Y % 2]))

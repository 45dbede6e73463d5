"""Models that were told labels, as steps of a pipeline: the next step sees codes as new samples will have them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from laminar import GNMF, WSF, ClassDrivenNMF, ConstrainedNMF, DeepWSF, DiscriminantNMF, SlowFeatureNMF

X, Y = load_wine(return_X_y=True)
TOLD = [WSF(6), DeepWSF((10, 6)), GNMF(6), ClassDrivenNMF(6), ConstrainedNMF(6), DiscriminantNMF(6)]
told = pytest.mark.parametrize("model", TOLD, ids=lambda model: type(model).__name__)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@told
def test_codes_returned_with_labels_are_those_of_transform(model):
    data = MinMaxScaler().fit_transform(X)
    model = clone(model).set_params(random_state=0)
    H = model.fit_transform(data, Y)
    assert_array_equal(H, model.transform(data))
    assert np.abs(H - model.layers_[-1].representation).max() > 1e-3 * H.max()


@told
def test_labels_do_not_mislead_the_next_step(model):
    """With the codes of the fit a classifier is right for 53 % (WSF) to 93 % of new samples."""
    scaler = StandardScaler() if isinstance(model, WSF | DeepWSF) else MinMaxScaler(clip=True)
    model = clone(model).set_params(random_state=0)
    steps = make_pipeline(scaler, model, StandardScaler(), LogisticRegression(max_iter=500))
    assert cross_val_score(steps, X, Y, cv=KFold(3, shuffle=True, random_state=0)).mean() > 0.91


@pytest.mark.parametrize("y", [None, Y])
def test_without_labels_they_are_those_of_the_fit(y):
    data = MinMaxScaler().fit_transform(X)
    model = SlowFeatureNMF(4, random_state=0)
    H = model.fit_transform(data, y)  # which it does not use
    assert_array_equal(H, model.layers_[-1].representation)
    model = GNMF(4, random_state=0)
    assert_array_equal(model.fit_transform(data), model.layers_[-1].representation)

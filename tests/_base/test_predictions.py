"""Clusters of the codes of the fit, and of those of `transform`: which method returns which."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans

from laminar import GNMF, NMF, WSF, ConstrainedNMF, DeepWSF, DiscriminantNMF, SemiNMF

rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(60, 10))
Y = np.where(rng.random(60) < 0.7, np.arange(60) % 3, -1)  # labels that the data do not show
MODELS = [
    NMF(3),
    SemiNMF(3),
    WSF(3, alpha=10.0),
    GNMF(3, alpha=10.0),
    ConstrainedNMF(3),
    DiscriminantNMF(3),
    DeepWSF((6, 3), alphas=10.0),
]


def nearest_clusters(training, H):
    """Whiten codes by those of the fit, scale rows to unit length, and assign them to k-means of those of the fit."""
    w, Q = np.linalg.eigh(training.T @ training)
    W = Q / np.sqrt(w)
    E, F = (A @ W / np.linalg.norm(A @ W, axis=1, keepdims=True) for A in (training, H))
    centres = KMeans(3, n_init=20, random_state=0).fit(E).cluster_centers_
    return np.array([np.argmin(((centres - f) ** 2).sum(1)) for f in F])


def same_partition(a, b):
    return len({*zip(a, b, strict=True)}) == len({*a}) == len({*b})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_predict_clusters_transform_and_fit_predict_the_fit(model):
    fitted = clone(model).set_params(random_state=0)
    labels = None if isinstance(model, NMF | SemiNMF) and not isinstance(model, WSF) else Y
    found = fitted.fit_predict(X, labels)
    codes = fitted.layers_[-1].representation
    assert same_partition(found, nearest_clusters(codes, codes))
    assert same_partition(fitted.predict(X), nearest_clusters(codes, fitted.transform(X)))
    assert_array_equal(fitted.cluster(), found)
    assert_array_equal(fitted.cluster(X), fitted.predict(X))
    expected = fitted.layers_[-1].representation if labels is None else fitted.transform(X)
    assert_array_equal(fitted.fit_transform(X, labels), expected)


def test_labels_are_in_the_codes_of_the_fit_alone():
    """Samples of one label are in one cluster of the fit; without their labels they are where the data are."""
    model = WSF(3, alpha=100.0, random_state=0)
    known, fitted = Y >= 0, model.fit_predict(X, Y)
    for c in range(3):
        assert len(np.unique(fitted[known & (c == Y)])) == 1
    predicted = model.predict(X)
    assert np.mean(fitted == predicted) < 0.8
    assert_array_equal(model.predict(X[::-1]), predicted[::-1])  # sample by sample

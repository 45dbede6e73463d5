"""Clusters of the codes of the fit, and of those of `transform`: which method returns which."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from laminar import GNMF, NMF, WSF, ConstrainedNMF, DeepWSF, DiscriminantNMF, SemiNMF
from laminar._base.graph_clusters import nearest_mean
from laminar._base.spectral import spectral_labels
from laminar.graphs import Rank

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


def clusters_by_hand(training, Z):
    """Spectral clusters of the rank graph of partly whitened codes, and what assigns further codes to them."""
    V = np.linalg.svd(training @ Z, full_matrices=False)[2][: len(Z)]
    s = np.linalg.norm(training @ Z @ V.T, axis=0)

    def form(H):
        F = H @ Z @ V.T / s * s**0.25
        return F / np.linalg.norm(F, axis=1, keepdims=True) ** 0.75

    A = Rank(10).build(form(training)).tocsr().toarray()
    labels = spectral_labels(A, 3, 0)
    return labels, lambda H: nearest_mean(form(training), labels, 0).predict(form(H))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_predict_clusters_transform_and_fit_predict_the_fit(model):
    fitted = clone(model).set_params(random_state=0)
    labels = None if isinstance(model, NMF | SemiNMF) and not isinstance(model, WSF) else Y
    found = fitted.fit_predict(X, labels)
    expected, of_new = clusters_by_hand(fitted.layers_[-1].representation, fitted.components_)
    assert adjusted_rand_score(found, expected) > 0.95
    assert adjusted_rand_score(fitted.predict(X), of_new(fitted.transform(X))) > 0.95
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

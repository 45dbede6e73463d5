"""Lifetime of the data: a fit releases X by reference counting alone."""

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from laminar import GNMF, NMF, DeepSemiNMF, SemiNMF
from laminar._engine.data.wrap import wrap

MODELS = {
    "nmf": NMF(3, random_state=0),
    "kl": NMF(3, loss="kl", max_iter=20, tol=0, random_state=0),
    "semi-nmf": SemiNMF(3, random_state=0),
    "gnmf": GNMF(3, n_neighbors=3, random_state=0),
    "deep": DeepSemiNMF((4, 2), random_state=0),
}
FORMATS = {"dense": np.asarray, "columns": np.asfortranarray, "csr": sp.csr_array, "csc": sp.csc_array}


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def stored(X):
    return X.data if sp.issparse(X) else X


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("model", MODELS)
def test_fit_releases_data(model, form, no_collector):
    X = FORMATS[form](np.random.default_rng(0).random((30, 8)))
    alive = weakref.ref(stored(X))
    MODELS[model].fit(X)
    del X
    assert alive() is None


@pytest.mark.parametrize("form", FORMATS)
def test_transpose_is_made_once(form):
    data = wrap(FORMATS[form](np.random.default_rng(0).random((30, 8))))
    assert data.T is data.T
    assert data.T.T is data


@pytest.mark.parametrize("form", FORMATS)
def test_transpose_outlives_matrix(form, no_collector):
    X = FORMATS[form](np.random.default_rng(0).random((30, 8)))
    transpose = wrap(X).T
    assert transpose.T.shape == X.shape
    assert transpose.T is transpose.T
    assert transpose.T.T is transpose

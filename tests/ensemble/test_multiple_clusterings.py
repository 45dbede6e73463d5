"""`MultipleClusterings`: attributes without labels, numbers of layers and clusters, new samples, forms of input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from laminar import MultipleClusterings, layer_attribute_table, load
from laminar.datasets import make_attributes, sample_attributes
from laminar.metrics import normalized_mutual_information

DATA = make_attributes(120, levels=(6, 3), n_features=30, scales=(3.0, 1.5), noise=0.3, random_state=0)
X, MANY, FEW = DATA.X, DATA.y[:, 0], DATA.y[:, 1]
MODEL = MultipleClusterings(random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return clone(MODEL).fit(X)


def best(model, y, samples=None, n_clusters=None):
    """The NMI of the layer that shows an attribute best."""
    found = [model.cluster(samples, n_clusters, layer=i) for i in range(len(model.layers_))]
    return max(normalized_mutual_information(y, labels) for labels in found)


# Layers


def test_layers_show_different_attributes(fitted):
    assert best(fitted, MANY, n_clusters=6) > 0.9
    assert best(fitted, FEW, n_clusters=3) > 0.9


def test_layers_are_ordered_and_differ(fitted):
    assert (np.diff(fitted.support_) <= 0).all()
    agreement = fitted.pairwise_agreement_
    assert (agreement[~np.eye(len(agreement), dtype=bool)] <= fitted.max_agreement).all()
    assert len(fitted.layers_) == len(fitted.common_) == len(agreement) <= 5


def test_one_attribute_stands_out():
    blobs = np.random.default_rng(0).normal(size=(80, 30)) + 6 * np.eye(4, 30).repeat(20, axis=0)
    model = clone(MODEL).fit(blobs)
    assert best(model, np.arange(4).repeat(20)) > 0.95
    assert model.support_[0] > 0.8
    assert (model.support_[1:] < 0.5).all()


def test_noise_has_one_layer():
    noise = np.random.default_rng(0).normal(size=(160, 100))
    model = clone(MODEL).fit(noise)
    assert len(model.layers_) == 1
    assert model.support_[0] < 0.25


def test_callback_stops_after_a_subspace():
    model = clone(MODEL).set_params(callback=lambda state: state.iteration == 2).fit(X)
    assert (model.n_iter_, model.converged_) == (2, False)
    assert len(model.layers_) <= 2


# Memberships and new samples


def test_memberships_are_shares(fitted):
    for i, layer in enumerate(fitted.layers_):
        H = layer.representation
        assert (H >= 0).all()
        np.testing.assert_allclose(H.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(fitted.transform(X, layer=i), H, rtol=0, atol=1e-9)
        means = np.array([X[fitted.cluster(layer=i) == j].mean(axis=0) for j in np.unique(H.argmax(axis=1))])
        Z = layer.components[np.unique(H.argmax(axis=1))]
        assert np.linalg.norm(Z - means) < 0.5 * np.linalg.norm(means)


def test_new_samples_have_the_clusters_of_the_fit(fitted):
    new = sample_attributes(DATA.maps, 80, noise=0.3, random_state=1)
    assert best(fitted, new.y[:, 0], new.X, 6) > 0.85
    assert best(fitted, new.y[:, 1], new.X, 3) > 0.85


def test_all_layers_side_by_side(fitted):
    widths = [common["n_clusters"] for common in fitted.common_]
    assert fitted.transform(X, layer="all").shape == (120, sum(widths))
    with pytest.raises(ValueError, match="'all' is no layer that clusters belong to"):
        fitted.cluster(layer="all")


def test_components_of_a_layer(fitted):
    last = len(fitted.layers_) - 1
    Z = fitted.layers_[last].components
    np.testing.assert_allclose(fitted.inverse_transform(np.eye(len(Z)), layer=last), Z)
    with pytest.raises(ValueError, match=r"H must have shape \(n_samples, "):
        fitted.inverse_transform(np.ones((2, len(Z) + 1)), layer=last)


def test_many_samples_by_a_subsample():
    model = clone(MODEL).set_params(max_samples=80).fit(X)
    assert model.labels_.shape == (120,)
    assert best(model, MANY) > 0.8
    with pytest.raises(ValueError, match="graphs are of 80 of the training samples"):
        model.cluster(n_clusters=6)
    assert best(model, MANY, X, 6) > 0.85


def test_more_clusters_than_samples_are_refused(fitted):
    with pytest.raises(ValueError, match="n_clusters=121 is more than the 120 samples"):
        fitted.cluster(n_clusters=121)


# Forms of input, files, tables


def test_sparse_data_have_the_clusters_of_dense_data():
    counts = np.random.default_rng(0).poisson(0.05 + 0.6 * np.eye(3).repeat(15, axis=1)[FEW[:60]]).astype(float)
    dense, sparse = clone(MODEL).fit(counts), clone(MODEL).fit(sp.csr_array(counts))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_allclose(dense.components_, sparse.components_, rtol=0, atol=1e-9)


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match='"tfidf" is for counts'):
        clone(MODEL).set_params(form="tfidf").fit(X)


def test_saved_model_clusters_as_before(fitted, tmp_path):
    fitted.save(tmp_path / "model.laminar")
    again = load(tmp_path / "model.laminar")
    last = len(fitted.layers_) - 1
    np.testing.assert_array_equal(again.cluster(n_clusters=3, layer=last), fitted.cluster(n_clusters=3, layer=last))
    assert again.common_ == fitted.common_


def test_table_has_a_row_for_each_layer(fitted):
    table = layer_attribute_table(fitted, None, {"many": MANY, "few": FEW}, metrics=("nmi",), n_init=3)
    rows = [name for name in table.index if name.startswith("layer")]
    assert len(rows) == len(fitted.layers_)
    assert table.loc[rows, ("many", "nmi")].max() > 0.8
    assert table.loc[rows, ("few", "nmi")].max() > 0.8

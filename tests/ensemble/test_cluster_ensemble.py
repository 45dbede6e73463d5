"""`ClusterEnsemble`: forms of input, holes, new samples, what is said about the members, and real sets."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris

from laminar import ClusterEnsemble
from laminar.datasets import load, make_views
from laminar.metrics import clustering_accuracy, normalized_mutual_information

DATA = make_views(80, n_classes=4, random_state=0)
VIEWS, Y = DATA.views, DATA.y
MODEL = ClusterEnsemble(4, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return clone(MODEL).fit(VIEWS)


@pytest.fixture(scope="module")
def mask():
    has = np.random.default_rng(0).random((80, 3)) > 0.3
    has[~has.any(axis=1), 0] = True
    return has


def holes(views, has):
    return [np.where(own[:, None], view, np.nan) for view, own in zip(views, has.T, strict=True)]


# Clusters and the factorisation that shows them


def test_clusters_of_views(fitted):
    assert clustering_accuracy(Y, fitted.labels_) == 1
    assert (fitted.fit_predict(VIEWS) == fitted.labels_).all()


def test_memberships_are_shares(fitted):
    H = fitted.layers_[0].representation
    assert (H >= 0).all()
    np.testing.assert_allclose(H.sum(axis=1), 1, rtol=1e-12)
    assert (H.argmax(axis=1) == fitted.labels_).all()


def test_components_are_near_the_means_of_clusters(fitted):
    X = np.hstack(VIEWS)
    means = np.array([X[fitted.labels_ == j].mean(axis=0) for j in range(4)])
    assert np.linalg.norm(fitted.components_ - means) < 0.1 * np.linalg.norm(means)
    np.testing.assert_allclose(fitted.inverse_transform(np.eye(4)), fitted.components_)
    with pytest.raises(ValueError, match=r"H must have shape \(n_samples, 4\), got \(2, 3\)"):
        fitted.inverse_transform(np.ones((2, 3)))


# Forms of input


def test_views_in_every_form(fitted):
    stacked = np.hstack(VIEWS)
    sizes = [view.shape[1] for view in VIEWS]
    for X, parameters in (
        (dict(zip("abc", VIEWS, strict=True)), {}),
        (tuple(VIEWS), {}),
        (stacked, {"view_sizes": sizes}),
    ):
        model = clone(MODEL).set_params(**parameters).fit(X)
        np.testing.assert_array_equal(model.labels_, fitted.labels_)
        np.testing.assert_allclose(model.transform(X), fitted.transform(VIEWS), rtol=0, atol=1e-12)


def test_one_view_is_a_list_of_one_view():
    one, listed = clone(MODEL).fit(VIEWS[0]), clone(MODEL).fit([VIEWS[0]])
    np.testing.assert_array_equal(one.labels_, listed.labels_)
    np.testing.assert_array_equal(one.transform(VIEWS[0]), listed.transform([VIEWS[0]]))
    assert {member.source for member in one.members_} == {"view"}


def test_sparse_data_have_the_clusters_of_dense_data():
    counts = np.random.default_rng(0).poisson(0.05 + 0.6 * np.eye(4).repeat(15, axis=1)[Y])
    X = counts.astype(float)
    dense, sparse = clone(MODEL).fit(X), clone(MODEL).fit(sp.csr_array(X))
    assert {member.form for member in dense.members_} == {"unit", "tfidf"}
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_allclose(dense.components_, sparse.components_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(dense.transform(X), sparse.transform(sp.csr_array(X)), rtol=0, atol=1e-9)


def test_order_of_samples_does_not_matter(fitted):
    order = np.random.default_rng(1).permutation(80)
    again = clone(MODEL).fit([view[order] for view in VIEWS])
    assert clustering_accuracy(fitted.labels_[order], again.labels_) == 1


def test_forms_can_be_given():
    model = clone(MODEL).set_params(forms=["raw"]).fit(VIEWS)
    assert {member.form for member in model.members_} == {"raw"}
    by_view = clone(MODEL).set_params(forms={0: ["unit"]}).fit(VIEWS)
    assert "unit, raw" in {member.form for member in by_view.members_}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"whitening": (0.5, 2)}, "whitening must be one or more numbers from 0 to 1"),
        ({"whitening": ()}, "whitening must be"),
        ({"n_clusters": 81}, "n_clusters=81 needs a sample a cluster, but n_samples=80"),
        ({"forms": "log"}, "'forms' parameter of ClusterEnsemble"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        clone(MODEL).set_params(**parameters).fit(VIEWS)


# Holes and new samples


def test_samples_that_lack_views(mask):
    model = clone(MODEL).fit(holes(VIEWS, mask))
    assert clustering_accuracy(Y, model.labels_) > 0.95
    np.testing.assert_array_equal(clone(MODEL).fit(VIEWS, observed=mask).labels_, model.labels_)


def test_new_samples_by_vote(fitted, mask):
    new = make_views(160, n_classes=4, random_state=0)
    model = clone(MODEL).fit([view[::2] for view in new.views])
    rest = [view[1::2] for view in new.views]
    H = model.transform(rest)
    np.testing.assert_allclose(H.sum(axis=1), 1, rtol=1e-12)
    truth = [np.bincount(new.y[::2][model.labels_ == j]).argmax() for j in range(4)]
    assert np.mean(np.array(truth)[model.predict(rest)] == new.y[1::2]) > 0.95
    lacking = model.predict(holes(rest, mask))
    assert np.mean(np.array(truth)[lacking] == new.y[1::2]) > 0.9
    assert model.predict([rest[0], None, None]).shape == (80,)


def test_samples_are_coded_one_by_one(fitted):
    together = fitted.transform(VIEWS)
    alone = np.vstack([fitted.transform([view[i : i + 1] for view in VIEWS]) for i in range(3)])
    np.testing.assert_allclose(alone, together[:3], rtol=0, atol=1e-12)


def test_many_samples_by_a_subsample():
    data = make_views(300, n_classes=4, random_state=0)
    model = clone(MODEL).set_params(max_samples=100).fit(data.views)
    assert model.labels_.shape == (300,)
    assert clustering_accuracy(data.y, model.labels_) > 0.95
    np.testing.assert_allclose(model.layers_[0].representation.sum(axis=1), 1, rtol=1e-12)


def test_view_that_few_samples_have_is_in_the_subsample():
    data = make_views(300, n_classes=4, random_state=0)
    has = np.ones((300, 3), bool)
    has[5:, 2] = False
    model = clone(MODEL).set_params(max_samples=20).fit(data.views, observed=has)
    assert np.isfinite(model.components_).all()


# What is said about the members


def test_members_kept_and_what_they_have_in_common(fitted):
    assert len(fitted.members_) == len(fitted.agreement_) == len(fitted.kept_) == 30
    assert fitted.pairwise_agreement_.shape == (30, 30)
    for shares in fitted.common_.values():
        assert sum(shares.values()) == pytest.approx(1)
    assert set(fitted.common_["source"]) <= {"sum", "joint"}
    assert fitted.weights_.sum() == pytest.approx(1)


def test_second_reading():
    """Two attributes of one size: members that see the other one are an alternative, or all see the same."""
    rng = np.random.default_rng(0)
    a, b = np.repeat([0, 1], 60), np.tile([0, 1], 60)
    X = np.column_stack([8 * a, 800 * b]) + rng.normal(size=(120, 2)) * [1, 100]
    model = ClusterEnsemble(2, random_state=0).fit(X)
    found = [model.labels_, *(reading.labels for reading in model.alternatives_)]
    assert max(normalized_mutual_information(truth, found[0]) for truth in (a, b)) > 0.9
    for reading in model.alternatives_:
        assert 1 < len(reading.members) <= model.n_iter_ // 2
        assert reading.labels.shape == (120,)


def test_callback_counts_members_and_stops():
    states = []

    def callback(state):
        states.append((state.iteration, state.model().labels_))
        return state.iteration == 4

    model = clone(MODEL).set_params(callback=callback).fit(VIEWS)
    assert [iteration for iteration, _ in states] == [1, 2, 3, 4]
    assert model.n_iter_ == len(model.members_) == 4
    assert not model.converged_
    np.testing.assert_array_equal(states[-1][1], model.labels_)


def test_verbose_says_the_forms(capsys):
    clone(MODEL).set_params(verbose=1).fit(VIEWS)
    assert "view 0 in the forms raw, standard, unit" in capsys.readouterr().err


def test_threads_do_not_matter():
    from threadpoolctl import threadpool_limits

    X = load_iris().data
    many = ClusterEnsemble(3, random_state=0).fit(X)
    with threadpool_limits(1):
        one = ClusterEnsemble(3, random_state=0).fit(X)
    np.testing.assert_array_equal(many.labels_, one.labels_)


# Real sets


@pytest.mark.parametrize(("name", "least"), [("orl_mv", 0.94), ("3sources_mv", 0.65)])
def test_real_views(real_data, name, least):
    real_data(name)
    data = load(name, dtype=np.float64)
    y = data[data.attributes[0]]
    labels = ClusterEnsemble(len(np.unique(y)), random_state=0).fit_predict(data.views)
    assert normalized_mutual_information(y, labels, "arithmetic") > least

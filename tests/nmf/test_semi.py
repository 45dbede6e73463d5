import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from laminar import NMF, SemiNMF
from reference import models as plain

N, P, K = 60, 12, 4
WAYS = [{"solver": "hals"}, {"solver": "mu"}, {"solver": "apg"}, {"rule": "published"}]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
MIXED = rng.gamma(0.7, size=(N, K)) @ rng.normal(size=(K, P)) + 0.5 * rng.normal(size=(N, P))
POSITIVE = rng.gamma(0.7, size=(N, 2 * K)) @ rng.gamma(0.7, size=(2 * K, P))
H0 = rng.uniform(0.1, 1, (N, K))


def fit(X, k=K, **parameters):
    return SemiNMF(k, **({"random_state": 0, "tol": 1e-9, "max_iter": 3000} | parameters)).fit(X)


def codes(model):
    return model.layers_[0].representation


@pytest.mark.parametrize("given", [None, rng.normal(size=(K, P))], ids=["codes", "both"])
def test_published_rule_is_the_papers(given):
    """Which begins with the components: those of a start have no say."""
    for n_iter, (H, Z) in enumerate(plain.semi_nmf(MIXED, H0, 12), start=1):
        model = fit(MIXED, rule="published", init=(H0, given), max_iter=n_iter, tol=0)
        size = np.linalg.norm(Z, axis=1)
        np.testing.assert_allclose(codes(model), H * size, rtol=1e-9)
        np.testing.assert_allclose(model.components_, Z / size[:, None], atol=1e-10)


@every_way
@pytest.mark.parametrize("X", [MIXED, POSITIVE], ids=["mixed", "positive"])
def test_objective_never_rises_and_is_what_it_says(X, way):
    model = fit(X, init=(H0, None), max_iter=200, **way)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    value = plain.objective(X, codes(model), model.components_)
    assert value <= history[-1] * (1 + 1e-10)
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * value), rel=1e-8)
    assert model.reconstruction_err_ >= plain.svd_tail(X, K) * (1 - 1e-10)


@pytest.mark.parametrize("solver", ["hals", "apg"])
def test_optimality_conditions(solver):
    model = fit(MIXED, solver=solver, init="random", tol=1e-13)
    H, Z = codes(model), model.components_
    residual = MIXED - H @ Z
    assert np.linalg.norm(np.minimum(H, -residual @ Z.T)) < 1e-5 * np.linalg.norm(MIXED @ Z.T)
    assert np.linalg.norm(H.T @ residual) < 1e-5 * np.linalg.norm(H.T @ MIXED)


# ------------------------------------------------------------------------------------------- the global optimum


@pytest.mark.parametrize("k", [1, 2, 4, 7])
@pytest.mark.parametrize("parameters", [{}, {"init": "lp"}, {"init": "svd"}], ids=["auto", "lp", "svd"])
def test_non_negative_data_attain_the_svd(k, parameters):
    if parameters.get("init") == "svd":  # its own start has rank k - 1
        assert fit(POSITIVE, k, **parameters).reconstruction_err_ <= plain.svd_tail(POSITIVE, k - 1) * (1 + 1e-10)
    else:
        model, tail = fit(POSITIVE, k, **parameters), plain.svd_tail(POSITIVE, k)
        assert model.reconstruction_err_ == pytest.approx(tail, rel=1e-8)
        assert model.objective_history_[0] == pytest.approx(tail**2 / 2, rel=1e-8)  # the start is the optimum


@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_svd_start_of_mixed_data_is_at_least_the_lower_rank(k):
    assert fit(MIXED, k, init="svd").reconstruction_err_ <= plain.svd_tail(MIXED, k - 1) * (1 + 1e-10)


@pytest.mark.parametrize("init", ["svd", "lp"])
def test_one_component_more_than_the_rank_is_enough(init):
    low = np.random.default_rng(1).normal(size=(N, 3)) @ np.random.default_rng(2).normal(size=(3, P))
    assert fit(low, 4, init=init).score(low) > 1 - 1e-6


def test_no_better_than_the_svd_no_worse_than_k_means():
    means = KMeans(K, n_init=5, random_state=0).fit(MIXED)
    model = fit(MIXED, init=(np.eye(K)[means.labels_], None))
    assert model.objective_history_[0] <= means.inertia_ / 2 * (1 + 1e-10)
    assert plain.svd_tail(MIXED, K) * (1 - 1e-10) <= model.reconstruction_err_ <= np.sqrt(means.inertia_)


# ------------------------------------------------------------------------------------------ what must not matter


@every_way
def test_rotated_features_have_the_same_codes(way):
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(P, P)))[0]
    one, other = (fit(X, init=(H0, None), max_iter=20, tol=0, **way) for X in (MIXED, MIXED @ Q))
    np.testing.assert_allclose(codes(other), codes(one), atol=1e-7)
    np.testing.assert_allclose(other.components_, one.components_ @ Q, atol=1e-7)


@every_way
@pytest.mark.parametrize("c", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_do_not_matter(way, c, dtype):
    one, other = (fit((s * MIXED).astype(dtype), init=(H0, None), max_iter=15, tol=0, **way) for s in (1, c))
    tol = 5e-3 if dtype == np.float32 else 1e-7
    np.testing.assert_allclose(other.components_, one.components_, atol=tol)
    np.testing.assert_allclose(codes(other).astype(float) / c, codes(one), atol=tol * codes(one).max())


@every_way
def test_order_does_not_matter(way):
    rows, columns = (np.random.default_rng(4).permutation(size) for size in (N, P))
    one = fit(MIXED, init=(H0, None), max_iter=20, tol=0, **way)
    other = fit(MIXED[np.ix_(rows, columns)], init=(H0[rows], None), max_iter=20, tol=0, **way)
    np.testing.assert_allclose(codes(other), codes(one)[rows], atol=1e-7)
    np.testing.assert_allclose(other.components_, one.components_[:, columns], atol=1e-7)


@every_way
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_is_dense(way, form):
    dense, sparse = (fit(A, init=(H0, None), max_iter=15, tol=0, **way) for A in (MIXED, form(MIXED)))
    np.testing.assert_allclose(sparse.objective_history_, dense.objective_history_, rtol=1e-8)
    np.testing.assert_allclose(sparse.transform(form(MIXED)), dense.transform(MIXED), atol=1e-7)


@pytest.mark.parametrize("init", ["random", "kmeans", "svd", "lp", "nndsvda", "nndsvdar"])
def test_every_start_and_seed(init):
    one, again = fit(MIXED, init=init), fit(MIXED, init=init)
    assert np.array_equal(one.components_, again.components_)
    assert one.score(MIXED) > 0.9 * (1 - plain.svd_tail(MIXED, K) ** 2 / (MIXED**2).sum())
    assert fit(MIXED, init=one).reconstruction_err_ <= one.reconstruction_err_ * (1 + 1e-9)


def test_an_nmf_is_a_start():
    nmf = NMF(K, random_state=0).fit(POSITIVE)
    assert fit(POSITIVE, init=nmf).reconstruction_err_ <= nmf.reconstruction_err_


# ---------------------------------------------------------------------------------------------------- new samples


def test_codes_are_exact_and_of_each_sample_alone():
    model = fit(MIXED)
    new = np.random.default_rng(5).normal(size=(30, P))
    expected = np.array([nnls(model.components_.T, x)[0] for x in new])
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-9)
    np.testing.assert_allclose(np.vstack([model.transform(x[None]) for x in new]), model.transform(new), atol=1e-12)
    np.testing.assert_allclose(model.transform(MIXED), codes(model), atol=1e-9)


def test_known_codes_are_recovered():
    model = fit(MIXED)
    H = np.random.default_rng(6).gamma(0.5, size=(30, K))
    np.testing.assert_allclose(model.transform(model.inverse_transform(H)), H, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(H), H @ model.components_)


def test_clusters_are_found():
    means, labels = 5 * np.random.default_rng(7).normal(size=(3, P)), np.repeat([0, 1, 2], 20)
    X = means[labels] + np.random.default_rng(8).normal(size=(N, P)) * 0.3
    found = SemiNMF(3, random_state=0).fit_predict(X)
    assert len(set(zip(labels, found, strict=True))) == 3
    model = SemiNMF(3, n_clusters=2, random_state=0).fit(X)
    assert set(model.predict(X)) == {0, 1}
    assert set(model.cluster(X, 3)) == {0, 1, 2}
    assert np.array_equal(model.fit_predict(X), model.predict(X))


# ------------------------------------------------------------------------------------------------------ real data


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_faces_attain_the_published_bound(real_data, dtype):
    X = real_data("pie_pose27").X.astype(dtype)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    errors = [SemiNMF(k, random_state=0).fit(X).reconstruction_err_ for k in (20, 30, 40, 50, 60, 70)]
    np.testing.assert_allclose(errors, [8.249, 6.812, 5.766, 4.959, 4.288, 3.725], rtol=1e-3)


def test_components_that_come_to_depend_on_each_other_do_not_stop_the_fit():
    """Without a ridge codes grow: coordinate descent alone stops 7 % above the bound, with better codes next to it."""
    X = np.random.default_rng(0).normal(size=(100, 30))
    with pytest.warns(ConvergenceWarning, match='Use ridge="auto"'):
        model = SemiNMF(5, ridge=0, random_state=0).fit(X)
    bound = (np.linalg.svd(X, compute_uv=False)[5:] ** 2).sum() / 2
    assert model.objective_history_[-1] < 1.02 * bound
    assert model.reconstruction_err_**2 / 2 == pytest.approx(model.objective_history_[-1], rel=1e-3)


@pytest.mark.parametrize("init", ["random", "nndsvd", "nndsvda", "nndsvdar"])
def test_no_start_dies_on_negative_data(init):
    X = -np.random.default_rng(0).gamma(1.0, size=(30, 8))
    model = SemiNMF(3, init=init, random_state=0).fit(X)
    assert (model.layers_[0].representation.max(0) > 0).all()
    assert model.reconstruction_err_ < 0.5 * np.linalg.norm(X)

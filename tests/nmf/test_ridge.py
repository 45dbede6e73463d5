"""Semi-NMF on centred data: the ridge and the offset (docs/methods.md 4.5)."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import nnls
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laminar import WSF, DeepSemiNMF, DeepWSF, SemiNMF

rng = np.random.default_rng(0)
WINE = StandardScaler().fit_transform(load_wine().data)
TABLES = {"wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
CASES = [("wine", 6), ("wine", 10), ("cancer", 10), ("digits", 6)]


def standardised(name):
    return StandardScaler().fit_transform(TABLES[name]().data)


def tail(X, j):
    """Squared error of the truncated SVD."""
    return float((np.linalg.svd(X, compute_uv=False)[j:] ** 2).sum())


def energy(model, layer=-1):
    """``sum_a ||h_a||^2 ||z_a||^2``."""
    of = model.layers_[layer]
    return float((of.representation**2).sum(0) @ (of.components**2).sum(1))


def objective(X, H, Z, rho, b=0.0):
    return ((X - b - H @ Z) ** 2).sum() / 2 + rho / 2 * ((H**2).sum(0) * (Z**2).sum(1)).sum()


# The ridge


@pytest.mark.parametrize(("name", "k"), CASES)
def test_standardised_data_have_bounded_codes_and_the_error_of_one_direction_less(name, k):
    X = standardised(name)
    model = SemiNMF(k, random_state=0).fit(X)
    assert model.converged_
    assert energy(model) <= 20 * (X**2).sum()
    assert model.reconstruction_err_**2 <= 1.01 * tail(X, k - 1)
    assert model.ridge_ == pytest.approx(0.01 * tail(X, k - 1) / (X**2).sum())


@pytest.mark.parametrize("solver", ["hals", "mu", "apg"])
def test_objective_falls_and_is_that_of_the_definition(solver):
    model = SemiNMF(4, solver=solver, tol=1e-7, random_state=0, max_iter=2000).fit(WINE)
    H, Z = model.layers_[0].representation, model.components_
    assert (np.diff(model.objective_history_) <= 1e-12 * model.objective_history_[0]).all()
    # Codes and components are made exact in the end.
    assert objective(WINE, H, Z, model.ridge_) == pytest.approx(model.objective_history_[-1], rel=1e-3)


def test_fit_is_stationary():
    """Against the gradients of (1), written out."""
    model = SemiNMF(3, tol=1e-12, random_state=0, max_iter=5000).fit(WINE)
    H, Z, rho = model.layers_[0].representation, model.components_, model.ridge_
    by_H = (H @ Z - WINE) @ Z.T + rho * H * (Z**2).sum(1)
    by_Z = H.T @ (H @ Z - WINE) + rho * (H**2).sum(0)[:, None] * Z
    size = np.linalg.norm(WINE @ Z.T)
    assert np.linalg.norm(np.minimum(H, by_H)) < 1e-4 * size
    assert np.linalg.norm(by_Z) < 1e-4 * np.linalg.norm(H.T @ WINE)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("start", ["kmeans", "svd", "lp", "random"])
def test_every_start_leads_to_bounded_codes(start):
    model = SemiNMF(6, init=start, random_state=0).fit(WINE)
    assert energy(model) <= 10 * (WINE**2).sum()
    assert model.objective_history_[-1] <= 1.05 * SemiNMF(6, random_state=0).fit(WINE).objective_history_[-1]


def test_new_samples_have_the_same_ridge():
    model = SemiNMF(6, random_state=0).fit(WINE[:100])
    Z, rho = model.components_, model.ridge_
    A = np.vstack([Z.T, np.sqrt(rho) * np.eye(6)])
    expected = [nnls(A, np.append(x, np.zeros(6)))[0] for x in WINE[100:120]]
    got = model.transform(WINE[100:120])
    assert_allclose(got, expected, atol=1e-7)
    bound = np.linalg.norm(WINE[100:120], axis=1) / (2 * np.sqrt(rho))
    assert (np.linalg.norm(got, axis=1) <= bound).all()


def test_codes_of_the_fit_are_those_of_transform():
    model = SemiNMF(6, random_state=0).fit(WINE)
    assert_allclose(model.transform(WINE), model.layers_[0].representation, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 3.0, 1e6])
@pytest.mark.parametrize("fit_offset", [False, True])
def test_scale_of_X_is_that_of_the_codes(scale, fit_offset):
    one, other = (SemiNMF(5, fit_offset=fit_offset, random_state=0).fit(WINE * s) for s in (1, scale))
    assert_allclose(other.layers_[0].representation / scale, one.layers_[0].representation, atol=1e-5)
    assert_allclose(other.components_, one.components_, atol=1e-6)
    assert other.ridge_ == pytest.approx(one.ridge_)


@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_nonnegative_data_have_no_ridge_and_the_error_of_the_svd(k):
    X = rng.gamma(1.0, size=(40, 12))
    model = SemiNMF(k, random_state=0).fit(X)
    assert model.ridge_ == 0
    assert model.reconstruction_err_**2 == pytest.approx(tail(X, k), rel=1e-6)


def test_data_of_mixed_sign_on_one_side_have_no_ridge():
    X = rng.normal(size=(60, 8)) + 6
    assert (X.min(), SemiNMF(3, random_state=0).fit(X).ridge_) > (0, -1)
    X[:, 0] -= 6  # of mixed sign, still on one side of a plane
    model = SemiNMF(3, random_state=0).fit(X)
    assert model.ridge_ == 0
    assert model.reconstruction_err_**2 == pytest.approx(tail(X, 3), rel=1e-6)


def test_one_component_needs_no_ridge():
    model = SemiNMF(1, random_state=0).fit(WINE)
    assert model.ridge_ == 0
    assert energy(model) <= (WINE**2).sum()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_more_components_than_the_rank_of_X():
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 9))
    model = SemiNMF(6, random_state=0).fit(X)
    assert model.reconstruction_err_**2 <= 1e-3 * (X**2).sum()
    assert energy(model) <= 20 * (X**2).sum()


def test_single_precision_is_as_good():
    single = SemiNMF(6, random_state=0).fit(WINE.astype(np.float32))
    double = SemiNMF(6, random_state=0).fit(WINE)
    assert single.components_.dtype == np.float32
    assert single.reconstruction_err_ == pytest.approx(double.reconstruction_err_, rel=5e-3)


def test_wide_and_tall_data_run_on_singular_vectors():
    """More than 2 (2k + 10) features, and 200 k samples: the iterations see neither all features nor all samples."""
    low = rng.normal(size=(900, 20)) @ rng.normal(size=(20, 60))
    X = low + 0.5 * rng.normal(size=low.shape)
    X -= X.mean(0)
    model = SemiNMF(4, random_state=0).fit(X)
    H, Z = model.layers_[0].representation, model.components_
    # From codes of the components that were learned on few samples.
    assert model.objective_history_[0] <= 1.05 * model.objective_history_[-1]
    assert model.reconstruction_err_**2 <= 1.01 * tail(X, 3)
    assert model.reconstruction_err_**2 == pytest.approx(((X - H @ Z) ** 2).sum())
    expected = np.linalg.solve(H.T @ H + model.ridge_ * np.diag((H**2).sum(0)), H.T @ X)
    assert_allclose(expected @ Z.T, Z @ Z.T, atol=2e-2)  # Z before the last codes


def test_without_a_ridge_large_codes_are_named():
    with pytest.warns(ConvergenceWarning, match="more than 100 times as large as X.*fit_offset"):
        SemiNMF(6, ridge=0, max_iter=2000, random_state=0).fit(WINE)


@pytest.mark.parametrize("parameters", [{"ridge": 0.1}, {"fit_offset": True}])
def test_published_rule_has_no_ridge(parameters):
    with pytest.raises(ValueError, match="published"):
        SemiNMF(3, rule="published", **parameters).fit(WINE)


# The offset


@pytest.mark.parametrize(("name", "k"), CASES)
def test_offset_reconstructs_as_pca(name, k):
    X = standardised(name) + 3
    model = SemiNMF(k, fit_offset=True, random_state=0).fit(X)
    assert model.reconstruction_err_**2 <= 1.01 * tail(X - X.mean(0), k)
    assert energy(model) <= 20 * ((X - X.mean(0)) ** 2).sum()
    assert np.linalg.cond(model.components_) < 20
    H = model.layers_[0].representation
    assert (H >= 0).all()
    assert_allclose(model.inverse_transform(H), model.offset_ + H @ model.components_)
    assert np.linalg.norm(X - model.inverse_transform(H)) == pytest.approx(model.reconstruction_err_)
    assert model.score(X) == pytest.approx(1 - model.reconstruction_err_**2 / (X**2).sum())


def test_offset_objective_falls_and_b_is_the_best():
    model = SemiNMF(4, fit_offset=True, tol=1e-10, max_iter=3000, random_state=0).fit(WINE)
    H, Z, b = model.layers_[0].representation, model.components_, model.offset_
    assert (np.diff(model.objective_history_) <= 1e-12 * model.objective_history_[0]).all()
    assert objective(WINE, H, Z, model.ridge_, b) == pytest.approx(model.objective_history_[-1], rel=1e-4)
    assert_allclose(b, (WINE - H @ Z).mean(0), atol=1e-3)


def test_translation_moves_the_offset_alone():
    shift = rng.normal(size=WINE.shape[1])
    one, other = (SemiNMF(5, fit_offset=True, random_state=0).fit(X) for X in (WINE, WINE + shift))
    assert_allclose(other.layers_[0].representation, one.layers_[0].representation, atol=1e-4)
    assert_allclose(other.offset_ - shift, one.offset_, atol=1e-4)
    assert_allclose(other.transform(WINE[:9] + shift), one.transform(WINE[:9]), atol=1e-4)


def test_offset_of_sparse_data_is_that_of_dense_data():
    X = sp.random_array((80, 15), density=0.3, rng=np.random.default_rng(0), format="csr")
    one, other = (SemiNMF(4, fit_offset=True, random_state=0).fit(data) for data in (X, X.toarray()))
    assert_allclose(one.components_, other.components_, atol=1e-5)
    assert_allclose(one.transform(X), other.transform(X.toarray()), atol=1e-5)


def test_offset_of_tall_data():
    X = 2 + rng.normal(size=(1200, 3)) @ rng.normal(size=(3, 20)) + 0.1 * rng.normal(size=(1200, 20))
    for init in ("auto", "random"):
        model = SemiNMF(3, init=init, fit_offset=True, random_state=0).fit(X)
        assert model.reconstruction_err_**2 <= 1.03 * tail(X - X.mean(0), 3)


@pytest.mark.parametrize("init", ["random", "kmeans", (rng.random((178, 4)), None)], ids=["random", "kmeans", "given"])
def test_offset_from_any_start(init):
    model = SemiNMF(4, init=init, fit_offset=True, random_state=0).fit(WINE)
    best = SemiNMF(4, fit_offset=True, random_state=0).fit(WINE).objective_history_[-1]
    assert model.objective_history_[-1] <= 1.05 * best


# A classifier on the codes


@pytest.mark.parametrize(("fit_offset", "fewer"), [(False, 1), (True, 0)])
@pytest.mark.parametrize("name", ["wine", "digits"])
def test_classifier_on_codes_is_as_good_as_on_principal_components(name, fit_offset, fewer):
    X, y = TABLES[name](return_X_y=True)

    def accuracy(model):
        steps = make_pipeline(StandardScaler(), model, StandardScaler(), LogisticRegression(max_iter=1000))
        return cross_val_score(steps, X, y, cv=KFold(3, shuffle=True, random_state=0)).mean()

    model = SemiNMF(6, fit_offset=fit_offset, random_state=0)
    assert accuracy(model) >= accuracy(PCA(6 - fewer)) - 0.03


# The other models


MODELS = {
    "wsf": WSF(5, alpha=0.1),
    "wsf, strong": WSF(5, alpha=100),
    "deep": DeepSemiNMF((8, 5)),
    "hidden layer smaller than the top": DeepSemiNMF((4, 5)),
    "graph": DeepSemiNMF((8, 5), graph="knn"),
    "coupled": DeepSemiNMF((8, 5), objective="coupled"),
    "batches": DeepSemiNMF((8, 5), batch_size=60),
    "deep wsf": DeepWSF((8, 5)),
    "deep wsf, coupled": DeepWSF((8, 5), objective="coupled"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_layers_of_standardised_data_have_bounded_codes(name):
    model = MODELS[name].set_params(random_state=0, max_iter=100)
    y = np.where(np.arange(len(WINE)) % 2, load_wine().target, -1)
    model.fit(WINE, y if "wsf" in name else None)
    size = (WINE**2).sum()
    for i, layer in enumerate(model.layers_):
        assert layer.ridge > 0
        assert energy(model, i) <= 20 * size
        assert (model.transform(WINE, layer=i) ** 2 @ (layer.components**2).sum(1)).sum() <= 20 * size


@pytest.mark.parametrize("layers", [(8, 5), (4, 5)], ids=["wide", "narrow"])
def test_deep_objective_is_that_of_the_definition(layers):
    model = DeepSemiNMF(layers, tol=1e-8, max_iter=2000, random_state=0).fit(WINE)
    top = model.layers_[-1]
    value = objective(WINE, top.representation, top.components, top.ridge)
    assert value == pytest.approx(model.objective_history_[-1], rel=1e-3)
    assert value <= 1.05 * SemiNMF(5, random_state=0).fit(WINE).objective_history_[-1] or layers == (4, 5)


def test_ridge_can_be_given():
    small, large = (SemiNMF(6, ridge=rho, random_state=0).fit(WINE) for rho in (0.001, 0.1))
    assert (small.ridge_, large.ridge_) == (0.001, 0.1)
    assert energy(large) < energy(small)
    assert [layer.ridge for layer in DeepSemiNMF((8, 5), ridge=0.02, random_state=0).fit(WINE).layers_] == [0.02, 0.02]


@pytest.mark.parametrize("parameters", [{"rule": "published"}, {"activation": "relu"}, {"solver": "adam"}])
def test_ridge_without_effect_is_refused(parameters):
    with pytest.raises(ValueError, match=r"ridge=0\.1 has no effect"):
        DeepSemiNMF((5, 3), ridge=0.1, **parameters).fit(WINE)

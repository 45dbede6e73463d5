import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from laminar import ConceptFactorization, SemiNMF
from laminar.metrics import clustering_accuracy
from laminar.nmf import embedding
from laminar.testing import check_model
from reference import fresh
from reference import models as plain

N, P, K = 60, 12, 4
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
MIXED = rng.gamma(0.7, size=(N, K)) @ rng.normal(size=(K, P)) + 0.5 * rng.normal(size=(N, P))
POSITIVE = rng.gamma(0.7, size=(N, 2 * K)) @ rng.gamma(0.7, size=(2 * K, P))
H0, A0 = rng.uniform(0.1, 1, (N, K)), rng.uniform(0.1, 1, (N, K)) / N
Q = np.linalg.qr(rng.normal(size=(P, P)))[0]
both_rules = pytest.mark.parametrize("rule", ["fast", "published"])
both_signs = pytest.mark.parametrize("X", [MIXED, POSITIVE], ids=["mixed", "positive"])


def fit(X, k=K, **parameters):
    return ConceptFactorization(k, **({"random_state": 0, "tol": 1e-9, "max_iter": 3000} | parameters)).fit(X)


def short(X, **parameters):
    return fit(X, **({"init": (H0, A0), "max_iter": 15, "tol": 0} | parameters))


def codes(model):
    return model.layers_[0].representation


# ---------------------------------------------------------------------------------------------- the published rules


@pytest.mark.parametrize(
    ("X", "parameters", "loop"),
    [
        (POSITIVE, {}, plain.concept_factorization),
        (POSITIVE @ Q, {}, plain.concept_factorization),  # negative entries, but no negative inner product
        (MIXED, {}, plain.concept_factorization_mixed),
        (MIXED, {"kernel": "rbf", "gamma": 0.1}, plain.concept_factorization),
        (MIXED, {"kernel": "linear"}, plain.concept_factorization_mixed),
    ],
    ids=["positive", "rotated", "mixed", "rbf", "linear"],
)
def test_published_rule_is_the_papers(X, parameters, loop):
    inner = rbf_kernel(X, gamma=0.1) if parameters.get("kernel") == "rbf" else X @ X.T
    for n_iter, (H, A) in enumerate(loop(inner, H0, A0, 8), start=1):
        model = short(X, rule="published", max_iter=n_iter, **parameters)
        size = np.sqrt(np.diag(A.T @ inner @ A))
        np.testing.assert_allclose(codes(model), H * size, rtol=1e-7)
        np.testing.assert_allclose(model.concepts_, A / size, rtol=1e-7)


def test_exponent_of_the_published_rule():
    H, A = H0, A0
    ((H, A),) = plain.concept_factorization_mixed(POSITIVE @ POSITIVE.T, H0, A0, 1)  # square roots
    model = short(POSITIVE, rule="published", eta=0.5, max_iter=1)
    np.testing.assert_allclose(codes(model) @ model.concepts_.T, H @ A.T, rtol=1e-9)


# ------------------------------------------------------------------------------------------------------------ the fit


@both_rules
@both_signs
def test_objective_never_rises_and_is_what_it_says(X, rule):
    model = fit(X, rule=rule, max_iter=150)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    value = plain.objective(X, codes(model) @ model.concepts_.T, X)
    assert value <= history[-1] * (1 + 1e-10)
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * value), rel=1e-8)
    assert model.reconstruction_err_ >= plain.svd_tail(X, K) * (1 - 1e-10)


@both_signs
def test_concepts_are_mixtures_of_samples_of_length_one(X):
    model = fit(X, max_iter=50)
    A = model.concepts_
    assert A.shape == (N, K)
    assert (A >= 0).all()
    np.testing.assert_allclose(model.components_, A.T @ X, atol=1e-12)
    np.testing.assert_allclose(np.einsum("ia,ij,ja->a", A, X @ X.T, A), 1, rtol=1e-10)
    assert all(nnls(X.T, z)[1] < 1e-8 for z in model.components_)  # in the cone of the samples


@both_signs
def test_optimality_conditions(X):
    model = fit(X, tol=1e-13)
    H, A, inner = codes(model), model.concepts_, X @ X.T
    H_grad, A_grad = H @ (A.T @ inner @ A) - inner @ A, inner @ A @ (H.T @ H) - inner @ H
    assert np.linalg.norm(np.minimum(H, H_grad)) < 1e-5 * np.linalg.norm(inner @ A)
    assert np.linalg.norm(np.minimum(A, A_grad)) < 1e-5 * np.linalg.norm(inner @ H)
    assert model.converged_


@both_signs
def test_fast_rule_is_lower_than_the_published_one(X):
    fast, published = (short(X, rule=rule, max_iter=60) for rule in ("fast", "published"))
    assert fast.reconstruction_err_ < published.reconstruction_err_


@both_signs
def test_no_better_than_free_components(X):
    free = SemiNMF(K, init=(codes(fit(X)), None), tol=1e-9, max_iter=3000).fit(X)
    assert free.reconstruction_err_ <= fit(X).reconstruction_err_ * (1 + 1e-9)


def test_samples_that_are_the_parts_are_found():
    # Separable data: every sample mixes three that are there.
    parts = np.random.default_rng(1).gamma(0.5, size=(3, P))
    X = np.vstack([np.random.default_rng(2).dirichlet(np.ones(3), size=20) @ parts, parts])
    model = fit(X, 3)
    assert model.reconstruction_err_ < 1e-3 * np.linalg.norm(X)
    assert sorted(model.concepts_.argmax(0)) == [20, 21, 22]


def test_zero_and_repeated_samples():
    X = np.vstack([np.zeros((2, P)), MIXED, MIXED[:3]])
    model = fit(X, max_iter=100)
    assert (model.concepts_[:2] == 0).all()
    assert (codes(model)[:2] == 0).all()
    np.testing.assert_allclose(codes(model)[2:5], codes(model)[-3:], atol=1e-9)


# ------------------------------------------------------------------------------------------ what must not matter


@both_rules
def test_only_inner_products_matter(rule):
    for X in (MIXED, POSITIVE):
        one = short(X, rule=rule)
        for other in (
            short(X @ Q, rule=rule),
            short(X, rule=rule, kernel="linear"),
            short(X @ X.T, rule=rule, kernel="precomputed"),
            short(X, rule=rule, kernel=np.dot),
        ):
            np.testing.assert_allclose(codes(other), codes(one), atol=1e-6 * codes(one).max())
            np.testing.assert_allclose(other.concepts_, one.concepts_, atol=1e-6 * one.concepts_.max())
            np.testing.assert_allclose(other.objective_history_, one.objective_history_, rtol=1e-7)


@both_rules
@pytest.mark.parametrize("c", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_do_not_matter(rule, c, dtype):
    one, other = (short((s * MIXED).astype(dtype), rule=rule) for s in (1, c))
    tol = 5e-3 if dtype == np.float32 else 1e-7
    np.testing.assert_allclose(other.components_, one.components_, atol=tol)
    np.testing.assert_allclose(codes(other).astype(float) / c, codes(one), atol=tol * codes(one).max())
    np.testing.assert_allclose(other.concepts_.astype(float) * c, one.concepts_, atol=tol * one.concepts_.max())


@both_rules
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, np.asfortranarray])
def test_sparse_is_dense(rule, form):
    for X in (MIXED, POSITIVE):
        dense, sparse = (short(A, rule=rule) for A in (X, form(X)))
        np.testing.assert_allclose(sparse.objective_history_, dense.objective_history_, rtol=1e-8)
        np.testing.assert_allclose(sparse.transform(form(X)), dense.transform(X), atol=1e-6)


@pytest.mark.parametrize("init", ["random", "kmeans"])
def test_every_start_and_seed(init):
    one, again = (fit(MIXED, init=init) for _ in range(2))
    assert np.array_equal(one.concepts_, again.concepts_)
    assert one.score(MIXED) > 0.9 * (1 - plain.svd_tail(MIXED, K) ** 2 / (MIXED**2).sum())
    on = fit(MIXED, init=(codes(one), one.concepts_))
    assert on.reconstruction_err_ <= one.reconstruction_err_ * (1 + 1e-9)
    assert on.n_iter_ < 20


@pytest.mark.parametrize("X", [MIXED, POSITIVE], ids=["mixed", "positive"])
def test_promises_of_every_model(X):
    check_model(ConceptFactorization(3), X)


@both_rules
@pytest.mark.parametrize("zero", ["H", "A"])
def test_a_start_from_zero_stays_finite(rule, zero):
    model = short(MIXED, rule=rule, init=(H0 * (zero != "H"), A0 * (zero != "A")))
    assert np.isfinite(model.concepts_).all()
    assert np.isfinite(codes(model)).all()


SAMPLES = """
from laminar import ConceptFactorization
X = np.random.default_rng(3).normal(size=(4000, 6))
model = ConceptFactorization(3, max_iter=3, tol=0, init="random")
model.fit(X[:50])
print(json.dumps(peak(lambda: model.fit(X))))
"""


def test_memory_is_linear_in_samples():
    assert fresh.run(fresh.PEAK + SAMPLES) < 4000 * 4000 * 8 / 10


# ---------------------------------------------------------------------------------------------------- new samples


def test_codes_are_exact_and_of_each_sample_alone():
    model = fit(MIXED)
    new = np.random.default_rng(5).normal(size=(30, P))
    expected = np.array([nnls(model.components_.T, x)[0] for x in new])
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-9)
    np.testing.assert_allclose(model.transform(MIXED), codes(model), atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(model.transform(new)), expected @ model.components_, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_codes_on_a_kernel(kernel):
    new, gamma = np.random.default_rng(5).normal(size=(20, P)), 0.05
    inner, cross = rbf_kernel(MIXED, gamma=gamma), rbf_kernel(new, MIXED, gamma=gamma)
    X, given = (MIXED, new) if kernel == "rbf" else (inner, cross)
    model = fit(X, kernel=kernel, gamma=gamma if kernel == "rbf" else None)
    A = model.concepts_
    np.testing.assert_allclose(np.einsum("ia,ij,ja->a", A, inner, A), 1, rtol=1e-8)
    # min h G h / 2 - k(x, X) A h over h >= 0, as a least squares problem
    root = np.linalg.cholesky(A.T @ inner @ A).T
    expected = np.array([nnls(root, np.linalg.solve(root.T, b))[0] for b in cross @ A])
    np.testing.assert_allclose(model.transform(given), expected, atol=1e-7)
    np.testing.assert_allclose(model.transform(X), codes(model), atol=1e-7)
    H = codes(model)
    error = np.trace(inner) - 2 * np.vdot(inner @ A, H) + np.vdot(H.T @ H, A.T @ inner @ A)
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(error), rel=1e-8)
    assert model.score(X) == pytest.approx(1 - error / np.trace(inner), rel=1e-8)


def test_clusters_are_found():
    X, labels = make_blobs(n_samples=90, centers=3, n_features=5, random_state=0)
    for parameters in ({}, {"kernel": "rbf"}, {"rule": "published"}):
        model = ConceptFactorization(3, random_state=0, **parameters).fit(X)
        assert clustering_accuracy(labels, model.predict(X)) == 1


def test_a_given_kernel_can_be_searched():
    search = GridSearchCV(ConceptFactorization(kernel="precomputed", random_state=0), {"n_components": [1, 4]}, cv=2)
    assert search.fit(rbf_kernel(MIXED, gamma=0.01)).best_params_ == {"n_components": 4}


# ------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("X", "parameters", "message"),
    [
        (MIXED, {"init": (H0, A0.T)}, r"init: A must have shape \(60, 4\), got \(4, 60\)"),
        (MIXED, {"init": (H0, None)}, r"init: A must have shape \(60, 4\), got \(\)"),
        (MIXED, {"init": (H0, -A0)}, "init: A must be non-negative"),
        (MIXED, {"init": (H0,)}, r"init must hold two arrays \(H, A\), got 1"),
        (MIXED, {"init": "svd"}, "'init' parameter of ConceptFactorization .*'kmeans'.*Got 'svd'"),
        (MIXED, {"kernel": "cubic"}, "'kernel' parameter of ConceptFactorization must be .*'rbf'.*Got 'cubic'"),
        (MIXED, {"kernel": "precomputed"}, r"a square X; got \(60, 12\)"),
        (
            MIXED,
            {"gamma": 0.1},
            "gamma=0.1 has no effect here: kernel=None has no such parameter",
        ),
        (MIXED, {"degree": 2}, "degree=2 has no effect here: kernel=None"),
        (MIXED, {"coef0": 0}, "coef0=0 has no effect here: kernel=None"),
        (MIXED, {"kernel": "rbf", "gamma": 0.1, "degree": 2}, "degree=2 has no effect here: kernel='rbf'"),
        (MIXED, {"kernel": rbf_kernel, "gamma": 0.1}, "gamma=0.1 has no effect here: kernel=<function"),
        (MIXED, {"kernel": "sigmoid", "coef0": -5.0}, "kernel='sigmoid' is not an inner product"),
    ],
)
def test_what_is_refused(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(X, **parameters)


def test_all_pairs_of_too_many_samples(monkeypatch):
    monkeypatch.setattr(embedding.Embedding, "max_samples", N - 1)
    for parameters in ({"kernel": "rbf"}, {"rule": "published"}):
        with pytest.raises(ValueError, match=r'at most 59 samples; X has 60. Use kernel=None with rule="fast"'):
            fit(MIXED, **parameters)
    assert fit(MIXED).converged_
    assert fit(POSITIVE, rule="published", max_iter=5).n_iter_ == 5


def test_no_way_back_from_a_kernel():
    with pytest.raises(ValueError, match=r"knows samples by their inner products alone: .* Use kernel=None"):
        fit(MIXED, kernel="rbf", max_iter=5).inverse_transform(H0)

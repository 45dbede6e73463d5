import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.decomposition import NMF as ScikitNMF
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator

from laminar import NMF
from reference import models as plain

N, P, K = 40, 15, 4
LOSSES = pytest.mark.parametrize("loss", ["frobenius", "kl"])
WAYS = [
    {"solver": "hals"},
    {"solver": "mu"},
    {"solver": "apg"},
    {"rule": "published"},
    {"loss": "kl"},
    {"loss": "kl", "rule": "published"},
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.gamma(0.7, size=(N, K)) @ rng.gamma(0.7, size=(K, P)) + 0.3 * rng.random((N, P))


@pytest.fixture
def start():
    rng = np.random.default_rng(1)
    return rng.uniform(0.1, 1, (N, K)), rng.uniform(0.1, 1, (K, P))


def fit(X, k=K, **parameters):
    return NMF(k, **({"random_state": 0, "tol": 1e-9, "max_iter": 3000} | parameters)).fit(X)


def factors(model):
    return model.layers_[0].representation, model.components_


def unit(H, Z, loss="frobenius"):
    """The same product with components of unit length, or of unit sum."""
    size = Z.sum(1) if loss == "kl" else np.linalg.norm(Z, axis=1)
    return H * size, Z / size[:, None]


# ------------------------------------------------------------------------------------------- the papers' rules


@LOSSES
@pytest.mark.parametrize("eta", [None, 1.0])
def test_published_rule_is_the_papers(X, start, loss, eta):
    rule = plain.lee_seung_kl if loss == "kl" else plain.lee_seung
    for n_iter, pair in enumerate(rule(X, *start, 12), start=1):
        model = fit(X, loss=loss, rule="published", init=start, max_iter=n_iter, tol=0, eta=eta)
        for ours, theirs in zip(factors(model), unit(*pair, loss), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)
        assert model.objective_history_[-1] == pytest.approx(plain.objective(X, *pair, loss), rel=1e-10)


def test_accelerated_gradient_is_nenmf(X, start):
    *_, (H, Z) = plain.nenmf(X, *start, 300)
    model = fit(X, solver="apg", init=start)
    slow = fit(X, rule="published", init=start, max_iter=300, tol=0)
    assert model.objective_history_[-1] == pytest.approx(plain.objective(X, H, Z), rel=1e-3)
    assert model.objective_history_[-1] <= slow.objective_history_[-1]
    assert plain.kkt(X, *factors(model)) < 1e-5


@every_way
def test_objective_never_rises_and_is_what_it_says(X, start, way):
    model = fit(X, init=start, max_iter=200, **way)
    history, loss = model.objective_history_, way.get("loss", "frobenius")
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    value = plain.objective(X, *factors(model), loss)
    # The last codes are exact for the last components, and better than those of the last sweep.
    assert value <= history[-1] * (1 + 1e-10)
    assert model.reconstruction_err_ == pytest.approx(value if loss == "kl" else np.sqrt(2 * value), rel=1e-8)


@pytest.mark.parametrize("solver", ["hals", "apg", "mu"])
def test_optimality_conditions(X, solver):
    model = fit(X, solver=solver, tol=1e-12)
    assert plain.kkt(X, *factors(model)) < {"hals": 1e-6, "apg": 1e-6, "mu": 1e-3}[solver]


@every_way
def test_against_scikit_learn(X, start, way):
    loss = way.get("loss", "frobenius")
    kinds = {"beta_loss": "kullback-leibler", "solver": "mu"} if loss == "kl" else {"solver": "cd"}
    theirs = ScikitNMF(K, init="custom", max_iter=3000, tol=1e-8, **kinds)
    H = theirs.fit_transform(X, W=start[0].copy(), H=start[1].copy())
    model = fit(X, init=start, **way)
    assert plain.objective(X, *factors(model), loss) <= 1.002 * plain.objective(X, H, theirs.components_, loss)


def test_leaps_do_not_lock_entries_at_zero():
    """A multiplicative rule never leaves zero, so extrapolation must not set an entry to it."""
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(1.0, size=(300, 10)) @ rng.gamma(0.3, size=(10, 60)) / 3).astype(float)
    assert plain.objective(X, *factors(fit(X, 10, solver="mu", max_iter=1000))) < 1.005 * plain.objective(
        X, *factors(fit(X, 10))
    )
    kl = fit(X, 10, loss="kl", max_iter=500, tol=1e-5)
    slow = fit(X, 10, loss="kl", max_iter=500, tol=0, rule="published")
    assert kl.reconstruction_err_ < 1.002 * slow.reconstruction_err_


@LOSSES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_factors_do_not_outbid_each_other(X, loss, dtype):
    """Two extrapolated factors can trade a scale that grows without end: many sweeps must not overflow."""
    with np.errstate(all="raise", under="ignore"):
        model = fit(X.astype(dtype), loss=loss, solver="mu", tol=0, max_iter=1500)
    assert np.isfinite(model.objective_history_).all()
    slow = fit(X, loss=loss, rule="published", tol=0, max_iter=1500)
    assert model.objective_history_[-1] <= 1.02 * slow.objective_history_[-1]


# ------------------------------------------------------------------------------------- what must not matter


@every_way
@pytest.mark.parametrize("c", [1e-30, 1e-3, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_do_not_matter(X, start, way, c, dtype):
    H, Z = start
    one = fit(X.astype(dtype), init=start, max_iter=10, tol=0, **way)
    other = fit((c * X).astype(dtype), init=(H, c * Z), max_iter=10, tol=0, **way)
    tol = 2e-3 if dtype == np.float32 else 1e-6
    np.testing.assert_allclose(other.components_, one.components_, atol=tol)
    ours, theirs = (m.layers_[0].representation.astype(float) for m in (other, one))
    np.testing.assert_allclose(ours / c, theirs, atol=tol * theirs.max())
    size = c if way.get("loss") == "kl" else c**2
    np.testing.assert_allclose(other.objective_history_ / size, one.objective_history_, rtol=tol)
    assert other.score((c * X).astype(dtype)) == pytest.approx(one.score(X.astype(dtype)), abs=tol)


@every_way
def test_order_of_samples_and_features_does_not_matter(X, start, way):
    H, Z = start
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(N), rng.permutation(P)
    one = fit(X, init=start, max_iter=30, tol=0, **way)
    other = fit(X[np.ix_(rows, columns)], init=(H[rows], Z[:, columns]), max_iter=30, tol=0, **way)
    np.testing.assert_allclose(other.components_, one.components_[:, columns], atol=1e-8)
    np.testing.assert_allclose(factors(other)[0], factors(one)[0][rows], atol=1e-7)


@every_way
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_is_dense(X, start, way, form):
    if way.get("solver") != "hals":  # the sweeps of coordinate descent are as many as a pass over X is worth
        X = X * (np.median(X) < X)
    dense, sparse = (fit(A, init=start, max_iter=20, tol=0, **way) for A in (X, form(X)))
    np.testing.assert_allclose(sparse.objective_history_, dense.objective_history_, rtol=1e-8)
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-8)
    np.testing.assert_allclose(sparse.transform(form(X)), dense.transform(X), atol=1e-6)
    assert sparse.score(form(X)) == pytest.approx(dense.score(X), abs=1e-9)


# ---------------------------------------------------------------------------------------- closed forms and bounds


@pytest.mark.parametrize("init", ["auto", "random"])
def test_one_component_is_the_leading_singular_pair(X, init):
    model = fit(X, 1, init=init, tol=1e-13)
    U, s, Vt = np.linalg.svd(X)
    np.testing.assert_allclose(model.components_[0], np.abs(Vt[0]), rtol=1e-5)
    np.testing.assert_allclose(factors(model)[0][:, 0], s[0] * np.abs(U[:, 0]), rtol=1e-5)
    assert model.reconstruction_err_ == pytest.approx(plain.svd_tail(X, 1), rel=1e-9)


def test_one_component_of_a_divergence_is_the_product_of_the_margins(X):
    model = fit(X, 1, loss="kl")
    np.testing.assert_allclose(factors(model)[0][:, 0], X.sum(1), rtol=1e-9)
    np.testing.assert_allclose(model.components_[0], X.sum(0) / X.sum(), rtol=1e-9)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_never_nearer_than_the_svd(X, k):
    assert fit(X, k).reconstruction_err_ >= plain.svd_tail(X, k) * (1 - 1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_sums_match_after_a_divergence_step(X, start, form):
    model = fit(form(X), loss="kl", rule="published", init=start, max_iter=3, tol=0)
    np.testing.assert_allclose((factors(model)[0] @ model.components_).sum(0), X.sum(0), rtol=1e-12)
    np.testing.assert_allclose(model.transform(form(X)).sum(1), X.sum(1), rtol=1e-10)  # components sum to one


def test_exact_data_are_fitted_exactly():
    rng = np.random.default_rng(3)
    H, Z = rng.gamma(0.5, size=(100, 3)), rng.gamma(0.5, size=(3, 20))
    assert fit(H @ Z, 3, max_iter=5000).score(H @ Z) > 1 - 1e-6


# ------------------------------------------------------------------------------------------------ new samples


def test_codes_are_exact(X):
    model = fit(X)
    new = np.random.default_rng(4).gamma(1.0, size=(20, P))
    expected = np.array([nnls(model.components_.T, x)[0] for x in new])
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-10)


@LOSSES
def test_known_codes_are_recovered(X, loss):
    model = fit(X, loss=loss)
    H = np.random.default_rng(5).gamma(0.5, size=(30, K))
    tol = 1e-2 if loss == "kl" else 1e-9
    np.testing.assert_allclose(model.transform(model.inverse_transform(H)), H, atol=tol)


@LOSSES
def test_samples_are_coded_alone(X, loss):
    model = fit(X, loss=loss)
    together, alone = model.transform(X), np.vstack([model.transform(x[None]) for x in X[:10]])
    if loss == "kl":  # found by iteration: the fitted values agree, the codes of nearly useless components less so
        together, alone = together @ model.components_, alone @ model.components_
    np.testing.assert_allclose(together[:10], alone, atol=1e-10 if loss == "frobenius" else 2e-2)


@every_way
def test_training_codes_are_no_better_than_transformed_ones(X, way):
    model, loss = fit(X, max_iter=20, **way), way.get("loss", "frobenius")
    trained = plain.objective(X, *factors(model), loss)
    assert plain.objective(X, model.transform(X), model.components_, loss) <= trained * (1 + 1e-6)


@LOSSES
def test_score(X, loss):
    model = fit(X, loss=loss)
    Y = model.inverse_transform(model.transform(X))
    expected = -plain.divergence(X, Y) / X.sum() if loss == "kl" else 1 - ((X - Y) ** 2).sum() / (X**2).sum()
    assert model.score(X) == pytest.approx(expected, rel=1e-6)


# ------------------------------------------------------------------------------------------------------ stopping


@every_way
def test_convergence_is_reported(X, way):
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2 before it converged; raise max_iter, or tol"):
        model = fit(X, max_iter=2, **way)
    assert not model.converged_
    assert model.n_iter_ == 2


@pytest.mark.filterwarnings("error")
@every_way
def test_a_converged_fit_is_silent(X, way):
    model = fit(X, tol=1e-4, **way)
    assert model.converged_
    assert model.n_iter_ < 3000
    assert fit(X, tol=0, max_iter=2, **way).n_iter_ == 2  # nobody asked for convergence


@pytest.mark.parametrize("init", ["random", "kmeans", "nndsvd", "nndsvda", "nndsvdar"])
def test_every_start_and_seed(X, init):
    one, again = fit(X, init=init), fit(X, init=init)
    assert np.array_equal(one.components_, again.components_)
    assert one.score(X) > 0.99
    warm = fit(X, init=one, tol=1e-6)
    assert warm.n_iter_ < 20
    assert warm.reconstruction_err_ <= one.reconstruction_err_ * (1 + 1e-9)


def test_a_start_from_a_model_survives_cloning_when_frozen(X):
    good = fit(X)
    with pytest.raises(NotFittedError, match="init: this NMF is not fitted"):
        clone(NMF(K, init=good)).fit(X)
    again = clone(NMF(K, init=FrozenEstimator(good), max_iter=1)).fit(X)
    assert again.reconstruction_err_ <= good.reconstruction_err_ * (1 + 1e-9)


@every_way
def test_a_start_from_kmeans_is_a_start_for_parts(X, way):
    model = NMF(K, init="kmeans", max_iter=30, random_state=0, **way).fit(X)
    assert model.components_.min() >= 0
    assert np.isfinite(model.objective_history_).all()
    assert np.isfinite(model.reconstruction_err_)


@pytest.mark.parametrize("noise", [1e-2, 1e-3])
def test_single_precision_gets_as_close_as_double(noise):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(200, 5)) @ rng.gamma(1.0, size=(5, 50)) + noise * rng.random((200, 50))
    double, single = (NMF(5, random_state=0).fit(A) for A in (X, X.astype(np.float32)))
    assert single.reconstruction_err_ == pytest.approx(double.reconstruction_err_, rel=0.02)
    assert single.objective_history_[-1] == pytest.approx(single.reconstruction_err_**2 / 2, rel=0.05)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "published", "solver": "hals"}, 'rule="published" is multiplicative: use solver="auto"'),
        ({"solver": "hals", "eta": 0.5}, r'eta=0\.5 has no effect with solver="hals".*Use solver="mu"'),
        ({"eta": 0.5}, "or eta=None"),
    ],
)
def test_parameters_without_effect_are_refused(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        NMF(K, **parameters).fit(X)

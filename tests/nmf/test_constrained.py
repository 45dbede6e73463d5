"""`ConstrainedNMF` against the paper's loop and the laws it collapses by; `SharedRows`, the rows of its classes."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from laminar import NMF, ConstrainedNMF
from laminar.nmf.constrained import SharedRows
from reference import models as plain

N, P, C, K = 60, 12, 3, 4
WAYS = [
    {"solver": "hals"},
    {"solver": "mu"},
    {"solver": "apg"},
    {"loss": "kl"},
    {"rule": "published"},
    {"loss": "kl", "rule": "published"},
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
both_losses = pytest.mark.parametrize("loss", ["frobenius", "kl"])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
WHO = rng.integers(0, C, N)
Y = np.where(rng.random(N) < 0.5, WHO, -1)
X = rng.gamma(0.7, size=(N, 5)) @ rng.gamma(0.7, size=(5, P)) + rng.gamma(1.0, size=(C, P))[WHO]
X[rng.random((N, P)) < 0.3] = 0  # counts have zeros
H0, Z0 = rng.uniform(0.1, 1, (N, K)), rng.uniform(0.1, 1, (K, P))
A = plain.label_constraints(Y)


def fit(X=X, y=Y, **parameters):
    return ConstrainedNMF(K, **({"random_state": 0, "tol": 1e-9, "max_iter": 300} | parameters)).fit(X, y)


def codes(model):
    return model.layers_[0].representation


@both_losses
def test_published_rule_is_the_papers(loss):
    loop = plain.constrained if loss == "frobenius" else plain.constrained_kl
    for n_iter, (H, Z) in enumerate(loop(X, H0, Z0, A, 12), start=1):
        model = fit(loss=loss, rule="published", init=(H0, Z0), max_iter=n_iter, tol=0)
        size = np.linalg.norm(Z, axis=1) if loss == "frobenius" else Z.sum(1)
        np.testing.assert_allclose(codes(model), H * size, rtol=1e-9)
        np.testing.assert_allclose(model.components_, Z / size[:, None], rtol=1e-9)
        assert model.objective_history_[-1] == pytest.approx(plain.objective(X, H, Z, loss), rel=1e-10)


@every_way
def test_objective_never_rises_and_is_what_it_says(way):
    model = fit(init=(H0, Z0), **way)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    value = plain.objective(X, codes(model), model.components_, model.loss)
    assert value == pytest.approx(history[-1], rel=1e-4)
    assert value <= history[-1] * (1 + 1e-10)
    expected = value if model.loss == "kl" else np.sqrt(2 * value)
    assert model.reconstruction_err_ == pytest.approx(expected, rel=1e-9)


def test_the_callback_hears_the_objective_of_all_samples():
    heard = []
    model = fit(max_iter=5, tol=0, callback=lambda state: heard.append(state.objective))
    assert heard == model.objective_history_.tolist()


@every_way
def test_labelled_samples_of_a_class_share_their_codes(way):
    H = codes(fit(**way))
    for c in range(C):
        assert (H[c == Y] == H[c == Y][0]).all()
    rows = np.unique(H, axis=0)
    assert len(rows) == C + (Y < 0).sum()


@every_way
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_one_label_a_class_or_none_is_nmf(way, given):
    way = way | {"init": (H0, Z0) if given else "auto", "max_iter": 25, "tol": 1e-5}
    expected = NMF(K, random_state=0, **way).fit(X)
    one_each = np.where(np.isin(np.arange(N), [np.flatnonzero(c == WHO)[0] for c in range(C)]), WHO, -1)
    for y in (None, np.full(N, -1), one_each, np.arange(N)):
        model = fit(y=y, **way)
        assert np.array_equal(model.components_, expected.components_)
        assert np.array_equal(codes(model), codes(expected))
        assert np.array_equal(model.objective_history_, expected.objective_history_)
        assert model.reconstruction_err_ == expected.reconstruction_err_


@every_way
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_it_is_nmf_of_the_means_of_the_classes(way, form):
    sizes = A.sum(0)
    power = 0 if way.get("loss") == "kl" else 0.5
    order = np.argsort([np.flatnonzero(column)[0] for column in A.T])  # a class stands where its first sample was
    reduced = (A.T @ X / sizes[:, None] ** power)[order]
    expected = NMF(K, random_state=0, max_iter=30, tol=0, **way).fit(form(reduced))
    model = fit(form(X), max_iter=30, tol=0, **way)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-7)
    # A's columns in that order bring the rows back to the samples.
    H = A[:, order] @ (codes(expected) / sizes[order, None] ** (1 - power))
    np.testing.assert_allclose(codes(model), H, atol=1e-6 * H.max())
    within = model.objective_history_ - expected.objective_history_
    np.testing.assert_allclose(within, within[0], rtol=1e-6)
    assert within[0] > 0


@pytest.mark.parametrize("solver", ["hals", "apg"])
def test_optimality_conditions(solver):
    model = fit(solver=solver, tol=1e-13, max_iter=5000)
    H, Z = codes(model), model.components_
    Q = np.linalg.pinv(A) @ H
    grad_Q, grad_Z = A.T @ (H @ Z - X) @ Z.T, H.T @ (H @ Z - X)
    assert np.linalg.norm(np.minimum(Q, grad_Q)) < 1e-5 * np.linalg.norm(A.T @ X @ Z.T)
    assert np.linalg.norm(np.minimum(Z, grad_Z)) < 1e-5 * np.linalg.norm(H.T @ X)


def test_sums_of_counts():
    rule = fit(loss="kl", rule="published", init=(H0, Z0), max_iter=7, tol=0)
    # Right after the update of the components the columns sum to those of X.
    np.testing.assert_allclose((codes(rule) @ rule.components_).sum(0), X.sum(0), rtol=1e-10)
    rest = fit(loss="kl", tol=1e-8, max_iter=5000)
    assert rest.converged_
    # Codes at rest: every class sums to the mean of its samples, every other sample to itself.
    np.testing.assert_allclose(codes(rest).sum(1), A @ np.linalg.pinv(A) @ X.sum(1), rtol=1e-6)


@both_losses
def test_names_of_classes_do_not_matter(loss):
    names = np.array(["zoe", "ann", "mia"])
    one, other = (fit(y=y, loss=loss) for y in (Y, [names[c] if c >= 0 else None for c in Y]))
    assert np.array_equal(one.components_, other.components_)


@both_losses
def test_given_codes_start_at_the_mean_of_their_class(loss):
    means = A @ np.linalg.pinv(A) @ H0
    way = {"loss": loss, "max_iter": 3, "tol": 0}
    one, other = fit(init=(H0, Z0), **way), fit(init=(means, Z0), **way)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-12)
    warm = NMF(K, loss=loss, random_state=0).fit(X)
    began = plain.objective(X, A @ np.linalg.pinv(A) @ warm.transform(X), warm.components_, loss)
    assert fit(init=warm, loss=loss).objective_history_[0] <= began
    one, other = fit(init=(H0, None), **way), fit(init=(means, None), **way)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-12)


@both_losses
def test_samples_that_are_alike_lose_nothing(loss):
    X = np.repeat(np.random.default_rng(1).gamma(1.0, size=(6, P)), 5, axis=0)
    tied = fit(X, np.repeat(np.arange(6), 5), loss=loss)
    free = NMF(K, loss=loss, random_state=0, tol=1e-9, max_iter=300).fit(X)
    assert tied.reconstruction_err_ == pytest.approx(free.reconstruction_err_, rel=1e-2)
    exact = ConstrainedNMF(6, random_state=0, tol=1e-12, max_iter=2000, loss=loss).fit(X, np.repeat(np.arange(6), 5))
    assert exact.reconstruction_err_ < 1e-3 * free.reconstruction_err_


@every_way
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_data_give_what_dense_data_give(way, form):
    dense, sparse = (ConstrainedNMF(K, init=(H0, Z0), max_iter=10, tol=0, **way).fit(F, Y) for F in (X, form(X)))
    if way.get("solver") == "hals":  # a cheaper product is worth fewer sweeps: another way to the same end
        assert sparse.objective_history_[-1] == pytest.approx(dense.objective_history_[-1], rel=1e-2)
        return
    np.testing.assert_allclose(sparse.objective_history_, dense.objective_history_, rtol=1e-8)
    np.testing.assert_allclose(codes(sparse), codes(dense), atol=1e-7)


def test_codes_of_samples_know_no_labels():
    model = fit()
    expected = np.array([nnls(model.components_.T, x)[0] for x in X])
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-9)
    assert np.allclose(model.fit_transform(X, Y), expected)
    assert not np.allclose(model.layers_[-1].representation, expected)  # codes of the fit, equal inside a class


@pytest.mark.parametrize("c", [1e-20, 1e20])
@both_losses
def test_units_do_not_matter(loss, c):
    one, other = (fit(s * X, init=(H0, s * Z0), loss=loss, max_iter=20, tol=0) for s in (1, c))
    np.testing.assert_allclose(other.components_, one.components_, atol=1e-9)
    np.testing.assert_allclose(codes(other) / c, codes(one), atol=1e-9 * codes(one).max())


@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_sums_that_are_out_of_range():
    large = np.full((N, P), 3e38, dtype=np.float32)
    with pytest.raises(ValueError, match=r"magnitude in X is 3e\+38: the sum of a class is out of range. Divide X"):
        fit(large, np.zeros(N), loss="kl")
    with pytest.raises(ValueError, match=r"its square is out of range. Divide X by a constant"):
        fit(1e300 * X)


# Rows that the samples of a class share

CLASSES = np.array([-1, 1, 0, 1, -1, 0, 0, 2])
ROWS = [[0], [1, 3], [2, 5, 6], [4], [7]]  # in the order of their first samples
FEW = X[:8, :5]
FORMS = {"C": np.asarray, "F": np.asfortranarray, "csr": sp.csr_array, "csc": sp.csc_matrix}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def rows_of(shared, dtype=np.float64):
    return shared.data.product(np.eye(5, dtype=dtype)) * shared.data.scale


@both_losses
@every_form
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shared_rows_are_sums(loss, form, dtype):
    shared = SharedRows(form(FEW.astype(dtype)), CLASSES, loss)
    power = 0 if loss == "kl" else 0.5
    expected = np.array([FEW[rows].sum(0) / len(rows) ** power for rows in ROWS])
    assert shared.data.dtype == dtype
    np.testing.assert_allclose(rows_of(shared, dtype), expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


@both_losses
def test_joined_codes_expand_to_class_means(loss):
    shared, H = SharedRows(FEW, CLASSES, loss), H0[:8]
    back = shared.expand(shared.join(H)) * shared.whole.scale / shared.data.scale
    expected = np.empty_like(H)
    for rows in ROWS:
        expected[rows] = H[rows].mean(0)
    np.testing.assert_allclose(back, expected)


@both_losses
@every_form
def test_objectives_differ_by_offset(loss, form):
    shared = SharedRows(form(FEW), CLASSES, loss)
    for seed in range(3):
        draw = np.random.default_rng(seed)
        H, Z = draw.random((5, 2)), draw.random((2, 5))
        expanded = shared.expand(H) * shared.whole.scale / shared.data.scale
        gap = plain.objective(FEW, expanded, Z, loss) - plain.objective(rows_of(shared), H, Z, loss)
        assert shared.offset == pytest.approx(gap)


@both_losses
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_shared_rows_of_sparse_data_are_sparse(loss, form):
    assert sp.issparse(SharedRows(form(FEW), CLASSES, loss).data.rows(slice(0, 5)))


@both_losses
def test_shared_rows_of_single_samples_are_samples(loss):
    shared = SharedRows(FEW, np.arange(8), loss)
    np.testing.assert_allclose(rows_of(shared), FEW)
    assert shared.offset == pytest.approx(0, abs=1e-12)

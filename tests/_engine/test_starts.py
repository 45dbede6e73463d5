"""Starts: shapes, signs, scale and seed of all; the oracle of each; components learned on a subsample."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag
from sklearn.decomposition._nmf import _initialize_nmf

from laminar import NMF, SemiNMF
from laminar._engine import starts as init
from laminar._engine.constraints import Free, NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.monitor import Monitor
from laminar._engine.problem import Problem, fit
from laminar._engine.solve import solve
from laminar._engine.starts import NONNEGATIVE_STARTS, STARTS
from laminar._engine.updates import hals, hals_or_exact, least_squares

every_start = pytest.mark.parametrize("name", STARTS)
ks = pytest.mark.parametrize("k", [1, 2, 5])


def positive(n=40, p=15, seed=0):
    return np.random.default_rng(seed).gamma(1.0, size=(n, p))


def mixed(n=40, p=15, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def blocks(sizes=((12, 6), (9, 5), (7, 4)), seed=0):
    """Reducible: no singular vector is positive everywhere."""
    rng = np.random.default_rng(seed)
    return block_diag(*[rng.gamma(1.0, size=size) for size in sizes])


def zero_samples():
    X = positive()
    X[[0, 7, 39]] = 0
    return X


def sparse_counts():
    rng = np.random.default_rng(0)
    return rng.poisson(0.3, size=(60, 20)).astype(float)


NON_NEGATIVE = {"positive": positive, "blocks": blocks, "zero samples": zero_samples, "counts": sparse_counts}


def start(name, X, k, seed=0):
    return STARTS[name](wrap(X), k, np.random.RandomState(seed))


def error(X, H, Z):
    """Relative to the norm of X."""
    U = X / np.abs(X).max()
    return np.linalg.norm(U - H @ Z.T) / np.linalg.norm(U)


def tail(X, k):
    """The best a product of rank k can do."""
    s = np.linalg.svd(X, compute_uv=False)
    return np.linalg.norm(s[k:]) / np.linalg.norm(s)


# All


@every_start
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_are_finite_and_nonnegative(name, form, dtype):
    X = positive().astype(dtype)
    H, Z = start(name, form(X), 4)
    assert H.shape == (40, 4)
    assert Z.shape == (15, 4)
    assert np.isfinite(H).all()
    assert np.isfinite(Z).all()
    assert (H >= 0).all()
    assert error(X, H, Z) < 2
    if name not in ("svd", "lp", "kmeans"):
        assert (Z >= 0).all()


@every_start
def test_same_seed_gives_same_start(name):
    X = positive()
    for a, b in zip(start(name, X, 4), start(name, X, 4), strict=True):
        assert_array_equal(a, b)
    differs = any((a != b).any() for a, b in zip(start(name, X, 4), start(name, X, 4, seed=1), strict=True))
    assert differs == (name in ("random", "kmeans", "nndsvdar"))


@every_start
@pytest.mark.parametrize("X", [positive(6, 4), positive(3, 9), np.zeros((6, 4)), np.ones((6, 4)), mixed(6, 4)])
@pytest.mark.parametrize("k", [1, 11])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_more_components_than_rank_are_filled(name, X, k):
    H, Z = start(name, X, k)
    assert H.shape == (len(X), k)
    assert Z.shape == (X.shape[1], k)
    assert np.isfinite(H).all()
    assert np.isfinite(Z).all()
    assert (H >= 0).all()


@every_start
def test_start_is_free_of_scale(name):
    """In unit scale it does not depend on it at all."""
    X = positive()
    for a, b in zip(start(name, X, 4), start(name, 1e-7 * X, 4), strict=True):
        assert_allclose(a, b, rtol=1e-5, atol=1e-8)


# Random, k-means


def test_random_start_has_mean_of_data():
    X = positive()
    H, Z = start("random", X, 4)
    assert (H @ Z.T).mean() == pytest.approx((X / X.max()).mean() / 4, rel=0.3)
    H, Z = start("random", X - X.mean() - 1, 4)
    assert (H >= 0).all()
    assert (H @ Z.T).std() > 0


def test_kmeans_start_is_memberships_plus_fifth():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = 10 * np.eye(3)[y] + rng.normal(size=(60, 3))
    H, Z = start("kmeans", X, 3)
    assert_allclose(np.sort(H, 1), np.tile([0.2, 0.2, 1.2], (60, 1)))
    assert len({(a, b) for a, b in zip(y, H.argmax(1), strict=True)}) == 3  # the clusters are the groups
    U = X / np.abs(X).max()
    assert_allclose(Z, np.linalg.lstsq(H, U, rcond=None)[0].T, atol=1e-9)


# NNDSVD


@ks
@pytest.mark.parametrize("shape", [(40, 11), (11, 40)])  # small enough for its randomised SVD to be exact
@pytest.mark.parametrize("name", ["nndsvd", "nndsvda"])
def test_nndsvd_equals_scikit_learn(name, shape, k):
    X = positive(*shape)
    W, C = _initialize_nmf(X / X.max(), k, init=name, random_state=0)
    for got, expected in zip(start(name, X, k), (W, C.T), strict=True):
        assert_allclose(got, expected, atol=1e-5)


def test_nndsvdar_raises_zeros_little():
    X = positive()
    mean = (X / X.max()).mean()
    for plain, raised in zip(start("nndsvd", X, 4), start("nndsvdar", X, 4), strict=True):
        assert (plain == 0).any()
        assert_array_equal(raised[plain > 0], plain[plain > 0])
        assert (raised[plain == 0] > 0).all()
        assert (raised[plain == 0] <= mean / 100).all()


# Semi-NMF


@pytest.mark.parametrize("k", [2, 5, 8])
@pytest.mark.parametrize("make", [positive, mixed, blocks, zero_samples])
def test_svd_start_has_error_of_rank_less_one(make, k):
    X = make()
    H, Z = start("svd", X, k)
    assert (H >= 0).all()
    assert error(X, H, Z) == pytest.approx(tail(X, k - 1), abs=1e-8)
    if make is mixed:
        assert_allclose(H.min(1), 0, atol=1e-12)  # each row is shifted no further than it must


@pytest.mark.parametrize("make", [positive, mixed])
def test_svd_start_of_one_component(make):
    X = make()
    H, Z = start("svd", X, 1)
    u = np.linalg.svd(X)[0][:, 0]
    u = u if (u > 0).sum() >= (u < 0).sum() else -u
    assert_allclose(H[:, 0], np.maximum(u, 0), atol=1e-9)
    assert error(X, H, Z) < 1


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("make", NON_NEGATIVE.values(), ids=NON_NEGATIVE)
def test_lp_start_is_optimum_of_nonnegative_data(make, k):
    X = make()
    H, Z = start("lp", X, k)
    assert (H >= 0).all()
    assert error(X, H, Z) == pytest.approx(tail(X, k), abs=1e-8)


@pytest.mark.parametrize("make", NON_NEGATIVE.values(), ids=NON_NEGATIVE)
def test_lp_start_holds_in_single_precision(make):
    X = make().astype(np.float32)
    H, Z = start("lp", X, 4)
    assert error(X, H, Z) == pytest.approx(tail(X.astype(float), 4), abs=1e-3)


def test_lp_start_finds_positive_combination():
    """No singular vector has one sign, the span of two of them holds a positive vector."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(-1.2, 1.2, 50)
    Q = np.linalg.qr(np.c_[np.cos(angle), np.sin(angle)])[0]
    center = np.linalg.lstsq(Q, np.ones(50), rcond=None)[0]
    turn = np.pi / 4 - np.arctan2(center[1], center[0])  # the middle of the samples, halfway between the two vectors
    U = Q @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    X = U @ np.diag([2.0, 1.0]) @ np.linalg.qr(rng.normal(size=(10, 2)))[0].T
    U = np.linalg.svd(X)[0][:, :2]
    assert (U.min(0) < 0).all()
    assert (U.max(0) > 0).all()
    H, Z = start("lp", X, 2)
    assert (H >= 0).all()
    assert error(X, H, Z) < 1e-8


@ks
@pytest.mark.parametrize("seed", range(3))
def test_lp_start_of_mixed_signs_keeps_rank(k, seed):
    X = mixed(seed=seed)
    H, Z = start("lp", X, k)
    assert (H >= 0).all()
    assert tail(X, k) - 1e-9 <= error(X, H, Z) <= 1
    U = X / np.abs(X).max()
    assert_allclose(Z, np.linalg.lstsq(H, U, rcond=None)[0].T, atol=1e-6)
    assert np.linalg.matrix_rank(H, tol=1e-8) == k  # without the flip of signs it would lose rank


def test_best_components_are_least_squares():
    X = mixed()
    H = np.random.default_rng(1).uniform(size=(40, 3))
    U = X / np.abs(X).max()
    assert_allclose(init.best_components(wrap(X), H), np.linalg.lstsq(H, U, rcond=None)[0].T, atol=1e-10)
    assert (init.best_components(wrap(X), H, NonNegative()) >= 0).all()


# Through a model


MODELS = [(model, name) for model in (NMF, SemiNMF) for name in STARTS if model is SemiNMF or name not in ("svd", "lp")]


@pytest.mark.parametrize(("model", "name"), MODELS, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("solver", ["hals", "mu"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fit_descends_from_every_start(name, model, solver):
    fitted = model(3, init=name, solver=solver, max_iter=30, random_state=0).fit(positive())
    assert np.diff(fitted.objective_history_).max(initial=0) <= 1e-9 * fitted.objective_history_[0]
    assert fitted.reconstruction_err_ / np.linalg.norm(positive()) < 1.1 * tail(positive(), 3) + 0.05


@pytest.mark.parametrize("name", ["svd", "lp"])
def test_signed_start_is_refused_by_nmf(name):
    with pytest.raises(ValueError, match="SemiNMF"):
        NMF(3, init=name).fit(positive())


@pytest.mark.parametrize(("model", "name"), MODELS, ids=lambda value: getattr(value, "__name__", value))
def test_named_start_respects_constraint(model, name):
    constraint = model._constraints["Z"]
    data = wrap(positive())
    factors = init.named_start(name, data, 4, np.random.RandomState(0), constraint)
    assert_array_equal(constraint.project(factors["Z"].copy()), factors["Z"])
    if constraint.signed and name in NONNEGATIVE_STARTS:
        assert_allclose(factors["Z"], init.best_components(data, factors["H"]), atol=1e-9)


def test_without_zeros_raises_them_alone():
    F = np.array([[0.0, 2.0], [4.0, 2.0]])
    assert_allclose(init.without_zeros(F), [[2e-3, 2], [4, 2]])
    assert init.without_zeros(-F).min() == -4  # a signed factor is left as it is


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lp_start_with_many_components_is_optimum(dtype):
    """Its codes are nearly parallel: least squares by a Gram would lose the optimum in single precision."""
    X = np.random.default_rng(0).gamma(1.0, size=(300, 120)).astype(dtype)
    X[0] *= 1e-3
    data, k = wrap(X), 60
    H, Z = (F.astype(dtype) for F in STARTS["lp"](data, k, np.random.RandomState(0)))
    tail = np.sqrt((np.linalg.svd(X.astype(float), compute_uv=False)[k:] ** 2).sum())
    assert np.linalg.norm(X - H @ Z.T * data.scale) == pytest.approx(tail, rel=1e-3 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("seed", [0, 4, 12])
def test_lp_start_ignores_rounding_errors(seed):
    """Between blocks the singular vectors hold rounding errors, and millions of them make a positive vector too."""
    rng = np.random.default_rng(seed)
    X = block_diag(*[rng.poisson(1.0, size=(100, 60)) for _ in range(5)]).astype(np.float32)
    H, Z = (F.astype(np.float32) for F in start("lp", sp.csr_matrix(X), 8, seed))
    assert error(X, H, Z) == pytest.approx(tail(X.astype(float), 8), rel=1e-5)
    assert np.linalg.cond(H) < 1e3


def test_centred_data_have_no_positive_combination(monkeypatch):
    """Columns that sum to zero have no positive combination: no linear program is needed."""
    U = np.linalg.svd(np.random.default_rng(0).normal(size=(50, 8)), full_matrices=False)[0]
    monkeypatch.setattr(init, "_feasible", lambda W: pytest.fail("a linear program"))
    assert init.positive_combination(U - U.mean(0)) is None


@pytest.mark.parametrize("n", [30, 3000])
def test_positive_combination_of_data_on_one_side(n):
    """Found by a program over some of the samples, all of which are on the positive side in the end."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    X[:, 2] = np.abs(X[:, 2]) + 0.01
    V = np.linalg.qr(X)[0]
    assert (init.positive_combination(V) > 0).all()
    X[n // 2, 2] = 0
    X[n // 2 + 1] = -X[0]
    assert init.positive_combination(np.linalg.qr(X)[0]) is None


def test_positive_combination_of_blocks_is_wide():
    leak = 1e-7 * np.random.default_rng(0).uniform(size=(60, 3))
    V = block_diag(*3 * [np.full((20, 1), 20**-0.5)]) + leak
    V[:20, 0] += 1e-3  # the program may then choose its corner
    x = init.positive_combination(V)
    assert x.min() > 1e-2 * x.max()


# Components learned on a subsample

TALL, SMALL_K = 9000, 6


def few_of(constraints):
    return lambda data: Problem(constraints, [fit(data)])


SIGNS = {"nmf": (NonNegative(), hals), "semi-nmf": (Free(), hals_or_exact)}


@pytest.fixture(scope="module")
def planted():
    """Tall data of rank 6 and a little noise."""
    rng = np.random.default_rng(0)
    H, Z = (rng.gamma(1.0, size=shape) * (rng.random(shape) < 0.4) for shape in ((TALL, 6), (6, 30)))
    return H @ Z + 0.05 * rng.random((TALL, 30))


def tall_setup(X, model):
    """Problem, random start, updates and data."""
    constraint, update = SIGNS[model]
    data, constraints = wrap(X), {"H": NonNegative(), "Z": constraint}
    factors = init.named_start("random", data, SMALL_K, np.random.RandomState(1), constraint)
    return Problem(constraints, [fit(data)]), factors, {name: c.update(update) for name, c in constraints.items()}, data


@pytest.mark.parametrize("k", [2, 100])
@pytest.mark.parametrize("tall", [False, True])
def test_subsample_is_for_tall_data_alone(k, tall):
    n = 8 * max(20 * k, 1024) - (not tall)  # the defaults
    rng = np.random.default_rng(0)
    factors = {"H": rng.random((n, k)), "Z": rng.random((3, k))}
    updates = {"H": hals, "Z": least_squares}
    few = few_of({"H": NonNegative(), "Z": Free()})
    got = init.learned_on_subsample(few, wrap(rng.random((n, 3))), factors, updates)
    assert got["H"] is factors["H"]
    assert (got["Z"] is factors["Z"]) == (not tall)


@pytest.mark.parametrize("model", SIGNS)
def test_learned_components_save_sweeps(model, planted):
    problem, factors, updates, data = tall_setup(planted, model)
    learned = init.learned_on_subsample(few_of(problem.constraints), data, factors, updates)
    quick = solve(problem, learned, updates, monitor=Monitor(1, 0), extrapolate=True).history[-1]
    plain = solve(problem, factors, updates, monitor=Monitor(2, 0), extrapolate=True).history
    assert quick < plain[0] / 2
    assert quick < plain[1]


@pytest.mark.parametrize("model", SIGNS)
def test_learned_components_end_as_low(model, planted):
    problem, factors, updates, data = tall_setup(planted, model)
    ends = [
        solve(problem, start, updates, monitor=Monitor(300, 1e-5), extrapolate=True).history[-1]
        for start in (init.learned_on_subsample(few_of(problem.constraints), data, factors, updates), factors)
    ]
    assert ends[0] <= 1.05 * ends[1]


@pytest.mark.parametrize("model", SIGNS)
def test_learned_components_leave_start_unchanged(model, planted):
    problem, factors, updates, data = tall_setup(planted, model)
    before = {name: F.copy() for name, F in factors.items()}
    init.learned_on_subsample(few_of(problem.constraints), data, factors, updates)
    for name, F in factors.items():
        assert_array_equal(F, before[name])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("form", [np.asfortranarray, sp.csr_array, sp.csc_array])
def test_form_of_tall_data_does_not_matter(form, planted):
    first, other = (
        NMF(6, init="random", random_state=0, max_iter=2).fit(X).objective_history_ for X in (planted, form(planted))
    )
    assert_allclose(other, first, rtol=1e-6)

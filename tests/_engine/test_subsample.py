"""Tall problems get their first components from a few of their samples."""

import numpy as np
import pytest
import scipy.sparse as sp

from laminar import NMF, MultiLayerNMF, SemiNMF
from laminar._base import factorizer as base
from laminar._engine import subsample as coarse
from laminar._engine.data.matrix import wrap
from laminar._engine.problem import Chain, Problem
from laminar._engine.starts import best_components

N, P, K = 9000, 30, 6


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    H, Z = (rng.gamma(1.0, size=shape) * (rng.random(shape) < 0.4) for shape in ((N, K), (K, P)))
    return H @ Z + 0.05 * rng.random((N, P))


def start(seed=1):
    rng = np.random.default_rng(seed)
    return rng.random((N, K)), rng.random((K, P))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [NMF, SemiNMF])
def test_one_sweep_then_goes_as_far_as_several(model, X, monkeypatch):
    quick = model(K, init=start(), max_iter=1).fit(X).objective_history_[-1]
    monkeypatch.setattr(coarse, "_WORTH", N)
    plain = model(K, init=start(), max_iter=4, tol=0).fit(X).objective_history_
    assert quick < plain[0] / 2
    assert quick < plain[1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [NMF, SemiNMF])
def test_good_components_are_kept(model, X):
    good = model(K, random_state=0).fit(X)
    again = model(K, init=good, max_iter=1).fit(X)
    assert again.objective_history_[0] <= good.objective_history_[-1] * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("form", [np.asfortranarray, sp.csr_array, sp.csc_array])
def test_the_form_of_the_data_does_not_matter(form, X):
    first = NMF(K, init=start(), max_iter=2).fit(X).objective_history_
    np.testing.assert_allclose(NMF(K, init=start(), max_iter=2).fit(form(X)).objective_history_, first, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_layer_without_smoothing_is_nmf_on_tall_data_too(X):
    parameters = {"init": "random", "max_iter": 3, "random_state": 0}
    layer, nmf = MultiLayerNMF((K,), theta=0, **parameters).fit(X), NMF(K, **parameters).fit(X)
    assert layer.reconstruction_err_ == pytest.approx(nmf.reconstruction_err_, rel=1e-9)


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_every_step_th_row_in_the_unit_of_all(form):
    X = np.random.default_rng(0).random((50, 4))
    data = wrap(form(X)).every(7, 3)
    assert data.shape == (7, 4)
    np.testing.assert_allclose(data.product(np.eye(4)), X[3::7] / X.max())


def test_published_rules_and_small_problems_begin_where_they_are_told(X, monkeypatch):
    def never(*_args, **_kwargs):
        raise AssertionError("a head start")

    monkeypatch.setattr(coarse, "solve", never)
    NMF(K, rule="published", init=start(), max_iter=11, tol=1).fit(X)
    NMF(K, init="random", random_state=0).fit(X[:2000])
    with pytest.raises(AssertionError, match="head start"):
        NMF(K, init=start()).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_components_of_good_codes_are_found_on_few_samples(X, monkeypatch):
    good = SemiNMF(K, random_state=0).fit(X)
    seen = []
    monkeypatch.setattr(
        "laminar.base.best_components", lambda data, *rest: seen.append(data.shape) or best_components(data, *rest)
    )
    again = SemiNMF(K, init=(good.transform(X), None), max_iter=1).fit(X)
    assert seen == [(-(-N // (N // 1024)), P)]
    assert again.objective_history_[0] <= good.objective_history_[-1] * 1.01


def test_head_starts_leave_no_trace_in_the_rules_of_the_fit(X, monkeypatch):
    seen = []
    whole, few = base.solve, coarse.solve
    monkeypatch.setattr(base, "solve", lambda p, f, rules, **kw: seen.append(rules) or whole(p, f, rules, **kw))
    monkeypatch.setattr(coarse, "solve", lambda p, f, rules, **kw: seen.append(rules) or few(p, f, rules, **kw))
    SemiNMF(K, init=start(), max_iter=200).fit(X)
    assert seen[0]["H"] is not seen[1]["H"]


@pytest.mark.parametrize("seed", [2, 3])
def test_codes_far_from_home_do_not_hide_what_components_are_worth(seed):
    rng = np.random.default_rng(seed)
    n, p, k = 11520, 100, 64
    H, Z = (rng.gamma(1.0, size=shape) * (rng.random(shape) < 0.3) for shape in ((n, k), (k, p)))
    X = H @ Z
    data = wrap(X + 0.2 * X.mean() * rng.random((n, p)))
    problem, codes = Problem(Chain(data), SemiNMF._constraints), rng.random((n, k))
    factors = {"H": codes, "Z": best_components(*coarse.thinned(data, codes))}
    assert coarse.head_start(problem, factors, SemiNMF(k)._updates(problem))["Z"] is not factors["Z"]

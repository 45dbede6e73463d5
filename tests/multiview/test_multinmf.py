import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from laminar import MultiNMF
from laminar.datasets import make_views
from laminar.metrics import clustering_accuracy
from reference import models as reference

DATA = make_views(60, n_classes=3, n_features=(12, 15, 20), noise=0.5, random_state=0)
VIEWS, Y = DATA.views, DATA.y
SIZES = [view.shape[1] for view in VIEWS]
rng = np.random.default_rng(0)
STARTS = [(rng.random((60, 3)), rng.random((3, p))) for p in SIZES]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
both_rules = pytest.mark.parametrize("rule", ["fast", "published"])


def fit(views=VIEWS, **parameters):
    return MultiNMF(**({"n_clusters": 3, "random_state": 0} | parameters)).fit(views)


def shared(views=VIEWS):
    """The views as the model sees them."""
    return [view / view.sum() for view in views]


def components(model):
    """Of each view, with sum one."""
    parts = np.split(model.components_, np.cumsum(model.view_sizes_)[:-1], axis=1)
    return [part / total for part, total in zip(parts, model.totals_, strict=True)]


def cost(X, H, Z, mean, alpha):
    return ((X - H @ Z) ** 2).sum() + alpha * ((H * Z.sum(1) - mean) ** 2).sum()


def naive(views, starts, alpha, rounds, inner):
    """Methods 8.2, entry by entry where it says so; yields all factors and the consensus after each round."""
    X, H, Z = shared(views), [], []
    for view, (h, z) in zip(views, starts, strict=True):
        q = z.sum(1)
        H.append(h * q / view.sum())
        Z.append(z / q[:, None])
    mean = sum(weight * h for weight, h in zip(alpha, H, strict=True)) / sum(alpha)
    for _ in range(rounds):
        for v in range(len(X)):
            for _ in range(inner):
                c, e, q = (H[v] * mean).sum(0), (H[v] ** 2).sum(0), Z[v].sum(1)
                up, down = H[v].T @ X[v], H[v].T @ H[v] @ Z[v]
                Z[v] = np.array(
                    [
                        [
                            Z[v][a, j] * (up[a, j] + alpha[v] * c[a]) / (down[a, j] + alpha[v] * q[a] * e[a])
                            for j in range(len(up[a]))
                        ]
                        for a in range(len(up))
                    ]
                )
                q = Z[v].sum(1)
                Z[v], H[v] = Z[v] / q[:, None], H[v] * q
                H[v] = H[v] * (X[v] @ Z[v].T + alpha[v] * mean) / (H[v] @ Z[v] @ Z[v].T + alpha[v] * H[v])
        mean = sum(weight * h for weight, h in zip(alpha, H, strict=True)) / sum(alpha)
        yield H, Z, mean


# ------------------------------------------------------------------------------------------------------ the oracles


def test_published_rule_is_the_published_loop():
    alpha = [0.02, 0.01, 0.3]
    *_, (H, Z, mean) = naive(VIEWS, STARTS, alpha, 3, 4)
    model = fit(rule="published", alpha=alpha, init=STARTS, max_iter=3, max_inner_iter=4, tol=0)
    np.testing.assert_allclose(model.consensus_, mean, rtol=1e-8)
    for v, one in enumerate(components(model)):
        np.testing.assert_allclose(one, Z[v], rtol=1e-8)
        np.testing.assert_allclose(model.representations_[v], H[v], rtol=1e-8)
    value = sum(cost(X, H[v], Z[v], mean, alpha[v]) for v, X in enumerate(shared()))
    assert model.objective_history_[-1] == pytest.approx(value / 2, rel=1e-8)


@both_rules
def test_without_a_pull_views_are_factorised_by_themselves(rule):
    keywords = {"rule": rule, "alpha": 0.0, "max_iter": 4, "max_inner_iter": 5, "tol": 0}
    model = fit(init=STARTS, **keywords)
    for v, view in enumerate(VIEWS):
        alone = fit([view], init=[STARTS[v]], **keywords)
        np.testing.assert_allclose(model.representations_[v], alone.consensus_, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(components(model)[v], components(alone)[0], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.consensus_, sum(model.representations_.values()) / 3)


def test_without_a_pull_the_published_rule_is_lee_and_seung():
    model = fit(rule="published", alpha=0.0, init=STARTS, max_iter=2, max_inner_iter=5, tol=0)
    for v, view in enumerate(VIEWS):
        H, Z = STARTS[v]
        # Components first here: the transposed problem.
        *_, (Zt, Ht) = reference.lee_seung(view.T, Z.T, H.T, 10)
        np.testing.assert_allclose(model.representations_[v] @ components(model)[v] * view.sum(), (Zt @ Ht).T)


@both_rules
def test_one_view_is_nmf(rule):
    X = VIEWS[0]
    model = fit([X], rule=rule, alpha=0.01, tol=0, max_iter=100, max_inner_iter=10)
    scale = np.linalg.norm(model.components_, axis=1)
    tolerance = 1e-4 if rule == "fast" else 1e-2
    assert reference.kkt(X, model.consensus_ * scale, model.components_ / scale[:, None]) < tolerance
    np.testing.assert_allclose(model.consensus_, model.representations_[0], rtol=1e-12)


@both_rules
def test_consensus_is_the_weighted_mean(rule):
    alpha = np.array([0.5, 0.0, 1.5])
    model = fit(rule=rule, alpha=alpha, max_iter=3)
    mean = sum(weight * H for weight, H in zip(alpha / 2, model.representations_.values(), strict=True))
    np.testing.assert_allclose(model.consensus_, mean, rtol=1e-8, atol=1e-14)


@both_rules
def test_identical_views_have_identical_factors(rule):
    model = fit([VIEWS[0]] * 3, rule=rule, init=[STARTS[0]] * 3, max_iter=5, max_inner_iter=7)
    H, Z = list(model.representations_.values()), components(model)
    for v in (1, 2):
        np.testing.assert_allclose(H[v], H[0], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(Z[v], Z[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.consensus_, H[0], rtol=1e-6, atol=1e-12)


@both_rules
@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("init", ["random", "chained"])
def test_objective_never_increases(rule, alpha, init):
    history = fit(rule=rule, alpha=alpha, init=init, max_iter=5).objective_history_
    assert (np.diff(history) <= 1e-10 * history[0]).all()


def test_fast_rule_ends_no_higher_than_the_published():
    fast, slow = (fit(rule=rule, init=STARTS, tol=1e-6) for rule in ("fast", "published"))
    assert fast.objective_history_[-1] <= slow.objective_history_[-1] * (1 + 1e-4)


# ------------------------------------------------------------------------------------------------- what it is used for


@both_rules
def test_clusters_are_found(rule):
    model = fit(rule=rule)
    assert clustering_accuracy(Y, model.labels_) == 1
    np.testing.assert_array_equal(clone(model).fit_predict(VIEWS), model.labels_)
    assert clustering_accuracy(Y, model.predict(VIEWS)) == 1


def test_codes_of_the_fit_are_those_of_transform():
    model = fit(alpha=0.02)
    np.testing.assert_allclose(model.transform(VIEWS), model.consensus_, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(VIEWS), model.labels_)
    whole = np.hstack(VIEWS)
    back = model.inverse_transform(model.transform(VIEWS))
    assert ((back - whole) ** 2).sum() < 0.3 * (whole**2).sum()
    assert 0.7 < model.score(VIEWS) <= 1


def test_transform_is_the_best_there_is():
    model, alpha = fit(alpha=0.05), 0.05
    Z, X = components(model), [view[:1] / view.sum() * 60 for view in VIEWS]

    def value(h):
        H = h.reshape(3, 1, 3)
        return sum(cost(x, H[v], Z[v], H.mean(0), alpha) for v, x in enumerate(X))

    found = minimize(value, np.full(9, 0.3), bounds=[(0, None)] * 9, tol=1e-14)
    best = model.transform([view[:1] for view in VIEWS]) * 60
    np.testing.assert_allclose(best, found.x.reshape(3, 1, 3).mean(0), atol=2e-4)


def test_new_samples_may_lack_views():
    model = fit({name: view for name, view in zip("abc", VIEWS, strict=True)})
    assert clustering_accuracy(Y, model.predict({"b": VIEWS[1]})) == 1
    observed = np.random.default_rng(2).random((60, 3)) < 0.5
    observed[:, 0] |= ~observed.any(axis=1)
    holes = [np.where(observed[:, [v]], view, np.nan) for v, view in enumerate(VIEWS)]
    H = model.transform(holes)
    np.testing.assert_allclose(model.transform(VIEWS, observed=observed), H)
    one = model.transform([view[:1] if observed[0, v] else None for v, view in enumerate(VIEWS)])
    np.testing.assert_allclose(one, H[:1], rtol=1e-8, atol=1e-14)
    assert 0.5 < model.score(holes) <= 1


def test_one_array_and_sparse_views():
    model = fit()
    stacked = fit(np.hstack(VIEWS), view_sizes=SIZES)
    np.testing.assert_allclose(stacked.consensus_, model.consensus_)
    np.testing.assert_allclose(stacked.transform(np.hstack(VIEWS)), model.consensus_, rtol=1e-8, atol=1e-14)
    short = {"rule": "published", "tol": 0, "max_iter": 2, "max_inner_iter": 5}
    for form in (sp.csr_array, sp.csr_matrix):
        other = fit([form(view) for view in VIEWS], **short)
        np.testing.assert_allclose(other.consensus_, fit(**short).consensus_, rtol=1e-6, atol=1e-12)


@both_rules
def test_float32(rule):
    single = [view.astype(np.float32) for view in VIEWS]
    model = fit(single, rule=rule)
    arrays = [model.consensus_, model.components_, *model.representations_.values()]
    arrays += [model.transform(single, readout=name) for name in ("raw", "whitened", "isometric")]
    arrays += [model.inverse_transform(model.consensus_)]
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}
    assert clustering_accuracy(Y, model.labels_) == 1


def test_clusters_of_another_floating_type():
    single = [view.astype(np.float32) for view in VIEWS]
    for fitted, new in ((fit(max_iter=3), single), (fit(single, max_iter=3), VIEWS)):
        assert clustering_accuracy(fitted.labels_, fitted.predict(new)) > 0.95


def test_true_is_one_component():
    assert fit(n_components=True, max_iter=2).consensus_.shape == (60, 1)


def test_the_callers_matrices_stay_as_they_are():
    whole = [sp.csr_array(view) for view in VIEWS]
    halves = [sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), X.shape) for X in whole]
    model = fit(halves, max_iter=2)
    assert model.transform(halves).shape == (60, 3)
    assert model.score(halves) == pytest.approx(fit(whole, max_iter=2).score(whole))
    assert [X.nnz for X in halves] == [2 * X.nnz for X in whole]


@both_rules
def test_scale_of_a_view_does_not_matter(rule):
    model, large = fit(rule=rule), fit([VIEWS[0] * 1e12, VIEWS[1] * 1e-12, VIEWS[2]], rule=rule)
    np.testing.assert_allclose(large.consensus_, model.consensus_, rtol=1e-6, atol=1e-10)


@both_rules
def test_dead_components_and_empty_views_are_finite(rule):
    for views in ([VIEWS[0], np.zeros((60, 4))], [np.zeros((60, 2))], [np.eye(60, 5)]):
        model = fit(views, rule=rule, n_components=6, n_clusters=2)
        assert np.isfinite(model.consensus_).all()
        assert np.isfinite(model.components_).all()
        assert np.isfinite(model.transform(views)).all()
        assert np.isfinite(model.score(views))


def test_deterministic_and_pickles():
    one, two = fit(), fit()
    back = pickle.loads(pickle.dumps(one))
    for other in (two, back):
        np.testing.assert_array_equal(other.consensus_, one.consensus_)
        np.testing.assert_array_equal(other.predict(VIEWS), one.labels_)
    assert not np.array_equal(fit(random_state=1).consensus_, one.consensus_)


def test_callback_and_convergence():
    seen = []
    model = fit(callback=lambda state: seen.append(state.seconds) or state.iteration == 2, tol=1e-9)
    assert model.n_iter_ == len(seen) == 2
    assert 0 < seen[0] < seen[1]
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert fit(tol=1e-2).converged_
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        fit(max_iter=2, tol=1e-9, init="random", max_inner_iter=1)


def test_with_named_output():
    pytest.importorskip("pandas")
    plain, model = fit(max_iter=3), MultiNMF(n_clusters=3, max_iter=3, random_state=0).set_output(transform="pandas")
    np.testing.assert_array_equal(model.fit_predict(VIEWS), plain.labels_)
    np.testing.assert_array_equal(model.predict(VIEWS), plain.predict(VIEWS))
    np.testing.assert_array_equal(model.cluster(VIEWS, 2), plain.cluster(VIEWS, 2))
    np.testing.assert_allclose(model.fit_transform(VIEWS), plain.transform(VIEWS), rtol=1e-6)
    for readout in ("raw", "whitened", "isometric"):
        table = model.transform(VIEWS, readout=readout)
        assert list(table.columns) == ["multinmf0", "multinmf1", "multinmf2"]
        np.testing.assert_array_equal(table, plain.transform(VIEWS, readout=readout))
    np.testing.assert_array_equal(model.inverse_transform(table), plain.inverse_transform(table.to_numpy()))
    assert model.score(VIEWS) == plain.score(VIEWS)


def test_number_of_components():
    model = fit(n_components=5, init="random", max_iter=2)
    assert model.consensus_.shape == (60, 5)
    assert len(np.unique(model.labels_)) == 3
    assert fit(n_clusters=None, init="random", max_iter=2).consensus_.shape == (60, 10)


@pytest.mark.parametrize(
    ("views", "parameters", "message"),
    [
        ([], {}, "no views"),
        ([VIEWS[0], -VIEWS[1]], {}, "Negative values .* view 1"),
        ([VIEWS[0], VIEWS[1][:5]], {}, "same samples"),
        ([VIEWS[0], np.where(np.arange(60)[:, None] == 3, np.nan, VIEWS[1])], {}, "lack view 1"),
        (VIEWS, {"alpha": -1.0}, "alpha"),
        (VIEWS, {"alpha": [1.0, 2.0]}, "one number or 3"),
        (VIEWS, {"alpha": [1.0, 2.0, np.nan]}, "one number or 3"),
        (VIEWS, {"alpha": ["a", 1.0, 2.0]}, "one number or 3"),
        (VIEWS, {"init": STARTS[:2]}, "each of the 3 views"),
        (VIEWS, {"init": [1, 2, 3]}, "each of the 3 views"),
        (VIEWS, {"init": [STARTS[0]] * 3}, "of view 1 must have shapes"),
        (VIEWS, {"init": [(-STARTS[0][0], STARTS[0][1]), *STARTS[1:]]}, "not negative"),
        (VIEWS, {"rule": "slow"}, "rule"),
        ([VIEWS[0] / VIEWS[0].max() * 1e308], {}, "out of range"),
        ([VIEWS[0], VIEWS[1].astype(str) + "x"], {}, "X holds text .view 1: .*: encode it as numbers"),
    ],
)
def test_bad_input(views, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(views, **parameters)


def test_bad_new_views():
    with pytest.raises(NotFittedError):
        MultiNMF().transform(VIEWS)
    with pytest.raises(ValueError, match="Negative values"):
        fit().transform([-VIEWS[0], *VIEWS[1:]])


def test_readouts():
    model = fit(max_iter=3)
    raw, white, near = (model.transform(VIEWS, readout=name) for name in ("raw", "whitened", "isometric"))
    np.testing.assert_array_equal(raw, model.transform(VIEWS))
    np.testing.assert_allclose(np.linalg.norm(white, axis=1), 1)
    distance = np.linalg.norm((raw[0] - raw[1]) @ model.components_)
    assert np.linalg.norm(near[0] - near[1]) == pytest.approx(distance)

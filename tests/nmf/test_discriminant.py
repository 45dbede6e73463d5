import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from laminar import GNMF, NMF, DiscriminantNMF
from laminar._engine import updates
from laminar._engine.constraints import NonNegative
from laminar._engine.data.wrap import wrap
from laminar._engine.problem import Problem, smooth_codes
from laminar._engine.problem import fit as squared_error
from laminar._utils.labels import read_attribute
from laminar.graphs import Labels
from laminar.nmf.discriminant import Scatter, ScatterAndRidge
from laminar.testing import check_term
from reference import models as plain

N, P, C, K = 60, 12, 3, 4
SOLVERS = ["hals", "mu", "apg"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
WHO = rng.integers(0, C, N)
Y = np.where(rng.random(N) < 0.6, WHO, -1)
Y[0] = C  # a class of one
X = rng.gamma(0.7, size=(N, 5)) @ rng.gamma(0.7, size=(5, P)) + 2 * rng.gamma(1.0, size=(C, P))[WHO]
H0, Z0 = rng.uniform(0.1, 1, (N, K)), rng.uniform(0.1, 1, (K, P))
INSIDE, ACROSS = plain.scatter_matrices(Y)


def fit(X=X, y=Y, **parameters):
    return DiscriminantNMF(K, **({"random_state": 0, "tol": 1e-9, "max_iter": 80} | parameters)).fit(X, y)


def codes(model):
    return model.layers_[0].representation


def objective(model):
    H, Z = codes(model), model.components_
    penalty = np.einsum("ia,ij,ja->a", H, model.within * INSIDE - model.between * ACROSS, H)
    return plain.objective(X, H, Z) + float(penalty @ (Z**2).sum(1)) / 2


def fisher(model):
    H = codes(model)
    return np.trace(H.T @ ACROSS @ H) / np.trace(H.T @ INSIDE @ H)


# -------------------------------------------------------------------------------------------------------- operator


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.3, 0.9), (0.0, 0.5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operator_is_the_dense_one(weights, dtype):
    operator = Scatter(read_attribute(Y, N), *weights)
    check_operator(operator, weights[0] * INSIDE - weights[1] * ACROSS, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_published_operator_is_the_dense_one(dtype):
    operator = ScatterAndRidge(read_attribute(Y, N), 0.7)
    check_operator(operator, 0.7 * (INSIDE + np.diag(Y < 0)), dtype)
    assert_allclose(operator.rows(H0).plus(slice(3, 9)), 0.7 * H0[3:9])


def check_operator(operator, L, dtype):
    H, tol = H0.astype(dtype), 1e-5 if dtype == np.float32 else 1e-12
    up, down, lean = (np.vstack([part(slice(0, 40)), part(slice(40, N))]) for part in operator.rows(H))
    assert up.dtype == down.dtype == lean.dtype == dtype
    assert_allclose(lean, operator.row_curvature[:, None] * H - L @ H, atol=tol)
    assert up.min() >= 0 <= down.min()
    assert_allclose(up - down, L @ H, atol=tol)
    assert_allclose(operator.quad_columns(H), np.einsum("ia,ij,ja->a", H, L, H), atol=30 * tol)
    assert np.linalg.eigvalsh(np.diag(operator.row_curvature) - L).min() > -1e-12


@every_solver
@pytest.mark.parametrize("weights", [(0.0, 0.5), (1.0, 0.9), (10.0, 0.99)])
def test_both_factors_go_down_on_an_operator_that_rewards(solver, weights):
    rule = {"hals": updates.hals, "mu": updates.multiplicative, "apg": updates.accelerated_gradient}[solver]
    signs, F = {"H": NonNegative(), "Z": NonNegative()}, {"H": H0, "Z": np.ascontiguousarray(Z0.T)}
    penalty = smooth_codes(Scatter(read_attribute(Y, N), *weights), 1.0)
    problem = Problem(signs, [squared_error(wrap(X)), penalty])
    for name in signs:
        check_term(problem.objective(name, F), F[name])
    values = [problem.value(F)]
    for _ in range(40):
        for name in signs:
            objective = problem.objective(name, F)
            F[name] = rule(F[name], objective, signs[name])
            values.append(problem.value(F))
            assert objective.evaluate(F[name]).value == pytest.approx(values[-1], rel=1e-8, abs=1e-8)
    assert np.diff(values).max() <= 1e-10 * abs(values[0])
    assert values[-1] < 0  # below what a squared error could be: nothing clips it


# ----------------------------------------------------------------------------------------------------- the published


@pytest.mark.parametrize("within", [0.5, 10.0])
@pytest.mark.parametrize("y", [Y, WHO, np.where(Y == 1, 1, -1), np.arange(N)], ids=["some", "all", "one", "alone"])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_published_rule_is_the_authors(within, y):
    """Components first; samples of unknown class have a ridge."""
    for n_iter, (H, Z) in enumerate(plain.discriminant(X, H0, Z0, y, within, 12), start=1):
        model = fit(y=y, within=within, rule="published", init=(H0, Z0), max_iter=n_iter, tol=0)
        size = np.linalg.norm(Z, axis=1)
        assert_allclose(codes(model), H * size, rtol=1e-9)
        assert_allclose(model.components_, Z / size[:, None], rtol=1e-9)
    scatter = plain.scatter_matrices(y)[0]
    value = plain.objective(X, H, Z) + within / 2 * (np.trace(H.T @ scatter @ H) + (H[y < 0] ** 2).sum())
    assert model.objective_history_[-1] == pytest.approx(value, rel=1e-9)
    assert np.diff(model.objective_history_).max() <= 0


def test_published_rule_starts_from_singular_vectors():
    one, other = (fit(within=10.0, rule="published", init=init, max_iter=3) for init in ("auto", "nndsvd"))
    assert np.array_equal(one.components_, other.components_)


# ---------------------------------------------------------------------------------------------------- the objective


@every_solver
@pytest.mark.parametrize("between", [0.0, 0.4, 0.95])
@pytest.mark.parametrize("within", [0.0, 1.0, 100.0])
def test_objective_never_rises_and_is_what_it_says(solver, within, between):
    model = fit(solver=solver, within=within, between=between, init=(H0, Z0))
    history = model.objective_history_
    assert np.isfinite(history).all()
    assert (np.diff(history) <= 1e-10 * np.abs(history).max()).all()
    if within or between:
        assert history[-1] == pytest.approx(objective(model), rel=1e-8)
    error = np.sqrt(2 * plain.objective(X, codes(model), model.components_))
    assert model.reconstruction_err_ == pytest.approx(error, rel=1e-8)
    # What between < 1 is for: the objective has a floor.
    assert history[-1] >= -between / (1 - between) / 2 * (X**2).sum()


@pytest.mark.parametrize("between", [0.0, 0.5])
def test_a_fit_comes_to_rest(between):
    model = fit(between=between, tol=1e-6, max_iter=2000)
    assert model.converged_
    rest = fit(between=between, init=model, tol=0, max_iter=50)
    assert rest.objective_history_[-1] <= model.objective_history_[-1] + 1e-3 * abs(model.objective_history_[-1])


def test_tolerance_is_of_the_size_of_an_objective_below_zero():
    loose, tight = (fit(within=0.0, between=0.5, tol=tol, max_iter=1000) for tol in (1e-3, 1e-12))
    assert loose.objective_history_[-1] < 0
    assert loose.converged_
    assert loose.n_iter_ < tight.n_iter_


@every_solver
def test_without_repulsion_it_is_gnmf_on_the_graph_of_labels(solver):
    way = {"solver": solver, "init": (H0, Z0), "max_iter": 30, "tol": 0}
    for within in (0.3, 10.0):
        model = fit(within=within, **way)
        expected = GNMF(K, graph=Labels(normalize="class"), alpha=within, **way).fit(X, Y)
        assert_allclose(model.objective_history_, expected.objective_history_, rtol=1e-9)
        assert_allclose(codes(model), codes(expected), atol=1e-7)


@every_solver
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_without_weights_or_labels_it_is_nmf(solver, given):
    way = {"solver": solver, "init": (H0, Z0) if given else "nndsvda", "max_iter": 25, "tol": 1e-5}
    expected = NMF(K, random_state=0, **way).fit(X)
    nothing = [{"within": 0}, {"y": None, "between": 0.5}, {"y": np.full(N, -1), "between": 0.5}]
    nothing += [{"y": np.arange(N)}, {"y": np.zeros(N), "within": 0, "between": 0.5}]
    for case in nothing:
        model = fit(**(way | case))
        assert np.array_equal(model.components_, expected.components_)
        assert np.array_equal(codes(model), codes(expected))
        assert np.array_equal(model.objective_history_, expected.objective_history_)


@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_published_rule_without_weights_or_labels_is_that_of_nmf():
    *_, (_, Z) = plain.discriminant(X, H0, Z0, Y, 0.0, 9)
    for case in ({"within": 0}, {"y": None}, {"y": np.full(N, -1)}):
        model = fit(rule="published", init=(H0, Z0), max_iter=9, tol=0, **case)
        assert_allclose(model.components_, Z / np.linalg.norm(Z, axis=1)[:, None], rtol=1e-9)


def test_classes_draw_together_and_apart():
    nmf = NMF(K, random_state=0).fit(X)
    ratios = [fisher(model) for model in (nmf, fit(), fit(within=10.0), fit(within=10.0, between=0.5))]
    assert (np.diff(ratios) > 0).all()
    assert fisher(fit(within=0.0, between=0.5)) > ratios[0]


def test_a_large_weight_makes_classes_constant():
    H = codes(fit(within=1e4, max_iter=200))
    for c in range(C):
        assert np.ptp(H[c == Y], axis=0).max() < 1e-2 * H.max()
    assert np.ptp(H[Y < 0], axis=0).max() > 0.1 * H.max()


@every_solver
@pytest.mark.parametrize("c", [1e-20, 1e20])
def test_units_do_not_matter(solver, c):
    way = {"solver": solver, "between": 0.3, "max_iter": 20, "tol": 0}
    one, other = (fit(s * X, init=(H0, s * Z0), **way) for s in (1, c))
    assert_allclose(other.components_, one.components_, atol=1e-8)
    assert_allclose(codes(other) / c, codes(one), atol=1e-8 * codes(one).max())


def test_names_of_classes_do_not_matter():
    names = np.array(["zoe", "ann", "mia", "eve"])
    one, other = (fit(y=y, between=0.3, max_iter=30) for y in (Y, [names[c] if c >= 0 else None for c in Y]))
    assert_allclose(one.components_, other.components_, atol=1e-7)


@every_solver
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_is_dense(solver, form):
    way = {"solver": solver, "between": 0.3, "init": (H0, Z0), "max_iter": 15, "tol": 0}
    dense, sparse = (fit(F, **way) for F in (X, form(X)))
    assert_allclose(sparse.objective_history_, dense.objective_history_, rtol=1e-8)
    assert_allclose(codes(sparse), codes(dense), atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"between": 1.0},
            r"'between' parameter of DiscriminantNMF must be a float in the range \[0.0, 1.0\). Got 1",
        ),
        ({"between": -0.1}, "'between' parameter of .*Got -0.1"),
        ({"within": -1}, "'within' parameter of .*Got -1"),
        ({"between": 0.5, "scale": "none"}, 'between=0.5 has no minimum with scale="none".*Use scale="invariant", or'),
        ({"between": 0.5, "rule": "published"}, 'between=0.5 has no minimum with .*rule="published".*or between=0'),
        ({"within": [1.0, 2.0]}, "'within' parameter of DiscriminantNMF must be a float"),
        ({"X": X - 5}, "Negative values in data passed to DiscriminantNMF"),
    ],
)
def test_bad_input_is_refused(parameters, message):
    with pytest.raises(ValueError, match="(?s)" + message):
        fit(**parameters)

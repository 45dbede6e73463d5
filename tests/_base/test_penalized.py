"""`Penalized`: weights of penalties in the units of X, and the components that carry the scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from laminar import GNMF, NMF, WSF, SemiNMF, SlowFeatureNMF
from laminar._engine.constraints import UnitSum
from laminar._engine.data.wrap import wrap
from laminar.graphs import Chain

N, P, K = 30, 8, 3
MODELS = {
    "GNMF": GNMF(K, alpha=0.3, n_neighbors=3, random_state=0),
    "GNMF, kl": GNMF(K, alpha=0.3, n_neighbors=3, loss="kl", random_state=0),
    "WSF": WSF(K, alpha=0.3, random_state=0),
    "SlowFeatureNMF": SlowFeatureNMF(K, alpha=0.3, random_state=0),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def X():
    return np.random.default_rng(0).gamma(1.0, size=(N, P))


Y = np.arange(N) % 4


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


# Scale


@pytest.mark.parametrize("c", [1e-6, 1e4])
def test_weight_has_same_meaning_in_all_units(model, X, c):
    one, other = (clone(model).fit(unit * X, Y).layers_[0] for unit in (1.0, c))
    assert_allclose(other.components, one.components, atol=1e-4)
    assert_allclose(other.representation / c, one.representation, atol=1e-4 * one.representation.max())


def test_objective_grows_with_units(model, X):
    """Of a squared error with their square, of a divergence with them."""
    degree = 1 if getattr(model, "loss", "frobenius") == "kl" else 2
    first, second = (model.fit(unit * X, Y).objective_history_[-1] for unit in (1.0, 10.0))
    assert second == pytest.approx(10.0**degree * first, rel=1e-3)


def test_data_too_small_for_published_penalty_are_refused(X):
    with pytest.raises(ValueError, match="X is too small for a penalty on the codes alone"):
        GNMF(K, scale="none", n_neighbors=3).fit(1e-300 * X)


def test_divergence_components_sum_to_one(X):
    problem = MODELS["GNMF, kl"]._problem(X, None, None)
    assert isinstance(problem.constraints["Z"], UnitSum)
    start = MODELS["GNMF, kl"]._start(problem, X)
    assert_allclose(start["Z"].sum(0), 1)


# Penalties


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_links_or_no_weight_is_no_penalty(X, alpha):
    model, data = WSF(K), wrap(X)
    chain = Chain().build(X, groups=np.arange(N) if alpha else None)  # every sample its own sequence
    assert model._smooth(chain, alpha, data) == []


def test_zero_weight_is_plain_model(X):
    pairs = [(GNMF(K, alpha=0, random_state=0), NMF(K, random_state=0)), (WSF(K, alpha=0), SemiNMF(K))]
    for penalised, plain in pairs:
        assert_allclose(penalised.fit(X, Y).components_, plain.fit(X).components_, atol=1e-12)


def test_larger_weight_gives_smoother_codes(X):
    chain, rough = Chain().build(X), []
    for alpha in (0.0, 0.1, 10.0):
        H = SlowFeatureNMF(K, alpha=alpha, random_state=0).fit(X).layers_[0].representation
        rough.append(chain.quad(H) / (H**2).sum())
    assert rough == sorted(rough, reverse=True)


def test_transform_ignores_penalty(X):
    model = WSF(K, alpha=10.0, random_state=0).fit(X, Y)
    plain = ((X - model.transform(X) @ model.components_) ** 2).sum()
    fitted = ((X - model.layers_[0].representation @ model.components_) ** 2).sum()
    assert plain < fitted

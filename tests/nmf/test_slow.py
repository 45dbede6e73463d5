"""SlowFeatureNMF: codes of the fit, and of new sequences with the components fixed (Zafeiriou et al., eq. 9, 13)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from laminar import GNMF, NMF, WSF, SlowFeatureNMF
from laminar.datasets import make_temporal
from laminar.temporal import slowest_feature, slowness

N, P, K = 24, 7, 3
rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(N, P))
NEW = rng.gamma(1.0, size=(N, P))
GROUPS = np.repeat(["a", "b", "c"], [10, 2, 12])
SCALES = [{"scale": "invariant"}, {"scale": "none"}, {"rule": "published"}]
every_scale = pytest.mark.parametrize("how", SCALES, ids=["invariant", "none", "published"])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(alpha=0.7, X=X, groups=GROUPS, **parameters):
    parameters = {"max_iter": 300, "random_state": 0} | parameters
    return SlowFeatureNMF(K, alpha=alpha, **parameters).fit(X, groups=groups)


def objective(X, H, Z, alpha, groups):
    """Eq. 9 as printed, entry by entry; for rows of Z of length one it is the invariant form too."""
    value = 0.0
    for i in range(len(X)):
        for j in range(X.shape[1]):
            value += (X[i, j] - sum(H[i, a] * Z[a, j] for a in range(len(Z)))) ** 2 / 2
    for i in range(1, len(X)):
        for a in range(len(Z)):
            value += alpha * (H[i, a] - H[i - 1, a]) ** 2 * (groups[i] == groups[i - 1])
    return value


def multiplied(X, Z, alpha, groups, n_iter):
    """Eq. 13 with V fixed, from codes of ones; L^+ and L^- are degrees and links of the chain."""
    n = len(X)
    links = np.zeros((n, n))
    for i in range(1, n):
        links[i, i - 1] = links[i - 1, i] = groups[i] == groups[i - 1]
    degrees = np.diag(links.sum(0))
    H = np.ones((n, len(Z)))
    for _ in range(n_iter):
        H *= (X @ Z.T + 2 * alpha * links @ H) / (H @ Z @ Z.T + 2 * alpha * degrees @ H)
    return H


# Codes of the fit


@pytest.mark.parametrize("model", [GNMF(K, n_neighbors=3), WSF(K, graph="knn"), SlowFeatureNMF(K)], ids=repr)
def test_fit_transform_returns_the_codes_of_the_fit(model):
    model = clone(model).set_params(max_iter=20, random_state=0)
    H = model.fit_transform(X)
    assert_array_equal(H, model.layers_[-1].representation)
    assert not np.shares_memory(H, model.layers_[-1].representation)


@pytest.mark.parametrize("alpha", [1, 5])
def test_fit_transform_is_slower_than_nmf(alpha):
    for seed in range(5):
        film = make_temporal(noise=0.5, random_state=seed)
        models = SlowFeatureNMF(5, alpha=alpha, tol=1e-5), NMF(5, tol=1e-5)
        slow, plain = (model.fit_transform(film.X) for model in models)
        # Measured at 0.1, 1 and 5, mean over the seeds: 0.16, 0.04, 0.02; NMF 0.08.
        assert slowness(slow).min() < 0.75 * slowness(plain).min()


# Number of components


@pytest.mark.parametrize("noise", [0.01, 0.5])
def test_number_of_components_is_that_of_parts_and_a_mean(noise):
    for seed in range(3):
        film = make_temporal(noise=noise, random_state=seed)  # one slow part, four fast
        assert len(SlowFeatureNMF(max_iter=5).fit(film.X).components_) == 6


def test_number_of_components_leaves_out_noise():
    film = make_temporal(n_features=500, noise=2.0, random_state=103)  # 34 principal components by slowness alone
    assert len(SlowFeatureNMF(max_iter=5).fit(film.X).components_) <= 6


@pytest.mark.parametrize("frames", [np.ones((12, 5)), np.zeros((12, 5)), np.outer(1 + np.arange(12), np.ones(5))])
def test_number_of_components_of_low_rank_is_low(frames):
    model = SlowFeatureNMF(max_iter=50).fit(frames)
    assert len(model.components_) == (1 if np.ptp(frames) == 0 else 2)
    assert model.reconstruction_err_ <= 1e-2 * max(1, np.linalg.norm(frames))


def test_number_of_components_needs_steps_in_time():
    film = make_temporal(random_state=0)
    with pytest.raises(ValueError, match="longest sequence has 1 sample"):
        SlowFeatureNMF(alpha=0).fit(film.X, groups=np.arange(60))


# Codes of new sequences


@every_scale
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["one", "three"])
def test_codes_minimise_the_objective(groups, how):
    model, sequence = fitted(**how), np.zeros(N) if groups is None else groups
    H, Z = model.transform(NEW, groups), model.components_
    if how != SCALES[0]:  # the components before their rows were normalised
        lengths = np.sqrt(2 * 0.7 / model._weights)
        H, Z = H / lengths, Z * lengths[:, None]
    value, random = objective(NEW, H, Z, 0.7, sequence), np.random.default_rng(1)
    for size in (1e-3, 1e-1):
        for _ in range(5):
            other = np.maximum(0, H + size * H.max() * random.normal(size=H.shape))
            assert value < objective(NEW, other, Z, 0.7, sequence)
    gradient = (objective(NEW, 1.0001 * H, Z, 0.7, sequence) - value) / 1e-4
    assert abs(gradient) < 1e-3 * value  # along H itself


@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_codes_are_the_limit_of_the_published_update(alpha):
    model = fitted(alpha)
    expected = multiplied(NEW, model.components_, alpha, GROUPS, 20_000)
    H = model.transform(NEW, GROUPS)
    assert_allclose(H, expected, atol=1e-3 * H.max())
    best = objective(NEW, H, model.components_, alpha, GROUPS)
    assert best <= objective(NEW, expected, model.components_, alpha, GROUPS) * (1 + 1e-9)


@every_scale
def test_penalty_of_new_frames_is_that_of_the_fit(how):
    """The objective of the fit belongs to components before their rows are normalised."""
    model = fitted(max_iter=20, tol=0, **how)
    H = model.layers_[0].representation
    penalty = sum(
        model._weights[a] / 2 * (H[i, a] - H[i - 1, a]) ** 2
        for a in range(K)
        for i in range(1, N)
        if GROUPS[i] == GROUPS[i - 1]
    )
    value = ((X - H @ model.components_) ** 2).sum() / 2 + penalty
    assert value == pytest.approx(model.objective_history_[-1])


def test_codes_of_training_frames_are_those_of_the_fit():
    model = fitted(tol=1e-9)
    H = model.layers_[0].representation
    assert_allclose(model.transform(X, GROUPS), H, atol=1e-3 * H.max())
    assert np.abs(model.transform(X) - H).max() > 0.1 * H.max()  # one sequence
    assert np.abs(model.transform(X, np.arange(N)) - H).max() > 0.5 * H.max()  # no sequence


def test_sequences_do_not_influence_each_other():
    model = fitted()
    H = model.transform(NEW, GROUPS)
    parts = [model.transform(NEW[g == GROUPS]) for g in "abc"]
    assert_allclose(np.vstack(parts), H, atol=1e-5 * H.max())
    position = np.concatenate([np.arange(np.sum(g == GROUPS)) for g in "abc"])
    rows = np.argsort(position, kind="stable")  # the sequences interleaved
    assert_allclose(model.transform(NEW[rows], GROUPS[rows]), H[rows], atol=1e-5 * H.max())


def test_frames_alone_are_coded_by_themselves():
    model, plain = fitted(), fitted(alpha=0)
    H = model.transform(NEW, np.arange(N))
    assert_allclose(H, np.vstack([model.transform(x[None]) for x in NEW]), atol=1e-9)
    assert_allclose(plain.transform(NEW), np.vstack([plain.transform(x[None]) for x in NEW]), atol=1e-9)
    assert np.abs(model.transform(NEW) - H).max() > 0.1


@pytest.mark.parametrize("alpha", [1e3, 1e6])
def test_strong_slowness_converges(alpha):
    """To constant codes, the best ones for the mean of the frames."""
    model = fitted(alpha)
    H = model.transform(NEW)
    assert np.ptp(H, axis=0).max() < 20 / alpha * H.max()
    assert_allclose(H.mean(0), model.transform(NEW.mean(0)[None])[0], atol=1e-2 * H.max())


def test_score_is_that_of_transform():
    model = fitted()
    for groups in (None, GROUPS):
        residual = NEW - model.transform(NEW, groups) @ model.components_
        expected = 1 - (residual**2).sum() / (NEW**2).sum()
        assert model.score(NEW, groups=groups) == pytest.approx(expected)
    assert model.score(NEW, groups=np.arange(N)) > model.score(NEW)


def test_weight_is_that_of_the_fit():
    model = fitted()
    expected = model.transform(NEW)
    assert_array_equal(model.set_params(alpha=100.0).transform(NEW), expected)


def test_float32_and_units():
    model = fitted()
    single = model.transform(NEW.astype(np.float32))
    assert single.dtype == np.float32
    expected = model.transform(NEW)
    assert_allclose(single, expected, atol=1e-3 * expected.max())
    assert_allclose(model.transform(1e-9 * NEW), 1e-9 * expected, atol=1e-14 * expected.max())


def test_slowest_feature_of_a_model_is_told_the_sequences():
    model = fitted()
    index, signal = slowest_feature(model, NEW, GROUPS)
    assert_allclose(signal, model.transform(NEW, GROUPS)[:, index], rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": [0, 1]}, "groups must name the sequence of each of the 24 samples"),
        ({"groups": GROUPS, "method": "pinv"}, 'groups= has no effect with method="pinv"'),
        ({"method": "nnls"}, "method must be one of"),
    ],
)
def test_transform_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        fitted().transform(NEW, **arguments)

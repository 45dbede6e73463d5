"""Pre-training of deep models: what it is, what it records, what a callback sees of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar import WSF, DeepSemiNMF, DeepWSF, SemiNMF
from laminar._engine.linalg.small import isometry
from laminar.deep.pretraining import PretrainedLayer
from reference import deep as plain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, P = 48, 12
rng = np.random.default_rng(0)
POSE, WHO = rng.permutation(N) % 3, rng.permutation(N) % 4
X = rng.normal(size=(3, P))[POSE] + 0.5 * rng.normal(size=(4, P))[WHO] + 0.3 * rng.normal(size=(N, P))
Y = np.c_[POSE, WHO]
FORMS = {
    "product": {},
    "coupled": {"objective": "coupled"},
    "published": {"rule": "published"},
    "stanh": {"activation": "stanh"},
    "published stanh": {"activation": "stanh", "rule": "published"},
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def start(form, y=Y, layers=(8, 4), data=X, **parameters):
    """The model as pre-training leaves it."""
    given = {"alphas": 0.5, "attribute_layers": "in order", "max_iter": 0, "random_state": 0, **form, **parameters}
    return DeepWSF(layers, **given).fit(data, y)


# ---- which pre-training --------------------------------------------------------------------------------------------


@every_form
def test_wsf_uses_labels_and_semi_nmf_does_not(form):
    """Algorithm 2 of the paper is pre-trained by WSF or Semi-NMF."""
    others = np.roll(Y, 7, axis=0)
    one, other = (start(form, y).layers_[0].weights for y in (Y, others))
    assert np.abs(one - other).max() > 1e-3
    one, other = (start(form, y, pretraining="semi-nmf") for y in (Y, others))
    for a, b in zip(one.layers_, other.layers_, strict=True):
        assert_array_equal(a.weights, b.weights)


@every_form
def test_kinds_of_pretraining_differ(form):
    found = [start(form, pretraining=kind).components_ for kind in ("wsf", "semi-nmf", None)]
    for i, one in enumerate(found):
        assert all(np.abs(one - other).max() > 1e-3 for other in found[:i])


@every_form
def test_labels_of_each_layer_act_on_it_alone(form):
    """The first layer is pre-trained before anyone looks at the labels of the second."""
    one, other = (start(form, np.c_[POSE, who]).layers_ for who in (WHO, WHO[::-1]))
    assert_allclose(one[0].weights, other[0].weights, atol=1e-9)
    assert np.abs(one[1].weights - other[1].weights).max() > 1e-3


def test_first_layer_is_wsf():
    parameters = {"max_iter": 7, "tol": 0, "init": "lp", "random_state": 0}
    flat = WSF(8, alpha=0.5, **parameters).fit(X, POSE)
    model = start({}, pretraining_max_iter=7, init="lp")
    assert_allclose(model.pretraining_histories_[0], flat.objective_history_, rtol=1e-9)
    one, other = (F / np.linalg.norm(F, axis=0) for F in (each.layers_[0].representation for each in (model, flat)))
    assert_allclose(one, other, atol=1e-8)
    # The weights are the best for these codes, without the penalty of their lengths.
    H = model.layers_[0].representation
    assert_allclose(model.layers_[0].components, np.linalg.lstsq(H, X, rcond=None)[0], atol=1e-7)


def test_first_layer_is_semi_nmf():
    flat = SemiNMF(8, max_iter=7, tol=0, init="random", random_state=0).fit(X)
    model = start({}, pretraining="semi-nmf", pretraining_max_iter=7, init="random")
    history = model.pretraining_histories_[0]
    assert len(history) >= 4
    assert_allclose(history, flat.objective_history_[: len(history)], rtol=1e-9)


def test_second_layer_is_wsf_of_codes_in_distances_of_data():
    """Codes times the root of the Gram matrix of their basis."""
    model = start({}, pretraining_max_iter=7, init="lp")
    H, B = model.layers_[0].representation, model.layers_[0].components
    below = H @ isometry(B)
    flat = WSF(4, alpha=0.5, max_iter=7, tol=0, init="lp", random_state=1).fit(below, WHO)
    history = model.pretraining_histories_[1]
    assert_allclose(history, flat.objective_history_[: len(history)], rtol=1e-6)


def test_histories_are_in_units_of_the_data():
    one, other = (start({}, data=c * X).pretraining_histories_ for c in (1, 1e3))
    for history, scaled in zip(one, other, strict=True):
        assert_allclose(scaled, 1e6 * history, rtol=1e-6)


def test_published_pretraining_is_that_of_loops():
    model = start({"rule": "published"}, pretraining_max_iter=6)
    draw = np.random.RandomState(0)
    starts = [draw.uniform(size=(N, k)) for k in (8, 4)]
    H, Z = plain.pretrain(X, starts, [plain.same_class(POSE), plain.same_class(WHO)], [0.5, 0.5], 6)
    basis = Z[1] @ Z[0]
    size = np.linalg.norm(basis, axis=1)
    assert_allclose(model.components_, basis / size[:, None], atol=1e-9)
    assert_allclose(model.layers_[1].representation, H[1] * size, atol=1e-8)


def test_fast_starts_without_pretraining_are_those_of_init():
    """Random codes of each layer, the weights by least squares."""
    model = start({}, pretraining=None)
    assert [len(history) for history in model.pretraining_histories_] == [0, 0]
    again, other = start({}, pretraining=None), start({}, pretraining=None, random_state=1)
    assert_array_equal(model.components_, again.components_)
    assert np.abs(model.components_ - other.components_).max() > 1e-3


# ---- how long ------------------------------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("kind", ["wsf", "semi-nmf"])
def test_histories_do_not_increase(form, kind):
    model = start(form, pretraining=kind, pretraining_max_iter=9)
    assert len(model.pretraining_histories_) == 2
    for history in model.pretraining_histories_:
        assert 1 <= len(history) <= 9
        assert np.diff(history).max(initial=0) <= 1e-9 * history[0]
        assert history[-1] < history[0] * (1 + 1e-9)


@pytest.mark.parametrize("sweeps", [0, 1, 6])
def test_published_pretraining_makes_all_iterations(sweeps):
    model = start({"rule": "published"}, pretraining_max_iter=sweeps)
    assert [len(history) for history in model.pretraining_histories_] == [sweeps] * 2


def test_default_lengths():
    """20 iterations, 30 with an activation, 500 of the published rule, which has no test of convergence there."""
    for form, most in (({}, 20), ({"activation": "stanh"}, 30), ({"rule": "published"}, 500)):
        lengths = [len(history) for history in start(form).pretraining_histories_]
        assert max(lengths) <= most
        assert "rule" not in form or lengths == [500, 500]
        longer = start(form, pretraining_max_iter=most)
        for one, other in zip(start(form).pretraining_histories_, longer.pretraining_histories_, strict=True):
            assert_array_equal(one, other)


@every_form
def test_length_does_not_depend_on_that_of_the_fit(form):
    """000, section 3: t and t_f are different numbers."""
    short, long = (start(form, max_iter=n, pretraining_max_iter=5) for n in (1, 4))
    for one, other in zip(short.pretraining_histories_, long.pretraining_histories_, strict=True):
        assert_array_equal(one, other)


def test_optimum_of_nonnegative_data_needs_no_iteration():
    positive = np.abs(X)
    model = DeepSemiNMF((8, 4), max_iter=0, random_state=0).fit(positive)
    assert [len(history) for history in model.pretraining_histories_] == [0, 0]
    tail = (np.linalg.svd(positive, compute_uv=False)[4:] ** 2).sum() / 2
    assert model.reconstruction_err_**2 / 2 == pytest.approx(tail, rel=1e-8)


def test_given_weights_have_no_pretraining():
    source = start({}, max_iter=2)
    assert DeepWSF((8, 4), max_iter=2).fit(X, init=source).pretraining_histories_ == []


@pytest.mark.parametrize("init", ["random", "svd", "lp", "kmeans"])
@every_form
def test_every_start_works(form, init):
    model = start(form, init=init, pretraining_max_iter=3, max_iter=3)
    assert all(np.isfinite(layer.representation).all() for layer in model.layers_)
    assert np.isfinite(model.objective_history_).all()


@pytest.mark.parametrize("form", ["product", "coupled", "stanh"])
def test_starts_differ(form):
    found = [start(FORMS[form], init=init).components_ for init in ("random", "svd", "lp", "kmeans")]
    for i, one in enumerate(found):
        assert all(np.abs(one - other).max() > 1e-6 for other in found[:i])


# ---- what a callback sees ------------------------------------------------------------------------------------------


@every_form
def test_callback_hears_of_every_layer(form):
    heard = []
    model = start(form, pretraining_max_iter=4, max_iter=3, callback=lambda state: heard.append(state) and False)
    for layer, history in enumerate(model.pretraining_histories_):
        states = [state for state in heard if state.layer == layer]
        assert {state.stage for state in states} == {"pretraining"}
        assert [state.iteration for state in states][: len(history)] == list(range(1, len(history) + 1))
        assert_allclose([state.objective for state in states][-1], history[-1], rtol=1e-9)
    stages = [state.stage for state in heard]
    assert stages == sorted(stages, reverse=True)  # pre-training before the fit
    assert {state.layer for state in heard if state.stage == "fit"} == {None}


@pytest.mark.parametrize("form", ["product", "published", "stanh"])
def test_callback_stops_pretraining_of_a_layer(form):
    def stop(state):
        return state.stage == "pretraining" and state.iteration == 2 + state.layer

    model = start(FORMS[form], pretraining_max_iter=8, max_iter=3, tol=0, callback=stop)
    assert [len(history) for history in model.pretraining_histories_] == [2, 3]
    assert model.n_iter_ == 3


@pytest.mark.parametrize("form", ["product", "published", "stanh"])
def test_callback_sees_the_layer_that_is_pretrained(form):
    seen = []

    def look(state):
        if state.layer == 0:
            seen.append((state.objective, state.model(), state.codes(), state.components()))

    start(FORMS[form], y=None, pretraining="semi-nmf", pretraining_max_iter=4, callback=look)
    for value, layer, codes, components in seen:
        assert isinstance(layer, PretrainedLayer)
        assert_allclose(np.linalg.norm(components, axis=1), 1, atol=1e-9)
        assert (codes >= 0).all()
        error = np.linalg.norm(X - codes @ components)
        assert layer.reconstruction_err_ == pytest.approx(error, rel=1e-6)
        assert value == pytest.approx(error**2 / 2, rel=1e-6)

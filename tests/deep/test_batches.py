"""Streams: memory that does not grow, every form of batch, and the same model from the same batches."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from laminar import DeepSemiNMF, SemiNMF
from laminar._engine.data.wrap import wrap
from laminar.deep.batches import Online
from laminar.deep.composition import compose
from reference import fresh

P, LAYERS, BATCH = 256, (64, 8), 400
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KINDS = pytest.mark.parametrize("activation", [None, "square"], ids=["linear", "square"])


def batches(count, size=BATCH, p=P, seed=0):
    """A stream that exists one batch at a time: eight parts, and a little noise."""
    rng = np.random.default_rng(seed)
    parts = rng.gamma(1.0, size=(8, p)).astype(np.float32)
    for _ in range(count):
        H = rng.gamma(0.5, size=(size, 8)).astype(np.float32)
        yield H @ parts + rng.normal(scale=0.05, size=(size, p)).astype(np.float32)


def learned(stream, layers=LAYERS, **parameters):
    model = DeepSemiNMF(layers, random_state=0, **parameters)
    for batch in stream:
        model.partial_fit(batch)
    return model


# ---- memory -------------------------------------------------------------------------------------------------------

STREAMS = """
from laminar import DeepSemiNMF

def learn(count, size):
    rng, model = np.random.default_rng(0), DeepSemiNMF((64, 8), random_state=0)
    for _ in range(count):
        model.partial_fit(rng.gamma(1.0, size=(size, 256)).astype(np.float32))

learn(2, 400)  # what is loaded and compiled at first use is not the stream's
print(json.dumps([peak(lambda: learn(*stream)) for stream in [(3, 400), (30, 400), (3, 1600)]]))
"""


def test_memory_ignores_length_of_stream():
    few, many, large = fresh.run(fresh.PEAK + STREAMS)
    assert many < few + 0.25 * BATCH * P * 4
    assert large - few < 8 * (3 * BATCH * P * 4)


def test_a_batch_is_free_as_soon_as_it_is_learned():
    """No collector of garbage has to come by."""
    gc.collect()
    gc.disable()
    try:
        batch = next(batches(1, 100, 32))
        model, alive = learned([batch], (12, 6)), weakref.ref(batch)
        del batch
        assert alive() is None
        assert model.n_iter_ == 1
    finally:
        gc.enable()


def test_a_model_keeps_nothing_of_past_batches():
    short, long = (len(pickle.dumps(learned(batches(count)))) for count in (2, 12))
    assert long - short < 10_000


# ---- forms of a batch ---------------------------------------------------------------------------------------------


def test_a_file_in_slices_is_the_array(tmp_path):
    X = np.concatenate(list(batches(4, 100, 32)))
    np.save(tmp_path / "X.npy", X)
    file = np.load(tmp_path / "X.npy", mmap_mode="r")
    one, other = (learned((source[i : i + 100] for i in range(0, 400, 100)), (12, 6)) for source in (X, file))
    assert_array_equal(one.components_, other.components_)
    whole, mapped = (
        DeepSemiNMF((12, 6), batch_size=100, max_iter=5, random_state=0).fit(source) for source in (X, file)
    )
    assert_array_equal(whole.components_, mapped.components_)
    assert_array_equal(whole.layers_[0].representation, mapped.layers_[0].representation)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, np.asfortranarray], ids=lambda form: form.__name__)
def test_other_forms_are_the_array(form):
    stream = [np.where(X > 2, X, 0).astype(float) for X in batches(4, 100, 32)]
    expected, model = learned(stream, (12, 6)), learned((form(X) for X in stream), (12, 6))
    assert_allclose(model.components_, expected.components_, atol=1e-6)


@KINDS
def test_batches_of_any_size(activation):
    stream = list(batches(3, 100, 32))
    model = learned(
        [stream[0], stream[1][:1], stream[1][1:40], np.zeros((5, 32), np.float32), stream[2]],
        (12, 6),
        activation=activation,
    )
    assert model.n_iter_ == 5
    assert [layer.representation.shape for layer in model.layers_] == [(100, 12), (100, 6)]
    for layer in model.layers_:
        assert layer.representation.dtype == layer.components.dtype == np.float32
        assert np.isfinite(layer.representation).all()
        assert np.isfinite(layer.components).all()


def test_a_batch_of_other_features_is_refused():
    model = learned(batches(1, 50, 32), (12, 6))
    before = model.components_.copy()
    with pytest.raises(ValueError, match="32 features"):
        model.partial_fit(np.ones((50, 31)))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((50, 32), np.nan))
    assert_array_equal(model.components_, before)


# ---- what is learned ----------------------------------------------------------------------------------------------


@KINDS
def test_the_same_batches_give_the_same_model(activation):
    one, other = (learned(batches(5, 100, 32), (12, 6), activation=activation) for _ in range(2))
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.objective_history_, other.objective_history_)


def test_the_order_of_batches_hardly_matters():
    stream = list(batches(12, 200, 32))
    X = np.concatenate(stream)
    first = stream[0]
    orders = [stream[1:], stream[:0:-1]]
    errors = [
        np.linalg.norm(X - model.inverse_transform(model.transform(X)))
        for model in (learned([first, *order], (12, 6)) for order in orders)
    ]
    assert errors[0] != errors[1]
    assert errors[0] == pytest.approx(errors[1], rel=0.02)
    assert max(errors) < 1.05 * SemiNMF(6, random_state=0).fit(X).reconstruction_err_


@KINDS
@pytest.mark.parametrize("twin", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_stream_goes_on_after_a_break(activation, twin):
    stream = list(batches(5, 100, 32))
    whole = learned(stream, (12, 6), activation=activation)
    broken = twin(learned(stream[:2], (12, 6), activation=activation))
    for batch in stream[2:]:
        broken.partial_fit(batch)
    assert_array_equal(broken.components_, whole.components_)
    assert broken.n_iter_ == 5


def test_a_fit_goes_on_as_a_stream():
    stream = list(batches(6, 200, 32))
    model = DeepSemiNMF((12, 6), random_state=0).fit(np.concatenate(stream[:5]))
    fitted = model.components_.copy()
    model.partial_fit(stream[5])
    # One batch in six moves the basis of the others a little, and no more.
    overlap = np.linalg.svd(np.linalg.qr(fitted.T)[0].T @ np.linalg.qr(model.components_.T)[0], compute_uv=False)
    assert overlap.min() > 0.95
    assert not np.array_equal(model.components_, fitted)


def test_a_fit_forgets_the_stream():
    stream = list(batches(3, 100, 32))
    model = learned(stream[:2], (12, 6)).fit(stream[2])
    fresh = DeepSemiNMF((12, 6), random_state=0).fit(stream[2])
    assert_array_equal(model.components_, fresh.components_)


@pytest.mark.parametrize(("first", "then"), [("square", None), (None, "square"), ("square", "relu")])
def test_another_activation_begins_anew(first, then):
    """Of a stack with another activation nothing is of use, and nothing stays."""
    stream = list(batches(3, 100, 32))
    model = learned(stream[:2], (12, 6), activation=first).set_params(activation=then).partial_fit(stream[2])
    fresh = learned(stream[2:], (12, 6), activation=then)
    assert_array_equal(model.components_, fresh.components_)
    assert_array_equal(model.transform(stream[0]), fresh.transform(stream[0]))
    assert model.n_iter_ == 1


@pytest.mark.parametrize("nothing", ["", [], 0])
def test_batches_refuse_a_start_that_is_no_model(nothing):
    with pytest.raises(ValueError, match="init must be a fitted model"):
        DeepSemiNMF((12, 6), batch_size=50).fit(next(batches(1, 100, 32)), init=nothing)


def test_the_basis_follows_discounted_sums():
    """By the definition: after each batch the basis is the least squares of ``keep``-weighted sums (methods.md 5.3)."""
    rng = np.random.default_rng(0)
    stream = [rng.normal(size=(60, 10)) for _ in range(4)]
    online = Online([rng.normal(size=(6, 10)), rng.normal(size=(3, 6))], 1.0)
    gram, product = np.zeros((3, 3)), np.zeros((3, 10))
    for t, X in enumerate(stream, start=1):
        H = rng.uniform(size=(60, 3))
        online.learn(wrap(X), lambda batch, basis, ridge, H=H: H / batch.scale)
        keep = (1 - 1 / t) ** 1.5
        gram, product = keep * gram + H.T @ H, keep * product + H.T @ X
        assert_allclose(compose(online.weights)[-1], np.linalg.solve(gram, product), atol=1e-8)
        assert np.linalg.matrix_rank(online.weights[0]) == 6

"""Refits, maps that start from the last one, proposals, and the estimate."""

import numpy as np
import pandas
import pytest
from sklearn.manifold import trustworthiness

from laminar import AttributeLayers
from laminar.datasets import make_attributes
from laminar.io.labels import label_frame
from laminar.studio.estimate import estimate
from laminar.studio.fits import Fitter, group, moved_map, plane
from laminar.studio.proposals import EVERY, open_draws, propose


@pytest.fixture(scope="module")
def data():
    return make_attributes(120, levels=(3, 4), scales=(1.0, 1.0), random_state=0)


def frame_of(data, n):
    values = [f"p{v}" if i < n else None for i, v in enumerate(data.y[:, 0])]
    return pandas.DataFrame({"pose": values}, dtype=object)


def test_refit_is_a_fit(data):
    fitter, labels = Fitter(data.X), frame_of(data, 30)
    fitter.fit(frame_of(data, 10))
    again, _ = fitter.fit(labels)
    alone = AttributeLayers(random_state=0).fit(data.X, labels)
    np.testing.assert_array_equal(again.transform(data.X, "pose"), alone.transform(data.X, "pose"))
    assert again.get_params() == alone.get_params()


def test_guesses_are_labels_where_known(data):
    _, guesses = Fitter(data.X).fit(frame_of(data, 30))
    found = guesses["pose"]
    assert [found.classes[c] for c in found.best[:30]] == [f"p{v}" for v in data.y[:30, 0]]
    np.testing.assert_allclose(found.probabilities.sum(1), 1, atol=1e-5)


def test_whole_numbers_are_classes(data):
    values = [str(v) if i < 30 else None for i, v in enumerate(data.y[:, 0])]
    fitter, frame = Fitter(data.X), label_frame({"pose": values}, range(120))
    assert fitter.fit(frame)[1]["pose"].classes == ["0", "1", "2"]
    found = fitter.predict_without(frame["pose"].tolist(), np.arange(5))
    assert found.tolist() == [str(v) for v in data.y[:5, 0]]


def test_fit_without_labels_has_a_layer():
    X = np.random.default_rng(0).random((12, 4))
    model, guesses = Fitter(X).fit(None)
    assert (guesses, model.training_codes("rest").shape[0]) == ({}, 12)


def test_map_moves_from_where_it_was(data):
    fitter = Fitter(data.X)
    codes = [fitter.fit(frame_of(data, n))[0].training_codes("pose") for n in (6, 12)]
    first = moved_map(codes[0], plane(codes[0]), is_first=True)
    moved = moved_map(codes[1], first)
    again = moved_map(codes[1], plane(codes[1]), is_first=True)

    def distance(A, B):
        return np.linalg.norm((A - A.mean(0)) / A.std() - (B - B.mean(0)) / B.std())

    assert distance(moved, first) < distance(again, first)
    assert trustworthiness(codes[1], moved) > 0.9


@pytest.mark.parametrize("n", [2, 3, 6])
def test_few_samples_have_a_map(n):
    codes = np.random.default_rng(0).random((n, 3))
    assert np.isfinite(moved_map(codes, plane(codes), is_first=True)).all()
    assert group(codes).shape == (n,)


def test_equal_samples_have_a_map():
    codes = np.ones((20, 3))
    assert np.isfinite(moved_map(codes, plane(codes), is_first=True)).all()


# Proposals


def test_one_proposal_in_five_is_random():
    rng, known, counts, since = np.random.default_rng(0), np.zeros(200, bool), {}, 0
    features, probabilities = rng.normal(size=(200, 5)), rng.dirichlet(np.ones(3), 200)
    for _ in range(100):  # a user who takes the first proposal
        first = propose(known, open_draws(known, 0), since, features, probabilities)[0]
        known[first.row] = True
        since = 0 if first.reason == "random" else since + 1
        counts[first.reason] = counts.get(first.reason, 0) + 1
    assert counts["random"] == 100 // EVERY
    assert min(counts["uncertain"], counts["different"]) > 30


def test_draws_stay_until_they_are_labelled():
    known = np.zeros(50, bool)
    first, second = open_draws(known, 0)
    known[second] = True
    assert open_draws(known, 0)[0] == first
    assert open_draws(known, 1) != open_draws(known, 0)


def test_proposals_are_unlabelled_and_different():
    rng, known = np.random.default_rng(0), np.arange(30) % 2 == 0
    found = propose(known, open_draws(known, 0), 0, rng.normal(size=(30, 2)), None, n_proposals=20)
    rows = [proposal.row for proposal in found]
    assert len(rows) == len(set(rows)) == 15
    assert not known[rows].any()


def test_all_labelled_leaves_no_proposals():
    known = np.ones(8, bool)
    assert propose(known, open_draws(known, 0), 3, np.eye(8), np.eye(8)) == []


# Estimate


def test_estimate_withholds_each_label_once():
    values = np.array(["a", "b"] * 10 + [None] * 5, dtype=object)
    drawn, withheld = np.array([0, 3, 5, 8, 11, 12, 15]), []

    def predict(rows):
        withheld.extend(rows)
        return values[rows]

    found = estimate(np.random.default_rng(0).random((25, 3)), values, drawn, predict)
    assert sorted(withheld) == drawn.tolist()
    assert (found.accuracy, found.high, found.n, found.n_labels) == (1.0, 1.0, 7, 20)
    assert 0.5 < found.low < 1  # Wilson: 7 of 7


def test_stale_estimate_ends():
    values, calls = np.array(["a", "b"] * 5, dtype=object), []

    def predict(rows):
        calls.append(rows)
        return values[rows]

    assert estimate(np.eye(10), values, np.arange(6), predict, is_stale=lambda: len(calls) == 2) is None
    assert len(calls) == 2
    assert estimate(np.eye(10), values, np.array([1]), predict) is None

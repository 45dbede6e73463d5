"""Forms, scores, graphs and the vote: the parts of the ensemble one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from laminar.ensemble.forms import FORMS, fit_form, names_of_forms, resolve_forms
from laminar.ensemble.graphs import shared_neighbour_graph, sum_of_graphs
from laminar.ensemble.scores import fill_holes, joint_scores, principal_scores
from laminar.ensemble.voting import mean_of_nearest
from reference import ensemble as reference

rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.3, size=(30, 12)).astype(float)
POINTS = rng.normal(size=(40, 3))
RNG = np.random.RandomState(0)


# Forms


@pytest.mark.parametrize("name", FORMS)
def test_sparse_data_have_the_form_of_dense_data(name):
    dense, sparse = fit_form(name, COUNTS), fit_form(name, sp.csr_array(COUNTS))
    np.testing.assert_allclose(sparse(sp.csr_array(COUNTS)).toarray(), dense(COUNTS), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_units_do_not_matter(name, factor):
    np.testing.assert_allclose(
        fit_form(name, factor * COUNTS)(factor * COUNTS), fit_form(name, COUNTS)(COUNTS), rtol=1e-10, atol=1e-12
    )


def test_standard_form_has_unit_deviations():
    X = np.column_stack([POINTS * [1, 10, 100], np.full(40, 0.1)])
    np.testing.assert_allclose(fit_form("standard", X)(X).std(axis=0), [1, 1, 1, 0], atol=1e-12)


def test_new_samples_below_the_smallest_count_have_no_negative_weight():
    form = fit_form("tfidf", np.array([[2.0, 4.0], [4.0, 2.0]]))
    assert (form(np.array([[0.01, 8.0]])) >= 0).all()


def test_forms_follow_zeros_and_signs():
    assert names_of_forms(COUNTS * (rng.random(COUNTS.shape) < 0.5)) == ("unit", "tfidf")
    assert names_of_forms(sp.csr_array(-COUNTS)) == names_of_forms(POINTS) == ("raw", "standard")


@pytest.mark.parametrize(
    ("forms", "message"),
    [
        (["log"], "forms must be .auto. or one or more of raw, standard, unit, tfidf; got"),
        ([], "forms must be"),
        (["tfidf"], "has negative entries"),
        ({"b": ["raw"]}, r"forms is given for the views \['b'\], but the views are \['a'\]"),
    ],
)
def test_bad_forms_are_refused(forms, message):
    with pytest.raises(ValueError, match=message):
        resolve_forms(forms, ["a"], [POINTS])


# Scores


def test_scores_have_the_distances_of_the_data():
    scores = principal_scores(POINTS, 3, RNG)
    F = scores.training
    np.testing.assert_allclose(np.linalg.norm(F[0] - F, axis=1), np.linalg.norm(POINTS[0] - POINTS, axis=1), rtol=1e-10)
    np.testing.assert_allclose(scores.of(POINTS), F, rtol=0, atol=1e-10)


def test_whitened_scores_have_directions_of_one_size():
    scores = principal_scores(POINTS * [1, 10, 100], 3, RNG)
    W = scores.training * (scores.sizes / scores.sizes[0]) ** -1.0
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), scores.sizes[0], rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(scores.whitened(scores.training, 2, 1.0), axis=1), 1, rtol=1e-12)


def test_scores_of_constant_data_are_zero():
    scores = principal_scores(np.ones((5, 3)), 2, RNG)
    assert scores.training.shape == (5, 1)
    assert not scores.whitened(scores.training, 2, 0.75).any()


def test_holes_of_low_rank_are_filled():
    M = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 12))
    holes = np.zeros(M.shape, bool)
    holes[:10, 8:] = True
    filled = fill_holes(np.where(holes, 0, M), holes, principal_scores(M, 2, RNG), n_sweeps=200)
    np.testing.assert_allclose(filled, M, rtol=0, atol=1e-6)


def test_filled_views_are_near_the_complete_ones():
    factors = rng.normal(size=(60, 2))
    views = [factors @ rng.normal(size=(2, p)) + 0.01 * rng.normal(size=(60, p)) for p in (6, 8)]
    scores = [principal_scores(view, 6, RNG).training for view in views]
    has = np.ones((60, 2), bool)
    complete = joint_scores(scores, has, np.full(2, 0.5), 2, RNG).shared.training
    has = has.copy()
    has[:15, 0] = False
    found = joint_scores([np.where(has[:, :1], scores[0], 0), scores[1]], has, np.full(2, 0.5), 2, RNG).shared.training
    U, V = (np.linalg.qr(F)[0] for F in (complete, found))
    assert np.linalg.svd(U.T @ V)[1].min() > 0.99


# Graphs and votes


@pytest.mark.parametrize("k", [1, 5, 60])
def test_shared_neighbour_graph(k):
    expected = reference.shared_neighbour_graph(POINTS, min(k, 39))
    np.testing.assert_allclose(shared_neighbour_graph(POINTS, k).toarray(), expected, rtol=0, atol=1e-12)


def test_graph_of_one_sample_has_no_edge():
    assert shared_neighbour_graph(POINTS[:1], 5).nnz == 0


def test_view_of_noise_has_a_small_weight():
    graphs = [shared_neighbour_graph(P, 5) for P in (POINTS, POINTS + 0.01, rng.normal(size=(40, 3)))]
    S, weights = sum_of_graphs(graphs, np.ones((40, 3), bool))
    assert weights[2] < 0.2 < weights[0]
    assert S.sum() == pytest.approx(1)


def test_vote_of_training_samples_has_rows_of_sum_one():
    H = rng.dirichlet(np.ones(3), size=40)
    votes = mean_of_nearest(POINTS[:7], POINTS, H)
    np.testing.assert_allclose(votes.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(mean_of_nearest(POINTS[:7], POINTS, H, n_neighbors=1), H[:7], rtol=1e-12)

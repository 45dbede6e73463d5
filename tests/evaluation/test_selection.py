"""`select_layers`: planted sizes, ties, forms of input, and what it shows."""

import numpy as np
import pytest
import scipy.sparse as sp

from laminar import NMF, DeepSemiNMF, MultiLayerNMF, SemiNMF, select_layers
from laminar.datasets import make_lowrank
from laminar.evaluation.selection import _best, _entries, _third
from laminar.plots import selection_figure


def lowrank(basis="gamma", seed=0, k=5):
    return make_lowrank(90, 45, k, noise=0.5, basis=basis, random_state=seed).X


def clustered(seed, uneven=False):
    rng = np.random.default_rng(seed)
    centres = rng.gamma(1.0, size=(4, 30)) * (np.linspace(0.5, 2, 4)[:, None] if uneven else 1)
    return centres[np.arange(80) % 4] * rng.uniform(0.7, 1.3, (80, 1)) + 0.2 * rng.random((80, 30))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("basis", ["gamma", "normal"])
def test_entries_choose_planted_size(basis, seed):
    found = select_layers(lowrank(basis, seed), [2, 4, 5, 6, 9], n_repeats=4, random_state=seed, verbose=0)
    assert found.best_ == (5,)


@pytest.mark.parametrize(("uneven", "seed"), [(False, 0), (False, 1), (True, 0)])
def test_stability_chooses_planted_clusters(uneven, seed):
    X = clustered(seed, uneven)
    found = select_layers(X, [2, 3, 4, 5, 7], method="stability", n_repeats=3, random_state=seed, verbose=0)
    assert found.best_ == (4,)
    assert found.table_["score"].max() <= 1


def test_noise_prefers_the_smallest():
    X = np.random.default_rng(0).normal(size=(40, 30))
    assert select_layers(X, [1, 3, 6], verbose=0).best_ == (1,)


def test_depth_does_not_change_what_a_linear_stack_predicts():
    found = select_layers(lowrank(), [5, (9, 5), (12, 9, 5)], verbose=0)
    tops = [found.table_.loc[name, "score"].iloc[-1] for name in ("5", "9-5", "12-9-5")]
    assert np.ptp(tops) < 1e-5
    assert found.best_ == (5,)  # a hidden layer that holds noise speaks against its candidate


@pytest.mark.parametrize("seed", range(3))
def test_hidden_layers_decide_equal_tops(seed):
    """With the top fixed below the planted size, the hidden layer of the planted size predicts best."""
    X = lowrank()
    rounding = 1 + 1e-15 * np.random.default_rng(seed).choice([-1, 1], size=X.shape)
    assert select_layers(X * rounding, [3, (4, 3), (5, 3)], verbose=0).best_ == (5, 3)


LEVEL = np.array([[0.1], [0.5], [0.9]])
TIES = {  # scores (n_repeats, n_layers), sign, choice
    "lower at every split": ({(4,): LEVEL, (2,): LEVEL - 0.01}, 1, (4,)),
    "within one standard error": ({(4,): LEVEL, (8,): LEVEL - [[0.02], [-0.01], [0.0]]}, -1, (8,)),
    "within one standard error, smallest": ({(8,): LEVEL, (4,): LEVEL - [[0.02], [-0.01], [0.0]]}, 1, (4,)),
    "lower by rounding at every split": ({(4,): LEVEL, (2,): LEVEL - 1e-15}, 1, (2,)),
    "higher by rounding at every split": ({(4,): LEVEL, (2,): LEVEL + 1e-15}, -1, (4,)),
    "hidden layers equal but for rounding": (
        {(9, 3): np.hstack([LEVEL + 1e-15, LEVEL]), (5, 3): np.hstack([LEVEL, LEVEL])}, 1, (5, 3)),
    "hidden layers": ({(5, 3): np.hstack([LEVEL, LEVEL]), (9, 3): np.hstack([LEVEL + 0.01, LEVEL])}, 1, (9, 3)),
    "equal in all": ({(6, 5, 3): LEVEL[:, [0, 0, 0]], (7, 4, 3): LEVEL[:, [0, 0, 0]]}, 1, (6, 5, 3)),
}  # fmt: skip


@pytest.mark.parametrize("case", TIES)
def test_ties_follow_documented_order(case):
    scores, sign, choice = TIES[case]
    assert _best(scores, sign) == choice


def test_every_layer_has_a_row():
    found = select_layers(lowrank(), [4, (9, 5)], n_repeats=2, verbose=0)
    assert list(found.table_.index) == [("4", "layer 0"), ("9-5", "layer 0"), ("9-5", "layer 1")]
    assert found.table_["size"].tolist() == [4, 9, 5]
    assert np.isfinite(found.table_.to_numpy()).all()


def test_what_was_hidden_is_not_seen():
    """Changing the hidden block changes the score alone: the fit is the same to the last bit."""
    X, seed = lowrank(), 3
    first, again = (SemiNMF(4, random_state=0) for _ in range(2))
    good = _entries(first, X, np.random.RandomState(seed))
    rng = np.random.RandomState(seed)
    rows, columns = (_third(size, rng) for size in X.shape)
    X[np.ix_(rows, columns)] = 7.0
    bad = _entries(again, X, np.random.RandomState(seed))
    np.testing.assert_array_equal(first.components_, again.components_)
    assert good[0] > 0.9
    assert bad[0] < good[0]


def test_exact_low_rank_is_predicted_exactly():
    X = make_lowrank(60, 30, 3, random_state=0).X
    assert _entries(SemiNMF(3, tol=1e-9), X, np.random.RandomState(0))[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("estimator", [NMF(tol=1e-3), SemiNMF(), DeepSemiNMF(), MultiLayerNMF(theta=0)], ids=repr)
@pytest.mark.parametrize("method", ["entries", "stability"])
def test_models_of_one_layer_and_of_several(estimator, method):
    before = estimator.get_params()
    found = select_layers(lowrank(), [2, 4], estimator=estimator, method=method, n_repeats=2, verbose=0)
    assert found.method == method
    assert found.table_["size"].tolist() == [2, 4]
    assert method == "stability" or found.best_ == (4,)  # five were planted
    assert estimator.get_params() == before


def test_sparse_and_float32():
    X = np.where(lowrank() > 4, lowrank(), 0)
    dense, sparse = (select_layers(A, [2, 5], n_repeats=2, verbose=0).table_ for A in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense, sparse, rtol=1e-6)
    single = select_layers(X.astype(np.float32), [2, 5], n_repeats=2, verbose=0).table_
    np.testing.assert_allclose(dense, single, rtol=1e-2, atol=1e-3)


def test_zeros_predict_nothing():
    found = select_layers(np.zeros((9, 6)), [1, 2], n_repeats=2, verbose=0)
    assert found.table_["score"].tolist() == [0, 0]


def test_same_seed_same_table():
    tables = [select_layers(lowrank(), [3, 5], n_repeats=2, random_state=1, verbose=0).table_ for _ in range(2)]
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize(
    ("candidates", "settings", "sentence"),
    [
        ([], {}, "candidates is empty"),
        ([0], {}, "candidates must be whole numbers above 0"),
        ([(3, 0.5)], {}, "candidates must be whole numbers above 0"),
        ([()], {}, "candidates must be whole numbers above 0"),
        ([(5, 1)], {"method": "stability"}, "one cluster, always found again"),
        ([3], {"method": "labels"}, "method must be one of 'entries', 'stability'"),
        ([3], {"n_repeats": 1}, "n_repeats must be at least 2"),
        ([(5, 3)], {"estimator": SemiNMF()}, "SemiNMF has one layer"),
    ],
)
def test_what_cannot_be_done_is_said(candidates, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        select_layers(lowrank(), candidates, verbose=0, **settings)


def test_any_iterable_of_candidates():
    found = select_layers(lowrank(), iter([np.int64(2), [2], np.array([4, 2])]), n_repeats=2, verbose=0)
    assert list(found.table_.index.get_level_values(0)) == ["2", "4-2", "4-2"]
    assert all(type(k) is int for k in found.best_)


def test_progress_is_shown_on_standard_error(capsys):
    select_layers(lowrank(), [2, 3], n_repeats=2)
    shown = capsys.readouterr()
    assert "select_layers" in shown.err
    assert "4/4 fits" in shown.err
    assert shown.out == ""
    select_layers(lowrank(), [2, 3], n_repeats=2, verbose=0)
    assert capsys.readouterr().err == ""


def test_plot_marks_the_choice():
    found = select_layers(lowrank(), [2, (9, 5)], n_repeats=2, verbose=0)
    (axes,) = selection_figure(found).axes
    assert axes.get_title(loc="left") == "Held-out entries: 9-5"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "9-5"]

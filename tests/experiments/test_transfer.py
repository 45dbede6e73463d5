"""Fig. 7 of Trigeorgis et al.: weights of labelled faces as a start for others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans

from laminar import DeepSemiNMF, DeepWSF
from laminar.experiments import ITEMS, Run
from laminar.experiments.data import faces_with_expressions, images
from laminar.experiments.trigeorgis.transfer import (
    STARTS,
    TARGET,
    _chosen,
    fine_tuned,
    iterations_to_equal_error,
    labelled,
    training_people,
    transfer,
)
from laminar.metrics import clustering_accuracy
from laminar.recipes import trigeorgis as published

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LAYERS = (12, 5)


@pytest.fixture(scope="module", autouse=True)
def without_data():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        images.cache_clear()
        yield
    images.cache_clear()


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).gamma(1.0, size=(60, 20))


@pytest.fixture(scope="module")
def result(without_data, tmp_path_factory):
    return ITEMS["trigeorgis-fig7"].make(Run(tmp_path_factory.mktemp("cells"), quick=True))


# Fine-tuning
@pytest.mark.parametrize("start", ["own", "source"])
def test_top_layer_is_that_of_algorithm_1(start, X):
    limits = {"max_iter": 4, "pretraining_max_iter": 4}
    other = np.random.default_rng(1).gamma(1.0, size=(50, 20))
    source = None
    if start == "source":
        source = labelled(other, np.arange(50) % 5, 0.5, None, "published", LAYERS, 4, 0)
        assert source.n_iter_ == 4
        limits = {"max_iter": 4, "pretraining_max_iter": None, "init": "auto"}
    deep = published.deep_semi_nmf(LAYERS[1], LAYERS[0], **limits, random_state=0).fit(X, init=source)
    found = fine_tuned(X, source, None, "published", LAYERS, 4, 0)
    assert found.n_iter_ == deep.n_iter_ == 4
    assert_allclose(found.objective_history_, deep.objective_history_, rtol=2e-3)
    codes = deep.layers_[-1].representation
    assert_allclose(found.layers_[-1].representation, codes, atol=0.02 * codes.max())


def test_source_is_start(X):
    source = DeepWSF(LAYERS, random_state=0).fit(X, np.arange(60) % 3)
    model = fine_tuned(X, source, None, "laminar", LAYERS, 4, 0)
    assert_allclose(model.components_, DeepSemiNMF(LAYERS, random_state=0).fit(X, init=source).components_)
    assert model.n_iter_ > 0
    assert not np.allclose(
        model.objective_history_[0], fine_tuned(X, None, None, "laminar", LAYERS, 4, 0).objective_history_[0]
    )


def test_iterations_to_equal_error_are_of_worst_start():
    courses = {
        "a": (np.array([1, 2, 3]), np.array([5.0, 3.0, 2.0])),
        "b": (np.array([1, 4, 6]), np.array([9.0, 3.5, 1.0])),
    }
    assert iterations_to_equal_error(courses) == {"a": 3.0, "b": 6.0}


# Validation
def test_validation_people_are_not_in_training():
    people = np.repeat(np.arange(30), 4)
    chosen = training_people(people, 1)
    assert len(chosen) == len(set(chosen)) == 20
    assert set(chosen) != set(training_people(people, 2))


def test_validation_scores_held_out_people():
    scores = transfer(True, None, "laminar", (20, 8), 3, 1, 3)
    data = faces_with_expressions(small=True)
    people = data.attributes["identity"]
    train = np.isin(people, training_people(people, 1))
    model = DeepWSF((20, 8), alphas=0.01, random_state=1).fit(data.unit[train], people[train])
    rest = model.transform(data.unit[~train])
    found = KMeans(len(set(people[~train])), n_init=3, random_state=1).fit_predict(rest)
    expected = clustering_accuracy(people[~train], found)
    assert_allclose(scores["auxiliary, lambda 0.01: validation"], expected)
    assert "own: validation" not in scores


def test_weight_is_chosen_by_validation(result):
    cells = result.cells.copy()
    cells["validation"] = np.where(cells["start"] == "auxiliary, lambda 0", 0.9, 0.1)
    assert set(_chosen(cells).values()) == {"auxiliary, lambda 0"}


# Item
def test_item_has_every_start_of_both_models(result):
    for _, table in result.tables:
        starts = {start.removesuffix(" (chosen)") for start in table.index.get_level_values("start")}
        assert set(STARTS) <= starts
        assert {"linear", "stanh"} <= set(table.index.get_level_values("model"))
        assert sum("(chosen)" in start for start in table.index.get_level_values("start")) == 4
    assert "in place of" in result.title
    assert (result.cells["seconds"] >= 0).all()


def test_accuracies_of_table_are_means_of_cells(result):
    cells, (_, table) = result.cells, result.tables[0]
    part = cells[(cells["model"] == "linear") & (cells["rule"] == "published") & (cells["start"] == "own")]
    mean = part[part["components"] == 20]["accuracy, raw"].mean()
    assert table.loc[("linear", "published", "own"), "accuracy, raw, 20"].startswith(f"{mean:.2f}")


def test_figure_has_curves_of_starts(result):
    assert len(result.figure().axes[0].lines) == 7  # two rules, one with two read-outs, two starts; the baseline
    assert len(images(TARGET, True).X) == len(images(TARGET, True).attributes["identity"])

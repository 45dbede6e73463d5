"""Table 1 and Figs. 4 to 6 of Trigeorgis et al.: one fit for all items, clusters, areas and claims."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import normalize

from laminar import SemiNMF
from laminar.experiments import ITEMS, Run
from laminar.experiments.data import images
from laminar.experiments.trigeorgis import clusters, models
from laminar.experiments.trigeorgis.clusters import areas_of, scores_of, verdict_of
from laminar.metrics import clustering_accuracy, normalized_mutual_information

NAME = "pie_pose27"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run in small on rendered faces, whose results are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        images.cache_clear()
        yield Run(tmp_path_factory.mktemp("cells"), quick=True)
    images.cache_clear()


@pytest.fixture(scope="module")
def figure4(run):
    return ITEMS["trigeorgis-fig4"].make(run)


def test_error_and_clusters_are_those_of_fit(run):
    data = images(NAME, True)
    X, y = normalize(data.X), data.attributes["identity"]
    found = models.fitted(NAME, True, "pixels", SemiNMF(5, random_state=0), ("raw",), 3)
    model = SemiNMF(5, random_state=0).fit(X)
    assert_allclose(found["error"], np.linalg.norm(X - model.fit_transform(X) @ model.components_), rtol=1e-6)
    labels = model.cluster(readout="raw", n_clusters=len(np.unique(y)), n_init=3)
    assert_allclose(found["accuracy, raw, seed 0"], clustering_accuracy(y, labels))
    assert_allclose(found["nmi, raw, seed 0"], normalized_mutual_information(y, labels))


def test_model_of_cell_is_not_changed(run):
    model = SemiNMF(3, random_state=0)
    models.fitted(NAME, True, "pixels", model, ("auto",), 2)
    assert not hasattr(model, "components_")


def test_table_and_figure_share_fits(run, figure4):
    kept = set(run.kept.folder.iterdir())
    ITEMS["trigeorgis-table1"].make(run)
    new = set(run.kept.folder.iterdir()) - kept
    assert len(new) == 5  # three of twice the iterations, two stacks


def test_figure_has_eight_published_curves(figure4):
    labels = [text.get_text() for text in figure4.figure().axes[0].get_legend().get_texts()]
    assert sum("published" in label for label in labels) == len(clusters.AREAS) == 8


def test_no_printed_areas_beside_stand_in(figure4):
    ((_, table),) = figure4.tables
    assert "in place of" in figure4.title
    assert "printed" not in table.columns


def scores(deep, plain):
    names = {"Deep Semi-NMF": deep, "Semi-NMF": plain, "NMF (MUL)": 0.1}
    rows = [
        {"method": method, "rule": "published", "components": k, "readout": readout, "seed": 0, "accuracy": value}
        for method, value in names.items()
        for k in (20, 70)
        for readout in ("raw", "auto")
    ]
    baseline = {
        "method": "partly whitened scores, rank graph",
        "rule": "baseline",
        "components": 0,
        "readout": "auto",
        "seed": 0,
    }
    return pd.DataFrame([*rows, {**baseline, "accuracy": 0.9}])


@pytest.mark.parametrize(("deep", "word"), [(0.6, "30.0 of 50"), (0.6, ": holds"), (0.3, ": does not hold")])
def test_verdict_follows_scores(deep, word):
    assert word in verdict_of(scores(deep, 0.4), models.Setting(NAME))


def test_area_is_trapezoid_of_means():
    found = pd.DataFrame(
        {"method": "a", "rule": "b", "components": [20, 30, 70], "accuracy, raw, seed 0": [0.2, 0.6, 1.0]}
    )
    area = areas_of(scores_of(found), "accuracy").loc[("a", "b", "raw"), 0]
    assert_allclose(area, 10 * 0.4 + 40 * 0.8)


def test_samples_in_small_have_two_classes(run):
    for name in (NAME, "pie_5pose_10id"):
        data = models.samples(name, True)
        assert len(np.unique(models.classes(name, True))) > 1
        assert len(models.features_of(name, True, "gradient orientations")) == len(data.X)


@pytest.mark.parametrize(("error", "is_unfinished"), [(6.5, False), (8.3, True)])
def test_error_above_print_is_said(error, is_unfinished):
    found = pd.DataFrame([{"method": "Deep Semi-NMF", "rule": "published", "components": 40, "error": error}])
    assert ("not converged" in clusters.unfinished(found, 40, 6.5)) == is_unfinished

"""The experiment of the demo: scores, rows, labels and the figure."""

import numpy as np
import pytest

from laminar._utils.extras import require
from laminar.cli import demo


@pytest.fixture(scope="module")
def shown():

    return demo.run(size=12, seed=2, n_identities=4)


@pytest.mark.slow
def test_demo_scores_are_repeatable(shown):

    assert shown.scores.equals(demo.run(size=12, seed=2, n_identities=4).scores)


def test_demo_scores_are_within_bounds(shown):

    assert shown.scores.to_numpy().min() >= 0
    assert shown.scores.to_numpy().max() <= 1
    assert list(shown.seconds) == list(demo.methods())
    assert list(dict.fromkeys(shown.scores.index.get_level_values(0))) == ["chance", *demo.methods()]
    metrics = ("accuracy", "nmi", "probe", "classifier")
    assert list(shown.scores.columns) == [(name, metric) for name in demo.ATTRIBUTES for metric in metrics]


def test_demo_has_a_row_for_every_layer(shown):
    layers = shown.scores.groupby(level="method", sort=False).size().to_dict()
    assert layers == {"chance": 1} | {name: len(model.layers_) for name, model in shown.models.items()}


def test_demo_scores_unlabelled_faces(shown):
    from laminar import layer_attribute_table
    from laminar.datasets import partial_labels

    truth = np.column_stack([shown.faces[name] for name in demo.ATTRIBUTES])
    told = partial_labels(truth, demo.LABELLED, random_state=2)
    table = layer_attribute_table(shown.models["NMF"], None, np.where(told < 0, truth, -1), random_state=2)
    clusters = shown.scores.loc["NMF"].drop(columns="classifier", level=1)
    np.testing.assert_array_equal(clusters.to_numpy(), table.iloc[1:].to_numpy())
    assert shown.models["AttributeLayers"].attributes_ == list(demo.ATTRIBUTES)


def test_demo_classifier_uses_given_labels(shown):
    chance = {"identity": 1 / 4, "pose": 1 / 5, "light": 1 / 6}
    row = shown.scores.loc["whitened SVD"].iloc[0]
    assert all(row[name, "classifier"] > 1.5 * level for name, level in chance.items())


def test_demo_figure_shows_the_layers(shown):

    figure = demo.figure(shown)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "120 faces: 4 people, 5 poses, 6 lights"
    assert titles[2:5] == ["Layer of identity", "Layer of pose", "Layer of light"]
    figure.canvas.draw()
    tight = figure.get_tightbbox()
    assert tight.x0 >= 0
    assert tight.x1 <= figure.get_size_inches()[0]


def test_require_does_not_hide_a_broken_package(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import something_it_needs\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_it_needs"):
        require("broken_package", "plots")

"""Figures of layers and of a selection of them."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from laminar import ClassDrivenNMF, DeepSemiNMF, SemiNMF, layer_attribute_table, plots, select_layers
from laminar.evaluation.layers import layer_features


@pytest.fixture(scope="module")
def layered():
    rng = np.random.RandomState(0)
    labels = np.arange(30) % 3
    X = rng.normal(size=(3, 12))[labels] + 0.1 * rng.normal(size=(30, 12))
    model = DeepSemiNMF((15, 3), graph=None, random_state=0).fit(X)
    model.data, model.labels = X, labels
    return model


def test_layer_components_is_a_grid_a_layer(layered):
    figure = plots.layer_components(layered, (3, 4), n_images=13, title="Deep")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Deep, layer 0 (15)", "Deep, layer 1 (3)"]
    first, second = (axes.get_position() for axes in figure.axes)
    assert first.y0 > second.y1  # from the input down the page
    assert first.width == pytest.approx(4 * second.width)  # twelve a line, images of one size
    shown = figure.axes[0].images[0]
    assert shown.get_clim() == (-1, 1)
    assert np.ma.getmaskarray(shown.get_array())[-1, -1]  # thirteen images leave room in the second line


@pytest.fixture(scope="module")
def by_class():
    rng = np.random.RandomState(0)
    y = np.array(["left", "right", None, None])[np.arange(40) % 4]
    numbers = {"left": 2, "right": 1}
    model = ClassDrivenNMF(classes=4, components_per_class=numbers, free_components=3, random_state=0)
    return model.fit(rng.gamma(1.0, size=(40, 12)), y)


TITLES = ["class left", "class right", "class without a name, 1", "class without a name, 2", "no class"]


def test_class_components_is_a_row_a_class(by_class):
    assert by_class.component_classes_.tolist() == [0, 0, 1, 2, 3, -1, -1, -1]
    figure = plots.class_components(by_class, (3, 4), title="cdNMF")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"cdNMF, {name}" for name in TITLES]
    places = [axes.get_position() for axes in figure.axes]
    assert all(above.y0 > below.y1 for above, below in pairwise(places))
    assert [place.width / places[1].width for place in places] == pytest.approx([2, 1, 1, 1, 3])


def test_class_components_as_bars(by_class):
    figure = plots.class_components(by_class)
    assert [axes.get_title(loc="left") for axes in figure.axes] == TITLES
    assert [len(axes.patches) for axes in figure.axes] == [24, 12, 12, 12, 36]
    heights = [bar.get_height() for bar in figure.axes[1].patches]
    np.testing.assert_allclose(heights, by_class.components_[2] / by_class.components_[2].max())


def test_class_components_needs_a_fitted_model():
    with pytest.raises(NotFittedError):
        plots.class_components(ClassDrivenNMF(), (3, 4))


def test_layer_attribute_figure_has_a_heat_map_a_metric(layered):
    X, labels = layered.data, layered.labels
    scores = layer_attribute_table(layered, X, {"a": labels, "b": labels % 2}, metrics=("accuracy", "nmi", "ari"))
    figure = plots.layer_attribute_figure(scores, "Deep")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Deep: accuracy", "Deep: nmi", "Deep: ari"]
    for axes, metric in zip(figure.axes, ("accuracy", "nmi", "ari"), strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), scores.xs(metric, axis=1, level=1))
        assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    assert [axes.yaxis.get_tick_params()["labelleft"] for axes in figure.axes] == [True, False, False]


def test_layer_scatter_colours_by_label_and_greys_the_unknown(layered):
    labels = np.where(np.arange(30) < 5, None, layered.labels.astype(object))
    (axes,) = plots.layer_scatter(layered, labels, layer=0).axes
    assert [len(points.get_offsets()) for points in axes.collections] == [5, 8, 8, 9]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["0", "1", "2"]
    assert axes.get_title(loc="left") == "layer 0 (15)"


def test_layer_scatter_shows_the_principal_plane_of_the_readout(layered):
    E = layer_features(layered, 1)
    E = E - E.mean(0)
    largest = np.sqrt((np.linalg.svd(E)[1][:2] ** 2).sum())
    (axes,) = plots.layer_scatter(layered).axes
    assert np.linalg.norm(axes.collections[0].get_offsets()) == pytest.approx(largest)
    assert axes.get_legend() is None
    unseen = plots.layer_scatter(layered, X=layered.data[:4]).axes[0].collections[0].get_offsets()
    assert len(unseen) == 4


def test_layer_scatter_of_one_component_is_a_line():
    X = np.random.RandomState(0).normal(size=(10, 4))
    (axes,) = plots.layer_scatter(SemiNMF(1, random_state=0).fit(X)).axes
    assert np.ptp(np.asarray(axes.collections[0].get_offsets())[:, 1]) == 0


def test_many_classes_have_no_legend(layered):
    assert plots.layer_scatter(layered, np.arange(30)).axes[0].get_legend() is None


def test_selection_figure_shows_every_layer():
    X = np.random.RandomState(0).gamma(1.0, size=(20, 12))
    result = select_layers(X, [2, (5, 2), 3], n_repeats=2, verbose=0)
    (axes,) = plots.selection_figure(result).axes
    shown = np.concatenate([line.get_ydata() for line in axes.lines if line.get_marker() == "o"])
    np.testing.assert_allclose(sorted(shown), sorted(result.table_["score"]))

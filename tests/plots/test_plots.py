import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from laminar import DeepSemiNMF, SemiNMF, layer_attribute_table, plots, select_layers
from laminar.evaluation.tables import layer_features


@pytest.fixture
def images():
    return np.random.RandomState(0).uniform(size=(10, 6))


@pytest.fixture
def table():
    return pd.DataFrame({"identity": [0.123, 1.0], "pose": [0.0, 0.5]}, index=["NMF", "SemiNMF"])


@pytest.fixture(scope="module")
def layered():
    rng = np.random.RandomState(0)
    labels = np.arange(30) % 3
    X = rng.normal(size=(3, 12))[labels] + 0.1 * rng.normal(size=(30, 12))
    model = DeepSemiNMF((15, 3), graph=None, random_state=0).fit(X)
    model.data, model.labels = X, labels
    return model


def pixels(figure):
    return figure.axes[0].images[0].get_array()


def test_images_grid_is_one_axes_with_all_images(images):
    figure = plots.images_grid(images, (2, 3), n_columns=4, title="Ten")
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 1
    assert figure.axes[0].get_title(loc="left") == "Ten"
    shown = pixels(figure)
    tile = (3 * 32, 2 * 32)  # enlarged to 96 pixels across
    assert shown.shape[0] == pytest.approx(3 * tile[1], abs=10)
    assert shown.shape[1] == pytest.approx(4 * tile[0], abs=15)
    assert np.ma.getmaskarray(np.ma.masked_invalid(shown))[-1, -1]  # places eleven and twelve stay empty


def test_images_grid_of_large_images_keeps_every_pixel():
    image = np.random.RandomState(0).uniform(size=(1, 100 * 100))
    shown = pixels(plots.images_grid(image, (100, 100)))
    np.testing.assert_allclose(shown, image.reshape(100, 100) / image.max())


def test_signed_components_are_centred_at_zero(images):
    shown = plots.images_grid(images - 0.2, (2, 3), signed=True).axes[0].images[0]
    assert shown.get_clim() == (-1, 1)
    assert shown.get_cmap().name != plots.images_grid(images, (2, 3)).axes[0].images[0].get_cmap().name


def test_scale_is_shared_or_each_images_own():
    two = np.vstack([np.full(10_000, 1.0), np.full(10_000, 4.0)])
    means = {}
    for scale in ("shared", "each"):
        shown = pixels(plots.images_grid(two, (100, 100), scale=scale))
        means[scale] = shown[:, :100].mean(), shown[:, -100:].mean()
    assert means == {"shared": (0.25, 1.0), "each": (1.0, 1.0)}
    with pytest.raises(ValueError, match="shared"):
        plots.images_grid(two, (100, 100), scale="none")


def test_score_table_writes_its_values(table):
    figure = plots.score_table_figure(table, title="Accuracy")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == [".12", ".00", "1.0", ".50"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["identity", "pose"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["NMF", "SemiNMF"]


def test_convergence_of_one_and_of_several():
    one, several = plots.convergence([100.0, 3.0, 1.0]), plots.convergence({"a": [3, 2], "b": [4, 1]})
    assert len(one.axes[0].lines) == 1
    assert one.axes[0].get_legend() is None
    assert one.axes[0].get_yscale() == "log"
    assert [text.get_text() for text in several.axes[0].get_legend().get_texts()] == ["a", "b"]
    assert plots.convergence([3.0, -1.0]).axes[0].get_yscale() == "linear"


def test_convergence_of_fitted_models(layered):
    line = plots.convergence(layered).axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), layered.objective_history_)
    both = plots.convergence({"model": layered, "numbers": [3, 2]}).axes[0]
    assert [len(line.get_xdata()) for line in both.lines] == [layered.n_iter_, 2]


def test_layer_components_is_a_grid_a_layer(layered):
    figure = plots.layer_components(layered, (3, 4), n_images=13, title="Deep")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Deep, layer 1 (15)", "Deep, layer 2 (3)"]
    first, second = (axes.get_position() for axes in figure.axes)
    assert first.y0 > second.y1  # from the input down the page
    assert first.width == pytest.approx(4 * second.width)  # twelve a line, images of one size
    shown = figure.axes[0].images[0]
    assert shown.get_clim() == (-1, 1)
    assert np.ma.getmaskarray(shown.get_array())[-1, -1]  # thirteen images leave room in the second line


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
    assert axes.get_title(loc="left") == "layer 1 (15)"


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


def test_demo_figure_axes(images, table):
    components = {"NMF": images, "SemiNMF": images - 0.5}
    figure = plots.demo_figure(images, components, {"Accuracy": table, "NMI": table}, (2, 3), "Faces")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Faces", "NMF", "SemiNMF", "Accuracy", "NMI"]
    assert [axes.images[0].get_clim()[0] for axes in figure.axes[:3]] == [0, 0, -1]
    assert [axes.yaxis.get_tick_params()["labelleft"] for axes in figure.axes[3:]] == [True, False]
    assert figure.get_size_inches()[0] == 9
    for axes in figure.axes:  # nothing lies outside the page
        box = axes.get_position()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= 1
        assert box.y1 <= 1


def test_text_stays_on_the_page(images, table):
    long = table.rename(index={"NMF": "a method with a long name"})
    for figure in (plots.score_table_figure(long, "T"), plots.convergence([3.0, 2.0], "T")):
        figure.canvas.draw()
        tight = figure.get_tightbbox()
        assert tight.x0 >= 0
        assert tight.y0 >= 0
        assert tight.x1 <= figure.get_size_inches()[0]
        assert tight.y1 <= figure.get_size_inches()[1]


def test_no_pyplot_is_touched(images, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    plots.images_grid(images, (2, 3))


def test_missing_matplotlib_names_the_extra(images, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'^laminar.plots needs matplotlib: pip install "laminar\[plots\]"$'):
        plots.images_grid(images, (2, 3))

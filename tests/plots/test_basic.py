"""Images, tables and curves."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from laminar import NMF, SemiNMF, plots


@pytest.fixture
def images():
    return np.random.RandomState(0).uniform(size=(10, 6))


@pytest.fixture
def table():
    return pd.DataFrame({"identity": [0.123, 1.0], "pose": [0.0, 0.5]}, index=["NMF", "SemiNMF"])


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


def test_convergence_of_fitted_models():
    model = SemiNMF(3, random_state=0).fit(np.random.RandomState(0).normal(size=(30, 12)))
    line = plots.convergence(model).axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), model.objective_history_)
    both = plots.convergence({"model": model, "numbers": [3, 2]}).axes[0]
    assert [len(line.get_xdata()) for line in both.lines] == [len(model.objective_history_), 2]


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
    with pytest.raises(ImportError, match=r'^laminar.plots needs matplotlib: pip install "laminar-nmf\[plots\]"$'):
        plots.images_grid(images, (2, 3))


def test_convergence_is_drawn_at_true_iterations():
    """KL objectives are evaluated after the first and every tenth iteration: 40 iterations are 40, not 5."""
    X = np.random.default_rng(0).gamma(1.0, size=(30, 8))
    model = NMF(3, loss="kl", max_iter=40, tol=0, random_state=0).fit(X)
    (line,) = plots.convergence(model).axes[0].lines
    np.testing.assert_array_equal(line.get_xdata(), [1, 10, 20, 30, 40])
    published = NMF(3, loss="kl", rule="published", max_iter=40, tol=0, random_state=0).fit(X)
    np.testing.assert_array_equal(published.history_iterations_, np.arange(1, 41))

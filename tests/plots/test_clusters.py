"""Montages of clusters, codes and eigenmaps in two dimensions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar import plots
from laminar.datasets import make_xor
from laminar.graphs import KNN, laplacian_eigenmaps

rng = np.random.default_rng(0)


def points(axes):
    return np.concatenate([np.asarray(drawn.get_offsets()) for drawn in axes.collections])


def test_montage_has_the_images_of_each_cluster():
    images = np.repeat(np.arange(1.0, 11.0)[:, None], 100 * 100, axis=1)
    labels = ["b", "a", "b", None, "b", "a", "b", "b", "b", "b"]
    figure = plots.cluster_montage(images, labels, (100, 100), n_per_cluster=4, title="Two")
    a, b = figure.axes
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["a (2)", "b (7)"]
    assert a.get_title(loc="left") == "Two"
    assert a.get_position().y0 > b.get_position().y1
    assert a.get_position().width == pytest.approx(b.get_position().width / 2)  # images of one size
    shown = a.images[0].get_array()
    assert (shown[0, 0], shown[0, -1]) == pytest.approx((0.2, 0.6))  # second and sixth image of ten


def test_montage_of_one_scale():
    """An image twice as bright as another is so in every line."""
    images = np.array([np.full(10_000, 1.0), np.full(10_000, 4.0)])
    first, second = plots.cluster_montage(images, [0, 1], (100, 100)).axes
    assert first.images[0].get_array().max() == pytest.approx(0.25)
    assert second.images[0].get_array().max() == pytest.approx(1.0)


def test_codes_are_drawn_as_they_are():
    H = rng.uniform(size=(30, 2)) * [1, 100]
    (axes,) = plots.codes_2d(H).axes
    assert_array_equal(points(axes), H)
    assert axes.get_legend() is None


def test_layers_side_by_side_with_colour_and_marker():
    data = make_xor(5, random_state=0)
    layers = [data.X, np.abs(data.X)]
    figure = plots.codes_2d(layers, np.c_[data.identity, data.pose], title="XOR")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["XOR: layer 0", "XOR: layer 1"]
    for axes, H in zip(figure.axes, layers, strict=True):
        drawn = [c for c in axes.collections if len(c.get_offsets())]
        assert len(drawn) == 4
        for collection, (identity, pose) in zip(drawn, [(0, 0), (0, 1), (1, 0), (1, 1)], strict=True):
            assert_array_equal(collection.get_offsets(), H[(data.identity == identity) & (data.pose == pose)])
        colours = [tuple(c.get_facecolor()[0]) for c in drawn]
        assert colours[0] == colours[1] != colours[2] == colours[3]
    texts = figure.axes[-1].get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["0, 0", "0, 1", "1, 0", "1, 1"]
    assert figure.axes[0].get_legend() is None
    assert figure.axes[0].get_position().x1 < figure.axes[1].get_position().x0


def test_unknown_are_grey():
    (axes,) = plots.codes_2d({"top": rng.uniform(size=(6, 2))}, [0, 1, -1, 0, 1, -1]).axes
    assert [len(drawn.get_offsets()) for drawn in axes.collections] == [2, 2, 2]
    assert axes.get_title(loc="left") == "top"


def test_eigenmaps_of_several_graphs():
    X = np.r_[rng.normal(size=(15, 3)), 50 + rng.normal(size=(15, 3))]
    figure = plots.eigenmaps(X, (3, 20), np.arange(30) // 15, title="Two")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Two: 3 neighbours, 2 components",
        "Two: 20 neighbours",
    ]
    assert_allclose(points(figure.axes[1]), laplacian_eigenmaps(KNN(20), X, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plots.codes_2d(np.ones((5, 3))),
            r"must have shape \(n_samples, 2\).*got \(5, 3\). Choose two columns",
        ),
        (lambda: plots.codes_2d([np.ones((5, 2)), np.ones((4, 2))]), "layer 1 must have shape"),
        (lambda: plots.codes_2d(np.ones((5, 2)), np.ones((5, 3))), "y has 3 attributes"),
        (lambda: plots.eigenmaps(np.ones((5, 2)), ()), "n_neighbors is empty"),
        (lambda: plots.cluster_montage(np.ones((2, 4)), [-1, -1], (2, 2)), "no image to draw"),
    ],
)
def test_what_cannot_be_drawn_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()

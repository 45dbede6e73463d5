"""Curves of scores, objective beside score, bars of layers, box plots of depths, sensitivity."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laminar import WSF, plots, select_penalty
from laminar.datasets import make_attributes

rng = np.random.default_rng(0)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_score_curves_show_mean_spread_and_area():
    x, scores = [20, 30, 70], {"a": rng.uniform(size=(3, 5)), "b": [0.5, 0.6, 0.7]}
    (axes,) = plots.score_curves(x, scores, xlabel="k", title="Faces").axes
    assert_allclose(axes.lines[0].get_ydata(), scores["a"].mean(axis=1))
    assert_array_equal(axes.lines[1].get_xdata(), x)
    mean = scores["a"].mean(axis=1)
    area = 10 * (mean[0] + mean[1]) / 2 + 40 * (mean[1] + mean[2]) / 2
    assert legend(axes) == [f"a ({area:.2f})", "b (31.50)"]
    (band,) = axes.collections  # one score a point has no spread
    upper = band.get_paths()[0].vertices[:, 1].max()
    assert upper == pytest.approx((mean + scores["a"].std(axis=1, ddof=1)).max())
    assert axes.get_xlabel() == "k"
    assert axes.get_title(loc="left") == "Faces"


def test_score_curves_of_a_parameter():
    (axes,) = plots.score_curves([0.01, 0.1, 1], {"cdNMF": [3, 2, 1]}, log=True, area=False).axes
    assert axes.get_xscale() == "log"
    assert legend(axes) == ["cdNMF"]


def test_many_methods_are_distinguishable():
    scores = {str(i): [0.1, 0.2] for i in range(9)}
    (axes,) = plots.score_curves([1, 2], scores).axes
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 9


def test_objective_and_score_have_an_axis_each():
    left, right = plots.objective_and_score([1, 2, 3], [9, 4, 3], {"NMI": [0.1, 0.2, 0.3], "AC": [0, 0, 1]}).axes
    assert_array_equal(left.lines[0].get_ydata(), [9, 4, 3])
    assert_array_equal([line.get_ydata() for line in right.lines], [[0.1, 0.2, 0.3], [0, 0, 1]])
    assert legend(left) == ["objective", "NMI", "AC"]
    assert len({line.get_color() for line in (*left.lines, *right.lines)}) == 3
    assert left.get_position().bounds == right.get_position().bounds


def test_layer_bars_are_the_table():
    columns = pd.MultiIndex.from_product([["pose", "identity"], ["accuracy", "nmi"]])
    table = pd.DataFrame(rng.uniform(size=(3, 4)), index=["layer 0", "layer 1", "layer 2"], columns=columns)
    figure = plots.layer_bars(table, "Deep")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Deep: accuracy", "Deep: nmi"]
    for axes, metric in zip(figure.axes, ("accuracy", "nmi"), strict=True):
        heights = np.reshape([bar.get_height() for bar in axes.patches], (2, 3))
        assert_array_equal(heights.T, table.xs(metric, axis=1, level=1))
        assert [label.get_text() for label in axes.get_xticklabels()] == list(table.index)
        edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches)
        assert all(first[1] < second[0] for first, second in pairwise(edges))  # no bar over another
    assert legend(figure.axes[-1]) == ["pose", "identity"]


def test_spread_by_depth_shows_quartiles_and_scores():
    scores = {3: rng.uniform(size=20), 2: rng.uniform(size=15)}
    (axes,) = plots.spread_by_depth(scores).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "3"]
    drawn = [line.get_ydata() for line in axes.lines]
    for depth in (2, 3):
        assert any(len(y) == 2 and np.allclose(y, np.median(scores[depth])) for y in drawn)
        assert any(np.array_equal(y, scores[depth]) for y in drawn)
        quartiles = np.quantile(scores[depth], [0.25, 0.75])
        assert any(len(y) == 5 and np.allclose([y.min(), y.max()], quartiles) for y in map(np.asarray, drawn))


def test_sensitivity_is_the_table():
    data = make_attributes(40, levels=(3, 2), scales=(1.0, 1.0), random_state=0)
    y = pd.DataFrame(data.y, columns=["pose", "light"])
    found = select_penalty(WSF(4, tol=1e-2), data.X, y, grid=(0, 0.5, 2), n_repeats=2, verbose=0)
    (axes,) = plots.sensitivity(found).axes
    assert legend(axes) == ["pose", "light", "mean"]
    for bars, name in zip(axes.containers, ("pose", "light", "mean"), strict=True):
        assert_array_equal(bars.lines[0].get_ydata(), found.table_.loc[name, "score"])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "0.5", "2"]
    assert axes.get_title(loc="left") == f"Hidden labels: alpha={found.best_:g}"
    one = select_penalty(WSF(4, tol=1e-2), data.X, data.y[:, 0], grid=(0, 1), n_repeats=2, score="nmi", verbose=0)
    (axes,) = plots.sensitivity(one).axes
    assert axes.get_legend() is None
    assert axes.get_ylabel() == "NMI"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plots.score_curves([1, 2], {"a": [0.1]}),
            "'a' must have a value, or a row of repeats, for each of the 2",
        ),
        (lambda: plots.score_curves([1, 2], {"a": [10, 20]}), r"must lie in \[0, 1\]"),
        (lambda: plots.score_curves([2, 1], {"a": [0.1, 0.2]}), "must increase"),
        (lambda: plots.objective_and_score([1, 2], [1, 2], [1]), "'NMI' must have a value"),
        (lambda: plots.spread_by_depth({2: []}), "the scores of depth 2 must be one or more"),
    ],
)
def test_what_cannot_be_drawn_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()

"""A signal with its phases."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from laminar import plots
from laminar.temporal import detect_phases

SIGNAL = np.array([0, 0, 0, 1, 2, 3, 3, 3, 3, 1.5, 0, 0])
FOUND = detect_phases(SIGNAL)  # boundaries 3, 5, 9, 10


def dashed(axes):
    return [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]


def triangles(axes):
    return next((line.get_xdata() for line in axes.lines if line.get_marker() == "^"), [])


def test_found_and_true_boundaries():
    """Drawn half a frame before the first frame of a phase."""
    (axes,) = plots.phases(SIGNAL, FOUND, true=[3, 4, 9, 10], title="Mouth").axes
    assert_array_equal(axes.lines[0].get_ydata(), SIGNAL)
    assert_array_equal(dashed(axes), FOUND.boundaries - 0.5)
    assert_array_equal(triangles(axes), [2.5, 3.5, 8.5, 9.5])
    assert [text.get_text() for text in axes.texts] == ["N", "ON", "AP", "OF", "N"]
    assert axes.get_title(loc="left") == "Mouth"


@pytest.mark.parametrize("labels", [[0, 0, 0, 1, 2, 2, 2, 2, 2, 3, 0, 0], list("nnnoaaaaafnn")])
def test_true_phase_of_each_frame(labels):
    (axes,) = plots.phases(SIGNAL, FOUND, true=labels).axes
    assert_array_equal(triangles(axes), [2.5, 3.5, 8.5, 9.5])


def test_without_truth():
    (axes,) = plots.phases(SIGNAL, FOUND).axes
    assert len(triangles(axes)) == 0
    assert axes.get_legend() is None


@pytest.mark.parametrize("form", ["sequence", "mapping"])
def test_several_sequences(form):
    signal, groups = np.r_[SIGNAL, -SIGNAL[1:]], ["b"] * 12 + ["a"] * 11
    results = {"b": FOUND, "a": detect_phases(-SIGNAL[1:])}
    found = results if form == "mapping" else list(results.values())
    figure = plots.phases(signal, found, true=[[3, 4, 9, 10], [2, 3, 8, 9]], groups=groups)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["b", "a"]
    assert_array_equal(figure.axes[1].lines[0].get_ydata(), -SIGNAL[1:])
    assert_array_equal(dashed(figure.axes[1]), results["a"].boundaries - 0.5)
    assert_array_equal(triangles(figure.axes[1]), [1.5, 2.5, 7.5, 8.5])
    codes = np.r_[np.repeat([0, 1, 2, 3, 0], [3, 1, 5, 1, 2]), np.repeat([0, 1, 2, 3, 0], [2, 1, 5, 1, 2])]
    by_frame = plots.phases(signal, found, true=codes, groups=groups)
    assert_array_equal(triangles(by_frame.axes[1]), [1.5, 2.5, 7.5, 8.5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((12, 2)), FOUND), r"signal must have one value a frame.*\(12, 2\)"),
        ((SIGNAL[:9], FOUND), r"found has phases of \[12\] frames and the signal has sequences of \[9\]"),
        ((SIGNAL, FOUND, None, [0] * 6 + [1] * 6), "give groups if there are several"),
        ((SIGNAL, {"a": FOUND}, None, ["b"] * 12), "found has no phases of group"),
        ((SIGNAL, FOUND, [[1, 2], [3, 4]]), "true must hold the phase of each of the 12 frames"),
        ((SIGNAL, FOUND, None, [None] * 12), "groups must name the sequence of every frame"),
    ],
)
def test_what_cannot_be_drawn_is_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        plots.phases(*arguments)

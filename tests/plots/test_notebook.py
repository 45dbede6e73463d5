"""Figures in notebooks: shown without a magic line, as PNG, by IPython's own formatters."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "laminar-nmf[plots]"')

from laminar.plots import codes_2d, images_grid

SIGNATURE = b"\x89PNG\r\n\x1a\n"
rng = np.random.default_rng(0)
FIGURES = {
    "images_grid": lambda: images_grid(rng.random((3, 16)), (4, 4)),
    "codes_2d": lambda: codes_2d(rng.random((9, 2)), np.arange(9) % 3),
}


def size(png):
    return tuple(int.from_bytes(png[at : at + 4], "big") for at in (16, 20))


@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_its_own_picture(name):
    figure = FIGURES[name]()
    picture = figure._repr_png_()
    assert picture.startswith(SIGNATURE)
    assert size(picture) == tuple(np.floor(figure.get_size_inches() * figure.dpi + 1e-9).astype(int))


@pytest.mark.parametrize("name", FIGURES)
def test_ipython_shows_figure(name):
    formatters = pytest.importorskip("IPython.core.formatters", reason="needs IPython: pip install ipython")
    bundle, _ = formatters.DisplayFormatter().format(FIGURES[name]())
    assert bundle["image/png"].startswith(SIGNATURE)


def test_pyplot_is_not_imported():
    code = (
        "import sys, numpy; from laminar.plots import images_grid; "
        "images_grid(numpy.ones((1, 4)), (2, 2))._repr_png_(); print('matplotlib.pyplot' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_figure_survives_pickling():
    figure = FIGURES["images_grid"]()
    assert pickle.loads(pickle.dumps(figure))._repr_png_() == figure._repr_png_()

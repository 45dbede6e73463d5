"""The page: what it holds of the samples, and its content security policy."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from laminar import Dataset
from laminar.io.dataset import Scaling
from laminar.studio.page import features, page, pictures

HOSTILE = "</script><script>alert(1)</script>"


def page_of(data, name="faces"):
    return page(data, name, Path(f"{name}-labels.csv"), f"laminar studio {name}")


def test_names_stay_text():
    data = Dataset(np.eye(2), np.array([HOSTILE, "<!--"]))
    found = page_of(data, HOSTILE)
    assert HOSTILE not in found
    assert found.count("<script") == found.count("</script>") == 4  # early, data, bytes, the scripts
    assert "<!--" not in found


def test_policy_has_hashes_alone():
    policy = re.search(
        r'Content-Security-Policy" content="([^"]+)"', page_of(Dataset(np.eye(2), np.array(["a", "b"])))
    )[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert (rules["default-src"], rules["connect-src"], rules["form-action"]) == ("'none'", "'self'", "'none'")
    assert re.fullmatch(r"('sha256-[\w+/=]+' ?)+", rules["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["style-src"])


def test_page_names_no_other_host():
    found = page_of(Dataset(np.eye(2), np.array(["a", "b"])))
    assert set(re.findall(r"https?://[\w.]+", found)) <= {"http://www.w3.org"}  # the name of SVG


@pytest.mark.parametrize(("shape", "channels"), [((6, 4), 1), ((6, 4, 3), 3), ((130, 100), 1)])
def test_pictures_are_small_images(shape, channels):
    data = Dataset(
        np.random.default_rng(0).random((5, int(np.prod(shape)))), np.arange(5).astype(str), image_shape=shape
    )
    found = pictures(data)
    assert found["channels"] == channels
    assert max(found["width"], found["height"]) <= 64
    assert found["pixels"].shape == (5 * found["width"] * found["height"] * channels,)


def test_pictures_are_in_the_units_of_the_files():
    X = np.random.default_rng(0).random((4, 9))
    scaling = Scaling.of(X)
    ids = np.arange(4).astype(str)
    plain = pictures(Dataset(X, ids, image_shape=(3, 3)))
    scaled = pictures(Dataset(scaling.apply(X), ids, image_shape=(3, 3), scaling=scaling))
    np.testing.assert_array_equal(plain["pixels"], scaled["pixels"])
    np.testing.assert_array_equal(plain["pixels"], np.rint(255 * X).ravel())


def test_pictures_have_a_bounded_size():
    data = Dataset(np.zeros((40, 64 * 64)), np.arange(40).astype(str), image_shape=(64, 64))
    assert pictures(data, max_bytes=50_000)["pixels"].size <= 50_000


def test_texts_show_their_largest_features():
    X = csr_array(np.array([[0.0, 3.0, 1.0], [2.0, 0.0, 0.0]]))
    found = features(Dataset(X, np.array(["a", "b"]), feature_names=np.array(["red", "green", "blue"])))
    words = [[found["names"][j] for j in row] for row in found["largest"].reshape(2, -1)]
    assert [[word for word in row if word] for row in words] == [["green", "blue"], ["red"]]

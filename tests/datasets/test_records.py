"""Records of the sets of the papers: what they state, errors of absent sets, sizes, downloads, the page of docs/."""

import re
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from benchmarks import dataset_table
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from laminar import datasets

RECORDS = datasets.records()
# Sets whose file in LAMINAR_DATA is smaller than that of the paper; `difference` of the record has the numbers.
SMALLER = {"nottinghill"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINAR_DATA", str(tmp_path))
    return tmp_path


# Records


def test_every_set_of_the_papers_has_a_record():
    names = "3sources caltech101 casia_webface cmu_faces coil20 mmi multipie nottinghill orl pie uci_digits umist webkb"
    assert list(RECORDS) == [*names.split(), "xm2vts", "yale", "yaleb"]


@pytest.mark.parametrize("name", RECORDS)
def test_record_is_consistent(name):
    record = RECORDS[name]
    groups = {group for pattern in record.patterns for group in re.compile(pattern).groupindex}
    assert all((record.title, record.what, record.owner, record.page, record.papers, record.attributes))
    assert record.folder_kind != "images" or bool(record.patterns) == bool(record.example)
    assert record.sequence in (None, *record.attributes)
    assert record.derived is not None or not groups or groups >= set(record.attributes) - {"illumination"}
    if record.image_shape is not None and len(record.n_features) == 1 and name != "caltech101":  # bags of words
        assert record.n_features == (np.prod(record.image_shape),)


@pytest.mark.parametrize("name", RECORDS)
def test_real_set_has_the_shape_of_its_record(name, real_data):
    data, record = real_data(name), RECORDS[name]
    views = data.get("views") or [data.X]
    if name not in SMALLER:
        assert tuple(view.shape[1] for view in views) == record.n_features
        assert {len(view) for view in views} == {record.n_samples}
    if data.source.suffix == ".npz":
        assert set(record.attributes) <= set(data.attributes)
    assert data.get("image_shape") == record.image_shape


def test_real_sequences_have_groups(real_data):
    data = real_data("umist")
    assert "frame" not in data.attributes
    assert_array_equal(data.groups, data.identity)
    assert all((np.diff(data.frame[data.groups == person]) == 1).all() for person in range(20))


# Absent sets


@pytest.mark.parametrize("name", RECORDS)
def test_absent_set_names_owner_and_place(folder, name):
    record = RECORDS[name]
    with pytest.raises(FileNotFoundError) as raised:
        datasets.load(name)
    text = str(raised.value)
    assert all(part in text for part in (record.title, record.what, record.owner, record.page, "LAMINAR_DATA", ".npz"))
    assert record.example in text
    assert (f"load({name!r}, download=True)" in text) == bool(record.open_source)


def test_nearest_name_of_an_unknown_set(folder):
    with pytest.raises(FileNotFoundError, match=r"'multi-pie' was not found: .*Did you mean 'multipie'\?"):
        datasets.load("multi-pie")


def test_path_is_read_or_does_not_exist(folder):
    np.savez(folder / "faces.npz", X=np.eye(3), identity=[0, 0, 1])
    data = datasets.load("orl", path=folder / "faces.npz")
    assert data.source == folder / "faces.npz"
    assert_array_equal(data.X, np.eye(3))
    with pytest.raises(FileNotFoundError, match=r"orl: .*none.npz does not exist"):
        datasets.load("orl", path=folder / "none.npz")
    (folder / "faces.csv").write_text("1")
    with pytest.raises(ValueError, match=r"\.npz file, a \.mat file or a folder"):
        datasets.load("orl", path=folder / "faces.csv")


def test_array_file_is_found_first(folder):
    np.savez(folder / "pie_pose27.npz", X=np.eye(2), identity=[0, 0])
    assert datasets.find("pie") == folder / "pie_pose27.npz"
    np.savez(folder / "pie.npz", X=np.eye(2), identity=[0, 0])
    assert datasets.find("pie") == folder / "pie.npz"
    assert datasets.find("orl") is None
    assert datasets.available() == ["pie", "pie_pose27"]


# Sizes


def test_size_takes_what_is_stored_or_resizes(folder):
    small, large = np.full((2, 4), 0.5), np.random.default_rng(0).random((2, 16))
    shapes = {"image_shape": np.array([2, 2]), "image_shape64": np.array([4, 4])}
    np.savez(folder / "orl.npz", X=small, X64=large, identity=[0, 0], **shapes)
    assert set(datasets.load("orl")) >= {"X", "X64"}
    stored = datasets.load("orl", size=4, dtype=np.float64)
    assert_array_equal(stored.X, large)
    assert stored.image_shape == (4, 4)
    assert not {"X64", "image_shape64"} & set(stored)
    pytest.importorskip("skimage", reason='needs scikit-image: pip install "laminar-nmf[images]"')
    resized = datasets.load("orl", size=(3, 5))
    assert_allclose(resized.X, np.full((2, 15), 0.5))
    assert resized.X.dtype == np.float32
    assert resized.image_shape == (3, 5)


def test_size_of_views_is_refused(folder):
    np.savez(folder / "webkb_mv.npz", X1=np.eye(2), X2=np.eye(2), y=[0, 0])
    with pytest.raises(ValueError, match=r"size=\(32, 32\): webkb has no images"):
        datasets.load("webkb", size=32)


# Downloads


def olivetti(shuffle):
    images = np.random.default_rng(0).random((6, 4, 4)).astype(np.float32)
    return Bunch(data=images.reshape(6, -1), images=images, target=np.repeat([0, 1], 3))


def test_olivetti_faces_are_downloaded_on_request_alone(folder, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_olivetti_faces", olivetti)
    with pytest.raises(FileNotFoundError):
        datasets.load("orl")
    data = datasets.load("orl", download=True)
    assert_array_equal(data.X, olivetti(False).data)
    assert_array_equal(data.identity, [0, 0, 0, 1, 1, 1])
    assert (data.attributes, data.image_shape, data.source) == (["identity"], (4, 4), None)
    np.savez(folder / "orl.npz", X=np.eye(2), identity=[0, 0])
    assert len(datasets.load("orl", download=True).X) == 2  # found, and so not downloaded


def test_views_of_openml_in_one_order(folder, monkeypatch):
    targets = np.repeat([str(digit) for digit in (10, 1, 2)], 2)
    order = {12: targets}

    def fetch(data_id, as_frame):
        return Bunch(data=np.full((6, data_id % 7 + 1), data_id), target=order.get(data_id, targets))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    data = datasets.load("uci_digits", download=True)
    assert data.view_names == ["fac", "fou", "kar", "mor", "pix", "zer"]
    assert [view[0, 0] for view in data.views] == [12, 14, 16, 18, 40979, 22]
    assert_array_equal(data.y, [2, 2, 0, 0, 1, 1])
    order[12] = targets[::-1]
    with pytest.raises(ValueError, match="different orders"):
        datasets.load("uci_digits", download=True)


def test_no_network_is_one_sentence(folder, monkeypatch):
    def fetch(shuffle):
        raise URLError("Name or service not known")

    monkeypatch.setattr(sklearn.datasets, "fetch_olivetti_faces", fetch)
    with pytest.raises(ConnectionError, match=r"^ORL .* could not be downloaded .*Name or service.* network, or take"):
        datasets.load("orl", download=True)


def test_set_without_open_source_is_not_downloaded(folder):
    with pytest.raises(FileNotFoundError, match="no open source to download it from"):
        datasets.load("xm2vts", download=True)


# docs/datasets.md


def test_table_of_the_page_is_current():
    assert dataset_table.PAGE.read_text() == dataset_table.current()

"""What a report holds: pictures, maps, provenance, the document and its safety."""

import base64
import hashlib
import json
import re
import zlib

import numpy as np
import pytest

from laminar import NMF, MultiViewSemiNMF, SlowFeatureNMF
from laminar.datasets import make_temporal, make_views
from laminar.report.arrays import pack
from laminar.report.display import component_values, display_of, sample_values, top
from laminar.report.document import document
from laminar.report.maps import MAX_WORK, maps
from laminar.report.subject import read_subject
from laminar.report.training import provenance, settings, training
from laminar.report.variance import affine

KINDS = {"images": "image", "table": "bars", "texts": "words", "spectra": "line"}
HOSTILE = "</script><img src=x onerror=alert(1)>"


def unpacked(text: str, block: str):
    """The record that the page reads."""
    data = zlib.decompress(base64.b64decode(block))

    def array(value):
        if "$array" not in value or not isinstance(value["$array"], list):
            return value
        dtype, start, length = value["$array"]
        return np.frombuffer(data, dtype, length, start)

    return json.loads(text, object_hook=array)


# Pictures


@pytest.mark.parametrize("kind", KINDS)
def test_kind_of_data_is_found(reports, kind):
    assert reports(kind).record["display"]["kind"] == KINDS[kind]


@pytest.mark.parametrize("kind", ["images", "table", "spectra"])
def test_page_reconstructs_as_model(subjects, kind):
    subject = subjects(kind)
    display = display_of(subject)
    for place in subject.places:
        found, H = affine(subject, place), np.asarray(subject.codes(place), dtype=np.float64)
        held = component_values(display, found, found.components)
        codes = np.rint(255 * H / np.maximum(H.max(axis=0), 1e-12)) * H.max(axis=0) / 255
        shown = held["offset"] + codes @ (held["components"] * held["largest"][:, None] / 127.0)
        assert np.sqrt(np.mean((shown - display.values(found.offset + H @ found.components)) ** 2)) < 0.01


def test_large_pictures_are_block_means():
    X = np.random.default_rng(0).random((4, 130 * 70))
    subject = read_subject(NMF(2, random_state=0).fit(X), X, image_shape=(130, 70))
    display = display_of(subject)
    assert display.step == 3
    held = sample_values(subject, display)["values"].reshape(4, *display.size)
    assert held[0, 0, 0] == pytest.approx(255 * X[0].reshape(130, 70)[:3, :3].mean(), abs=0.51)


def test_top_words_are_the_largest():
    X = np.random.default_rng(0).normal(size=(5, 40))
    found = top(X, 3)
    features = found["features"].reshape(5, 3)
    assert np.array_equal(features, np.argsort(-np.abs(X), axis=1)[:, :3])


# Maps


def test_map_is_the_same_for_the_same_seed():
    E = np.random.default_rng(0).normal(size=(40, 3))
    first, again, other = (maps([E], seed=seed)[0]["xy"] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert len(first) == 80
    assert first.dtype == np.uint16
    assert other.shape == first.shape


def test_map_is_kept_beside_the_model(tmp_path):
    E, path = np.random.default_rng(0).normal(size=(40, 3)), tmp_path / "faces.maps.npz"
    (first,) = maps([E], cache=path)
    with np.load(path) as file:
        (key,) = file.files
    np.savez(path, **{key: np.zeros((40, 2), dtype=np.uint16)})
    assert not maps([E], cache=path)[0]["xy"].any()  # read, not computed
    path.write_bytes(b"damaged")
    assert np.array_equal(maps([E], cache=path)[0]["xy"], first["xy"])


def test_maps_beyond_the_limit_are_planes():
    E = np.random.default_rng(0).normal(size=(MAX_WORK // 2 + 1, 2))
    found = maps([E[:8], E[:9]], method="pca")
    assert [m["how"] for m in found] == ["First two principal scores"] * 2
    big = np.zeros((MAX_WORK, 3))
    kept = maps([E[:9], big])
    assert kept[0]["how"].startswith("t-SNE")
    assert "would take minutes" in kept[1]["how"]


def test_large_data_are_drawn_from():
    X = np.random.default_rng(0).random((50, 6))
    model, labels = NMF(2, random_state=0).fit(X), {"half": ["a", "b"] * 25}
    found = model.report(X, labels=labels, max_samples=20, map="pca").record
    assert (found["n_samples"], found["n_shown"]) == (50, 20)
    assert len(found["ids"]) == len(found["attributes"][0]["codes"]) == len(found["layers"][0]["codes"]) == 20
    assert found["scores"]["attributes"][0]["n_scored"] == 50


# Training and provenance


def test_settings_mark_what_was_changed(subjects):
    found = {name: (value, is_changed) for name, value, is_changed in settings(subjects("table"))}
    assert found["layers"] == ("4, 3", True)
    assert found["loss"] == ("frobenius", False)


def test_stationarity_is_shown_where_it_is_known(subjects):
    subject = subjects("spectra")
    subject.model.kkt_residual_ = 2.5e-5
    assert training(subject)["kkt_residual"] == 2.5e-5
    del subject.model.kkt_residual_
    assert training(subject)["kkt_residual"] is None


def test_command_of_the_run_is_kept(cases):
    model, options = cases("table")
    run = {"command": "laminar fit wine.csv", "seed": 7, "fingerprint": "abc", "inputs": ["wine.csv"]}
    found = provenance(read_subject(model, **options, run=run), how_mapped="PCA")
    assert found["command"] == "laminar fit wine.csv"
    assert ["fingerprint", "blake2b abc"] in found["rows"]
    assert ["seed", "7"] in found["rows"]


def test_code_of_the_model_fits_it_again(subjects):
    subject = subjects("table")
    names: dict = {"X": subject.X}
    exec(provenance(subject, how_mapped="")["command"].replace("MultiLayerNMF(", "model = MultiLayerNMF("), names)
    assert np.allclose(names["model"].components_, subject.model.components_)


# Views and time


def test_views_have_weight_and_variance():
    data = make_views(n_classes=3, n_samples=60, random_state=0)
    model = MultiViewSemiNMF(3, random_state=0).fit(data.views)
    found = model.report(data.views, labels={"class": data.y}, map="pca").record["views"]
    assert len(found["rows"]) == len(data.views)
    assert sum(row["weight"] for row in found["rows"]) == pytest.approx(1)
    for row in found["rows"]:
        assert row["explained"] <= row["best"]
    assert found["shared"][0] > 0.8


def test_course_has_slowest_feature_and_phases():
    film = make_temporal(random_state=0)
    model = SlowFeatureNMF(3, random_state=0).fit(film.X)
    found = model.report(film.X, map="pca").record["course"]
    (sequence,) = found["sequences"]
    assert len(sequence["signal"]) == len(sequence["samples"]) == len(film.X)
    assert len(sequence["starts"]) == len(sequence["phases"])
    assert found["delta"] > 0


# The document


@pytest.mark.parametrize("kind", KINDS)
def test_record_is_packed_without_loss(reports, kind):
    found = reports(kind).record
    again = unpacked(*pack(found))
    for layer, held in zip(found["layers"], again["layers"], strict=True):
        assert np.array_equal(held["codes"], layer["codes"].ravel())
        assert np.array_equal(held["map"], layer["map"])
    assert again["ids"] == found["ids"]


def test_policy_has_hashes_of_all_scripts(reports):
    page = reports("table").html
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")
    for text in re.findall(r"<script>(.*?)</script>", page, re.S) + re.findall(r"<style>(.*?)</style>", page, re.S):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy


def test_names_are_never_markup():
    page = document("", [], [], {"name": HOSTILE, "rows": [HOSTILE]}, title=HOSTILE)
    assert HOSTILE not in page
    assert page.count("</script>") == 4


def test_model_without_samples_has_a_report(reports, cases):
    model, options = cases("table")
    found = model.report(labels=options["labels"], map="pca").record
    assert found["samples"] == {}
    assert found["layers"][0]["explained"] is None
    assert {row["kind"] for row in found["scores"]["rows"]} == {"layer"}


def test_report_is_a_small_file(reports, tmp_path):
    path = tmp_path / "report.html"
    reports("images").save(path)
    assert 50_000 < path.stat().st_size < 500_000
    assert "iframe" in reports("images")._repr_html_()

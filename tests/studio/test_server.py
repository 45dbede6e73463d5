"""The application, without a browser: labels, undo, refits, and every refusal with a status and a sentence."""

import asyncio
import errno
import json
import os
import time

import pytest

pytest.importorskip("starlette", reason='needs starlette: pip install "laminar-nmf[studio]"')
httpx = pytest.importorskip("httpx", reason="needs httpx, to send requests without a network")

from laminar.io.labels import read_labels  # noqa: E402
from laminar.studio.errors import Refused  # noqa: E402
from laminar.studio.guard import MAX_BODY  # noqa: E402
from laminar.studio.labels import LabelFile  # noqa: E402
from laminar.studio.server import build  # noqa: E402
from laminar.studio.session import Session  # noqa: E402

TOKEN, PORT = "right-token", 8123
ADDRESS = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def session(data, tmp_path):
    labels = LabelFile(tmp_path / "labels.csv", data)
    written = tmp_path / "model.txt"

    def write(fit, samples, path):
        path.write_text(f"{type(fit.model).__name__} {fit.version} {list(samples.labels)}")

    found = Session(data, labels, {"model": (written, write)})
    yield found
    found.close()


class Client:
    """Sends requests to the application itself, without a network."""

    def __init__(self, app, headers):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.open = lambda: httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers=headers)

    def request(self, method, path, **content):
        async def send():
            async with self.open() as client:
                return await client.request(method, path, **content)

        return asyncio.run(send())

    def get(self, path, **content):
        return self.request("GET", path, **content)

    def post(self, path, **content):
        return self.request("POST", path, **content)


def client_of(session, **headers):
    return Client(build(session, "<p>page", TOKEN, PORT), {"x-laminar-token": TOKEN, **headers})


@pytest.fixture
def client(session):
    return client_of(session)


def label(client, value="left", samples=("s00",), attribute="pose", version=None):
    version = version if version is not None else client.get("/state").json()["version"]
    body = {"version": version, "attribute": attribute, "value": value, "samples": list(samples)}
    return client.post("/labels", json=body)


def state_after(client, is_there, attribute="pose"):
    """Poll as a page does, until the state is as expected."""
    for _ in range(1500):
        state = client.get("/state", params={"attribute": attribute}).json()
        if is_there(state):
            return state
        time.sleep(0.02)
    raise AssertionError(state["progress"], state["error"])


# Labels


def test_labels_are_saved_and_undone(client, session):
    assert label(client, "left", ["s00", "s03"]).json() == {"version": 2}
    assert read_labels(session.labels.path)["pose"].to_dict() == {"s00": "left", "s03": "left"}
    state = client.get("/state").json()
    assert state["labels"][0]["values"] == ["left"]
    assert state["undo"]["count"] == 2
    assert client.post("/undo", json={"version": 2}).status_code == 200
    assert session.labels.path.read_text() == "id\n"
    assert client.post("/redo", json={"version": 3}).status_code == 200
    assert read_labels(session.labels.path)["pose"].to_dict() == {"s00": "left", "s03": "left"}


def test_state_is_sent_where_it_is_newer(client):
    label(client)
    state = client.get("/state").json()
    known = {"version": state["version"], "revision": state["revision"], "attribute": "pose"}
    assert not {"labels", "view"} & set(client.get("/state", params=known).json())
    label(client, "right")
    assert {"labels", "view"} <= set(client.get("/state", params=known).json())


def test_values_keep_their_places(client):
    for value in ("north", "east", "west"):
        label(client, value)
    label(client, "east", ["s01"])
    assert client.get("/state").json()["labels"][0]["values"] == ["north", "east", "west"]


def test_second_writer_is_refused(client):
    seen = client.get("/state").json()["version"]
    assert label(client, "left", version=seen).status_code == 200
    late = label(client, "right", version=seen)
    assert late.status_code == 409
    assert "another tab" in late.json()["error"]
    assert client.get("/state").json()["labels"][0]["values"] == ["left"]


# Refits


def test_edits_of_the_file_are_fitted(client, session):
    session.start()
    label(client, "a", ["s00"])
    session.labels.path.write_text("id,pose\ns00,a\ns01,a\ns02,b\ns03,b\n")
    assert label(client, "b", ["s05"]).status_code == 409
    state = state_after(client, lambda state: state["view"]["guesses"])
    assert state["labels"][0]["codes"][:6] == [0, 0, 1, 1, -1, -1]


def test_labels_move_the_model(client, session, data):
    session.start()
    first = state_after(client, lambda state: state["view"]["map"] is not None)
    assert first["view"]["layer"] == "rest"
    assert len(set(first["view"]["groups"])) > 1
    truth = ["abc"[i % 3] for i in range(60)]
    label(client, "a", ["s00", "s01"])
    label(client, "b", ["s02", "s03"])
    state = state_after(client, lambda state: state["view"]["layer"] == "pose" and state["view"]["map"] is not None)
    assert len(state["view"]["guesses"]) == 60
    assert state["view"]["guesses"][2] == state["labels"][0]["values"].index("b")
    assert state["view"]["map"] != first["view"]["map"]
    reasons = [reason for _, reason in state["view"]["proposals"]]
    assert reasons[0] == "random"  # four others were labelled before
    assert set(reasons) == {"random", "uncertain", "different"}
    assert truth


def test_random_draws_give_an_estimate(client, session):
    session.start()
    label(client, "a", ["s00", "s01"])
    label(client, "b", ["s02", "s03"])
    for turn in range(3):
        proposals = client.get("/state", params={"attribute": "pose"}).json()["view"]["proposals"]
        (row, *_) = [row for row, reason in proposals if reason == "random"]
        label(client, "ab"[turn % 2], [f"s{row:02d}"])
    state = state_after(client, lambda state: state["view"]["estimates"])
    found = state["view"]["estimates"][-1]
    assert found["n"] == 3
    assert 0 <= found["low"] <= found["accuracy"] <= found["high"] <= 1


def test_failed_fit_is_shown(client, session, monkeypatch):
    monkeypatch.setattr(session.background.fitter, "fit", lambda *_, **__: 1 / 0)
    session.start()
    assert "division by zero" in state_after(client, lambda state: state["error"])["error"]
    assert label(client).status_code == 200


def test_files_are_of_the_present_labels(client, session):
    session.start()
    label(client, "a", ["s00", "s01"])
    label(client, "b", ["s02", "s03"])
    answer = client.post("/model", json={"replace": False})
    assert answer.status_code == 200
    path, _ = session.writers["model"]
    assert path.read_text() == "AttributeLayers 3 ['pose']"
    assert client.post("/model", json={"replace": False}).status_code == 409
    assert client.post("/model", json={"replace": True}).status_code == 200


# Refusals

GOOD = {"version": 1, "attribute": "pose", "value": "left", "samples": ["s00"]}


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"samples": ["s99"]}, 422, "no sample is called 's99'"),
        ({"samples": ["../../etc/passwd"]}, 422, "no sample is called"),
        ({"samples": []}, 422, "no sample is selected"),
        ({"samples": ["s00"] * 61}, 422, "more than there are samples"),
        ({"samples": "s00"}, 422, '"samples" is text and not a list'),
        ({"samples": [7]}, 422, "a whole number and not text"),
        ({"samples": [["s00"]]}, 422, "a list and not text"),
        ({"samples": ["\ud800"]}, 422, "no sample is called"),
        ({"value": 7}, 422, "not text or null"),
        ({"value": {"a": 1}}, 422, "not text or null"),
        ({"value": ""}, 422, "has no name"),
        ({"value": "x" * 10_000}, 422, "shorten it"),
        ({"attribute": None}, 422, "null and not text"),
        ({"attribute": "\ud800"}, 422, "control character"),
        ({"attribute": "id"}, 422, "column of ids"),
        ({"version": "1"}, 422, "text and not a whole number"),
        ({"version": True}, 422, "true or false and not a whole number"),
        ({"version": 1.0}, 422, "not a whole number"),
        ({"version": 10**400}, 409, "another tab"),
        ({"version": 0}, 409, "another tab"),
        ({"path": "/etc/passwd"}, 400, "should not have"),
        ({"\ud800": 1}, 400, "should not have"),
    ],
)
def test_odd_fields_are_refused(client, session, change, status, sentence):
    before = session.labels.path.read_bytes()
    body = json.dumps({**GOOD, **change})
    answer = client.post("/labels", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, sentence in answer.json()["error"]) == (status, True), answer.text
    assert session.labels.path.read_bytes() == before


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"version": NaN}', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"version": ' + b"9" * 5000 + b"}", "application/json", 400),
        (b"{}", "application/json", 400),
        (b'{"version": 1}', "text/plain", 415),
        (b"version=1", "application/x-www-form-urlencoded", 415),
        (b" " * (MAX_BODY + 1), "application/json", 413),
    ],
)
def test_odd_bodies_are_refused(client, body, kind, status):
    answer = client.post("/undo", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["error"].endswith((".", "again"))


def test_stream_without_length_is_bounded(client):
    async def chunks():
        for _ in range(20):
            yield b" " * 1_000_000

    answer = client.post("/undo", content=chunks(), headers={"content-type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "headers",
    [
        {"x-laminar-token": ""},
        {"x-laminar-token": "wrong"},
        {"x-laminar-token": "right-token "[:-2]},
        {"host": "evil.example"},
        {"host": f"evil.example:{PORT}"},
        {"host": "127.0.0.1"},
        {"host": f"127.0.0.1:{PORT + 1}"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1:{PORT + 1}"},
        {"origin": f"http://localhost:{PORT}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/state"), ("POST", "/labels"), ("POST", "/model")])
def test_other_origins_are_refused(session, method, path, headers):
    before = session.labels.path.read_bytes()
    answer = client_of(session, **headers).request(method, path, json=GOOD if method == "POST" else None)
    assert answer.status_code == 403
    assert answer.json()["error"].endswith((".", "printed."))
    assert "page" not in answer.text.split("error")[0]
    assert session.labels.path.read_bytes() == before


def test_page_takes_the_token_of_its_address(session):
    client = client_of(session, **{"x-laminar-token": ""})
    assert client.get("/", params={"token": TOKEN}).text == "<p>page"
    assert client.get("/", params={"token": "wrong"}).status_code == 403
    assert client.get("/state", params={"token": TOKEN}).status_code == 403


@pytest.mark.parametrize(
    "path",
    ["/labels.csv", "/../labels.csv", "/%2e%2e/etc/passwd", "//etc/passwd", "/static/..%2f..%2fetc/passwd", "/state/x"],
)
def test_files_cannot_be_read(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json() == {"error": "There is nothing at this address."}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/labels"), ("POST", "/state"), ("PUT", "/labels"), ("OPTIONS", "/undo")]
)
def test_other_methods_are_refused(client, method, path):
    assert client.request(method, path).status_code == 405


@pytest.mark.parametrize("query", ["version=x", "version=1e3", "revision=--1", "version=" + "9" * 30])
def test_odd_queries_are_refused(client, query):
    answer = client.get(f"/state?{query}")
    assert (answer.status_code, "whole number" in answer.json()["error"]) == (422, True)


def test_answers_forbid_frames_and_caches(client):
    for path in ("/", "/state", "/nowhere"):
        headers = client.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(("code", "status"), [(errno.ENOSPC, 507), (errno.EIO, 500)])
def test_failed_write_is_not_reported_as_saved(client, session, monkeypatch, code, status):
    def failing(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", failing)
    answer = label(client)
    monkeypatch.undo()
    assert answer.status_code == status
    assert answer.json()["error"].startswith("Not saved")
    assert session.labels.path.read_text() == "id\n"
    assert label(client).status_code == 200


# Starting again


def test_session_goes_on(client, session, data):
    label(client, "left", ["s00", "s01"])
    label(client, "right", ["s02"])
    client.post("/undo", json={"version": 3})
    with pytest.raises(Refused, match="another studio"):
        LabelFile(session.labels.path, data)
    session.close()
    labels = LabelFile(session.labels.path, data)
    again = client_of(Session(data, labels))
    state = again.get("/state").json()
    assert (state["version"], state["labels"][0]["codes"][:3]) == (4, [0, 0, -1])
    assert state["redo"]["value"] == "right"
    labels.close()

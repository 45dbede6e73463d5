"""`laminar studio`: its files are those of the other commands, and what it refuses."""

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest

import laminar as library

pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "laminar-nmf[studio]"')


REFUSED = [  # headers, body, status
    ({"X-Laminar-Token": "wrong"}, {"version": 1}, 403),
    ({"Origin": "https://evil.example"}, {"version": 1}, 403),
    ({"Host": "evil.example"}, {"version": 1}, 403),
    ({"Content-Type": "text/plain"}, {"version": 1}, 415),
    ({}, {"version": " " * 4_000_000}, 413),
    ({}, {"version": "1"}, 422),
    ({}, {"version": 0}, 409),
]


class Server:
    """A running studio, and its answers."""

    def __init__(self, process):
        self.process = process
        self.address, _, self.token = process.stdout.readline().split()[-1].partition("?token=")

    def send(self, path, body=None, **headers):
        headers = {"X-Laminar-Token": self.token, "Content-Type": "application/json", **headers}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.address + path, data, headers)) as answer:
            return json.load(answer)

    def label(self, value, *samples):
        version = self.send("state")["version"]
        return self.send("labels", {"version": version, "attribute": "side", "value": value, "samples": samples})


@pytest.fixture
def server(tmp_path, write_images):
    write_images(tmp_path / "data")
    command = [sys.executable, "-m", "laminar", "studio", "data", "--no-browser", "-q"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        yield Server(process)
        process.kill()


def test_files_are_those_of_the_commands(server, tmp_path):
    assert server.address.startswith("http://127.0.0.1:")
    with socket.socket() as other:  # an address of this machine that a server on all addresses would have
        assert other.connect_ex(("127.0.0.2", int(server.address.split(":")[-1].strip("/")))) != 0
    for headers, body, status in REFUSED:
        with pytest.raises(urllib.error.HTTPError, match=str(status)) as refusal:
            server.send("undo", body, **headers)
        assert json.load(refusal.value)["error"].endswith((".", "again"))
        refusal.value.close()
    server.label("left", "left_00", "left_02", "left_04")
    server.label("right", "right_01", "right_03")
    assert server.send("model", {"replace": False}) == {"path": "data.laminar"}
    assert server.send("report", {"replace": False}) == {"path": "data.html"}
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(30) == 0
    data = library.read(tmp_path / "data", labels=tmp_path / "data-labels.csv")
    fitted = library.AttributeLayers(random_state=0).fit(data.X, data.labels)  # as laminar fit does
    saved = library.load(tmp_path / "data.laminar")
    np.testing.assert_allclose(saved.transform(data.X), fitted.transform(data.X), atol=1e-6)
    assert saved.predict(data.X, "side").tolist() == fitted.predict(data.X, "side").tolist()
    assert "laminar report" in (tmp_path / "data.html").read_text()


def test_wrong_ending_is_refused(laminar, tmp_path, write_images):
    write_images(tmp_path / "data")
    run = laminar("studio", "data", "--no-browser", "-o", "labels.txt", cwd=tmp_path, code=2)
    assert "results are written to .csv" in run.stderr


def test_port_in_use_is_refused(laminar, tmp_path, write_images):
    write_images(tmp_path / "data")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        run = laminar("studio", "data", "--no-browser", "--port", port, cwd=tmp_path, code=2)
    assert f"--port {port} is in use" in run.stderr

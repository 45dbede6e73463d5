"""The page in Chromium, against a running server: labels, refits, a killed server, two tabs, hostile names."""

import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from laminar.datasets import make_faces
from laminar.io.labels import read_labels

images = pytest.importorskip("PIL.Image", reason='needs pillow: pip install "laminar-nmf[images]"')
pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "laminar-nmf[studio]"')
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM)
        yield found
        found.close()


def write_faces(folder, n_identities=10, name="{identity}_{i}"):
    faces = make_faces(n_identities, 5, 4, size=24, random_state=0)
    folder.mkdir()
    for i, (pixels, identity) in enumerate(zip(faces.X, faces.identity, strict=True)):
        image = images.fromarray((255 * np.clip(pixels, 0, 1)).astype(np.uint8).reshape(24, 24))
        image.save(folder / f"{name.format(identity=f'person{identity:02d}', i=i)}.png")
    return folder


@contextmanager
def running(folder, *options):
    """Start the command, and yield its process and the address it prints."""
    command = [sys.executable, "-m", "laminar", "studio", folder.name, "--no-browser", "--quiet", *options]
    with subprocess.Popen(command, cwd=folder.parent, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, re.search(r"http://\S+", process.stdout.readline()).group()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


class Tab:
    """A page, with what it logged and requested. It is polled by evaluate: waiting inside it would need eval there."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce", **options)
        self.page = self.context.new_page()
        self.errors, self.requests = [], []
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")

    def get(self, expression):
        return self.page.evaluate(expression)

    def until(self, expression, seconds=30):
        end = time.monotonic() + seconds
        while not self.get(expression):
            assert time.monotonic() < end, (expression, self.errors, self.text("notice"))
            time.sleep(0.03)

    def is_fitted(self):
        self.until("studio.view.fit?.version === studio.version && studio.view.map && $('#busy').hidden")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def text(self, name):
        return self.page.get_by_test_id(name).text_content()

    def label(self, value):
        version = self.get("studio.version")
        self.page.get_by_test_id("value").fill(value)
        self.press("Enter")
        self.until(f"studio.version > {version} && !isSending")

    def accuracy(self):
        """Of the guesses of samples without a label; the files are named by the truth."""
        return self.get(
            "(() => { const { ids } = studio.samples, open = ids.map((_, i) => i).filter((i) => !isLabelled(i));"
            "return open.filter((i) => values()[guess(i)] === ids[i].split('_')[0]).length / open.length })()"
        )

    def is_narrow(self):
        return self.get("document.documentElement.scrollWidth <= innerWidth")


def label_suggestions(tab, count):
    for _ in range(count):
        tab.press("n")
        tab.label(tab.get("studio.samples.ids[[...studio.selected][0]].split('_')[0]"))


def drag_around_the_map(tab):
    box = tab.page.get_by_test_id("map").bounding_box()
    corners = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99), (0.01, 0.02)]
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    tab.page.mouse.move(*points[0])
    tab.page.mouse.down()
    for point in points[1:]:
        tab.page.mouse.move(*point, steps=4)
    tab.page.mouse.up()


def test_faces_are_labelled_and_kept(browser, tmp_path):
    folder = write_faces(tmp_path / "faces")
    csv = tmp_path / "faces-labels.csv"
    with running(folder) as (process, address):
        tab = Tab(browser, address)
        tab.until("studio.view.map")
        first_map = tab.get("studio.view.map")
        tab.press("n")
        tab.page.get_by_test_id("attribute").fill("identity")
        tab.label(tab.get("studio.samples.ids[[...studio.selected][0]].split('_')[0]"))
        label_suggestions(tab, 5)
        tab.is_fitted()
        few = tab.accuracy()
        label_suggestions(tab, 14)
        tab.is_fitted()
        assert tab.accuracy() > few
        assert tab.get("studio.view.map") != first_map  # after several fits
        tab.until("studio.view.estimates.length > 0")
        assert tab.text("progress") == "20 of 200 images labelled by identity"
        labels = read_labels(csv)["identity"]
        assert (len(labels), [name.split("_")[0] for name in labels.index]) == (20, labels.tolist())

        before = csv.read_bytes()
        tab.press("Escape", "z")
        tab.until("studio.redo !== null && !isSending")
        assert len(read_labels(csv)) == 19
        tab.press("y")
        tab.until("studio.redo === null && !isSending")
        assert csv.read_bytes() == before

        tab.page.get_by_test_id("save-model").click()
        tab.until("$('#notice').textContent.includes('Wrote faces.laminar')")
        assert (tmp_path / "faces.laminar").exists()
        assert (tab.errors, {url.split("/?")[0].split("/")[2] for url in tab.requests if url.startswith("http")}) == (
            [],
            {address.split("/")[2]},
        )

        other = Tab(browser, address)
        tab.press("n")
        tab.until("isRefreshing === null && (clearTimeout(timer), true)")  # it does not hear of the other one
        other.press("n")
        other.label("someone")
        tab.page.get_by_test_id("value").fill("another")
        tab.press("Enter")
        tab.until("$('#notice').textContent.includes('another tab')")
        tab.until("values().includes('someone')")
        assert "another" not in csv.read_text()

        process.kill()
        process.wait()
        tab.until("$('#notice').textContent.includes('does not answer')")
        assert "faces-labels.csv" in tab.text("notice")
    kept = csv.read_bytes()
    with running(folder) as (_, address):
        tab = Tab(browser, address)
        assert csv.read_bytes() == kept
        assert tab.text("progress") == "21 of 200 images labelled by identity"
        tab.press("z")
        tab.until("studio.redo !== null && !isSending")
        assert csv.read_bytes() == before
        assert tab.errors == []


def test_page_is_safe_and_accessible(browser, tmp_path):
    folder = write_faces(tmp_path / "faces", 3, name="{identity}_{i} <img src=x onerror=alert(1)>")
    with running(folder, "-o", "mine.csv") as (_, address):
        tab = Tab(browser, address, bypass_csp=True)
        tab.until("studio.view.map")
        tab.page.get_by_test_id("take-0").click()
        tab.page.get_by_test_id("attribute").fill("<b>bold</b>")
        tab.label(HOSTILE)
        tab.press("n")
        tab.label("b&amp;b")
        tab.is_fitted()
        tab.press("Escape")
        drag_around_the_map(tab)
        assert tab.text("selection-count") == "60 images selected"
        tab.press("Escape")
        tab.page.get_by_test_id("proposals").locator("button").first.click()
        tab.page.get_by_test_id("value-1").click()
        version = tab.get("studio.version")
        tab.press("Enter")  # on the button of the value, which has the focus
        tab.until(f"studio.version > {version} && !isSending")
        tab.is_fitted()
        assert tab.get("document.querySelectorAll('main img, main b b, main script').length") == 0
        assert HOSTILE in tab.text("group-0") + tab.text("group-1")
        assert tab.errors == []
        assert set(read_labels(tmp_path / "mine.csv")["<b>bold</b>"]) == {HOSTILE, "b&amp;b"}
        assert tab.is_narrow()
        tab.page.set_viewport_size({"width": 400, "height": 800})
        assert tab.is_narrow()
        tab.page.set_viewport_size({"width": 1400, "height": 900})
        faults = [fault for _ in range(2) for fault in axe(tab)]
        assert faults == []


def axe(tab):
    """Serious findings of axe-core in this theme, and then the other theme is shown."""
    found = find_spec("axe_playwright_python")
    if found is None:
        return []
    tab.press("n")
    tab.page.add_script_tag(path=Path(found.origin).parent / "axe.min.js")
    result = tab.get("axe.run()")
    tab.press("t")
    return [
        (fault["id"], node["html"][:120])
        for fault in result["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]

"""The page of a report, used as a person would, in headless Chromium; skipped where there is none."""

import csv
import shutil
from functools import cache

import numpy as np
import pandas
import pytest

from laminar import NMF, Dataset, MultiViewSemiNMF, SlowFeatureNMF
from laminar.datasets import make_expression_video, make_views

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path (apt-get install chromium)")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

KINDS = ("images", "table", "texts", "spectra")
SECTIONS = ("title", "lede", "says", "stack-table", "map", "legend", "inspector", "neighbours", "settings", "command")
HOSTILE = "</script><img src=x onerror=window.hacked=1>"
WIDE, PHONE = {"width": 1400, "height": 900}, {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM)
        yield found
        found.close()


@pytest.fixture(scope="module")
def files(reports, tmp_path_factory):
    """Function from a name to the file of a report, and from a name and a report to its file."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def save(name, made=None):
        path = folder / f"{name}.html"
        (made or reports(name)).save(path)
        return path

    return save


@pytest.fixture(scope="module")
def opened(browser, files):
    """Function from a name and a window to the open page and to what went wrong on it; a page is opened once."""
    contexts = []

    @cache
    def open_page(name, made=None, width=1400, theme="light", **options):
        size = WIDE if width == 1400 else PHONE
        context = browser.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce", **options)
        contexts.append(context)
        page, faults = context.new_page(), []
        page.set_default_timeout(8000)
        page.on("console", lambda message: message.type in ("error", "warning") and faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda r: r.url.split(":")[0] in ("file", "blob", "data") or faults.append(r.url))
        page.goto(files(name, made).as_uri())
        page.wait_for_selector("html[data-ready]")
        return page, faults

    yield open_page
    for context in contexts:
        context.close()


def by(page, testid):
    return page.get_by_test_id(testid)


def drag_around(page):
    """Draw a lasso around all of the map."""
    by(page, "map").scroll_into_view_if_needed()
    box = by(page, "map").bounding_box()
    left, top = box["x"] + 4, box["y"] + 4
    right, bottom = box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top + 5)):
        page.mouse.move(x, y, steps=4)
    page.mouse.up()


# Every kind of data


@pytest.mark.parametrize("kind", KINDS)
def test_sections_are_drawn(opened, reports, kind):
    page, faults = opened(kind)
    assert by(page, "title").inner_text() == reports(kind).title
    assert by(page, "lede").inner_text().replace("\xa0", " ") == reports(kind).sentence
    for testid in SECTIONS if reports(kind).record["attributes"] else set(SECTIONS) - {"says"}:
        element = by(page, testid)
        assert element.is_visible(), testid
        assert testid == "map" or element.inner_text().strip(), testid
    for i, layer in enumerate(reports(kind).record["layers"]):
        by(page, f"tab-layer-{i}").click()
        assert by(page, f"tab-layer-{i}").get_attribute("aria-selected") == "true"
        assert page.locator(".cluster").count() == len(layer["clusters"])
        assert page.locator("[data-testid^=component-]").count() >= min(layer["size"], 12)
        assert by(page, f"recon-{i}").is_visible()
    assert faults == []


@pytest.mark.parametrize("kind", KINDS)
def test_table_has_scores_of_record(opened, reports, kind):
    page, _ = opened(kind)
    scores = reports(kind).record["scores"]
    if scores["way"] == "none":
        assert by(page, "stack-table").locator(".heat").count() == 0
        return
    for i, _ in enumerate(reports(kind).record["layers"]):
        cells = by(page, f"stack-layer-{i}").locator(".heat").all_inner_texts()
        row = next(row for row in scores["rows"] if row["layer"] == i)
        shown = [text.split("\n")[0].replace("\xa0", " ") for text in cells]
        assert shown == [f"{int(100 * cell['value'] + 0.5)} %" for cell in row["cells"][0]]


@pytest.mark.parametrize("kind", KINDS)
def test_phone_has_no_sideways_scroll(opened, kind):
    page, faults = opened(kind, width=400, theme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert faults == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_serious_fault_of_access(opened, kind):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page, _ = opened(kind, bypass_csp=True)
    for theme in ("light", "dark") if kind == "images" else ("light",):
        page.evaluate("theme => showTheme(theme)", theme)
        found = axe.Axe().run(page).response["violations"]
        serious = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]
        assert serious == []


# Using it


def test_hover_shows_sample(opened):
    page, faults = opened("images")
    by(page, "map").scroll_into_view_if_needed()
    x, y = page.evaluate("(() => { const p = placeOnScreen(map, 7); return [p.clientX, p.clientY]; })()")
    page.mouse.move(x, y)
    assert page.locator("#tip.on").is_visible()
    name = page.evaluate("R.ids[map.hover]")
    assert name in page.locator("#tip").inner_text()
    page.mouse.click(x, y)
    assert name in by(page, "inspector").inner_text()
    assert faults == []


def test_lasso_selects_and_saves(opened, cases):
    page, faults = opened("images")
    page.evaluate("map.fit()")
    drag_around(page)
    assert by(page, "selection-count").inner_text() == "96 faces selected"
    with page.expect_download() as waiting:
        by(page, "export-csv").click()
    rows = list(csv.reader(waiting.value.path().read_text().splitlines()))
    assert rows[0] == ["id", "identity", "pose"]
    data = cases("images")[1]["X"]
    assert sorted(rows[1:]) == sorted(
        [i, *label] for i, label in zip(data.ids, data.labels.to_numpy().tolist(), strict=True)
    )
    by(page, "clear-selection").click()
    assert by(page, "selection-count").count() == 0
    assert faults == []


def test_formulas_in_saved_cells_are_text(opened):
    page, _ = opened("images")
    cells = page.evaluate('["=1+1", "+cmd", "-3.5", "a,b", "@x"].map(csvCell)')
    assert cells == ["'=1+1", "'+cmd", "-3.5", '"a,b"', "'@x"]


def test_sliders_rebuild_sample(opened):
    page, faults = opened("images")
    by(page, "sample-find").scroll_into_view_if_needed()
    before = by(page, "live-says").inner_text()
    by(page, "keep-slider").fill("1")
    fewer = by(page, "live-says").inner_text()
    assert fewer != before
    by(page, "mixer-reset").click()
    assert by(page, "live-says").inner_text() == before
    page.locator("[data-testid^=code-]").first.fill("0")
    assert by(page, "live-says").inner_text() != before
    assert faults == []


def test_shown_explanation_is_that_of_model(opened, subjects):
    page, _ = opened("images")
    subject = subjects("images")
    i = page.evaluate("S.sample")
    X = subject.X.astype(np.float64)
    for q, place in enumerate(subject.places):
        shown = page.evaluate("([q, i]) => explainedOf(i, reconstruct(R.layers[q], codesOf(R.layers[q], i)))", [q, i])
        H = subject.codes(place)[i].astype(np.float64)
        out = subject.model.mean_ + H @ subject.layer(place).components
        expected = 1 - np.sum((X[i] - out) ** 2) / np.sum((X[i] - X.mean(axis=0)) ** 2)
        assert shown == pytest.approx(expected, abs=0.03)


def test_keys_move_through_report(opened):
    page, faults = opened("images")
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("2")
    assert by(page, "tab-layer-1").get_attribute("aria-selected") == "true"
    sample = page.evaluate("S.sample")
    page.keyboard.press("j")
    assert page.evaluate("S.sample") == sample + 1
    assert page.url.endswith(f"#1/{sample + 1}")
    page.keyboard.press("c")
    assert by(page, "colour-by").input_value() == "cluster"
    page.keyboard.press("d")
    assert page.evaluate("map.isPictures")
    page.keyboard.press("m")
    for key in ("ArrowRight", "Space", "ArrowLeft", "Space"):
        page.keyboard.press(key)
    assert "selected" in by(page, "selection-count").inner_text()
    page.keyboard.press("Escape")
    assert by(page, "selection-count").count() == 0
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.press("1")  # typed, not a key of the page
    assert by(page, "tab-layer-1").get_attribute("aria-selected") == "true"
    assert faults == []


def test_texts_have_marked_words(opened):
    page, _ = opened("texts")
    marks = page.locator("#recons mark").all_inner_texts()
    assert marks
    assert set(marks) <= set(page.evaluate("topOfSample(S.sample, 12).map(([name]) => name)"))


def test_theme_lasts(opened):
    page, _ = opened("table")
    by(page, "theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    by(page, "theme").click()


def test_component_colours_map(opened):
    page, faults = opened("images")
    by(page, "component-0").click()
    assert "of what the layer uses" in by(page, "inspector").inner_text()
    assert "code 0" in by(page, "legend").inner_text()
    by(page, "component-0").click()
    by(page, "legend-1").click()
    assert by(page, "legend-1").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert faults == []


@pytest.mark.parametrize("kind", KINDS)
def test_prints_all_clusters(opened, kind, tmp_path):
    page, faults = opened(kind)
    path = tmp_path / "report.pdf"
    page.pdf(path=path, format="A4", print_background=True)
    assert path.read_bytes().startswith(b"%PDF")
    assert path.stat().st_size > 30_000
    assert faults == []


# Views, time, and names that mean harm


def test_views_are_shown(opened):
    data = make_views(n_classes=3, n_samples=60, random_state=0)
    model = MultiViewSemiNMF(3, random_state=0).fit(data.views)
    page, faults = opened("views", model.report(data.views, labels={"class": data.y}, map="pca"))
    assert by(page, "views").locator("tbody.layers tr").count() == len(data.views)
    assert not by(page, "time").is_visible()
    assert faults == []


def test_time_is_shown(opened):
    film = make_expression_video(random_state=0)
    model = SlowFeatureNMF(3, random_state=0).fit(film.X)
    labels = {"phase": [film.phase_names[p] for p in film.phase]}
    made = model.report(film.X, labels=labels, groups=film.groups, image_shape=film.image_shape, map="pca")
    page, faults = opened("time", made)
    by(page, "frame-slider").fill("3")
    assert "frame 4" in by(page, "time").inner_text()
    assert not by(page, "views").is_visible()
    assert faults == []


def test_hostile_names_stay_text(opened):
    X = np.random.default_rng(0).random((40, 4))
    ids = np.array([f"{HOSTILE}{i}" for i in range(40)])
    names = {HOSTILE: [HOSTILE, "=cmd()"] * 20, "__proto__": ["constructor", "$array"] * 20}
    data = Dataset(
        X, ids, feature_names=np.array([HOSTILE, "=a", "__proto__", "b"]), labels=pandas.DataFrame(names, ids)
    )
    made = NMF(2, random_state=0).fit(X).report(data, noun=HOSTILE, map="pca", run={"command": HOSTILE})
    page, faults = opened("hostile", made, width=400)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0
    assert HOSTILE in by(page, "legend").inner_text()
    assert by(page, "command").inner_text() == HOSTILE
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    drag_around_phone = page.evaluate("map.onLasso([0, 1], false), document.querySelector('#inspect').innerText")
    assert "2 " in drag_around_phone
    assert faults == []

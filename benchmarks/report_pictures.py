"""Screenshots of reports for the documentation: ``python -m benchmarks.report_pictures``.

Makes the report of `laminar demo` and one on scikit-learn's table of wines, and writes pictures of them to docs/images.
Needs chromium on the path, and playwright and pillow of laminar-nmf[dev].
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.structure import ROOT

IMAGES = ROOT / "docs" / "images"
SHOTS = {  # picture: report, width, height, theme, where the page is scrolled to
    "report.png": ("demo", 1400, 1360, "light", None),
    "report-sample.png": ("demo", 1400, 1000, "dark", "#sample"),
    "report-phone.png": ("demo", 400, 800, "light", None),
    "report-table.png": ("wine", 1400, 1000, "light", None),
}


N_EXACT = 112  # colours of a picture that stay as they are


def demo_report(path: Path) -> None:
    """Write the report of the demo."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "laminar", "demo", "--force", "--quiet", "--no-open", "--report", str(path)]
    subprocess.run(command, cwd=path.parent, check=True, stdout=subprocess.DEVNULL)


def wine_report(path: Path) -> None:
    """Write the report on two layers of a table of wines."""
    import numpy as np
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import MinMaxScaler

    from laminar import MultiLayerNMF

    wine = load_wine(as_frame=True)
    X = MinMaxScaler().set_output(transform="pandas").fit_transform(wine.data)
    model = MultiLayerNMF(layers=(6, 3), random_state=0).fit(X)
    cultivars = np.array([f"cultivar {t + 1}" for t in wine.target])
    model.report(X, labels={"cultivar": cultivars}, noun="wine").save(path)


def in_few_colours(picture):
    """Return a picture of 256 colours: its 112 commonest as they are, and 144 between the others."""
    from PIL import Image

    counts = sorted(picture.getcolors(picture.width * picture.height), reverse=True)
    common = [value for _, colour in counts[:N_EXACT] for value in colour]
    between = picture.quantize(256 - N_EXACT, method=Image.Quantize.MEDIANCUT).getpalette()
    palette = Image.new("P", (1, 1))
    palette.putpalette([*common, *between[: 3 * (256 - N_EXACT)]])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def shoot(reports: dict[str, Path]) -> None:
    """Write the pictures."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for name, (report, width, height, theme, place) in SHOTS.items():
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, color_scheme=theme, reduced_motion="reduce")
            page.goto(reports[report].as_uri())
            page.wait_for_selector("html[data-ready]")
            if place is not None:
                page.evaluate("place => document.querySelector(place).scrollIntoView()", place)
            page.screenshot(path=IMAGES / name)
            with Image.open(IMAGES / name) as picture:
                few = in_few_colours(picture.convert("RGB"))
            few.save(IMAGES / name, optimize=True)
            print(f"{name}: {(IMAGES / name).stat().st_size / 1000:.0f} kB")
        browser.close()


def main() -> None:
    """Make the reports and their pictures."""
    with tempfile.TemporaryDirectory() as folder:
        reports = {name: Path(folder) / f"{name}.html" for name in ("demo", "wine")}
        demo_report(reports["demo"])
        wine_report(reports["wine"])
        shoot(reports)


if __name__ == "__main__":
    main()

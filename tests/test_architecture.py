"""docs/architecture.md: its picture is that of the source tree, and the files and names in it exist."""

import re
from pathlib import Path

import pytest
from benchmarks import package_picture

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PATHS = sorted(set(re.findall(r"`((?:_\w+|\w+)/[\w/]*(?:\.py)?)`", PAGE)))
SOURCE = "\n".join(path.read_text() for path in (ROOT / "src" / "laminar").rglob("*.py"))
NAMES = sorted(set(re.findall(r"`(_?[A-Za-z]\w+)`", PAGE)))


def test_picture_is_current():
    assert package_picture.PICTURE.read_text() == package_picture.current()


@pytest.mark.parametrize("path", PATHS)
def test_path_exists(path):
    assert (ROOT / "src" / "laminar" / path).exists() or (ROOT / path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_name_is_defined(name):
    assert re.search(rf"(def|class) {name}\b|^\s*{name}\s*[:=]|as {name}\b", SOURCE, re.MULTILINE)
